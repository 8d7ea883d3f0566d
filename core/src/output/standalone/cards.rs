//! The recommendations as cards, for a page that draws them itself. The words are those of the
//! documents.

use super::recommendations::{nothing, small, together};
use super::words::{Light, NOT_QUANTIFIABLE, Worth};
use crate::findings::{RankedFinding, Status};
use crate::profile::Profile;
use crate::report::Report;

/// What to do first, second, third.
#[derive(Debug, Clone, PartialEq)]
pub struct Cards<'a> {
    /// In order.
    pub cards: Vec<Card<'a>>,
    /// What all of them save together.
    pub together: Option<String>,
    /// That findings were left out.
    pub small: Option<String>,
    /// Why there are none.
    pub nothing: Option<String>,
    /// One sentence for each analysis that failed.
    pub failed: Vec<String>,
}

/// A finding, and what is said about its worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Card<'a> {
    /// The finding in its place.
    pub ranked: &'a RankedFinding,
    /// The colour of its number.
    pub light: Light,
    /// What it saves; `None` where a trace cannot tell.
    pub worth: Option<Worth>,
    /// What that is estimated from, or that it is not: a sentence.
    pub basis: &'static str,
}

impl<'a> Cards<'a> {
    pub(super) fn new(profile: &Profile, report: &'a Report) -> Cards<'a> {
        let card = |ranked: &'a RankedFinding| {
            let impact = ranked.finding.impact.as_ref();
            Card {
                ranked,
                light: Light::of(ranked.number),
                worth: impact.map(|impact| Worth::new(report, impact)),
                basis: impact.map_or(NOT_QUANTIFIABLE, |impact| impact.estimate.label()),
            }
        };
        let outcomes = report.analyses.outcomes.iter();
        Cards {
            cards: report.analyses.findings.ranked.iter().map(card).collect(),
            together: together(report),
            small: small(report),
            nothing: nothing(profile, report),
            failed: outcomes
                .filter_map(|outcome| match &outcome.status {
                    Status::Error(why) => Some(failed(outcome.kind.title, why)),
                    Status::Done | Status::NoData => None,
                })
                .collect(),
        }
    }
}

/// That an analysis failed, and why.
pub(super) fn failed(title: &str, why: &str) -> String {
    format!("{title} could not be analysed: {why}")
}

//! The documents about one trace.

mod appendix;
mod checks;
mod details;
mod files;
mod pictures;
mod summary;
#[cfg(test)]
mod tests;
mod transfers;
mod working_notes;

use super::card::Card;
use super::{Documented, File, Names, Part, Picture, Shown, Words};
use crate::base::format;
use crate::base::interval::percent_of;
use crate::findings::{Estimate, Outcome};
use crate::output::markup::{Document, Line};
use crate::output::title;
use crate::profile::Profile;
use crate::report::Report;
use crate::report::cards::{asides, impact_sentence};

/// The input of documents and files about one trace.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Its report.
    pub report: &'a Report,
    /// The data of tables, if they cover more than what is analyzed: the whole recording.
    pub tables: (&'a Profile, &'a Report),
}

impl<'a> Input<'a> {
    /// For a trace and its report.
    pub fn new(profile: &'a Profile, report: &'a Report) -> Input<'a> {
        Input {
            profile,
            report,
            tables: (profile, report),
        }
    }

    /// The same with tables of the whole recording: for a trace whose steps are analyzed by default.
    pub fn with_tables_of(self, profile: &'a Profile, report: &'a Report) -> Input<'a> {
        Input {
            tables: (profile, report),
            ..self
        }
    }

    pub(crate) fn findings_file(&self, outcome: &Outcome) -> Document {
        files::write(self, outcome)
    }

    /// A share of the kernel time of all computation.
    fn of_compute(&self, ns: i64) -> String {
        share(ns, self.report.timelines.compute_ns())
    }

    /// The text in place of GPU times, if there are none.
    fn not_analyzed(&self) -> String {
        format!("Not analyzed. {}", self.profile.without_gpu())
    }
}

/// A share as text, or a dash.
fn share(ns: i64, of: Option<i64>) -> String {
    percent(of.and_then(|of| percent_of(ns, of)))
}

fn percent(percent: Option<f64>) -> String {
    percent.map_or("–".to_owned(), format::percent)
}

impl Documented for Input<'_> {
    fn words(&self) -> &'static Words {
        &Words {
            problem: "Issue",
            details: "Detailed Analysis",
            middle: "Tree Analysis",
            n_steps: 9,
        }
    }

    fn title(&self) -> String {
        title::of_trace(self.profile, self.report)
    }

    fn window(&self) -> Option<String> {
        let window = self.profile.window.as_ref()?;
        let mut sentence = window.sentence();
        if self.tables.0.window.is_none() {
            sentence.push_str(" The tables that are written beside are of the whole recording.");
        }
        Some(sentence)
    }

    fn recommendations(&self) -> String {
        "Recommendations".to_owned()
    }

    fn lead(&self) -> Vec<String> {
        let cards = asides(self.profile, self.report);
        if let Some(nothing) = cards.nothing {
            return vec![nothing];
        }
        let hardware = &self.report.overview.hardware;
        let other = hardware
            .gpu
            .as_ref()
            .filter(|_| hardware.mismatch.is_some());
        let other = other.map(|gpu| &gpu.name).map(|gpu| {
            format!("Savings from a roofline are those on the {gpu}, on which this run was not recorded.")
        });
        cards.together.into_iter().chain(other).collect()
    }

    fn cards(&self) -> Vec<Card<'_>> {
        let ranked = self.report.analyses.findings.ranked.iter();
        ranked
            .map(|ranked| {
                let finding = &ranked.finding;
                let impact = finding.impact;
                Card {
                    number: ranked.number,
                    title: &finding.title,
                    problem: finding.issue_with_causes(),
                    model: &finding.model,
                    kernel: &finding.kernel,
                    reasoning: &finding.reasoning,
                    impact: impact_sentence(self.report, finding),
                    saves: impact.map(|impact| {
                        let is_at_most = impact.estimate == Estimate::UpperBound;
                        match is_at_most && impact.low_ns == 0 {
                            true => format::time_ns(impact.high_ns),
                            false => format::time_range_ns(impact.low_ns, impact.high_ns),
                        }
                    }),
                    basis: impact.map_or("", |impact| impact.estimate.label()),
                    priority: finding.priority,
                    confidence: finding.confidence,
                    replay: finding.replay.as_ref(),
                    place: ranked.analysis.title.to_owned(),
                }
            })
            .collect()
    }

    fn small(&self) -> Option<String> {
        asides(self.profile, self.report).small
    }

    fn files(&self) -> Vec<File> {
        let outcomes = self.report.analyses.outcomes.iter();
        outcomes.map(|outcome| files::file(self, outcome)).collect()
    }

    fn names(&self) -> Vec<&str> {
        let window = self.profile.window.iter();
        let mut names = vec![
            self.profile.model_info().title(),
            title::platform(self.report),
        ];
        names.extend(window.filter_map(|of| of.window.step.as_deref()));
        names
    }

    fn quotable(&self) -> Option<Names> {
        Some(checks::quotable(self.profile))
    }

    fn wrong_judgments(&self, fair: &Document) -> Vec<String> {
        checks::wrong_judgments(self, fair)
    }

    written_by! {
        summary -> Document = summary::write;
        warnings -> Vec<Line> = summary::warnings;
        pictures -> Vec<Picture> = pictures::all;
        details -> Vec<Part> = details::all;
        appendix -> Vec<Part> = appendix::all;
        steps -> Vec<Part> = working_notes::steps;
        raw -> Vec<Part> = working_notes::raw;
        middle -> Vec<Part> = working_notes::places;
        gaps -> Document = working_notes::gaps;
        questions -> Vec<String> = working_notes::questions;
        needs_warnings -> bool = checks::needs_warnings;
        rows -> &'static [&'static str] = summary::rows;
        bottlenecks -> Option<Vec<(String, i64)>> = checks::bottlenecks;
        shown -> Vec<Shown> = checks::shown;
        wrong_sums -> Option<Vec<String>> = checks::wrong_sums;
        wrong_order -> Vec<String> = checks::wrong_order;
        wrong_savings -> Vec<String> = checks::wrong_savings;
    }
}

//! Whether a report holds: what was written is read again, and held against what it was written
//! from. The result stands in the rough document.
//!
//! ```text
//! Written (fair, rough, findings files) + Report ─CHECKS→ Check, one each
//! ```
//!
//! Numbers and names are those of the rules that reports of this kind are held to. To add a check:
//! a function beside its like, a row of [`CHECKS`], and a defect in the tests that it catches.

pub(crate) mod language;
mod numbers;
mod read;
mod structure;
#[cfg(test)]
mod tests;

use super::{Source, category, rough, written};
use crate::findings::Outcome;
use crate::output::document::Document;

/// Whether a report holds one of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its number: "V7".
    pub id: &'static str,
    /// What holds, in a sentence.
    pub what: &'static str,
    /// Whether it does.
    pub verdict: Verdict,
}

/// What a check says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not, and where: the first few places.
    Fail(String),
    /// There is nothing to hold it against, and why.
    NotApplicable(String),
}

impl Verdict {
    /// It holds where there is no defect.
    pub(crate) fn of(defects: Vec<String>) -> Verdict {
        /// More are counted.
        const MAX_NAMED: usize = 3;
        if defects.is_empty() {
            return Verdict::Pass;
        }
        let mut text: Vec<String> = defects.iter().take(MAX_NAMED).cloned().collect();
        if let Some(more @ 1..) = defects.len().checked_sub(MAX_NAMED) {
            text.push(format!("and {more} more"));
        }
        Verdict::Fail(text.join("; "))
    }
}

/// Everything that was written about a trace.
pub(super) struct Written<'a> {
    source: &'a Source<'a>,
    fair: Document,
    /// Up to the heading of the checks.
    pub(super) rough: Document,
    /// The findings file of each analysis.
    findings: Vec<(&'a Outcome, Document)>,
}

impl<'a> Written<'a> {
    pub(super) fn new(source: &'a Source<'a>) -> Written<'a> {
        let outcomes = source.report.analyses.outcomes.iter();
        Written {
            source,
            fair: written(source, false),
            rough: rough::notes(source),
            findings: outcomes
                .map(|outcome| (outcome, category::write(source, outcome)))
                .collect(),
        }
    }

    /// Every document with its name in messages.
    fn documents(&self) -> impl Iterator<Item = (&'static str, &Document)> {
        let first = [("fair", &self.fair), ("rough", &self.rough)];
        first.into_iter().chain(self.stakeholders().skip(1))
    }

    /// Those that are read without the sheets beside them.
    fn stakeholders(&self) -> impl Iterator<Item = (&'static str, &Document)> {
        let findings = self.findings.iter();
        std::iter::once(("fair", &self.fair))
            .chain(findings.map(|(outcome, document)| (outcome.kind.key, document)))
    }

    /// Names that the trace gives to model and device; they stand in sentences as they are.
    fn names(&self) -> [&str; 2] {
        [self.source.model.title(), self.source.platform()]
    }

    /// Runs every check.
    pub(super) fn checks(&self) -> Vec<Check> {
        CHECKS
            .iter()
            .map(|kind| Check {
                id: kind.id,
                what: kind.what,
                verdict: (kind.run)(self),
            })
            .collect()
    }
}

/// A rule.
struct CheckKind {
    id: &'static str,
    what: &'static str,
    run: fn(&Written) -> Verdict,
}

/// Every rule.
#[rustfmt::skip]
const CHECKS: &[CheckKind] = &[
    CheckKind { id: "V1", what: "Sections stand in order; warnings only where there is something to warn of", run: structure::sections },
    CheckKind { id: "V2", what: "The summary has its rows; nothing was left to be filled in", run: structure::rows },
    CheckKind { id: "V3", what: "One recommendation for each finding, in order, with its numbers", run: structure::cards },
    CheckKind { id: "V4", what: "Top operations and kernels are those that compute for the longest", run: structure::bottlenecks },
    CheckKind { id: "V5", what: "Each recommendation has issue, action and impact, both paths, and leads to its details", run: structure::labels },
    CheckKind { id: "V6", what: "Comment markers are paired", run: structure::markers },
    CheckKind { id: "V7", what: "Categories sum up to what is computed; no finding is longer", run: numbers::sums },
    CheckKind { id: "V8", what: "Times and shares are those of the timeline", run: numbers::shares },
    CheckKind { id: "V9", what: "Findings are sorted and numbered without gaps; rows sum up to their category", run: numbers::order },
    CheckKind { id: "V10", what: "Ranges of savings are in order, within the measured time and the run", run: numbers::savings },
    CheckKind { id: "V11", what: "What is faster than its roof is marked and not ranked", run: numbers::anomalies },
    CheckKind { id: "V12", what: "Operations and kernels are quoted as the trace has them", run: language::names },
    CheckKind { id: "V13", what: "Each number of a recommendation is in its details", run: numbers::derived },
    CheckKind { id: "V14", what: "No products of vendors and no winners in prose", run: language::neutral },
    CheckKind { id: "V15", what: "No claim that a trace cannot carry, no keys of files in prose", run: language::claims },
    CheckKind { id: "V16", what: "The summary has 20 lines at most, a recommendation 10, an issue one sentence", run: language::lengths },
];

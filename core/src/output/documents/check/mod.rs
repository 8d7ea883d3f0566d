//! Checks the documents: reads what was written and compares it with its source. The results are in the rough document.
//!
//! ```text
//! Written (fair, rough, findings files) + Documented ─RULES→ Check, one each
//! ```
//!
//! Numbers and names are those of the rules that apply to reports of this kind. To add a check, add a function next to
//! similar ones, a row in `RULES`, and a test with a defect that it catches.

mod figures;
mod language;
mod read;
mod structure;
#[cfg(test)]
mod tests;

use super::{Documented, File, fair, notes};
use crate::output::markup::{DocTable, Document, line};

/// Whether a report satisfies one of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its number: "V7".
    pub id: &'static str,
    /// The rule, in a sentence.
    pub what: &'static str,
    /// Whether the report satisfies it.
    pub verdict: Verdict,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The rule is satisfied.
    Pass,
    /// The rule is violated: the first few places.
    Fail(String),
    /// There is nothing to check, and why.
    NotApplicable(String),
}

impl From<Vec<String>> for Verdict {
    /// Passes if there are no defects.
    fn from(defects: Vec<String>) -> Verdict {
        /// Further defects are only counted.
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

/// Everything that was written about a subject.
pub(super) struct Written<'a> {
    subject: &'a dyn Documented,
    fair: Document,
    /// Up to the heading of the checks.
    pub(super) rough: Document,
    files: Vec<File>,
}

impl<'a> Written<'a> {
    pub(super) fn new(subject: &'a dyn Documented) -> Written<'a> {
        Written {
            subject,
            fair: fair(subject, false),
            rough: notes(subject),
            files: subject.files(),
        }
    }

    /// Every document with its name for messages.
    fn documents(&self) -> impl Iterator<Item = (&'static str, &Document)> {
        self.stakeholders().chain([("rough", &self.rough)])
    }

    /// The sentences of every document, with its name for messages.
    fn prose(&self) -> impl Iterator<Item = (&'static str, String)> {
        let names = self.subject.names();
        self.documents().flat_map(move |(name, document)| {
            let texts = read::prose(document, &names).into_iter();
            texts.map(move |text| (name, text))
        })
    }

    /// The documents that are read without the sheets.
    fn stakeholders(&self) -> impl Iterator<Item = (&'static str, &Document)> {
        let files = self.files.iter();
        std::iter::once(("fair", &self.fair)).chain(files.map(|file| (file.key, &file.document)))
    }

    pub(super) fn checks(&self) -> Vec<Check> {
        RULES
            .iter()
            .map(|&(id, what, run)| Check {
                id,
                what,
                verdict: run(self),
            })
            .collect()
    }
}

pub(super) fn table(checks: &[Check]) -> DocTable {
    let result = |verdict: &Verdict| match verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Fail(places) => format!("FAIL: {places}"),
        Verdict::NotApplicable(why) => format!("not applicable: {why}"),
    };
    DocTable::of(checks)
        .line("Check", |check| line(check.id))
        .line("Rule", |check| line(check.what))
        .line("Result", |check| line(&result(&check.verdict)))
        .into()
}

/// A rule: its number, its text, and its check function.
type Rule = (&'static str, &'static str, fn(&Written) -> Verdict);

#[rustfmt::skip]
const RULES: &[Rule] = &[
    ("V1", "Sections are in order; warnings only where there is something to warn of", structure::sections),
    ("V2", "The summary has its rows; nothing was left to be filled in", structure::rows),
    ("V3", "One recommendation for each finding, in order, with its figures", structure::cards),
    ("V4", "Top operations and kernels are those that compute for the longest", figures::bottlenecks),
    ("V5", "Each recommendation says what is wrong, what to do in model and kernel, and its impact, and leads to its details", structure::labels),
    ("V6", "Comment markers are paired", |_| Verdict::NotApplicable("these documents have none: programs read the JSON file".to_owned())),
    ("V7", "Parts sum up to the time that they are parts of; no finding is longer", figures::sums),
    ("V8", "Times and shares are those of the timeline", figures::shown),
    ("V9", "Findings are sorted and numbered without gaps; rows sum up to their category", figures::order),
    ("V10", "Savings are in order, within the measured time and the run", |written| written.subject.wrong_savings().into()),
    ("V11", "Each judgment follows from its figure; what is faster than its roofline is marked and not ranked", |written| written.subject.wrong_judgments(&written.fair).into()),
    ("V12", "Operations and kernels are quoted as the trace has them", language::names),
    ("V13", "Each number of a recommendation is in its details", figures::derived),
    ("V14", "No library or vendor-tool names and no winners in prose", language::neutral),
    ("V15", "No claim that a trace cannot support, no keys of files in prose", language::claims),
    ("V16", "The summary has 20 lines at most, a recommendation 10, what is wrong one sentence", language::lengths),
];

//! The checks of documents about two traces.

use super::*;
use crate::compare::{Comparison, Verdict as Judged};
use crate::output::documents::compared::tests::slow;

#[rustfmt::skip]
const DEFECTS: &[Defect<Comparison>] = &[
    ("V1", "a section has another name", as_found, |all| replace(&mut all.fair, "Appendix", "Annex")),
    ("V1", "a section of the notes has another name", as_found, |all| replace(&mut all.rough, "Analysis Gaps", "Gaps")),
    ("V2", "a placeholder is left", as_found, |all| all.rough.text("It takes X ms.")),
    ("V3", "a number is another", as_found, |all| replace(&mut all.fair, "🔴 Priority 1", "🔴 Priority 7")),
    ("V5", "a path is missing", as_found, |all| replace(&mut all.fair, " Kernel: ", " ")),
    ("V5", "a link leads nowhere", as_found, |all| replace(&mut all.fair, "p1-", "p9-")),
    ("V7", "parts are more than the whole", |comparison| comparison.parts.parts[0].times.target += 1, as_written),
    ("V7", "the whole is more than its parts", |comparison| comparison.parts.total.reference += 1, as_written),
    ("V8", "a time is another", as_found, |all| replace(&mut all.fair, "910 µs", "909 µs")),
    ("V9", "findings are not sorted", |comparison| comparison.gaps.ranked.reverse(), as_written),
    ("V9", "a number is left out", |comparison| comparison.gaps.ranked[0].number = 2, as_written),
    ("V10", "more is saved than measured", |comparison| comparison.gaps.ranked[0].saving.as_mut().unwrap().matching_ns = 800_000, as_written),
    ("V10", "all save more than the run takes", |comparison| comparison.gaps.together_ns = 10_000_000, as_written),
    ("V11", "a verdict is another", |comparison| comparison.operations.matched[0].judgment.verdict = Judged::ExplainedByHardware, as_written),
    ("V11", "a verdict has no ratio", |comparison| comparison.operations.matched[0].judgment.excess = None, as_written),
    ("V13", "a number is in the card alone", as_found, |all| replace(&mut all.fair, "Model: ", "Model: It runs 1234 times. ")),
    ("V14", "a winner is named", as_found, |all| all.fair.text("The reference is the winner.")),
    ("V15", "a claim on occupancy", as_found, |all| all.rough.text("Its occupancy is low.")),
    ("V16", "a long gap", |comparison| comparison.gaps.ranked[0].gap = "much ".repeat(300), as_written),
];

#[test]
fn every_planted_defect_is_caught() {
    let comparison = slow();
    assert!(failed(&Written::new(&comparison).checks()).is_empty());
    for (id, name, change_comparison, change_documents) in DEFECTS {
        let mut comparison = slow();
        change_comparison(&mut comparison);
        let mut all = Written::new(&comparison);
        change_documents(&mut all);
        assert_caught(&all.checks(), id, name);
    }
}

#[test]
fn every_check_has_a_defect() {
    let comparison = slow();
    for check in Written::new(&comparison).checks() {
        let has_defect = DEFECTS.iter().any(|(id, ..)| *id == check.id);
        let is_applied = check.verdict == Verdict::Pass;
        assert_eq!(has_defect, is_applied, "{}", check.id);
    }
}

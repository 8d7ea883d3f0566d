//! Each check catches a defect that is planted for it in the documents about two traces.

use super::{Verdict, Written};
use crate::compare::{Comparison, Verdict as Judged};
use crate::output::document::{Block, Document, Span};
use crate::output::documents::compared::tests::slow;

type PlantFact = fn(&mut Comparison);
type PlantText = fn(&mut Written);

fn as_found(_: &mut Comparison) {}
fn as_written(_: &mut Written) {}

/// The check that has to catch it, what is changed before the documents are written, and after.
#[rustfmt::skip]
const DEFECTS: &[(&str, PlantFact, PlantText)] = &[
    ("V1", as_found, |all| rename(&mut all.fair, "Appendix", "Annex")),
    ("V1", as_found, |all| rename(&mut all.rough, "Analysis Gaps", "Gaps")),
    ("V2", as_found, |all| all.rough.text("It takes X ms.")),
    ("V3", as_found, |all| rename(&mut all.fair, "🔴 Priority 1", "🔴 Priority 7")),
    ("V5", as_found, |all| replace(&mut all.fair, " Kernel: ", " ")),
    ("V5", as_found, |all| replace(&mut all.fair, "Details", "")),
    ("V7", |comparison| comparison.parts.parts[0].times.target += 1, as_written),
    ("V7", |comparison| comparison.parts.total.reference += 1, as_written),
    ("V8", as_found, |all| replace(&mut all.fair, "910 µs", "909 µs")),
    ("V9", |comparison| comparison.gaps.ranked.reverse(), as_written),
    ("V9", |comparison| comparison.gaps.ranked[0].number = 2, as_written),
    ("V10", |comparison| comparison.gaps.ranked[0].saving.as_mut().unwrap().matching_ns = 800_000, as_written),
    ("V10", |comparison| comparison.gaps.together_ns = 10_000_000, as_written),
    ("V11", |comparison| comparison.operations.matched[0].judgement.verdict = Judged::ExplainedByHardware, as_written),
    ("V11", |comparison| comparison.operations.matched[0].judgement.excess = None, as_written),
    ("V13", as_found, |all| replace(&mut all.fair, "Model: ", "Model: It runs 1234 times. ")),
    ("V14", as_found, |all| all.fair.text("The reference is the winner.")),
    ("V15", as_found, |all| all.rough.text("Its occupancy is low.")),
    ("V16", |comparison| comparison.gaps.ranked[0].gap = "much ".repeat(300), as_written),
];

fn rename(document: &mut Document, from: &str, to: &str) {
    for block in &mut document.blocks {
        if let Block::Heading { text, .. } = block {
            *text = text.replace(from, to);
        }
    }
}

fn replace(document: &mut Document, from: &str, to: &str) {
    let change = |span: &mut Span| match span {
        Span::Text(text) | Span::Bold(text) | Span::Code(text) => *text = text.replace(from, to),
        Span::Link { text, slug } if text == from => {
            text.clear();
            slug.clear();
        }
        Span::Link { .. } => {}
    };
    for block in &mut document.blocks {
        match block {
            Block::Text(spans) => spans.iter_mut().for_each(change),
            Block::Table(table) => {
                let cells = table.rows.iter_mut().flatten().flatten();
                cells.for_each(change);
            }
            _ => {}
        }
    }
}

fn failed(written: &Written) -> Vec<&'static str> {
    let checks = written.checks().into_iter();
    checks
        .filter(|check| matches!(check.verdict, Verdict::Fail(_)))
        .map(|check| check.id)
        .collect()
}

#[test]
fn what_is_written_holds() {
    let comparison = slow();
    assert_eq!(failed(&Written::new(&comparison)), Vec::<&str>::new());
}

#[test]
fn every_planted_defect_is_caught() {
    for (at, (id, plant_fact, plant_text)) in DEFECTS.iter().enumerate() {
        let mut comparison = slow();
        plant_fact(&mut comparison);
        let mut written = Written::new(&comparison);
        plant_text(&mut written);
        assert!(failed(&written).contains(id), "{id}, defect {at}");
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

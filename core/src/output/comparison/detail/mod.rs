//! The details: the difference in parts, kinds of work, each gap with its figures, the longest
//! operations, and what has no partner.

mod figures;
mod gap;
mod tables;

use crate::base::sort::Arrange;
use crate::compare::caveats::verdict_sentence;
use crate::compare::comparison::Comparison;
use crate::compare::findings::Subject;
use crate::compare::ops::MatchedOp;
use crate::compare::words;
use crate::output::document::Document;
use figures::figures;

pub(super) use gap::gap_heading;
pub(super) use tables::{N_STEPS, lone_table, verdict_table};

/// Operations with a section of their own, beside those of gaps.
const N_OPERATIONS: usize = 6;

/// Rows of a table; the rest is in the sheets.
const MAX_ROWS: usize = 12;

pub(super) fn write(document: &mut Document, comparison: &Comparison) {
    document.heading(2, "Detailed Comparison");
    let mut number = 0;
    let mut next = || {
        number += 1;
        number
    };
    if comparison.is_same() {
        document.text("No difference in any part of the time, any operation or any kernel.");
    }
    tables::waterfall(document, comparison, &mut next);
    tables::categories(document, comparison, &mut next);
    for gap in &comparison.gaps.ranked {
        gap::write(document, comparison, gap, next());
    }
    for op in longest(comparison) {
        document.heading(3, &format!("{}. {}", next(), heading_of(op)));
        document.table(figures(comparison, op));
        document.text(&verdict_sentence(op));
    }
    tables::operations(document, comparison, &mut next);
    tables::lone(document, comparison, &mut next);
    tables::named(document, comparison, &mut next);
}

/// The longest operations of either trace that no gap is about.
fn longest(comparison: &Comparison) -> Vec<&MatchedOp> {
    let gaps = comparison.gaps.ranked.iter();
    let known: Vec<usize> = gaps
        .flat_map(|gap| match &gap.subject {
            Subject::Operations(rows) => rows.clone(),
            _ => Vec::new(),
        })
        .collect();
    let all = comparison.operations.matched.iter().enumerate();
    let mut others: Vec<&MatchedOp> = all
        .filter(|(at, _)| !known.contains(at))
        .map(|(_, op)| op)
        .collect();
    others.arrange_by_key(|op| {
        let times = op.times();
        std::cmp::Reverse(times.reference.max(times.target))
    });
    others.truncate(N_OPERATIONS);
    others
}

fn heading_of(op: &MatchedOp) -> String {
    match op.shapes.is_empty() {
        true => words::quoted(&op.name),
        false => format!("{} {}", words::quoted(&op.name), op.shapes),
    }
}

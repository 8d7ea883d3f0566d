//! The details: the difference in parts, kinds of work, each gap with its figures, the longest operations, and
//! operations without a match.

use super::operation::{figures, heading, kernels};
use super::tables::{self, MAX_ROWS, PLACE};
use crate::base::format;
use crate::base::sort::Arranged;
use crate::compare::caveats::verdict_sentence;
use crate::compare::comparison::Comparison;
use crate::compare::findings::{Gap, GapSubject};
use crate::compare::ops::MatchedOp;
use crate::compare::words;
use crate::output::documents::parts::projection;
use crate::output::documents::{Documented, Part, part};
use crate::output::markup::{DocTable, Document};

/// Number of operations with a section of their own, besides those of gaps.
const N_OPERATIONS: usize = 6;

pub(super) fn all(comparison: &Comparison) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.extend(tables::steps(comparison));
    parts.extend(tables::memory(comparison));
    parts.extend(tables::waterfall(comparison));
    parts.extend(tables::categories(comparison));
    for (gap, card) in comparison.gaps.ranked.iter().zip(comparison.cards()) {
        let (data, projected) = (data(comparison, gap), projected(comparison, gap));
        parts.push(part(card.place.as_str(), |document| {
            card.details(document, data, projected);
        }));
    }
    parts.extend(tables::waste(comparison));
    for op in longest(comparison) {
        parts.push(part(heading(op), |document| {
            document.table(figures(op));
            document.text(&verdict_sentence(op));
        }));
    }
    parts.extend(tables::operations(comparison));
    parts.extend(tables::unmatched(comparison, MAX_ROWS, Some(PLACE)));
    parts.extend(tables::named(comparison));
    parts
}

pub(super) fn places(comparison: &Comparison) -> Vec<String> {
    let gaps = comparison.gaps.ranked.iter();
    gaps.map(|gap| match &gap.subject {
        GapSubject::Operations(rows) => {
            operations(comparison, gap)
                .next()
                .map_or(String::new(), |op| match rows.len() {
                    1 => heading(op),
                    n => format!("{} with {n} sets of arguments", words::quoted(&op.name)),
                })
        }
        GapSubject::Unmatched(_) => "Operations of the target alone".to_owned(),
        GapSubject::ExposedCommunication => "Exposed communication".to_owned(),
        GapSubject::ExposedCopies => "Exposed memory copies".to_owned(),
        GapSubject::Idle => "Idle time".to_owned(),
    })
    .collect()
}

fn operations<'a>(comparison: &'a Comparison, gap: &'a Gap) -> impl Iterator<Item = &'a MatchedOp> {
    let rows: &[usize] = match &gap.subject {
        GapSubject::Operations(rows) => rows,
        _ => &[],
    };
    let matched = &comparison.operations.matched;
    rows.iter().filter_map(|at| matched.get(*at))
}

/// The measurements: times, the figures of each operation, and the kernels of the longest one.
fn data(comparison: &Comparison, gap: &Gap) -> Document {
    let mut document = Document::default();
    let times = gap.times;
    let (reference, target) = (times.reference, times.target);
    document.field(
        "Data",
        &format!(
            "{} on the reference, {} on the target.",
            format::time_ns(reference),
            format::time_ns(target)
        ),
    );
    let n_operations = operations(comparison, gap).count();
    for op in operations(comparison, gap).take(MAX_ROWS) {
        if n_operations > 1 {
            document.text(&heading(op));
        }
        document.table(figures(op));
    }
    if let Some(op) = operations(comparison, gap).next() {
        document.table(kernels(op));
        document.text(&verdict_sentence(op));
    }
    document
}

/// The projected savings at some efficiencies, for a gap about one operation.
fn projected(comparison: &Comparison, gap: &Gap) -> Option<DocTable> {
    let mut operations = operations(comparison, gap);
    gap.saving?.roofline_ns?;
    let op = operations.next().filter(|_| operations.next().is_none())?;
    let target = &op.sides.target;
    let us = target.ns_per_call() / 1e3;
    let roofline = op.judgment.floor.filter(|_| us > 0.0)?;
    Some(projection(
        target.time_ns,
        target.run_ns,
        roofline.us_per_call / us * 100.0,
        comparison.parts.total.target,
        false,
    ))
}

/// The longest operations of either trace that are not part of a gap.
fn longest(comparison: &Comparison) -> Vec<&MatchedOp> {
    let gaps = &comparison.gaps.ranked;
    let is_known = |at: usize| {
        gaps.iter()
            .any(|gap| matches!(&gap.subject, GapSubject::Operations(rows) if rows.contains(&at)))
    };
    let all = comparison.operations.matched.iter().enumerate();
    let others = all.filter(|(at, _)| !is_known(*at)).map(|(_, op)| op);
    let mut others = others.arranged_by_key(|op| {
        let times = op.times();
        std::cmp::Reverse(times.reference.max(times.target))
    });
    others.truncate(N_OPERATIONS);
    others
}

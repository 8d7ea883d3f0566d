//! One gap: what is known of it, what to do, and what that is worth.

use super::figures::{figures, kernels};
use super::{MAX_ROWS, heading_of};
use crate::base::format;
use crate::compare::caveats::verdict_sentence;
use crate::compare::comparison::Comparison;
use crate::compare::findings::{Gap, Subject};
use crate::compare::words;
use crate::findings::finding::projections;
use crate::output::comparison::recommendations::impact;
use crate::output::document::{DocTable, Document};

/// The heading of a gap among the details, without its number. Unique: the gap's number is.
pub(in crate::output::comparison) fn gap_heading(gap: &Gap) -> String {
    format!("P{} {}", gap.number, gap.title)
}

pub(super) fn write(document: &mut Document, comparison: &Comparison, gap: &Gap, number: usize) {
    document.heading(3, &format!("{number}. {}", gap_subject(comparison, gap)));
    document.heading(4, &gap_heading(gap));
    document.field("Identification", &gap.gap);
    if let Subject::Operations(rows) = &gap.subject {
        let matched = &comparison.operations.matched;
        for op in rows.iter().take(MAX_ROWS).filter_map(|at| matched.get(*at)) {
            if rows.len() > 1 {
                document.text(&heading_of(op));
            }
            document.table(figures(comparison, op));
        }
        if let Some(op) = rows.first().and_then(|at| matched.get(*at)) {
            document.table(kernels(op));
            document.text(&verdict_sentence(op));
        }
    }
    document.field("Reasoning", &gap.reasoning.join(" "));
    document.field("Model", &gap.model);
    document.field("Kernel", &gap.kernel);
    document.field("Impact estimate", &impact(comparison, gap));
    projection(document, comparison, gap);
    if let Some(replay) = &gap.replay {
        let word = match replay.is_recommended {
            true => "recommended",
            false => "offered",
        };
        document.field("Reproducer", &format!("{word}: {}.", replay.reason));
    }
}

fn gap_subject(comparison: &Comparison, gap: &Gap) -> String {
    match &gap.subject {
        Subject::Operations(rows) => {
            let op = rows
                .first()
                .and_then(|at| comparison.operations.matched.get(*at));
            op.map_or(String::new(), |op| match rows.len() {
                1 => heading_of(op),
                n => format!("{} with {n} sets of arguments", words::quoted(&op.name)),
            })
        }
        Subject::Lone(_) => "Operations of the target alone".to_owned(),
        Subject::ExposedCommunication => "Exposed communication".to_owned(),
        Subject::ExposedCopies => "Exposed memory copies".to_owned(),
        Subject::Idle => "Idle time".to_owned(),
    }
}

/// What some efficiencies are worth, for a gap about one operation.
fn projection(document: &mut Document, comparison: &Comparison, gap: &Gap) {
    let Subject::Operations(rows) = &gap.subject else {
        return;
    };
    let [row] = rows[..] else { return };
    let Some(op) = comparison.operations.matched.get(row) else {
        return;
    };
    let us = op.sides.target.ns_per_call() / 1e3;
    let Some(roof) = op.judgement.roofs.target.filter(|_| us > 0.0) else {
        return;
    };
    let mut table = DocTable::new(&["Target efficiency", ">Time", ">Gain of the run"]);
    let efficiency = roof.us_per_call / us * 100.0;
    let total_ns = comparison.parts.total.target;
    let target = &op.sides.target;
    for row in projections(target.time_ns, target.run_ns, efficiency, total_ns) {
        let target = format!("{} of the roof", format::percent(row.target_percent));
        match row.outcome {
            Some((left_ns, percent)) => {
                table.row(&[
                    &target,
                    &format::time_ns(left_ns),
                    &format::percent(percent),
                ]);
            }
            None => table.row(&[&target, "already met", "–"]),
        }
    }
    document.field("Impact projection", "");
    document.table(table);
}

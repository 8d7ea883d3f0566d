//! Tables and sentences of both kinds of documents.

use crate::assess::{ThresholdInfo, Thresholds};
use crate::base::format;
use crate::findings::Fact;
use crate::findings::finding::projections;
use crate::output::document::{DocTable, Span, cell, text};
use crate::profile::timeline::GpuTimeline;

/// Reads a part of a timeline.
pub(super) type Read = fn(&GpuTimeline) -> i64;

/// How the time of the GPU splits. The first four sum up to the fifth.
pub(super) const TIMELINE: [(&str, Read); 8] = [
    ("Computation", |whole| whole.computation_ns),
    ("Exposed communication", |whole| whole.exposed_comm_ns),
    ("Exposed copies", |whole| whole.exposed_memcpy_ns),
    ("Idle", |whole| whole.idle_ns),
    ("Total", GpuTimeline::total_ns),
    ("Busy: anything runs", |whole| whole.busy_ns),
    ("All communication, hidden or not", |whole| whole.comm_ns),
    ("All copies, hidden or not", |whole| whole.memcpy_ns),
];

/// Whether a reproducer is recommended.
pub(super) fn reproducer(is_recommended: bool) -> &'static str {
    match is_recommended {
        true => "recommended",
        false => "offered",
    }
}

/// That rows are left out of a table, and where they are: "1 more is in the sheet."
pub(super) fn more(n_rows: usize, shown: usize, place: &str) -> Option<String> {
    let n = n_rows.saturating_sub(shown);
    let is = if n == 1 { "is" } else { "are" };
    (n > 0).then(|| format!("{} more {is} {place}.", format::count(n as u64)))
}

/// Figures with their labels.
pub(super) fn figures(facts: &[Fact]) -> DocTable {
    let rows = facts.iter();
    let rows = rows.map(|fact| [text(fact.label), cell(&fact.value)]);
    DocTable::of(["Figure", ">Value"], rows)
}

/// What some efficiencies are worth: the time of kernels, `run_ns` of the run of `total_ns`, at
/// other efficiencies than theirs.
pub(super) fn projection(
    time_ns: i64,
    run_ns: i64,
    efficiency_percent: f64,
    total_ns: i64,
    is_at_most: bool,
) -> DocTable {
    let gain = match is_at_most {
        true => ">Gain of the run, up to",
        false => ">Gain of the run",
    };
    let rows = projections(time_ns, run_ns, efficiency_percent, total_ns).into_iter();
    let rows = rows.map(|row| {
        let target = format!("{} of roofline", format::percent(row.target_percent));
        let (left, gain) = match row.outcome {
            Some((left_ns, gain)) => (format::time_ns(left_ns), format::percent(gain)),
            None => ("already met".to_owned(), "–".to_owned()),
        };
        [target, left, gain]
    });
    DocTable::of(["Target efficiency", ">Time", gain], rows)
}

/// Thresholds with their usual value.
pub(super) fn thresholds(
    here: &Thresholds,
    is_shown: impl Fn(&ThresholdInfo, f64, f64) -> bool,
) -> DocTable {
    let usual = Thresholds::default();
    let rows = Thresholds::ALL.iter().filter_map(|threshold| {
        let (here, usual) = ((threshold.get)(here), (threshold.get)(&usual));
        let number = |value: f64| {
            let number = format!("{} {}", format::number(value), threshold.unit.label());
            text(number.trim())
        };
        let key = vec![Span::Code(threshold.key.to_owned())];
        is_shown(threshold, here, usual)
            .then(|| [key, number(usual), number(here), text(threshold.doc)])
    });
    DocTable::of(["Threshold", ">Usual", ">Here", "Meaning"], rows)
}

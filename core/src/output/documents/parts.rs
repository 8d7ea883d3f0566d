//! Tables and sentences that both kinds of documents share.

use crate::assess::{ThresholdInfo, Thresholds};
use crate::base::format;
use crate::findings::Fact;
use crate::findings::engine::finding::projections;
use crate::output::markup::{DocTable, Span, cell, dash, text, time};
use crate::profile::gpu::timeline::GpuTimeline;

pub(super) type Read = fn(&GpuTimeline) -> i64;

/// How GPU time splits. The first four add up to the fifth.
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

/// States that a table is missing rows, and where they are: "1 more is in the sheet."
pub(super) fn more(n_rows: usize, shown: usize, place: &str) -> Option<String> {
    let n = n_rows.saturating_sub(shown);
    let is = if n == 1 { "is" } else { "are" };
    (n > 0).then(|| format!("{} more {is} {place}.", format::count(n as u64)))
}

pub(super) fn figures(facts: &[Fact]) -> DocTable {
    DocTable::of(facts)
        .text("Figure", |fact| fact.label)
        .line(">Value", |fact| cell(&fact.value))
        .into()
}

/// Projected savings at other efficiencies: `time_ns` is the current kernel time, of which `run_ns` count toward the
/// run of `total_ns`.
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
    let left = |left_ns: Option<i64>| left_ns.map_or(text("already met"), time);
    let of_roofline = |percent: f64| text(format!("{} of roofline", format::percent(percent)));
    DocTable::of(projections(time_ns, run_ns, efficiency_percent, total_ns))
        .line("Target efficiency", |row| of_roofline(row.target_percent))
        .line(">Time", |row| left(row.outcome.map(|(left_ns, _)| left_ns)))
        .line(gain, |row| {
            dash(row.outcome, |(_, gain)| format::percent(gain))
        })
        .into()
}

pub(super) fn thresholds(
    here: &Thresholds,
    is_shown: impl Fn(&ThresholdInfo, f64, f64) -> bool,
) -> DocTable {
    let usual = Thresholds::default();
    let value = |threshold: &ThresholdInfo, of: &Thresholds| {
        let number = format::number((threshold.get)(of));
        text(format!("{number} {}", threshold.unit.label()).trim())
    };
    let shown = Thresholds::ALL
        .iter()
        .filter(|threshold| is_shown(threshold, (threshold.get)(here), (threshold.get)(&usual)));
    DocTable::of(shown)
        .line("Threshold", |one| vec![Span::Code(one.key.to_owned())])
        .line(">Usual", |one| value(one, &usual))
        .line(">Here", |one| value(one, here))
        .text("Meaning", |one| one.doc)
        .into()
}

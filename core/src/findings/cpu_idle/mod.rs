//! Idle time of the GPU: every gap on its timeline, and what the host did meanwhile.
//!
//! ```text
//! gaps ─host→ cause of each ─idle→ sums by cause, histogram, the longest ─→ facts, tables, findings
//! ```
//!
//! The gaps are what the union of the timeline leaves out, so their sum is its idle time.

mod findings;
mod json;
mod marks;
mod patterns;
mod tables;
#[cfg(test)]
mod tests;
mod turns;

use super::outcome::{Outcome, Status};
use super::{Analyses, AnalysisKind, Input, pattern};
use crate::assess::idle::Idle;
use crate::assess::idle::class::Class;
use crate::base::format;
use crate::base::value::Value;

pub use json::metrics;
pub use marks::{IdleGap, idle_gaps};

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let without = |why: &str| {
        let mut outcome = Outcome::new(kind, Status::NoData);
        outcome.notes.push(why.to_owned());
        Ok(outcome)
    };
    if let Some(why) = input.profile.without_idle_causes() {
        return without(why);
    }
    let Some(idle) = Idle::new(input) else {
        return without(input.profile.without_gpu());
    };
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = idle.timeline.idle_ns;
    add_facts(&mut outcome, &idle);
    outcome.tables = tables::tables(input, &idle);
    pattern::add(&mut outcome, &patterns::patterns(input, &idle));
    outcome.findings = findings::findings(input, &idle);
    outcome.findings.extend(turns::finding(input, &idle));
    outcome.notes = notes(&idle);
    Ok(outcome)
}

/// How much of the idle time work may fill that was launched before the recording began; `None`
/// where that is too little to be said.
pub(crate) fn before_recording_ns(analyses: &Analyses) -> Option<i64> {
    time_of(analyses, findings::BEFORE_RECORDING)
}

/// In how much of the idle time work runs that does not count; `None` where that is too little to
/// be said.
pub(crate) fn unlinked_ns(analyses: &Analyses) -> Option<i64> {
    time_of(analyses, findings::UNLINKED)
}

/// In how much of the idle time GPU graphs may have run of which nothing was recorded; `None` where
/// that is too little to be said.
pub(crate) fn unrecorded_graphs_ns(analyses: &Analyses) -> Option<i64> {
    time_of(analyses, findings::UNRECORDED_GRAPHS)
}

fn time_of(analyses: &Analyses, pattern: &str) -> Option<i64> {
    let findings = &analyses.outcome("cpu_idle")?.findings;
    let found = findings.iter().find(|finding| finding.pattern == pattern)?;
    Some(found.time_ns)
}

fn add_facts(outcome: &mut Outcome, idle: &Idle) {
    let timeline = &idle.timeline;
    outcome.fact(
        "idle_flagged",
        "Idle time is flagged",
        Value::Flag(idle.is_flagged()),
    );
    outcome.fact(
        "severity",
        "Severity",
        Value::Text(idle.severity().label().to_owned()),
    );
    outcome.fact("total_time", "Run", Value::Ns(timeline.total_ns()));
    outcome.fact("idle_time", "Idle time", Value::Ns(timeline.idle_ns));
    outcome.fact(
        "idle_time",
        "Idle share of the run",
        Value::Percent(idle.idle_percent()),
    );
    let before_recording_ns = idle.of(Class::BeforeRecording).ns;
    if before_recording_ns > 0 {
        outcome.fact(
            "before_recording_time",
            Class::BeforeRecording.label(),
            Value::Ns(before_recording_ns),
        );
    }
    for (key, class) in [
        ("unlinked_work_time", Class::Unlinked),
        ("unrecorded_graphs_time", Class::UnrecordedGraph),
    ] {
        let ns = idle.of(class).ns;
        if ns > 0 {
            outcome.fact(key, class.label(), Value::Ns(ns));
        }
    }
    outcome.fact(
        "target_idle",
        "Idle share that is aimed at",
        Value::Percent(idle.thresholds.idle_target_percent),
    );
    outcome.fact(
        "potential_speedup",
        "Times as fast with that",
        Value::number(idle.potential_speedup()),
    );
    let main = idle.by_time().first().map(|(class, _)| class.key());
    outcome.fact(
        "main_cause",
        "Most of it by",
        main.map_or(Value::Empty, |key| Value::Quoted(key.to_owned())),
    );
    outcome.fact("gap_count", "Gaps", Value::Count(idle.n_gaps));
    outcome.fact(
        "avg_inter_kernel_gap",
        "Mean gap",
        idle.mean_gap_ns().map_or(Value::NO_NS, Value::Ns),
    );
    outcome.fact(
        "sync_point_count",
        "Gaps after a wait of the host",
        Value::Count(idle.of(Class::Synchronisation).count),
    );
    outcome.fact(
        "total_kernel_count",
        "Kernels",
        Value::Count(idle.kernels.count),
    );
    outcome.fact(
        "short_kernel_count",
        "Short kernels",
        Value::Count(idle.kernels.n_short),
    );
    outcome.fact(
        "short_kernels",
        "Share of short kernels",
        Value::Percent(idle.kernels.short_percent()),
    );
    outcome.fact(
        "avg_kernel_time",
        "Mean kernel",
        idle.kernels.mean_ns().map_or(Value::NO_NS, Value::Ns),
    );
}

fn notes(idle: &Idle) -> Vec<String> {
    let mut notes = Vec::new();
    if idle.has_graphs {
        notes.push(
            "The trace has launches of GPU graphs. Profilers lengthen the gaps inside of graphs, so that without one the GPU idles less than this trace says."
                .to_owned(),
        );
    }
    if idle.n_unrecorded_graphs > 0 {
        notes.push(format!(
            "Of {} the trace has no work: when it ran is not known, and counts as idle.",
            format::counted(idle.n_unrecorded_graphs as u64, "launched GPU graph")
        ));
    }
    if idle.has_frames && idle.is_flagged() {
        notes.push(
            "Python frames were recorded, which slows the host: without them the GPU idles less."
                .to_owned(),
        );
    }
    if idle.n_devices > 1 {
        notes.push(format!(
            "Work of {} is in the trace: idle is when none of them works.",
            format::counted(idle.n_devices as u64, "GPU")
        ));
    }
    if let Some(all_ns) = idle.idle_of_all_ns
        && idle.percent(idle.timeline.idle_ns.saturating_sub(all_ns)) >= 1.0
    {
        notes.push(format!(
            "GPU work whose launch is unknown is not counted; with it the GPU would idle for {}.",
            format::time_ns(all_ns)
        ));
    }
    notes
}

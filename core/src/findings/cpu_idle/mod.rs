//! Idle time of the GPU: every gap on its timeline, and what the CPU did meanwhile.
//!
//! ```text
//! gaps ─explain→ cause of each ─Idle→ sums by cause, histogram, the longest ─→ facts, tables, rules
//! ```
//!
//! The gaps are what the union of the timeline leaves out, so their sum is its idle time.

mod marks;
mod patterns;
mod reasoning;
mod rules;
mod seen;
mod tables;
#[cfg(test)]
mod tests;
mod turns;

use super::outcome::{Outcome, Status};
use super::rule::{self, Rule, RuleDoc};
use super::{Analyses, AnalysisKind, Input, pattern};
use crate::assess::idle::Idle;
use crate::assess::idle::cause::IdleCause;
use crate::base::format;
use crate::base::value::Value;

pub use marks::{IdleGap, idle_gaps};
pub(crate) use patterns::patterns;

/// The finding about idle time that may be none: what was launched before the recording may run.
pub(crate) const BEFORE_RECORDING: &str = "before_recording";

/// The finding about idle time that is none: unlinked GPU activity runs.
pub(crate) const UNLINKED: &str = "unlinked_work";

/// The finding about idle time in which GPU graphs may have run.
pub(crate) const UNRECORDED_GRAPHS: &str = "unrecorded_graphs";

/// What can be found.
pub(super) fn docs() -> Vec<RuleDoc> {
    let turns = turns::RULES.iter().map(Rule::doc);
    rules::RULES.iter().map(Rule::doc).chain(turns).collect()
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let idle = match input.profile.without_idle_causes() {
        Some(why) => Err(why),
        None => Idle::once(input).ok_or_else(|| input.profile.without_gpu()),
    };
    let idle = match idle {
        Ok(idle) => idle,
        Err(why) => {
            let mut outcome = Outcome::new(kind, Status::NoData);
            outcome.notes.push(why.to_owned());
            return Ok(outcome);
        }
    };
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = idle.timeline.idle_ns;
    add_facts(&mut outcome, &idle);
    outcome.tables = tables::tables(input, &idle);
    pattern::add(&mut outcome, &patterns(input, &idle));
    for seen in &seen::Seen::of(input, &idle) {
        outcome
            .findings
            .extend(rule::find(input, rules::RULES, vec![seen]));
    }
    let turns = turns::Turns::of(input, &idle);
    let turns = rule::find(input, turns::RULES, turns.iter().collect());
    outcome.findings.extend(turns);
    outcome.notes = notes(input, &idle);
    Ok(outcome)
}

/// The time of a finding about idle time; `None` where it is too little to be one.
pub(crate) fn time_of(analyses: &Analyses, key: &str) -> Option<i64> {
    let findings = &analyses.outcome("cpu_idle")?.findings;
    let found = findings.iter().find(|finding| finding.pattern == key)?;
    Some(found.time_ns)
}

fn add_facts(outcome: &mut Outcome, idle: &Idle) {
    let time = |ns: Option<i64>| ns.map_or(Value::NO_NS, Value::Ns);
    let (timeline, kernels) = (&idle.timeline, &idle.kernels);
    let severity = Value::Text(idle.severity().label().to_owned());
    let main = idle.by_time().first().map(|(cause, _)| cause.key());
    let main = main.map_or(Value::Empty, |key| Value::Quoted(key.to_owned()));
    let target = Value::Percent(idle.thresholds.idle_target_percent);
    let speedup = Value::number(idle.potential_speedup());
    let n_waits = idle.of(IdleCause::Synchronization).all.count;
    let short_percent = Value::Percent(kernels.short_percent());
    let unsure = [
        ("before_recording_time", IdleCause::BeforeRecording),
        ("unlinked_work_time", IdleCause::Unlinked),
        ("unrecorded_graphs_time", IdleCause::UnrecordedGraph),
    ];
    let unsure = unsure.map(|(key, cause)| (key, cause.label(), idle.of(cause).all.ns));
    let unsure = unsure.into_iter().filter(|(.., ns)| *ns > 0);
    #[rustfmt::skip]
    let facts = [
        ("idle_flagged", "Idle time is flagged", Value::Flag(idle.is_flagged())),
        ("severity", "Severity", severity),
        ("total_time", "Run", Value::Ns(timeline.total_ns())),
        ("idle_time", "Idle time", Value::Ns(timeline.idle_ns)),
        ("idle_time", "Idle share of the run", Value::Percent(idle.idle_percent())),
    ]
    .into_iter()
    .chain(unsure.map(|(key, label, ns)| (key, label, Value::Ns(ns))))
    .chain([
        ("target_idle", "Target idle share", target),
        ("potential_speedup", "Speedup at that target", speedup),
        ("main_cause", "Main cause", main),
        ("gap_count", "Gaps", Value::Count(idle.n_gaps)),
        ("avg_inter_kernel_gap", "Mean gap", time(idle.mean_gap_ns())),
        ("sync_point_count", "Gaps after the CPU waited for the GPU", Value::Count(n_waits)),
        ("total_kernel_count", "Kernels", Value::Count(kernels.kernels.count)),
        ("short_kernel_count", "Short kernels", Value::Count(kernels.n_short)),
        ("short_kernels", "Share of short kernels", short_percent),
        ("avg_kernel_time", "Mean kernel", time(kernels.kernels.mean_ns())),
    ]);
    for (key, label, value) in facts {
        outcome.fact(key, label, value);
    }
}

fn notes(input: &Input, idle: &Idle) -> Vec<String> {
    let n_gpus = input.timelines.gpus.len() as u64;
    let n_unrecorded = idle.n_unrecorded_graphs as u64;
    let with_unlinked_ns = idle
        .idle_of_all_ns
        .filter(|all_ns| idle.percent(idle.timeline.idle_ns.saturating_sub(*all_ns)) >= 1.0);
    let notes = [
        idle.has_graphs.then(|| {
            "The trace has launches of GPU graphs. Profilers lengthen the gaps inside graphs, so without one the GPU is idle for less than this trace says."
                .to_owned()
        }),
        (n_unrecorded > 0).then(|| {
            format!(
                "The trace has no kernels of {}: when they ran is unknown, and counts as idle.",
                format::counted(n_unrecorded, "launched GPU graph")
            )
        }),
        (idle.has_frames && idle.is_flagged()).then(|| {
            "Python frames were recorded, which slows the CPU: without them the GPU is idle for less."
                .to_owned()
        }),
        (n_gpus > 1).then(|| {
            format!(
                "The trace has {}: idle is when none of them runs anything.",
                format::counted(n_gpus, "GPU")
            )
        }),
        with_unlinked_ns.map(|all_ns| {
            format!(
                "GPU activity whose launch is unknown is not counted; with it the GPU would be idle for {}.",
                format::time_ns(all_ns)
            )
        }),
    ];
    notes.into_iter().flatten().collect()
}

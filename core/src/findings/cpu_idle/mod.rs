//! Idle time of the GPU: every gap on its timeline, and what the CPU did meanwhile.
//!
//! ```text
//! gaps ─explain→ cause of each ─Idle→ sums by cause, histogram, the longest ─→ facts, tables, rules
//! ```
//!
//! The gaps are the complement of the union of the timeline, so their sum is its idle time.

mod autograd;
mod code;
mod code_rules;
mod launch_calls;
mod observed;
mod other_threads;
mod patterns;
mod reasoning;
mod rules;
mod stages;
mod step_code;
mod tables;
#[cfg(test)]
mod tests;
mod turns;

use super::Analyses;
use crate::assess::idle::Idle;
use crate::assess::idle::cause::IdleCause;
use crate::assess::idle::code::rows::CodeRow;
use crate::base::interval::Interval;
use crate::findings::engine::pattern;
use crate::findings::prelude::*;
use code::ObservedCode;
use observed::Observed;
use stages::ObservedStage;
use turns::AlternatingGpus;

pub(crate) use patterns::patterns;

pub(super) const DOCS: Docs = || {
    let of_code = rule::docs(code_rules::RULES);
    [
        of_code,
        rule::docs(stages::RULES),
        rule::docs(rules::RULES),
        rule::docs(turns::RULES),
    ]
    .concat()
};

pub(super) fn run(input: &Input, _: &[Row], outcome: &mut Outcome) {
    let idle = match input.profile.without_idle_causes() {
        Some(why) => Err(why),
        None => Idle::once(input).ok_or_else(|| input.profile.without_gpu()),
    };
    let idle = match idle {
        Ok(idle) => idle,
        Err(why) => return outcome.note(why.to_owned()),
    };
    outcome.status = Status::Done;
    outcome.time_ns = idle.timeline.idle_ns;
    add_facts(outcome, &idle);
    outcome.tables = tables::tables(input, &idle);
    pattern::add(outcome, &patterns(input, &idle));
    let mut code = ObservedCode::of(input, &idle);
    let (observed, turns) = (
        Observed::of(input, &idle, &mut code),
        AlternatingGpus::of(input, &idle),
    );
    let of_code = code.iter();
    let of_code = of_code.flat_map(|observed| rule::find(input, code_rules::RULES, vec![observed]));
    let stage = ObservedStage::of(input, &idle, &code);
    // The part of the run is more specific than the cause of its gaps.
    let of_causes = observed.iter().filter(|observed| {
        stage.is_none() || !observed.cause.is_late_launch() || !observed.cause.can_be_saved()
    });
    let of_causes = of_causes.flat_map(|observed| rule::find(input, rules::RULES, vec![observed]));
    let turns = rule::find(input, turns::RULES, turns.iter().collect());
    let of_stage = rule::find(input, stages::RULES, stage.iter().collect());
    outcome.findings = of_code
        .chain(of_stage)
        .chain(of_causes)
        .chain(turns)
        .collect();
    outcome.nothing_found = nothing_found(&idle);
    outcome.notes = notes(input, &idle);
}

/// What would be found about one piece of code, however little of the run it takes; `None` if its name says nothing.
pub(crate) fn of_code(input: &Input, idle: &Idle, row: &CodeRow) -> Option<Finding> {
    let observed = ObservedCode::one(input, idle, row)?;
    let mut found = rule::find(input, code_rules::RULES, vec![&observed]).into_iter();
    found.next()
}

/// A time in which no stream was busy, to be marked on a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleGap {
    /// From the last end before it to the first start after it.
    pub span: Interval,
    /// The cause, as named in files.
    pub key: &'static str,
    /// The display name of the cause.
    pub cause: &'static str,
}

/// All idle times between the first start and the last end of the GPU activity that counts, in order; empty if their
/// causes cannot be determined.
pub fn idle_gaps(input: &Input) -> Vec<IdleGap> {
    let Some(idle) = Idle::once(input) else {
        return Vec::new();
    };
    let gaps = input.timelines.gaps.iter().zip(&idle.cause_of_gap);
    let gaps = gaps.map(|(gap, cause)| IdleGap {
        span: gap.span,
        key: cause.key(),
        cause: cause.label(),
    });
    gaps.collect()
}

/// The time of the finding about idle time with this cause; `None` if it is too short for one.
pub(crate) fn time_of(analyses: &Analyses, cause: IdleCause) -> Option<i64> {
    let mut findings = analyses.outcome("cpu_idle")?.findings.iter();
    let found = findings.find(|finding| finding.pattern == cause.key())?;
    Some(found.time_ns)
}

fn add_facts(outcome: &mut Outcome, idle: &Idle) {
    let (timeline, kernels) = (&idle.timeline, &idle.kernels);
    let severity = Value::Text(idle.severity().label().to_owned());
    let main = idle.by_time().first().map(|(cause, _)| cause.key());
    let main = main.map_or(Value::Empty, |key| Value::Quoted(key.to_owned()));
    let target = Value::Percent(idle.thresholds.idle_target_percent);
    let known = percent_of(idle.code.known_ns, idle.code.all.ns);
    let n_waits = idle.of(IdleCause::Synchronization).count;
    #[rustfmt::skip]
    outcome.facts([
        ("idle_flagged", "Idle time is flagged", Value::Flag(idle.is_flagged())),
        ("severity", "Severity", severity),
        ("total_time", "Run", Value::Ns(timeline.total_ns())),
        ("idle_time", "Idle time", Value::Ns(timeline.idle_ns)),
        ("idle_time", "Idle share of the run", Value::Percent(idle.idle_percent())),
    ]);
    for (key, cause) in [
        ("before_recording_time", IdleCause::BeforeRecording),
        ("unrecorded_graphs_time", IdleCause::UnrecordedGraph),
        ("unrecorded_kernels_time", IdleCause::UnrecordedKernel),
    ] {
        if idle.of(cause).ns > 0 {
            outcome.fact(key, cause.label(), Value::Ns(idle.of(cause).ns));
        }
    }
    #[rustfmt::skip]
    outcome.facts([
        ("target_idle", "Target idle share", target),
        ("potential_speedup", "Speedup at that target", Value::number(idle.potential_speedup())),
        ("main_cause", "Main cause", main),
        ("cpu_caused_idle_time", "Idle time that the CPU causes", Value::Ns(idle.code.all.ns)),
        ("explained_by_code", "CPU-caused idle time in named code", Value::percent(known)),
        ("gap_count", "Gaps", Value::Count(idle.gaps.count)),
        ("avg_inter_kernel_gap", "Mean gap", Value::ns(idle.gaps.mean_ns())),
        ("sync_point_count", "Gaps after the CPU waited for the GPU", Value::Count(n_waits)),
        ("total_kernel_count", "Kernels", Value::Count(kernels.kernels.count)),
        ("short_kernel_count", "Short kernels", Value::Count(kernels.n_short)),
        ("short_kernels", "Share of short kernels", Value::Percent(kernels.short_percent())),
        ("avg_kernel_time", "Mean kernel", Value::ns(kernels.kernels.mean_ns())),
    ]);
}

/// What to say about idle time if none of it deserves a finding.
fn nothing_found(idle: &Idle) -> Option<String> {
    let share = |ns: i64| format::percent(idle.percent(ns));
    let causes = idle.by_time().into_iter();
    let causes = causes
        .take(2)
        .filter(|(_, gaps)| idle.percent(gaps.all.ns) >= 1.0);
    let causes: Vec<String> = causes
        .map(|(cause, gaps)| format!("{} ({})", cause.label(), share(gaps.all.ns)))
        .collect();
    (!causes.is_empty()).then(|| {
        format!(
            "Idle time: {} of the run, less than what is flagged ({}); the largest causes are {}.",
            share(idle.timeline.idle_ns),
            format::percent(idle.thresholds.idle_flag_percent),
            format::listed(&causes)
        )
    })
}

fn notes(input: &Input, idle: &Idle) -> Vec<Note> {
    let n_gpus = input.timelines.gpus.len() as u64;
    let n_unrecorded = idle.n_unrecorded_graphs as u64;
    let notes = [
        idle.has_graphs.then(|| {
            Topic::General.note("The trace has launches of GPU graphs. Profilers lengthen the gaps inside graphs, so without one the GPU is idle for less than this trace says.")
        }),
        (n_unrecorded > 0).then(|| {
            Topic::General.note(format!(
                "The trace has no kernels of {}: when they ran is unknown, and counts as idle.",
                format::counted(n_unrecorded, "launched GPU graph")
            ))
        }),
        (input.profile.has_python_frames() && idle.is_flagged()).then(|| {
            Topic::Code.note("Python frames were recorded, which slows the CPU: without them the GPU is idle for less.")
        }),
        (n_gpus > 1).then(|| {
            Topic::General.note(format!(
                "The trace has {}: idle is when none of them runs anything.",
                format::counted(n_gpus, "GPU")
            ))
        }),
    ];
    notes.into_iter().flatten().collect()
}

//! Patterns of idle time and of kernels.

use crate::assess::idle::Idle;
use crate::findings::Severity;
use crate::findings::engine::pattern::Pattern;
use crate::findings::prelude::*;
use crate::names::Family;

/// All patterns whose thresholds are exceeded. Those of kernels save nothing by themselves.
pub(crate) fn patterns(input: &Input, idle: &Idle) -> Vec<Pattern> {
    let all = [
        underutilization(idle),
        short_kernels(input, idle),
        many_kernels(idle),
        short_average(idle),
    ];
    all.into_iter().flatten().collect()
}

fn underutilization(idle: &Idle) -> Option<Pattern> {
    let lines = &idle.thresholds;
    let idle_percent = idle.surely_idle_percent();
    let (key, name, severity) = match idle_percent {
        percent if percent > lines.idle_critical_percent => (
            "critical_gpu_underutilization",
            "The GPU is hardly used",
            Severity::Critical,
        ),
        percent if percent > lines.idle_high_percent => (
            "high_gpu_idle_time",
            "The GPU is idle for most of the run",
            Severity::High,
        ),
        _ => return None,
    };
    let share = format::percent(idle_percent);
    Some(Pattern {
        key,
        name,
        severity,
        description: format!("The GPU is idle for {share} of the run."),
        recommendation: "start with the cause that takes most of the idle time.",
        recoverable_ns: Some(idle.savable_ns()),
    })
}

fn short_kernels(input: &Input, idle: &Idle) -> Option<Pattern> {
    let (lines, kernels) = (&idle.thresholds, &idle.kernels);
    let short = kernels.short_percent();
    (short > lines.idle_short_kernels_percent).then(|| Pattern {
        key: "kernel_launch_overhead",
        name: "Many short kernels",
        severity: high_or_medium(short > lines.idle_short_kernels_high_percent),
        description: format!(
            "{} of {} are shorter than {} ({}).",
            format::count(kernels.n_short),
            format::counted(kernels.kernels.count, "kernel"),
            format::time_us(lines.short_kernel_us),
            format::percent(short)
        ),
        recommendation: match (idle.has_graphs, input.has(Family::Triton)) {
            (true, _) => {
                "merge neighboring short kernels into longer ones: graphs make launches cheap, not kernels longer."
            }
            (false, true) => "capture the steady part of the step in a GPU graph.",
            (false, false) => "capture the steady part of the step in a GPU graph, or compile it.",
        },
        recoverable_ns: None,
    })
}

fn many_kernels(idle: &Idle) -> Option<Pattern> {
    let (lines, kernels) = (&idle.thresholds, idle.kernels.kernels);
    let count = kernels.count as f64;
    (count > lines.idle_kernel_count).then(|| Pattern {
        key: "high_kernel_count",
        name: "Many kernels",
        severity: high_or_medium(count > lines.idle_kernel_count_high),
        description: format!("The run has {}.", format::counted(kernels.count, "kernel")),
        recommendation: "fuse neighboring kernels where the run is launch-bound.",
        recoverable_ns: None,
    })
}

fn short_average(idle: &Idle) -> Option<Pattern> {
    let lines = &idle.thresholds;
    let mean_us = idle.kernels.kernels.mean_ns()? as f64 / 1e3;
    (mean_us < lines.idle_mean_kernel_us).then(|| Pattern {
        key: "small_average_kernel_time",
        name: "Short kernels on average",
        severity: high_or_medium(mean_us < lines.idle_mean_kernel_high_us),
        description: format!("A kernel takes {} on average.", format::time_us(mean_us)),
        recommendation: "give each launch more work: larger batches, fewer and longer kernels.",
        recoverable_ns: None,
    })
}

fn high_or_medium(is_high: bool) -> Severity {
    match is_high {
        true => Severity::High,
        false => Severity::Medium,
    }
}

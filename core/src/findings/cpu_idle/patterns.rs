//! Patterns of idle time and of kernels.

use crate::assess::idle::Idle;
use crate::base::format;
use crate::findings::in_use::is_compiled;
use crate::findings::pattern::Pattern;
use crate::findings::{Input, Severity};

/// Every pattern whose line is crossed.
pub(crate) fn patterns(input: &Input, idle: &Idle) -> Vec<Pattern> {
    let patterns = [
        idle_time(idle),
        short_kernels(idle, is_compiled(input)),
        many_kernels(idle),
        short_mean(idle),
    ];
    patterns.into_iter().flatten().collect()
}

fn idle_time(idle: &Idle) -> Option<Pattern> {
    let percent = idle.surely_idle_percent();
    let (key, name, severity) = if percent > idle.thresholds.idle_critical_percent {
        (
            "critical_gpu_underutilization",
            "The GPU is hardly used",
            Severity::Critical,
        )
    } else if percent > idle.thresholds.idle_high_percent {
        (
            "high_gpu_idle_time",
            "The GPU is idle for most of the run",
            Severity::High,
        )
    } else {
        return None;
    };
    Some(Pattern {
        key,
        name,
        severity,
        description: format!(
            "The GPU is idle for {} of the run.",
            format::percent(percent)
        ),
        recommendation: "start with the cause that takes most of the idle time.",
        recoverable_ns: Some(idle.surely_idle_ns()),
    })
}

fn high_if(is_high: bool) -> Severity {
    match is_high {
        true => Severity::High,
        false => Severity::Medium,
    }
}

/// What a high number of short kernels suggests. They save nothing by themselves.
fn short_kernels(idle: &Idle, is_compiled: bool) -> Option<Pattern> {
    let (thresholds, kernels) = (&idle.thresholds, &idle.kernels);
    let short = kernels.short_percent();
    (short > thresholds.idle_short_kernels_percent).then(|| Pattern {
        key: "kernel_launch_overhead",
        name: "Many short kernels",
        severity: high_if(short > thresholds.idle_short_kernels_high_percent),
        description: format!(
            "{} of {} are shorter than {} ({}).",
            format::count(kernels.n_short),
            format::counted(kernels.kernels.count, "kernel"),
            format::time_us(thresholds.short_kernel_us),
            format::percent(short)
        ),
        recommendation: match (idle.has_graphs, is_compiled) {
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
    let count = idle.kernels.kernels.count;
    (count as f64 > idle.thresholds.idle_kernel_count).then(|| Pattern {
        key: "high_kernel_count",
        name: "Many kernels",
        severity: high_if(count as f64 > idle.thresholds.idle_kernel_count_high),
        description: format!("The run has {}.", format::counted(count, "kernel")),
        recommendation: "fuse neighboring kernels where the run is launch-bound.",
        recoverable_ns: None,
    })
}

fn short_mean(idle: &Idle) -> Option<Pattern> {
    let mean_ns = idle.kernels.kernels.mean_ns()?;
    let mean_us = mean_ns as f64 / 1e3;
    (mean_us < idle.thresholds.idle_mean_kernel_us).then(|| Pattern {
        key: "small_average_kernel_time",
        name: "Short kernels on average",
        severity: high_if(mean_us < idle.thresholds.idle_mean_kernel_high_us),
        description: format!("A kernel takes {} on average.", format::time_ns(mean_ns)),
        recommendation: "give each launch more work: larger batches, fewer and longer kernels.",
        recoverable_ns: None,
    })
}

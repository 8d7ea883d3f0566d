//! Patterns of idle time and of kernels.

use crate::assess::idle::Idle;
use crate::base::format;
use crate::findings::in_use::is_compiled;
use crate::findings::pattern::Pattern;
use crate::findings::{Input, Severity};

/// Every pattern whose line is crossed. Those of kernels save nothing by themselves.
pub(crate) fn patterns(input: &Input, idle: &Idle) -> Vec<Pattern> {
    let (thresholds, kernels) = (&idle.thresholds, &idle.kernels);
    let mut patterns: Vec<Pattern> = idle_time(idle).into_iter().collect();
    let mut add = |key, name, is_high, description, recommendation| {
        patterns.push(Pattern {
            key,
            name,
            severity: match is_high {
                true => Severity::High,
                false => Severity::Medium,
            },
            description,
            recommendation,
            recoverable_ns: None,
        });
    };
    let n_kernels = format::counted(kernels.kernels.count, "kernel");
    let short = kernels.short_percent();
    if short > thresholds.idle_short_kernels_percent {
        add(
            "kernel_launch_overhead",
            "Many short kernels",
            short > thresholds.idle_short_kernels_high_percent,
            format!(
                "{} of {n_kernels} are shorter than {} ({}).",
                format::count(kernels.n_short),
                format::time_us(thresholds.short_kernel_us),
                format::percent(short)
            ),
            match (idle.has_graphs, is_compiled(input)) {
                (true, _) => {
                    "merge neighboring short kernels into longer ones: graphs make launches cheap, not kernels longer."
                }
                (false, true) => "capture the steady part of the step in a GPU graph.",
                (false, false) => {
                    "capture the steady part of the step in a GPU graph, or compile it."
                }
            },
        );
    }
    let count = kernels.kernels.count as f64;
    if count > thresholds.idle_kernel_count {
        add(
            "high_kernel_count",
            "Many kernels",
            count > thresholds.idle_kernel_count_high,
            format!("The run has {n_kernels}."),
            "fuse neighboring kernels where the run is launch-bound.",
        );
    }
    let mean_ns = kernels.kernels.mean_ns();
    let mean_us = mean_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e3);
    if mean_us < thresholds.idle_mean_kernel_us {
        add(
            "small_average_kernel_time",
            "Short kernels on average",
            mean_us < thresholds.idle_mean_kernel_high_us,
            format!("A kernel takes {} on average.", format::time_us(mean_us)),
            "give each launch more work: larger batches, fewer and longer kernels.",
        );
    }
    patterns
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

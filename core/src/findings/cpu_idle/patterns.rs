//! Patterns of idle time and of kernels.

use crate::assess::idle::Idle;
use crate::findings::Severity;
use crate::findings::engine::pattern::Pattern;
use crate::findings::prelude::*;
use crate::names::Family;

/// All patterns whose thresholds are exceeded. Those of kernels save nothing by themselves.
pub(crate) fn patterns(input: &Input, idle: &Idle) -> Vec<Pattern> {
    let (lines, kernels) = (&idle.thresholds, &idle.kernels);
    let mut patterns = Vec::new();
    let idle_percent = idle.surely_idle_percent();
    let hardly_used = ("critical_gpu_underutilization", "The GPU is hardly used");
    let mostly_idle = ("high_gpu_idle_time", "The GPU is idle for most of the run");
    let crossed = match idle_percent {
        percent if percent > lines.idle_critical_percent => Some((hardly_used, Severity::Critical)),
        percent if percent > lines.idle_high_percent => Some((mostly_idle, Severity::High)),
        _ => None,
    };
    if let Some(((key, name), severity)) = crossed {
        let share = format::percent(idle_percent);
        patterns.push(Pattern {
            key,
            name,
            severity,
            description: format!("The GPU is idle for {share} of the run."),
            recommendation: "start with the cause that takes most of the idle time.",
            recoverable_ns: Some(idle.savable_ns()),
        });
    }
    let mut add = |key, name, is_high, description, recommendation| {
        patterns.push(Pattern {
            key,
            name,
            severity: if is_high {
                Severity::High
            } else {
                Severity::Medium
            },
            description,
            recommendation,
            recoverable_ns: None,
        });
    };
    let n_kernels = format::counted(kernels.kernels.count, "kernel");
    let short = kernels.short_percent();
    if short > lines.idle_short_kernels_percent {
        add(
            "kernel_launch_overhead",
            "Many short kernels",
            short > lines.idle_short_kernels_high_percent,
            format!(
                "{} of {n_kernels} are shorter than {} ({}).",
                format::count(kernels.n_short),
                format::time_us(lines.short_kernel_us),
                format::percent(short)
            ),
            match (idle.has_graphs, input.has(Family::Triton)) {
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
    if count > lines.idle_kernel_count {
        add(
            "high_kernel_count",
            "Many kernels",
            count > lines.idle_kernel_count_high,
            format!("The run has {n_kernels}."),
            "fuse neighboring kernels where the run is launch-bound.",
        );
    }
    let mean_ns = kernels.kernels.mean_ns();
    let mean_us = mean_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e3);
    if mean_us < lines.idle_mean_kernel_us {
        add(
            "small_average_kernel_time",
            "Short kernels on average",
            mean_us < lines.idle_mean_kernel_high_us,
            format!("A kernel takes {} on average.", format::time_us(mean_us)),
            "give each launch more work: larger batches, fewer and longer kernels.",
        );
    }
    patterns
}

//! What idle time and kernels show.

use super::findings::Launching;
use crate::assess::idle::Idle;
use crate::base::format;
use crate::findings::pattern::Pattern;
use crate::findings::{Input, Severity};

/// Every pattern whose line is crossed.
pub(super) fn patterns(input: &Input, idle: &Idle) -> Vec<Pattern> {
    let mut patterns: Vec<Pattern> = of_idling(idle).into_iter().collect();
    patterns.extend(of_kernels(idle, Launching::of(input, idle)));
    patterns
}

fn of_idling(idle: &Idle) -> Option<Pattern> {
    let thresholds = &idle.thresholds;
    let percent = idle.surely_idle_percent();
    let (key, name, severity) = if percent > thresholds.idle_critical_percent {
        (
            "critical_gpu_underutilization",
            "The GPU is hardly used",
            Severity::Critical,
        )
    } else if percent > thresholds.idle_high_percent {
        ("high_gpu_idle_time", "The GPU idles much", Severity::High)
    } else {
        return None;
    };
    Some(Pattern {
        key,
        name,
        severity,
        description: format!("The GPU idles for {} of the run.", format::percent(percent)),
        recommendation: "begin with the cause that takes most of the idle time.",
        recoverable_ns: Some(idle.surely_idle_ns()),
    })
}

/// What a high number of short kernels suggests. They are no time to win by themselves.
fn of_kernels(idle: &Idle, launching: Launching) -> Vec<Pattern> {
    let thresholds = &idle.thresholds;
    let kernels = &idle.kernels;
    let mut patterns = Vec::new();
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
    let short = kernels.short_percent();
    if short > thresholds.idle_short_kernels_percent {
        add(
            "kernel_launch_overhead",
            "Many short kernels",
            short > thresholds.idle_short_kernels_high_percent,
            format!(
                "{} of {} are shorter than {} ({}).",
                format::count(kernels.n_short),
                format::counted(kernels.count, "kernel"),
                format::time_us(thresholds.short_kernel_us),
                format::percent(short)
            ),
            match (launching.has_graphs, launching.is_compiled) {
                (false, false) => {
                    "capture the steady part of the step in a GPU graph, or compile it."
                }
                (false, true) => "capture the steady part of the step in a GPU graph.",
                (true, _) => {
                    "merge neighbouring short kernels into longer ones: graphs make launches cheap, not kernels longer."
                }
            },
        );
    }
    let count = kernels.count as f64;
    if count > thresholds.idle_kernel_count {
        add(
            "high_kernel_count",
            "Many kernels",
            count > thresholds.idle_kernel_count_high,
            format!("The run has {}.", format::counted(kernels.count, "kernel")),
            "fuse neighbouring kernels where the host cannot keep ahead of them.",
        );
    }
    if let Some(mean_ns) = kernels.mean_ns() {
        let mean_us = mean_ns as f64 / 1e3;
        if mean_us < thresholds.idle_mean_kernel_us {
            add(
                "small_average_kernel_time",
                "Short kernels in the mean",
                mean_us < thresholds.idle_mean_kernel_high_us,
                format!("A kernel takes {} in the mean.", format::time_ns(mean_ns)),
                "give each launch more work: larger batches, fewer and longer kernels.",
            );
        }
    }
    patterns
}

//! Which rows are bottlenecks, and how much each matters.

use super::time_ns;
use crate::base::format;
use crate::findings::Input;
use crate::findings::engine::finding::Priority;
use crate::findings::engine::outcome::Row;

/// The thresholds of a kind of work.
#[derive(Debug, Clone, Copy)]
pub struct Gate {
    /// A row that takes longer than this can be a bottleneck whatever its share, in milliseconds.
    pub time_ms: f64,
    /// Only rows below this % of roofline are bottlenecks.
    pub efficiency_percent: f64,
}

impl Gate {
    /// The gate of a kind of work that has its own time threshold.
    pub fn of(input: &Input, time_ms: f64) -> Gate {
        let efficiency_percent = input.options.thresholds.gate_efficiency_percent;
        Gate {
            time_ms,
            efficiency_percent,
        }
    }

    /// Whether a row is at a low % of roofline. Anomalies never are.
    pub fn is_slow(&self, row: &Row) -> bool {
        let percent = row.judged_percent();
        percent.is_some_and(|percent| percent < self.efficiency_percent)
    }
}

/// Whether a row is large enough to be a bottleneck: long, or a significant part of its kind and not negligible in the
/// run.
pub fn is_large(input: &Input, row: &Row, gate: &Gate) -> bool {
    are_large(input, &[row], gate)
}

/// Whether a row is a bottleneck: large, and at a low % of roofline. Anomalies never are.
pub fn is_bottleneck(input: &Input, row: &Row, gate: &Gate) -> bool {
    gate.is_slow(row) && is_large(input, row, gate)
}

/// The same for several rows together.
pub fn are_large(input: &Input, rows: &[&Row], gate: &Gate) -> bool {
    let thresholds = &input.options.thresholds;
    let is_long = time_ns(rows) as f64 / 1e6 > gate.time_ms;
    let of_category: f64 = rows.iter().map(|row| row.percent_of_category).sum();
    let of_total: f64 = rows.iter().filter_map(|row| row.percent_of_total).sum();
    is_long
        || (of_category > thresholds.gate_percent_of_category
            && of_total >= thresholds.gate_percent_of_total)
}

/// Whether the calls of a row are so short that launching them takes about as long.
pub fn is_launch_scale(input: &Input, row: &Row) -> bool {
    let mean_us = row.time_ns as f64 / 1e3 / row.n_calls.max(1) as f64;
    mean_us < input.options.thresholds.short_kernel_us
}

/// Fewer calls than this are never many, whatever their share.
const MIN_SMALL_CALLS: u64 = 100;

/// Whether rows that are about as short as their launch are so many that their number is the cost.
pub fn are_many(input: &Input, rows: &[&Row], n_kernels: u64) -> bool {
    let thresholds = &input.options.thresholds;
    let of_compute: f64 = rows.iter().filter_map(|row| row.percent_of_compute).sum();
    let of_total: f64 = rows.iter().filter_map(|row| row.percent_of_total).sum();
    let are_many = n_kernels as f64 >= thresholds.small_kernels_calls
        || (n_kernels >= MIN_SMALL_CALLS
            && of_compute > thresholds.small_kernels_percent_of_compute);
    are_many && of_total >= thresholds.gate_percent_of_total
}

/// A note about operations whose efficiency is not meaningful because they are about as short as their launch.
pub fn launch_scale_note(input: &Input, rows: &[Row]) -> Option<String> {
    let short = rows.iter().filter(|row| is_launch_scale(input, row));
    let short: Vec<&Row> = short.collect();
    let operations = format::counted(short.len() as u64, "operation");
    let time = format::time_ns(time_ns(&short));
    let least = format::time_us(input.options.thresholds.short_kernel_us);
    (!short.is_empty()).then(|| format!("Calls of {operations} ({time}) take less than {least}, about as long as launching them: their efficiency says little, and they are not ranked."))
}

/// A note that efficiencies of some operations are unknown without a GPU profile; `None` if one is chosen.
pub fn no_gpu_note(input: &Input, what: &str) -> Option<String> {
    input
        .gpu()
        .is_none()
        .then(|| format!("No GPU profile is chosen, so the % of roofline of {what} is unknown."))
}

/// The priority of a bottleneck: by its share of the computation and its efficiency, in percent. `has_pattern` if it
/// matches a named pattern.
pub fn priority_by(
    input: &Input,
    share: Option<f64>,
    efficiency: Option<f64>,
    has_pattern: bool,
) -> Priority {
    let thresholds = &input.options.thresholds;
    let share = share.unwrap_or(0.0);
    let is_slow =
        efficiency.is_some_and(|percent| percent < thresholds.critical_efficiency_percent);
    if share > thresholds.critical_percent_of_compute && is_slow {
        Priority::Critical
    } else if share > thresholds.high_percent_of_compute {
        Priority::High
    } else if share > thresholds.medium_percent_of_compute || has_pattern {
        Priority::Medium
    } else {
        Priority::Low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::testing::{Timetable, options_on};

    /// A run of 1 s that computes all the time.
    fn with_input(check: impl Fn(&Input)) {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 0..1_000_000)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        check(&report.analysis_input(&profile));
    }

    #[test]
    fn priorities_go_by_share_and_efficiency() {
        use Priority::{Critical, High, Low, Medium};
        let cases = [
            // Share of compute, efficiency, whether it has a pattern.
            (15.1, 29.9, false, Critical),
            (15.0, 29.9, false, High),
            (15.1, 30.0, false, High),
            (10.1, 5.0, false, High),
            (10.0, 5.0, false, Medium),
            (5.1, 39.0, false, Medium),
            (5.0, 39.0, false, Low),
            // Low efficiency alone is not high priority; a named pattern is worth a look.
            (0.6, 1.0, false, Low),
            (0.6, 1.0, true, Medium),
        ];
        with_input(|input| {
            for (share, efficiency, has_pattern, expected) in cases {
                let found = priority_by(input, Some(share), Some(efficiency), has_pattern);
                assert_eq!(found, expected, "{share} % at {efficiency} %");
            }
        });
    }

    #[test]
    fn a_bottleneck_is_large_and_slow() {
        let gate = Gate {
            time_ms: 50.0,
            efficiency_percent: 40.0,
        };
        let cases = [
            // Milliseconds, share of the category, share of the run, efficiency.
            (50.1, 1.0, 0.1, 39.9, true),
            (50.1, 1.0, 0.1, 40.0, false),
            // A large share of its kind, unless it is negligible in the run.
            (6.0, 5.1, 0.6, 10.0, true),
            (6.0, 5.0, 0.6, 10.0, false),
            (4.0, 90.0, 0.4, 10.0, false),
        ];
        with_input(|input| {
            for (ms, of_category, of_total, efficiency, expected) in cases {
                let row = Row {
                    time_ns: (ms * 1e6) as i64,
                    percent_of_category: of_category,
                    percent_of_total: Some(of_total),
                    efficiency_percent: Some(efficiency),
                    ..Row::default()
                };
                let found = is_bottleneck(input, &row, &gate);
                assert_eq!(found, expected, "{ms} ms, {of_category} %, {efficiency} %");
                let anomaly = Row {
                    is_anomaly: true,
                    ..row
                };
                assert!(!is_bottleneck(input, &anomaly, &gate));
            }
        });
    }
}

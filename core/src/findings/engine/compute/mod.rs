//! What all analyses of one kind of work share: their rows, which of these are bottlenecks, what they save, and their
//! texts.

mod causes;
mod gate;
mod quality;
mod savings;
mod words;

use super::assessment::Assessment;
use super::outcome::{Outcome, Row, Status, weighted};
use super::run_time;
use crate::assess::Evaluation;
use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arrange;
use crate::findings::{AnalysisKind, Input};
use crate::profile::operations::Operation;
use crate::profile::operations::perf_rows::PerfRow;
use crate::profile::operations::slowdown::Slowdown;

pub use super::narrower::{is_wide, saved_by_16_bit};
pub use causes::{
    are_idle_units_half, cause_of, causes_of, few_workgroups, impact_of_steps, main_cause,
    waterfall_table,
};
pub use gate::{
    Gate, are_large, are_many, is_bottleneck, is_large, is_launch_scale, launch_scale_note,
    no_gpu_note, priority_by,
};
pub(crate) use quality::varies;
pub use savings::{beyond_roofline_ns, impact, impact_of_gap, least_ns, replay, sum_of};
pub use words::{
    NOT_SHOWN, at_efficiency, called_from, gbps, matrix_rate, memory_bandwidth, operations_table,
    shapes, short_name, subject, time_and_share, without_reproducer,
};

/// The class of operations that only choose the fastest of several kernels.
const TUNING: &str = "kernel tuning";

/// With fewer calls, the variation of durations is not meaningful.
const MIN_CALLS_FOR_VARIATION: usize = 10;

/// What an operation takes longer in a part of the run in which all kernels are slower.
fn slowed_ns(input: &Input, at: usize) -> i64 {
    let slowdown = Slowdown::of(input.profile);
    let slowdown = Option::as_ref(&slowdown);
    let slowed = slowdown.and_then(|slowdown| slowdown.of_operation(at));
    slowed.map_or(0, |slowed| slowed.excess_ns)
}

/// This part of an operation's kernel time at the speed of most of the run: a slow part has a finding of its own.
pub(crate) fn steady_ns(input: &Input, at: usize, ns: i64) -> i64 {
    let slowed_ns = slowed_ns(input, at);
    let all_ns = input.operation(at).kernel_ns;
    ns.saturating_sub(run_time::part(ns, slowed_ns, all_ns))
}

/// The outcome of an analysis with only its rows, longest first and those that tune last; `NoData` if there are none.
pub fn outcome(input: &Input, kind: &'static AnalysisKind) -> Outcome {
    let covered: Vec<(usize, &Operation, &Evaluation)> = input
        .operations()
        .filter(|(_, operation, _)| (kind.covers)(input.profile, operation))
        .collect();
    if covered.is_empty() {
        return Outcome::new(kind, Status::NoData);
    }
    let time_ns = sum(covered.iter().map(|(_, operation, _)| operation.kernel_ns));
    let share = |ns: i64, of: Option<i64>| percent_of(ns, of?);
    let assessment = |evaluation: &Evaluation| {
        let achieved = evaluation.plausible()?;
        Some(Assessment::of(
            achieved.percent_of_roofline,
            &input.options.thresholds,
        ))
    };
    let mut rows: Vec<Row> = covered
        .iter()
        .map(|&(at, operation, evaluation)| Row {
            operation: at,
            time_ns: operation.kernel_ns,
            n_calls: operation.n_calls(),
            percent_of_category: share(operation.kernel_ns, Some(time_ns)).unwrap_or(0.0),
            percent_of_compute: share(operation.kernel_ns, input.timelines.compute_ns()),
            percent_of_total: share(evaluation.run_ns, input.total_ns()),
            efficiency_percent: evaluation
                .achieved
                .map(|achieved| achieved.percent_of_roofline),
            shared_percent: shared_percent(operation, evaluation),
            slowed_ns: slowed_ns(input, at),
            assessment: assessment(evaluation),
            bound: evaluation.roofline.map(|roofline| roofline.bound),
            is_anomaly: evaluation.is_anomaly,
            variation: variation(&times_us(operation)),
            class: (kind.class)(input.profile, operation),
        })
        .collect();
    // The time of calls that tune is not that of their work.
    let tunes = |row: &Row| input.operation(row.operation).is_tuning();
    for row in rows.iter_mut().filter(|row| tunes(row)) {
        row.efficiency_percent = None;
        row.shared_percent = None;
        row.assessment = None;
        row.is_anomaly = false;
        row.variation = None;
        TUNING.clone_into(&mut row.class);
    }
    rows.arrange_by_key(|row| (tunes(row), std::cmp::Reverse(row.time_ns), row.operation));
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = time_ns;
    outcome.n_calls = rows.iter().map(|row| row.n_calls).sum();
    outcome.rows = rows;
    outcome.add_notes(quality::notes(input, &outcome.rows));
    outcome
}

/// How close an operation gets to the roofline in its part of the time, if a notable part of it is shared with other
/// kernels that compute.
fn shared_percent(operation: &Operation, evaluation: &Evaluation) -> Option<f64> {
    /// Of its kernel time.
    const NOTABLE: f64 = 0.1;
    let (all_ns, own_ns) = (operation.kernel_ns as f64, evaluation.computing_ns as f64);
    let is_shared = own_ns > 0.0 && own_ns < all_ns * (1.0 - NOTABLE);
    let achieved = evaluation.achieved.filter(|_| is_shared)?;
    Some((achieved.percent_of_roofline * all_ns / own_ns).min(100.0))
}

/// The time of each call in microseconds.
fn times_us(operation: &Operation) -> Vec<f64> {
    let shares = |call: &PerfRow| call.binding.is_some_and(|binding| binding.shares > 1);
    match operation.calls.iter().any(shares) {
        true => {
            let times = operation.times_of_calls().into_iter();
            times.map(|ns| ns as f64 / 1e3).collect()
        }
        false => operation.times_us.clone(),
    }
}

/// Standard deviation divided by the mean; `None` for too few calls.
pub(crate) fn variation(times_us: &[f64]) -> Option<f64> {
    if times_us.len() <= MIN_CALLS_FOR_VARIATION {
        return None;
    }
    let n = times_us.len() as f64;
    let mean = times_us.iter().sum::<f64>() / n;
    let squares: f64 = times_us.iter().map(|time| (time - mean).powi(2)).sum();
    (mean > 0.0).then(|| (squares / (n - 1.0)).sqrt() / mean)
}

/// The total time of some rows.
pub fn time_ns(rows: &[&Row]) -> i64 {
    sum(rows.iter().map(|row| row.time_ns))
}

/// The total number of calls of some rows.
pub fn n_calls(rows: &[&Row]) -> u64 {
    rows.iter()
        .fold(0, |all: u64, row| all.saturating_add(row.n_calls))
}

/// The efficiency of some rows together, weighted by their time.
pub fn efficiency(rows: &[&Row]) -> Option<f64> {
    weighted(
        rows.iter()
            .filter(|row| !row.is_anomaly)
            .filter_map(|row| Some((row.efficiency_percent?, row.time_ns))),
    )
}

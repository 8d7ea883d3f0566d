//! What following a finding saves, and which rows get a reproducer.

use super::at_efficiency;
use crate::assess::waterfall::{Cause, Waterfall};
use crate::base::format;
use crate::findings::Input;
use crate::findings::engine::finding::{Impact, Replay};
use crate::findings::engine::outcome::Row;
use crate::profile::operations::reproducer::is_callable;

/// What rows save together: by their gap to the roofline, or by rule of thumb if there is no model but a GPU is known.
/// Anomalies save nothing.
pub fn impact(input: &Input, rows: &[&Row]) -> (Option<Impact>, Vec<(usize, i64)>) {
    sum_of(rows.iter().filter(|row| !row.is_anomaly).filter_map(|row| {
        let heuristic = || input.gpu().map(|_| Impact::heuristic(row.time_ns));
        let gap = impact_of_gap(row).map(|gap| gap.within(unexplained_ns(input, row)));
        Some((row.operation, gap.or_else(heuristic)?))
    }))
}

/// What operations save together, and the part of the middle of it that comes from each.
pub fn sum_of(each: impl Iterator<Item = (usize, Impact)>) -> (Option<Impact>, Vec<(usize, i64)>) {
    let each: Vec<(usize, Impact)> = each.collect();
    let all = each.iter().map(|(_, impact)| *impact);
    let savings = each.iter().map(|(at, impact)| (*at, impact.mid_ns));
    (all.reduce(Impact::plus), savings.collect())
}

/// The time that a kernel takes beyond its roofline time: an upper bound for what merging it into a larger kernel
/// saves.
pub fn beyond_roofline_ns(row: &Row) -> Option<i64> {
    let share = row.judged_percent()? / 100.0;
    let ns = (row.steady_ns() as f64 * (1.0 - share).clamp(0.0, 1.0)).round() as i64;
    Some(ns).filter(|ns| *ns > 0)
}

/// What an operation saves by its gap to the roofline; `None` without a model.
pub fn impact_of_gap(row: &Row) -> Option<Impact> {
    let (time_ns, percent) = (row.steady_ns(), row.steady_percent()?);
    let gap = Impact::of_efficiency(time_ns, percent);
    Some(gap.within(time_ns - least_ns(row)))
}

/// The part without a named cause: all that a better kernel could save.
fn unexplained_ns(input: &Input, row: &Row) -> i64 {
    let waterfall = Waterfall::of(input, row.operation);
    waterfall.map_or(row.time_ns, |waterfall| waterfall.ns(Cause::Unexplained))
}

/// The minimum time of a kernel, however little it does.
const LEAST_KERNEL_NS: i64 = 2_000;

/// The minimum time of the calls of a row.
pub fn least_ns(row: &Row) -> i64 {
    let n_calls = i64::try_from(row.n_calls).unwrap_or(i64::MAX);
    n_calls.saturating_mul(LEAST_KERNEL_NS).min(row.time_ns)
}

/// Whether a row should go to kernel engineers. A reproducer is recommended for rows that are both large and slow, and
/// offered for all others; `None` if the operation cannot be called.
pub fn replay(input: &Input, row: &Row) -> Option<Replay> {
    if !is_callable(input.profile, input.operation(row.operation)) {
        return None;
    }
    let thresholds = &input.options.thresholds;
    let share = row.percent_of_compute?;
    let efficiency = row.plausible_percent();
    let is_large = share > thresholds.replay_percent_of_compute;
    let is_slow = efficiency.is_some_and(|percent| percent < thresholds.replay_efficiency_percent);
    let is_recommended = is_large && is_slow;
    let reason = match is_recommended {
        true => format!(
            "{} of compute{}",
            format::percent(share),
            at_efficiency(efficiency)
        ),
        false => "its reproducer tells more than a trace can".to_owned(),
    };
    Some(Replay {
        is_recommended,
        reason,
    })
}

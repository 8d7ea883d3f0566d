//! Sheet `gpu_timeline`: how GPU time splits.

use super::sheet::{Cell, Column, Unit, column};
use super::{Parts, SheetInput, percent};
use crate::base::interval::{Interval, gaps_in, sum, union};
use crate::profile::timeline::GpuTimeline;

#[rustfmt::skip]
const COLUMNS: [Column; 3] = [
    column("type", Unit::Text, "Part of GPU time."),
    column("time ms", Unit::Ms, "Its length; all streams and devices of the trace taken together."),
    column("percent", Unit::Percent, "Share of the total time: from the first start to the last end of GPU activity, or of the part of the trace that is analyzed alone."),
];

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    match &input.sheet_timelines().recompute {
        None => {
            if let Some(whole) = &input.sheet_timelines().whole {
                push_rows(&mut rows, input, whole, None);
            }
        }
        Some(halves) => {
            for (timeline, is_recompute) in halves.iter().zip([false, true]) {
                if let Some(timeline) = timeline {
                    push_rows(&mut rows, input, timeline, Some(is_recompute));
                }
            }
        }
    }
    rows
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let mut columns = COLUMNS.to_vec();
    columns.extend(parts.recompute.then_some(super::IS_RECOMPUTE));
    columns
}

fn push_rows(
    rows: &mut Vec<Vec<Cell>>,
    input: &SheetInput,
    timeline: &GpuTimeline,
    is_recompute: Option<bool>,
) {
    let total_ns = timeline.total_ns();
    let mut parts = vec![
        ("computation_time", timeline.computation_ns),
        ("exposed_comm_time", timeline.exposed_comm_ns),
        ("exposed_memcpy_time", timeline.exposed_memcpy_ns),
        ("busy_time", timeline.busy_ns),
    ];
    match micro_idle_ns(input, timeline.span, is_recompute) {
        None => parts.push(("idle_time", timeline.idle_ns)),
        Some(micro_ns) => parts.extend([
            ("micro_idle_time", micro_ns),
            ("macro_idle_time", timeline.idle_ns.saturating_sub(micro_ns)),
        ]),
    }
    parts.extend([
        ("total_time", total_ns),
        ("total_comm_time", timeline.comm_ns),
        ("total_memcpy_time", timeline.memcpy_ns),
    ]);
    for (label, ns) in parts {
        let mut row = vec![
            Cell::Text(label.to_owned()),
            super::ms(ns),
            percent(ns, Some(total_ns)),
        ];
        row.extend(is_recompute.map(Cell::Flag));
        rows.push(row);
    }
}

/// Idle time in gaps shorter than the threshold; `None` when idle time is not split. With
/// `is_recompute` only such work ends a gap, as in the rest of its block.
fn micro_idle_ns(input: &SheetInput, whole: Interval, is_recompute: Option<bool>) -> Option<i64> {
    let limit_us = input.options.thresholds.micro_idle_us;
    if limit_us.is_nan() || limit_us <= 0.0 {
        return None;
    }
    let limit_ns = (limit_us * 1e3) as i64;
    let work = input.options.sheet_events.running(input.profile);
    let counted = work.filter(|work| is_recompute.is_none_or(|only| work.is_recompute == only));
    let worked = union(counted.map(|work| work.span).collect());
    let lengths = gaps_in(whole, &worked).map(Interval::length);
    Some(sum(lengths.filter(|length| *length < limit_ns)))
}

//! Sheets `gpu_timeline` and `gpu_timeline_by_gpu`: how GPU time splits, for all GPUs together and, if there are
//! several, for each one.

use super::{Parts, SheetInput};
use crate::base::interval::{Interval, gaps_in, sum, union};
use crate::profile::gpu::timeline::GpuTimeline;
use crate::profile::gpu::timelines::SheetTimelines;
use crate::report::columns::percent;
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::trace::StringId;

pub(crate) const BY_GPU: &str = "gpu_timeline_by_gpu";

#[rustfmt::skip]
const COLUMNS: [Column; 3] = [
    column("type", Unit::Text, "Part of GPU time."),
    column("time ms", Unit::Ms, "Its length; all streams and devices of the trace taken together."),
    column("percent", Unit::Percent, "Share of the total time: from the first start to the last end of GPU activity, or of the part of the trace that is analyzed alone."),
];

#[rustfmt::skip]
const BY_GPU_COLUMNS: [Column; 4] = [
    column("gpu", Unit::Text, "The GPU, as the trace numbers it."),
    column("type", Unit::Text, "Part of its time."),
    column("time ms", Unit::Ms, "Its length; all streams of the GPU taken together."),
    column("percent", Unit::Percent, "Share of the GPU's total time: from the first start to the last end of its activity, or of the part of the trace that is analyzed alone."),
];

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    blocks(input, input.sheet_timelines(), None)
}

/// A block for each GPU if there are several.
pub(super) fn rows_by_gpu(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let gpus = SheetTimelines::by_gpu(profile, input.options.sheet_events);
    let blocks = gpus.iter().flat_map(|(gpu, timelines)| {
        let name = profile.trace.strings.get(*gpu).to_owned();
        let rows = blocks(input, timelines, Some(*gpu)).into_iter();
        rows.map(move |row| [vec![Cell::Text(name.clone())], row].concat())
    });
    blocks.collect()
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    with_recompute(&COLUMNS, parts)
}

pub(super) fn columns_by_gpu(parts: &Parts) -> Vec<Column> {
    with_recompute(&BY_GPU_COLUMNS, parts)
}

fn with_recompute(columns: &[Column], parts: &Parts) -> Vec<Column> {
    let mut columns = columns.to_vec();
    columns.extend(parts.recompute.then_some(super::IS_RECOMPUTE));
    columns
}

/// What a block counts: the activity of one GPU, and everything, only activity without recomputation, or only
/// recomputation.
#[derive(Clone, Copy)]
struct Population {
    gpu: Option<StringId>,
    is_recompute: Option<bool>,
}

/// The rows of some timelines; two blocks if the trace recomputes activations.
fn blocks(input: &SheetInput, timelines: &SheetTimelines, gpu: Option<StringId>) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    let mut push = |timeline: &Option<GpuTimeline>, is_recompute| {
        if let Some(timeline) = timeline {
            let population = Population { gpu, is_recompute };
            push_rows(&mut rows, input, timeline, population);
        }
    };
    match &timelines.recompute {
        None => push(&timelines.whole, None),
        Some([without, only]) => {
            push(without, Some(false));
            push(only, Some(true));
        }
    }
    rows
}

fn push_rows(
    rows: &mut Vec<Vec<Cell>>,
    input: &SheetInput,
    timeline: &GpuTimeline,
    population: Population,
) {
    let total_ns = timeline.total_ns();
    let mut parts = vec![
        ("computation_time", timeline.computation_ns),
        ("exposed_comm_time", timeline.exposed_comm_ns),
        ("exposed_memcpy_time", timeline.exposed_memcpy_ns),
        ("busy_time", timeline.busy_ns),
    ];
    match micro_idle_ns(input, timeline.span, population) {
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
            crate::report::columns::ms(ns),
            percent(ns, Some(total_ns)),
        ];
        row.extend(population.is_recompute.map(Cell::Flag));
        rows.push(row);
    }
}

/// Idle time in gaps shorter than the threshold; `None` if idle time is not split. Only activity that its block counts
/// ends a gap.
fn micro_idle_ns(input: &SheetInput, whole: Interval, population: Population) -> Option<i64> {
    let limit_us = input.options.thresholds.micro_idle_us;
    if limit_us.is_nan() || limit_us <= 0.0 {
        return None;
    }
    let limit_ns = (limit_us * 1e3) as i64;
    let work = input.options.sheet_events.running(input.profile);
    let Population { gpu, is_recompute } = population;
    let counted = work.filter(|work| {
        gpu.is_none_or(|gpu| work.gpu == Some(gpu))
            && is_recompute.is_none_or(|only| work.is_recompute == only)
    });
    let worked = union(counted.map(|work| work.span).collect());
    let lengths = gaps_in(whole, &worked).map(Interval::length);
    Some(sum(lengths.filter(|length| *length < limit_ns)))
}

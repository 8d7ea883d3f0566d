//! Sheet `gpu_timeline`: how GPU time splits.

use super::sheet::{Cell, Column, Sheet, Unit};
use super::{Parts, SheetInput, percent};
use crate::interval::{Interval, gaps_in, sum, union};
use crate::kernels::{GpuEvents, GpuWork};
use crate::profile::Profile;
use crate::timeline::{GpuClass, GpuTimeline};

/// The timeline of a chosen population of GPU work.
#[derive(Debug, Clone)]
pub struct Timelines {
    /// What is counted: the choice, or all work where nothing could be linked.
    pub events: GpuEvents,
    /// Of everything counted; `None` without GPU work.
    pub whole: Option<GpuTimeline>,
    /// The computation of all operations, added up: more than the time in which something computes
    /// where operations run at once.
    pub kernel_ns: i64,
    /// Of a trace that recomputes activations: first without that work, then that work alone.
    pub recompute: Option<[Option<GpuTimeline>; 2]>,
}

impl Timelines {
    pub(super) fn new(profile: &Profile, choice: GpuEvents) -> Timelines {
        let events = profile.gpu_events(choice);
        let part = |work: &GpuWork| -> (GpuClass, Interval) { (work.class, work.span) };
        let over = |timeline: GpuTimeline| timeline.over(profile.gpu_span(timeline.span));
        let half = |is_recompute: bool| {
            let work = profile.gpu.of(events);
            let work = work.filter(|work| work.is_recompute == is_recompute);
            GpuTimeline::new(work.map(part)).map(over)
        };
        let operations = profile.operations().iter();
        let computing = operations.filter(|operation| operation.counts(events));
        Timelines {
            events,
            kernel_ns: sum(computing.map(|operation| operation.computing_ns(profile))),
            whole: GpuTimeline::new(profile.gpu.of(events).map(part)).map(over),
            recompute: profile
                .recompute
                .is_some()
                .then(|| [half(false), half(true)]),
        }
    }

    /// What shares of compute are of: kernel time, as the times of operations are, so that they sum
    /// up to 100 % on several streams and GPUs as well. `None` where nothing computes.
    pub fn compute_ns(&self) -> Option<i64> {
        let computation_ns = self.whole.as_ref()?.computation_ns;
        Some(self.kernel_ns.max(computation_ns)).filter(|ns| *ns > 0)
    }

    /// Whether operations compute at once, on several streams or GPUs.
    pub(crate) fn overlaps(&self) -> bool {
        let computation_ns = self.whole.map_or(0, |whole| whole.computation_ns);
        self.kernel_ns > computation_ns
    }

    /// The total that other sheets take their percentages of. As in the reference, recomputed
    /// work is left out of it.
    pub(super) fn total_ns(&self) -> Option<i64> {
        let timeline = match &self.recompute {
            Some([without, only]) => without.as_ref().or(only.as_ref()),
            None => self.whole.as_ref(),
        };
        timeline.map(GpuTimeline::total_ns)
    }
}

const COLUMNS: [Column; 3] = [
    Column {
        label: "type",
        unit: Unit::Text,
        doc: "Part of GPU time.",
    },
    Column {
        label: "time ms",
        unit: Unit::Ms,
        doc: "Its length; all streams and devices of the trace taken together.",
    },
    Column {
        label: "percent",
        unit: Unit::Percent,
        doc: "Share of the total time: from the first start to the last end of GPU work, or of the part of the trace that is analysed alone.",
    },
];

pub(super) fn sheet(input: &SheetInput) -> Option<Sheet> {
    let mut rows = Vec::new();
    match &input.timelines.recompute {
        None => push_rows(&mut rows, input, input.timelines.whole.as_ref()?, None),
        Some(halves) => {
            for (timeline, is_recompute) in halves.iter().zip([false, true]) {
                if let Some(timeline) = timeline {
                    push_rows(&mut rows, input, timeline, Some(is_recompute));
                }
            }
        }
    }
    Some(Sheet {
        name: "gpu_timeline",
        columns: columns(&input.parts),
        rows,
    })
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

/// Idling in gaps shorter than the threshold; `None` when idling is not split. With
/// `is_recompute` only such work ends a gap, as in the rest of its block.
fn micro_idle_ns(input: &SheetInput, whole: Interval, is_recompute: Option<bool>) -> Option<i64> {
    let limit_us = input.options.thresholds.micro_idle_us;
    if limit_us.is_nan() || limit_us <= 0.0 {
        return None;
    }
    let limit_ns = (limit_us * 1e3) as i64;
    let work = input.profile.gpu.of(input.timelines.events);
    let counted = work.filter(|work| is_recompute.is_none_or(|only| work.is_recompute == only));
    let busy = union(counted.map(|work| work.span).collect());
    let lengths = gaps_in(whole, &busy).map(Interval::length);
    Some(sum(lengths.filter(|length| *length < limit_ns)))
}

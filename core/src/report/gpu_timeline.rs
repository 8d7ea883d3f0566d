//! Sheet `gpu_timeline`: how GPU time splits.

use super::sheet::{Cell, Column, Sheet, Unit};
use super::{Parts, SheetInput, percent};
use crate::interval::{Interval, busy, gaps_in, sum, union};
use crate::kernels::{GpuEvents, Running};
use crate::profile::Profile;
use crate::sort::Arrange;
use crate::timeline::{GpuClass, GpuTimeline};
use crate::trace::StringId;

/// The timeline of a chosen population of GPU work.
#[derive(Debug, Clone)]
pub struct Timelines {
    /// What is counted: the choice, or all work where nothing could be linked.
    pub events: GpuEvents,
    /// Of everything counted, all GPUs taken together; `None` without GPU work.
    pub whole: Option<GpuTimeline>,
    /// Of each GPU over the time of the whole, where there are several: the process that stands for
    /// it, and its timeline. By number, then by name.
    pub gpus: Vec<(StringId, GpuTimeline)>,
    /// The computation of all operations, added up: more than the time in which something computes
    /// where operations run at once.
    pub kernel_ns: i64,
    /// Time in which work of the profile's own computes: of a window less than its timeline has,
    /// where work of another one runs on.
    own_computation_ns: i64,
    /// Some of what is counted runs beside other work.
    overlaps: bool,
    /// Of a trace that recomputes activations: first without that work, then that work alone.
    pub recompute: Option<[Option<GpuTimeline>; 2]>,
}

impl Timelines {
    pub(super) fn new(profile: &Profile, choice: GpuEvents) -> Timelines {
        let events = profile.gpu_events(choice);
        // A window without work of its own has no time of the GPU.
        let has_work = profile.gpu.of(events).next().is_some();
        let running: Vec<Running> = match has_work {
            true => profile.running(events).collect(),
            false => Vec::new(),
        };
        let over = |timeline: GpuTimeline| timeline.over(profile.gpu_span(timeline.span));
        let half = |is_recompute: bool| {
            let work = running.iter();
            timeline(work.filter(|work| work.is_recompute == is_recompute)).map(over)
        };
        let whole = timeline(&running).map(over);
        let own_computation_ns = match profile.beside(events).next() {
            None => whole.map_or(0, |whole| whole.computation_ns),
            Some(_) => {
                let own = profile.gpu.of(events);
                let own = own.filter(|work| work.class == GpuClass::Computation);
                busy(own.map(|work| work.span))
            }
        };
        let operations = profile.operations().iter();
        let computing = operations.filter(|operation| operation.counts(events));
        let all_ns = sum(running.iter().map(|work| work.span.length()));
        Timelines {
            events,
            kernel_ns: sum(computing.map(|operation| operation.computing_ns(profile))),
            own_computation_ns,
            overlaps: whole.is_some_and(|whole| all_ns > whole.busy_ns),
            gpus: whole.map_or(Vec::new(), |whole| by_gpu(profile, &running, whole.span)),
            whole,
            recompute: profile
                .recompute
                .is_some()
                .then(|| [half(false), half(true)]),
        }
    }

    /// What verdicts on overlap and on what is exposed rest on: of several GPUs the mean, because
    /// one that computes hides nothing of what another one waits for. Of one GPU its timeline.
    pub fn of_one_gpu(&self) -> Option<GpuTimeline> {
        match self.gpus.is_empty() {
            true => self.whole,
            false => GpuTimeline::mean(self.gpus.iter().map(|(_, of_gpu)| *of_gpu)),
        }
    }

    /// What shares of compute are of: kernel time, as the times of operations are, so that they sum
    /// up to 100 % on several streams and GPUs as well. `None` where nothing computes.
    pub fn compute_ns(&self) -> Option<i64> {
        self.whole.as_ref()?;
        Some(self.kernel_ns.max(self.own_computation_ns)).filter(|ns| *ns > 0)
    }

    /// Whether work runs beside other work, on several streams or GPUs.
    pub(crate) fn overlaps(&self) -> bool {
        self.overlaps
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

fn timeline<'a>(running: impl IntoIterator<Item = &'a Running>) -> Option<GpuTimeline> {
    GpuTimeline::new(running.into_iter().map(|work| (work.class, work.span)))
}

/// The timeline of each GPU over a time; none for a trace of one.
fn by_gpu(profile: &Profile, running: &[Running], span: Interval) -> Vec<(StringId, GpuTimeline)> {
    let mut gpus: Vec<(StringId, Vec<&Running>)> = Vec::new();
    for work in running {
        let Some(gpu) = work.gpu else { continue };
        // Few; the last one is asked for most often.
        match gpus.iter_mut().rev().find(|(known, _)| *known == gpu) {
            Some((_, of_gpu)) => of_gpu.push(work),
            None => gpus.push((gpu, vec![work])),
        }
    }
    if gpus.len() < 2 {
        return Vec::new();
    }
    gpus.arrange_by_key(|(gpu, _)| {
        let name = profile.trace.strings.get(*gpu);
        (name.parse().unwrap_or(u64::MAX), name)
    });
    let gpus = gpus.into_iter();
    gpus.filter_map(|(gpu, work)| Some((gpu, timeline(work)?.over(span))))
        .collect()
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
    let work = input.profile.running(input.timelines.events);
    let counted = work.filter(|work| is_recompute.is_none_or(|only| work.is_recompute == only));
    let worked = union(counted.map(|work| work.span).collect());
    let lengths = gaps_in(whole, &worked).map(Interval::length);
    Some(sum(lengths.filter(|length| *length < limit_ns)))
}

//! The trace over time: threads and GPU streams as lanes of spans, ready to be drawn.
//!
//! ```text
//! Trace ─┬ annotations ─pack→┐
//!        ├ threads ─depth→   ├→ Lane: rows of spans, none over another ─draw(view)→ Block: what a pixel shows
//!        └ streams ─pack→    ┘                                         └totals(range)→ busy, idle, top work
//! ```
//!
//! A drawing leaves nothing out: spans too short to be visible are merged into [`Block`]s, which say how many spans
//! they hold and how much of their width is filled. The cost of drawing depends on what is on screen, not on the size
//! of the trace.

mod counters;
mod draw;
mod pack;
mod range;
mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::base::format;
use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::cpu::tree::{CallTree, NodeId};
use crate::profile::serving::slices::of_steps;
use crate::profile::serving::{Serving, ServingStep, StepSlices};
use crate::profile::window::recorded_span;
use crate::trace::{Category, EventId, Trace, Track, TrackId, event_args};
use pack::pack;

pub use counters::{Counter, counters, utilization};
pub use draw::{Block, View};
pub use range::{RangeTotals, RangeWork, range_timeline};
pub use row::Row;

/// Up to this many streams of a device get a lane each; more streams share rows, wherever one is free.
const MAX_STREAM_LANES: usize = 8;

/// If more streams than this have fewer than [`FEW_EVENTS`] events each, lanes show hardware queues instead: such
/// streams are short-lived, like those of rocprofv3.
const MAX_SMALL_STREAMS: usize = 16;
const FEW_EVENTS: usize = 3;

/// What a lane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKind {
    /// Ranges named by the program.
    Annotations,
    /// Steps of a serving engine on the GPU, and their layers.
    Layers,
    /// Kernels, copies and fills of one stream.
    Stream,
    /// The same for all streams of a device.
    Device,
    /// Calls of a CPU thread, by nesting.
    Thread,
    /// Calls that end after the call that they start in.
    Strays,
}

/// Rows that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// What it shows.
    pub kind: LaneKind,
    /// Its title, for display.
    pub title: String,
    /// Additional information; may be empty.
    pub note: String,
    /// Top to bottom.
    pub rows: Vec<Row>,
}

/// All lanes of a trace, in display order: annotations, GPUs, threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    /// Top to bottom.
    pub lanes: Vec<Lane>,
    /// From the first start to the last end of anything shown.
    pub span: Interval,
}

impl Lane {
    /// Number of rows at the top with a single call that contains all others.
    pub fn common_stack(&self) -> usize {
        match self.kind {
            LaneKind::Thread => {
                let alone = self.rows.iter().take_while(|row| row.len() == 1).count();
                alone.min(self.rows.len().saturating_sub(1))
            }
            _ => 0,
        }
    }
}

impl Lanes {
    /// The lanes of a trace; `None` for one without events.
    pub fn new(profile: &Profile) -> Option<Lanes> {
        let trace = &profile.trace;
        let mut lanes = annotations(trace);
        lanes.extend(layers(profile));
        lanes.extend(devices(profile));
        lanes.extend(threads(trace, profile.full_tree()));
        Some(Lanes {
            span: recorded_span(trace)?,
            lanes,
        })
    }

    /// Where an event is drawn: the index of its lane, and of its row in the lane.
    pub fn place(&self, trace: &Trace, event: EventId) -> Option<(usize, usize)> {
        self.lanes.iter().enumerate().find_map(|(lane, of)| {
            let row = of
                .rows
                .iter()
                .position(|row| row.position(trace, event).is_some())?;
            Some((lane, row))
        })
    }
}

/// The named ranges of each thread. Their copies on the GPU are skipped.
fn annotations(trace: &Trace) -> Vec<Lane> {
    let mut by_track: BTreeMap<TrackId, Vec<EventId>> = BTreeMap::new();
    for event in trace.events.in_category(Category::UserAnnotation) {
        let track = trace.events.track(event);
        by_track.entry(track).or_default().push(event);
    }
    let lane = |(track, events): (TrackId, Vec<EventId>)| Lane {
        kind: LaneKind::Annotations,
        title: "Annotations".to_owned(),
        note: match trace.tracks.get(track).and_then(|track| track.thread_name) {
            Some(_) => thread_name(trace, track),
            None => format!("thread {}", thread_name(trace, track)),
        },
        rows: pack(trace, events),
    };
    by_track.into_iter().map(lane).collect()
}

/// The steps of a serving engine or diffusion pipeline on the GPU, with their layers; `None` if no step has several
/// layers.
fn layers(profile: &Profile) -> Option<Lane> {
    let serving = profile.serving()?;
    let mut steps = of_steps(profile);
    steps.retain(|step| !step.slices.is_empty());
    let span = |step: &StepSlices| {
        step.slices
            .iter()
            .map(|slice| slice.span)
            .reduce(Interval::hull)
    };
    steps.arrange_by_key(|step| span(step).map(|span| span.start_ns));
    let track = steps.first()?.slices.first()?.track;
    let whole = steps.iter().filter_map(|step| {
        let first = step.slices.first()?.first(profile)?;
        Some((first, span(step)?, step_name(serving, step)))
    });
    let inside = steps.iter().flat_map(|step| &step.slices);
    let inside = inside
        .filter(|slice| slice.number.is_some())
        .filter_map(|slice| Some((slice.first(profile)?, slice.span, slice.name())));
    Some(Lane {
        kind: LaneKind::Layers,
        title: "Steps and layers".to_owned(),
        note: format!("on the GPU, {}", stream_name(&profile.trace, track)),
        rows: vec![Row::of_parts(whole), Row::of_parts(inside)],
    })
}

/// "Step 3: decode, 32 requests"
fn step_name(serving: &Serving, step: &StepSlices) -> String {
    if let Some(number) = step.iteration {
        return format!("Denoising step {number}");
    }
    let of_step = serving.steps.get(step.step);
    let phase = of_step.and_then(ServingStep::phase);
    let phase = phase.map(|phase| format!(": {}", phase.label()));
    let requests = of_step.and_then(|step| step.batch?.requests());
    let requests = requests.map(|n| format!(", {}", format::counted(n, "request")));
    format!(
        "Step {}{}{}",
        step.step + 1,
        phase.unwrap_or_default(),
        requests.unwrap_or_default()
    )
}

/// GPU activity by device and stream.
fn devices(profile: &Profile) -> Vec<Lane> {
    let trace = &profile.trace;
    let mut by_device: BTreeMap<&str, BTreeMap<TrackId, Vec<EventId>>> = BTreeMap::new();
    for (_, work) in profile.gpu.iter() {
        let track = trace.events.track(work.event);
        let device = trace.tracks.get(track).map(|track| track.pid);
        let device = device.map_or("", |pid| trace.strings.get(pid));
        let streams = by_device.entry(device).or_default();
        streams.entry(track).or_default().push(work.event);
    }
    let n_devices = by_device.len();
    let mut lanes = Vec::new();
    for (device, streams) in by_device {
        let gpu = match n_devices {
            1 => "GPU".to_owned(),
            _ => format!("GPU {device}"),
        };
        let n_small = streams.values().filter(|of| of.len() < FEW_EVENTS).count();
        let queues = (n_small > MAX_SMALL_STREAMS).then(|| by_queue(trace, &streams));
        if let Some(queues) = queues.flatten() {
            lanes.extend(queues.into_iter().map(|(queue, events)| Lane {
                kind: LaneKind::Stream,
                title: match queue {
                    Some(queue) => format!("{gpu}, queue {queue}"),
                    None => format!("{gpu}, no queue"),
                },
                note: String::new(),
                rows: pack(trace, events),
            }));
            continue;
        }
        if streams.len() > MAX_STREAM_LANES {
            let note = format!("{} streams share these rows", streams.len());
            lanes.push(Lane {
                kind: LaneKind::Device,
                title: gpu,
                note,
                rows: pack(trace, streams.into_values().flatten().collect()),
            });
            continue;
        }
        let mut streams: Vec<(TrackId, Vec<EventId>)> = streams.into_iter().collect();
        streams.arrange_by_key(|(track, _)| stream_number(trace, *track));
        for (track, events) in streams {
            let rows = pack(trace, events);
            lanes.push(Lane {
                kind: LaneKind::Stream,
                title: format!("{gpu}, {}", stream_name(trace, track)),
                note: match rows.len() {
                    0 | 1 => String::new(),
                    _ => "work of this stream overlaps".to_owned(),
                },
                rows,
            });
        }
    }
    lanes
}

/// The same by hardware queue, if the trace records queues and there are only a few.
fn by_queue(
    trace: &Trace,
    streams: &BTreeMap<TrackId, Vec<EventId>>,
) -> Option<BTreeMap<Option<u64>, Vec<EventId>>> {
    let mut queues: BTreeMap<Option<u64>, Vec<EventId>> = BTreeMap::new();
    for event in streams.values().flatten() {
        let queue = event_args::arg(trace, *event, "queue").and_then(|queue| queue.parse().ok());
        queues.entry(queue).or_default().push(*event);
    }
    let is_usable = queues.keys().any(Option::is_some) && queues.len() <= MAX_STREAM_LANES;
    is_usable.then_some(queues)
}

/// Calls of each thread, one row for each depth.
fn threads(trace: &Trace, tree: &CallTree) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = tree
        .tracks()
        .iter()
        .map(|thread| {
            let mut by_depth: Vec<Vec<EventId>> = Vec::new();
            // The callers of each call, outermost first. Counting them anew for each is quadratic in a deep recursion.
            let mut callers: Vec<NodeId> = Vec::new();
            for node in thread.nodes.clone().map(NodeId) {
                let parent = tree.parent(node);
                while callers.last().copied() != parent && callers.pop().is_some() {}
                let depth = callers.len();
                callers.push(node);
                // Calls recorded during graph capture ran at another time.
                let Some(event) = tree.event(node).filter(|event| !trace.captured.has(*event))
                else {
                    continue;
                };
                if by_depth.len() <= depth {
                    by_depth.resize_with(depth + 1, Vec::new);
                }
                if let Some(row) = by_depth.get_mut(depth) {
                    row.push(event);
                }
            }
            Lane {
                kind: LaneKind::Thread,
                title: "Thread".to_owned(),
                note: thread_number(trace, thread.track),
                rows: by_depth
                    .into_iter()
                    .map(|events| Row::new(trace, events))
                    .collect(),
            }
        })
        .collect();
    let strays: Vec<EventId> = tree.strays().filter_map(|node| tree.event(node)).collect();
    if !strays.is_empty() {
        lanes.push(Lane {
            kind: LaneKind::Strays,
            title: "Unfinished or overlapping calls".to_owned(),
            note: "they end after their caller".to_owned(),
            rows: pack(trace, strays),
        });
    }
    lanes
}

/// The recorded name of a thread, otherwise its number.
fn thread_name(trace: &Trace, track: TrackId) -> String {
    let name = |track: &Track| trace.strings.get(track.thread_name.unwrap_or(track.tid));
    trace.tracks.get(track).map_or("", name).to_owned()
}

/// The thread's name without the word "thread" at its start, which PyTorch writes.
fn thread_number(trace: &Trace, track: TrackId) -> String {
    let name = thread_name(trace, track);
    let number = name.strip_prefix("thread ").map(str::to_owned);
    number.unwrap_or(name)
}

/// The stream's number; streams without one come last.
fn stream_number(trace: &Trace, track: TrackId) -> i64 {
    let tid = trace.tracks.get(track).map(|track| track.tid);
    let number = tid.and_then(|tid| trace.strings.get(tid).parse().ok());
    number.unwrap_or(i64::MAX)
}

/// The recorded name of a stream, otherwise `stream 7`.
fn stream_name(trace: &Trace, track: TrackId) -> String {
    let Some(track) = trace.tracks.get(track) else {
        return String::new();
    };
    match track.thread_name {
        Some(name) => trace.strings.get(name).trim().to_owned(),
        None => format!("stream {}", trace.strings.get(track.tid)),
    }
}

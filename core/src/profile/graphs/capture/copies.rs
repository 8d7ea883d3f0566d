//! Adds captured calls to the trace as events, below the launches that replay them.

use std::sync::Arc;

use super::names;
use super::segments::Segment;
use crate::base::map::Map;
use crate::names::MODULE;
use crate::profile::launch::{GpuId, Launches};
use crate::trace::{Category, Dims, EventId, NewEvent, OpArgs, OpArgsId, StringId, Trace};

/// Above this number of events, further copies keep only those Python frames that are modules: a long recording replays
/// a graph thousands of times.
const MOST_WITH_FRAMES: usize = 2_000_000;

/// A replay and the segment it is merged with.
#[derive(Debug)]
pub(super) struct Merge {
    pub(super) launch: EventId,
    /// The file of the segment.
    pub(super) file: usize,
    pub(super) segment: Arc<Segment>,
    /// The kernels of the replay with their launch, a row of [`Segment::launches`].
    pub(super) kernels: Vec<(GpuId, u32)>,
}

/// Copies the captured calls for each replay and assigns its kernels to the copied launches. A merge whose file is not
/// in `sources` comes from the trace itself.
pub(super) fn put_below(
    trace: &mut Trace,
    launches: &mut Launches,
    sources: &[Option<&Trace>],
    merges: &[Merge],
) {
    let mut translations: Map<usize, Translation> = Map::default();
    let mut uid = trace.next_uid();
    let mut n_added = 0;
    for merge in merges {
        let source = match sources.get(merge.file) {
            Some(None) => continue,
            Some(source) => *source,
            None => None,
        };
        let translation = translations.entry(merge.file).or_default();
        let is_wanted = wanted(source.unwrap_or(trace), merge, n_added < MOST_WITH_FRAMES);
        let first = trace.events.len() as u32;
        let copy_of = copy_calls(trace, source, translation, merge, &is_wanted, uid);
        n_added += copy_of.len();
        uid += merge.segment.calls.len() as u64;
        trace
            .captured
            .below(merge.launch, first..trace.events.len() as u32);
        for (kernel, launch) in &merge.kernels {
            let launch = merge.segment.launches.get(*launch as usize);
            let copy = launch.and_then(|launch| copy_of.get(&launch.row));
            if let (Some(copy), Some(event)) = (copy, launches.work.get(kernel.index())) {
                trace.captured.give(*event, *copy);
            }
        }
    }
    trace.captured.number_from(uid);
    launches.follow_captures(trace);
}

/// Copies the wanted calls of a segment to the time of its replay; returns the copies by row of the segment.
fn copy_calls(
    trace: &mut Trace,
    source: Option<&Trace>,
    translation: &mut Translation,
    merge: &Merge,
    is_wanted: &[bool],
    first_uid: u64,
) -> Map<u32, EventId> {
    let mut copy_of: Map<u32, EventId> = Map::default();
    let events = &trace.events;
    let (track, ts_ns, dur_ns) = (
        events.track(merge.launch),
        events.ts_ns(merge.launch),
        events.dur_ns(merge.launch),
    );
    for (row, call) in merge.segment.calls.iter().enumerate() {
        if !is_wanted.get(row).copied().unwrap_or(false) {
            continue;
        }
        let event = call.event;
        let of = &source.unwrap_or(trace).events;
        let (category, name) = (of.category(event), of.name(event));
        let (op_args, extra_args) = (of.op_args(event), of.extra_args(event));
        let mut name = translation.string(source, trace, name);
        if category == Category::CpuOp
            && let Some(plain) = names::without_number(trace.strings.get(name))
        {
            let plain = plain.to_owned();
            name = trace.strings.intern(&plain);
        }
        let copy = NewEvent {
            uid: number(first_uid + row as u64),
            category,
            name,
            track,
            ts_ns,
            dur_ns,
            external_id: None,
            correlation: None,
            op_args: op_args.map(|id| translation.args(source, trace, id)),
            extra_args: extra_args.map(|text| translation.string(source, trace, text)),
        };
        let copy = trace.events.push(copy);
        trace.captured.add(copy, call.depth);
        copy_of.insert(row as u32, copy);
    }
    copy_of
}

/// Converts to the position type of the event table.
pub(super) fn number(uid: u64) -> u32 {
    u32::try_from(uid).unwrap_or(u32::MAX - 1)
}

/// For each call, whether it is copied: operators, and calls that lead to a launch that was replayed.
fn wanted(source: &Trace, merge: &Merge, with_frames: bool) -> Vec<bool> {
    let calls = &merge.segment.calls;
    let mut wanted = vec![false; calls.len()];
    for (_, launch) in &merge.kernels {
        let launch = merge.segment.launches.get(*launch as usize);
        if let Some(slot) = launch.and_then(|launch| wanted.get_mut(launch.row as usize)) {
            *slot = true;
        }
    }
    // In reverse order, the caller of a wanted call is the next one with a smaller depth.
    let mut caller = None;
    for (slot, call) in wanted.iter_mut().zip(calls).rev() {
        if *slot || caller == Some(call.depth) {
            *slot = true;
            caller = call.depth.checked_sub(1);
        }
    }
    for (slot, call) in wanted.iter_mut().zip(calls) {
        match source.events.category(call.event) {
            Category::CpuOp => *slot = true,
            Category::PythonFunction if !with_frames => {
                *slot = *slot && source.name(call.event).starts_with(MODULE);
            }
            _ => {}
        }
    }
    wanted
}

/// Maps strings and arguments of a capture to those of the trace. For captures in the trace itself they stay the same.
#[derive(Debug, Default)]
struct Translation {
    strings: Map<StringId, StringId>,
    args: Map<OpArgsId, OpArgsId>,
}

impl Translation {
    fn string(&mut self, from: Option<&Trace>, to: &mut Trace, id: StringId) -> StringId {
        let Some(from) = from else { return id };
        let known = self.strings.entry(id);
        *known.or_insert_with(|| to.strings.intern(from.strings.get(id)))
    }

    fn args(&mut self, from: Option<&Trace>, to: &mut Trace, id: OpArgsId) -> OpArgsId {
        let Some(from) = from else { return id };
        if let Some(known) = self.args.get(&id) {
            return *known;
        }
        let args = from.args.get(id).cloned().unwrap_or_default();
        let translated = OpArgs {
            dims: args.dims.map(|dims| shapes(from, to, &dims)),
            types: args.types.map(|types| self.strings(from, to, &types)),
            strides: args.strides.map(|strides| shapes(from, to, &strides)),
            concrete: args.concrete.map(|values| self.strings(from, to, &values)),
        };
        let translated = to.args.intern(translated);
        self.args.insert(id, translated);
        translated
    }

    fn strings(&mut self, from: &Trace, to: &mut Trace, all: &[StringId]) -> Box<[StringId]> {
        let from = Some(from);
        all.iter().map(|id| self.string(from, to, *id)).collect()
    }
}

fn shapes(from: &Trace, to: &mut Trace, all: &[Dims]) -> Box<[Dims]> {
    let mut shape = |id| to.args.intern_shape(from.args.shape(id));
    let dims = all.iter().map(|dims| match dims {
        Dims::One(id) => Dims::One(shape(*id)),
        Dims::Many(ids) => Dims::Many(ids.iter().map(|id| shape(*id)).collect()),
    });
    dims.collect()
}

//! A trace that is read in parts, in parallel: one builder's events are appended to another's.
//!
//! ```text
//! builder ─take─→ TracePart ─join─→ another builder
//!    Rows: what it read    PartIds: its ids in the other one
//! ```
//!
//! A builder may give several parts, in text order. Each contains only the strings, tracks and arguments that are new,
//! so nothing is sent twice. Parts are joined in text order, so all ids are the same as when reading in one pass.

use serde::{Deserialize, Serialize};

use super::{
    Dims, EventId, EventTable, FailedAllocation, FlowPoint, FlowTable, LinkId, MemoryDevice,
    MemoryEvent, MemoryTable, OpArgs, OpArgsId, ShapeId, StringId, Trace, TrackId,
};

/// What a builder has added since its last part. Ids are the builder's own.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TracePart {
    /// What earlier parts contained.
    previous: Rows,
    text: String,
    /// Lengths of the strings in `text`.
    lens: Vec<u32>,
    tracks: Vec<(StringId, StringId)>,
    shapes: Vec<Vec<i64>>,
    args: Vec<OpArgs>,
    spellings: Vec<StringId>,
    events: EventTable,
    flows: FlowTable,
    /// By row of `events`.
    sequence_numbers: Vec<(u32, i64)>,
    unreliable_durations: Vec<(u32, i64)>,
    memory: MemoryTable,
    pub(super) process_names: Vec<(StringId, StringId)>,
    pub(super) process_labels: Vec<(StringId, StringId)>,
    pub(super) thread_names: Vec<((StringId, StringId), StringId)>,
}

/// Row counts of the deduplicated tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rows {
    strings: usize,
    tracks: usize,
    shapes: usize,
    args: usize,
    spellings: usize,
}

/// Maps the ids of one builder to those of another, for the parts joined so far.
#[derive(Debug, Default)]
pub(crate) struct PartIds {
    strings: Vec<StringId>,
    tracks: Vec<TrackId>,
    shapes: Vec<ShapeId>,
    args: Vec<OpArgsId>,
    links: Vec<LinkId>,
}

impl TracePart {
    pub(super) fn take(trace: &mut Trace, previous: &mut Rows) -> TracePart {
        let (mut text, mut lens) = (String::new(), Vec::new());
        for (_, string) in trace.strings.iter_from(previous.strings) {
            text.push_str(string);
            lens.push(string.len() as u32);
        }
        let rows = |rows: Vec<(EventId, i64)>| rows.into_iter().map(|(event, n)| (event.0, n));
        let new_tracks = trace.tracks.iter().skip(previous.tracks);
        let spellings = trace.link_ids.spellings().get(previous.spellings..);
        let part = TracePart {
            previous: *previous,
            text,
            lens,
            tracks: new_tracks
                .map(|(_, track)| (track.pid, track.tid))
                .collect(),
            shapes: trace
                .args
                .shapes_from(previous.shapes)
                .map(<[i64]>::to_vec)
                .collect(),
            args: trace.args.rows_from(previous.args).to_vec(),
            spellings: spellings.unwrap_or_default().to_vec(),
            events: std::mem::take(&mut trace.events),
            flows: std::mem::take(&mut trace.flows),
            sequence_numbers: rows(std::mem::take(&mut trace.sequence_numbers)).collect(),
            unreliable_durations: rows(std::mem::take(&mut trace.unreliable_durations)).collect(),
            memory: std::mem::take(&mut trace.memory),
            ..TracePart::default()
        };
        *previous = Rows {
            strings: previous.strings + part.lens.len(),
            tracks: previous.tracks + part.tracks.len(),
            shapes: previous.shapes + part.shapes.len(),
            args: previous.args + part.args.len(),
            spellings: previous.spellings + part.spellings.len(),
        };
        part
    }

    /// Number of events.
    pub(crate) fn n_events(&self) -> usize {
        self.events.len()
    }

    /// Bytes of strings that no earlier part contained.
    pub(crate) fn n_text(&self) -> usize {
        self.text.len()
    }

    /// What allocators reported.
    pub(crate) fn memory(&self) -> &MemoryTable {
        &self.memory
    }

    pub(super) fn join(&self, trace: &mut Trace, first_uid: u32, ids: &mut PartIds) -> bool {
        if ids.rows() != self.previous {
            return false;
        }
        self.join_distinct(trace, ids);
        let first = trace.events.len() as u32;
        let moved = |(row, number): &(u32, i64)| (EventId(first + row), *number);
        trace
            .sequence_numbers
            .extend(self.sequence_numbers.iter().map(moved));
        trace
            .unreliable_durations
            .extend(self.unreliable_durations.iter().map(moved));
        trace.events.append(&self.events, first_uid, ids);
        let point = |point: FlowPoint| FlowPoint {
            id: ids.link(point.id),
            track: ids.track(point.track),
        };
        trace
            .flows
            .starts
            .extend(self.flows.starts.iter().map(point));
        trace.flows.ends.extend(self.flows.ends.iter().map(point));
        self.join_memory(&mut trace.memory, ids);
        true
    }

    fn join_distinct(&self, trace: &mut Trace, ids: &mut PartIds) {
        let mut text = self.text.as_str();
        for len in &self.lens {
            let (string, rest) = text.split_at_checked(*len as usize).unwrap_or((text, ""));
            ids.strings.push(trace.strings.intern(string));
            text = rest;
        }
        for (pid, tid) in &self.tracks {
            let track = trace.tracks.intern(ids.string(*pid), ids.string(*tid));
            ids.tracks.push(track);
        }
        for sizes in &self.shapes {
            ids.shapes.push(trace.args.intern_shape(sizes));
        }
        for args in &self.args {
            let args = ids.of_args(args);
            ids.args.push(trace.args.intern(args));
        }
        for spelling in &self.spellings {
            let spelling = ids.string(*spelling);
            ids.links.push(trace.link_ids.spelled(spelling));
        }
    }

    fn join_memory(&self, memory: &mut MemoryTable, ids: &PartIds) {
        let devices = self.memory.devices().iter().map(|device| {
            let pid = ids.string(device.pid);
            memory.device(MemoryDevice { pid, ..*device })
        });
        let devices: Vec<Option<u16>> = devices.collect();
        let device = |device: u16| devices.get(usize::from(device)).copied().flatten();
        for event in self.memory.iter() {
            if let Some(device) = device(event.device) {
                let track = ids.track(event.track);
                memory.push(MemoryEvent {
                    track,
                    device,
                    ..event
                });
            }
        }
        for failed in self.memory.failed() {
            if let Some(device) = device(failed.device) {
                let track = ids.track(failed.track);
                memory.push_failed(FailedAllocation {
                    track,
                    device,
                    ..*failed
                });
            }
        }
    }
}

/// Looks up an id. An id that no part contained, which happens only in a damaged message, gives the first row.
#[inline]
fn id_or_first<T: Copy>(ids: &[T], row: usize, first: T) -> T {
    ids.get(row).copied().unwrap_or(first)
}

impl PartIds {
    fn rows(&self) -> Rows {
        Rows {
            strings: self.strings.len(),
            tracks: self.tracks.len(),
            shapes: self.shapes.len(),
            args: self.args.len(),
            spellings: self.links.len(),
        }
    }

    #[inline]
    pub(super) fn string(&self, id: StringId) -> StringId {
        id_or_first(&self.strings, id.0 as usize, StringId(0))
    }

    #[inline]
    pub(super) fn track(&self, id: TrackId) -> TrackId {
        id_or_first(&self.tracks, id.0 as usize, TrackId(0))
    }

    #[inline]
    pub(super) fn args(&self, id: OpArgsId) -> OpArgsId {
        id_or_first(&self.args, id.0 as usize, OpArgsId(0))
    }

    #[inline]
    pub(super) fn link(&self, id: LinkId) -> LinkId {
        let spelling = id.spelling();
        spelling.map_or(id, |row| id_or_first(&self.links, row, LinkId(0)))
    }

    fn shape(&self, id: ShapeId) -> ShapeId {
        id_or_first(&self.shapes, id.0 as usize, ShapeId(0))
    }

    fn of_args(&self, args: &OpArgs) -> OpArgs {
        let dims = |dims: &Option<Box<[Dims]>>| {
            let dims = dims.as_ref()?.iter().map(|dims| match dims {
                Dims::One(shape) => Dims::One(self.shape(*shape)),
                Dims::Many(shapes) => {
                    Dims::Many(shapes.iter().map(|shape| self.shape(*shape)).collect())
                }
            });
            Some(dims.collect())
        };
        let texts = |texts: &Option<Box<[StringId]>>| {
            Some(
                texts
                    .as_ref()?
                    .iter()
                    .map(|text| self.string(*text))
                    .collect(),
            )
        };
        OpArgs {
            dims: dims(&args.dims),
            types: texts(&args.types),
            strides: dims(&args.strides),
            concrete: texts(&args.concrete),
        }
    }
}

//! Maps the described tracks of a trace to the threads and streams that events ran on.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::import::unordered::stream_track;
use crate::import::wire::{Fields, MOST_DEPTH};
use crate::trace::{TraceBuilder, TrackId};

/// More tracks than this are damage.
const MOST_TRACKS: usize = 1 << 20;

/// The tracks of a trace.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    described: HashMap<u64, Described, FxBuildHasher>,
    known: HashMap<u64, Place, FxBuildHasher>,
}

/// The content of a descriptor.
#[derive(Debug, Default)]
struct Described {
    parent: u64,
    name: String,
    /// Its pid, if the track is a process.
    process: Option<u64>,
    /// Its pid and tid, if it is a thread.
    thread: Option<(u64, u64)>,
}

/// Where events ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) track: TrackId,
    pub(super) kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceKind {
    Thread,
    /// A stream of a GPU.
    Stream,
    /// Where PyTorch records the overhead of profiling.
    Overhead,
}

impl Tracks {
    /// Reads a descriptor.
    pub(super) fn describe(&mut self, fields: Fields, builder: &mut TraceBuilder) {
        let (mut uuid, mut track) = (0, Described::default());
        let mut name = String::new();
        for (number, value) in fields {
            match number {
                1 => uuid = value.number(),
                2 | 10 => name = value.text().into_owned(),
                3 => {
                    let (mut pid, mut process_name) = (0, None);
                    for (number, value) in value.fields() {
                        match number {
                            1 => pid = value.number(),
                            6 => process_name = Some(value.text()),
                            _ => {}
                        }
                    }
                    track.process = Some(pid);
                    if let Some(process_name) = process_name {
                        track.name = process_name.clone().into_owned();
                        let pid = builder.string(&pid.to_string());
                        let process_name = builder.string(&process_name);
                        builder.process_name(pid, process_name);
                    }
                }
                4 => {
                    let (mut pid, mut tid) = (0, 0);
                    for (number, value) in value.fields() {
                        match number {
                            1 => pid = value.number(),
                            2 => tid = value.number(),
                            5 => track.name = value.text().into_owned(),
                            _ => {}
                        }
                    }
                    track.thread = Some((pid, tid));
                }
                5 => track.parent = value.number(),
                _ => {}
            }
        }
        if !name.is_empty() {
            track.name = name;
        }
        if self.described.len() < MOST_TRACKS || self.described.contains_key(&uuid) {
            self.described.insert(uuid, track);
        }
        // Tracks below it may take their name from its process.
        self.known.clear();
    }

    /// Where the events of a track ran.
    pub(super) fn place(&mut self, uuid: u64, builder: &mut TraceBuilder) -> Place {
        if let Some(place) = self.known.get(&uuid) {
            return *place;
        }
        let place = self.find(uuid, builder);
        if self.known.len() < MOST_TRACKS {
            self.known.insert(uuid, place);
        }
        place
    }

    fn find(&self, uuid: u64, builder: &mut TraceBuilder) -> Place {
        let mut above = std::iter::successors(self.described.get(&uuid), |track| {
            self.described.get(&track.parent)
        });
        let own = above.clone().next();
        let name = own.map_or("", |track| &track.name);
        if let Some((agent, stream)) = gpu_stream(name) {
            let track = stream_track(builder, agent, &stream.to_string());
            return Place {
                track,
                kind: PlaceKind::Stream,
            };
        }
        let mut all = above.clone().take(MOST_DEPTH as usize);
        let kind = match all.any(|track| track.name == "Overhead") {
            true => PlaceKind::Overhead,
            false if name.contains("stream ") => PlaceKind::Stream,
            false => PlaceKind::Thread,
        };
        let mut all = above.by_ref().take(MOST_DEPTH as usize);
        let thread = all.find_map(|track| {
            let thread = track.thread.map(|(pid, tid)| (pid, Some(tid)));
            thread.or(track.process.map(|pid| (pid, None)))
        });
        let pid = thread.map_or(String::new(), |(pid, _)| pid.to_string());
        let tid = match (thread, thread_number(name)) {
            (_, Some(tid)) | (Some((_, Some(tid))), None) => tid.to_string(),
            _ if name.is_empty() => uuid.to_string(),
            _ => name.to_owned(),
        };
        let track = builder.track(&pid, &tid);
        if own.is_some_and(|own| own.process.is_none()) && !name.is_empty() {
            let [pid, tid, name] = [&*pid, &*tid, name].map(|text| builder.string(text));
            builder.thread_name(pid, tid, name);
        }
        Place { track, kind }
    }
}

/// The GPU and the stream of a rocprofv3 track: `COMPUTE AGENT [4] STREAM [2] (GPU)`.
fn gpu_stream(name: &str) -> Option<(u64, u64)> {
    let mut numbers = name.strip_suffix("(GPU)")?.split('[').skip(1).map(|rest| {
        let (number, _) = rest.split_once(']')?;
        number.trim().parse().ok()
    });
    Some((numbers.next()??, numbers.next()??))
}

/// The thread of a rocprofv3 track: `THREAD 1 (4711)`.
fn thread_number(name: &str) -> Option<u64> {
    let (_, number) = name.strip_prefix("THREAD ")?.split_once('(')?;
    number.strip_suffix(')')?.trim().parse().ok()
}

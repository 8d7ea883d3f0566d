//! The way into a [`Trace`]: the importer and the tests push events here.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::args::parse_texts;
use super::part::{PartIds, Rows, TracePart};
use super::{
    DeviceProperties, EventId, FlowPoint, LinkId, NewEvent, OpArgs, OpArgsId, StringId, Trace,
    TrackId,
};

/// The four argument lists of an op as raw JSON text; empty where the key is missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpArgsText<'a> {
    /// `Input Dims`.
    pub dims: &'a str,
    /// `Input type`.
    pub types: &'a str,
    /// `Input Strides`.
    pub strides: &'a str,
    /// `Concrete Inputs`.
    pub concrete: &'a str,
}

impl Trace {
    /// Interns the argument lists of an op, and says whether all of them could be read.
    pub(crate) fn intern_op_args(&mut self, text: OpArgsText) -> (OpArgsId, bool) {
        let Trace { args, strings, .. } = self;
        let read = OpArgs {
            dims: args.parse_dims(text.dims),
            types: parse_texts(text.types, strings),
            strides: args.parse_dims(text.strides),
            concrete: parse_texts(text.concrete, strings),
        };
        let are_read = [
            (text.dims, read.dims.is_some()),
            (text.types, read.types.is_some()),
            (text.strides, read.strides.is_some()),
            (text.concrete, read.concrete.is_some()),
        ];
        let is_read = |(text, is_read): (&str, bool)| is_read || matches!(text, "" | "null");
        let are_read = are_read.into_iter().all(is_read);
        (args.intern(read), are_read)
    }
}

/// Collects a [`Trace`].
#[derive(Debug, Default)]
pub struct TraceBuilder {
    /// What was collected so far.
    pub trace: Trace,
    /// By argument text, since most ops repeat: the parsed arguments, and whether all of them could be read.
    args_by_text: HashMap<[StringId; 4], (OpArgsId, bool), FxBuildHasher>,
    process_names: HashMap<StringId, StringId, FxBuildHasher>,
    process_labels: HashMap<StringId, StringId, FxBuildHasher>,
    thread_names: HashMap<(StringId, StringId), StringId, FxBuildHasher>,
}

impl TraceBuilder {
    /// Interns a string.
    pub fn string(&mut self, text: &str) -> StringId {
        self.trace.strings.intern(text)
    }

    /// Interns a track from the spelling of its pid and tid.
    pub fn track(&mut self, pid: &str, tid: &str) -> TrackId {
        let pid = self.trace.strings.intern(pid);
        let tid = self.trace.strings.intern(tid);
        self.trace.tracks.intern(pid, tid)
    }

    /// A link id from a number.
    pub fn link(&mut self, number: u64) -> LinkId {
        self.trace.link_ids.number(number, &mut self.trace.strings)
    }

    /// A link id from any other spelling.
    pub(crate) fn spelled_link(&mut self, spelling: &str) -> LinkId {
        let spelling = self.trace.strings.intern(spelling);
        self.trace.link_ids.spelled(spelling)
    }

    /// Interns the argument lists of an op, and says whether all of them could be read.
    pub fn op_args(&mut self, text: OpArgsText) -> (OpArgsId, bool) {
        let strings = &mut self.trace.strings;
        let key =
            [text.dims, text.types, text.strides, text.concrete].map(|text| strings.intern(text));
        if let Some(id) = self.args_by_text.get(&key) {
            return *id;
        }
        let id = self.trace.intern_op_args(text);
        self.args_by_text.insert(key, id);
        id
    }

    /// Adds a complete event.
    #[inline]
    pub fn event(&mut self, event: NewEvent) -> EventId {
        self.trace.events.push(event)
    }

    /// Notes an event's `Sequence number`.
    pub(crate) fn sequence_number(&mut self, event: EventId, number: i64) {
        let numbers = &mut self.trace.sequence_numbers;
        // The number may come with the second half of an event, after later events have started.
        let at = match numbers.last() {
            Some((last, _)) if *last > event => {
                numbers.partition_point(|(before, _)| *before < event)
            }
            _ => numbers.len(),
        };
        numbers.insert(at, (event, number));
    }

    /// Notes the recorded duration of an event if it cannot be true.
    pub(crate) fn untrue_duration(&mut self, event: EventId, dur_ns: i64) {
        self.trace.unreliable_durations.push((event, dur_ns));
    }

    /// Adds the start of a host-to-device flow.
    #[inline]
    pub(crate) fn flow_start(&mut self, id: LinkId, track: TrackId) {
        self.trace.flows.starts.push(FlowPoint { id, track });
    }

    /// Adds the end of a host-to-device flow.
    #[inline]
    pub(crate) fn flow_end(&mut self, id: LinkId, track: TrackId) {
        self.trace.flows.ends.push(FlowPoint { id, track });
    }

    /// Names a process. Later names replace earlier ones.
    pub fn process_name(&mut self, pid: StringId, name: StringId) {
        self.process_names.insert(pid, name);
    }

    /// Labels a process ("CPU", "GPU 0").
    pub(crate) fn process_label(&mut self, pid: StringId, label: StringId) {
        self.process_labels.insert(pid, label);
    }

    /// Names a thread or stream.
    pub fn thread_name(&mut self, pid: StringId, tid: StringId, name: StringId) {
        self.thread_names.insert((pid, tid), name);
    }

    /// Keeps a small top-level key; `deviceProperties` is parsed at once. False if it was malformed.
    pub fn metadata(&mut self, key: &str, json: &str) -> bool {
        self.trace.metadata.push((key.to_owned(), json.to_owned()));
        if key != "deviceProperties" {
            return true;
        }
        let (devices, is_right) = DeviceProperties::parse_all(json);
        // If the key occurs twice, the one with content counts.
        if !devices.is_empty() {
            self.trace.devices = devices;
        }
        is_right
    }

    /// Takes what was added since the last part; `previous` counts what earlier parts contained.
    pub(crate) fn take_part(&mut self, previous: &mut Rows) -> TracePart {
        let names = [&mut self.process_names, &mut self.process_labels];
        let [process_names, process_labels] = names.map(|names| names.drain().collect());
        let mut part = TracePart::take(&mut self.trace, previous);
        part.process_names = process_names;
        part.process_labels = process_labels;
        part.thread_names = self.thread_names.drain().collect();
        part
    }

    /// Adds a part taken from another builder, whose first element has position `first_uid` in `traceEvents`. False if
    /// an earlier part of that builder is missing.
    pub(crate) fn join(&mut self, part: &TracePart, first_uid: u32, ids: &mut PartIds) -> bool {
        if !part.join(&mut self.trace, first_uid, ids) {
            return false;
        }
        for (pid, name) in &part.process_names {
            self.process_name(ids.string(*pid), ids.string(*name));
        }
        for (pid, label) in &part.process_labels {
            self.process_label(ids.string(*pid), ids.string(*label));
        }
        for ((pid, tid), name) in &part.thread_names {
            self.thread_name(ids.string(*pid), ids.string(*tid), ids.string(*name));
        }
        true
    }

    /// The finished trace.
    pub fn finish(mut self) -> Trace {
        for track in self.trace.tracks.iter_mut() {
            track.process_name = self.process_names.get(&track.pid).copied();
            track.process_label = self.process_labels.get(&track.pid).copied();
            let thread = (track.pid, track.tid);
            track.thread_name = self.thread_names.get(&thread).copied();
        }
        self.trace
    }
}

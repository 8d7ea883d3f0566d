//! One event of `traceEvents` to one row.

mod joined;
mod memory;
mod metadata;
mod values;

use std::borrow::Cow;

use super::keys::{Key, Keys};
use super::number::Time;
use super::pairs::OpenEvents;
use super::tracks::{Spelling, TrackCache};
use crate::import::categories::UnknownCategories;
use crate::import::json::{Cursor, LOOK_AHEAD, Quotes, Stop};
use crate::import::limits;
use crate::import::warning::{WarningKind, Warnings};
use crate::trace::annotations::step_number;
use crate::trace::{
    Category, EventId, LinkId, NewEvent, OpArgsId, OpArgsText, StringId, StringTable, TraceBuilder,
    TrackId,
};
use values::Cat;

/// Reads events into a [`TraceBuilder`].
#[derive(Debug, Default)]
pub(super) struct EventReader {
    pub(super) builder: TraceBuilder,
    pub(super) warnings: Warnings,
    /// An event had a `ph`, which is enough to call this a trace.
    pub(super) saw_phase: bool,
    pub(super) keys: Keys,
    /// What is wrong with the event being read; counted once the event is complete.
    pub(super) wrong: Vec<WarningKind>,
    /// Spans of the arguments to keep as text.
    extra: Vec<(usize, usize)>,
    pub(super) scratch: String,
    extra_text: Vec<u8>,
    tracks: TrackCache,
    last_cat: (Vec<u8>, Cat),
    pub(super) unknown: UnknownCategories,
    /// Events that started and have not ended.
    pub(super) open: OpenEvents,
}

#[derive(Debug, Default)]
struct Fields {
    /// The object has no keys.
    is_empty: bool,
    phase: Option<u8>,
    cat: Option<Cat>,
    name: Option<StringId>,
    pid: Option<Spelling>,
    tid: Option<Spelling>,
    ts: Option<Time>,
    dur: Option<Time>,
    id: Option<LinkId>,
    external_id: Option<LinkId>,
    correlation: Option<LinkId>,
    sequence_number: Option<i64>,
    has_op_args: bool,
    /// `Input Dims`, `Input type`, `Input Strides`, `Concrete Inputs`.
    op_args: [(usize, usize); 4],
    /// `args.name` and `args.labels` of a metadata event.
    args_name: Option<StringId>,
    args_labels: Option<StringId>,
}

impl Fields {
    /// Whether it reports CPU or GPU activity at a known time.
    fn is_work(&self) -> bool {
        let is_work = |category: Category| {
            category.is_gpu() || category.is_runtime() || category == Category::CpuOp
        };
        self.ts.is_some() && matches!(self.cat, Some(Cat::Event(category)) if is_work(category))
    }
}

impl EventReader {
    /// Reads the event that starts at `start` in the window and adds it to the trace. Returns where it ends.
    ///
    /// An event that is not valid JSON is retried with lenient quotes.
    #[inline]
    pub(super) fn read(
        &mut self,
        buf: &[u8],
        start: usize,
        base: u64,
        uid: u32,
        limits: &EventLimits,
    ) -> Result<usize, Stop> {
        let attempt = |reader: &mut Self, quotes, max_bytes: usize| {
            let mut cursor = Cursor::new(buf, start, quotes);
            // Filled in place: moving it takes as long as reading a short field.
            let mut fields = Fields::default();
            let stop = match reader.read_fields(&mut cursor, &mut fields) {
                Ok(()) if cursor.pos - start <= max_bytes => {
                    let nans = std::iter::repeat_n(WarningKind::NotANumber, cursor.nans as usize);
                    reader.wrong.extend(nans);
                    reader.commit(&cursor, &fields, base + start as u64, uid);
                    return Ok(cursor.pos);
                }
                Ok(()) => Stop::Bad,
                Err(Stop::More) if buf.len() - start > max_bytes + 2 * LOOK_AHEAD => Stop::Bad,
                Err(stop) => stop,
            };
            Err(stop)
        };
        match attempt(self, Quotes::Strict, limits.strict_bytes) {
            Err(Stop::Bad) => attempt(self, Quotes::Lenient, limits.lenient_bytes),
            done => done,
        }
    }

    fn read_fields(&mut self, cursor: &mut Cursor, fields: &mut Fields) -> Result<(), Stop> {
        self.wrong.clear();
        self.extra.clear();
        let mut seen = 0u32;
        let mut previous = Key::EVENT_START;
        cursor.pos += 1;
        loop {
            let is_first = previous == Key::EVENT_START;
            let next = self.keys.next(cursor, previous)?;
            self.stray_commas(next.stray_commas);
            previous = next.key;
            if next.key.0 <= Key::ARGS.0 {
                let bit = 1 << next.key.0;
                if seen & bit != 0 {
                    self.wrong.push(WarningKind::DuplicateKey);
                }
                seen |= bit;
            }
            match next.key {
                Key::END => {
                    fields.is_empty = is_first;
                    return Ok(());
                }
                Key::PH => {
                    let span = cursor.string()?;
                    fields.phase = match cursor.bytes(span.start, span.end) {
                        [phase] => Some(*phase),
                        _ => Some(b'?'),
                    };
                }
                Key::CAT => fields.cat = self.cat(cursor)?,
                Key::NAME => fields.name = Some(self.name(cursor)?),
                Key::PID => fields.pid = Some(self.spelling(cursor)?),
                Key::TID => fields.tid = Some(self.spelling(cursor)?),
                Key::TS => fields.ts = Some(self.time(cursor)?),
                Key::DUR => fields.dur = Some(self.time(cursor)?),
                Key::ID => fields.id = self.link(cursor)?,
                Key::ARGS => self.args(cursor, fields)?,
                _ => self.skip(cursor)?,
            }
        }
    }

    fn args(&mut self, cursor: &mut Cursor, fields: &mut Fields) -> Result<(), Stop> {
        if cursor.peek()? != b'{' {
            return self.skip(cursor);
        }
        cursor.pos += 1;
        let mut seen = [0u64; 4];
        let mut previous = Key::ARGS_START;
        loop {
            let before = cursor.pos;
            let next = self.keys.next(cursor, previous)?;
            self.stray_commas(next.stray_commas);
            previous = next.key;
            if let Some(word) = seen.get_mut(usize::from(next.key.0 >> 6))
                && next.key != Key::UNKNOWN
            {
                let bit = 1 << (next.key.0 & 63);
                if *word & bit != 0 {
                    self.wrong.push(WarningKind::DuplicateKey);
                }
                *word |= bit;
            }
            match next.key {
                Key::END => return Ok(()),
                Key::EXTERNAL_ID => fields.external_id = self.link(cursor)?,
                Key::CORRELATION => fields.correlation = self.link(cursor)?,
                Key::SEQUENCE_NUMBER => match cursor.unsigned()? {
                    Some(number) => fields.sequence_number = i64::try_from(number).ok(),
                    None => self.skip(cursor)?,
                },
                Key::INPUT_DIMS | Key::INPUT_TYPE | Key::INPUT_STRIDES | Key::CONCRETE_INPUTS => {
                    let start = cursor.skip_value()?;
                    let which = usize::from(next.key.0 - Key::INPUT_DIMS.0);
                    if let Some(span) = fields.op_args.get_mut(which) {
                        *span = (start, cursor.pos);
                    }
                    fields.has_op_args = true;
                }
                Key::NAME if cursor.peek()? == b'"' => fields.args_name = Some(self.text(cursor)?),
                Key::LABELS if cursor.peek()? == b'"' => {
                    fields.args_labels = Some(self.text(cursor)?);
                }
                Key::RECORD_FUNCTION_ID => match cursor.unsigned()? {
                    Some(0) => {}
                    Some(_) => self.extra.push((before, cursor.pos)),
                    None => self.skip(cursor)?,
                },
                key if key.is_dropped() => self.skip(cursor)?,
                _ => {
                    self.skip(cursor)?;
                    self.extra.push((before, cursor.pos));
                }
            }
        }
    }

    /// Adds an event that was read completely.
    fn commit(&mut self, cursor: &Cursor, fields: &Fields, offset: u64, uid: u32) {
        for kind in self.wrong.drain(..) {
            self.warnings.add(kind, Some(offset));
        }
        // Some writers end their list with an empty object.
        if fields.is_empty {
            return;
        }
        let Some(phase) = fields.phase else {
            self.warn(WarningKind::UnreadableEvent, offset);
            return;
        };
        self.saw_phase = true;
        match phase {
            b'X' => {
                if let Some(ts_ns) = self.start(fields, offset) {
                    let dur_ns = self.duration(fields.dur, offset);
                    let event = self.complete(cursor, fields, (ts_ns, dur_ns), offset, uid);
                    if let (None, Some(Time::Ns(untrue_ns))) = (dur_ns, fields.dur) {
                        self.builder.untrue_duration(event, untrue_ns);
                    }
                }
            }
            // An event in two halves: the first creates the row, and the second sets its duration.
            b'B' => {
                if let Some(ts_ns) = self.start(fields, offset) {
                    let event = self.complete(cursor, fields, (ts_ns, None), offset, uid);
                    let track = self.track(fields);
                    self.open.begin(track, event, offset);
                }
            }
            b'E' => self.second_half(cursor, fields, offset),
            b's' | b'f' if fields.cat == Some(Cat::HostToDevice) => {
                if let Some(id) = fields.id {
                    let track = self.track(fields);
                    match phase {
                        b's' => self.builder.flow_start(id, track),
                        _ => self.builder.flow_end(id, track),
                    }
                }
            }
            b'M' => self.metadata(fields, offset),
            b'i' | b'I' | b'R' => self.instant(cursor, fields, offset),
            // Other flows: nothing is computed from them.
            b's' | b'f' | b't' => {}
            _ if fields.is_work() => self.warn(WarningKind::UnreadableEvent, offset),
            _ => self.warn(WarningKind::UnknownPhase, offset),
        }
    }

    /// Ends an event that was read in two halves: its duration, and its arguments.
    fn second_half(&mut self, cursor: &Cursor, fields: &Fields, offset: u64) {
        let track = self.track(fields);
        let name = fields.name.filter(|name| *name != StringTable::EMPTY);
        let ended = self.open.end(track, name, &self.builder.trace.events);
        let Some(event) = ended else {
            return self.warn(WarningKind::UnknownPhase, offset);
        };
        self.add_args(cursor, fields, event, offset);
        let Some(Time::Ns(end_ns)) = fields.ts else {
            return self.warn(WarningKind::MissingDuration, offset);
        };
        let events = &self.builder.trace.events;
        let recorded_ns = end_ns.saturating_sub(events.ts_ns(event));
        let dur_ns = self.duration(Some(Time::Ns(recorded_ns)), offset);
        if dur_ns.is_none() {
            self.builder.untrue_duration(event, recorded_ns);
        }
        self.builder.trace.events.set_dur_ns(event, dur_ns);
    }

    /// Adds arguments from the second half of an event where the first half has none.
    fn add_args(&mut self, cursor: &Cursor, fields: &Fields, event: EventId, offset: u64) {
        let has_args = fields.has_op_args;
        let op_args = has_args.then(|| self.op_args(cursor, fields, offset));
        let extra_args = self.extra_args(cursor);
        let ids = (fields.external_id, fields.correlation);
        let events = &mut self.builder.trace.events;
        events.fill_in(event, ids, op_args, extra_args);
        if let Some(number) = fields.sequence_number {
            self.builder.sequence_number(event, number);
        }
    }

    fn op_args(&mut self, cursor: &Cursor, fields: &Fields, offset: u64) -> OpArgsId {
        let text = |(start, end)| str::from_utf8(cursor.bytes(start, end)).unwrap_or("");
        let [dims, types, strides, concrete] = fields.op_args.map(text);
        let (id, is_read) = self.builder.op_args(OpArgsText {
            dims,
            types,
            strides,
            concrete,
        });
        if !is_read {
            self.warn(WarningKind::UnreadableArguments, offset);
        }
        id
    }

    fn warn(&mut self, kind: WarningKind, offset: u64) {
        self.warnings.add(kind, Some(offset));
    }

    /// The start time of an event; `None` for one that cannot be kept.
    fn start(&mut self, fields: &Fields, offset: u64) -> Option<i64> {
        let Some(Time::Ns(ts_ns)) = fields.ts else {
            self.warn(WarningKind::MissingTime, offset);
            return None;
        };
        if !limits::has_room(&self.builder.trace) {
            self.warn(WarningKind::TooManyEvents, offset);
            return None;
        }
        Some(ts_ns)
    }

    /// A duration, if it is plausible.
    fn duration(&mut self, dur: Option<Time>, offset: u64) -> Option<i64> {
        let checked = match dur {
            Some(Time::Ns(dur)) => limits::duration(dur),
            None | Some(Time::Unreadable) => Err(WarningKind::MissingDuration),
        };
        checked.map_err(|wrong| self.warn(wrong, offset)).ok()
    }

    fn category(&mut self, fields: &Fields, name: StringId, offset: u64) -> Category {
        let category = match fields.cat {
            // PyTorch 1.8 to 1.11 had no category for the profiler's steps.
            Some(Cat::Event(Category::CpuOp))
                if step_number(self.builder.trace.strings.get(name)).is_some() =>
            {
                Category::UserAnnotation
            }
            Some(Cat::Event(category)) => category,
            Some(Cat::Unknown(row)) => {
                self.unknown.count(row, offset);
                Category::Other
            }
            Some(Cat::HostToDevice) => Category::Other,
            None => self.category_of_process(fields.pid).unwrap_or_else(|| {
                self.unknown.count_without(offset);
                Category::Other
            }),
        };
        self.unknown.note(category);
        category
    }

    /// The autograd profiler (before Kineto) separated operators from their kernels by process.
    fn category_of_process(&self, pid: Option<Spelling>) -> Option<Category> {
        let Some(Spelling::Text(pid)) = pid else {
            return None;
        };
        match self.builder.trace.strings.get(pid) {
            "CPU functions" => Some(Category::CpuOp),
            "CUDA functions" => Some(Category::Kernel),
            _ => None,
        }
    }

    fn complete(
        &mut self,
        cursor: &Cursor,
        fields: &Fields,
        (ts_ns, dur_ns): (i64, Option<i64>),
        offset: u64,
        uid: u32,
    ) -> EventId {
        let name = fields.name.unwrap_or(StringTable::EMPTY);
        let category = self.category(fields, name, offset);
        let track = self.track(fields);
        // Most events of a trace are Python frames, and the tree needs only their times.
        let is_frame = category == Category::PythonFunction;
        let op_args =
            (fields.has_op_args && !is_frame).then(|| self.op_args(cursor, fields, offset));
        let extra_args = match is_frame {
            true => None,
            false => self.extra_args(cursor),
        };
        let event = self.builder.event(NewEvent {
            uid,
            category,
            name,
            track,
            ts_ns,
            dur_ns,
            external_id: fields.external_id.filter(|_| !is_frame),
            correlation: fields.correlation.filter(|_| !is_frame),
            op_args,
            extra_args,
        });
        if let Some(number) = fields.sequence_number {
            self.builder.sequence_number(event, number);
        }
        event
    }

    fn spelled(&mut self, spelling: Spelling) -> StringId {
        match spelling {
            Spelling::Number(number) => self.builder.string(&number.to_string()),
            Spelling::Text(text) => text,
        }
    }

    fn track(&mut self, fields: &Fields) -> TrackId {
        let pid = fields.pid.unwrap_or(Spelling::Text(StringTable::EMPTY));
        let tid = fields.tid.unwrap_or(Spelling::Text(StringTable::EMPTY));
        if let Some(track) = self.tracks.get(pid, tid) {
            return track;
        }
        let (pid_text, tid_text) = (self.spelled(pid), self.spelled(tid));
        let track = self.builder.trace.tracks.intern(pid_text, tid_text);
        self.tracks.put(pid, tid, track);
        track
    }

    /// The remaining arguments, as JSON text `"key": value, …`.
    fn extra_args(&mut self, cursor: &Cursor) -> Option<StringId> {
        if self.extra.is_empty() {
            return None;
        }
        self.extra_text.clear();
        for &(start, end) in &self.extra {
            let text = cursor.bytes(start, end).trim_ascii_start();
            let text = text.strip_prefix(b",").unwrap_or(text).trim_ascii();
            if !self.extra_text.is_empty() {
                self.extra_text.extend_from_slice(b", ");
            }
            self.extra_text.extend_from_slice(text);
        }
        // Almost always valid UTF-8, and validating is several times faster than the lossy conversion.
        let lossy = || String::from_utf8_lossy(&self.extra_text);
        let text = std::str::from_utf8(&self.extra_text).map_or_else(|_| lossy(), Cow::Borrowed);
        Some(self.builder.string(&text))
    }

    #[inline]
    fn stray_commas(&mut self, n_commas: u32) {
        for _ in 0..n_commas {
            self.wrong.push(WarningKind::StrayComma);
        }
    }
}

/// Sizes beyond which an event counts as damaged.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventLimits {
    /// For an event that is valid JSON.
    pub(super) strict_bytes: usize,
    /// For an event with unescaped quotes.
    pub(super) lenient_bytes: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        EventLimits {
            strict_bytes: 16 << 20,
            lenient_bytes: 64 << 10,
        }
    }
}

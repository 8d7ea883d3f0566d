//! Reads the text of a trace in chunks: finds `traceEvents` among the other keys, passes each event to the
//! [`EventReader`], and resynchronizes after damage.
//!
//! `object` reads what surrounds the events, `elements` the events themselves.

mod elements;
mod object;

use super::event::{EventLimits, EventReader};
use super::metadata::Metadata;
use crate::import::error::{ImportError, ImportErrorKind};
use crate::import::format::FormatReader;
use crate::import::json::{ChunkedText, Step};
use crate::import::part::Part;
use crate::import::warning::{WarningKind, Warnings};
use crate::trace::{PartIds, Trace};

/// Reads the text of one trace.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) events: EventReader,
    state: State,
    pub(super) text: ChunkedText,
    /// Bytes that have been read.
    offset: u64,
    /// Elements of `traceEvents` so far, of any kind.
    pub(super) n_elements: u32,
    /// Commas since the last key or element.
    n_commas: u32,
    /// Nothing has been read in this object or array yet.
    first: bool,
    /// Objects around the array; none for a bare array.
    n_objects: u32,
    saw_events: bool,
    saw_zero_byte: bool,
    /// Offset of a closing brace between events: the end of the object, if no event follows.
    stray_brace: Option<u64>,
    first_keys: Vec<String>,
    /// The ids in this trace of the ids of each part reader.
    part_ids: Vec<((u32, u32), PartIds)>,
    limits: EventLimits,
}

#[derive(Debug, Default)]
enum State {
    /// Before the first bracket.
    #[default]
    Start,
    /// Before a key of the top-level object.
    Key,
    /// Inside the value of such a key.
    Value(Metadata),
    /// Between the elements of `traceEvents`.
    Events,
    /// After damage before the events: searching for them.
    Seek {
        /// Offset of the damage.
        from: u64,
    },
    /// After damage: searching for the next event.
    Resync {
        /// The last byte that was not white space.
        last: u8,
    },
    /// After the end.
    Done,
}

impl FormatReader for Reader {
    fn push(&mut self, chunk: &[u8]) -> Result<(), ImportError> {
        let mut text = std::mem::take(&mut self.text);
        let pushed = text.push(chunk, |window| self.read(window, false));
        self.text = text;
        pushed
    }

    fn join(&mut self, part: &Part) -> bool {
        let Some(n_elements) = self.n_elements.checked_add(part.n_elements) else {
            return false;
        };
        if !self.is_at_event(part.offset) || !self.events.has_room_for(part) {
            return false;
        }
        let (number, _) = part.reader;
        let known = self
            .part_ids
            .iter()
            .position(|((other, _), _)| *other == number);
        let row = known.unwrap_or_else(|| {
            self.part_ids.push((part.reader, PartIds::default()));
            self.part_ids.len() - 1
        });
        let Some((reader, ids)) = self.part_ids.get_mut(row) else {
            return false;
        };
        if *reader != part.reader {
            (*reader, *ids) = (part.reader, PartIds::default());
        }
        if !self.events.join(part, self.n_elements, ids) {
            return false;
        }
        self.n_elements = n_elements;
        self.offset += part.n_bytes;
        self.text.pass_over(part.n_bytes, part.last_byte);
        true
    }

    fn n_bytes(&self) -> u64 {
        self.text.n_bytes()
    }

    fn n_events(&self) -> u32 {
        self.n_elements
    }

    fn end(&mut self) -> Result<(), ImportError> {
        let window = self.text.take_rest();
        let end = self.offset + window.len() as u64;
        self.read(&window, true)?;
        self.offset = end;
        let fail = |kind, at| Err(ImportError::new(kind, at));
        match &self.state {
            State::Start if self.saw_zero_byte => return fail(ImportErrorKind::ZeroBytes, None),
            State::Start => return fail(ImportErrorKind::Empty, None),
            State::Seek { from } => return fail(ImportErrorKind::NotJson, Some(*from)),
            State::Done if !self.saw_events => {
                let keys = std::mem::take(&mut self.first_keys);
                return fail(ImportErrorKind::NoTraceEvents(keys), None);
            }
            _ if !self.saw_events => return fail(ImportErrorKind::CutBeforeEvents, Some(end)),
            State::Done => {}
            State::Value(value) if value.is_in_string() && self.text.last_byte() == b'}' => {
                let at = Some(value.offset);
                self.events
                    .warnings
                    .add(WarningKind::UnreadableMetadata, at);
            }
            State::Key if self.is_metadata_damaged() && self.text.last_byte() == b'}' => {}
            _ => {
                let at = self.stray_brace.unwrap_or(end);
                self.events.warnings.add(WarningKind::CutJson, Some(at));
            }
        }
        if self.n_objects == 0 && self.n_elements > 0 && !self.events.saw_phase {
            return fail(ImportErrorKind::NotEvents, None);
        }
        self.state = State::Done;
        Ok(())
    }

    fn into_trace(mut self: Box<Self>) -> (Trace, Warnings) {
        let EventReader {
            builder,
            warnings,
            unknown,
            open,
            ..
        } = &mut self.events;
        builder.trace.n_events_read = u64::from(self.n_elements);
        std::mem::take(unknown).warn(builder.trace.events.len(), warnings);
        std::mem::take(open).warn(warnings);
        let events = self.events;
        (events.builder.finish(), events.warnings)
    }
}

impl Reader {
    /// Continues where an event starts, regardless of what was read before.
    pub(super) fn begin_at_event(&mut self, offset: u64) {
        self.enter_events();
        self.separated();
        self.n_commas = 1;
        self.n_objects = 1;
        self.n_elements = 0;
        self.offset = offset;
    }

    /// Whether everything before this offset is read and an event is expected next.
    pub(super) fn is_at_event(&self, offset: u64) -> bool {
        matches!(self.state, State::Events)
            && self.offset == offset
            && self.text.is_empty()
            && self.stray_brace.is_none()
            && (self.first, self.n_commas) == (false, 1)
    }

    fn is_metadata_damaged(&self) -> bool {
        self.events.warnings.count(WarningKind::UnreadableMetadata) > 0
    }

    /// Reads as much of the window as is complete; returns how much that is.
    fn read(&mut self, window: &[u8], is_end: bool) -> Result<usize, ImportError> {
        let mut pos = 0;
        loop {
            let step = match &mut self.state {
                State::Start => self.start(window, pos, is_end)?,
                State::Key => self.key(window, pos)?,
                State::Value(_) => self.value(window, pos),
                State::Seek { .. } => self.seek(window, pos),
                State::Events => self.elements(window, pos)?,
                State::Resync { .. } => self.resync(window, pos, is_end),
                State::Done => self.after(window, pos),
            };
            match step {
                Step::To(next) => pos = next,
                Step::Wait(at) => {
                    let used = at.min(window.len());
                    self.offset += used as u64;
                    return Ok(used);
                }
            }
        }
    }

    fn error<T>(&self, kind: ImportErrorKind, pos: usize) -> Result<T, ImportError> {
        Err(ImportError::new(kind, self.offset + pos as u64))
    }

    fn start(&mut self, window: &[u8], pos: usize, is_end: bool) -> Result<Step, ImportError> {
        const BOM: &[u8] = b"\xef\xbb\xbf";
        let Some(rest) = window.get(pos..).filter(|rest| !rest.is_empty()) else {
            return Ok(Step::Wait(pos));
        };
        if rest.len() < 4 && !is_end {
            return Ok(Step::Wait(pos));
        }
        if self.offset == 0 && pos == 0 {
            if rest.starts_with(BOM) {
                return Ok(Step::To(BOM.len()));
            }
            if rest.starts_with(b"\xff\xfe")
                || rest.starts_with(b"\xfe\xff")
                || matches!(rest, [b'{' | b'[', 0, ..])
            {
                return self.error(ImportErrorKind::Utf16, pos);
            }
        }
        match rest.first() {
            Some(b' ' | b'\n' | b'\r' | b'\t') => {}
            Some(0) => self.saw_zero_byte = true,
            Some(b'{') => {
                self.n_objects = 1;
                self.first = true;
                self.state = State::Key;
            }
            Some(b'[') => self.enter_events(),
            Some(b'<') => return self.error(ImportErrorKind::Html, pos),
            _ => return self.error(ImportErrorKind::NotJson, pos),
        }
        Ok(Step::To(pos + 1))
    }

    fn enter_events(&mut self) {
        self.saw_events = true;
        self.first = true;
        self.n_commas = 0;
        self.state = State::Events;
    }

    /// Between the elements of an object or array: skips white space and commas, counts surplus commas, and returns the
    /// byte that follows.
    fn separator(&mut self, window: &[u8], pos: &mut usize) -> Option<u8> {
        loop {
            match window.get(*pos)? {
                b' ' | b'\n' | b'\r' | b'\t' => {}
                b',' => {
                    self.n_commas += 1;
                    let wanted = u32::from(!self.first);
                    if self.n_commas > wanted {
                        self.warn(WarningKind::StrayComma, *pos);
                    }
                }
                byte => return Some(*byte),
            }
            *pos += 1;
        }
    }

    /// After an element or key: the next one needs a comma before it.
    fn separated(&mut self) {
        self.first = false;
        self.n_commas = 0;
    }

    /// At a closing bracket: a comma with nothing after it is surplus.
    fn close(&mut self, pos: usize) {
        if self.n_commas == 1 && !self.first {
            self.warn(WarningKind::StrayComma, pos);
        }
        self.separated();
    }

    fn warn(&mut self, kind: WarningKind, pos: usize) {
        self.events
            .warnings
            .add(kind, Some(self.offset + pos as u64));
    }

    /// After the end: line breaks are normal; anything else, such as another trace, is reported once.
    fn after(&mut self, window: &[u8], pos: usize) -> Step {
        let rest = window.get(pos..).unwrap_or(&[]);
        let garbage = rest
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && *byte != 0);
        let warnings = &self.events.warnings;
        let is_said = warnings.count(WarningKind::TrailingText) > 0
            || warnings.count(WarningKind::AnotherTrace) > 0;
        if let Some(at) = garbage
            && !is_said
        {
            let kind = match rest.get(at) {
                Some(b'{' | b'[') => WarningKind::AnotherTrace,
                _ => WarningKind::TrailingText,
            };
            self.warn(kind, pos + at);
        }
        Step::Wait(window.len())
    }
}

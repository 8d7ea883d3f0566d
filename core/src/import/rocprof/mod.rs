//! rocprofv3's JSON (`rocprofv3 --output-format json`): kernels, copies, calls, markers and allocations of one or more
//! processes.
//!
//! ```text
//! text ─ Reader: lists, by the keys before them ─ Record ─ Process: names, GPUs ─→ rows of the Trace
//! ```
//!
//! Times are nanoseconds, grid sizes count work-items, and names are in lists before the records that use them.

mod process;
mod record;

use super::error::{ImportError, ImportErrorKind};
use super::format::{FormatReader, Head, Sniffed};
use super::json::{ChunkedText, Cursor, Quotes, Step, Stop};
use super::warning::{WarningKind, Warnings};
use crate::trace::Trace;
use process::{Holds, Process};

/// The only key of the outermost object.
const KEY: &[u8] = b"{\"rocprofiler-sdk-tool\":";

/// What each key holds, in a list or as an object of its own.
#[rustfmt::skip]
const KEYS: &[(&[u8], u8, Holds)] = &[
    (b"metadata", b'{', Holds::Process),
    (b"agents", b'[', Holds::Agents),
    (b"buffer_records", b'[', Holds::Names),
    (b"kernel_symbols", b'[', Holds::Symbols),
    (b"kernel_dispatch", b'[', Holds::Dispatches),
    (b"memory_copy", b'[', Holds::Copies),
    (b"memory_allocation", b'[', Holds::Allocations),
    (b"marker_api", b'[', Holds::Markers),
    (b"hip_api", b'[', Holds::Calls),
    (b"hsa_api", b'[', Holds::Calls),
    (b"rccl_api", b'[', Holds::Calls),
    (b"rocdecode_api", b'[', Holds::Calls),
    (b"rocjpeg_api", b'[', Holds::Calls),
];

/// A key's colon and bracket are within this many bytes of its opening quote.
const KEY_BYTES: usize = 64;

/// Larger list elements are damage.
const MAX_ELEMENT_BYTES: usize = 4 << 20;

pub(super) fn sniff(head: Head) -> Sniffed {
    head.begins_with(KEY)
}

pub(super) fn reader() -> Box<dyn FormatReader> {
    Box::<Reader>::default()
}

/// Finds lists and passes on their elements.
#[derive(Debug, Default)]
struct Reader {
    process: Process,
    state: State,
    text: ChunkedText,
    /// Bytes that have been read.
    offset: u64,
    /// Elements of lists of records.
    n_records: u32,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Searching for a key or, after damage, also for the next element of the list that was being read.
    Outside(Option<Holds>),
    /// Between the elements of a list.
    Inside(Holds),
}

impl Default for State {
    fn default() -> Self {
        State::Outside(None)
    }
}

impl FormatReader for Reader {
    fn push(&mut self, chunk: &[u8]) -> Result<(), ImportError> {
        let mut text = std::mem::take(&mut self.text);
        let pushed = text.push(chunk, |window| Ok(self.read(window)));
        self.text = text;
        pushed
    }

    fn n_bytes(&self) -> u64 {
        self.text.n_bytes()
    }

    fn n_events(&self) -> u32 {
        self.n_records
    }

    fn end(&mut self) -> Result<(), ImportError> {
        let end = self.n_bytes();
        let is_whole = matches!(self.state, State::Outside(None)) && self.text.last_byte() == b'}';
        match (is_whole, self.n_records > 0) {
            (true, _) => {}
            (false, false) => {
                return Err(ImportError::new(ImportErrorKind::CutBeforeEvents, end));
            }
            (false, true) => self.process.warnings.add(WarningKind::CutJson, Some(end)),
        }
        Ok(())
    }

    fn into_trace(self: Box<Self>) -> (Trace, Warnings) {
        self.process.finish(self.n_records)
    }
}

impl Reader {
    /// Reads as much of the window as is complete; returns how much that is.
    fn read(&mut self, window: &[u8]) -> usize {
        let mut pos = 0;
        loop {
            let step = match self.state {
                State::Outside(left) => self.outside(window, pos, left),
                State::Inside(list) => self.inside(window, pos, list),
            };
            match step {
                Step::To(next) => pos = next,
                Step::Wait(at) => {
                    let used = at.min(window.len());
                    self.offset += used as u64;
                    return used;
                }
            }
        }
    }

    fn outside(&mut self, window: &[u8], mut pos: usize, left: Option<Holds>) -> Step {
        while let Some(rest) = window.get(pos..).filter(|rest| !rest.is_empty()) {
            let found = match rest.first() {
                Some(b'"') => list_of(rest),
                Some(b'{') => match left {
                    Some(list) => {
                        starts_element(list, rest).map(|is_one| is_one.then_some((list, 0)))
                    }
                    None => Ok(None),
                },
                _ => Ok(None),
            };
            match found {
                Ok(None) => pos += 1,
                Ok(Some((list, after))) => {
                    self.state = State::Inside(list);
                    return Step::To(pos + after);
                }
                Err(_) => return Step::Wait(pos),
            }
        }
        Step::Wait(pos)
    }

    fn inside(&mut self, window: &[u8], mut pos: usize, list: Holds) -> Step {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        let rest = window.get(pos..).unwrap_or(&[]);
        pos += rest.iter().take_while(|byte| is_between(byte)).count();
        let mut cursor = Cursor::new(window, pos, Quotes::Strict);
        let element = match cursor.peek() {
            Ok(b'{') => cursor.skip_value(),
            Ok(b']') => {
                self.state = State::Outside(None);
                return Step::To(pos + 1);
            }
            Ok(_) => Err(Stop::Bad),
            Err(stop) => Err(stop),
        };
        match element {
            Ok(start) => {
                let at = self.offset + start as u64;
                let bytes = cursor.bytes(start, cursor.pos);
                let is_record = self.process.read(list, bytes, at, self.n_records);
                self.n_records += u32::from(is_record);
                if list == Holds::Process {
                    self.state = State::Outside(None);
                }
                Step::To(cursor.pos)
            }
            Err(Stop::More) if window.len() - pos <= MAX_ELEMENT_BYTES => Step::Wait(pos),
            Err(_) => {
                let at = Some(self.offset + pos as u64);
                self.process.warnings.add(WarningKind::UnreadableEvent, at);
                if window.get(pos) == Some(&b'{') {
                    self.process.pass_over(list);
                }
                self.state = State::Outside(Some(list));
                Step::To(pos + 1)
            }
        }
    }
}

/// The list or object whose key is here, and where its content starts: after the bracket for a list.
fn list_of(rest: &[u8]) -> Result<Option<(Holds, usize)>, Stop> {
    bounded(rest, |cursor| {
        let key = cursor.string()?;
        let colon = cursor.skip_space()?;
        cursor.pos += 1;
        let bracket = cursor.skip_space()?;
        let key = cursor.bytes(key.start, key.end);
        let mut keys = KEYS.iter().filter(|_| colon == b':');
        let found = keys.find(|(known, opens, _)| (*known, *opens) == (key, bracket));
        Ok(found.map(|(.., list)| (*list, cursor.pos + usize::from(bracket == b'['))))
    })
    .map(Option::flatten)
}

/// Whether an element of a list starts at this bracket. Objects inside an element have other keys.
fn starts_element(list: Holds, rest: &[u8]) -> Result<bool, Stop> {
    let is_one = bounded(rest, |cursor| {
        cursor.pos += 1;
        cursor.skip_space()?;
        let first = cursor.string()?;
        let first = cursor.bytes(first.start, first.end);
        if list == Holds::Names || first != b"size" {
            return Ok(list == Holds::Names && first == b"kind");
        }
        while cursor.skip_space()? != b'"' {
            cursor.pos += 1;
        }
        let second = cursor.string()?;
        let second = cursor.bytes(second.start, second.end);
        Ok([&b"kind"[..], b"kernel_id", b"id"].contains(&second))
    })?;
    Ok(is_one.unwrap_or(false))
}

/// Reads from the first bytes of a text; `None` if it is something else or does not end within them.
fn bounded<T>(
    rest: &[u8],
    read: impl FnOnce(&mut Cursor) -> Result<T, Stop>,
) -> Result<Option<T>, Stop> {
    let bounded = rest.get(..KEY_BYTES);
    let mut cursor = Cursor::new(bounded.unwrap_or(rest), 0, Quotes::Strict);
    match read(&mut cursor) {
        Ok(read) => Ok(Some(read)),
        Err(Stop::More) if bounded.is_none() => Err(Stop::More),
        Err(_) => Ok(None),
    }
}

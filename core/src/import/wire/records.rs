//! The records of a trace, as its bytes arrive, and the search for the next one after damage.

use super::fields::{Bad, Fields, varint};
use crate::import::warning::WarningKind;

/// Largest record accepted; a longer one is damage.
const MOST_RECORD: u64 = 64 << 20;

/// At most this many fields of a possible record are checked.
const MOST_TRIED: usize = 64;

/// More than this after the last record is not a record that was cut off, but a length that is too large.
const HIDDEN: usize = 64 << 10;

/// The tag of the field that holds records: number 1, with a length.
pub(in crate::import) const RECORD: u8 = 0x0a;

/// Receives the records of a trace.
pub(in crate::import) trait RecordReader {
    /// Reads the record at an offset of the trace.
    fn record(&mut self, record: &[u8], offset: u64);

    /// Records a warning about the bytes.
    fn warn(&mut self, kind: WarningKind, offset: u64);
}

/// Takes the bytes of a trace in chunks and passes on its records.
#[derive(Debug, Default)]
pub(in crate::import) struct Records {
    /// Bytes received but not passed on.
    unread: Vec<u8>,
    /// How long `unread` has to become before it can be processed.
    wanted: usize,
    /// Bytes before `unread`.
    offset: u64,
    /// After damage: the next record has to be found.
    is_lost: bool,
}

/// What was found at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// A record, from and to these offsets.
    Record(usize, usize),
    /// Another field of the trace, which ends at this offset.
    Other(usize),
    /// This many bytes are needed to decide.
    More(usize),
    Damaged,
}

impl Records {
    /// Takes a chunk and passes on each record that is complete.
    pub(in crate::import) fn push(&mut self, mut chunk: &[u8], reader: &mut impl RecordReader) {
        while !self.unread.is_empty() && !chunk.is_empty() {
            let missing = self.wanted.saturating_sub(self.unread.len()).max(1);
            let (taken, rest) = chunk.split_at(missing.min(chunk.len()));
            self.unread.extend_from_slice(taken);
            chunk = rest;
            if self.unread.len() >= self.wanted {
                let mut window = std::mem::take(&mut self.unread);
                let used = self.read(&window, false, reader);
                window.drain(..used);
                self.unread = window;
            }
        }
        let used = self.read(chunk, false, reader);
        self.unread
            .extend_from_slice(chunk.get(used..).unwrap_or(&[]));
    }

    /// Handles what is left at the end of the trace: it was cut off, or a damaged length hides records.
    pub(in crate::import) fn end(&mut self, reader: &mut impl RecordReader) {
        let window = std::mem::take(&mut self.unread);
        // What seemed to be an incomplete record may not be one, now that all bytes are there.
        let used = self.read(&window, false, reader);
        let Some((_, rest)) = window.get(used..).and_then(<[u8]>::split_first) else {
            return;
        };
        let at = self.offset;
        if !self.is_lost {
            reader.warn(WarningKind::CutJson, at);
        }
        if self.is_lost || rest.len() >= HIDDEN {
            self.is_lost = true;
            self.offset += 1;
            self.read(rest, true, reader);
        }
        self.offset = at + 1 + rest.len() as u64;
    }

    /// Bytes received.
    pub(in crate::import) fn n_bytes(&self) -> u64 {
        self.offset + self.unread.len() as u64
    }

    /// Passes on the records of a window; returns how many bytes are done.
    fn read(&mut self, window: &[u8], is_end: bool, reader: &mut impl RecordReader) -> usize {
        let mut pos = 0;
        while let Some(rest) = window.get(pos..).filter(|rest| !rest.is_empty()) {
            let found = match self.is_lost {
                true => find_again(rest),
                false => find(rest),
            };
            match found {
                Found::Record(start, end) => {
                    self.is_lost = false;
                    let record = rest.get(start..end).unwrap_or(&[]);
                    reader.record(record, self.offset + (pos + start) as u64);
                    pos += end;
                }
                Found::Other(end) => pos += end,
                Found::More(wanted) if !is_end => {
                    self.wanted = wanted;
                    break;
                }
                Found::More(_) | Found::Damaged => {
                    if !self.is_lost {
                        reader.warn(WarningKind::UnreadableEvent, self.offset + pos as u64);
                    }
                    self.is_lost = true;
                    pos += 1;
                }
            }
        }
        self.offset += pos as u64;
        pos
    }
}

/// What comes next in a trace.
fn find(bytes: &[u8]) -> Found {
    let mut rest = bytes;
    let mut read = || {
        let tag = varint(&mut rest)?;
        let n_bytes = match tag & 7 {
            0 => varint(&mut rest).map(|_| 0)?,
            1 => 8,
            2 => varint(&mut rest)?,
            5 => 4,
            _ => return Err(Bad::Damaged),
        };
        Ok((tag, n_bytes))
    };
    let (tag, n_bytes) = match read() {
        Err(Bad::Short) => return Found::More(bytes.len() + 1),
        Ok((tag, n_bytes)) if tag >> 3 != 0 && n_bytes <= MOST_RECORD => (tag, n_bytes as usize),
        _ => return Found::Damaged,
    };
    let start = bytes.len() - rest.len();
    match (start + n_bytes, tag == u64::from(RECORD)) {
        (end, _) if end > bytes.len() => Found::More(end),
        (end, true) => Found::Record(start, end),
        (end, false) => Found::Other(end),
    }
}

/// Checks a position where a record may start: one whose fields are valid.
fn find_again(bytes: &[u8]) -> Found {
    if bytes.first() != Some(&RECORD) {
        return Found::Damaged;
    }
    let found = find(bytes);
    let (start, end) = match found {
        Found::Record(start, end) => (start, end),
        // The length itself is incomplete.
        Found::More(wanted) if wanted == bytes.len() + 1 && bytes.len() < 11 => return found,
        Found::More(end) => {
            let mut rest = bytes.get(1..).unwrap_or(&[]);
            match varint(&mut rest) {
                Ok(_) => (bytes.len() - rest.len(), end),
                Err(_) => return found,
            }
        }
        _ => return Found::Damaged,
    };
    let mut fields = Fields::of(bytes.get(start..end.min(bytes.len())).unwrap_or(&[]));
    let n_fields = fields.by_ref().take(MOST_TRIED).count();
    match fields.bad() {
        None if n_fields > 0 || end > bytes.len() => found,
        Some(Bad::Short) if end > bytes.len() => found,
        _ => Found::Damaged,
    }
}

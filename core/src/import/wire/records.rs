//! The records of a trace, as its bytes come, and the way to the next one after damage.

use super::fields::{Bad, Fields, varint};
use crate::import::warning::WarningKind;

/// Largest record that is waited for; a longer one is damage.
const MOST_RECORD: u64 = 64 << 20;

/// So many fields of what may be a record are tried.
const MOST_TRIED: usize = 64;

/// More than this behind the last record is no cut record, but a length that claims too much.
const HIDDEN: usize = 64 << 10;

/// The tag of the field that holds records: number 1, with a length.
pub(in crate::import) const RECORD: u8 = 0x0a;

/// Who is handed the records of a trace.
pub(in crate::import) trait RecordReader {
    /// Reads a record that stands at an offset of the trace.
    fn record(&mut self, record: &[u8], offset: u64);

    /// Takes note of what is wrong with the bytes.
    fn warn(&mut self, kind: WarningKind, offset: u64);
}

/// Takes the bytes of a trace in chunks and hands on its records.
#[derive(Debug, Default)]
pub(in crate::import) struct Records {
    /// What came and is not handed on.
    carry: Vec<u8>,
    /// How long that has to become before anything can be done with it.
    wanted: usize,
    /// Bytes before `carry`.
    offset: u64,
    /// After damage: the next record has to be found.
    is_lost: bool,
}

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// A record, between these places behind it.
    Record(usize, usize),
    /// Another field of the trace, which ends so far behind.
    Other(usize),
    /// It takes so many bytes to tell.
    More(usize),
    Damaged,
}

impl Records {
    /// Takes a chunk and hands on each record that is complete.
    pub(in crate::import) fn push(&mut self, mut chunk: &[u8], reader: &mut impl RecordReader) {
        while !self.carry.is_empty() && !chunk.is_empty() {
            let missing = self.wanted.saturating_sub(self.carry.len()).max(1);
            let (taken, rest) = chunk.split_at(missing.min(chunk.len()));
            self.carry.extend_from_slice(taken);
            chunk = rest;
            if self.carry.len() >= self.wanted {
                let mut window = std::mem::take(&mut self.carry);
                let used = self.read(&window, false, reader);
                window.drain(..used);
                self.carry = window;
            }
        }
        let used = self.read(chunk, false, reader);
        self.carry
            .extend_from_slice(chunk.get(used..).unwrap_or(&[]));
    }

    /// What is left at the end of the trace: it was cut, or a damaged length hides records.
    pub(in crate::import) fn end(&mut self, reader: &mut impl RecordReader) {
        let window = std::mem::take(&mut self.carry);
        // What seemed to be a record may not, now that all bytes are there.
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

    /// Bytes that came.
    pub(in crate::import) fn n_bytes(&self) -> u64 {
        self.offset + self.carry.len() as u64
    }

    /// Hands on the records of a window; returns how much of it is done with.
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

/// What a trace goes on with.
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

/// What stands at a place where a record may begin: one whose fields are as they should be.
fn find_again(bytes: &[u8]) -> Found {
    if bytes.first() != Some(&RECORD) {
        return Found::Damaged;
    }
    let found = find(bytes);
    let (start, end) = match found {
        Found::Record(start, end) => (start, end),
        // A length that is too short to tell.
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

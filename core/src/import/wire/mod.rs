//! The wire format of protocol buffers, which Perfetto's and XLA's traces use.
//!
//! ```text
//! bytes ─ Records ─ record ─ Fields ─ (number, value) … ─→ a reader that knows some of the numbers
//! ```
//!
//! A trace is one message whose repeated field 1 holds the records, so it can be streamed. Only some sixty fields are
//! read; types generated from the schemas of Perfetto and XLA would be many times this code.

mod fields;
mod records;

pub(super) use fields::{Bad, Fields, Value};
pub(super) use records::{RECORD, RecordReader, Records};

use std::fmt;

use super::error::{ImportError, ImportErrorKind};
use super::format::{FormatReader, Head, Sniffed};
use super::warning::Warnings;
use crate::trace::Trace;

/// Deepest nesting of messages that a reader follows.
pub(super) const MOST_DEPTH: u32 = 16;

/// Detects a format by the fields of its first record: the first one that `classify` answers decides.
///
/// A text that starts with a blank line has the same first byte, but is not a record.
pub(super) fn sniff(head: Head, classify: impl Fn(u32, Value) -> Option<bool>) -> Sniffed {
    let (mut rest, is_json) = match head.bytes.split_first() {
        Some((&RECORD, rest)) => (rest, begins_json(rest)),
        Some(_) => return Sniffed::No,
        None => return Sniffed::Unclear,
    };
    let len = match (is_json, fields::varint(&mut rest)) {
        (Some(true), _) | (_, Err(Bad::Damaged)) => return Sniffed::No,
        (None, _) | (_, Err(Bad::Short)) => return Sniffed::Unclear,
        (_, Ok(len)) => usize::try_from(len).unwrap_or(usize::MAX),
    };
    let mut fields = Fields::of(rest.get(..len).unwrap_or(rest));
    match fields.find_map(|(number, value)| classify(number, value)) {
        Some(true) => Sniffed::Yes,
        None if rest.len() < len && fields.bad() != Some(Bad::Damaged) => Sniffed::Unclear,
        _ => Sniffed::No,
    }
}

/// Whether a text continues like JSON; `None` if there is only white space so far.
fn begins_json(text: &[u8]) -> Option<bool> {
    let mut visible = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    match visible.next()? {
        b'{' | b'[' => Some(matches!(visible.next()?, b'"' | b'{' | b'}' | b'[' | b']')),
        _ => Some(false),
    }
}

/// Counts of what the records held so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// Events, of any kind.
    n_events: u32,
    /// Whether anything of the format was read.
    pub(super) is_any: bool,
}

impl Tally {
    /// Counts an event.
    pub(super) fn count(&mut self) {
        self.n_events = self.n_events.saturating_add(1);
    }
}

/// The data read from records.
pub(super) trait Recording: RecordReader + fmt::Debug + Default {
    /// The counts so far.
    fn tally(&self) -> Tally;

    /// The trace and its warnings, after the last record.
    fn into_trace(self) -> (Trace, Warnings);
}

/// Reads a trace in this wire format.
#[derive(Debug, Default)]
pub(super) struct WireReader<R> {
    records: Records,
    recording: R,
}

impl<R: Recording> FormatReader for WireReader<R> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.records.push(bytes, &mut self.recording);
        Ok(())
    }

    fn n_bytes(&self) -> u64 {
        self.records.n_bytes()
    }

    fn n_events(&self) -> u32 {
        self.recording.tally().n_events
    }

    fn end(&mut self) -> Result<(), ImportError> {
        self.records.end(&mut self.recording);
        match self.recording.tally().is_any {
            true => Ok(()),
            // It started like one by coincidence.
            false => Err(ImportError::new(ImportErrorKind::NotJson, 0)),
        }
    }

    fn into_trace(self: Box<Self>) -> (Trace, Warnings) {
        let n_events = self.recording.tally().n_events;
        let (mut trace, warnings) = self.recording.into_trace();
        trace.n_events_read = u64::from(n_events);
        (trace, warnings)
    }
}

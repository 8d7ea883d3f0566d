//! What a container holds: a trace of one of the formats, told apart by its content.

use super::chrome_json;
use super::error::ImportError;
use super::format::{Format, FormatReader};
use super::part::Part;
use super::warning::Warnings;
use crate::trace::Trace;

/// Every format, in the order in which they are asked. The last one takes what no other knows, and
/// says what is wrong with it.
pub(super) const FORMATS: &[Format] = &[Format {
    sniff: |_| true,
    read: chrome_json::reader,
}];

/// Bytes it takes to tell a format.
const HEAD: usize = 16;

/// What a container holds: a trace of the format that its first bytes tell.
#[derive(Debug, Default)]
pub(super) struct Payload {
    head: Vec<u8>,
    reader: Option<Box<dyn FormatReader>>,
}

impl Payload {
    /// Reads a chunk.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        if let Some(reader) = &mut self.reader {
            return reader.push(bytes);
        }
        if self.head.is_empty() && bytes.len() >= HEAD {
            return self.begin(bytes).push(bytes);
        }
        self.head.extend_from_slice(bytes);
        match self.head.len() < HEAD {
            true => Ok(()),
            false => self.begin_with_head().map(|_| ()),
        }
    }

    /// Puts a part behind what was read; false where it does not follow.
    pub(super) fn join(&mut self, part: &Part) -> bool {
        let reader = self.reader.as_mut();
        reader.is_some_and(|reader| reader.join(part))
    }

    /// Bytes read so far.
    pub(super) fn n_bytes(&self) -> u64 {
        let read = self.reader.as_ref().map_or(0, |reader| reader.n_bytes());
        read + self.head.len() as u64
    }

    /// Events so far.
    pub(super) fn n_events(&self) -> u32 {
        self.reader.as_ref().map_or(0, |reader| reader.n_events())
    }

    /// Reads what is left and says whether it was a trace.
    pub(super) fn end(&mut self) -> Result<(), ImportError> {
        self.begin_with_head()?.end()
    }

    /// What was read, after its end.
    pub(super) fn into_trace(self) -> (Trace, Warnings) {
        match self.reader {
            Some(reader) => reader.into_trace(),
            None => Default::default(),
        }
    }

    /// The reader, which has read what was held back.
    fn begin_with_head(&mut self) -> Result<&mut Box<dyn FormatReader>, ImportError> {
        let head = std::mem::take(&mut self.head);
        let reader = self.begin(&head);
        reader.push(&head)?;
        Ok(reader)
    }

    fn begin(&mut self, head: &[u8]) -> &mut Box<dyn FormatReader> {
        self.reader.get_or_insert_with(|| {
            let format = FORMATS.iter().find(|format| (format.sniff)(head));
            format.map_or_else(chrome_json::reader, |format| (format.read)())
        })
    }
}

//! The content of a container: a trace of one of the formats, detected from its content.

use super::error::ImportError;
use super::format::{Format, FormatReader, Head, Sniffed};
use super::part::Part;
use super::warning::Warnings;
use super::{chrome_json, perfetto, rocprof, unsupported, xplane};
use crate::trace::Trace;

/// Every format, in detection order.
const FORMATS: &[Format] = &[
    Format {
        sniff: xplane::sniff,
        read: xplane::reader,
    },
    Format {
        sniff: perfetto::sniff,
        read: perfetto::reader,
    },
    Format {
        sniff: rocprof::sniff,
        read: rocprof::reader,
    },
    Format {
        sniff: unsupported::sniff,
        read: unsupported::reader,
    },
];

/// The fallback for unrecognized content; it reports what is wrong with it.
const LAST: Format = Format {
    sniff: |_| Sniffed::Yes,
    read: chrome_json::reader,
};

/// Whether these bytes have a format other than the fallback.
pub(super) fn is_recognized(head: Head) -> bool {
    let mut formats = FORMATS.iter();
    formats.any(|format| (format.sniff)(head) == Sniffed::Yes)
}

/// The format of what starts with these bytes; `None` if more bytes are needed.
fn recognize(bytes: &[u8], is_end: bool) -> Option<&'static Format> {
    let head = Head {
        bytes: bytes.get(..Head::MOST).unwrap_or(bytes),
        is_all: is_end || bytes.len() >= Head::MOST,
    };
    for format in FORMATS {
        match (format.sniff)(head) {
            Sniffed::Yes => return Some(format),
            Sniffed::Unclear if !head.is_all => return None,
            Sniffed::No | Sniffed::Unclear => {}
        }
    }
    Some(&LAST)
}

/// The content of a container: a trace whose format its first bytes determine.
#[derive(Default)]
pub(super) struct Payload {
    /// The bytes held back until the format is known.
    head: Vec<u8>,
    reader: Option<Box<dyn FormatReader>>,
}

impl Payload {
    /// Reads a chunk.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        if let Some(reader) = &mut self.reader {
            return reader.push(bytes);
        }
        if self.head.is_empty()
            && let Some(format) = recognize(bytes, false)
        {
            return self.reader.insert((format.read)()).push(bytes);
        }
        self.head.extend_from_slice(bytes);
        match recognize(&self.head, false) {
            Some(format) => self.begin_with_head(format).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Appends a part to what was read; false if it does not follow.
    pub(super) fn join(&mut self, part: &Part) -> bool {
        let reader = self.reader.as_mut();
        reader.is_some_and(|reader| reader.join(part))
    }

    /// Bytes read so far.
    pub(super) fn n_bytes(&self) -> u64 {
        self.reader.as_ref().map_or(0, |reader| reader.n_bytes()) + self.head.len() as u64
    }

    /// Events so far.
    pub(super) fn n_events(&self) -> u32 {
        self.reader.as_ref().map_or(0, |reader| reader.n_events())
    }

    /// Reads what is left; returns an error if it was not a trace.
    pub(super) fn end(&mut self) -> Result<(), ImportError> {
        if let Some(reader) = &mut self.reader {
            return reader.end();
        }
        let format = recognize(&self.head, true).unwrap_or(&LAST);
        self.begin_with_head(format)?.end()
    }

    /// What was read, after its end.
    pub(super) fn into_trace(self) -> (Trace, Warnings) {
        match self.reader {
            Some(reader) => reader.into_trace(),
            None => Default::default(),
        }
    }

    /// Creates the reader and feeds it the bytes that were held back.
    fn begin_with_head(&mut self, format: &Format) -> Result<&mut dyn FormatReader, ImportError> {
        let head = std::mem::take(&mut self.head);
        let reader = self.reader.insert((format.read)());
        reader.push(&head)?;
        Ok(&mut **reader)
    }
}

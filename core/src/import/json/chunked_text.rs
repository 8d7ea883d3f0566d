//! Text in chunks, read in place.

use crate::import::error::ImportError;

/// A text of which chunks are read as they arrive.
#[derive(Debug, Default)]
pub(in crate::import) struct ChunkedText {
    /// The incomplete end of the last chunk.
    unread: Vec<u8>,
    /// Total bytes received, including those read elsewhere.
    n_bytes: u64,
    /// The last byte that is not white space.
    last_byte: u8,
}

impl ChunkedText {
    /// Passes a chunk to `read`, which returns how much of its window it has read. An incomplete rest is completed with
    /// as little of the chunk as needed, twice as much each time.
    pub(in crate::import) fn push(
        &mut self,
        mut chunk: &[u8],
        mut read: impl FnMut(&[u8]) -> Result<usize, ImportError>,
    ) -> Result<(), ImportError> {
        self.n_bytes += chunk.len() as u64;
        let mut from_the_end = chunk.iter().rev();
        if let Some(last) = from_the_end.find(|byte| !byte.is_ascii_whitespace()) {
            self.last_byte = *last;
        }
        let unread = &mut self.unread;
        while !unread.is_empty() && !chunk.is_empty() {
            let n_unread = unread.len();
            let (taken, rest) = chunk.split_at(chunk.len().min(n_unread.max(4096)));
            let mut window = std::mem::take(unread);
            window.extend_from_slice(taken);
            let used = read(&window)?;
            match used.checked_sub(n_unread) {
                Some(used_of_chunk) => {
                    chunk = chunk.get(used_of_chunk..).unwrap_or(&[]);
                    window.clear();
                }
                None => {
                    window.drain(..used);
                    chunk = rest;
                }
            }
            *unread = window;
        }
        if !chunk.is_empty() {
            let used = read(chunk)?;
            unread.extend_from_slice(chunk.get(used..).unwrap_or(&[]));
        }
        Ok(())
    }

    /// Bytes so far.
    pub(in crate::import) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    pub(in crate::import) fn last_byte(&self) -> u8 {
        self.last_byte
    }

    /// Counts bytes that were read elsewhere.
    pub(in crate::import) fn pass_over(&mut self, n_bytes: u64, last_byte: u8) {
        self.n_bytes += n_bytes;
        self.last_byte = last_byte;
    }

    /// Whether everything received has been read.
    pub(in crate::import) fn is_empty(&self) -> bool {
        self.unread.is_empty()
    }

    /// What is left unread at the end.
    pub(in crate::import) fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unread)
    }
}

/// The result of one step of reading a window.
pub(in crate::import) enum Step {
    /// Moved to this position.
    To(usize),
    /// Needs more text from this position on.
    Wait(usize),
}

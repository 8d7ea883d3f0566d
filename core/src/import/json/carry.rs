//! Text in chunks, read in place.

use crate::import::error::ImportError;

/// The incomplete end of the last chunk.
#[derive(Debug, Default)]
pub(in crate::import) struct Carry {
    text: Vec<u8>,
    /// Total bytes received, including those read elsewhere.
    n_bytes: u64,
}

impl Carry {
    /// Passes a chunk to `read`, which returns how much of its window it has read. An incomplete rest is completed with
    /// as little of the chunk as needed, twice as much each time.
    pub(in crate::import) fn push(
        &mut self,
        mut chunk: &[u8],
        mut read: impl FnMut(&[u8]) -> Result<usize, ImportError>,
    ) -> Result<(), ImportError> {
        self.n_bytes += chunk.len() as u64;
        let carry = &mut self.text;
        while !carry.is_empty() && !chunk.is_empty() {
            let n_carried = carry.len();
            let (taken, rest) = chunk.split_at(chunk.len().min(n_carried.max(4096)));
            let mut window = std::mem::take(carry);
            window.extend_from_slice(taken);
            let used = read(&window)?;
            match used.checked_sub(n_carried) {
                Some(used_of_chunk) => {
                    chunk = chunk.get(used_of_chunk..).unwrap_or(&[]);
                    window.clear();
                }
                None => {
                    window.drain(..used);
                    chunk = rest;
                }
            }
            *carry = window;
        }
        if !chunk.is_empty() {
            let used = read(chunk)?;
            carry.extend_from_slice(chunk.get(used..).unwrap_or(&[]));
        }
        Ok(())
    }

    /// Bytes so far.
    pub(in crate::import) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Counts bytes that were read elsewhere.
    pub(in crate::import) fn pass_over(&mut self, n_bytes: u64) {
        self.n_bytes += n_bytes;
    }

    /// Whether everything received has been read.
    pub(in crate::import) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What is left unread at the end.
    pub(in crate::import) fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }
}

/// The result of one step of reading a window.
pub(in crate::import) enum Step {
    /// Moved to this position.
    To(usize),
    /// Needs more text from this position on.
    Wait(usize),
}

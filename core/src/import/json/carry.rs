//! Text in chunks, read where it lies.

use crate::import::error::ImportError;

/// The end of the last chunk, where something was not complete yet.
#[derive(Debug, Default)]
pub(in crate::import) struct Carry {
    text: Vec<u8>,
    /// Bytes of all that came, what was read elsewhere included.
    n_bytes: u64,
}

impl Carry {
    /// Hands a chunk to `read`, which returns how much of its window it has read. What was not complete
    /// is completed with as little of the chunk as will do, twice as much each time.
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

    /// Whether all that came is read.
    pub(in crate::import) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What is left at the end.
    pub(in crate::import) fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }
}

/// What a step of reading a window did.
pub(in crate::import) enum Step {
    /// Went on to this place.
    To(usize),
    /// Needs more text from this place on.
    Wait(usize),
}

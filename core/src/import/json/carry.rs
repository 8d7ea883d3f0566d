//! Text in chunks, read where it lies.

use crate::import::error::ImportError;

/// The end of the last chunk, where something was not complete yet.
#[derive(Debug, Default)]
pub(in crate::import) struct Carry(pub(in crate::import) Vec<u8>);

impl Carry {
    /// Hands a chunk to `read`, which returns how much of its window it has read. What was not complete
    /// is completed with as little of the chunk as will do, twice as much each time.
    pub(in crate::import) fn push(
        &mut self,
        mut chunk: &[u8],
        mut read: impl FnMut(&[u8]) -> Result<usize, ImportError>,
    ) -> Result<(), ImportError> {
        let Carry(carry) = self;
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
}

/// What a step of reading a window did.
pub(in crate::import) enum Step {
    /// Went on to this place.
    To(usize),
    /// Needs more text from this place on.
    Wait(usize),
}

//! Deflate, in chunks. The only place that knows the decoder, so that another one can be measured
//! in its place, or run in a worker of its own: compressed bytes in, text out through a sink.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// How far back deflate may refer.
const HISTORY: usize = 32 << 10;

/// Text handed on at a time: large enough to amortise keeping the history, small enough for the
/// cache.
const OUTPUT: usize = 256 << 10;

/// How a deflate stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inflated {
    /// All input is used, the stream goes on.
    NeedsInput,
    /// The stream ended after this many bytes of the input.
    Ended {
        /// Bytes of the input that belong to the stream.
        used: usize,
    },
    /// The stream is damaged.
    Corrupt,
}

/// One raw deflate stream.
pub(super) struct Inflate {
    state: Box<DecompressorOxide>,
    /// The history, then what is new.
    buffer: Vec<u8>,
    filled: usize,
}

impl std::fmt::Debug for Inflate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflate")
            .field("filled", &self.filled)
            .finish_non_exhaustive()
    }
}

impl Default for Inflate {
    fn default() -> Self {
        Inflate {
            state: Box::default(),
            buffer: vec![0; HISTORY + OUTPUT],
            filled: 0,
        }
    }
}

impl Inflate {
    /// Makes ready for the next stream.
    pub(super) fn reset(&mut self) {
        self.state.init();
        self.filled = 0;
    }

    /// Inflates a chunk and hands the text to `sink`.
    pub(super) fn push<E>(
        &mut self,
        input: &[u8],
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Inflated, E> {
        // Zlib headers and Adler checksums do not occur in gzip and zip.
        let flags = inflate_flags::TINFL_FLAG_HAS_MORE_INPUT
            | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut used = 0;
        loop {
            if self.filled == self.buffer.len() {
                let keep = self.buffer.len() - HISTORY;
                self.buffer.copy_within(keep.., 0);
                self.filled = HISTORY;
            }
            let rest = input.get(used..).unwrap_or(&[]);
            let (status, n_in, n_out) =
                decompress(&mut self.state, rest, &mut self.buffer, self.filled, flags);
            used += n_in;
            let new = self.filled..self.filled + n_out;
            self.filled = new.end;
            if n_out > 0 {
                sink(self.buffer.get(new).unwrap_or(&[]))?;
            }
            match status {
                TINFLStatus::Done => return Ok(Inflated::Ended { used }),
                TINFLStatus::NeedsMoreInput => return Ok(Inflated::NeedsInput),
                TINFLStatus::HasMoreOutput => {}
                _ => return Ok(Inflated::Corrupt),
            }
        }
    }
}

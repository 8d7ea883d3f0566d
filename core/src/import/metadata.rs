//! The values beside `traceEvents`: kept when they are small, skipped as they come when not.

use super::scan::MAX_DEPTH;

/// Largest value that is kept.
pub(super) const MAX_METADATA_BYTES: usize = 1 << 20;

/// A top-level value on its way.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) key: String,
    /// Where it begins.
    pub(super) offset: u64,
    /// Its text; `None` when it is too large to keep.
    pub(super) text: Option<Vec<u8>>,
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Metadata {
    /// A value that begins at an offset.
    pub(super) fn new(key: String, offset: u64) -> Metadata {
        Metadata {
            key,
            offset,
            text: Some(Vec::new()),
            depth: 0,
            in_string: false,
            escaped: false,
        }
    }

    /// Keeps the next bytes of the text, while they are not too many.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        if let Some(text) = &mut self.text {
            text.extend_from_slice(bytes);
            if text.len() > MAX_METADATA_BYTES {
                self.text = None;
            }
        }
    }

    /// Reads on; returns how many bytes belong to the value and whether it ended with them, or
    /// where it is nested too deep.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Result<(usize, bool), usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Ok((at + 1, true));
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(at);
                    }
                }
                b'}' | b']' if self.depth <= 1 => {
                    // A scalar ends before the bracket that closes what it is in.
                    return Ok((at + self.depth as usize, true));
                }
                b'}' | b']' => self.depth -= 1,
                b',' if self.depth == 0 => return Ok((at, true)),
                _ => {}
            }
        }
        Ok((bytes.len(), false))
    }
}

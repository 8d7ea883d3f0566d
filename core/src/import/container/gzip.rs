//! Gzip, member by member, with checksums. flate2 reads each member; this module decides what follows it.

use std::io::Write;

use flate2::write::GzDecoder;

use crate::import::error::ImportError;
use crate::import::warning::{WarningKind, Warnings};

/// Reads a gzip file in chunks.
#[derive(Debug)]
pub(crate) struct Gunzip {
    /// The member being read, and its text that was not passed on yet.
    member: GzDecoder<Vec<u8>>,
    /// Whether any bytes of this member have arrived.
    is_started: bool,
    /// Number of complete members.
    n_members: u32,
    /// Total bytes of text.
    n_text: u64,
    /// After damage or foreign bytes, nothing more is read.
    is_over: bool,
    pub(crate) warnings: Warnings,
}

impl Default for Gunzip {
    fn default() -> Self {
        Gunzip {
            member: GzDecoder::new(Vec::new()),
            is_started: false,
            n_members: 0,
            n_text: 0,
            is_over: false,
            warnings: Warnings::default(),
        }
    }
}

impl Gunzip {
    /// Reads a chunk and passes the text to `sink`.
    pub(crate) fn push(
        &mut self,
        mut input: &[u8],
        mut sink: impl FnMut(&[u8]) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        while !self.is_over && !input.is_empty() {
            if !self.is_started && self.n_members > 0 {
                // Members may be padded with zero bytes.
                let padding = input.iter().take_while(|byte| **byte == 0).count();
                input = input.get(padding..).unwrap_or(&[]);
                match input.first() {
                    None => break,
                    Some(0x1f) => {}
                    Some(_) => {
                        self.break_off(WarningKind::TrailingGarbage);
                        break;
                    }
                }
            }
            match self.member.write(input) {
                Ok(0) => self.end_member(&mut sink)?,
                Ok(n_read) => {
                    input = input.get(n_read..).unwrap_or(&[]);
                    self.is_started = true;
                    self.hand_on(&mut sink)?;
                }
                Err(_) => self.end_damaged(&mut sink)?,
            }
        }
        // The decoder holds back some text.
        if !self.is_over && self.member.flush().is_err() {
            self.end_damaged(&mut sink)?;
        }
        self.hand_on(&mut sink)
    }

    /// The warnings, once all input is read.
    pub(crate) fn finish(mut self) -> Warnings {
        if !self.is_over && (self.is_started || self.n_members == 0) {
            // Only a complete member takes no more bytes.
            let is_complete = matches!(self.member.write(&[0]), Ok(0));
            if !is_complete {
                self.warnings.add(WarningKind::CutGzip, Some(self.n_text));
            } else if self.member.try_finish().is_err() {
                self.warnings
                    .add(WarningKind::CorruptGzip, Some(self.n_text));
            }
        }
        self.warnings
    }

    fn hand_on(
        &mut self,
        sink: &mut impl FnMut(&[u8]) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let text = self.member.get_mut();
        if text.is_empty() {
            return Ok(());
        }
        self.n_text += text.len() as u64;
        let result = sink(text);
        text.clear();
        result
    }

    fn end_member(
        &mut self,
        sink: &mut impl FnMut(&[u8]) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let checked = self.member.try_finish();
        self.hand_on(sink)?;
        if checked.is_err() {
            self.warnings
                .add(WarningKind::CorruptGzip, Some(self.n_text));
        }
        self.member = GzDecoder::new(Vec::new());
        self.is_started = false;
        self.n_members += 1;
        Ok(())
    }

    fn end_damaged(
        &mut self,
        sink: &mut impl FnMut(&[u8]) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        // Returns what was inflated before the damage, and then the error again.
        let _ = self.member.try_finish();
        self.hand_on(sink)?;
        let is_header = self.member.header().is_none();
        self.break_off(if is_header && self.n_members > 0 {
            WarningKind::TrailingGarbage
        } else {
            WarningKind::CorruptGzip
        });
        Ok(())
    }

    fn break_off(&mut self, why: WarningKind) {
        self.warnings.add(why, Some(self.n_text));
        self.is_over = true;
    }
}

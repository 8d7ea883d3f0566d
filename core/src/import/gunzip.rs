//! Gzip, member by member, with checksums.

use super::error::ImportError;
use super::inflate::{Inflate, Inflated};
use crate::import::warning::{WarningKind, Warnings};

/// Longest header: an extra field of 64 KiB and generous names.
const MAX_HEADER: usize = 256 << 10;

/// Reads a gzip file in chunks.
#[derive(Debug, Default)]
pub(super) struct Gunzip {
    part: Part,
    /// The beginning of a header or trailer whose end has not come yet.
    pending: Vec<u8>,
    inflate: Inflate,
    crc: crc32fast::Hasher,
    /// Bytes of text in this member.
    n_member: u32,
    /// Bytes of text in all.
    n_text: u64,
    n_members: u32,
    pub(super) warnings: Warnings,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Header,
    Body,
    Trailer,
    /// After damage or foreign bytes: nothing more is read.
    Over,
}

impl Gunzip {
    /// Reads a chunk and hands the text to `sink`.
    pub(super) fn push(
        &mut self,
        mut input: &[u8],
        mut sink: impl FnMut(&[u8]) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        while !input.is_empty() {
            match self.part {
                Part::Header => {
                    // Members may be padded with zero bytes.
                    if self.pending.is_empty() && self.n_members > 0 {
                        let padding = input.iter().take_while(|byte| **byte == 0).count();
                        input = input.get(padding..).unwrap_or(&[]);
                        if input.is_empty() {
                            break;
                        }
                    }
                    let n_before = self.pending.len();
                    self.pending.extend_from_slice(input);
                    match header_len(&self.pending) {
                        Header::Complete(len) => {
                            input = input.get(len - n_before..).unwrap_or(&[]);
                            self.pending.clear();
                            self.part = Part::Body;
                            self.inflate.reset();
                            self.crc = crc32fast::Hasher::new();
                            self.n_member = 0;
                            self.n_members += 1;
                        }
                        Header::Incomplete if self.pending.len() <= MAX_HEADER => break,
                        _ => {
                            let kind = if self.n_members == 0 {
                                WarningKind::CorruptGzip
                            } else {
                                WarningKind::TrailingGarbage
                            };
                            self.warnings.add(kind, Some(self.n_text));
                            self.part = Part::Over;
                        }
                    }
                }
                Part::Body => {
                    let Gunzip {
                        inflate,
                        crc,
                        n_member,
                        n_text,
                        ..
                    } = self;
                    let inflated = inflate.push(input, |text| {
                        crc.update(text);
                        *n_member = n_member.wrapping_add(text.len() as u32);
                        *n_text += text.len() as u64;
                        sink(text)
                    })?;
                    match inflated {
                        Inflated::NeedsInput => break,
                        Inflated::Ended { used } => {
                            input = input.get(used..).unwrap_or(&[]);
                            self.part = Part::Trailer;
                        }
                        Inflated::Corrupt => {
                            self.warnings
                                .add(WarningKind::CorruptGzip, Some(self.n_text));
                            self.part = Part::Over;
                        }
                    }
                }
                Part::Trailer => {
                    let wanted = 8 - self.pending.len();
                    let (taken, rest) = input.split_at(wanted.min(input.len()));
                    self.pending.extend_from_slice(taken);
                    input = rest;
                    if let Some((crc, len)) = trailer(&self.pending) {
                        if (crc, len) != (self.crc.clone().finalize(), self.n_member) {
                            self.warnings
                                .add(WarningKind::CorruptGzip, Some(self.n_text));
                        }
                        self.pending.clear();
                        self.part = Part::Header;
                    }
                }
                Part::Over => break,
            }
        }
        Ok(())
    }

    /// What was wrong, once all input is read.
    pub(super) fn finish(mut self) -> Warnings {
        let between_members = self.part == Part::Header && self.pending.is_empty();
        if self.part != Part::Over && !(between_members && self.n_members > 0) {
            self.warnings.add(WarningKind::CutGzip, Some(self.n_text));
        }
        self.warnings
    }
}

enum Header {
    Complete(usize),
    Incomplete,
    NotGzip,
}

/// The length of the gzip header (RFC 1952, section 2.3).
fn header_len(bytes: &[u8]) -> Header {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const HEADER_CRC: u8 = 2;
    let magic = [0x1f, 0x8b, 8];
    if bytes.iter().zip(magic).any(|(byte, magic)| *byte != magic) {
        return Header::NotGzip;
    }
    let Some(&flags) = bytes.get(3) else {
        return Header::Incomplete;
    };
    let mut len = 10;
    if flags & EXTRA != 0 {
        let (Some(&low), Some(&high)) = (bytes.get(len), bytes.get(len + 1)) else {
            return Header::Incomplete;
        };
        len += 2 + usize::from(u16::from_le_bytes([low, high]));
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let rest = bytes.get(len..).unwrap_or(&[]);
            let Some(end) = rest.iter().position(|byte| *byte == 0) else {
                return Header::Incomplete;
            };
            len += end + 1;
        }
    }
    if flags & HEADER_CRC != 0 {
        len += 2;
    }
    if bytes.len() < len {
        Header::Incomplete
    } else {
        Header::Complete(len)
    }
}

/// The checksum and length that end a member.
fn trailer(bytes: &[u8]) -> Option<(u32, u32)> {
    let [a, b, c, d, e, f, g, h] = *bytes.first_chunk()?;
    Some((
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    ))
}

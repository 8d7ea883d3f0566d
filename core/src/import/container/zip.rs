//! Zip archives, read front to back, for the first member that is a trace.
//!
//! The directory of a zip file is at its end, which a stream has not reached yet, so members are found by their own
//! headers; flate2 inflates them. No crate reads an archive this way: `zip` 9.4 and `async_zip` 0.0 pull input where
//! chunks are pushed here, and `zip` rejects members whose sizes follow them (data descriptors), which every program
//! writes that writes to a pipe. rc-zip 5.4 takes chunks, but reads nothing of such members, and adds 32 crates and 48
//! KB of code (x86-64, optimized for size).

use std::io::Write;

use flate2::Crc;
use flate2::write::DeflateDecoder;

use super::may_be_trace;
use crate::import::error::{ImportError, ImportErrorKind};
use crate::import::file_names::is_called_like_a_trace;
use crate::import::warning::{WarningKind, Warnings};

/// Longest local header: 30 bytes, a name and an extra field.
const MAX_HEADER: usize = 30 + 2 * 65_535;

/// Reads a zip archive in chunks.
#[derive(Debug)]
pub(crate) struct Unzip {
    part: Part,
    pending: Vec<u8>,
    /// Inflates a compressed member; holds its text until it is passed on.
    inflate: DeflateDecoder<Vec<u8>>,
    crc: Crc,
    n_text: u64,
    /// The trace was found; other members are skipped.
    pub(crate) found: bool,
    /// Damage cut off a member that may be the trace.
    is_broken_off: bool,
    pub(crate) warnings: Warnings,
}

#[derive(Debug, Default)]
enum Part {
    #[default]
    Header,
    /// A compressed member.
    Deflated(Member),
    /// An uncompressed member, with the number of bytes left.
    Stored(Member, u64),
    /// The sizes that follow a member whose header does not have them.
    Descriptor(Member),
    /// The directory, or damage: nothing more is read.
    Over,
}

impl Default for Unzip {
    fn default() -> Self {
        Unzip {
            part: Part::default(),
            pending: Vec::new(),
            inflate: DeflateDecoder::new(Vec::new()),
            crc: Crc::new(),
            n_text: 0,
            found: false,
            is_broken_off: false,
            warnings: Warnings::default(),
        }
    }
}

/// A part of a member that may be the trace.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Piece<'a> {
    /// It starts: its path in the archive.
    Begin(&'a str),
    /// Its next bytes, which may be gzip again.
    Bytes(&'a [u8]),
    /// It ends.
    End,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    /// It may be the trace.
    wanted: bool,
    has_descriptor: bool,
    crc: u32,
}

impl Unzip {
    /// Reads a chunk and passes the members that may be the trace to `sink`, which returns at the end of each whether
    /// it was.
    pub(crate) fn push(
        &mut self,
        mut input: &[u8],
        mut sink: impl FnMut(Piece) -> bool,
    ) -> Result<(), ImportError> {
        while !input.is_empty() {
            match self.part {
                Part::Header => {
                    let Some((n_read, path)) = self.header(input)? else {
                        break;
                    };
                    input = input.get(n_read..).unwrap_or(&[]);
                    if self.is_in_member() {
                        sink(Piece::Begin(&path));
                    }
                }
                Part::Deflated(member) => match self.inflate.write(input) {
                    Ok(0) => {
                        let _ = self.inflate.try_finish();
                        self.hand_on(member, &mut sink);
                        self.leave(member, &mut sink);
                    }
                    Ok(n_read) => {
                        input = input.get(n_read..).unwrap_or(&[]);
                        self.hand_on(member, &mut sink);
                    }
                    Err(_) => self.end_damaged(member, &mut sink),
                },
                Part::Stored(member, left) => {
                    let n_taken = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let (taken, rest) = input.split_at(n_taken);
                    input = rest;
                    if member.wanted {
                        self.crc.update(taken);
                        self.n_text += taken.len() as u64;
                        sink(Piece::Bytes(taken));
                    }
                    let left = left - n_taken as u64;
                    self.part = Part::Stored(member, left);
                    if left == 0 {
                        self.leave(member, &mut sink);
                    }
                }
                Part::Descriptor(member) => {
                    let n_before = self.pending.len();
                    self.pending.extend_from_slice(input);
                    let Some((len, crc)) = descriptor(&self.pending) else {
                        break;
                    };
                    input = input.get(len.saturating_sub(n_before)..).unwrap_or(&[]);
                    self.pending.clear();
                    self.check(Member { crc, ..member });
                    self.part = Part::Header;
                }
                Part::Over => break,
            }
        }
        if let Part::Deflated(member) = self.part {
            // The decoder holds back some text.
            match self.inflate.flush() {
                Ok(()) => self.hand_on(member, &mut sink),
                Err(_) => self.end_damaged(member, &mut sink),
            }
        }
        Ok(())
    }

    /// Reads the header of a member: how much of the input it takes, and the path of the member. `None` if it needs more
    /// input, or if nothing that follows can be read.
    fn header(&mut self, input: &[u8]) -> Result<Option<(usize, String)>, ImportError> {
        let n_before = self.pending.len();
        self.pending.extend_from_slice(input);
        let local = match local_header(&self.pending) {
            Ok(None) if self.pending.len() > MAX_HEADER => {
                Err(unreadable("a member's header is damaged"))
            }
            local => local,
        };
        let damage = (WarningKind::CorruptGzip, Some(self.n_text));
        let local = match local {
            Ok(Some(local)) => local,
            Ok(None) => return Ok(None),
            Err(error) => return self.end_at(error, damage).map(|()| None),
        };
        self.pending.clear();
        match self.enter(&local) {
            Ok(()) => Ok(Some((local.len.saturating_sub(n_before), local.name))),
            Err(error) => {
                let others = (WarningKind::OtherZipMembers, None);
                self.end_at(error, others).map(|()| None)
            }
        }
    }

    /// The warnings, once all input is read; an archive without a trace is an error.
    pub(crate) fn finish(mut self, is_found: bool) -> Result<Warnings, ImportError> {
        if !is_found {
            return Err(unreadable("it holds no trace"));
        }
        if !matches!(self.part, Part::Over) {
            self.warnings.add(WarningKind::CutGzip, Some(self.n_text));
        }
        Ok(self.warnings)
    }

    fn enter(&mut self, local: &LocalHeader) -> Result<(), ImportError> {
        if local.is_directory_entry {
            self.part = Part::Over;
            return Ok(());
        }
        let wanted = !self.found && may_be_trace(local.name.as_bytes());
        if local.is_encrypted {
            return Err(unreadable("it is encrypted"));
        }
        let member = Member {
            wanted,
            has_descriptor: local.has_descriptor,
            crc: local.crc,
        };
        self.crc.reset();
        self.part = match local.method {
            8 => {
                self.inflate = DeflateDecoder::new(Vec::new());
                Part::Deflated(member)
            }
            0 if local.has_descriptor => {
                return Err(unreadable(
                    "a member is stored without its size; pack it again",
                ));
            }
            0 if local.compressed_size == 0 => Part::Header,
            0 => Part::Stored(member, local.compressed_size),
            _ => {
                return Err(unreadable(
                    "a member is not compressed with deflate; pack it again with deflate",
                ));
            }
        };
        if self.found && is_called_like_a_trace(&local.name) {
            self.warnings.add(WarningKind::OtherZipMembers, None);
        }
        Ok(())
    }

    /// Stops at something that cannot be skipped. Returns the error, unless the trace was already read; then it adds a
    /// warning.
    fn end_at(
        &mut self,
        error: ImportError,
        (kind, at): (WarningKind, Option<u64>),
    ) -> Result<(), ImportError> {
        if !self.found {
            return Err(error);
        }
        self.warnings.add(kind, at);
        self.part = Part::Over;
        Ok(())
    }

    /// Whether a member that may be the trace is incomplete.
    pub(crate) fn is_in_member(&self) -> bool {
        match self.part {
            Part::Deflated(member) | Part::Stored(member, _) => member.wanted,
            Part::Over => self.is_broken_off,
            Part::Header | Part::Descriptor(_) => false,
        }
    }

    fn hand_on(&mut self, member: Member, sink: &mut impl FnMut(Piece) -> bool) {
        let text = self.inflate.get_mut();
        if member.wanted && !text.is_empty() {
            self.crc.update(text);
            self.n_text += text.len() as u64;
            sink(Piece::Bytes(text));
        }
        text.clear();
    }

    fn end_damaged(&mut self, member: Member, sink: &mut impl FnMut(Piece) -> bool) {
        // Returns what was inflated before the damage, and then the error again.
        let _ = self.inflate.try_finish();
        self.hand_on(member, sink);
        self.warnings
            .add(WarningKind::CorruptGzip, Some(self.n_text));
        self.is_broken_off = member.wanted;
        self.part = Part::Over;
    }

    fn leave(&mut self, member: Member, sink: &mut impl FnMut(Piece) -> bool) {
        if member.wanted {
            self.found = sink(Piece::End);
        }
        if member.has_descriptor {
            self.part = Part::Descriptor(member);
        } else {
            self.check(member);
            self.part = Part::Header;
        }
    }

    fn check(&mut self, member: Member) {
        if member.wanted && member.crc != self.crc.sum() {
            self.warnings
                .add(WarningKind::CorruptGzip, Some(self.n_text));
        }
    }
}

fn unreadable(why: &'static str) -> ImportError {
    ImportError::new(ImportErrorKind::UnreadableZip(why), None)
}

#[derive(Default)]
struct LocalHeader {
    len: usize,
    name: String,
    is_directory_entry: bool,
    is_encrypted: bool,
    has_descriptor: bool,
    method: u16,
    crc: u32,
    compressed_size: u64,
}

/// Reads a member's header; `None` when more bytes are needed.
fn local_header(bytes: &[u8]) -> Result<Option<LocalHeader>, ImportError> {
    let Some(signature) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let is_directory_entry = matches!(
        signature,
        b"PK\x01\x02" | b"PK\x05\x06" | b"PK\x06\x06" | b"PK\x06\x08"
    );
    if !is_directory_entry && signature != b"PK\x03\x04" {
        return Err(unreadable("a member's header is damaged"));
    }
    if is_directory_entry {
        return Ok(Some(LocalHeader {
            len: 4,
            is_directory_entry,
            ..LocalHeader::default()
        }));
    }
    let short = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let long = |at: usize| Some(u32::from(short(at)?) | u32::from(short(at + 2)?) << 16);
    let read = || {
        let (name_len, extra_len) = (usize::from(short(26)?), usize::from(short(28)?));
        let name = bytes.get(30..30 + name_len)?;
        let extra = bytes.get(30 + name_len..30 + name_len + extra_len)?;
        Some((short(6)?, short(8)?, long(14)?, long(18)?, name, extra))
    };
    let Some((flags, method, crc, size, name, extra)) = read() else {
        return Ok(None);
    };
    Ok(Some(LocalHeader {
        len: 30 + name.len() + extra.len(),
        name: String::from_utf8_lossy(name).into_owned(),
        is_directory_entry,
        is_encrypted: flags & 1 != 0,
        has_descriptor: flags & 8 != 0,
        method,
        crc,
        compressed_size: match size {
            u32::MAX => zip64_compressed_size(extra).unwrap_or(0),
            size => u64::from(size),
        },
    }))
}

/// The compressed size in a zip64 extra field: it follows the uncompressed one.
fn zip64_compressed_size(mut extra: &[u8]) -> Option<u64> {
    loop {
        let (head, rest) = extra.split_first_chunk::<4>()?;
        let len = usize::from(u16::from_le_bytes([head[2], head[3]]));
        if u16::from_le_bytes([head[0], head[1]]) == 1 {
            return Some(u64::from_le_bytes(*rest.get(8..)?.first_chunk()?));
        }
        extra = rest.get(len..)?;
    }
}

/// The length and checksum of a data descriptor. Its form is determined from what follows it: another header.
fn descriptor(bytes: &[u8]) -> Option<(usize, u32)> {
    let has_signature = bytes.get(..4)? == b"PK\x07\x08";
    let signature = if has_signature { 4 } else { 0 };
    let crc = u32::from_le_bytes(*bytes.get(signature..)?.first_chunk()?);
    let small = signature + 12;
    if bytes.get(small..small + 2)? == b"PK" {
        return Some((small, crc));
    }
    let large = signature + 20;
    bytes.get(large..large + 2).map(|_| (large, crc))
}

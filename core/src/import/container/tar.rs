//! Tar archives, read front to back: headers of 512 bytes, each followed by a member that is padded to whole blocks.
//!
//! Names that are too long for a header are in a separate member before it, in GNU or POSIX format.

use crate::import::error::{ImportError, ImportErrorKind};

/// Size of a header; members are padded to a multiple of it.
const BLOCK: usize = 512;

/// Where an archive has its magic.
const MARK: std::ops::Range<usize> = 257..262;

/// Limit on the size of long names and attributes.
const MOST_ATTRIBUTES: u64 = 1 << 20;

/// Reads a tar archive in chunks.
#[derive(Debug, Default)]
pub(crate) struct Untar {
    part: Part,
    /// The part of a header or of attributes that has arrived.
    pending: Vec<u8>,
    /// Attributes of the next member.
    name: Option<String>,
    size: Option<u64>,
}

#[derive(Debug, Default)]
enum Part {
    #[default]
    Header,
    /// Remaining bytes of a member, and of its padding.
    Body(Kind, u64, u64),
    /// After the last member.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    /// A folder, a link.
    Skipped,
    /// The name of the next member.
    LongName,
    /// Attributes of the next member.
    Attributes,
}

/// A part of a file in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member<'a> {
    /// A file starts: its path in the archive.
    Begin(&'a str),
    /// Its next bytes, as stored in the archive.
    Bytes(&'a [u8]),
    /// The file ends.
    End,
}

impl Untar {
    /// Whether a file that starts with these bytes is a tar archive.
    pub(crate) fn fits(head: &[u8]) -> bool {
        head.get(MARK) == Some(b"ustar")
    }

    /// Whether one of its files is incomplete.
    pub(crate) fn is_in_file(&self) -> bool {
        matches!(self.part, Part::Body(Kind::File, left, _) if left > 0)
    }

    /// Skips the file or folder that starts here; returns the sizes of its content and of its padding.
    pub(crate) fn pass(&mut self) -> (u64, u64) {
        match self.part {
            Part::Body(Kind::File | Kind::Skipped, left, padding) => {
                self.part = Part::Header;
                (left, padding)
            }
            _ => (0, 0),
        }
    }

    /// Whether the last member has ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.part, Part::Over)
    }

    /// Reads a chunk and passes its files to `sink`.
    pub(crate) fn push(
        &mut self,
        mut input: &[u8],
        sink: &mut dyn FnMut(Member),
    ) -> Result<(), ImportError> {
        while !input.is_empty() {
            match self.part {
                Part::Header => {
                    let missing = BLOCK.saturating_sub(self.pending.len());
                    let (taken, rest) = input.split_at(missing.min(input.len()));
                    self.pending.extend_from_slice(taken);
                    input = rest;
                    if self.pending.len() == BLOCK {
                        let header = std::mem::take(&mut self.pending);
                        self.enter(&header, sink)?;
                    }
                }
                Part::Body(kind, left, padding) if left > 0 => {
                    let n = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let (taken, rest) = input.split_at(n);
                    input = rest;
                    match kind {
                        Kind::File => sink(Member::Bytes(taken)),
                        Kind::LongName | Kind::Attributes => self.pending.extend_from_slice(taken),
                        Kind::Skipped => {}
                    }
                    let left = left - n as u64;
                    self.part = Part::Body(kind, left, padding);
                    if left == 0 {
                        self.leave(kind, sink);
                    }
                }
                Part::Body(kind, _, padding) => {
                    let n = usize::try_from(padding)
                        .unwrap_or(usize::MAX)
                        .min(input.len());
                    input = input.get(n..).unwrap_or(&[]);
                    self.part = match padding - n as u64 {
                        0 => Part::Header,
                        rest => Part::Body(kind, 0, rest),
                    };
                }
                Part::Over => break,
            }
        }
        Ok(())
    }

    fn enter(&mut self, header: &[u8], sink: &mut dyn FnMut(Member)) -> Result<(), ImportError> {
        if header.iter().all(|byte| *byte == 0) {
            self.part = Part::Over;
            return Ok(());
        }
        let size = number(header.get(124..136).unwrap_or_default());
        let is_right = sum(header) == number(header.get(148..156).unwrap_or_default());
        let Some(size) = size.filter(|_| is_right) else {
            let why = ImportErrorKind::UnreadableTar("a member's header is damaged");
            return Err(ImportError::new(why, None));
        };
        let kind = match header.get(156) {
            Some(b'0' | 0 | b'7') => Kind::File,
            Some(b'L') => Kind::LongName,
            Some(b'x') => Kind::Attributes,
            _ => Kind::Skipped,
        };
        let is_about_next = matches!(kind, Kind::LongName | Kind::Attributes);
        if is_about_next && size > MOST_ATTRIBUTES {
            let why = ImportErrorKind::UnreadableTar("the name of a member is too long");
            return Err(ImportError::new(why, None));
        }
        let size = match is_about_next {
            true => size,
            false => self.size.take().unwrap_or(size),
        };
        if !is_about_next {
            let name = self.name.take().unwrap_or_else(|| name(header));
            if kind == Kind::File {
                sink(Member::Begin(&name));
            }
        }
        let block = BLOCK as u64;
        self.part = Part::Body(kind, size, (block - size % block) % block);
        if size == 0 {
            self.leave(kind, sink);
            self.part = Part::Header;
        }
        Ok(())
    }

    fn leave(&mut self, kind: Kind, sink: &mut dyn FnMut(Member)) {
        let body = std::mem::take(&mut self.pending);
        match kind {
            Kind::File => sink(Member::End),
            Kind::Skipped => {}
            Kind::LongName => self.name = Some(text(&body)),
            Kind::Attributes => self.take_attributes(&body),
        }
        if let Part::Body(_, 0, 0) = self.part {
            self.part = Part::Header;
        }
    }

    /// Lines like `28 path=traces/rank0.json`, each preceded by its length.
    fn take_attributes(&mut self, mut records: &[u8]) {
        loop {
            let Some(space) = records.iter().position(|byte| *byte == b' ') else {
                return;
            };
            let length = records
                .get(..space)
                .map(text)
                .and_then(|text| text.parse().ok());
            let Some(length) = length.filter(|length: &usize| *length > space) else {
                return;
            };
            let Some(line) = records.get(space + 1..length) else {
                return;
            };
            let line = text(line);
            match line.trim_end_matches('\n').split_once('=') {
                Some(("path", path)) => self.name = Some(path.to_owned()),
                Some(("size", size)) => self.size = size.parse().ok().or(self.size),
                _ => {}
            }
            records = records.get(length..).unwrap_or_default();
        }
    }
}

/// The sum of the bytes of a header, with the checksum field itself counted as spaces.
fn sum(header: &[u8]) -> Option<u64> {
    let bytes = header.iter().enumerate();
    Some(
        bytes
            .map(|(at, byte)| match (148..156).contains(&at) {
                true => u64::from(b' '),
                false => u64::from(*byte),
            })
            .sum(),
    )
}

/// A number in octal digits or, if the first bit is set, in base 256.
fn number(field: &[u8]) -> Option<u64> {
    if let Some((first, rest)) = field.split_first().filter(|(first, _)| **first & 0x80 != 0) {
        let start = u64::from(first & 0x7f);
        return rest.iter().try_fold(start, |all, byte| {
            all.checked_mul(256)?.checked_add(u64::from(*byte))
        });
    }
    let digits = text(field);
    let digits = digits.trim();
    match digits {
        "" => Some(0),
        digits => u64::from_str_radix(digits, 8).ok(),
    }
}

/// The path of a member, from its header.
fn name(header: &[u8]) -> String {
    let name = text(header.get(..100).unwrap_or_default());
    let prefix = match header.get(257..263) {
        Some(b"ustar\0") => text(header.get(345..500).unwrap_or_default()),
        _ => String::new(),
    };
    match prefix.is_empty() {
        true => name,
        false => format!("{prefix}/{name}"),
    }
}

/// The text up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default())
        .into_owned()
}

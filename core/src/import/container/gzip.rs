//! Gzip, member by member, with checksums. flate2 reads each member; this module decides what follows it.

use flate2::{Decompress, FlushDecompress, Status};

use crate::import::error::ImportError;
use crate::import::text_buffer::TextBuffer;
use crate::import::warning::{WarningKind, Warnings};

/// As large as any window.
const WINDOW_BITS: u8 = 15;

/// There is room for at least this much text each time.
const ROOM: usize = 64 << 10;

/// zlib's words for a member whose text does not have the checksum that follows it, before the 4 bytes of its length.
const WRONG_CHECKSUM: &str = "incorrect data check";
const LENGTH_BYTES: usize = 4;

/// The same for the length.
const WRONG_LENGTH: &str = "incorrect length check";

/// Reads a gzip file in chunks.
#[derive(Debug)]
pub(crate) struct Gunzip {
    member: Decompress,
    /// Whether any bytes of this member have arrived.
    is_started: bool,
    /// Number of complete members.
    n_members: u32,
    /// Bytes of the last member to skip.
    n_skipped: usize,
    /// Total bytes of text.
    n_text: u64,
    /// After damage or foreign bytes, nothing more is read.
    is_over: bool,
    /// Memory for text that is passed on.
    text: TextBuffer,
    pub(crate) warnings: Warnings,
}

impl Default for Gunzip {
    fn default() -> Self {
        Gunzip {
            member: Decompress::new_gzip(WINDOW_BITS),
            is_started: false,
            n_members: 0,
            n_skipped: 0,
            n_text: 0,
            is_over: false,
            text: TextBuffer::default(),
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
        let mut text = std::mem::take(&mut self.text);
        let mut handed_on = Ok(());
        let mut has_more = true;
        while has_more && handed_on.is_ok() {
            has_more = self.inflate(&mut input, &mut text);
            if !text.bytes().is_empty() {
                handed_on = sink(text.bytes());
                text.clear();
            }
        }
        self.text = text;
        handed_on
    }

    /// Reads a chunk and appends its text.
    pub(crate) fn push_to(&mut self, mut input: &[u8], text: &mut TextBuffer) {
        while self.inflate(&mut input, text) {}
    }

    /// The warnings, once all input is read.
    pub(crate) fn finish(mut self) -> Warnings {
        if !self.is_over && (self.is_started || self.n_members == 0) {
            self.warnings.add(WarningKind::CutGzip, Some(self.n_text));
        }
        self.warnings
    }

    /// Appends as much text as there is room for; returns whether there may be more.
    fn inflate(&mut self, input: &mut &[u8], text: &mut TextBuffer) -> bool {
        self.skip_between_members(input);
        if self.is_over {
            return false;
        }
        let room = text.room(ROOM);
        let n_room = room.len() as u64;
        let (n_in, n_out) = (self.member.total_in(), self.member.total_out());
        let inflated = (self.member).decompress(input, room, FlushDecompress::None);
        let n_in = self.member.total_in() - n_in;
        let n_out = self.member.total_out() - n_out;
        *input = input.get(n_in as usize..).unwrap_or_default();
        text.filled(n_out as usize);
        self.is_started |= n_in > 0;
        self.n_text += n_out;
        // The decoder holds back what there was no room for.
        let has_more = !input.is_empty() || n_out == n_room;
        match inflated {
            Ok(Status::StreamEnd) => self.end_member(0),
            Ok(Status::Ok | Status::BufError) => {}
            Err(error) => match error.message() {
                Some(WRONG_CHECKSUM) => self.end_wrong_member(LENGTH_BYTES),
                Some(WRONG_LENGTH) => self.end_wrong_member(0),
                _ if self.n_members > 0 && self.member.total_out() == 0 => {
                    self.break_off(WarningKind::TrailingGarbage);
                }
                _ => self.break_off(WarningKind::CorruptGzip),
            },
        }
        has_more
    }

    /// Skips what may follow a member: zero bytes.
    fn skip_between_members(&mut self, input: &mut &[u8]) {
        if self.is_started || self.n_members == 0 {
            return;
        }
        let n_skipped = self.n_skipped.min(input.len());
        self.n_skipped -= n_skipped;
        let rest = input.get(n_skipped..).unwrap_or_default();
        let padding = rest.iter().take_while(|byte| **byte == 0).count();
        *input = rest.get(padding..).unwrap_or_default();
        if !self.is_over && input.first().is_some_and(|byte| *byte != 0x1f) {
            self.break_off(WarningKind::TrailingGarbage);
        }
    }

    /// The next member follows after `n_skipped` bytes.
    fn end_member(&mut self, n_skipped: usize) {
        self.member = Decompress::new_gzip(WINDOW_BITS);
        self.is_started = false;
        self.n_members += 1;
        self.n_skipped = n_skipped;
    }

    fn end_wrong_member(&mut self, n_skipped: usize) {
        self.warnings
            .add(WarningKind::CorruptGzip, Some(self.n_text));
        self.end_member(n_skipped);
    }

    fn break_off(&mut self, why: WarningKind) {
        self.warnings.add(why, Some(self.n_text));
        self.is_over = true;
    }
}

//! What a format of traces is.
//!
//! To add one: a module that reads it, and a row of `FORMATS`.

use std::fmt;

use super::error::ImportError;
use super::part::Part;
use super::warning::Warnings;
use crate::trace::Trace;

/// What names of traces end with, where they are not packed.
const ENDINGS: [&str; 4] = [".json", ".pftrace", ".perfetto-trace", ".pb"];

/// Whether a file in a folder or an archive is called like a trace, packed or not; not those that macOS
/// leaves beside each file. What it is, its content tells.
pub fn is_called_like_a_trace(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let base = path.rsplit(['/', '\\']).next().unwrap_or(&path);
    let is_left = base.starts_with("._") || path.starts_with("__macosx/");
    let name = base.strip_suffix(".gz").unwrap_or(base);
    !is_left && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// A format of traces.
pub(super) struct Format {
    /// Whether what begins with these bytes is of it.
    pub(super) sniff: fn(Head) -> Sniffed,
    /// Begins to read one.
    pub(super) read: fn() -> Box<dyn FormatReader>,
}

/// The first bytes of a file, by which its format is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    /// What has come of it.
    pub(super) bytes: &'a [u8],
    /// No more will be shown: the file ends here, or nothing further on is looked at.
    pub(super) is_all: bool,
}

/// What first bytes tell. More of them never turn a yes or a no around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sniffed {
    Yes,
    No,
    /// It takes more of them to tell; a no, where there are none.
    Unclear,
}

/// Reads a trace in chunks of any size.
pub(super) trait FormatReader: fmt::Debug {
    /// Reads a chunk.
    fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError>;

    /// Puts a part behind what was read; false where it does not follow, so that its text has to be read.
    /// Of a format that no [`PartReader`](super::PartReader) reads, none does.
    fn join(&mut self, _part: &Part) -> bool {
        false
    }

    /// Bytes read so far.
    fn n_bytes(&self) -> u64;

    /// Events so far, of any kind.
    fn n_events(&self) -> u32;

    /// Reads what is left and says whether it was a trace.
    fn end(&mut self) -> Result<(), ImportError>;

    /// What was read, after its end, and what was wrong with it.
    fn into_trace(self: Box<Self>) -> (Trace, Warnings);
}

#[cfg(test)]
mod tests {
    use super::is_called_like_a_trace;

    #[test]
    fn traces_are_picked_by_their_names() {
        for name in [
            "rank0.pt.trace.json.gz",
            "out/RANK.JSON",
            "a.pftrace",
            "a.pftrace.gz",
            "plugins/profile/run/host.xplane.pb",
        ] {
            assert!(is_called_like_a_trace(name), "{name}");
        }
        for name in [
            "notes.txt",
            "a/._r.json",
            "__MACOSX/r.json",
            "model.pbtxt",
            "x.gz",
        ] {
            assert!(!is_called_like_a_trace(name), "{name}");
        }
    }
}

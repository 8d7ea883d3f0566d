//! Why a file is no trace.

use std::fmt;

/// The one thing that can fail: there is no trace in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// What is wrong.
    pub kind: ImportErrorKind,
    /// Where, in bytes of the decompressed text; `None` where no place can be named.
    pub offset: Option<u64>,
}

/// What is wrong with a file that is no trace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportErrorKind {
    /// Not a byte.
    Empty,
    /// Nothing but zero bytes.
    ZeroBytes,
    /// A web page, often a login or an error page that was saved in the trace's place.
    Html,
    /// The text of a Python object.
    PythonText,
    /// UTF-16 text.
    Utf16,
    /// An archive or compression that is not read here, by its name.
    Compressed(&'static str),
    /// A tar archive.
    Tar,
    /// A tar archive that is damaged.
    UnreadableTar(&'static str),
    /// A gzip file that ends or breaks before any text.
    UnreadableGzip,
    /// A zip archive without a trace, or of a kind that cannot be read.
    UnreadableZip(&'static str),
    /// JSON, but an object without `traceEvents`; these are its first keys.
    NoTraceEvents(Vec<String>),
    /// JSON, but a list of something else than events.
    NotEvents,
    /// Not JSON at all.
    NotJson,
    /// The text ends before its first event.
    CutBeforeEvents,
}

impl ImportError {
    pub(super) fn new(kind: ImportErrorKind, offset: impl Into<Option<u64>>) -> ImportError {
        ImportError {
            kind,
            offset: offset.into(),
        }
    }
}

impl fmt::Display for ImportErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ImportErrorKind::*;
        let whole = match self {
            ZeroBytes => {
                "the file holds only zero bytes, as after an interrupted copy; copy it again"
            }
            PythonText => {
                "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace"
            }
            Utf16 => "this is UTF-16 or UTF-32 text; save it as UTF-8",
            Compressed(name) => {
                let after = "decompress it first, or compress with gzip or zip";
                return write!(f, "this is a {name} file; {after}");
            }
            Tar => {
                "this is a tar archive; unpack it and open the trace in it, or open it as the ranks of a job"
            }
            UnreadableTar(why) => return write!(f, "this tar archive cannot be read: {why}"),
            UnreadableGzip => "this gzip file breaks before any text could be read; copy it again",
            UnreadableZip(why) => return write!(f, "this zip archive cannot be read: {why}"),
            CutBeforeEvents => {
                "the text ends before its first event, as after an interrupted copy; copy the file or record it again"
            }
            Empty | Html | NoTraceEvents(_) | NotEvents | NotJson => return self.unexpected(f),
        };
        f.write_str(whole)
    }
}

impl ImportErrorKind {
    /// What the file is in place of what is expected.
    fn unexpected(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ImportErrorKind::*;
        let found = match self {
            Empty => "the file is empty",
            Html => "this is a web page, perhaps a login page saved in the trace's place",
            NoTraceEvents(keys) if keys.is_empty() => {
                "this is an empty JSON object without traceEvents"
            }
            NoTraceEvents(keys) if keys.iter().any(|key| key == "traceEvents") => {
                "the traceEvents of this JSON are no list of events"
            }
            NoTraceEvents(keys) => {
                &format!("this JSON has no traceEvents, only `{}`", keys.join("`, `"))
            }
            NotEvents => "this is a JSON list, but not of trace events",
            _ => "this is not JSON",
        };
        write!(
            f,
            "{found}; expected a PyTorch profiler trace, the .json or .json.gz that export_chrome_trace or tensorboard_trace_handler writes"
        )
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        match self.offset {
            Some(offset) => write!(f, " (at byte {offset})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ImportError {}

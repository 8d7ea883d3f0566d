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
        let expected = "expected a PyTorch profiler trace, the .json or .json.gz that export_chrome_trace or tensorboard_trace_handler writes";
        match self {
            ImportErrorKind::Empty => write!(f, "the file is empty; {expected}"),
            ImportErrorKind::ZeroBytes => {
                write!(
                    f,
                    "the file holds only zero bytes, as after an interrupted copy; copy it again"
                )
            }
            ImportErrorKind::Html => {
                write!(
                    f,
                    "this is a web page, perhaps a login page saved in the trace's place; {expected}"
                )
            }
            ImportErrorKind::PythonText => write!(
                f,
                "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace"
            ),
            ImportErrorKind::Utf16 => write!(f, "this is UTF-16 or UTF-32 text; save it as UTF-8"),
            ImportErrorKind::Compressed(name) => {
                write!(
                    f,
                    "this is a {name} file; decompress it first, or compress with gzip or zip"
                )
            }
            ImportErrorKind::Tar => {
                write!(
                    f,
                    "this is a tar archive; unpack it and open the trace in it"
                )
            }
            ImportErrorKind::UnreadableGzip => {
                write!(
                    f,
                    "this gzip file breaks before any text could be read; copy it again"
                )
            }
            ImportErrorKind::UnreadableZip(why) => {
                write!(f, "this zip archive cannot be read: {why}")
            }
            ImportErrorKind::NoTraceEvents(keys) if keys.is_empty() => {
                write!(
                    f,
                    "this is an empty JSON object without traceEvents; {expected}"
                )
            }
            ImportErrorKind::NoTraceEvents(keys) if keys.iter().any(|key| key == "traceEvents") => {
                write!(
                    f,
                    "the traceEvents of this JSON are no list of events; {expected}"
                )
            }
            ImportErrorKind::NoTraceEvents(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                write!(
                    f,
                    "this JSON has no traceEvents, only {}; {expected}",
                    keys.join(", ")
                )
            }
            ImportErrorKind::NotEvents => {
                write!(
                    f,
                    "this is a JSON list, but not of trace events; {expected}"
                )
            }
            ImportErrorKind::NotJson => write!(f, "this is not JSON; {expected}"),
            ImportErrorKind::CutBeforeEvents => write!(
                f,
                "the text ends before its first event, as after an interrupted copy; copy the file or record it again"
            ),
        }
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

//! Why a file is not a trace.

use std::fmt;

use crate::base::labels::labeled;

/// The only failure of import: the bytes hold no trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// What is wrong.
    pub kind: ImportErrorKind,
    /// Offset in the decompressed text; `None` if there is no particular place.
    pub offset: Option<u64>,
}

/// What is wrong with a file that is not a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportErrorKind {
    /// No bytes.
    Empty,
    /// Nothing but zero bytes.
    ZeroBytes,
    /// A web page, often a login or an error page saved instead of the trace.
    Html,
    /// A Python object printed as text.
    PythonText,
    /// UTF-16 text.
    Utf16,
    /// A format that is not supported.
    Unsupported(Unsupported),
    /// A damaged tar archive, or one without a trace.
    UnreadableTar(&'static str),
    /// A gzip file that ends or is damaged before any text.
    UnreadableGzip,
    /// A zip archive without a trace, or of an unsupported kind.
    UnreadableZip(&'static str),
    /// JSON, but an object without `traceEvents`; these are its first keys.
    NoTraceEvents(Vec<String>),
    /// JSON, but a list of something other than events.
    NotEvents,
    /// Not JSON at all.
    NotJson,
    /// The text ends before its first event.
    CutBeforeEvents,
}

labeled! {
    /// An unsupported kind of file: the sentence that names it, and what to do.
    #[non_exhaustive]
    #[allow(missing_docs, reason = "each has its sentence")]
    pub enum Unsupported {
        Zstd => "this is a zstd file; decompress it first, or compress with gzip or zip",
        Xz => "this is an xz file; decompress it first, or compress with gzip or zip",
        Bzip2 => "this is a bzip2 file; decompress it first, or compress with gzip or zip",
        SevenZip => "this is a 7-Zip file; decompress it first, or compress with gzip or zip",
        Lz4 => "this is an LZ4 file; decompress it first, or compress with gzip or zip",
        Rar => "this is a RAR file; decompress it first, or compress with gzip or zip",
        Rocpd => "this is a rocpd database of rocprofv3; convert it with `rocpd convert -i FILE -f pftrace`, or record with `rocprofv3 --output-format json`",
        NsysDatabase => "this is a database of Nsight Systems (`nsys export --type sqlite`), which Dormer does not read; record with torch.profiler",
        NsysReport => "this is a report of Nsight Systems, whose format only `nsys export` reads; record with torch.profiler",
        Database => "this is an SQLite database, which Dormer does not read; if rocprofv3 wrote it, convert it with `rocpd convert -i FILE -f pftrace`",
        Pickle => "this is a Python pickle, as torch.cuda.memory._dump_snapshot writes; record a trace with profile_memory=True to see memory over time",
        MemoryTimeline => "this is a list of lists, as export_memory_timeline writes; record with profile_memory=True and open the trace of export_chrome_trace, which says the same of memory",
        ExecutionTrace => "this is an execution trace, which has no GPU times; open it together with the profiler trace of the same run, to which it adds shapes",
    }
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
            Unsupported(what) => what.label(),
            UnreadableTar(why) => return write!(f, "this tar archive cannot be read: {why}"),
            UnreadableGzip => "this gzip file is damaged at its start; copy it again",
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
    /// What the file is instead of a trace.
    fn unexpected(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ImportErrorKind::*;
        let has = |keys: &[String], wanted: &str| keys.iter().any(|key| key == wanted);
        let found = match self {
            Empty => "the file is empty",
            Html => "this is a web page, perhaps a login page saved in the trace's place",
            NoTraceEvents(keys) if keys.is_empty() => {
                "this is an empty JSON object without traceEvents"
            }
            NoTraceEvents(keys) if has(keys, "traceEvents") => {
                "`traceEvents` in this JSON is not a list of events"
            }
            NoTraceEvents(keys) if has(keys, "dormer_digest") => {
                "this is the digest of a rank, which `dormer job` and the page open"
            }
            NoTraceEvents(keys) if has(keys, "dormer_fleet") => {
                "this is the summary of a fleet, which the page opens"
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

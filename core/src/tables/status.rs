//! The outcome of analyzing a file, and the reason.

use serde::{Deserialize, Serialize};

use crate::base::labels::labeled;
use crate::import::warning::{Warning, WarningKind, Warnings};
use crate::import::{self, ImportError, ImportErrorKind};

labeled! {
    /// The outcome of analyzing a file.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Status {
        /// It was read.
        Ok => "ok",
        /// Not all of it was read: bytes are missing or damaged, or there is more than fits.
        Partial => "partial",
        /// It is not a trace, or cannot be read.
        Rejected => "rejected",
        /// Its analysis was killed by the system, or crashed.
        Killed => "killed",
        /// Its analysis took too long.
        Timeout => "timeout",
        /// Its bytes already have a row.
        Duplicate => "duplicate",
    }
}

impl Status {
    /// Parses the text in a table.
    pub fn of(text: &str) -> Option<Status> {
        let mut all = Status::ALL.into_iter();
        all.find(|status| status.label() == text)
    }

    /// Whether there are figures for the file.
    pub fn is_read(self) -> bool {
        matches!(self, Status::Ok | Status::Partial)
    }

    /// Whether the file has no figures. A duplicate has those of the first file.
    pub fn has_failed(self) -> bool {
        matches!(self, Status::Rejected | Status::Killed | Status::Timeout)
    }
}

labeled! {
    /// Why a file has no rows, or is incomplete.
    pub enum ReasonKind {
        /// No bytes, or nothing but zeros.
        Empty => "empty",
        /// Not JSON.
        NotJson => "not_json",
        /// A web page, such as a login page.
        WebPage => "web_page",
        /// JSON, but not a trace.
        NoTraceEvents => "no_trace_events",
        /// A gzip file that is damaged before any text.
        BrokenGzip => "broken_gzip",
        /// A zip archive that cannot be read, or contains no trace.
        BrokenZip => "broken_zip",
        /// A tar archive that is damaged.
        BrokenTar => "broken_tar",
        /// It ends too early.
        Cut => "cut",
        /// Some of it is corrupt.
        Damaged => "damaged",
        /// It has more events than fit.
        TooBig => "too_big",
        /// The file contains several traces; only the first was read.
        MoreTraces => "more_traces",
        /// The analysis was ended by a signal, or crashed; the most common cause is too little memory.
        Killed => "killed",
        /// The analysis took too long.
        Timeout => "timeout",
        /// The bytes could not be read.
        Io => "io",
    }
}

/// A file that could not be read as a trace, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The outcome.
    pub status: Status,
    /// Why, for programs.
    pub kind: ReasonKind,
    /// Why, for people.
    pub reason: String,
}

impl From<&ImportError> for Failed {
    fn from(error: &ImportError) -> Failed {
        use ImportErrorKind::*;
        let kind = match &error.kind {
            Empty | ZeroBytes => ReasonKind::Empty,
            Html => ReasonKind::WebPage,
            NoTraceEvents(_)
            | NotEvents
            | Unsupported(
                import::Unsupported::MemoryTimeline | import::Unsupported::ExecutionTrace,
            ) => ReasonKind::NoTraceEvents,
            UnreadableGzip => ReasonKind::BrokenGzip,
            UnreadableZip(_) => ReasonKind::BrokenZip,
            UnreadableTar(_) => ReasonKind::BrokenTar,
            // Nothing of it is usable, so it is rejected; a file truncated later is partial.
            CutBeforeEvents => ReasonKind::Cut,
            PythonText | Utf16 | Unsupported(_) | NotJson => ReasonKind::NotJson,
        };
        Failed {
            status: Status::Rejected,
            kind,
            reason: error.to_string(),
        }
    }
}

/// Why a trace was not read completely; `None` if it was.
pub(super) fn damage(warnings: &Warnings) -> Option<(ReasonKind, &Warning)> {
    const DAMAGE: [(WarningKind, ReasonKind); 7] = [
        (WarningKind::CutGzip, ReasonKind::Cut),
        (WarningKind::CutJson, ReasonKind::Cut),
        (WarningKind::CorruptGzip, ReasonKind::Damaged),
        (WarningKind::UnreadableEvent, ReasonKind::Damaged),
        (WarningKind::TooManyEvents, ReasonKind::TooBig),
        (WarningKind::OtherZipMembers, ReasonKind::MoreTraces),
        (WarningKind::AnotherTrace, ReasonKind::MoreTraces),
    ];
    let found = DAMAGE.into_iter();
    let mut found = found.filter_map(|(of, kind)| Some((kind, warnings.get(of)?)));
    found.next()
}

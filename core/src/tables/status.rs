//! What became of a file, and why.

use serde::{Deserialize, Serialize};

use crate::base::labels::labelled;
use crate::import::warning::{Warning, WarningKind, Warnings};
use crate::import::{self, ImportError, ImportErrorKind};

labelled! {
    /// What became of a file.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Status {
        /// It was read.
        Ok => "ok",
        /// Not all of it was read: bytes are missing or damaged, or there is more than fits.
        Partial => "partial",
        /// It is no trace, or cannot be read.
        Rejected => "rejected",
        /// Its analysis was ended by the system, or broke.
        Killed => "killed",
        /// Its analysis took too long.
        Timeout => "timeout",
        /// Its bytes have a row already.
        Duplicate => "duplicate",
    }
}

impl Status {
    /// Of the text in a table.
    pub fn of(text: &str) -> Option<Status> {
        let mut all = Status::ALL.into_iter();
        all.find(|status| status.label() == text)
    }

    /// Whether there are figures of the file.
    pub fn is_read(self) -> bool {
        matches!(self, Status::Ok | Status::Partial)
    }

    /// Whether the file gave no figures. Of a duplicate the first file tells.
    pub fn has_failed(self) -> bool {
        matches!(self, Status::Rejected | Status::Killed | Status::Timeout)
    }
}

labelled! {
    /// Why a file has no rows, or not all.
    pub enum ReasonKind {
        /// No bytes, or nothing but zeros.
        Empty => "empty",
        /// Something else than JSON.
        NotJson => "not_json",
        /// A web page, such as a login page.
        WebPage => "web_page",
        /// JSON, but no trace.
        NoTraceEvents => "no_trace_events",
        /// A gzip file that breaks before any text.
        BrokenGzip => "broken_gzip",
        /// A zip archive that cannot be read, or has no trace.
        BrokenZip => "broken_zip",
        /// A tar archive that is damaged.
        BrokenTar => "broken_tar",
        /// It ends too early.
        Cut => "cut",
        /// Some of it is not what was written.
        Damaged => "damaged",
        /// It has more events than fit.
        TooBig => "too_big",
        /// The file holds several traces, of which the first was read.
        MoreTraces => "more_traces",
        /// The analysis was ended by a signal, or broke; too little memory is the commonest cause.
        Killed => "killed",
        /// The analysis took too long.
        Timeout => "timeout",
        /// The bytes could not be read.
        Io => "io",
    }
}

/// That a file gave no trace, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// What became of it.
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
            | Foreign(import::Foreign::MemoryTimeline | import::Foreign::ExecutionTrace) => {
                ReasonKind::NoTraceEvents
            }
            UnreadableGzip => ReasonKind::BrokenGzip,
            UnreadableZip(_) => ReasonKind::BrokenZip,
            UnreadableTar(_) => ReasonKind::BrokenTar,
            // Nothing of it can be used: it is rejected, while what is cut later is partial.
            CutBeforeEvents => ReasonKind::Cut,
            PythonText | Utf16 | Foreign(_) | NotJson => ReasonKind::NotJson,
        };
        Failed {
            status: Status::Rejected,
            kind,
            reason: error.to_string(),
        }
    }
}

/// What is missing of a trace that was read; `None` where all of it was.
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

//! Reports and downloads.

use dormer_core::base::format;
use dormer_core::output::embedded::View;
use serde::{Deserialize, Serialize};

/// Asks for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DocumentQuery {
    /// The report with prioritized recommendations.
    Report,
    /// Every step of the analysis.
    Notes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// The trace to improve.
    Target,
    /// The comparison of both traces.
    Comparison,
}

/// Asks for the available downloads. As long as the answer is `None`, the worker makes a table each time it is asked: it
/// answers others in between.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ArtifactsQuery {
    /// Whether names are replaced.
    pub is_redacted: bool,
}

/// All downloads about one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub about: About,
    /// Whether names are replaced.
    pub is_redacted: bool,
    pub groups: Vec<ArtifactGroup>,
}

/// Kinds of files with the same purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactGroup {
    /// The purpose, for people.
    pub title: String,
    /// Its kinds of files, all of which have files.
    pub kinds: Vec<ArtifactKind>,
}

/// A kind of file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactKind {
    /// The value of the command line's `--format`.
    pub format: String,
    /// Its title for people.
    pub title: String,
    /// Who uses it, and with which tool.
    pub purpose: String,
    /// Whether its files are quick to make, so that their size can be shown.
    pub is_quick: bool,
    pub lines: Vec<ArtifactLine>,
}

/// A download. It is made on request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactLine {
    pub about: About,
    /// Its path, as written by the command line.
    pub path: String,
    /// Its title for people.
    pub title: String,
}

/// Asks for the bytes of one artifact; they are sent alongside the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactQuery {
    pub about: About,
    /// Its path; `None` for an archive of all artifacts.
    pub path: Option<String>,
    /// Whether names are replaced.
    pub is_redacted: bool,
    /// Whether only the size is requested, without the bytes.
    pub is_measured: bool,
}

impl ArtifactQuery {
    /// A query that includes the bytes.
    pub fn new(about: About, path: Option<&str>, is_redacted: bool) -> ArtifactQuery {
        ArtifactQuery {
            about,
            path: path.map(str::to_owned),
            is_redacted,
            is_measured: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeArtifact {
    /// Its MIME type.
    pub mime: String,
    /// Its size, formatted.
    pub size: String,
}

impl MadeArtifact {
    /// Describes the bytes sent alongside it.
    pub fn new(mime: &str, bytes: &[u8]) -> MadeArtifact {
        MadeArtifact {
            mime: mime.to_owned(),
            size: format::bytes(bytes.len() as u64),
        }
    }
}

/// Asks for the parts around the traces in a self-contained file that includes the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedQuery {
    /// Whether names are replaced.
    pub is_redacted: bool,
    /// The view that it opens with.
    pub view: View,
}

/// Asks for one of the open traces as compressed profiler JSON; its bytes are sent alongside an empty answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenTraceQuery {
    /// Whether names are replaced.
    pub is_redacted: bool,
    /// Whether to send the reference instead of the target.
    pub is_reference: bool,
}

/// Asks for a program that reproduces a single operation.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ReproducerQuery {
    /// Its row in the sheet of operations.
    pub row: u32,
    /// Whether to make it and send its bytes alongside the answer, or only check whether it can be made.
    pub make: bool,
}

/// Whether an operation can be reproduced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproducer {
    /// The file name.
    pub file_name: String,
    /// Why it cannot be reproduced, as a clause.
    pub reason: Option<String>,
    /// A short Python version; `None` if it cannot be reproduced or there is none.
    pub python: Option<String>,
    /// The file, if it was requested.
    pub made: Option<MadeArtifact>,
}

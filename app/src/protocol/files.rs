//! Reports and artifacts.

use dormer_core::base::format;
use dormer_core::output::enclosed::View;
use serde::{Deserialize, Serialize};

/// Asks for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DocumentQuery {
    /// Prioritized recommendations.
    Report,
    /// Every step of the analysis.
    Notes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// The trace to improve.
    Target,
    /// It, compared with another one.
    Comparison,
}

/// Asks what can be downloaded.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ArtifactsQuery {
    /// With names replaced.
    pub is_redacted: bool,
}

/// All that can be downloaded about one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub about: About,
    /// Names are replaced.
    pub is_redacted: bool,
    pub groups: Vec<ArtifactGroup>,
}

/// Kinds of files that are there for the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactGroup {
    /// What for, for people.
    pub title: String,
    /// Its kinds of files, none without files.
    pub kinds: Vec<ArtifactKind>,
}

/// A kind of file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactKind {
    /// What the command line's `--format` takes.
    pub format: String,
    /// What it is, for people.
    pub title: String,
    /// Who opens it, and with what.
    pub purpose: String,
    /// Its files can be made only to know their size.
    pub is_quick: bool,
    pub lines: Vec<ArtifactLine>,
}

/// Something that can be downloaded. It is made when it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactLine {
    pub about: About,
    /// Its path, as the command line writes it.
    pub path: String,
    /// What it is, for people.
    pub title: String,
}

/// Asks for the bytes of one artifact; they travel beside the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactQuery {
    pub about: About,
    /// Its path; `None` for all of them as one archive.
    pub path: Option<String>,
    /// With names replaced.
    pub is_redacted: bool,
    /// Its size alone: no bytes travel.
    pub is_measured: bool,
}

impl ArtifactQuery {
    /// Asks for the bytes too.
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
    /// Its size for people.
    pub size: String,
}

impl MadeArtifact {
    /// Of the bytes that travel beside it.
    pub fn new(mime: &str, bytes: &[u8]) -> MadeArtifact {
        MadeArtifact {
            mime: mime.to_owned(),
            size: format::bytes(bytes.len() as u64),
        }
    }
}

/// Asks for what stands around the traces in a file that has the page in it, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnclosedQuery {
    /// With names replaced.
    pub is_redacted: bool,
    /// Where its reader lands.
    pub view: View,
}

/// Asks for one of the open traces as the profiler's JSON, compressed; its bytes travel beside the answer, which says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenTraceQuery {
    /// With names replaced.
    pub is_redacted: bool,
    /// The one that the other is compared with.
    pub is_reference: bool,
}

/// Asks for a program that runs an operation alone.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ReproducerQuery {
    /// Its row in the sheet of operations.
    pub row: u32,
    /// Make it; its bytes travel beside the answer. Else only say whether it can be made.
    pub make: bool,
}

/// Whether an operation can be run alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproducer {
    /// What to call the file.
    pub file_name: String,
    /// Why it cannot be rebuilt; half a sentence.
    pub reason: Option<String>,
    /// The same in a few lines of Python; `None` where it cannot be rebuilt or has no such lines.
    pub python: Option<String>,
    /// The file, where it was to be made.
    pub made: Option<MadeArtifact>,
}

//! Reports and artifacts.

use serde::{Deserialize, Serialize};

/// Asks for a report as Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MarkdownQuery {
    /// For those who decide.
    Fair,
    /// For those who check.
    Rough,
}

/// Asks what can be downloaded.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ArtifactsQuery;

/// Something that can be downloaded. It is made when it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactLine {
    /// Its path, as the command line writes it.
    pub path: String,
    /// What it is, for people.
    pub title: String,
}

/// Asks for the bytes of one artifact; they travel beside the answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArtifactQuery {
    /// Its path.
    pub path: String,
}

/// An artifact that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeArtifact {
    /// Its MIME type.
    pub mime: String,
    /// Its size for people.
    pub size: String,
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
    /// The file, where it was to be made.
    pub made: Option<MadeArtifact>,
}

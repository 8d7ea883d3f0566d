//! Why a file that a user wrote cannot be used.

use std::fmt;

/// What is wrong, and on which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// Counted from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// Without a full stop.
    pub sentence: String,
}

impl FileError {
    pub(crate) fn whole(sentence: impl Into<String>) -> FileError {
        FileError {
            line: None,
            sentence: sentence.into(),
        }
    }

    /// An error at an offset of the text, if known.
    pub(crate) fn at(text: &str, offset: Option<usize>, sentence: impl Into<String>) -> FileError {
        FileError {
            line: offset.map(|offset| line_at(text, offset)),
            sentence: sentence.into(),
        }
    }
}

/// The line of an offset, counted from 1.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

impl fmt::Display for FileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "line {line}: {}", self.sentence),
            None => out.write_str(&self.sentence),
        }
    }
}

impl std::error::Error for FileError {}

//! Inflating and reading apart, each in a thread or worker of its own.
//!
//! ```text
//! bytes ─Inflater─ text ─→ Importer ─→ Trace
//!            └──── Inflated ──↑ at the end
//! ```
//!
//! The same trace comes out as of an [`Importer`] alone. Who calls them hands the text on; nothing
//! here starts a thread.

use super::container::{Container, Gunzip};
use super::error::ImportError;
use super::payload::Payload;
use super::warning::Warnings;
use super::{Imported, Importer};

/// Takes the gzip off a trace.
#[derive(Debug, Default)]
pub struct Inflater {
    gunzip: Gunzip,
}

/// What the [`Importer`] of the text must know at its end: what was wrong with the gzip.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Inflated {
    warnings: Warnings,
}

impl Inflater {
    /// An inflater of a file that begins with these bytes; `None` where that is no gzip, which an
    /// [`Importer`] reads alone.
    pub fn of(head: &[u8]) -> Option<Inflater> {
        Container::is_gzip(head).then(Inflater::default)
    }

    /// Inflates a chunk and hands the text to `sink`, in pieces.
    pub fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(&[u8])) {
        let handed_on = self.gunzip.push(bytes, |text| {
            sink(text);
            Ok(())
        });
        // Only the sink can fail.
        debug_assert!(handed_on.is_ok());
    }

    /// What was wrong, once all bytes are pushed.
    pub fn finish(self) -> Inflated {
        Inflated {
            warnings: self.gunzip.finish(),
        }
    }
}

impl Importer {
    /// An importer that is pushed the text of an [`Inflater`].
    pub fn of_inflated() -> Importer {
        Importer {
            container: Container::in_gzip(),
            reader: Payload::default(),
            bytes_read: 0,
        }
    }

    /// The trace, once all text is pushed.
    pub fn finish_inflated(self, inflated: &Inflated) -> Result<Imported, ImportError> {
        self.finish_with(inflated.warnings.clone())
    }
}

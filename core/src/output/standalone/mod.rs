//! The two documents about one trace: the fair one for those who decide, the rough one for those
//! who check.
//!
//! ```text
//! Report ─fair→ Document      summary, recommendations, details, appendix
//!        ├cards→ Cards        the recommendations alone, for a page that draws them itself
//!        └rough→ Document     every step with its raw tables, what could not be analysed, open questions,
//!                             and whether all that was written holds ([`checks`])
//! ```

mod appendix;
mod bottlenecks;
mod cards;
mod category;
mod charts;
pub(crate) mod check;
mod detail;
mod multi_kernel;
mod recommendations;
mod rough;
mod summary;
#[cfg(test)]
mod tests;
pub(crate) mod tree_data;
mod words;

pub use cards::{Card, Cards};
pub use check::{Check, Verdict};
pub(crate) use rough::checks_table;
pub use summary::{TopOperation, top_operations};
pub use words::{Light, Worth, WorthOfRun, detail_heading};

use crate::findings::Outcome;
use crate::output::document::Document;
use crate::profile::Profile;
use crate::profile::model_info::ModelInfo;
use crate::report::Report;

/// What the documents are written from.
pub(crate) struct Source<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) report: &'a Report,
    pub(crate) model: &'a ModelInfo,
}

impl<'a> Source<'a> {
    pub(crate) fn new(profile: &'a Profile, report: &'a Report) -> Source<'a> {
        Source {
            profile,
            report,
            model: profile.model_info(),
        }
    }

    /// "Qwen2 - AMD Instinct MI300X Standalone Analysis".
    pub(crate) fn title(&self) -> String {
        format!(
            "{} - {} Standalone Analysis",
            self.model.title(),
            self.platform()
        )
    }

    /// Says what part of the trace a document is about, where that is not all of it.
    pub(crate) fn say_window(&self, document: &mut Document) {
        if let Some(window) = &self.profile.window {
            document.text(&window.sentence());
        }
    }

    /// The GPU as the trace names it, else the one that was chosen.
    pub(crate) fn platform(&self) -> &str {
        let hardware = &self.report.overview.hardware;
        let chosen = hardware.gpu.as_ref().map(|gpu| gpu.name.as_ref());
        let recorded = hardware.recorded_on.as_deref();
        recorded.or(chosen).unwrap_or("Unknown GPU")
    }
}

/// The document for those who decide.
pub fn fair(profile: &Profile, report: &Report) -> Document {
    written(&Source::new(profile, report), false)
}

/// The same with pictures, for one printed page.
pub fn illustrated(profile: &Profile, report: &Report) -> Document {
    written(&Source::new(profile, report), true)
}

fn written(source: &Source, with_pictures: bool) -> Document {
    let mut document = Document::new(&source.title());
    source.say_window(&mut document);
    summary::write(&mut document, source);
    if with_pictures {
        charts::write(&mut document, source);
    }
    recommendations::write(&mut document, source);
    detail::write(&mut document, source);
    appendix::write(&mut document, source);
    document
}

/// The working notes for those who check.
pub fn rough(profile: &Profile, report: &Report) -> Document {
    let source = Source::new(profile, report);
    let written = check::Written::new(&source);
    let checks = written.checks();
    let mut document = written.rough;
    rough::checks(&mut document, &checks);
    document
}

/// The recommendations as cards, in the words of the documents.
pub fn cards<'a>(profile: &Profile, report: &'a Report) -> Cards<'a> {
    Cards::new(profile, report)
}

/// Whether all that is written about a trace holds: both documents and the findings files, against
/// each other and against the report.
pub fn checks(profile: &Profile, report: &Report) -> Vec<Check> {
    check::Written::new(&Source::new(profile, report)).checks()
}

/// The findings file of one analysis.
pub fn category(profile: &Profile, report: &Report, outcome: &Outcome) -> Document {
    category::write(&Source::new(profile, report), outcome)
}

/// The title of the fair document.
pub fn title(profile: &Profile, report: &Report) -> String {
    Source::new(profile, report).title()
}

//! The documents about two traces: the fair one for those who decide, the rough one for those who
//! check.
//!
//! ```text
//! Comparison ─fair→ Document         summary, recommendations, details, appendix
//!            ├illustrated→ Document  the same with pictures
//!            └rough→ Document        every step with its arithmetic, and whether all of it holds
//! ```

mod appendix;
mod charts;
mod check;
#[cfg(test)]
mod check_tests;
mod detail;
mod recommendations;
mod rough;
mod summary;
#[cfg(test)]
mod tests;

use crate::compare::comparison::Comparison;
use crate::compare::pair::Which;
use crate::output::document::Document;
use crate::output::standalone::{Check, checks_table};

/// The document for those who decide.
pub fn fair(comparison: &Comparison) -> Document {
    written(comparison, false)
}

/// The same with pictures, for one printed page.
pub fn illustrated(comparison: &Comparison) -> Document {
    written(comparison, true)
}

/// The working notes for those who check.
pub fn rough(comparison: &Comparison) -> Document {
    let written = check::Written::new(comparison);
    let checks = written.checks();
    let mut document = written.rough;
    document.text("The documents, read again and held against what they were written from.");
    document.table(checks_table(&checks));
    document
}

/// Whether all that is written about two traces holds.
pub fn checks(comparison: &Comparison) -> Vec<Check> {
    check::Written::new(comparison).checks()
}

fn written(comparison: &Comparison, with_pictures: bool) -> Document {
    let mut document = Document::new(&title(comparison));
    summary::write(&mut document, comparison);
    if with_pictures {
        charts::write(&mut document, comparison);
    }
    recommendations::write(&mut document, comparison);
    detail::write(&mut document, comparison);
    appendix::write(&mut document, comparison);
    document
}

/// "Qwen2 Performance Comparison: NVIDIA H100 vs AMD Instinct MI300X"; the names of the traces where
/// both ran on the same hardware.
pub fn title(comparison: &Comparison) -> String {
    let models = comparison.sides.as_ref().map(|side| side.model.as_deref());
    let model = match (models.reference, models.target) {
        (Some(reference), Some(target)) if reference == target => target,
        _ => "Workload",
    };
    format!(
        "{model} Performance Comparison: {} vs {}",
        called(comparison, Which::Reference),
        called(comparison, Which::Target)
    )
}

/// What a trace is called in headings: its platform where that tells the two apart, else its name.
fn called(comparison: &Comparison, which: Which) -> &str {
    let platforms = comparison
        .sides
        .as_ref()
        .map(|side| side.platform.as_deref());
    match platforms.both() {
        Some(platforms) if platforms.reference != platforms.target => platforms.get(which),
        _ => &comparison.sides.get(which).name,
    }
}

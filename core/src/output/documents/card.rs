//! A recommendation: a short card, its details and its reproducer.

use super::Documented;
use crate::findings::{Confidence, Priority, Replay};
use crate::output::markup::{Block, DocTable, Document, Span, field, line, slug};
use crate::output::replay::mark;
use crate::report::cards::Light;

/// A finding as shown in the documents.
pub(super) struct Card<'a> {
    pub(super) number: usize,
    pub(super) title: &'a str,
    pub(super) problem: String,
    pub(super) model: &'a str,
    pub(super) kernel: &'a str,
    pub(super) reasoning: &'a [String],
    pub(super) impact: String,
    /// The time in `impact` as it is in the JSON files; `None` if unknown.
    pub(super) saves: Option<String>,
    /// What that is estimated from.
    pub(super) basis: &'static str,
    pub(super) priority: Priority,
    pub(super) confidence: Option<Confidence>,
    pub(super) replay: Option<&'a Replay>,
    /// The section of the details that it is in.
    pub(super) place: String,
}

impl Card<'_> {
    pub(super) fn heading(&self) -> String {
        let icon = Light::of(self.priority).icon;
        format!("{icon} Priority {}: {}", self.number, self.title)
    }

    /// The heading in the details. It is unique because the number is.
    pub(super) fn detail_heading(&self) -> String {
        format!("P{} {}", self.number, self.title)
    }

    pub(super) fn action(&self) -> String {
        format!("Model: {} Kernel: {}", self.model, self.kernel)
    }

    pub(super) fn severity(&self) -> String {
        format!("Severity: {}.", self.priority.label())
    }

    /// The details: measurements are in `data`, the projected saving in `projection`.
    pub(super) fn details(
        &self,
        document: &mut Document,
        data: Document,
        projection: Option<DocTable>,
    ) {
        document.heading(4, &self.detail_heading());
        document.field("Identification", &self.problem);
        document.append(data);
        document.field("Reasoning", &self.reasoning.join(" "));
        document.field("Model", self.model);
        document.field("Kernel", self.kernel);
        let estimate = format!("{} {}", self.impact, self.basis);
        document.field("Impact estimate", estimate.trim_end());
        if let Some(confidence) = self.confidence {
            document.field("Confidence", confidence.label());
        }
        if let Some(projection) = projection {
            document.field("Impact projection", "");
            document.table(projection);
        }
        if let Some(replay) = self.replay {
            let word = mark(replay.is_recommended);
            document.field("Reproducer", &format!("{word}: {}.", replay.reason));
        }
    }
}

/// What to do, in order: each finding with a link to its details.
pub(super) fn write(document: &mut Document, subject: &dyn Documented) {
    document.texts(subject.lead());
    for card in subject.cards() {
        document.heading(3, &card.heading());
        document.field(subject.words().problem, &card.problem);
        document.field("Action", &card.action());
        let mut impact = field("Impact", &card.impact);
        impact.push(Span::Text(format!(" {} ", card.severity())));
        if let Some(confidence) = card.confidence {
            let confidence = format!("Confidence: {}. ", confidence.label());
            impact.push(Span::Text(confidence));
        }
        impact.push(Span::Link {
            text: "Details".to_owned(),
            slug: slug(&card.detail_heading()),
        });
        document.blocks.push(Block::Text(impact));
    }
    document.texts(subject.small());
}

pub(super) fn reproducers(subject: &dyn Documented) -> Document {
    let mut document = Document::default();
    let cards = subject.cards();
    let replays = cards
        .iter()
        .filter_map(|card| Some((card.number, card.replay?)));
    document.table(
        DocTable::of(replays)
            .text("Finding", |(number, _)| format!("P{number}"))
            .text("Reproducer", |(_, replay)| mark(replay.is_recommended))
            .line("Reason", |(_, replay)| line(&replay.reason)),
    );
    document.or_text("No finding has a reproducer.");
    document
}

//! What is embedded in the page, what an exported page includes, and what would be lost if the page was closed.

use std::collections::BTreeMap;

use dormer_core::output::embedded::{self, OwnFile};
use leptos::prelude::*;

use super::{AppState, Stage};
use crate::page::url::{Focus, KeptRange, Place, Theme};
use crate::page::views::{EXPORT, VIEWS};
use crate::protocol::OWN;

impl AppState {
    /// The timeline ranges that the user kept, also while another view is shown.
    pub(super) fn kept_ranges(self) -> Vec<KeptRange> {
        let here = self.place.with_untracked(|place| place.focus.kept.clone());
        let left = self.left_behind.with_untracked(|left| {
            let left = left.values().flat_map(|focus| &focus.kept);
            left.cloned().collect::<Vec<KeptRange>>()
        });
        [here, left].concat()
    }

    /// Records that the link to the current place was copied, with its ranges.
    pub fn link_was_copied(self) {
        let here = self.place.with_untracked(|place| place.focus.kept.clone());
        self.linked_ranges.update(|linked| linked.extend(here));
    }

    /// Whether closing the page would lose unsaved user input; only then does the browser ask.
    ///
    /// A page's address is gone when the page is closed, and another view's address has no timeline ranges: they count
    /// as unsaved until a link with them was copied.
    pub fn would_lose(self) -> bool {
        let linked = self.linked_ranges.get_untracked();
        let ranges = self.kept_ranges();
        let has_ranges = ranges.iter().any(|range| !linked.contains(range));
        let has_models = self.own_models.with_untracked(Option::is_some);
        let has_gpu = self.own_gpu.with_untracked(Option::is_some);
        let is_stored = self.own_gpu_is_stored.get_untracked();
        let thresholds = self
            .place
            .with_untracked(|place| place.choice.thresholds.len());
        let is_open = self.stage.with_untracked(Stage::is_open);
        is_open && (has_models || (has_gpu && !is_stored) || thresholds > 0 || has_ranges)
    }

    /// Where the recipient of an exported page lands: where the user was before the export, with all choices. If
    /// redacted, it includes nothing that the user typed or that may contain names from the trace.
    pub fn view_to_embed(self, is_redacted: bool) -> embedded::View {
        let sent = |mut at: Place| {
            at.file = String::new();
            if is_redacted {
                at.focus = at.focus.without_words();
                at.choice.gpu = at.choice.gpu.filter(|gpu| !gpu.starts_with(OWN));
                at.choice.reference_gpu =
                    at.choice.reference_gpu.filter(|gpu| !gpu.starts_with(OWN));
            }
            at.hash()
        };
        let view = self.before_export.get_untracked();
        let mut left = self.left_behind.get_untracked();
        let focus = left.remove(view).unwrap_or_default();
        left.remove(EXPORT);
        let place = Place {
            view: view.to_owned(),
            focus,
            theme: Theme::System,
            ..self.place.get_untracked()
        };
        let left = left.into_iter().map(|(view, focus)| Place {
            view: view.to_owned(),
            focus,
            ..Place::default()
        });
        let left = left.map(&sent).collect();
        let file = |name, text| OwnFile { name, text };
        let own = self.own_gpu.get_untracked().filter(|_| !is_redacted);
        let models = self.own_models.get_untracked().filter(|_| !is_redacted);
        embedded::View {
            hash: sent(place),
            left,
            gpu: own.map(|own| file(own.name, own.text)),
            n_models: models.as_ref().map_or(0, |models| models.n_models),
            models: models.map(|models| file(models.file_name, models.text)),
        }
    }
}

/// What each view shows, by slug.
pub(super) fn by_view(places: Vec<Place>) -> BTreeMap<&'static str, Focus> {
    let known = places.into_iter().filter_map(|at| {
        let view = VIEWS.iter().find(|view| view.slug == at.view)?;
        Some((view.slug, at.focus))
    });
    known.collect()
}

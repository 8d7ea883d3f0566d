//! Search: going from one matching event to the next.

use leptos::prelude::*;

use super::Model;
use crate::page::views::timeline::scene::Scene;
use crate::protocol::{Direction, FindEvents};

impl Model {
    /// Goes to the next event whose name contains the search text.
    pub(crate) fn find(self, direction: Direction) {
        let text = self
            .state
            .place
            .with_untracked(|place| place.focus.find.clone());
        self.look_for(text, direction, true);
    }

    /// Marks the search results, without going to one.
    pub(super) fn search_again(self, text: &str) {
        let is_known = self.searched.with_value(|searched| searched == text);
        if !is_known {
            self.look_for(text.to_owned(), Direction::Here, false);
        }
    }

    fn look_for(self, text: String, direction: Direction, goes: bool) {
        self.searched.set_value(text.clone());
        let is_empty = text.trim().is_empty();
        if is_empty && self.found.with_untracked(Option::is_none) {
            return;
        }
        let (side, from) = self.selected_event().unzip();
        let query = FindEvents {
            text,
            side: side.unwrap_or_default(),
            from,
            from_ns: self.shown_window().from_ns,
            direction,
        };
        self.engine.ask(query, move |found| {
            let card = found.card.clone();
            if self.found.try_set((!is_empty).then_some(found)).is_some() {
                return;
            }
            // Redraws the marks.
            self.scene.set(Scene::default());
            if goes && card.is_some() {
                self.range.set(None);
                self.select(card, true);
            }
        });
    }
}

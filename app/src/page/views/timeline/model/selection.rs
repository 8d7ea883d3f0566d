//! The selected span and the marked range.

use leptos::prelude::*;

use super::Model;
use crate::page::url::GAP;
use crate::page::views::timeline::window::Window;
use crate::protocol::{GlanceQuery, SpanCard, SpanQuery, Towards, TraceSide};

impl Model {
    pub(super) fn pick(self, x: f64, y: f64) {
        match self.place(x, y) {
            Some(place) => {
                let query = SpanQuery::At(place);
                self.engine.ask(query, move |card| self.select(card, false));
            }
            None => self.select(None, false),
        }
    }

    pub(super) fn select(self, card: Option<SpanCard>, shows: bool) {
        let of_target = card.as_ref().filter(|card| card.side == TraceSide::Target);
        let uid = of_target.map(|card| card.uid);
        if self.selected.try_set(card).is_some() {
            return;
        }
        if shows {
            self.reveal();
        }
        self.state.look_at(|focus| focus.event = uid);
    }

    /// The selected event: its trace, and its number.
    pub(super) fn selected_event(self) -> Option<(TraceSide, u32)> {
        let event = |card: &Option<SpanCard>| card.as_ref().map(|card| (card.side, card.uid));
        self.selected.with_untracked(event)
    }

    /// The number of the selected event if it is in the target: links cannot contain others.
    fn selected_uid(self) -> Option<u32> {
        let event = self.selected_event();
        event.and_then(|(side, uid)| (side == TraceSide::Target).then_some(uid))
    }

    /// Scrolls as little as needed to show the selected span.
    pub(super) fn reveal(self) {
        let Some(card) = self.selected.get_untracked() else {
            return;
        };
        let window = self.window.get_untracked();
        let length_ns = card.to_ns - card.from_ns;
        let is_seen = card.from_ns >= window.from_ns && card.to_ns <= window.to_ns;
        let fits = length_ns < window.length_ns();
        if !is_seen && fits {
            let middle = (card.from_ns + card.to_ns) / 2.0;
            let half = window.length_ns() / 2.0;
            self.go(middle - half, middle + half);
        }
        self.scroll_to(card.row);
    }

    /// Selects the span next to the selected one; without a selection, the one in the middle.
    pub(crate) fn go_to_neighbor(self, towards: Towards) {
        let query = match self.selected_event() {
            Some((side, uid)) => SpanQuery::Beside(side, uid, towards),
            None => {
                let (rows, _) = untrack(|| self.visible());
                let (window, width) = (self.window.get_untracked(), self.width());
                SpanQuery::At(GlanceQuery {
                    row: rows.first().copied().unwrap_or(0),
                    ns: window.ns(width / 2.0, width),
                    within_ns: self.length_ns(),
                })
            }
        };
        self.engine.ask(query, move |card| {
            if card.is_some() {
                self.select(card, true);
            }
        });
    }

    /// Shows the event that the hash names.
    pub(super) fn follow(self, event: Option<u32>) {
        let known = self.selected_uid();
        match event {
            Some(uid) if known != Some(uid) => {
                self.engine.ask(SpanQuery::Event(uid), move |card| {
                    let is_found = card.is_some();
                    let place = self.state.place;
                    let wants_gap = place.with_untracked(|place| place.focus.section == GAP);
                    let gap = card
                        .as_ref()
                        .and_then(|card| Some((card.gap_from_ns?, card.from_ns)));
                    let gap = gap.filter(|_| wants_gap);
                    if self.selected.try_set(card).is_none() && is_found {
                        let span = self.state.place.with_untracked(|place| place.focus.span);
                        match span {
                            // Shows the gap itself, not the event that ends it.
                            None if gap.is_some() => self.show_gap(gap),
                            Some((from_ns, to_ns)) => self.go(from_ns as f64, to_ns as f64),
                            None => self.show_selected(),
                        }
                    }
                });
            }
            None if known.is_some() => self.selected.set(None),
            _ => {}
        }
    }

    /// Marks a GPU idle gap and shows its surroundings.
    fn show_gap(self, gap: Option<(f64, f64)>) {
        if let Some((from_ns, to_ns)) = gap {
            self.range.set(gap);
            self.set_window(Window::around(from_ns, to_ns, self.length_ns()));
            let row = self
                .selected
                .with_untracked(|card| Some(card.as_ref()?.row));
            if let Some(row) = row {
                self.scroll_to(row);
            }
            self.remember();
        }
    }

    /// Clears the range first, then the selection.
    pub(crate) fn clear(self) {
        if self.range.get_untracked().is_some() {
            self.range.set(None);
        } else {
            self.select(None, false);
        }
    }

    /// What the marked range can be analyzed as, in words, and its edges; `None` if it is analyzed already, or if there
    /// is none.
    pub(crate) fn to_analyze(self) -> Option<(&'static str, (u64, u64))> {
        let (from_ns, to_ns) = self.range.get()?;
        let window = (from_ns.round() as u64, to_ns.round() as u64);
        let present = self.state.place.with(|place| place.choice.window);
        let is_new = window.0 < window.1 && present != Some(window);
        let is_step = self
            .steps
            .with(|steps| steps.iter().any(|step| step.window == window));
        let what = match is_step {
            true => "Analyze this step",
            false => "Analyze this range",
        };
        is_new.then_some((what, window))
    }

    /// Analyzes a time range; from then on everything around it is dimmed.
    pub(crate) fn analyze(self, window: (u64, u64)) {
        self.range.set(None);
        self.state.analyze(Some(window));
    }
}

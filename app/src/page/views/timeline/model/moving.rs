//! Changes of the visible time range.

use leptos::prelude::*;

use super::Model;
use crate::page::views::timeline::layout::ROW_PX;
use crate::page::views::timeline::window::Window;
use crate::protocol::StepLine;

impl Model {
    pub(super) fn set_window(self, window: Window) {
        if self.window.get_untracked() != window {
            self.window.set(window);
            self.hover.set(None);
        }
    }

    pub(crate) fn go(self, from_ns: f64, to_ns: f64) {
        self.set_window(Window::new(from_ns, to_ns, self.length_ns()));
    }

    /// Writes the window into the hash; of a burst of changes, only the last one.
    pub(crate) fn remember(self) {
        let window = self.window.get_untracked();
        let is_all = window.length_ns() >= self.length_ns();
        let span =
            (!is_all).then_some((window.from_ns.round() as u64, window.to_ns.round() as u64));
        self.state.look_at(|focus| focus.span = span);
    }

    pub(crate) fn show_all(self) {
        self.range.set(None);
        self.go(0.0, self.length_ns());
        self.remember();
    }

    /// Shows the range from the first to the last GPU activity.
    pub(crate) fn show_gpu(self) {
        let length_ns = self.length_ns();
        let (from_ns, to_ns) = self
            .outline
            .with_untracked(|outline| outline.gpu)
            .unwrap_or((0.0, length_ns));
        let room = (to_ns - from_ns) * 0.02;
        self.go(from_ns - room, to_ns + room);
        self.remember();
    }

    /// Shows a step: its CPU range, with its GPU range marked.
    pub(crate) fn show_step(self, step: &StepLine) {
        let (from_ns, to_ns) = (step.window.0 as f64, step.window.1 as f64);
        self.range.set(Some((from_ns, to_ns)));
        self.go_around((step.from_ns.min(from_ns), step.to_ns.max(to_ns)));
        self.remember();
    }

    /// Shows a time range with a margin.
    pub(crate) fn go_around(self, (from_ns, to_ns): (f64, f64)) {
        let room = (to_ns - from_ns) * 0.05;
        self.go(from_ns - room, to_ns + room);
    }

    /// Shows the selected span with its surroundings.
    pub(crate) fn show_selected(self) {
        if let Some(card) = self.selected.get_untracked() {
            self.set_window(Window::around(card.from_ns, card.to_ns, self.length_ns()));
            self.scroll_to(card.row);
            self.remember();
        }
    }

    /// Zooms around a pixel.
    pub(crate) fn zoom_at(self, x: f64, factor: f64) {
        let window = self.window.get_untracked();
        let at_ns = window.ns(x, self.width());
        self.set_window(window.zoom(at_ns, factor, self.length_ns()));
        self.remember();
    }

    pub(crate) fn zoom_middle(self, factor: f64) {
        self.zoom_at(self.width() / 2.0, factor);
    }

    /// Zooms around the selection if it is visible, otherwise around the middle.
    pub(crate) fn zoom_pointed(self, factor: f64) {
        let (window, width) = (self.window.get_untracked(), self.width());
        let middle = self.selected.with_untracked(|card| {
            let card = card.as_ref()?;
            let x = window.px((card.from_ns + card.to_ns) / 2.0, width);
            (0.0..=width).contains(&x).then_some(x)
        });
        self.zoom_at(middle.unwrap_or(width / 2.0), factor);
    }

    /// Moves forward in time by pixels.
    pub(crate) fn pan_px(self, px: f64) {
        let window = self.window.get_untracked();
        let by_ns = px * window.ns_per_px(self.width());
        self.set_window(window.pan(by_ns, self.length_ns()));
        self.remember();
    }

    /// Moves forward in time by a share of the window.
    pub(crate) fn pan_share(self, share: f64) {
        self.pan_px(share * self.width());
    }

    pub(crate) fn scrolled(self, top: f64) {
        self.canvas.top.set(top);
        self.hover.set(None);
    }

    /// The details of a selection take a part of the height: the selected span stays visible.
    pub(crate) fn resized(self, width: f64, height: f64) {
        let row = self
            .selected
            .with_untracked(|card| Some(card.as_ref()?.row));
        let row = row.filter(|row| matches!(self.top_of(*row), Some((_, true))));
        self.canvas.resize(width, height);
        if let Some(row) = row {
            self.scroll_to(row);
        }
    }

    /// The top of a row, and whether it is visible.
    fn top_of(self, row: usize) -> Option<(f64, bool)> {
        let height = self.canvas.size.get_untracked().1;
        let top = self.canvas.top.get_untracked();
        let y = self.layout.with_untracked(|layout| layout.top(row))?;
        Some((y, y >= top && y + ROW_PX <= top + height))
    }

    pub(super) fn scroll_to(self, row: usize) {
        self.unfold(row);
        if let Some((y, false)) = self.top_of(row) {
            let height = self.canvas.size.get_untracked().1;
            self.wanted_top.set(Some((y - height / 3.0).max(0.0)));
        }
    }
}

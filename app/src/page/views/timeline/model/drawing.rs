//! Keeps a drawing of what is on the screen, and paints it.

use std::ops::Range;

use leptos::prelude::*;
use web_sys::HtmlCanvasElement;

use super::Model;
use crate::page::components::canvas::{brush, text_px};
use crate::page::views::timeline::paint::{Frame, RULER_PX};
use crate::page::views::timeline::scene::Scene;
use crate::page::views::timeline::window::Window;
use crate::protocol::DrawQuery;

/// A drawing reaches this share of the window beyond it, on either side.
const MARGIN: f64 = 0.6;
/// Rows above and below the visible ones that are drawn too.
const MARGIN_ROWS: usize = 12;

impl Model {
    pub(super) fn visible_rows(self) -> Range<usize> {
        let (top, height) = (self.stage.top.get(), self.stage.size.get().1);
        self.layout
            .with(|layout| layout.rows_between(top, top + height))
    }

    /// Asks for another drawing where the present one does not serve; one at a time.
    pub(super) fn keep_drawn(self) {
        let (window, (width, _)) = (self.window.get(), self.stage.size.get());
        let rows = self.visible_rows();
        if !self.arrived.get() || width < 1.0 || rows.is_empty() {
            return;
        }
        let ns_per_px = window.ns_per_px(width);
        let serves = self
            .scene
            .with(|scene| scene.serves(window, ns_per_px, &rows));
        if serves || self.is_asking.get_value() {
            return;
        }
        self.is_asking.set_value(true);
        let margin_ns = (window.length_ns() * MARGIN).max(0.0);
        let from_ns = window.from_ns - margin_ns;
        let covered = Window {
            from_ns,
            to_ns: window.to_ns + margin_ns,
        };
        let n_rows = self.layout.with_untracked(|layout| layout.rows.len());
        let rows = rows.start.saturating_sub(MARGIN_ROWS)..(rows.end + MARGIN_ROWS).min(n_rows);
        let query = DrawQuery {
            from_ns,
            ns_per_px,
            width_px: covered.length_ns() / ns_per_px,
            first_row: rows.start,
            end_row: rows.end,
        };
        self.engine.ask_for_bytes(query, move |drawn, bytes| {
            self.is_asking.try_set_value(false);
            let bytes = bytes.map(|bytes| bytes.to_vec()).unwrap_or_default();
            let scene = Scene::new(covered, ns_per_px, rows, drawn, &bytes);
            let _ = self.scene.try_set(scene);
        });
    }

    /// Has a frame painted whenever something changes that it depends on.
    pub(crate) fn on_change(self, paint: impl FnOnce() + 'static) {
        self.window.track();
        self.scene.track();
        self.selected.track();
        self.range.track();
        self.layout.track();
        self.outline.track();
        self.stage.repaint(paint);
    }

    /// Height of the stage, for the canvas.
    pub(crate) fn height(self) -> f64 {
        self.stage.size.get().1
    }

    /// Paints a frame.
    pub(crate) fn paint(self, canvas: &HtmlCanvasElement, ruler: &HtmlCanvasElement) {
        let Some((width, height)) = self.stage.size.try_get_untracked() else {
            return;
        };
        self.stage.palette.with_untracked(|palette| {
            self.layout.with_untracked(|layout| {
                self.scene.with_untracked(|scene| {
                    self.selected.with_untracked(|selected| {
                        let text_px = text_px();
                        let frame = Frame {
                            palette,
                            layout,
                            scene,
                            window: self.window.get_untracked(),
                            width,
                            height,
                            top: self.stage.top.get_untracked(),
                            text_px,
                            selected: selected.as_ref(),
                            range: self.range.get_untracked(),
                            analyzed: self.outline.with_untracked(|outline| outline.window),
                        };
                        if let Some(brush) = brush(canvas, width, height, text_px) {
                            frame.paint(&brush);
                        }
                        if let Some(brush) = brush(ruler, width, RULER_PX, text_px) {
                            frame.paint_ruler(&brush);
                        }
                    });
                });
            });
        });
    }
}

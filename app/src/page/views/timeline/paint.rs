//! Paints lanes and the time ruler on their canvases.

use web_sys::CanvasRenderingContext2d;

use super::layout::{COUNTER_PX, Layout, ROW_PX};
use super::scene::Scene;
use super::tracks::Kept;
use super::window::{Window, tick_label, ticks};
use crate::page::components::canvas::{Palette, letter_px, write, write_whole};
use crate::protocol::{LaneLine, SpanCard, TraceSide};

pub(super) const RULER_PX: f64 = 26.0;
/// The distance between two times on the ruler.
const TICKS_APART_PX: f64 = 110.0;
/// Spans narrower than this have no line between them.
const SEAM_PX: f64 = 4.0;
/// The smallest width of a search result.
const MARK_PX: f64 = 2.0;

pub(super) struct Frame<'a> {
    pub(super) palette: &'a Palette,
    pub(super) layout: &'a Layout,
    pub(super) scene: &'a Scene,
    pub(super) window: Window,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The vertical scroll position.
    pub(super) top: f64,
    pub(super) text_px: f64,
    pub(super) selected: Option<&'a SpanCard>,
    pub(super) range: Option<(f64, f64)>,
    /// Kept ranges.
    pub(super) kept: &'a [Kept],
    pub(super) lanes: &'a [LaneLine],
    /// The analyzed time range; the rest is dimmed.
    pub(super) analyzed: Option<(f64, f64)>,
    /// The analyzed time range of each trace below.
    pub(super) below: Vec<(TraceSide, Option<(f64, f64)>)>,
}

impl Frame<'_> {
    fn px(&self, ns: f64) -> f64 {
        self.window.px(ns, self.width)
    }

    /// Paints the lanes.
    pub(super) fn paint(&self, context: &CanvasRenderingContext2d) {
        self.grid(context);
        self.gaps(context);
        self.blocks(context);
        self.counters(context);
        self.labels(context);
        self.hits(context);
        self.marks(context);
        self.dim_lanes(context);
        self.kept(context, self.height);
        self.range(context, self.height);
        if let Some(card) = self.selected {
            self.selection(context, card);
        }
    }

    fn grid(&self, context: &CanvasRenderingContext2d) {
        context.set_fill_style_str(&self.palette.line);
        for tick in ticks(self.window, self.width, TICKS_APART_PX) {
            context.fill_rect(self.px(tick).round(), 0.0, 1.0, self.height);
        }
    }

    fn gaps(&self, context: &CanvasRenderingContext2d) {
        let letter_px = letter_px(context);
        for (top, bottom, side) in &self.layout.gaps {
            let (top, high) = (top - self.top, bottom - top);
            for gap in self.scene.gaps.iter().filter(|gap| gap.side == *side) {
                let (left, right) = self.clip(gap.from_ns, gap.to_ns);
                if right - left < 1.0 {
                    continue;
                }
                context.set_fill_style_str(&self.palette.idle);
                context.fill_rect(left, top, right - left, high);
                context.set_fill_style_str(&self.palette.ink);
                let y = top + high / 2.0 + self.text_px / 3.0;
                write(context, &gap.text, (left, right), y, letter_px);
            }
        }
    }

    /// Left and right edge on the canvas.
    fn clip(&self, from_ns: f64, to_ns: f64) -> (f64, f64) {
        (
            self.px(from_ns).max(-2.0),
            self.px(to_ns).min(self.width + 2.0),
        )
    }

    fn blocks(&self, context: &CanvasRenderingContext2d) {
        let mut hue = None;
        let mut alpha = f64::NAN;
        for block in &self.scene.blocks {
            let Some(top) = self.layout.top(block.row) else {
                continue;
            };
            let top = top - self.top;
            let (left, right) = self.clip(block.from_ns, block.to_ns);
            if right <= left || top > self.height || top + ROW_PX < 0.0 {
                continue;
            }
            if hue != Some(block.hue) {
                hue = Some(block.hue);
                if let Some((color, _)) = self.palette.blocks.get(usize::from(block.hue)) {
                    context.set_fill_style_str(color);
                }
            }
            // Blocks that fill their pixels only in part are paler, but stay visible.
            let wanted = 0.35 + 0.65 * (block.filled * 4.0).ceil() / 4.0;
            if (wanted - alpha).abs() > 1e-3 || alpha.is_nan() {
                alpha = wanted;
                context.set_global_alpha(alpha);
            }
            let wide = right - left;
            let seam = if wide > SEAM_PX { 1.0 } else { 0.0 };
            context.fill_rect(left, top + 1.0, (wide - seam).max(0.75), ROW_PX - 2.0);
        }
        context.set_global_alpha(1.0);
    }

    /// Paints counters; each is scaled to its lane's height at its maximum.
    fn counters(&self, context: &CanvasRenderingContext2d) {
        context.set_fill_style_str(&self.palette.ink);
        context.set_global_alpha(0.5);
        for (lane, number, top) in &self.layout.counters {
            let counter = self.lanes.get(*lane).and_then(|lane| lane.counter.as_ref());
            let values = self
                .scene
                .counters
                .iter()
                .find(|(known, _)| known == number);
            let Some((counter, (_, values))) = counter.zip(values) else {
                continue;
            };
            let bottom = top - self.top + COUNTER_PX;
            if bottom < 0.0 || bottom - COUNTER_PX > self.height || counter.most <= 0.0 {
                continue;
            }
            let ns = |px: usize| self.scene.window.from_ns + px as f64 * self.scene.ns_per_px;
            let mut at = 0;
            // Equal values in a row are one rectangle.
            for same in values.chunk_by(|one, other| one.to_bits() == other.to_bits()) {
                let (from, to) = (
                    self.px(ns(at)).max(0.0),
                    self.px(ns(at + same.len())).min(self.width),
                );
                at += same.len();
                let value = same.first().copied().map_or(0.0, f64::from);
                let high = value / counter.most * (COUNTER_PX - 2.0);
                if to > from && high > 0.0 {
                    context.fill_rect(from, bottom - high, to - from, high);
                }
            }
            context.fill_rect(0.0, bottom, self.width, 1.0);
        }
        context.set_global_alpha(1.0);
    }

    /// Frames search results.
    fn hits(&self, context: &CanvasRenderingContext2d) {
        context.set_stroke_style_str(&self.palette.chosen);
        context.set_line_width(1.0);
        for block in &self.scene.hits {
            let Some(top) = self.layout.top(block.row).map(|top| top - self.top) else {
                continue;
            };
            let (left, right) = self.clip(block.from_ns, block.to_ns);
            if right > left && top < self.height && top + ROW_PX > 0.0 {
                context.stroke_rect(
                    left + 0.5,
                    top + 1.5,
                    (right - left - 1.0).max(1.0),
                    ROW_PX - 3.0,
                );
            }
        }
    }

    /// Marks search results that are too short to be drawn: over the row's full height if alone, at its edge if many
    /// are side by side.
    fn marks(&self, context: &CanvasRenderingContext2d) {
        context.set_fill_style_str(&self.palette.chosen);
        for mark in &self.scene.marks {
            let Some(top) = self.layout.top(mark.row).map(|top| top - self.top) else {
                continue;
            };
            let (left, right) = self.clip(mark.from_ns, mark.to_ns);
            if right > left && top < self.height && top + ROW_PX > 0.0 {
                let (left, wide) = (left.round(), (right - left).round().max(MARK_PX));
                let high = match wide > 2.0 * MARK_PX {
                    true => 2.0 * MARK_PX,
                    false => ROW_PX - 2.0,
                };
                context.fill_rect(left, top + 1.0, wide, high);
            }
        }
    }

    /// Marks kept ranges with a line at either end.
    fn kept(&self, context: &CanvasRenderingContext2d, height: f64) {
        context.set_fill_style_str(&self.palette.chosen);
        for kept in self.kept {
            let (left, right) = self.clip(kept.from_ns, kept.to_ns);
            if right <= 0.0 || left >= self.width {
                continue;
            }
            context.set_global_alpha(0.08);
            context.fill_rect(left, 0.0, right - left, height);
            context.set_global_alpha(0.6);
            context.fill_rect(left, 0.0, 1.0, height);
            context.fill_rect(right - 1.0, 0.0, 1.0, height);
        }
        context.set_global_alpha(1.0);
    }

    fn labels(&self, context: &CanvasRenderingContext2d) {
        let letter_px = letter_px(context);
        let mut hue = None;
        for (block, label) in &self.scene.labels {
            let Some(top) = self.layout.top(block.row) else {
                continue;
            };
            let top = top - self.top;
            if top > self.height || top + ROW_PX < 0.0 {
                continue;
            }
            if hue != Some(block.hue) {
                hue = Some(block.hue);
                if let Some((_, ink)) = self.palette.blocks.get(usize::from(block.hue)) {
                    context.set_fill_style_str(ink);
                }
            }
            let (left, right) = self.clip(block.from_ns, block.to_ns);
            let y = (top + ROW_PX / 2.0 + self.text_px / 3.0).round();
            let room = (left.max(0.0), right.min(self.width));
            write(context, label, room, y, letter_px);
        }
    }

    /// Dims what is not analyzed, a different time range for each trace.
    fn dim_lanes(&self, context: &CanvasRenderingContext2d) {
        if self.below.is_empty() {
            self.dim(context, self.analyzed, (0.0, self.height));
            return;
        }
        for (top, bottom, side) in &self.layout.bands {
            let below = self.below.iter().find(|(of, _)| of == side);
            let analyzed = below.map_or(self.analyzed, |(_, analyzed)| *analyzed);
            self.dim(context, analyzed, (top - self.top, bottom - self.top));
        }
    }

    /// The same between two vertical positions.
    fn dim(
        &self,
        context: &CanvasRenderingContext2d,
        analyzed: Option<(f64, f64)>,
        (top, bottom): (f64, f64),
    ) {
        let Some((from_ns, to_ns)) = analyzed else {
            return;
        };
        let (left, right) = self.clip(from_ns, to_ns);
        let high = bottom - top;
        context.set_fill_style_str(&self.palette.ground);
        context.set_global_alpha(0.72);
        context.fill_rect(0.0, top, left.max(0.0), high);
        context.fill_rect(right, top, (self.width - right).max(0.0), high);
        context.set_global_alpha(1.0);
        context.set_fill_style_str(&self.palette.chosen);
        context.fill_rect(left - 1.0, top, 1.5, high);
        context.fill_rect(right - 0.5, top, 1.5, high);
    }

    fn range(&self, context: &CanvasRenderingContext2d, height: f64) {
        let Some((from_ns, to_ns)) = self.range else {
            return;
        };
        let (left, right) = self.clip(from_ns, to_ns);
        context.set_fill_style_str(&self.palette.chosen);
        context.set_global_alpha(0.16);
        context.fill_rect(left, 0.0, right - left, height);
        context.set_global_alpha(1.0);
        context.fill_rect(left, 0.0, 1.0, height);
        context.fill_rect(right - 1.0, 0.0, 1.0, height);
    }

    fn selection(&self, context: &CanvasRenderingContext2d, card: &SpanCard) {
        let Some(top) = self.layout.top(card.row) else {
            return;
        };
        let top = top - self.top;
        let (left, right) = self.clip(card.from_ns, card.to_ns);
        context.set_stroke_style_str(&self.palette.chosen);
        context.set_line_width(1.25);
        let from = self.px(card.from_ns);
        for end in &card.arrows {
            let Some(to_top) = self.layout.top(end.row) else {
                continue;
            };
            let (to, to_y) = (self.px(end.ns), to_top - self.top + ROW_PX / 2.0);
            let (x, y) = (from.clamp(-1e5, 1e5), top + ROW_PX / 2.0);
            let (to, middle) = (to.clamp(-1e5, 1e5), (y + to_y) / 2.0);
            context.begin_path();
            context.move_to(x, y);
            context.bezier_curve_to(x, middle, to, middle, to, to_y);
            context.stroke();
        }
        context.set_line_width(2.0);
        context.stroke_rect(left, top + 1.0, (right - left).max(2.0), ROW_PX - 2.0);
    }

    /// Paints the ruler above the lanes.
    pub(super) fn paint_ruler(&self, context: &CanvasRenderingContext2d) {
        let at = ticks(self.window, self.width, TICKS_APART_PX);
        let step = match at.as_slice() {
            [first, second, ..] => second - first,
            _ => self.window.length_ns(),
        };
        for tick in at {
            let x = self.px(tick).round();
            context.set_fill_style_str(&self.palette.line);
            context.fill_rect(x, RULER_PX - 8.0, 1.0, 8.0);
            context.set_fill_style_str(&self.palette.ink);
            let label = tick_label(tick, step);
            write_whole(context, &label, x + 4.0, self.width, RULER_PX - 8.0);
        }
        self.dim(context, self.analyzed, (0.0, RULER_PX));
        self.kept(context, RULER_PX);
        self.range(context, RULER_PX);
    }
}

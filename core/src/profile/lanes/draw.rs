//! How a row is drawn at a zoom level.

use super::Row;
use crate::trace::{EventId, Trace};

/// The visible part of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Time at the left edge.
    pub from_ns: i64,
    /// Nanoseconds per pixel; positive.
    pub ns_per_px: f64,
    /// Width in pixels.
    pub width_px: f64,
}

impl View {
    fn px(&self, ns: i64) -> f64 {
        ns.saturating_sub(self.from_ns) as f64 / self.ns_per_px
    }

    fn ns(&self, px: f64) -> i64 {
        self.from_ns
            .saturating_add((px * self.ns_per_px).ceil() as i64)
    }
}

/// Something to draw: one span, or several that are too short to be distinguished.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Its left edge, in pixels from the left edge of the view; it may be outside of it.
    pub left_px: f64,
    /// Its right edge, at least one pixel further right.
    pub right_px: f64,
    /// The span, or the longest of the first few spans.
    pub event: EventId,
    /// Number of spans it represents.
    pub count: u32,
    /// The filled share of its width, 0 to 1.
    pub filled: f64,
    /// The color index.
    pub hue: u8,
}

/// Narrower spans are merged.
const MIN_PX: f64 = 1.0;
/// Number of spans of a block that are considered for its color.
const N_SAMPLED: usize = 4;
/// Adjacent blocks of the same hue are merged if their fill differs by less than this.
const SAME_FILL: f64 = 0.125;

impl Row {
    /// The visible blocks of the row in a view, left to right.
    pub fn draw(
        &self,
        trace: &Trace,
        view: &View,
        mut hue: impl FnMut(EventId) -> u8,
    ) -> Vec<Block> {
        let until_ns = view.ns(view.width_px);
        let mut blocks: Vec<Block> = Vec::new();
        let mut position = self.first_ending_after(trace, view.from_ns);
        while let Some(span) = self.span(trace, position) {
            if span.start_ns >= until_ns {
                break;
            }
            let (left_px, right_px) = (view.px(span.start_ns), view.px(span.end_ns));
            if right_px - left_px >= MIN_PX {
                if let Some(event) = self.event(position) {
                    blocks.push(Block {
                        left_px,
                        right_px,
                        event,
                        count: 1,
                        filled: 1.0,
                        hue: hue(event),
                    });
                }
                position += 1;
                continue;
            }
            let pixel = left_px.floor();
            let next = self
                .first_starting_at(trace, position, view.ns(pixel + MIN_PX))
                .max(position + 1);
            // The last span may start here and be wide enough to be drawn on its own.
            let last = next - 1;
            let is_seen = |span: crate::base::interval::Interval| {
                view.px(span.end_ns) - view.px(span.start_ns) >= MIN_PX
            };
            let next = match self.span(trace, last) {
                Some(span) if last > position && is_seen(span) => last,
                _ => next,
            };
            if let Some(block) = self.together(trace, view, position..next, pixel, &mut hue) {
                add(&mut blocks, block);
            }
            position = next;
        }
        blocks
    }

    fn together(
        &self,
        trace: &Trace,
        view: &View,
        spans: std::ops::Range<usize>,
        pixel: f64,
        hue: &mut impl FnMut(EventId) -> u8,
    ) -> Option<Block> {
        let first = spans.clone().take(N_SAMPLED);
        let length = |event: &EventId| trace.events.dur_ns(*event).unwrap_or(0);
        let event = first
            .filter_map(|position| self.event(position))
            .max_by_key(length)?;
        let busy_ns = self.busy_ns(spans.start, spans.end) as f64;
        Some(Block {
            left_px: pixel,
            right_px: pixel + MIN_PX,
            event,
            count: u32::try_from(spans.len()).unwrap_or(u32::MAX),
            filled: (busy_ns / (view.ns_per_px * MIN_PX)).clamp(0.0, 1.0),
            hue: hue(event),
        })
    }
}

/// Adds a one-pixel block, merging it with the previous one if both look the same.
fn add(blocks: &mut Vec<Block>, block: Block) {
    if let Some(last) = blocks.last_mut() {
        let touches = last.right_px >= block.left_px && last.count > 1;
        if touches && last.hue == block.hue && (last.filled - block.filled).abs() < SAME_FILL {
            last.right_px = block.right_px;
            last.count = last.count.saturating_add(block.count);
            return;
        }
    }
    blocks.push(block);
}

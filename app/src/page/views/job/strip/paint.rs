//! Paints a step on a canvas.

use dormer_core::base::sort::Arrange;
use dormer_core::job::strip::{StepStrip, StripPart};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::scene::{Cell, Kind, Stretch, part};
use crate::page::components::canvas::{
    Palette, context_of, letter_px, text_px, write, write_whole,
};
use crate::page::prelude::*;

/// Height of the time axis below the lanes.
pub(super) const AXIS_PX: f64 = 22.0;
/// With more collectives than this, lines are drawn only for those with the most waiting time.
const MOST_LINES: usize = 60;
/// Narrower rectangles would not be visible.
const LEAST_PX: f64 = 0.35;

/// Everything that is drawn.
pub(super) struct Picture<'a> {
    pub(super) strip: &'a StepStrip,
    pub(super) members: &'a [Vec<Cell>],
    pub(super) labels: &'a [String],
    pub(super) stretch: Stretch,
    pub(super) palette: &'a Palette,
    /// The hovered and the selected collective.
    pub(super) marked: [Option<usize>; 2],
}

impl Picture<'_> {
    pub(super) fn paint(&self, canvas: &HtmlCanvasElement) {
        let (stretch, text_px) = (self.stretch, text_px());
        let width = stretch.gutter_px + stretch.width_px;
        let height = stretch.height_px() + AXIS_PX;
        let Some(context) = context_of(canvas, width, height, text_px) else {
            return;
        };
        self.axis(&context);
        // Parts that start before the visible time range must not cover the labels.
        context.save();
        context.begin_path();
        context.rect(stretch.gutter_px, 0.0, stretch.width_px, height);
        context.clip();
        let letter_px = letter_px(&context);
        for lane in 0..self.strip.lanes.len() {
            self.lane(&context, lane, (letter_px, text_px));
        }
        self.lines(&context);
        context.restore();
        context.set_fill_style_str(&self.palette.ink);
        let mut written_to = 0.0;
        for (lane, label) in self.labels.iter().enumerate() {
            let y = (lane as f64 + 0.5) * stretch.row_px + text_px / 3.0;
            if y - text_px >= written_to {
                let _ = context.fill_text_with_max_width(label, 0.0, y, stretch.gutter_px - 6.0);
                written_to = y + 0.2 * text_px;
            }
        }
    }

    fn axis(&self, context: &CanvasRenderingContext2d) {
        let stretch = self.stretch;
        let (floor, right) = (stretch.height_px(), stretch.gutter_px + stretch.width_px);
        for (x, ns) in stretch.ticks() {
            context.set_fill_style_str(&self.palette.line);
            context.fill_rect(x, 0.0, 1.0, floor + 4.0);
            context.set_fill_style_str(&self.palette.ink);
            write_whole(
                context,
                &format::time_ns(ns),
                x + 3.0,
                right,
                floor + AXIS_PX - 6.0,
            );
        }
    }

    fn lane(
        &self,
        context: &CanvasRenderingContext2d,
        lane: usize,
        (letter_px, text_px): (f64, f64),
    ) {
        let Some(of) = self.strip.lanes.get(lane) else {
            return;
        };
        let stretch = self.stretch;
        let top = lane as f64 * stretch.row_px;
        let high = (stretch.row_px - if stretch.row_px > 10.0 { 4.0 } else { 1.0 }).max(2.0);
        let right = stretch.gutter_px + stretch.width_px;
        let fill = |kind: Kind, from: f64, to: f64| {
            if to < stretch.gutter_px || from > right {
                return;
            }
            let color = Kind::ALL.iter().position(|of| *of == kind);
            let color = color.and_then(|at| self.palette.blocks.get(at));
            if let Some((color, _)) = color {
                context.set_fill_style_str(color);
                // Waiting is drawn thinner, so that it can be distinguished without color.
                let (top, high) = match kind {
                    Kind::Waiting => (top + 0.3 * high, 0.4 * high),
                    _ => (top, high),
                };
                context.fill_rect(from, top + 1.0, (to - from).max(0.6), high);
            }
        };
        // How far the lane has been drawn: in time, and in pixels.
        let (mut end_ns, mut end_px) = (i64::MIN, f64::NEG_INFINITY);
        for part in &of.parts {
            let (start, end) = (stretch.px(part.start_ns), stretch.px(part.end_ns));
            if end - end_px < LEAST_PX || end < stretch.gutter_px {
                end_ns = end_ns.max(part.end_ns);
                continue;
            }
            if start > right {
                break;
            }
            let since = stretch.px(part.since_ns.max(end_ns)).min(start);
            for (kind, from, to) in own_time(part, since, start) {
                fill(kind, from, to);
            }
            let begin = stretch.px(part.start_ns.saturating_add(part.wait_ns));
            if part.wait_ns > 0 {
                fill(Kind::Waiting, start, begin);
            }
            fill(Kind::Transfer, begin, end);
            if stretch.row_px > 13.0 {
                let name = self.strip.collectives.get(part.collective as usize);
                let ink = self.palette.blocks.last().map(|(_, ink)| ink);
                if let (Some(of), Some(ink)) = (name, ink) {
                    context.set_fill_style_str(ink);
                    let span = (begin.max(stretch.gutter_px), end.min(right));
                    let y = top + stretch.row_px / 2.0 + text_px / 3.0 - 1.0;
                    write(context, &of.label, span, y, letter_px);
                }
            }
            (end_ns, end_px) = (end_ns.max(part.end_ns), end);
        }
    }

    /// Lines that connect the starts of each collective, from rank to rank.
    fn lines(&self, context: &CanvasRenderingContext2d) {
        let is_seen = |at: usize| {
            let members = self.members.get(at).map_or(&[][..], Vec::as_slice);
            let mut starts = members.iter().filter_map(|cell| part(self.strip, *cell));
            members.len() > 1
                && starts.any(|part| {
                    let x = self.stretch.px(part.start_ns);
                    x >= self.stretch.gutter_px
                        && x <= self.stretch.gutter_px + self.stretch.width_px
                })
        };
        let all = self.strip.collectives.iter().enumerate();
        let mut seen: Vec<(i64, usize)> = all
            .filter(|(at, _)| is_seen(*at))
            .map(|(at, of)| (of.wait_ns, at))
            .collect();
        seen.arrange_by(|one, other| other.cmp(one));
        seen.truncate(MOST_LINES);
        context.set_stroke_style_str(&self.palette.ink);
        context.set_line_width(1.0);
        context.set_global_alpha(0.4);
        for (_, at) in seen {
            self.line(context, at, |part| part.start_ns);
        }
        context.set_global_alpha(1.0);
        context.set_stroke_style_str(&self.palette.chosen);
        context.set_line_width(2.0);
        for at in self.marked.into_iter().flatten() {
            self.line(context, at, |part| part.start_ns);
            self.line(context, at, |part| part.end_ns);
        }
    }

    fn line(&self, context: &CanvasRenderingContext2d, at: usize, ns: fn(&StripPart) -> i64) {
        let members = self.members.get(at).map_or(&[][..], Vec::as_slice);
        context.begin_path();
        for (index, cell) in members.iter().enumerate() {
            let Some(of) = part(self.strip, *cell) else {
                continue;
            };
            let (x, top) = (self.stretch.px(ns(of)), cell.0 as f64 * self.stretch.row_px);
            match index {
                0 => context.move_to(x, top),
                _ => context.line_to(x, top),
            }
            context.line_to(x, top + self.stretch.row_px - 2.0);
        }
        context.stroke();
    }
}

/// The components of a rank's own time before a collective, each with where it starts and ends. They are not in
/// chronological order: computation is drawn next to the collective.
fn own_time(
    part: &StripPart,
    from_px: f64,
    to_px: f64,
) -> impl Iterator<Item = (Kind, f64, f64)> + use<> {
    let own = [Kind::Late, Kind::Idle, Kind::Copies, Kind::Work];
    let own = own.map(|kind| (kind, kind.ns(part).max(0)));
    let all_ns: i64 = own.iter().map(|(_, ns)| ns).sum();
    let mut from = from_px;
    let places = own.into_iter().map(move |(kind, ns)| {
        let start = from;
        from += (to_px - from_px) * ns as f64 / all_ns.max(1) as f64;
        (kind, start, from)
    });
    places.filter(|(_, from, to)| to > from)
}

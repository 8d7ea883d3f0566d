//! The minimap of the whole trace above the lanes: GPU utilization, search results, and the visible time range, which
//! can be dragged.

use leptos::ev::PointerEvent;
use leptos::html::{Canvas, Div};

use super::model::Model;
use crate::page::components::canvas::{CanvasState, context_of, text_px};
use crate::page::prelude::*;
use crate::protocol::MINIMAP_PARTS;

const HEIGHT_PX: f64 = 40.0;
/// The visible range is never narrower than this, so that it can be dragged.
const LEAST_PX: f64 = 6.0;
/// Width of the mark of a search result.
const MARK_WIDE_PX: f64 = 2.0;
const MARK_HIGH_PX: f64 = 6.0;

/// Top and bottom of each trace's strip in the minimap.
fn strips(n: usize) -> impl Iterator<Item = (f64, f64)> {
    let high = HEIGHT_PX / n as f64;
    (0..n).map(move |at| (at as f64 * high, (at + 1) as f64 * high))
}

/// Paints a canvas of this width, if it still exists.
fn painted(
    canvas: NodeRef<Canvas>,
    width: RwSignal<f64>,
    paint: impl Fn(&web_sys::CanvasRenderingContext2d, f64),
) {
    if let (Some(canvas), Some(wide)) = (
        canvas.try_get_untracked().flatten(),
        width.try_get_untracked(),
    ) && let Some(context) = context_of(&canvas, wide, HEIGHT_PX, text_px())
    {
        paint(&context, wide);
    }
}

/// The minimap. It handles the same keys as the lanes.
pub(super) fn minimap(model: Model) -> impl IntoView {
    let canvas = NodeRef::<Canvas>::new();
    // GPU utilization does not change when the lanes move, so it has a canvas of its own below.
    let ground = NodeRef::<Canvas>::new();
    let frame = NodeRef::<Div>::new();
    let width = RwSignal::new(0.0_f64);
    // Its frames are painted independently of those of the lanes.
    let own = CanvasState::default();
    // The distance of the pointer from the middle of the visible range at the start of a drag, in pixels.
    let caught = StoredValue::new(None::<f64>);
    browser::follow_size(frame, move |wide, _| width.set(wide));
    let below = CanvasState::default();
    Effect::new(move || {
        width.track();
        model.canvas.palette.track();
        model.outline.track();
        below.repaint(move || {
            painted(ground, width, |context, wide| {
                paint_busy(model, context, wide)
            })
        });
    });
    Effect::new(move || {
        width.track();
        model.canvas.palette.track();
        model.track();
        own.repaint(move || painted(canvas, width, |context, wide| paint(model, context, wide)));
    });
    let x_of = move |event: &PointerEvent| Some(browser::pointer_at(frame, event)?.0);
    let down = move |event: PointerEvent| {
        let Some(x) = x_of(&event).filter(|_| event.button() == 0) else {
            return;
        };
        browser::capture_pointer(&event);
        let (left, right) = model.on_minimap(width.get_untracked());
        let middle = (left + right) / 2.0;
        let is_inside = (left..right).contains(&x);
        caught.set_value(Some(if is_inside { x - middle } else { 0.0 }));
        if !is_inside {
            model.center(x / width.get_untracked().max(1.0));
        }
    };
    let moved = move |event: PointerEvent| {
        if let (Some(off), Some(x)) = (caught.get_value(), x_of(&event)) {
            model.center((x - off) / width.get_untracked().max(1.0));
        }
    };
    let up = move |_: PointerEvent| {
        if caught.get_value().is_some() {
            caught.set_value(None);
            model.remember();
        }
    };
    view! {
        <div
            node_ref=frame
            class="minimap"
            data-testid="minimap"
            style:height=format!("{HEIGHT_PX}px")
            title="The whole recording and how busy the GPU is; drag the part that is shown"
            on:pointerdown=down
            on:pointermove=moved
            on:pointerup=up
            on:pointercancel=up
        >
            <canvas node_ref=ground style:height=format!("{HEIGHT_PX}px") aria-hidden="true"></canvas>
            <canvas node_ref=canvas class="over" style:height=format!("{HEIGHT_PX}px") aria-hidden="true"></canvas>
        </div>
    }
}

impl Model {
    /// Left and right edge of the visible range, on a minimap of this width.
    pub(super) fn on_minimap(self, width: f64) -> (f64, f64) {
        let (window, length_ns) = (self.shown_window(), self.length_ns().max(1.0));
        let left = window.from_ns / length_ns * width;
        let right = window.to_ns / length_ns * width;
        let room = (LEAST_PX - (right - left)).max(0.0) / 2.0;
        (left - room, right + room)
    }

    /// Moves the visible range to a position in the trace, given as a share.
    pub(super) fn center(self, share: f64) {
        let window = self.shown_window();
        let (middle, half) = (share * self.length_ns(), window.length_ns() / 2.0);
        self.go(middle - half, middle + half);
    }
}

fn paint_busy(model: Model, context: &web_sys::CanvasRenderingContext2d, width: f64) {
    let palette = model.canvas.palette.read_untracked();
    model.outline.with_untracked(|outline| {
        context.set_fill_style_str(&palette.ink);
        context.set_global_alpha(0.55);
        let below = outline.below.iter().map(|below| &below.minimap);
        let all = std::iter::once(&outline.minimap).chain(below);
        for (minimap, (top, bottom)) in all.zip(strips(1 + outline.below.len())) {
            let part_px = width / minimap.len().max(1) as f64;
            let most = (bottom - top - MARK_HIGH_PX - 2.0).max((bottom - top) / 2.0);
            for (at, share) in minimap.iter().enumerate() {
                let high = f64::from(*share) * most;
                context.fill_rect(at as f64 * part_px, bottom - high, part_px.max(0.5), high);
            }
        }
    });
    context.set_global_alpha(1.0);
}

fn paint(model: Model, context: &web_sys::CanvasRenderingContext2d, width: f64) {
    let palette = model.canvas.palette.read_untracked();
    let length_ns = model.length_ns().max(1.0);
    let px = |ns: f64| ns / length_ns * width;
    context.set_fill_style_str(&palette.chosen);
    let n = model
        .outline
        .with_untracked(|outline| 1 + outline.below.len());
    if let Some(found) = &*model.found.read_untracked() {
        let all = std::iter::once(&found.marks).chain(&found.marks_below);
        for (marks, (top, _)) in all.zip(strips(n)) {
            for mark in marks {
                let x = f64::from(*mark) / MINIMAP_PARTS as f64 * width;
                context.fill_rect(x, top, MARK_WIDE_PX, MARK_HIGH_PX);
            }
        }
    }
    for kept in model.kept.read_untracked().iter() {
        let (left, right) = (px(kept.from_ns), px(kept.to_ns));
        context.fill_rect(left, HEIGHT_PX - 3.0, (right - left).max(2.0), 3.0);
    }
    let (left, right) = model.on_minimap(width);
    context.set_fill_style_str(&palette.ground);
    context.set_global_alpha(0.65);
    context.fill_rect(0.0, 0.0, left.max(0.0), HEIGHT_PX);
    context.fill_rect(right, 0.0, (width - right).max(0.0), HEIGHT_PX);
    context.set_global_alpha(1.0);
    context.set_stroke_style_str(&palette.chosen);
    context.set_line_width(1.5);
    context.stroke_rect(
        left + 0.75,
        0.75,
        (right - left - 1.5).max(1.0),
        HEIGHT_PX - 1.5,
    );
}

//! Timeline: threads and GPU streams over time.
//!
//! ```text
//! worker ─outline→ Layout ┐
//!        ─draw───→ Scene  ├─ Frame ─paint→ canvas
//! pointer, keys ─→ Window ┘
//! ```
//!
//! Moving and zooming immediately repaint the existing drawing; the worker is asked for a new one whenever it no longer
//! fits the window.

pub mod details;
mod layout;
mod minimap;
pub mod model;
pub(super) mod paint;
mod reference;
mod scene;
mod tracks;
mod window;

use leptos::ev::{PointerEvent, WheelEvent};
use leptos::html::{Canvas, Div};

use crate::page::components::canvas::probes;
use crate::page::prelude::*;
use crate::protocol::{Direction, StepLine, Towards};
use details::{about, hint};
use minimap::minimap;
use model::Model;
use paint::RULER_PX;
use reference::{align_reference, heading, show_reference};
use tracks::{kept_ranges, titles, track_menu};

/// The zoom factor of one step of the wheel or of a key.
const ZOOM: f64 = 1.25;
/// One key press moves by this share of the window.
const STEP: f64 = 0.15;

/// The lanes and the details of the selection.
pub fn timeline() -> impl IntoView {
    let state = expect_context::<AppState>();
    let model = Model::new(state, expect_context::<Engine>());
    let is_empty = Memo::new(move |_| model.outline.with(|outline| outline.lanes.is_empty()));
    view! {
        <h1 class="unseen">"Timeline"</h1>
        <p class="lead-line" data-testid="timeline-lead">
            {move || model.outline.with(|outline| with_units(&outline.lead))}
        </p>
        {tools(model)}
        <Show
            when=move || !is_empty.get()
            fallback=move || {
                let text = "This trace has no events with a duration.";
                model.arrived.get().then(|| view! { <p class="none">{text}</p> })
            }
        >
            {kept_ranges(model)}
            {lanes(model)}
            {about(model)}
        </Show>
    }
}

/// Steps, zoom, and the keyboard hints.
fn tools(model: Model) -> impl IntoView {
    let steps = model.steps;
    // The list offers destinations; it does not show the current position, which changes with every scroll event.
    let choose = move |event| {
        let select = event_target::<web_sys::HtmlSelectElement>(&event);
        let chosen = select.value().parse::<usize>().ok();
        select.set_value("");
        if let Some(step) = chosen.and_then(|at| steps.with(|steps| steps.get(at).cloned())) {
            model.show_step(&step);
        }
    };
    let option = |(at, step): (usize, StepLine)| {
        view! { <option value=at.to_string()>{format!("{}, {}", step.name, step.window_length)}</option> }
    };
    let find = Callback::new(move |direction| model.find(direction));
    let found = Signal::derive(move || {
        model.found.with(|found| {
            let found = found.as_ref()?;
            Some((found.position, found.of))
        })
    });
    view! {
        <div class="tools">
            <Show when=move || !steps.with(Vec::is_empty)>
                <select id="step" class="go-to" aria-label="Go to a step" on:change=choose>
                    <option value="">"Go to a step…"</option>
                    {move || steps.get().into_iter().enumerate().map(option).collect_view()}
                </select>
            </Show>
            {tree_search(find, found)}
            <span class="grow"></span>
            {show_reference(model)}
            {align_reference(model)}
            {track_menu(model)}
            <div class="steps">
                <button type="button" id="zoom-in" title="Zoom in (W)" aria-label="Zoom in" on:click=move |_| model.zoom_middle(1.0 / ZOOM / ZOOM)>
                    {icon("plus")}
                </button>
                <button type="button" id="zoom-out" title="Zoom out (S)" aria-label="Zoom out" on:click=move |_| model.zoom_middle(ZOOM * ZOOM)>
                    {icon("minus")}
                </button>
            </div>
            <Show when=move || model.outline.with(|outline| outline.gpu.is_some())>
                <button type="button" id="show-gpu" title="All GPU activity (G)" on:click=move |_| model.show_gpu()>"Fit GPU"</button>
            </Show>
            <button type="button" id="show-all" title="The whole trace (Home)" on:click=move |_| model.show_all()>"Fit all"</button>
        </div>
    }
}

fn lanes(model: Model) -> impl IntoView {
    let scroll = NodeRef::<Div>::new();
    let canvas = NodeRef::<Canvas>::new();
    let ruler = NodeRef::<Canvas>::new();
    // As wide as the lanes without their scroll bar, so that times align.
    let ruler_width = RwSignal::new("100%".to_owned());
    browser::follow_size(scroll, move |width, height| {
        ruler_width.set(format!("{width}px"));
        model.resized(width, height);
    });
    keep_painted(model, scroll, canvas, ruler);
    let pointer = Pointer {
        model,
        lanes: scroll,
    };
    let is_dragging = move |kind| {
        let is_it = move |drag: &model::Drag| drag.kind == kind;
        move || model.drag.with(|drag| drag.as_ref().is_some_and(is_it))
    };
    view! {
        <div
            class="lanes"
            class:moving=is_dragging(model::DragKind::Move)
            class:marking=is_dragging(model::DragKind::Mark)
        >
            {minimap(model)}
            <canvas
                node_ref=ruler
                class="ruler"
                style:width=ruler_width
                style:height=format!("{RULER_PX}px")
                aria-hidden="true"
                on:pointerdown=move |event| pointer.down_on_ruler(&event)
                on:pointermove=move |event| pointer.moved(&event)
                on:pointerup=move |event| pointer.up(&event)
                on:pointercancel=move |event| pointer.up(&event)
            ></canvas>
            <div
                node_ref=scroll
                class="scroll"
                id="lanes"
                tabindex="0"
                role="application"
                aria-label="Timeline: W and S zoom, A and D pan, arrow keys move between events, Enter zooms to the selected one"
                on:keydown=move |event| pressed(model, &event)
                on:scroll=move |_| {
                    if let Some(element) = scroll.get_untracked() {
                        model.scrolled(f64::from(element.scroll_top()));
                    }
                }
                on:wheel=move |event| pointer.wheel(&event)
                on:pointerdown=move |event| pointer.down(&event)
                on:pointermove=move |event| pointer.moved(&event)
                on:pointerup=move |event| pointer.up(&event)
                on:pointercancel=move |event| pointer.up(&event)
                on:pointerleave=move |_| model.hover.set(None)
            >
                <div class="tall" style:height=move || format!("{}px", model.layout.with(|layout| layout.height))>
                    <canvas node_ref=canvas style:height=move || format!("{}px", model.height()) aria-hidden="true"></canvas>
                    {heading(model)}
                    {titles(model)}
                </div>
            </div>
            {hint(model)}
            {probes(model.canvas, Signal::derive(move || model.outline.with(|outline| outline.tokens.clone())))}
        </div>
    }
}

/// Repaints after a change; the model also scrolls.
fn keep_painted(
    model: Model,
    scroll: NodeRef<Div>,
    canvas: NodeRef<Canvas>,
    ruler: NodeRef<Canvas>,
) {
    Effect::new(move || {
        model.on_change(move || {
            if let (Some(canvas), Some(ruler)) = (
                canvas.try_get_untracked().flatten(),
                ruler.try_get_untracked().flatten(),
            ) {
                model.paint(&canvas, &ruler);
            }
        });
    });
    Effect::new(move || {
        if let (Some(top), Some(element)) = (model.wanted_top.get(), scroll.get_untracked()) {
            element.set_scroll_top(top as i32);
        }
    });
}

/// Passes what the pointer does to the model, with its position in the lanes. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct Pointer {
    model: Model,
    lanes: NodeRef<Div>,
}

impl Pointer {
    fn down(self, event: &PointerEvent) {
        if let Some((x, y)) = browser::pointer_at(self.lanes, event)
            && event.button() == 0
        {
            browser::capture_pointer(event);
            self.model
                .press(event.pointer_id(), x, y, event.shift_key());
        }
    }

    /// On the ruler, a drag marks a range.
    fn down_on_ruler(self, event: &PointerEvent) {
        if let Some((x, y)) = browser::pointer_at(self.lanes, event) {
            browser::capture_pointer(event);
            browser::focus_on("lanes");
            self.model.press(event.pointer_id(), x, y, true);
        }
    }

    fn moved(self, event: &PointerEvent) {
        if let Some((x, y)) = browser::pointer_at(self.lanes, event) {
            self.model.pointer_moved(event.pointer_id(), x, y);
        }
    }

    fn up(self, event: &PointerEvent) {
        if let Some((x, y)) = browser::pointer_at(self.lanes, event) {
            self.model.release(event.pointer_id(), x, y);
        }
    }

    /// With Ctrl, the wheel zooms around the pointer; sideways or with Shift, it pans.
    fn wheel(self, event: &WheelEvent) {
        let Some((x, _)) = browser::pointer_at(self.lanes, event) else {
            return;
        };
        if event.ctrl_key() || event.meta_key() {
            event.prevent_default();
            let factor = (event.delta_y() * 0.002).clamp(-0.7, 0.7).exp();
            self.model.zoom_at(x, factor);
        } else if event.shift_key() {
            event.prevent_default();
            self.model.pan_px(event.delta_y());
        } else if event.delta_x().abs() > event.delta_y().abs() {
            event.prevent_default();
            self.model.pan_px(event.delta_x());
        }
    }
}

fn pressed(model: Model, event: &KeyboardEvent) {
    if browser::has_modifier(event) {
        return;
    }
    let go_to = |towards| model.go_to_neighbor(towards);
    match event.key().as_str() {
        "w" | "W" | "+" => model.zoom_pointed(1.0 / ZOOM),
        "s" | "S" | "-" => model.zoom_pointed(ZOOM),
        "a" | "A" => model.pan_share(-STEP),
        "d" | "D" => model.pan_share(STEP),
        "ArrowLeft" => go_to(Towards::Before),
        "ArrowRight" => go_to(Towards::After),
        "ArrowUp" => go_to(Towards::Above),
        "ArrowDown" => go_to(Towards::Below),
        "Enter" | "f" | "F" => model.show_selected(),
        "g" | "G" => model.show_gpu(),
        "Home" => model.show_all(),
        "/" => browser::focus_on("search"),
        "n" => model.find(Direction::Next),
        "N" => model.find(Direction::Previous),
        "Escape" => model.clear(),
        _ => return,
    }
    event.prevent_default();
}

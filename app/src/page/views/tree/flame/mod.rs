//! The call tree as blocks, with callers on top: a call is as wide as its time.
//!
//! The worker answers with what is visible at the width of the window; zooming into a call makes it the root of another
//! drawing.

mod model;
mod paint;
mod scene;

use leptos::ev::PointerEvent;
use leptos::html::{Canvas, Div};

use super::state::{Drawing, TreeState};
use crate::page::components::canvas::probes;
use crate::page::prelude::*;
use crate::protocol::TreeMode;
use model::Model;
use paint::ROW_PX;

/// The callers of the root to which the breadcrumb links, including the root itself.
const STEPS: usize = 4;

pub(super) fn flame(tree: TreeState, engine: Engine, by_cpu: Memo<bool>) -> AnyView {
    let model = Model::new(tree, engine, by_cpu);
    let scroll = NodeRef::<Div>::new();
    let canvas = NodeRef::<Canvas>::new();
    keep_painted(model, scroll, canvas);
    let under = move |event: &PointerEvent| {
        let (x, y) = browser::pointer_at(scroll, event)?;
        let row = ((y + model.canvas.top.get_untracked()) / ROW_PX) as usize;
        let at = model.scene.with_untracked(|scene| scene.at(row, x))?;
        Some((at, x, y))
    };
    let height = move || {
        let rows = model.drawing.with(|drawing| drawing.rows);
        format!("{:.0}px", rows as f64 * ROW_PX)
    };
    view! {
        {breadcrumb(model)}
        <div class="flame-box">
        <div
            node_ref=scroll
            class="flame"
            id="flame"
            tabindex="0"
            role="application"
            aria-label="Flame graph of the call tree: up and down go to caller and callee, left and right to siblings, Enter zooms in, Escape zooms out"
            aria-describedby="flame-status"
            on:keydown=move |event| model.press(&event)
            on:scroll=move |_| {
                if let Some(element) = scroll.get_untracked() {
                    model.canvas.top.set(f64::from(element.scroll_top()));
                    model.hovered.set(None);
                }
            }
            on:pointermove=move |event| {
                let under = under(&event);
                if model.hovered.get_untracked() != under {
                    model.hovered.set(under);
                }
            }
            on:pointerleave=move |_| model.hovered.set(None)
            on:pointerup=move |event| {
                if let Some((at, ..)) = under(&event).filter(|_| event.button() == 0) {
                    model.click(at);
                }
            }
        >
            <div class="tall" style:height=height>
                <canvas node_ref=canvas style:height=move || format!("{}px", model.canvas.size.get().1) aria-hidden="true"></canvas>
            </div>
            {move || missing(model)}
        </div>
        {hint(model)}
        </div>
        <p id="flame-status" class="unseen" aria-live="polite" data-testid="flame-status">
            {move || {
                let call = model.focused.get().and_then(|at| model.describe(at));
                call.map(|(name, times)| format!("{name}: {times}"))
            }}
        </p>
        {probes(model.canvas, Signal::derive(move || model.drawing.with(|drawing| drawing.tokens.clone())))}
    }
    .into_any()
}

/// Repaints after a change; the model also scrolls.
fn keep_painted(model: Model, scroll: NodeRef<Div>, canvas: NodeRef<Canvas>) {
    browser::follow_size(scroll, move |width, height| {
        model.canvas.resize(width, height)
    });
    Effect::new(move || {
        model.scene.track();
        model.drawing.track();
        model.hovered.track();
        model.focused.track();
        model
            .canvas
            .repaint_on(canvas, move |canvas| model.paint(canvas));
    });
    Effect::new(move || {
        let top = model.canvas.top.get();
        if let Some(element) = scroll.get_untracked()
            && (f64::from(element.scroll_top()) - top).abs() > 1.0
        {
            element.set_scroll_top(top as i32);
        }
    });
}

/// Why nothing is drawn.
fn missing(model: Model) -> Option<impl IntoView> {
    let missing = model.drawing.with(|drawing| drawing.missing.clone())?;
    Some(view! { <div class="none"><p>{missing}</p>{instead(model)}</div> })
}

/// A link to CPU time, if calls have no other.
fn instead(model: Model) -> AnyView {
    let has_calls = model.tree.list.rows.window.total.get() > 0;
    let choose = move |_| model.tree.draw_as(Drawing::FlameByCpu);
    let button = (has_calls && !model.by_cpu.get()).then(|| {
        view! { <button type="button" id="flame-by-cpu" on:click=choose>"Show CPU time"</button> }
    });
    view! { {button} }.into_any()
}

/// The breadcrumb from all calls to the root.
fn breadcrumb(model: Model) -> AnyView {
    let steps = move || {
        let mut path = model.drawing.with(|drawing| drawing.path.clone());
        // If it is long, only its end is shown.
        let left_out = path.len().saturating_sub(STEPS);
        path.drain(..left_out);
        let dots = (left_out > 0).then(|| view! { <li class="soft">"\u{2026}"</li> });
        let last = path.len().saturating_sub(1);
        let step = |(at, (node, name)): (usize, (u32, String))| {
            let is_here = at == last;
            view! {
                <li>
                    <button
                        type="button"
                        class="small ghost"
                        title=name.clone()
                        aria-current=is_here.then_some("true")
                        on:click=move |_| model.zoom(Some(node))
                    >
                        {format::middle_ellipsis(&name, 32)}
                    </button>
                </li>
            }
        };
        let steps = path.into_iter().enumerate().map(step).collect_view();
        (dots, steps)
    };
    let total = move || {
        let by = if model.by_cpu.get() { "CPU" } else { "GPU" };
        model.drawing.with(|drawing| {
            let time = format::time_ns(drawing.shown_ns as i64);
            match drawing.root.is_some() {
                true => format!(
                    "{time} of {} {by} time",
                    format::time_ns(drawing.all_ns as i64)
                ),
                false => format!("{time} {by} time"),
            }
        })
    };
    view! {
        <nav class="breadcrumb" aria-label="Callers of the top call">
            <ol data-testid="flame-path">
                <li>
                    <button
                        type="button"
                        class="small ghost"
                        id="flame-all"
                        aria-current=move || model.root.get().is_none().then_some("true")
                        on:click=move |_| model.zoom(None)
                    >
                        "All calls"
                    </button>
                </li>
                {steps}
            </ol>
            <span class="fine">{move || meaning(model.tree.settings.with(|settings| settings.mode), model.by_cpu.get())}</span>
            <span class="count" data-testid="flame-total">{total}</span>
        </nav>
    }
    .into_any()
}

/// The tooltip at the pointer.
fn hint(model: Model) -> AnyView {
    let card = move || {
        let (at, x, y) = model.hovered.get()?;
        let (name, times) = model.describe(at)?;
        Some(view! {
            <div
                class=model.canvas.hint_class(x, y)
                aria-hidden="true"
                style:left=format!("{x}px")
                style:top=format!("{y}px")
            >
                <p class="mono">{format::middle_ellipsis(&name, 120)}</p>
                <p>{times}</p>
            </div>
        })
    };
    view! { {card} }.into_any()
}

/// What the width of a block means.
fn meaning(mode: TreeMode, by_cpu: bool) -> &'static str {
    match (mode, by_cpu) {
        (TreeMode::BottomUp, false) => "Width: GPU self time. Callers below.",
        (TreeMode::BottomUp, true) => "Width: CPU self time. Callers below.",
        (_, false) => "Width: GPU time launched by the call and its children.",
        (_, true) => "Width: CPU time of the call and its children.",
    }
}

//! A step, rank by rank on one clock: what each rank did before its collectives, how long it waited in them, and how
//! long the transfer took.

mod figures;
mod model;
mod paint;
mod scene;

use std::sync::Arc;

use dormer_core::job::strip::MOST_LANES;
use leptos::html::{Canvas, Div};

use super::heatmap::open_buttons;
use super::read_of;
use crate::page::components::canvas::probes;
use crate::page::prelude::*;
use crate::page::ranks::OpenJob;
use crate::protocol::StepRequest;
use figures::tables;
use model::{ReceivedStep, Strip};
use paint::AXIS_PX;
use scene::Kind;

/// The ranks within a step; `None` for a job without steps.
pub(super) fn strip(job: Arc<OpenJob>) -> Option<AnyView> {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let overview = &job.opened.overview;
    let (n_steps, n_ranks) = (overview.steps.len(), overview.ranks.len());
    if n_steps == 0 {
        return None;
    }
    // Initially the step that best shows the most costly finding, until another is chosen.
    let first = overview
        .cards
        .iter()
        .find_map(|card| card.step)
        .unwrap_or(0);
    let step = Memo::new(move |_| {
        let chosen = state.place.with(|place| place.focus.step);
        let step = chosen.map_or(first, |step| step as usize);
        step.min(n_steps - 1)
    });
    let steps = each(overview.steps.iter().enumerate(), |(at, name)| {
        view! { <option value=at.to_string() selected=move || step.get() == at>{format::capitalized(name)}</option> }
    });
    let (number, badge) = (job.number, read_of(&job));
    let job = StoredValue::new(job);
    let rank = Memo::new(move |_| {
        let rank = state.place.with(|place| place.focus.row);
        let at = job.with_value(|job| job.position(rank?));
        at.filter(|_| n_ranks > MOST_LANES)
    });
    Effect::new(move || {
        engine.ask_job_step(StepRequest {
            step: step.get() as u32,
            rank: rank.get().map(|rank| rank as u32),
        });
    });
    let shown = Memo::new(move |_| {
        let strip = state.job_step.get();
        let strip = strip
            .filter(|(of, _)| *of == number)
            .map(|(_, strip)| strip);
        ReceivedStep(strip.unwrap_or_default())
    });
    let choose_step = move |event| {
        let chosen: Option<u32> = event_target_value(&event).parse().ok();
        state.look_at(|focus| (focus.step, focus.span) = (chosen, None));
    };
    let legend = each(
        Kind::ALL,
        |kind| view! { <li>{dot(kind.token())}{kind.label()}</li> },
    );
    Some(
        view! {
            <section class="card" data-testid="job-strip">
                <h2>"Ranks within a step" {badge}</h2>
                <label class="strip-step">"Step "
                    <select id="strip-step" on:change=choose_step>{steps}</select>
                </label>
                <p class="fine">{move || shown.with(|step| note(step, n_ranks))}</p>
                <ul class="legend">{legend}</ul>
                {chart(Strip::new(job, shown, step))}
            </section>
        }
        .into_any(),
    )
}

/// What the picture leaves out, and what its times are relative to.
fn note(step: &ReceivedStep, n_ranks: usize) -> String {
    let n_shown = step.0.lanes.len();
    let of_many = match n_shown > 0 && n_shown < n_ranks {
        true => format!(
            "{n_shown} of {}: those that cause most delay in this step, and the selected one. ",
            format::counted(n_ranks as u64, "rank")
        ),
        false => String::new(),
    };
    let clocks = match step.0.are_clocks_known || n_shown == 0 {
        true => {
            "Clocks of all ranks are corrected. Before each collective, the totals of late launches, idle time, copies and work are drawn in this order, not in their order in time."
        }
        false => {
            "The clocks of the ranks could not be aligned, so each rank is drawn on its own clock and its waiting time is unknown."
        }
    };
    of_many + clocks
}

fn tokens() -> Vec<String> {
    Kind::ALL.map(|kind| kind.token().to_owned()).into()
}

fn chart(strip: Strip) -> AnyView {
    let frame = NodeRef::<Div>::new();
    let canvas = NodeRef::<Canvas>::new();
    browser::follow_size(frame, move |width, _| strip.canvas.resize(width, 0.0));
    Effect::new(move || {
        strip.stretch.track();
        let marked = [strip.hovered.get(), strip.chosen.get()];
        let marked = marked.map(|cell| strip.collective_of(cell?));
        strip
            .canvas
            .repaint_on(canvas, move |canvas| strip.paint(canvas, marked));
    });
    let at = move |event: &MouseEvent| browser::pointer_at(frame, event);
    let height = move || format!("{:.0}px", strip.stretch.get().height_px() + AXIS_PX);
    view! {
        <div
            class="heatmap strip"
            node_ref=frame
            id="strip"
            tabindex="0"
            role="group"
            aria-roledescription="chart"
            aria-label="Computation, late launches, waiting and transfer of each rank over the time of the step. Arrow keys move between ranks and collectives, Enter opens the trace of the rank at the collective, plus and minus change the scale. The tables below have the figures."
            style:height=height
            on:pointerdown=move |event| strip.drag.set(at(&event).map(|(x, _)| (x, x)))
            on:pointermove=move |event| {
                if let Some(point) = at(&event) {
                    strip.pointer_moved(point, event.buttons() == 1);
                }
            }
            on:pointerup=move |event| {
                if let Some(point) = at(&event) {
                    strip.release(point);
                }
            }
            on:pointerleave=move |_| {
                strip.hovered.set(None);
                strip.drag.set(None);
            }
            on:keydown=move |event| strip.press(&event)
        >
            <canvas node_ref=canvas aria-hidden="true" style:height=height></canvas>
            {move || dragged_range(strip)}
            {move || tip(strip)}
        </div>
        {scale_buttons(strip)}
        <div class="heat-chosen" role="status" data-testid="strip-chosen">{move || about_chosen(strip)}</div>
        {probes(strip.canvas, Signal::derive(tokens))}
        {chart_figures("strip-figures", "Figures of the step", move || tables(strip))}
    }
    .into_any()
}

/// The time range that the pointer is dragged over.
fn dragged_range(strip: Strip) -> Option<impl IntoView> {
    let (from, to) = strip.dragged_px()?;
    Some(view! {
        <i
            class="cell"
            aria-hidden="true"
            style:left=format!("{from:.0}px")
            style:width=format!("{:.0}px", to - from)
            style:top="0"
            style:height=format!("{:.0}px", strip.stretch.get().height_px())
        ></i>
    })
}

/// The tooltip of the hovered collective.
fn tip(strip: Strip) -> Option<impl IntoView> {
    let cell = strip.hovered.get().filter(|_| strip.drag.get().is_none())?;
    let (title, figures) = strip.describe(cell)?;
    let start_ns = strip.start_ns(cell)?;
    let stretch = strip.stretch.get();
    let (least, most) = (stretch.gutter_px, stretch.gutter_px + stretch.width_px);
    let x = stretch.px(start_ns).clamp(least, most);
    let y = (cell.0 as f64 + 1.0) * stretch.row_px + 4.0;
    Some(tooltip(
        (x, y),
        x * 2.0 > most,
        title,
        pairs("pairs", figures),
    ))
}

fn scale_buttons(strip: Strip) -> impl IntoView {
    let is_whole = move || strip.span.get().is_none();
    view! {
        <div class="strip-tools" role="group" aria-label="Scale">
            <button type="button" class="small" id="strip-in" on:click=move |_| strip.zoom(0.5)>"Zoom in"</button>
            <button type="button" class="small" id="strip-out" disabled=is_whole on:click=move |_| strip.zoom(2.0)>"Zoom out"</button>
            <button type="button" class="small" id="strip-whole" disabled=is_whole on:click=move |_| strip.show(None)>"Whole step"</button>
            <span class="fine">"Drag over a part of the time to see it alone; a click opens the trace there."</span>
        </div>
    }
}

/// The selected collective of a rank, and buttons to open it.
fn about_chosen(strip: Strip) -> Option<impl IntoView> {
    let cell = strip.chosen.get()?;
    let (title, figures) = strip.describe(cell)?;
    let figures = each(figures, |(label, value)| format!("{label} {value}")).join(", ");
    let rank = strip.rank_of(cell.0)?;
    let buttons = match strip.has_trace(rank) {
        true => view! { <button type="button" class="small" id="open-collective" on:click=move |_| strip.open(cell)>"Open the trace at this collective"</button> }.into_any(),
        false => open_buttons(strip.job.get_value(), rank, strip.step.get_untracked()),
    };
    Some(view! { <p><b>{title}</b> " \u{b7} " {figures}</p> {buttons} })
}

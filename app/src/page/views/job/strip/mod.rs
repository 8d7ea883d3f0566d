//! A step, rank by rank on one clock: what each rank did before its collectives, how long it waited in them, and how
//! long the transfer took.

mod figures;
mod paint;
mod scene;

use std::sync::Arc;

use dormer_core::job::strip::{MOST_LANES, StepStrip};
use leptos::html::{Canvas, Div};

use super::read_of;
use crate::page::components::canvas::{CanvasState, probes, text_px};
use crate::page::prelude::*;
use crate::page::ranks::OpenJob;
use crate::protocol::StepRequest;
use figures::{collective_details, figures};
use paint::{AXIS_PX, Picture};
use scene::{Cell, Kind, Stretch, members, nearest_in_lane, part};

/// A pointer that moves farther than this selects a time range.
const DRAG_PX: f64 = 5.0;

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
    let (number, held) = (job.number, StoredValue::new(job.clone()));
    let rank = Memo::new(move |_| {
        let rank = state.place.with(|place| place.focus.row);
        let at = held.with_value(|job| job.position(rank?));
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
    let steps = each(overview.steps.iter().enumerate(), |(at, name)| {
        view! { <option value=at.to_string() selected=move || step.get() == at>{format::capitalized(name)}</option> }
    });
    let choose_step = move |event| {
        let chosen: Option<u32> = event_target_value(&event).parse().ok();
        state.look_at(|focus| (focus.step, focus.span) = (chosen, None));
    };
    let note = move || {
        shown.with(|ReceivedStep(strip)| {
            let n_shown = strip.lanes.len();
            let of_many = (n_shown > 0 && n_shown < n_ranks).then(|| {
                format!(
                    "{n_shown} of {}: those that cause most delay in this step, and the chosen one. ",
                    format::counted(n_ranks as u64, "rank")
                )
            });
            let clocks = match strip.are_clocks_known || n_shown == 0 {
                true => "Clocks of all ranks are corrected. Before each collective, the totals of late launches, idle time, copies and work are drawn in this order, not in their order in time.",
                false => "The clocks of the ranks could not be aligned, so each rank is drawn on its own clock and its waiting time is unknown.",
            };
            format!("{}{clocks}", of_many.unwrap_or_default())
        })
    };
    let legend = each(Kind::ALL, |kind| {
        let class = format!("dot c-{}", kind.token());
        view! { <li><i class=class aria-hidden="true"></i>{kind.label()}</li> }
    });
    let badge = read_of(&job);
    Some(
        view! {
            <section class="card" data-testid="job-strip">
                <h2>"Ranks within a step" {badge}</h2>
                <label class="strip-step">"Step "
                    <select id="strip-step" on:change=choose_step>{steps}</select>
                </label>
                <p class="fine">{note}</p>
                <ul class="legend">{legend}</ul>
                {chart(held, shown, step)}
            </section>
        }
        .into_any(),
    )
}

/// A step as received; the same step is never drawn twice.
#[derive(Clone, Default)]
struct ReceivedStep(Arc<StepStrip>);

impl PartialEq for ReceivedStep {
    fn eq(&self, other: &ReceivedStep) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn chart(job: StoredValue<Arc<OpenJob>>, shown: Memo<ReceivedStep>, step: Memo<usize>) -> AnyView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let stage = CanvasState::default();
    let frame = NodeRef::<Div>::new();
    let canvas = NodeRef::<Canvas>::new();
    browser::follow_size(frame, move |width, _| stage.resize(width, 0.0));
    let span = state.of_place(|place| place.focus.span);
    let number_of = move |lane: usize| {
        let rank = shown.with_untracked(|ReceivedStep(strip)| Some(strip.lanes.get(lane)?.rank))?;
        job.with_value(|job| Some(job.opened.overview.ranks.get(rank as usize)?.number))
    };
    let labels = Memo::new(move |_| {
        let n_lanes = shown.with(|ReceivedStep(strip)| strip.lanes.len());
        let labels = (0..n_lanes).map(|lane| number_of(lane).unwrap_or(0).to_string());
        labels.collect::<Vec<String>>()
    });
    let stretch = Memo::new(move |_| {
        let letters = labels
            .with(|labels| labels.iter().map(String::len).max())
            .unwrap_or(0);
        let gutter_px = letters.max(2) as f64 * 0.62 * text_px() + 10.0;
        shown.with(|ReceivedStep(strip)| {
            let width = stage.size.get().0;
            Stretch::new(
                (width, gutter_px),
                strip.lanes.len(),
                strip.length_ns,
                span.get(),
            )
        })
    });
    let joined = Memo::new(move |_| shown.with(|ReceivedStep(strip)| members(strip)));
    let pointed = RwSignal::new(None::<Cell>);
    let chosen = RwSignal::new(None::<Cell>);
    // Where the pointer was pressed, and where it is now.
    let drag = RwSignal::new(None::<(f64, f64)>);
    Effect::watch(
        move || shown.track(),
        move |(), _, _| {
            pointed.set(None);
            chosen.set(None);
        },
        false,
    );
    let collective = move |cell: Option<Cell>| {
        shown.with(|ReceivedStep(strip)| part(strip, cell?).map(|part| part.collective as usize))
    };
    Effect::new(move || {
        state.theme().track();
        let tokens = || {
            Kind::ALL
                .iter()
                .map(|kind| kind.token().to_owned())
                .collect()
        };
        stage.read_colors(move || Some(tokens()));
    });
    Effect::new(move || {
        stretch.track();
        let marked = [pointed.get(), chosen.get()].map(collective);
        stage.repaint(move || {
            let Some(canvas) = canvas.try_get_untracked().flatten() else {
                return;
            };
            let (palette, labels) = (stage.palette.get_untracked(), labels.get_untracked());
            let members = joined.get_untracked();
            shown.with_untracked(|ReceivedStep(strip)| {
                let picture = Picture {
                    strip,
                    members: &members,
                    labels: &labels,
                    stretch: stretch.get_untracked(),
                    palette: &palette,
                    marked,
                };
                picture.paint(&canvas);
            });
        });
    });
    let go = move |span: Option<(u64, u64)>| state.look_at(|focus| focus.span = span);
    let length_ns = move || shown.with_untracked(|ReceivedStep(strip)| strip.length_ns);
    let choose = move |cell: Option<Cell>| {
        chosen.set(cell);
        let start_ns =
            shown.with_untracked(|ReceivedStep(strip)| Some(part(strip, cell?)?.start_ns));
        if let Some(ns) = start_ns
            && let Some(span) = stretch.get_untracked().showing(ns, length_ns())
        {
            go(Some(span));
        }
    };
    let open = move |cell: Cell| {
        let found = shown.with_untracked(|ReceivedStep(strip)| {
            let of = part(strip, cell)?;
            let kernel = strip
                .collectives
                .get(of.collective as usize)?
                .kernel
                .clone();
            Some((strip.lanes.get(cell.0)?.rank as usize, (kernel, of.at_ns)))
        });
        if let Some((rank, event)) = found {
            let has_trace = job.with_value(|job| job.has_trace.get(rank) == Some(&true));
            if has_trace {
                engine.open_rank_at(rank, Some(step.get_untracked()), Some(event));
            }
        }
    };
    let zoom = move |times: f64| {
        let now = stretch.get_untracked();
        let middle = (now.from_ns + now.to_ns) / 2.0;
        let around = shown.with_untracked(|ReceivedStep(strip)| {
            let chosen = part(strip, chosen.get_untracked()?);
            chosen.map(|part| part.start_ns as f64)
        });
        go(now.zoomed(times, around.unwrap_or(middle), length_ns()));
    };
    let place = move |event: &MouseEvent| {
        let element = frame.get_untracked()?;
        Some(browser::pointer_in(&element, event))
    };
    let moved = move |event: MouseEvent| {
        let Some((x, y)) = place(&event) else { return };
        if let Some((from, _)) = drag.get_untracked() {
            drag.set((event.buttons() == 1).then_some((from, x)));
        }
        let stretch = stretch.get_untracked();
        let cell = shown.with_untracked(|ReceivedStep(strip)| stretch.at(strip, x, y));
        if pointed.get_untracked() != cell {
            pointed.set(cell);
        }
    };
    let released = move |event: MouseEvent| {
        let (Some((from, _)), Some((x, y))) = (drag.get_untracked(), place(&event)) else {
            return;
        };
        drag.set(None);
        let stretch = stretch.get_untracked();
        if (x - from).abs() > DRAG_PX {
            let ends = [from.min(x), from.max(x)].map(|px| stretch.ns_at(px) as u64);
            go(Some((ends[0], ends[1])));
            return;
        }
        let cell = shown.with_untracked(|ReceivedStep(strip)| stretch.at(strip, x, y));
        choose(cell);
        if let Some(cell) = cell {
            open(cell);
        }
    };
    let on_key = move |event: KeyboardEvent| {
        if browser::has_modifier(&event) {
            return;
        }
        let here = chosen.get_untracked();
        let (lane, at) = here.unwrap_or((0, 0));
        let next = shown.with_untracked(|ReceivedStep(strip)| {
            let n_parts = strip.lanes.get(lane).map_or(0, |lane| lane.parts.len());
            let last = n_parts.saturating_sub(1);
            Some(match event.key().as_str() {
                "ArrowDown" => {
                    nearest_in_lane(strip, (lane, at), lane + usize::from(here.is_some()))
                }
                "ArrowUp" => nearest_in_lane(strip, (lane, at), lane.saturating_sub(1)),
                "ArrowRight" => here.map_or(Some((0, 0)), |_| Some((lane, (at + 1).min(last)))),
                "ArrowLeft" => Some((lane, at.saturating_sub(1))),
                "Home" => Some((lane, 0)),
                "End" => Some((lane, last)),
                _ => return None,
            })
        });
        match (next, event.key().as_str()) {
            (Some(next), _) => {
                if next.is_some() {
                    choose(next);
                }
            }
            (None, "Enter" | " ") => {
                if let Some(cell) = here {
                    open(cell);
                }
            }
            (None, "Escape") => choose(None),
            (None, "+" | "=") => zoom(0.5),
            (None, "-") => zoom(2.0),
            (None, "0") => go(None),
            _ => return,
        }
        event.prevent_default();
    };
    let tip = move || {
        let cell = pointed.get().filter(|_| drag.get().is_none())?;
        let (head, pairs_of) = shown
            .with(|ReceivedStep(strip)| collective_details(strip, cell, number_of(cell.0)?))?;
        let stretch = stretch.get();
        let start_ns =
            shown.with(|ReceivedStep(strip)| part(strip, cell).map(|part| part.start_ns))?;
        let (least, most) = (stretch.gutter_px, stretch.gutter_px + stretch.width_px);
        let x = stretch.px(start_ns).clamp(least, most);
        let is_right = x * 2.0 > most;
        Some(view! {
            <div
                class="tip"
                class:before=is_right
                aria-hidden="true"
                style:left=format!("{x:.0}px")
                style:top=format!("{:.0}px", (cell.0 as f64 + 1.0) * stretch.row_px + 4.0)
            >
                <h3>{head}</h3>
                {pairs("pairs", pairs_of)}
            </div>
        })
    };
    let marked_off = move || {
        let (from, to) = drag
            .get()
            .filter(|(from, to)| (to - from).abs() > DRAG_PX)?;
        Some(view! {
            <i
                class="cell"
                aria-hidden="true"
                style:left=format!("{:.0}px", from.min(to))
                style:width=format!("{:.0}px", (to - from).abs())
                style:top="0"
                style:height=format!("{:.0}px", stretch.get().height_px())
            ></i>
        })
    };
    let about = move || {
        let cell = chosen.get()?;
        let (head, pairs) = shown
            .with(|ReceivedStep(strip)| collective_details(strip, cell, number_of(cell.0)?))?;
        let figures = pairs
            .into_iter()
            .map(|(label, value)| format!("{label} {value}"));
        let figures = figures.collect::<Vec<String>>().join(", ");
        let rank = shown
            .with(|ReceivedStep(strip)| strip.lanes.get(cell.0).map(|lane| lane.rank as usize))?;
        let way = match job.with_value(|job| job.has_trace.get(rank) == Some(&true)) {
            true => view! { <button type="button" class="small" id="open-collective" on:click=move |_| open(cell)>"Open the trace at this collective"</button> }.into_any(),
            false => super::heatmap::open_buttons(job.get_value(), rank, step.get_untracked()),
        };
        Some(view! { <p><b>{head}</b> " \u{b7} " {figures}</p> {way} })
    };
    let height = move || format!("{:.0}px", stretch.get().height_px() + AXIS_PX);
    let is_whole = move || span.get().is_none();
    view! {
        <div
            class="heatmap strip"
            node_ref=frame
            id="strip"
            tabindex="0"
            role="group"
            aria-roledescription="chart"
            aria-label="Work, late launches, waiting and transfer of each rank over the time of the step. Arrow keys move between ranks and collectives, Enter opens the trace of the rank at the collective, plus and minus change the scale. The tables below have the figures."
            style:height=height
            on:mousedown=move |event| drag.set(place(&event).map(|(x, _)| (x, x)))
            on:mousemove=moved
            on:mouseup=released
            on:mouseleave=move |_| {
                pointed.set(None);
                drag.set(None);
            }
            on:keydown=on_key
        >
            <canvas node_ref=canvas aria-hidden="true" style:height=height></canvas>
            {marked_off}
            {tip}
        </div>
        <div class="strip-tools" role="group" aria-label="Scale">
            <button type="button" class="small" id="strip-in" on:click=move |_| zoom(0.5)>"Zoom in"</button>
            <button type="button" class="small" id="strip-out" disabled=is_whole on:click=move |_| zoom(2.0)>"Zoom out"</button>
            <button type="button" class="small" id="strip-whole" disabled=is_whole on:click=move |_| go(None)>"Whole step"</button>
            <span class="fine">"Drag over a part of the time to see it alone; a click opens the trace there."</span>
        </div>
        <div class="heat-chosen" role="status" data-testid="strip-chosen">{about}</div>
        {probes(Signal::derive(|| Kind::ALL.iter().map(|kind| kind.token().to_owned()).collect()))}
        {figures(shown, labels)}
    }
    .into_any()
}

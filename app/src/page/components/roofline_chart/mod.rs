//! Operations under a roofline, drawn on logarithmic axes.
//!
//! ```text
//! RooflineChart ─drawing→ Drawing ─marks→ elements
//! ```
//!
//! Only the layout, in pixels, is computed here; the worker computes the content. The pointer selects the nearest mark,
//! the arrow keys go through the marks by time, and both show the same tooltip.

mod drawing;
mod marks;

use leptos::html::Div;

use crate::page::prelude::*;
use crate::protocol::RooflineChart;
use drawing::{Drawing, MarkPlace};
use marks::{card, draw, ring, spoken};

/// The chart of operations under the roofline.
pub fn roofline_chart(
    chart: Memo<RooflineChart>,
    only: Memo<Vec<String>>,
    selected: Memo<Option<u32>>,
    on_pick: impl Fn(Option<u32>) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let frame = NodeRef::<Div>::new();
    let width = browser::width_of(frame);
    let drawing = Memo::new(move |_| {
        chart.with(|chart| only.with(|only| Drawing::new(chart, only, width.get())))
    });
    let pointed = RwSignal::new(None::<usize>);
    let cursor = RwSignal::new(None::<usize>);
    let has_focus = RwSignal::new(false);
    // Another report has other marks.
    Effect::watch(
        move || chart.track(),
        move |_, _, _| {
            pointed.set(None);
            cursor.set(None);
        },
        false,
    );
    let picked = Memo::new(move |_| {
        let row = selected.get()?;
        chart.with(|chart| chart.marks.iter().position(|mark| mark.row == row))
    });
    let place_of = move |index: Option<usize>| {
        drawing.with(|drawing| drawing.places.get(index?).copied().flatten())
    };
    let shown = Memo::new(move |_| {
        let cursor = cursor.get().filter(|_| has_focus.get());
        pointed.get().or(cursor)
    });

    let moved = move |event: MouseEvent| {
        let Some((x, y)) = browser::pointer_at(frame, &event) else {
            return;
        };
        let nearest = drawing.with_untracked(|drawing| drawing.nearest(x, y));
        if pointed.get_untracked() != nearest {
            pointed.set(nearest);
        }
    };
    let pick = move |index: Option<usize>| {
        let row = chart.with_untracked(|chart| Some(chart.marks.get(index?)?.row));
        let is_again = row.is_some() && row == selected.get_untracked();
        on_pick(row.filter(|_| !is_again));
    };
    let clicked = move |_| {
        if let Some(index) = pointed.get_untracked() {
            cursor.set(Some(index));
            pick(Some(index));
        }
    };
    let on_key = move |event: KeyboardEvent| {
        if browser::has_modifier(&event) {
            return;
        }
        let here = cursor.get_untracked();
        let step: fn(&[Option<MarkPlace>], Option<usize>) -> Option<usize> =
            match event.key().as_str() {
                "ArrowRight" | "ArrowDown" => next,
                "ArrowLeft" | "ArrowUp" => previous,
                "Home" => |places, _| next(places, None),
                "End" => |places, _| previous(places, Some(places.len())),
                "Enter" | " " => {
                    event.prevent_default();
                    pick(here);
                    if selected.get_untracked().is_some() {
                        op_details::enter(state);
                    }
                    return;
                }
                "Escape" => {
                    cursor.set(None);
                    on_pick(None);
                    return;
                }
                _ => return,
            };
        event.prevent_default();
        pointed.set(None);
        let there = drawing.with_untracked(|drawing| step(&drawing.places, here));
        if there.is_some() {
            cursor.set(there);
        }
    };
    let label = move || {
        chart.with(|chart| {
            format!(
                "{} Arrow keys step through the operations by time, Enter selects.",
                chart.lead
            )
        })
    };
    view! {
        <div
            class="plot"
            node_ref=frame
            id="roofline-chart"
            tabindex="0"
            role="group"
            aria-roledescription="chart"
            aria-label=label
            on:mousemove=moved
            on:mouseleave=move |_| pointed.set(None)
            on:click=clicked
            on:keydown=on_key
            on:focus=move |_| has_focus.set(true)
            on:blur=move |_| has_focus.set(false)
        >
            {move || drawing.with(|drawing| chart.with(|chart| draw(drawing, chart)))}
            <svg class="rings" aria-hidden="true" width=move || width.get() height=move || drawing.with(|drawing| drawing.height)>
                {move || ring("ring chosen", place_of(picked.get()))}
                {move || ring("ring", place_of(shown.get()))}
            </svg>
            {move || {
                let index = shown.get()?;
                let place = place_of(Some(index))?;
                let mark = chart.with(|chart| chart.marks.get(index).cloned())?;
                Some(card(mark, place, width.get_untracked()))
            }}
            <p class="unseen" role="status">
                {move || {
                    let index = cursor.get()?;
                    chart.with(|chart| chart.marks.get(index).map(spoken))
                }}
            </p>
        </div>
    }
}

/// The next visible mark; the first one if none is selected.
fn next(places: &[Option<MarkPlace>], here: Option<usize>) -> Option<usize> {
    let first = here.map_or(0, |here| here + 1);
    (first..places.len()).find(|at| places[*at].is_some())
}

/// The previous visible mark; the first one if none is selected.
fn previous(places: &[Option<MarkPlace>], here: Option<usize>) -> Option<usize> {
    match here {
        None => next(places, None),
        Some(here) => places.iter().take(here).rposition(Option::is_some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrow_keys_go_through_what_is_drawn() {
        let place = MarkPlace {
            x: 1.0,
            y: 1.0,
            radius: 1.0,
        };
        let places = [Some(place), None, Some(place)];
        assert_eq!(next(&places, None), Some(0));
        assert_eq!(next(&places, Some(0)), Some(2));
        assert_eq!(next(&places, Some(2)), None);
        assert_eq!(previous(&places, Some(2)), Some(0));
        assert_eq!(previous(&places, Some(places.len())), Some(2));
        assert_eq!(next(&[], None), None);
    }
}

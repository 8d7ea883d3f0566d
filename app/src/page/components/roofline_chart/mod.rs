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

/// The marks of the chart, and which of them the pointer and the keys are on. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct Marks {
    state: AppState,
    chart: Memo<RooflineChart>,
    drawing: Memo<Drawing>,
    /// The row of the selected operation.
    selected: Memo<Option<u32>>,
    hovered: RwSignal<Option<usize>>,
    /// The mark from which keys continue.
    cursor: RwSignal<Option<usize>>,
    /// Selects the operation of a row; `None` clears the selection.
    on_pick: Callback<Option<u32>>,
}

impl Marks {
    /// The mark nearest to the pointer is the hovered one.
    fn pointer_moved(self, (x, y): (f64, f64)) {
        let nearest = self.drawing.with_untracked(|drawing| drawing.nearest(x, y));
        if self.hovered.get_untracked() != nearest {
            self.hovered.set(nearest);
        }
    }

    /// Selects the operation of a mark; the selected one is cleared.
    fn pick(self, index: Option<usize>) {
        let row = self
            .chart
            .with_untracked(|chart| Some(chart.marks.get(index?)?.row));
        let is_again = row.is_some() && row == self.selected.get_untracked();
        self.on_pick.run(row.filter(|_| !is_again));
    }

    fn click(self) {
        if let Some(index) = self.hovered.get_untracked() {
            self.cursor.set(Some(index));
            self.pick(Some(index));
        }
    }

    fn press(self, event: &KeyboardEvent) {
        if browser::has_modifier(event) {
            return;
        }
        let here = self.cursor.get_untracked();
        let step: fn(&[Option<MarkPlace>], Option<usize>) -> Option<usize> =
            match event.key().as_str() {
                "ArrowRight" | "ArrowDown" => next,
                "ArrowLeft" | "ArrowUp" => previous,
                "Home" => |places, _| next(places, None),
                "End" => |places, _| previous(places, Some(places.len())),
                "Enter" | " " => {
                    event.prevent_default();
                    self.pick(here);
                    if self.selected.get_untracked().is_some() {
                        op_details::enter(self.state);
                    }
                    return;
                }
                "Escape" => {
                    self.cursor.set(None);
                    self.on_pick.run(None);
                    return;
                }
                _ => return,
            };
        event.prevent_default();
        self.hovered.set(None);
        let there = self
            .drawing
            .with_untracked(|drawing| step(&drawing.places, here));
        if there.is_some() {
            self.cursor.set(there);
        }
    }

    fn place_of(self, index: Option<usize>) -> Option<MarkPlace> {
        self.drawing
            .with(|drawing| drawing.places.get(index?).copied().flatten())
    }
}

/// The chart of operations under the roofline.
pub fn roofline_chart(
    chart: Memo<RooflineChart>,
    only: Memo<Vec<String>>,
    selected: Memo<Option<u32>>,
    on_pick: impl Fn(Option<u32>) + Send + Sync + 'static,
) -> impl IntoView {
    let frame = NodeRef::<Div>::new();
    let width = browser::width_of(frame);
    let drawing = Memo::new(move |_| {
        chart.with(|chart| only.with(|only| Drawing::new(chart, only, width.get())))
    });
    let marks = Marks {
        state: expect_context::<AppState>(),
        chart,
        drawing,
        selected,
        hovered: RwSignal::new(None),
        cursor: RwSignal::new(None),
        on_pick: Callback::new(on_pick),
    };
    let (hovered, cursor) = (marks.hovered, marks.cursor);
    // Another report has other marks.
    Effect::watch(
        move || chart.track(),
        move |_, _, _| {
            hovered.set(None);
            cursor.set(None);
        },
        false,
    );
    let picked = Memo::new(move |_| {
        let row = selected.get()?;
        chart.with(|chart| chart.marks.iter().position(|mark| mark.row == row))
    });
    let has_focus = RwSignal::new(false);
    let shown = Memo::new(move |_| {
        let cursor = cursor.get().filter(|_| has_focus.get());
        hovered.get().or(cursor)
    });
    let label = move || {
        let lead = chart.with(|chart| chart.lead.clone());
        format!("{lead} Arrow keys step through the operations by time, Enter selects.")
    };
    let tip = move || {
        let index = shown.get()?;
        let place = marks.place_of(Some(index))?;
        let mark = chart.with(|chart| chart.marks.get(index).cloned())?;
        Some(card(mark, place, width.get_untracked()))
    };
    let status = move || {
        let index = cursor.get()?;
        chart.with(|chart| chart.marks.get(index).map(spoken))
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
            on:mousemove=move |event| {
                if let Some(point) = browser::pointer_at(frame, &event) {
                    marks.pointer_moved(point);
                }
            }
            on:mouseleave=move |_| hovered.set(None)
            on:click=move |_| marks.click()
            on:keydown=move |event| marks.press(&event)
            on:focus=move |_| has_focus.set(true)
            on:blur=move |_| has_focus.set(false)
        >
            {move || drawing.with(|drawing| chart.with(|chart| draw(drawing, chart)))}
            <svg class="rings" aria-hidden="true" width=move || width.get() height=move || drawing.with(|drawing| drawing.height)>
                {move || ring("ring chosen", marks.place_of(picked.get()))}
                {move || ring("ring", marks.place_of(shown.get()))}
            </svg>
            {tip}
            <p class="unseen" role="status">{status}</p>
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

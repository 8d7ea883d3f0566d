//! Operations under a roofline, drawn on logarithmic axes.
//!
//! ```text
//! RooflineChart ─drawing→ Drawing ─marks→ elements
//! ```
//!
//! Only the layout, in pixels, is computed here; the worker computes the content. Marks are in the order of their time.

mod drawing;
mod marks;

use leptos::html::Div;

use super::plot::{MarkCursor, Plot, plot};
use crate::page::prelude::*;
use crate::protocol::RooflineChart;
use drawing::{Drawing, MarkPlace};
use marks::{card, draw, ring, spoken};

/// The chart with its marks. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct Operations {
    state: AppState,
    chart: Memo<RooflineChart>,
    drawing: Memo<Drawing>,
    /// The row of the selected operation.
    selected: Memo<Option<u32>>,
    marks: MarkCursor,
    /// Selects the operation of a row; `None` clears the selection.
    on_pick: Callback<Option<u32>>,
}

impl Operations {
    /// Selects the operation of a mark; the selected one is cleared.
    fn pick(self, mark: Option<usize>) {
        let row = self
            .chart
            .with_untracked(|chart| Some(chart.marks.get(mark?)?.row));
        let is_again = row.is_some() && row == self.selected.get_untracked();
        self.on_pick.run(row.filter(|_| !is_again));
    }

    fn place_of(self, mark: Option<usize>) -> Option<MarkPlace> {
        self.drawing
            .with(|drawing| drawing.places.get(mark?).copied().flatten())
    }
}

impl Plot for Operations {
    fn id(self) -> &'static str {
        "roofline-chart"
    }

    fn label(self) -> String {
        let lead = self.chart.with(|chart| chart.lead.clone());
        format!("{lead} Arrow keys step through the operations by time, Enter selects.")
    }

    fn marks(self) -> MarkCursor {
        self.marks
    }

    fn nearest(self, x: f64, y: f64) -> Option<usize> {
        self.drawing.with_untracked(|drawing| drawing.nearest(x, y))
    }

    fn is_drawn(self) -> Vec<bool> {
        self.drawing
            .with_untracked(|drawing| each(&drawing.places, Option::is_some))
    }

    fn spoken(self, mark: usize) -> Option<String> {
        self.chart.with(|chart| chart.marks.get(mark).map(spoken))
    }

    fn click(self) {
        if let Some(mark) = self.marks.hovered.get_untracked() {
            self.marks.at.set(Some(mark));
            self.pick(Some(mark));
        }
    }

    fn press(self, key: &str) -> bool {
        match key {
            "Enter" | " " => {
                self.pick(self.marks.at.get_untracked());
                if self.selected.get_untracked().is_some() {
                    op_details::enter(self.state);
                }
            }
            "Escape" => {
                self.marks.at.set(None);
                self.on_pick.run(None);
            }
            _ => return false,
        }
        true
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
    let marks = MarkCursor::default();
    let operations = Operations {
        state: expect_context::<AppState>(),
        chart,
        drawing,
        selected,
        marks,
        on_pick: Callback::new(on_pick),
    };
    // Another report has other marks.
    Effect::watch(move || chart.track(), move |_, _, _| marks.clear(), false);
    let picked = Memo::new(move |_| {
        let row = selected.get()?;
        chart.with(|chart| chart.marks.iter().position(|mark| mark.row == row))
    });
    let shown = Memo::new(move |_| marks.shown());
    let tip = move || {
        let mark = shown.get()?;
        let place = operations.place_of(Some(mark))?;
        let mark = chart.with(|chart| chart.marks.get(mark).cloned())?;
        Some(card(mark, place, width.get_untracked()))
    };
    let inside = view! {
        {move || drawing.with(|drawing| chart.with(|chart| draw(drawing, chart)))}
        <svg class="rings" aria-hidden="true" width=move || width.get() height=move || drawing.with(|drawing| drawing.height)>
            {move || ring("ring chosen", operations.place_of(picked.get()))}
            {move || ring("ring", operations.place_of(shown.get()))}
        </svg>
        {tip}
    };
    plot(operations, frame, inside)
}

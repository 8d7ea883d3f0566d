//! Ranks by steps: a cell for each, darker for higher values of the measure.
//!
//! ```text
//! rows, measure ─→ Heatmap ─→ Grid ─paint→ canvas
//! pointer, keys ─→   (model)
//! ```

mod model;
mod paint;
mod scene;

use std::sync::Arc;

use dormer_core::report::fact_table::{CellKind, FactRow, FactTable};
use leptos::html::{Canvas, Div};

use crate::page::components::canvas::probes;
use crate::page::prelude::*;
use crate::page::ranks::OpenJob;
use model::{Cell, Heatmap};
use scene::{LEVELS, Row, Scale, value};

/// Height of the step axis below the cells.
const AXIS_PX: f64 = 20.0;

/// The heatmap of the measure at an index.
pub(super) fn heatmap(job: Arc<OpenJob>, measure: Memo<usize>) -> AnyView {
    let map = Heatmap::new(job, measure);
    let frame = NodeRef::<Div>::new();
    let canvas = NodeRef::<Canvas>::new();
    browser::follow_size(frame, move |width, _| map.canvas.resize(width, 0.0));
    Effect::new(move || {
        map.rows.track();
        map.grid.track();
        map.measure.track();
        map.canvas
            .repaint_on(canvas, move |canvas| map.paint(canvas));
    });
    let under = move |event: &MouseEvent| {
        let (x, y) = browser::pointer_at(frame, event)?;
        map.grid.get_untracked().at(x, y)
    };
    let label = move || {
        let name = map.with_measure(|_, measure| Some(measure.label.clone()));
        let name = name.unwrap_or_default();
        format!(
            "{name} by rank and step. Arrow keys move between cells, Enter opens the trace of the rank at the step. The table below has the figures."
        )
    };
    let height = move || format!("{:.0}px", map.grid.get().height_px() + AXIS_PX);
    view! {
        <div
            class="heatmap"
            node_ref=frame
            id="heatmap"
            tabindex="0"
            role="group"
            aria-roledescription="chart"
            aria-label=label
            style:height=height
            on:mousemove=move |event| {
                let cell = under(&event);
                if map.hovered.get_untracked() != cell {
                    map.hovered.set(cell);
                }
            }
            on:mouseleave=move |_| map.hovered.set(None)
            on:click=move |event| map.click(under(&event))
            on:dblclick=move |event| map.double_click(under(&event))
            on:keydown=move |event| map.press(&event)
        >
            <canvas node_ref=canvas aria-hidden="true" style:height=height></canvas>
            {move || frame_of(map, "cell", map.hovered.get())}
            {move || frame_of(map, "cell chosen", map.chosen.get())}
            {move || tip(map)}
        </div>
        {move || legend(map)}
        <div class="heat-chosen" role="status" data-testid="heat-chosen">{move || about_chosen(map)}</div>
        {probes(map.canvas, Signal::derive(tokens))}
        {chart_figures("heat-figures", "Figures of the heatmap", move || figures(map).map(facts_table))}
    }
    .into_any()
}

/// The color tokens of the cells.
fn tokens() -> Vec<String> {
    (0..LEVELS).map(|level| format!("heat-{level}")).collect()
}

/// The frame around a cell.
fn frame_of(map: Heatmap, class: &'static str, cell: Option<Cell>) -> Option<impl IntoView> {
    let grid = map.grid.get();
    let (row, step) = cell.filter(|(row, _)| *row < grid.n_rows)?;
    let (left, top) = grid.corner(row, step);
    Some(view! {
        <i
            class=class
            aria-hidden="true"
            style:left=format!("{left:.1}px")
            style:top=format!("{top:.1}px")
            style:width=format!("{:.1}px", grid.step_px)
            style:height=format!("{:.1}px", grid.row_px)
        ></i>
    })
}

/// The tooltip of the hovered cell.
fn tip(map: Heatmap) -> Option<impl IntoView> {
    let cell = map.hovered.get()?;
    let (title, number) = map.describe(cell)?;
    let grid = map.grid.get();
    let (left, top) = grid.corner(cell.0, cell.1);
    let is_before = cell.1 * 2 >= grid.n_steps;
    let x = if is_before { left } else { left + grid.step_px };
    let figures = view! { <p>{number}</p> };
    Some(tooltip((x, top + grid.row_px), is_before, title, figures))
}

/// The colors from the lowest to the highest value.
fn legend(map: Heatmap) -> Option<impl IntoView> {
    let ends = map.with_measure(|_, measure| {
        let scale = Scale::new(measure)?;
        Some([scale.lowest, scale.highest].map(|number| measure.text(number)))
    });
    let [lowest, highest] = ends?;
    let levels = each(
        tokens(),
        |token| view! { <i class=format!("c-{token}")></i> },
    );
    Some(view! {
        <p class="fine heat-scale" data-testid="heat-scale">{lowest} <span aria-hidden="true">{levels}</span> {highest}</p>
    })
}

/// The selected cell, and buttons to open it.
fn about_chosen(map: Heatmap) -> Option<impl IntoView> {
    let cell = map.chosen.get()?;
    let (title, number) = map.describe(cell)?;
    let buttons = match map.row(cell.0)? {
        Row::Host { is_open, .. } => {
            let label = if is_open {
                "Hide its ranks"
            } else {
                "Show its ranks"
            };
            view! { <button type="button" class="small" on:click=move |_| map.open(cell)>{label}</button> }.into_any()
        }
        Row::Rank(at, _) => open_buttons(map.job.get_value(), at, cell.1),
    };
    Some(view! { <p><b>{title}</b> " \u{b7} " {with_units(&number)}</p> {buttons} })
}

/// Opens the trace of a rank, at a step or as a whole; shows a note if only its digest is available.
pub(super) fn open_buttons(job: Arc<OpenJob>, at: usize, step: usize) -> AnyView {
    let engine = expect_context::<Engine>();
    if job.has_trace.get(at) == Some(&true) {
        return view! {
            <button type="button" class="small" id="open-step" on:click=move |_| engine.open_rank(at, Some(step))>"Open the trace at this step"</button>
            <button type="button" class="small" on:click=move |_| engine.open_rank(at, None)>"Open the whole trace"</button>
        }
        .into_any();
    }
    let name = job.opened.overview.ranks.get(at);
    let name = name.map(|rank| rank.file.clone()).unwrap_or_default();
    view! { <p class="soft" data-testid="digest-only">"Only the digest of this rank is open. To see its trace, drop " <span class="mono">{name}</span> " here."</p> }.into_any()
}

/// The same figures as a table.
fn figures(map: Heatmap) -> Option<FactTable> {
    let all = map.rows.get();
    map.with_measure(|overview, measure| {
        let steps = overview.steps.iter();
        let steps = steps.map(|step| (format::capitalized(step), CellKind::Number));
        let rows = all.iter().map(|row| {
            let numbers = (0..overview.steps.len()).map(|step| value(measure, row, step));
            let numbers =
                numbers.map(|number| number.map_or_else(String::new, |value| measure.text(value)));
            FactRow {
                cells: std::iter::once(row.label()).chain(numbers).collect(),
                ..FactRow::default()
            }
        });
        Some(FactTable {
            title: format!("{} by rank and step", measure.label),
            columns: std::iter::once(("Rank".to_owned(), CellKind::Text))
                .chain(steps)
                .collect(),
            rows: rows.collect(),
        })
    })
}

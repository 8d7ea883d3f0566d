//! Ranks by steps: a cell for each, darker for higher values of the measure.

use std::sync::Arc;

use dormer_core::job::overview::Measure;
use dormer_core::report::fact_table::{CellKind, FactRow, FactTable};
use leptos::html::{Canvas, Div};
use web_sys::HtmlCanvasElement;

use super::scene::{Grid, LEVELS, Row, Scale, rows, token, value};
use crate::page::components::canvas::{
    CanvasState, Palette, context_of, letter_px, probes, text_px, write_whole,
};
use crate::page::prelude::*;
use crate::page::ranks::OpenJob;
use crate::page::url::toggle;

/// Height of the step axis below the cells.
const AXIS_PX: f64 = 20.0;

/// The heatmap of the measure at an index.
pub(super) fn heatmap(job: Arc<OpenJob>, measure: Memo<usize>) -> AnyView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let job = StoredValue::new(job);
    let opened = state.of_place(|place| place.focus.only.clone());
    let all_rows = Memo::new(move |_| {
        job.with_value(|job| opened.with(|opened| rows(&job.opened.overview.ranks, opened)))
    });
    let of_measure = move |read: &dyn Fn(&Measure) -> Option<String>| {
        job.with_value(|job| read(job.opened.overview.measures.get(measure.get())?))
    };
    let n_steps = job.with_value(|job| job.opened.overview.steps.len());
    let stage = CanvasState::default();
    let frame = NodeRef::<Div>::new();
    let canvas = NodeRef::<Canvas>::new();
    browser::follow_size(frame, move |width, _| stage.resize(width, 0.0));
    let grid = Memo::new(move |_| {
        let letters =
            all_rows.with(|rows| rows.iter().map(|row| row.label().chars().count()).max());
        let (width, _) = stage.size.get();
        let n_rows = all_rows.with(Vec::len);
        Grid::new(
            width,
            n_rows,
            n_steps,
            letters.unwrap_or(0),
            0.56 * text_px(),
        )
    });
    Effect::new(move || {
        state.theme().track();
        stage.read_colors(|| Some(tokens()));
    });
    Effect::new(move || {
        all_rows.track();
        grid.track();
        measure.track();
        stage.repaint(move || {
            let Some(canvas) = canvas.try_get_untracked().flatten() else {
                return;
            };
            job.try_with_value(|job| {
                let overview = &job.opened.overview;
                let shown = overview.measures.get(measure.get_untracked());
                if let Some(measure) = shown {
                    let (rows, palette) = (all_rows.get_untracked(), stage.palette.get_untracked());
                    let (grid, width) = (grid.get_untracked(), stage.size.get_untracked().0);
                    paint(
                        &canvas,
                        measure,
                        &rows,
                        &overview.steps,
                        &palette,
                        &grid,
                        width,
                    );
                }
            });
        });
    });

    // The selected cell: a rank and a step, which are in the address, or a node, which is only kept here.
    let chosen_host = RwSignal::new(None::<usize>);
    let chosen = Memo::new(move |_| {
        let (rank, step) = state
            .place
            .with(|place| (place.focus.row, place.focus.step));
        let step = step
            .map_or(0, |step| step as usize)
            .min(n_steps.saturating_sub(1));
        let host = chosen_host.get();
        let row = all_rows.with(|rows| {
            rows.iter().position(|row| match (row, host) {
                (Row::Host { host, .. }, Some(chosen)) => *host == chosen,
                (Row::Rank(_, number), None) => Some(*number) == rank,
                _ => false,
            })
        });
        row.map(|row| (row, step))
    });
    let choose = move |cell: Option<(usize, usize)>| {
        let row = cell.and_then(|(row, _)| all_rows.with_untracked(|rows| rows.get(row).cloned()));
        chosen_host.set(match &row {
            Some(Row::Host { host, .. }) => Some(*host),
            _ => None,
        });
        state.look_at(|focus| {
            focus.row = match row {
                Some(Row::Rank(_, number)) => Some(number),
                _ => None,
            };
            focus.step = cell.map(|(_, step)| step as u32);
        });
    };
    let open = move |(row, step): (usize, usize)| match all_rows
        .with_untracked(|rows| rows.get(row).cloned())
    {
        Some(Row::Host { host, .. }) => {
            state.look_at(|focus| toggle(&mut focus.only, token(host)));
        }
        Some(Row::Rank(at, _)) => engine.open_rank(at, Some(step)),
        None => {}
    };
    let says = move |(row, step): (usize, usize)| {
        let row = all_rows.with(|rows| rows.get(row).cloned())?;
        job.with_value(|job| {
            let overview = &job.opened.overview;
            let measure = overview.measures.get(measure.get())?;
            let number = value(measure, &row, step);
            let number =
                number.map_or_else(|| "not known".to_owned(), |number| measure.text(number));
            let who = match &row {
                Row::Rank(at, number) => match overview.ranks.get(*at) {
                    Some(rank) if !rank.host.is_empty() => {
                        format!("Rank {number} on {}", rank.host)
                    }
                    _ => format!("Rank {number}"),
                },
                Row::Host { name, ranks, .. } => {
                    format!(
                        "{name}, highest of {}",
                        format::counted(ranks.len() as u64, "rank")
                    )
                }
            };
            let step = overview.steps.get(step).cloned().unwrap_or_default();
            Some((
                format!("{who}, {step}"),
                format!("{}: {number}", measure.label),
            ))
        })
    };
    let pointed = RwSignal::new(None::<(usize, usize)>);
    let under = move |event: &MouseEvent| {
        let element = frame.get_untracked()?;
        let (x, y) = browser::pointer_in(&element, event);
        grid.get_untracked().at(x, y)
    };
    let clicked = move |event: MouseEvent| {
        let cell = under(&event);
        let is_host = cell.is_some_and(|(row, _)| {
            all_rows.with_untracked(|rows| matches!(rows.get(row), Some(Row::Host { .. })))
        });
        match cell {
            Some(cell) if is_host => {
                choose(Some(cell));
                open(cell);
            }
            cell => choose(cell),
        }
    };
    let clicked_twice = move |event: MouseEvent| {
        let is_rank = |row: usize| {
            all_rows.with_untracked(|rows| matches!(rows.get(row), Some(Row::Rank(..))))
        };
        if let Some(cell) = under(&event).filter(|(row, _)| is_rank(*row)) {
            open(cell);
        }
    };
    let on_key = move |event: KeyboardEvent| {
        if browser::has_modifier(&event) {
            return;
        }
        let last = grid.get_untracked().n_rows.saturating_sub(1);
        let here = chosen.get_untracked();
        let (row, step) = here.unwrap_or((0, 0));
        let next = match event.key().as_str() {
            "ArrowDown" => here.map_or((0, 0), |_| ((row + 1).min(last), step)),
            "ArrowUp" => (row.saturating_sub(1), step),
            "ArrowRight" => {
                here.map_or((0, 0), |_| (row, (step + 1).min(n_steps.saturating_sub(1))))
            }
            "ArrowLeft" => (row, step.saturating_sub(1)),
            "Home" => (0, step),
            "End" => (last, step),
            "Enter" | " " => {
                event.prevent_default();
                if let Some(cell) = here {
                    open(cell);
                }
                return;
            }
            "Escape" => {
                choose(None);
                return;
            }
            _ => return,
        };
        event.prevent_default();
        choose(Some(next));
    };
    let mark = move |class: &'static str, cell: Option<(usize, usize)>| {
        let grid = grid.get();
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
    };
    let tip = move || {
        let cell = pointed.get()?;
        let (who, number) = says(cell)?;
        let grid = grid.get();
        let (left, top) = grid.corner(cell.0, cell.1);
        let is_right = cell.1 * 2 >= n_steps;
        let from = if is_right { left } else { left + grid.step_px };
        Some(view! {
            <div
                class="tip"
                class:before=is_right
                aria-hidden="true"
                style:left=format!("{from:.0}px")
                style:top=format!("{:.0}px", top + grid.row_px)
            >
                <h3>{who}</h3>
                <p>{number}</p>
            </div>
        })
    };
    let height = move || grid.get().height_px() + AXIS_PX;
    let label = move || {
        let name = of_measure(&|measure| Some(measure.label.clone())).unwrap_or_default();
        format!(
            "{name} by rank and step. Arrow keys move between cells, Enter opens the trace of the rank at the step. The table below has the figures."
        )
    };
    let legend = move || {
        let ends = job.with_value(|job| {
            let measure = job.opened.overview.measures.get(measure.get())?;
            let scale = Scale::new(measure)?;
            Some([scale.lowest, scale.highest].map(|number| measure.text(number)))
        });
        ends.map(|[lowest, highest]| {
            let levels = each(0..LEVELS, |level| view! { <i class=format!("c-heat-{level}")></i> });
            view! { <p class="fine heat-scale" data-testid="heat-scale">{lowest} <span aria-hidden="true">{levels}</span> {highest}</p> }
        })
    };
    let about_chosen = move || {
        let cell = chosen.get()?;
        let (who, number) = says(cell)?;
        let row = all_rows.with(|rows| rows.get(cell.0).cloned())?;
        let acts = match row {
            Row::Host { is_open, .. } => {
                let label = if is_open {
                    "Hide its ranks"
                } else {
                    "Show its ranks"
                };
                view! { <button type="button" class="small" on:click=move |_| open(cell)>{label}</button> }.into_any()
            }
            Row::Rank(at, _) => open_buttons(job.get_value(), at, cell.1),
        };
        Some(view! { <p><b>{who}</b> " \u{b7} " {number}</p> {acts} })
    };
    view! {
        <div
            class="heatmap"
            node_ref=frame
            id="heatmap"
            tabindex="0"
            role="group"
            aria-roledescription="chart"
            aria-label=label
            style:height=move || format!("{:.0}px", height())
            on:mousemove=move |event| {
                let cell = under(&event);
                if pointed.get_untracked() != cell {
                    pointed.set(cell);
                }
            }
            on:mouseleave=move |_| pointed.set(None)
            on:click=clicked
            on:dblclick=clicked_twice
            on:keydown=on_key
        >
            <canvas node_ref=canvas aria-hidden="true" style:height=move || format!("{:.0}px", height())></canvas>
            {move || mark("cell", pointed.get())}
            {move || mark("cell chosen", chosen.get())}
            {tip}
        </div>
        {legend}
        <div class="heat-chosen" role="status" data-testid="heat-chosen">{about_chosen}</div>
        {probes(Signal::derive(tokens))}
        {twin(job, measure, all_rows)}
    }
    .into_any()
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

fn tokens() -> Vec<String> {
    (0..LEVELS).map(|level| format!("heat-{level}")).collect()
}

/// The same figures as a table, built when it is opened.
fn twin(
    job: StoredValue<Arc<OpenJob>>,
    measure: Memo<usize>,
    all_rows: Memo<Vec<Row>>,
) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let table = move || {
        is_open.get().then(|| {
            job.with_value(|job| {
                let overview = &job.opened.overview;
                let measure = overview.measures.get(measure.get())?;
                let steps = overview.steps.iter();
                let steps = steps.map(|step| (format::capitalized(step), CellKind::Number));
                let head = ("Rank".to_owned(), CellKind::Text);
                let rows = all_rows.get().into_iter().map(|row| {
                    let numbers = (0..overview.steps.len()).map(|step| value(measure, &row, step));
                    let numbers = numbers.map(|number| {
                        number.map_or_else(String::new, |number| measure.text(number))
                    });
                    FactRow {
                        cells: std::iter::once(row.label()).chain(numbers).collect(),
                        ..FactRow::default()
                    }
                });
                Some(facts_table(FactTable {
                    title: format!("{} by rank and step", measure.label),
                    columns: std::iter::once(head).chain(steps).collect(),
                    rows: rows.collect(),
                }))
            })
        })
    };
    view! {
        <details class="more" data-testid="heat-figures" on:toggle=move |_| is_open.set(true)>
            <summary>"Figures of the heatmap"</summary>
            {table}
        </details>
    }
}

fn paint(
    canvas: &HtmlCanvasElement,
    measure: &Measure,
    rows: &[Row],
    steps: &[String],
    palette: &Palette,
    grid: &Grid,
    width: f64,
) {
    let text_px = text_px();
    let Some(context) = context_of(canvas, width, grid.height_px() + AXIS_PX, text_px) else {
        return;
    };
    let scale = Scale::new(measure);
    let seam = |px: f64| if px > 5.0 { 1.0 } else { 0.0 };
    let (wide, high) = (
        grid.step_px - seam(grid.step_px),
        grid.row_px - seam(grid.row_px),
    );
    for (at, row) in rows.iter().enumerate() {
        for step in 0..grid.n_steps {
            let color = scale.zip(value(measure, row, step));
            let color = color.and_then(|(scale, number)| palette.blocks.get(scale.level(number)));
            if let Some((color, _)) = color {
                let (left, top) = grid.corner(at, step);
                context.set_fill_style_str(color);
                context.fill_rect(left, top, wide.max(0.5), high.max(0.5));
            }
        }
    }
    context.set_fill_style_str(&palette.ink);
    let mut written_to = 0.0;
    for (at, row) in rows.iter().enumerate() {
        let (_, top) = grid.corner(at, 0);
        let y = (top + grid.row_px / 2.0 + text_px / 3.0).max(text_px);
        // Labels that do not fit are left to the table.
        if y - text_px >= written_to {
            let _ = context.fill_text_with_max_width(&row.label(), 0.0, y, grid.gutter_px - 6.0);
            written_to = y + 0.2 * text_px;
        }
    }
    let longest = steps
        .iter()
        .map(|step| step.chars().count())
        .max()
        .unwrap_or(0);
    let needed = (longest as f64 + 1.0) * letter_px(&context);
    let every = (needed / grid.step_px.max(0.1)).ceil().max(1.0) as usize;
    for (at, step) in steps.iter().enumerate().step_by(every) {
        let (left, _) = grid.corner(0, at);
        write_whole(
            &context,
            step,
            left,
            width,
            grid.height_px() + AXIS_PX - 5.0,
        );
    }
}

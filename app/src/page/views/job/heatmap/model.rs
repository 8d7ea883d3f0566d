//! What the heatmap shows, and its hovered and its selected cell.

use std::sync::Arc;

use dormer_core::job::overview::{JobOverview, Measure};

use super::scene::{Grid, Row, rows, token, value};
use crate::page::components::canvas::{CanvasState, text_px};
use crate::page::prelude::*;
use crate::page::ranks::OpenJob;
use crate::page::url::toggle;

/// A row and a step.
pub(super) type Cell = (usize, usize);

/// The signals of the heatmap. `Copy`, so pass it around.
#[derive(Clone, Copy)]
pub(super) struct Heatmap {
    pub(super) state: AppState,
    engine: Engine,
    pub(super) job: StoredValue<Arc<OpenJob>>,
    /// The index of its measure.
    pub(super) measure: Memo<usize>,
    pub(super) rows: Memo<Vec<Row>>,
    pub(super) grid: Memo<Grid>,
    pub(super) canvas: CanvasState,
    /// The cell under the pointer.
    pub(super) hovered: RwSignal<Option<Cell>>,
    /// The selected cell: a rank and a step, which are in the address, or a node.
    pub(super) chosen: Memo<Option<Cell>>,
    /// The selected node, which is only kept here.
    chosen_host: RwSignal<Option<usize>>,
}

impl Heatmap {
    pub(super) fn new(job: Arc<OpenJob>, measure: Memo<usize>) -> Heatmap {
        let state = expect_context::<AppState>();
        let n_steps = job.opened.overview.steps.len();
        let job = StoredValue::new(job);
        let unfolded = state.of_place(|place| place.focus.only.clone());
        let rows = Memo::new(move |_| {
            job.with_value(|job| unfolded.with(|hosts| rows(&job.opened.overview.ranks, hosts)))
        });
        let canvas = CanvasState::default();
        let grid = Memo::new(move |_| {
            let (width, _) = canvas.size.get();
            rows.with(|rows| {
                let letters = rows.iter().map(|row| row.label().chars().count()).max();
                let letters = letters.unwrap_or(0);
                Grid::new(width, rows.len(), n_steps, letters, 0.56 * text_px())
            })
        });
        let chosen_host = RwSignal::new(None::<usize>);
        let chosen = Memo::new(move |_| {
            let (rank, step) = state
                .place
                .with(|place| (place.focus.row, place.focus.step));
            let step = step.map_or(0, |step| step as usize);
            let host = chosen_host.get();
            let is_chosen = |row: &Row| match (row, host) {
                (Row::Host { host, .. }, Some(chosen)) => *host == chosen,
                (Row::Rank(_, number), None) => Some(*number) == rank,
                _ => false,
            };
            let row = rows.with(|rows| rows.iter().position(is_chosen));
            row.map(|row| (row, step.min(n_steps.saturating_sub(1))))
        });
        Heatmap {
            state,
            engine: expect_context::<Engine>(),
            job,
            measure,
            rows,
            grid,
            canvas,
            hovered: RwSignal::new(None),
            chosen,
            chosen_host,
        }
    }

    /// A value from the job and the shown measure.
    pub(super) fn with_measure<T>(
        self,
        read: impl FnOnce(&JobOverview, &Measure) -> Option<T>,
    ) -> Option<T> {
        let at = self.measure.get();
        self.job.try_with_value(|job| {
            let overview = &job.opened.overview;
            read(overview, overview.measures.get(at)?)
        })?
    }

    pub(super) fn row(self, at: usize) -> Option<Row> {
        self.rows.with(|rows| rows.get(at).cloned())
    }

    /// What a cell stands for, and its value, in words.
    pub(super) fn describe(self, (row, step): Cell) -> Option<(String, String)> {
        let row = self.row(row)?;
        self.with_measure(|overview, measure| {
            let number = value(measure, &row, step);
            let number = number.map_or_else(|| "unknown".to_owned(), |value| measure.text(value));
            let subject = match &row {
                Row::Rank(at, number) => match overview.ranks.get(*at) {
                    Some(rank) if !rank.host.is_empty() => {
                        format!("Rank {number} on {}", rank.host)
                    }
                    _ => format!("Rank {number}"),
                },
                Row::Host { name, ranks, .. } => {
                    let ranks = format::counted(ranks.len() as u64, "rank");
                    format!("{name}, highest of {ranks}")
                }
            };
            let step = overview.steps.get(step).cloned().unwrap_or_default();
            Some((
                format!("{subject}, {step}"),
                format!("{}: {number}", measure.label),
            ))
        })
    }

    /// Selects a cell; `None` clears the selection.
    pub(super) fn choose(self, cell: Option<Cell>) {
        let row = cell.and_then(|(row, _)| untrack(|| self.row(row)));
        self.chosen_host.set(match &row {
            Some(Row::Host { host, .. }) => Some(*host),
            _ => None,
        });
        self.state.look_at(|focus| {
            focus.row = match row {
                Some(Row::Rank(_, number)) => Some(number),
                _ => None,
            };
            focus.step = cell.map(|(_, step)| step as u32);
        });
    }

    /// Folds or unfolds a node, or opens the trace of a rank at the step.
    pub(super) fn open(self, (row, step): Cell) {
        match untrack(|| self.row(row)) {
            Some(Row::Host { host, .. }) => {
                self.state
                    .look_at(|focus| toggle(&mut focus.only, token(host)));
            }
            Some(Row::Rank(at, _)) => self.engine.open_rank(at, Some(step)),
            None => {}
        }
    }

    /// A click selects a cell, and unfolds a node.
    pub(super) fn click(self, cell: Option<Cell>) {
        self.choose(cell);
        if let Some(cell) = cell.filter(|cell| self.is_host(*cell)) {
            self.open(cell);
        }
    }

    /// A double click opens the trace of a rank.
    pub(super) fn double_click(self, cell: Option<Cell>) {
        if let Some(cell) = cell.filter(|cell| !self.is_host(*cell)) {
            self.open(cell);
        }
    }

    fn is_host(self, (row, _): Cell) -> bool {
        matches!(untrack(|| self.row(row)), Some(Row::Host { .. }))
    }

    pub(super) fn press(self, event: &KeyboardEvent) {
        if browser::has_modifier(event) {
            return;
        }
        let grid = self.grid.get_untracked();
        let [last_row, last_step] = [grid.n_rows, grid.n_steps].map(|n| n.saturating_sub(1));
        let here = self.chosen.get_untracked();
        let (row, step) = here.unwrap_or((0, 0));
        let next = match event.key().as_str() {
            "ArrowDown" => here.map_or((0, 0), |_| ((row + 1).min(last_row), step)),
            "ArrowUp" => (row.saturating_sub(1), step),
            "ArrowRight" => here.map_or((0, 0), |_| (row, (step + 1).min(last_step))),
            "ArrowLeft" => (row, step.saturating_sub(1)),
            "Home" => (0, step),
            "End" => (last_row, step),
            "Enter" | " " => {
                event.prevent_default();
                here.into_iter().for_each(|cell| self.open(cell));
                return;
            }
            "Escape" => {
                self.choose(None);
                return;
            }
            _ => return,
        };
        event.prevent_default();
        self.choose(Some(next));
    }
}

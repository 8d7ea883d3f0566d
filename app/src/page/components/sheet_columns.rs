//! The columns of a sheet's table: those that the sheet has, the user's choices, and their widths in a window.

use super::table_column::letters;
use super::table_grip::grip;
use super::table_layout::{ColumnChoice, TableLayout};
use crate::page::prelude::*;

/// The columns of a sheet's table. `Copy`, so pass it around.
#[derive(Clone, Copy)]
pub struct SheetColumns {
    /// The sheet's name.
    pub sheet: &'static str,
    /// All columns that the table supports.
    all: &'static [TableColumn],
    /// Those that the sheet has, in the table's default order.
    pub known: Memo<Vec<&'static TableColumn>>,
    /// The user's choices.
    pub choice: Memo<ColumnChoice>,
    /// Those that the sheet has, in the user's order.
    pub arranged: Memo<Vec<&'static TableColumn>>,
}

/// The columns as shown in a window.
#[derive(Clone, Copy)]
pub struct ShownColumns {
    pub shown: Memo<Vec<&'static TableColumn>>,
    /// The column that is a second line of the first one.
    pub below: Memo<Option<&'static TableColumn>>,
    pub layout: Memo<TableLayout>,
    /// The number of letters that fit each column of the table.
    pub max_letters: Memo<Vec<usize>>,
}

impl SheetColumns {
    /// Only columns with a description exist in this sheet: others, such as those of the roofline without a GPU, do
    /// not. Until the descriptions are known, all.
    pub fn new(
        state: AppState,
        sheet: &'static str,
        all: &'static [TableColumn],
        docs: RwSignal<Vec<Option<String>>>,
    ) -> SheetColumns {
        let known = Memo::new(move |_| {
            docs.with(|docs| {
                let is_known = |position: usize| docs.get(position).is_none_or(Option::is_some);
                let columns = all.iter().enumerate();
                let known = columns.filter(|(position, _)| is_known(*position));
                known.map(|(_, column)| column).collect::<Vec<_>>()
            })
        });
        let choice = Memo::new(move |_| {
            let chosen = state.columns.with(|columns| columns.get(sheet).cloned());
            chosen.unwrap_or_default()
        });
        SheetColumns {
            sheet,
            all,
            known,
            choice,
            arranged: Memo::new(move |_| choice.with(|choice| choice.arranged(&known.get()))),
        }
    }

    /// The columns as shown in a window whose width, in design pixels, may change.
    pub fn shown(self, window_px: RwSignal<f64>) -> ShownColumns {
        ShownColumns {
            shown: Memo::new(move |_| self.shown_in(window_px.get())),
            below: Memo::new(move |_| self.below_in(window_px.get())),
            layout: Memo::new(move |_| self.layout_in(window_px.get())),
            max_letters: Memo::new(move |_| self.max_letters_in(window_px.get())),
        }
    }

    fn shown_in(self, window_px: f64) -> Vec<&'static TableColumn> {
        let choice = self.choice.read();
        self.arranged
            .with(|arranged| choice.shown(arranged, window_px))
    }

    fn below_in(self, window_px: f64) -> Option<&'static TableColumn> {
        let choice = self.choice.read();
        self.arranged
            .with(|arranged| choice.below(arranged, window_px))
    }

    fn layout_in(self, window_px: f64) -> TableLayout {
        let shown = self.shown_in(window_px);
        let pinned = shown.iter().filter(|column| self.is_pinned(column));
        let n_pinned = pinned.count();
        self.choice
            .with(|choice| TableLayout::new(&shown, n_pinned, choice, window_px))
    }

    /// The number of letters that fit each column of the table.
    pub fn max_letters_in(self, window_px: f64) -> Vec<usize> {
        let shown = self.shown_in(window_px);
        let layout = self.layout_in(window_px);
        let below = self.below_in(window_px);
        let room = |(at, column): (usize, &'static TableColumn)| {
            let is_below = below == Some(column);
            let around = if is_below {
                self.all.first()
            } else {
                Some(column)
            };
            let place = shown.iter().position(|one| Some(*one) == around);
            let px = place.and_then(|place| layout.px.get(place));
            let has_mark = at == 0 || is_below;
            px.map_or(0, |px| letters(column.width, *px, has_mark, window_px))
        };
        self.all.iter().enumerate().map(room).collect()
    }

    /// Whether a column is pinned at the left.
    pub fn is_pinned(self, column: &TableColumn) -> bool {
        let choice = self.choice.read();
        self.known.with(|known| choice.is_pinned(known, column))
    }

    /// Changes the user's choices; choices equal to the defaults are dropped.
    pub fn choose(self, state: AppState, change: impl FnOnce(&mut ColumnChoice)) {
        state.columns.update(|all| {
            let mut choice = all.remove(self.sheet).unwrap_or_default();
            change(&mut choice);
            if choice != ColumnChoice::default() {
                all.insert(self.sheet, choice);
            }
        });
    }

    /// The edge of a column header, for resizing.
    pub fn edge(
        self,
        state: AppState,
        in_window: ShownColumns,
        column: &'static TableColumn,
    ) -> AnyView {
        let ShownColumns { shown, layout, .. } = in_window;
        let px = Signal::derive(move || {
            let place = shown.with(|shown| shown.iter().position(|one| *one == column));
            let px = place.and_then(|at| layout.with(|layout| layout.px.get(at).copied()));
            px.unwrap_or_default()
        });
        let is_own = move || self.choice.with(|choice| choice.px(column.label).is_some());
        grip(column.heading, px, Signal::derive(is_own), move |px| {
            self.choose(state, |choice| choice.set_px(column.label, px));
        })
    }
}

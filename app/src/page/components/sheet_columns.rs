//! The columns of a sheet's table: those that the sheet has, what the user chose of them, and how wide
//! they are in a window.

use super::table_column::letters;
use super::table_grip::grip;
use super::table_layout::{ColumnChoice, TableLayout};
use crate::page::prelude::*;

/// The columns of a sheet's table. Copy: pass it around.
#[derive(Clone, Copy)]
pub struct SheetColumns {
    /// The sheet's name.
    pub sheet: &'static str,
    /// All that the table can have.
    all: &'static [TableColumn],
    /// Those that the sheet has, in the order that the table has of itself.
    pub known: Memo<Vec<&'static TableColumn>>,
    /// What the user chose.
    pub choice: Memo<ColumnChoice>,
    /// All that the sheet has, in the order that the user chose.
    pub arranged: Memo<Vec<&'static TableColumn>>,
}

/// Columns as they are shown in a window.
#[derive(Clone, Copy)]
pub struct ShownColumns {
    pub shown: Memo<Vec<&'static TableColumn>>,
    pub layout: Memo<TableLayout>,
    /// The letters that each column of the table has room for.
    pub rooms: Memo<Vec<usize>>,
}

impl SheetColumns {
    /// Of all that the table can have those that have a description: others, such as those of the
    /// roofline without a GPU, this sheet does not have. Until that is known, all.
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

    /// As they are shown in a window of a width that may change, in pixels of the design.
    pub fn shown(self, window_px: RwSignal<f64>) -> ShownColumns {
        ShownColumns {
            shown: Memo::new(move |_| self.shown_in(window_px.get())),
            layout: Memo::new(move |_| self.layout_in(window_px.get())),
            rooms: Memo::new(move |_| self.rooms_in(window_px.get())),
        }
    }

    fn shown_in(self, window_px: f64) -> Vec<&'static TableColumn> {
        let choice = self.choice.read();
        self.arranged
            .with(|arranged| choice.shown(arranged, window_px))
    }

    fn layout_in(self, window_px: f64) -> TableLayout {
        let shown = self.shown_in(window_px);
        let pinned = shown.iter().filter(|column| self.is_pinned(column));
        let n_pinned = pinned.count();
        self.choice
            .with(|choice| TableLayout::new(&shown, n_pinned, choice, window_px))
    }

    /// The letters that each column of the table has room for.
    pub fn rooms_in(self, window_px: f64) -> Vec<usize> {
        let shown = self.shown_in(window_px);
        let layout = self.layout_in(window_px);
        let room = |(at, column): (usize, &'static TableColumn)| {
            let place = shown.iter().position(|one| *one == column);
            let px = place.and_then(|place| layout.px.get(place));
            px.map_or(0, |px| letters(column.width, *px, at == 0, window_px))
        };
        self.all.iter().enumerate().map(room).collect()
    }

    /// Whether a column stays at the left.
    pub fn is_pinned(self, column: &TableColumn) -> bool {
        let choice = self.choice.read();
        self.known.with(|known| choice.is_pinned(known, column))
    }

    /// Changes what the user chose; what is as usual again is forgotten.
    pub fn choose(self, state: AppState, change: impl FnOnce(&mut ColumnChoice)) {
        state.columns.update(|all| {
            let mut choice = all.remove(self.sheet).unwrap_or_default();
            change(&mut choice);
            if choice != ColumnChoice::default() {
                all.insert(self.sheet, choice);
            }
        });
    }

    /// The edge of a column's head, by which it is resized.
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

//! The rows of a sheet's table: requested from the worker as filter, order and column widths say; sorted, selected and
//! marked.

use std::collections::BTreeSet;

use gloo::timers::callback::Timeout;

use super::sheet_columns::{SheetColumns, ShownColumns};
use crate::page::prelude::*;
use crate::protocol::{RowsQuery, Sort, TableRow};

/// Names are shortened again once the column widths have been stable for this long, in milliseconds.
const SETTLED_MS: u32 = 150;

impl VirtualRow for TableRow {
    fn id(&self) -> u32 {
        self.row as u32
    }
}

/// The search, the shown categories, and the user's sort order.
type Order = (String, Vec<String>, Option<Sort>);

/// The rows of a sheet. `Copy`, so pass it around.
#[derive(Clone, Copy)]
pub(super) struct SheetRows {
    state: AppState,
    sheet: &'static str,
    columns: &'static [TableColumn],
    pub(super) rows: VirtualRows<TableRow>,
    /// The number of rows without a filter.
    pub(super) n_all: RwSignal<usize>,
    /// The columns with the user's choices, and as shown in the window.
    pub(super) arrangement: SheetColumns,
    pub(super) in_window: ShownColumns,
    pub(super) selected: Memo<Option<u32>>,
    /// Hints about the search.
    pub(super) remarks: RwSignal<Vec<String>>,
    /// The description of each column; `None` if the sheet does not have it.
    docs: RwSignal<Vec<Option<String>>>,
    order: Memo<Order>,
    /// The sort order without a choice of the user.
    own_order: RwSignal<Option<Sort>>,
}

impl SheetRows {
    pub(super) fn new(sheet: &'static str, columns: &'static [TableColumn]) -> SheetRows {
        let state = expect_context::<AppState>();
        let engine = expect_context::<Engine>();
        let focus = state.focus();
        let order = Memo::new(move |_| {
            focus.with(|focus| (focus.find.clone(), focus.only.clone(), focus.sort.clone()))
        });
        let n_all = RwSignal::new(0_usize);
        let docs = RwSignal::new(Vec::<Option<String>>::new());
        let remarks = RwSignal::new(Vec::<String>::new());
        let own_order = RwSignal::new(None::<Sort>);
        let arrangement = SheetColumns::new(state, sheet, columns, docs);
        // The URL may name a row: its position is known once the first rows arrive.
        let wanted = StoredValue::new(focus.with_untracked(|focus| focus.row));
        let asked_letters = StoredValue::new(Vec::new());
        let rows = VirtualRows::new(state, move |rows, list, offset, count| {
            let (find, only, sort) = order.get_untracked();
            let max_letters = untrack(|| arrangement.max_letters_in(rows.window.width_px.get()));
            asked_letters.set_value(max_letters.clone());
            let query = RowsQuery {
                is_plain: false,
                max_letters,
                sheet: sheet.to_owned(),
                columns: each(columns, |column| column.label.to_owned()),
                find,
                only,
                sort,
                offset,
                count,
                locate: wanted.get_value().map(|row| row as usize),
            };
            engine.ask(query, move |page| {
                if !rows.accept(list, page.matching, page.offset, page.rows) {
                    return;
                }
                n_all.set(page.total);
                set_changed(docs, page.docs);
                set_changed(remarks, page.remarks);
                set_changed(own_order, page.own_order);
                rows.show_wanted(wanted, page.located);
            });
        });
        renew_on_change(state, rows, order);
        let selected = Memo::new(move |_| focus.with(|focus| focus.row));
        rows.follow(selected, wanted);
        let in_window = arrangement.shown(rows.window.width_px);
        renew_on_resize(rows, in_window.max_letters, asked_letters);
        SheetRows {
            state,
            sheet,
            columns,
            rows,
            n_all,
            arrangement,
            in_window,
            selected,
            remarks,
            docs,
            order,
            own_order,
        }
    }

    /// Marks a row to be added up, or unmarks it.
    fn mark(self, position: usize) {
        if let Some(row) = self.rows.drawn(position) {
            self.rows.window.marked.update(|marked| {
                if !marked.remove(&row.id()) {
                    marked.insert(row.id());
                }
            });
        }
    }

    /// Handles an action on a row; `true` if a key was handled.
    pub(super) fn act(self, act: &RowAct) -> bool {
        let window = self.rows.window;
        match act {
            RowAct::Pick(position) => window.cursor.set(Some(*position)),
            RowAct::Toggle(_) => {}
            RowAct::Mark(position) => self.mark(*position),
            RowAct::MarkTo(position) => {
                let from = window.cursor.get_untracked().unwrap_or(*position);
                let between = from.min(*position)..=from.max(*position);
                let ids = between.filter_map(|at| Some(self.rows.drawn(at)?.id()));
                window.marked.update(|marked| marked.extend(ids));
            }
            RowAct::Press(event) => return self.press(event),
        }
        false
    }

    fn press(self, event: &KeyboardEvent) -> bool {
        let window = self.rows.window;
        let is_selected = self.selected.get_untracked().is_some();
        let has_details = is_selected && op_details::has_details(self.sheet);
        match event.key().as_str() {
            "Enter" if has_details => {
                op_details::enter(self.state);
                return true;
            }
            " " => {
                if let Some(position) = window.cursor.get_untracked() {
                    self.mark(position);
                }
                return true;
            }
            "Escape" if !window.marked.with_untracked(BTreeSet::is_empty) => {
                window.marked.update(BTreeSet::clear);
            }
            "Escape" => {
                window.cursor.set(None);
                self.state.look_at(|focus| focus.row = None);
            }
            _ => {}
        }
        false
    }

    /// The heading of a column, which sorts the rows.
    pub(super) fn heading(self, column: &'static TableColumn) -> AnyView {
        let doc = move || {
            let at = self
                .columns
                .iter()
                .position(|one| one.label == column.label);
            self.docs.with(|docs| docs.get(at?).cloned().flatten())
        };
        let sort = move || {
            let chosen = self.order.with(|(.., sort)| sort.clone());
            chosen.or_else(|| self.own_order.get())
        };
        sort_heading(
            (column.heading, column.unit),
            column.label,
            column.width.is_number(),
            Signal::derive(doc),
            Signal::derive(sort),
            move |sort| self.state.look_at(|focus| focus.sort = sort),
            Some(self.arrangement.edge(self.state, self.in_window, column)),
        )
    }
}

/// Requests the rows again if their order or the report changes.
fn renew_on_change(state: AppState, rows: VirtualRows<TableRow>, order: Memo<Order>) {
    let window = rows.window;
    // Another report may have other rows.
    Effect::watch(
        move || state.report.get(),
        move |_, _, _| window.marked.update(BTreeSet::clear),
        false,
    );
    Effect::watch(
        move || (order.get(), state.report.get()),
        move |new, old, _| {
            // Another report of the same trace keeps the scroll position; another order starts at the top.
            match old {
                Some(old) if old.0 != new.0 => rows.restart(),
                _ => rows.renew(),
            }
        },
        false,
    );
    Effect::watch(
        move || order.get(),
        move |_, _, _| window.cursor.set(None),
        false,
    );
}

/// An unchanged value does not trigger the signal.
fn set_changed<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|old| *old != value) {
        signal.set(value);
    }
}

/// Requests the rows again if other column widths shorten their names elsewhere.
fn renew_on_resize(
    rows: VirtualRows<TableRow>,
    max_letters: Memo<Vec<usize>>,
    asked_letters: StoredValue<Vec<usize>>,
) {
    let timeout = StoredValue::new_local(None::<Timeout>);
    Effect::watch(
        move || max_letters.get(),
        move |_, _, _| {
            let renew = move || {
                let is_other = asked_letters.try_with_value(|asked| {
                    max_letters.try_with_untracked(|now| now != asked) == Some(true)
                });
                if is_other == Some(true) {
                    rows.renew();
                }
            };
            timeout.set_value(Some(Timeout::new(SETTLED_MS, renew)));
        },
        false,
    );
}

//! A long list, of which only the rows near the window are loaded.
//!
//! Rows come from the worker in pages. Pages near the window are cached; while a page is loading, the rows of the
//! previous list stay, so that nothing flickers when the order or the filter changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::page::prelude::*;
use crate::protocol::Branch;

/// Rows requested at once.
const PAGE: usize = 50;
/// Pages cached.
const MAX_PAGES: usize = 80;

/// A row of a list.
pub trait VirtualRow: Send + Sync + 'static {
    /// Its id in the address; constant while the trace is open.
    fn id(&self) -> u32;

    /// Its position in a tree.
    fn branch(&self) -> Option<Branch> {
        None
    }
}

/// The slot of a row. When a slot changes, its row is redrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Its position in the list.
    pub position: usize,
    list: u32,
    /// Whether the row has arrived.
    is_here: bool,
}

/// Rows with the number of their list: a page requested before the list changed belongs to an older one.
#[derive(Clone)]
struct Page<T> {
    list: u32,
    rows: Arc<[Arc<T>]>,
}

/// A long list, with a window onto it and a cursor that the address follows. `Copy`, so pass it around.
pub struct VirtualRows<T: VirtualRow> {
    /// The visible part.
    pub window: RowWindow,
    list: RwSignal<u32>,
    pages: RwSignal<BTreeMap<usize, Page<T>>>,
    requested: StoredValue<BTreeSet<usize>>,
}

impl<T: VirtualRow> Clone for VirtualRows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: VirtualRow> Copy for VirtualRows<T> {}

impl<T: VirtualRow> VirtualRows<T> {
    /// A list that is loaded with `fetch(rows, list, offset, count)`. The answer goes to [`VirtualRows::accept`] with
    /// the same `list`.
    pub fn new(state: AppState, fetch: impl Fn(Self, u32, usize, usize) + 'static) -> Self {
        let rows = VirtualRows {
            window: RowWindow::at_start(),
            list: RwSignal::new(0),
            pages: RwSignal::new(BTreeMap::new()),
            requested: StoredValue::new(BTreeSet::new()),
        };
        Effect::new(move || {
            let list = rows.list.get();
            let drawn = rows.window.drawn.with(|drawn| drawn.rows.clone());
            // The first page says how many rows there are.
            let wanted = drawn.start / PAGE..=drawn.end.saturating_sub(1) / PAGE;
            for page in wanted {
                let is_new = rows
                    .requested
                    .try_update_value(|requested| requested.insert(page));
                if is_new == Some(true) {
                    fetch(rows, list, page * PAGE, PAGE);
                }
            }
        });
        // The cursor may be on a row that is still loading.
        let is_moved = StoredValue::new(false);
        let select = move || {
            let row = rows.at_cursor();
            // Rows that arrive again are not selected again after their details were closed.
            let is_selected = || {
                state
                    .place
                    .with_untracked(|place| place.focus.row.is_some())
            };
            if let Some(row) = row.filter(|_| is_moved.get_value() || is_selected()) {
                is_moved.set_value(false);
                state.look_at(|focus| focus.row = Some(row.id()));
            }
        };
        Effect::watch(
            move || rows.window.cursor.get(),
            move |_, _, _| {
                is_moved.set_value(true);
                select();
            },
            true,
        );
        Effect::new(select);
        rows
    }

    /// The list has changed: another order, filter or trace.
    pub fn renew(self) {
        self.requested.update_value(BTreeSet::clear);
        self.list.update(|list| *list += 1);
    }

    /// As [`VirtualRows::renew`], and the new list is shown from its start.
    pub fn restart(self) {
        self.window.restart();
        self.renew();
    }

    /// A row may be selected elsewhere, by a link or a mark in a chart: then the list is requested again, with that row
    /// as `wanted`.
    pub fn follow(self, selected: Memo<Option<u32>>, wanted: StoredValue<Option<u32>>) {
        Effect::watch(
            move || selected.get(),
            move |selected, _, _| {
                let here = untrack(|| self.at_cursor()).map(|row| row.id());
                if selected.is_some() && *selected != here {
                    wanted.set_value(*selected);
                    self.renew();
                }
            },
            false,
        );
    }

    /// Moves the cursor to the `wanted` row, whose position has arrived if the list contains it.
    pub fn show_wanted(self, wanted: StoredValue<Option<u32>>, located: Option<usize>) {
        wanted.set_value(None);
        if let Some(position) = located {
            self.window.cursor.set(Some(position));
            self.window.show_in_middle(position);
        }
    }

    /// Whether the view with these rows was left, which a late answer has to check.
    pub fn are_gone(self) -> bool {
        self.list.try_get_untracked().is_none()
    }

    /// Accepts a page that `fetch` requested; `false` if the list has changed since, or the view is gone.
    pub fn accept(self, list: u32, total: usize, offset: usize, rows: Vec<T>) -> bool {
        if self.list.try_get_untracked() != Some(list) {
            return false;
        }
        let here = self.window.drawn.with_untracked(|drawn| drawn.rows.start) / PAGE;
        self.pages.update(|pages| {
            let rows = rows.into_iter().map(Arc::new).collect();
            pages.insert(offset / PAGE, Page { list, rows });
            while pages.len() > MAX_PAGES {
                let Some(farthest) = pages.keys().copied().max_by_key(|page| page.abs_diff(here))
                else {
                    break;
                };
                pages.remove(&farthest);
                self.requested.update_value(|requested| {
                    requested.remove(&farthest);
                });
            }
        });
        if self.window.total.get_untracked() != total {
            self.window.total.set(total);
        }
        if !self.window.arrived.get_untracked() {
            self.window.arrived.set(true);
        }
        true
    }

    /// The slots to draw.
    pub fn slots(self) -> Vec<Slot> {
        let drawn = self.window.drawn.with(|drawn| drawn.rows.clone());
        let slot = |pages: &BTreeMap<usize, Page<T>>, position: usize| {
            let page = pages.get(&(position / PAGE));
            Slot {
                position,
                list: page.map_or(0, |page| page.list),
                is_here: page.is_some_and(|page| position % PAGE < page.rows.len()),
            }
        };
        self.pages
            .with(|pages| drawn.map(|position| slot(pages, position)).collect())
    }

    /// The row drawn at a position; until the new list arrives, a row of the previous one.
    pub fn drawn(self, position: usize) -> Option<Arc<T>> {
        self.pages.with_untracked(|pages| {
            let page = pages.get(&(position / PAGE))?;
            page.rows.get(position % PAGE).cloned()
        })
    }

    /// Whether a row with this id is drawn.
    pub fn is_drawn(self, id: u32) -> bool {
        let mut slots = self.slots().into_iter();
        slots.any(|slot| self.drawn(slot.position).is_some_and(|row| row.id() == id))
    }

    /// The row at the cursor, once it has arrived.
    pub fn at_cursor(self) -> Option<Arc<T>> {
        let position = self.window.cursor.get()?;
        let list = self.list.get();
        self.pages.with(|pages| {
            let page = pages.get(&(position / PAGE))?;
            let row = page.rows.get(position % PAGE).cloned();
            row.filter(|_| page.list == list)
        })
    }
}

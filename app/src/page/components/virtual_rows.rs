//! A long list of rows of which only those near the window are here.
//!
//! Rows come from the worker in pages. Those near the window are kept; while a page is on its way
//! the rows of the list before stay where they are, so that nothing blinks when an order or a
//! filter changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::page::prelude::*;
use crate::protocol::Branch;

/// Rows asked for at once.
const PAGE: usize = 50;
/// Pages kept.
const MAX_PAGES: usize = 80;

/// What a list consists of.
pub trait VirtualRow: Send + Sync + 'static {
    /// What the address calls it; the same while the trace is open.
    fn id(&self) -> u32;

    /// Where it stands in a tree.
    fn branch(&self) -> Option<Branch> {
        None
    }
}

/// Where a row stands. When one changes, the row is drawn anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Its position in the list.
    pub position: usize,
    list: u32,
    /// It has arrived.
    is_here: bool,
}

/// Rows with their list: a page that was asked for before the list changed is of an older one.
#[derive(Clone)]
struct Page<T> {
    list: u32,
    rows: Arc<[Arc<T>]>,
}

/// A long list, with a window onto it and a cursor that the address follows. Copy: pass it around.
pub struct VirtualRows<T: VirtualRow> {
    /// The part of it that is seen.
    pub window: RowWindow,
    list: RwSignal<u32>,
    pages: RwSignal<BTreeMap<usize, Page<T>>>,
    asked: StoredValue<BTreeSet<usize>>,
}

impl<T: VirtualRow> Clone for VirtualRows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: VirtualRow> Copy for VirtualRows<T> {}

impl<T: VirtualRow> VirtualRows<T> {
    /// A list that `fetch(rows, list, offset, count)` asks for. The answer goes to
    /// [`VirtualRows::accept`] with the same `list`.
    pub fn new(state: AppState, fetch: impl Fn(Self, u32, usize, usize) + 'static) -> Self {
        let rows = VirtualRows {
            window: RowWindow::at_start(),
            list: RwSignal::new(0),
            pages: RwSignal::new(BTreeMap::new()),
            asked: StoredValue::new(BTreeSet::new()),
        };
        Effect::new(move || {
            let list = rows.list.get();
            let drawn = rows.window.drawn.with(|drawn| drawn.rows.clone());
            // The first page tells how many there are.
            let wanted = drawn.start / PAGE..=drawn.end.saturating_sub(1) / PAGE;
            for page in wanted {
                let is_new = rows.asked.try_update_value(|asked| asked.insert(page));
                if is_new == Some(true) {
                    fetch(rows, list, page * PAGE, PAGE);
                }
            }
        });
        // The cursor may stand on a row that is still on its way.
        let is_moved = StoredValue::new(false);
        let select = move || {
            let row = rows.at_cursor();
            // What arrives anew is not selected again after its details were closed.
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

    /// The list is another one now: another order, filter or trace.
    pub fn renew(self) {
        self.asked.update_value(BTreeSet::clear);
        self.list.update(|list| *list += 1);
    }

    /// As [`VirtualRows::renew`], and the new list is shown from its start.
    pub fn restart(self) {
        self.window.restart();
        self.renew();
    }

    /// A row may be selected elsewhere, by a link or a mark in a chart: then the list is asked for anew, with that
    /// row as what is `wanted`.
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

    /// The view that shows them was left, as an answer may find that was long on its way.
    pub fn are_gone(self) -> bool {
        self.list.try_get_untracked().is_none()
    }

    /// Takes a page that `fetch` asked for; `false` if the list is another one by now, or the view
    /// is gone.
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
                self.asked.update_value(|asked| {
                    asked.remove(&farthest);
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

    /// Where the rows to draw stand.
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

    /// The row that is drawn at a position, until another list is here one of the list before.
    pub fn drawn(self, position: usize) -> Option<Arc<T>> {
        self.pages.with_untracked(|pages| {
            let page = pages.get(&(position / PAGE))?;
            page.rows.get(position % PAGE).cloned()
        })
    }

    /// Whether one of the rows that are drawn is called so by the address.
    pub fn is_drawn(self, id: u32) -> bool {
        let mut slots = self.slots().into_iter();
        slots.any(|slot| self.drawn(slot.position).is_some_and(|row| row.id() == id))
    }

    /// The row the cursor stands on, once it is here.
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

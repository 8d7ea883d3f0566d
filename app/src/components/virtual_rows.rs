//! A long list of rows of equal height, of which only the visible ones exist.
//!
//! Rows come from the worker in pages. Those near the window are kept; while a page is on its way
//! the rows of the list before stay where they are, so that nothing blinks when an order or a
//! filter changes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use leptos::html::Div;
use leptos::prelude::*;

use crate::browser;

/// Height of a row; the style sheet has the same as `--row`.
pub const ROW_PX: f64 = 32.0;
/// Height of the sticky head above the rows, `--head` in the style sheet.
const HEAD_PX: f64 = 36.0;
/// Rows drawn beyond either edge, so that scrolling does not show gaps.
const OVERSCAN: usize = 12;
/// Rows asked for at once.
const PAGE: usize = 100;
/// Pages kept.
const MAX_PAGES: usize = 40;
/// Browsers limit the height of an element, at 17 million pixels the first of them. A longer list
/// is scrolled in proportion.
const MAX_PX: f64 = 12_000_000.0;

/// Rows with their list: a page that was asked for before the list changed is of an older one.
#[derive(Clone)]
struct Page<T> {
    list: u32,
    rows: Arc<[Arc<T>]>,
}

/// The window onto a long list. Copy: pass it around.
pub struct VirtualRows<T: Send + Sync + 'static> {
    /// The element that scrolls; give it to the `node_ref` of the view.
    pub scroller: NodeRef<Div>,
    /// Rows in all.
    pub total: RwSignal<usize>,
    /// The first page of the current list has arrived.
    pub arrived: RwSignal<bool>,
    /// Width of the element that scrolls, in pixels of the design.
    pub width_px: RwSignal<f64>,
    top_px: RwSignal<f64>,
    height_px: RwSignal<f64>,
    list: RwSignal<u32>,
    pages: RwSignal<BTreeMap<usize, Page<T>>>,
    asked: StoredValue<BTreeSet<usize>>,
}

impl<T: Send + Sync + 'static> Clone for VirtualRows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for VirtualRows<T> {}

impl<T: Send + Sync + 'static> VirtualRows<T> {
    /// A window onto a list that `fetch(list, offset, count)` asks for. The answer goes to
    /// [`VirtualRows::accept`] with the same `list`.
    pub fn new(fetch: impl Fn(u32, usize, usize) + 'static) -> Self {
        let rows = VirtualRows {
            scroller: NodeRef::new(),
            total: RwSignal::new(0),
            arrived: RwSignal::new(false),
            width_px: RwSignal::new(900.0),
            top_px: RwSignal::new(0.0),
            height_px: RwSignal::new(800.0),
            list: RwSignal::new(0),
            pages: RwSignal::new(BTreeMap::new()),
            asked: StoredValue::new(BTreeSet::new()),
        };
        Effect::new(move || {
            if let Some(element) = rows.scroller.get() {
                let watched = element.clone();
                let measure = move || {
                    let (height, width) = (watched.client_height(), watched.client_width());
                    rows.height_px.set(f64::from(height));
                    let width = f64::from(width) / browser::design_px();
                    if (rows.width_px.get_untracked() - width).abs() > 0.5 {
                        rows.width_px.set(width);
                    }
                };
                measure();
                // The list may have been shown before, in another element.
                rows.set_top(rows.top_px.get_untracked());
                let watch = browser::on_resize(&element, measure);
                let watch = StoredValue::new_local(watch);
                on_cleanup(move || watch.dispose());
            }
        });
        Effect::new(move || {
            let list = rows.list.get();
            let window = rows.window();
            let wanted = window.start / PAGE..=window.end.saturating_sub(1) / PAGE;
            for page in wanted {
                let is_new = rows.asked.try_update_value(|asked| asked.insert(page));
                if is_new == Some(true) {
                    fetch(list, page * PAGE, PAGE);
                }
            }
        });
        rows
    }

    /// The list is another one now: another order, filter or trace.
    pub fn renew(self) {
        self.asked.update_value(BTreeSet::clear);
        self.list.update(|list| *list += 1);
    }

    /// As [`VirtualRows::renew`], and the new list is shown from its start.
    pub fn restart(self) {
        self.arrived.set(false);
        self.set_top(0.0);
        self.renew();
    }

    /// Takes a page that `fetch` asked for.
    pub fn accept(self, list: u32, total: usize, offset: usize, rows: Vec<T>) {
        if list != self.list.get_untracked() {
            return;
        }
        let here = self.window_untracked().start / PAGE;
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
        if self.total.get_untracked() != total {
            self.total.set(total);
        }
        if !self.arrived.get_untracked() {
            self.arrived.set(true);
        }
    }

    /// To be called when the element scrolls.
    pub fn scrolled(self) {
        if let Some(element) = self.scroller.get_untracked() {
            self.top_px.set(f64::from(element.scroll_top()));
        }
    }

    /// The rows to draw: position, list, and the row once it is here.
    pub fn rows(self) -> Vec<(usize, u32, Option<Arc<T>>)> {
        let window = self.window();
        if self.total.get_untracked() == 0 {
            return Vec::new();
        }
        self.pages.with(|pages| {
            window
                .map(|position| {
                    let page = pages.get(&(position / PAGE));
                    let row = page.and_then(|page| page.rows.get(position % PAGE).cloned());
                    (position, page.map_or(0, |page| page.list), row)
                })
                .collect()
        })
    }

    /// The row at a position, if it is here.
    pub fn row(self, position: usize) -> Option<Arc<T>> {
        let list = self.list.get();
        self.pages.with(|pages| {
            let page = pages.get(&(position / PAGE))?;
            (page.list == list)
                .then(|| page.rows.get(position % PAGE).cloned())
                .flatten()
        })
    }

    /// Height of the space above the drawn rows.
    pub fn space_above(self) -> String {
        let window = self.window();
        format!("{:.0}px", self.above_px(&window))
    }

    /// Height of the space below the drawn rows.
    pub fn space_below(self) -> String {
        let window = self.window();
        let drawn = window.len() as f64 * ROW_PX;
        let below = self.all_px() - self.above_px(&window) - drawn;
        format!("{:.0}px", below.max(0.0))
    }

    /// Rows that fit the window.
    pub fn rows_per_screen(self) -> usize {
        let height = self.height_px.get_untracked() - HEAD_PX;
        ((height / ROW_PX) as usize).max(1)
    }

    /// Scrolls as little as it takes to show a row.
    pub fn show(self, position: usize) {
        let screen = self.rows_per_screen();
        let first = self.first_visible(self.top_px.get_untracked());
        if position < first {
            self.show_at_top(position);
        } else if position + 1 > first + screen {
            self.show_at_top(position + 1 - screen);
        }
    }

    /// Keeps a row visible when the window becomes smaller.
    pub fn keep_in_sight(self, cursor: RwSignal<Option<usize>>) {
        Effect::watch(
            move || self.height_px.get(),
            move |_, _, _| {
                if let Some(position) = cursor.get_untracked() {
                    self.show(position);
                }
            },
            false,
        );
    }

    /// Scrolls so that a row is in the middle, unless it is visible already.
    pub fn show_in_middle(self, position: usize) {
        let screen = self.rows_per_screen();
        let first = self.first_visible(self.top_px.get_untracked());
        if position < first || position + 1 > first + screen {
            self.show_at_top(position.saturating_sub(screen / 2));
        }
    }

    fn show_at_top(self, position: usize) {
        let top = if self.is_scaled() {
            let last_first = self.last_first();
            position as f64 / last_first * (MAX_PX + HEAD_PX - self.height_px.get_untracked())
        } else {
            position as f64 * ROW_PX
        };
        self.set_top(top);
    }

    fn set_top(self, top: f64) {
        // The spacers may still have the height of the list before: they are drawn first.
        self.top_px.set(top);
        if let Some(element) = self.scroller.get_untracked() {
            element.set_scroll_top(top as i32);
            browser::after_paint(move || {
                if self.top_px.try_get_untracked() == Some(top) {
                    element.set_scroll_top(top as i32);
                }
            });
        }
    }

    /// Positions of the rows that are drawn.
    fn window(self) -> Range<usize> {
        self.total.track();
        self.height_px.track();
        self.top_px.track();
        self.window_untracked()
    }

    fn window_untracked(self) -> Range<usize> {
        let total = self.total.get_untracked();
        let first = self.first_visible(self.top_px.get_untracked());
        let start = first.saturating_sub(OVERSCAN);
        let end = first + self.rows_per_screen() + OVERSCAN + 1;
        // Whole pairs, so that striping and reuse of rows do not flicker while scrolling.
        (start & !1).min(total)..end.min(total).max(usize::from(total == 0))
    }

    fn first_visible(self, top_px: f64) -> usize {
        if self.is_scaled() {
            let scrollable = MAX_PX + HEAD_PX - self.height_px.get_untracked();
            (top_px / scrollable * self.last_first()) as usize
        } else {
            (top_px / ROW_PX) as usize
        }
    }

    /// The first visible row when the list is scrolled to its end.
    fn last_first(self) -> f64 {
        let total = self.total.get_untracked();
        total.saturating_sub(self.rows_per_screen()).max(1) as f64
    }

    fn is_scaled(self) -> bool {
        self.total.get_untracked() as f64 * ROW_PX > MAX_PX
    }

    fn all_px(self) -> f64 {
        (self.total.get() as f64 * ROW_PX).min(MAX_PX)
    }

    fn above_px(self, window: &Range<usize>) -> f64 {
        if !self.is_scaled() {
            return window.start as f64 * ROW_PX;
        }
        let top = self.top_px.get_untracked();
        let above_window = self.first_visible(top).saturating_sub(window.start) as f64 * ROW_PX;
        (top - above_window).clamp(0.0, self.all_px() - window.len() as f64 * ROW_PX)
    }
}

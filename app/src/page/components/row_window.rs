//! Which part of a long list is visible, and the cursor in it.

use std::collections::BTreeSet;
use std::ops::Range;

use leptos::html::Div;

use crate::page::prelude::*;

/// Rows rendered beyond either edge, so that scrolling does not show gaps.
const OVERSCAN: usize = 12;
/// Browsers limit the height of an element; the lowest limit is 17 million pixels. A longer list is scrolled in
/// proportion.
const MAX_PX: f64 = 12_000_000.0;

/// The window onto a long list of rows of equal height. `Copy`, so pass it around.
#[derive(Clone, Copy)]
pub struct RowWindow {
    /// The scrolling element; pass it to the `node_ref` of the view.
    pub scroller: NodeRef<Div>,
    pub total: RwSignal<usize>,
    /// The first rows of the current list have arrived.
    pub arrived: RwSignal<bool>,
    /// Width of the scrolling element, in design pixels.
    pub width_px: RwSignal<f64>,
    /// The row from which keys continue.
    pub cursor: RwSignal<Option<usize>>,
    /// The marked rows, by their ids in the address.
    pub marked: RwSignal<BTreeSet<u32>>,
    pub drawn: Memo<Drawn>,
    top_px: RwSignal<f64>,
    height_px: RwSignal<f64>,
    rows_px: RwSignal<RowsPx>,
    /// The pending scroll position, until it is rendered.
    bound_for: StoredValue<Option<f64>>,
}

/// Heights in the style sheet. They differ between devices that are used with a pointer and with fingers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RowsPx {
    /// Of a row.
    row: f64,
    /// Of the sticky header above the rows.
    head: f64,
}

impl RowsPx {
    fn read() -> RowsPx {
        RowsPx {
            row: browser::token_px("--row").unwrap_or(32.0),
            head: browser::token_px("--head").unwrap_or(36.0),
        }
    }
}

/// The rendered rows, and the space in place of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    pub rows: Range<usize>,
    /// Height of the space above them.
    pub above_px: f64,
    /// Height of the space below them.
    pub below_px: f64,
}

impl RowWindow {
    /// A window at the start of an empty list. When it becomes smaller, it keeps the cursor visible.
    pub fn at_start() -> RowWindow {
        let (total, top_px, height_px) =
            (RwSignal::new(0), RwSignal::new(0.0), RwSignal::new(800.0));
        let rows_px = RwSignal::new(RowsPx::read());
        let scrolled = move || Scrolled {
            total: total.get(),
            top_px: top_px.get(),
            height_px: height_px.get(),
            px: rows_px.get(),
        };
        let window = RowWindow {
            scroller: NodeRef::new(),
            total,
            arrived: RwSignal::new(false),
            width_px: RwSignal::new(900.0),
            cursor: RwSignal::new(None),
            marked: RwSignal::new(BTreeSet::new()),
            drawn: Memo::new(move |_| scrolled().drawn()),
            top_px,
            height_px,
            rows_px,
            bound_for: StoredValue::new(None),
        };
        browser::follow_size(window.scroller, move |width, height| {
            // While hidden, it keeps what it shows.
            if width <= 0.0 {
                return;
            }
            window.height_px.set(height);
            // Another device may have been attached.
            window.rows_px.set(RowsPx::read());
            let width = width / browser::design_px();
            if (window.width_px.get_untracked() - width).abs() > 0.5 {
                window.width_px.set(width);
            }
        });
        Effect::new(move || {
            if window.scroller.get().is_some() {
                // The list may have been shown before, in another element.
                window.set_top(window.top_px.get_untracked());
            }
        });
        Effect::watch(
            move || height_px.get(),
            move |_, _, _| {
                if let Some(position) = window.cursor.get_untracked() {
                    window.show(position);
                }
            },
            false,
        );
        window
    }

    /// Must be called when the element scrolls.
    pub fn scroll(self) {
        // A list that has just grown still has its old height, so the element stops short of the target.
        if self.bound_for.get_value().is_some() {
            return;
        }
        if let Some(element) = self.scroller.get_untracked() {
            self.top_px.set(f64::from(element.scroll_top()));
        }
    }

    /// Shows the start of another list.
    pub fn restart(self) {
        self.arrived.set(false);
        self.set_top(0.0);
    }

    /// Moves the cursor to a row, or to the last one if there are fewer, and shows it.
    pub fn go_to(self, position: usize) {
        let last = self.total.get_untracked().saturating_sub(1);
        let position = position.min(last);
        self.cursor.set(Some(position));
        self.show(position);
    }

    /// Moves the cursor to the next row.
    pub fn go_on(self) {
        let here = self.cursor.get_untracked();
        self.go_to(here.map_or(0, |position| position + 1));
    }

    /// Scrolls as little as needed to show a row.
    pub fn show(self, position: usize) {
        let scrolled = self.scrolled();
        let (first, screen) = (scrolled.first_visible(), scrolled.rows_per_screen());
        if position < first {
            self.set_top(scrolled.top_of(position));
        } else if position + 1 > first + screen {
            self.set_top(scrolled.top_of(position + 1 - screen));
        }
    }

    /// Scrolls so that a row is in the middle, unless it is already visible.
    pub fn show_in_middle(self, position: usize) {
        let scrolled = self.scrolled();
        let (first, screen) = (scrolled.first_visible(), scrolled.rows_per_screen());
        if position < first || position + 1 > first + screen {
            self.set_top(scrolled.top_of(position.saturating_sub(screen / 2)));
        }
    }

    /// The number of rows that fit the window.
    pub fn rows_per_screen(self) -> usize {
        self.scrolled().rows_per_screen()
    }

    fn scrolled(self) -> Scrolled {
        Scrolled {
            total: self.total.get_untracked(),
            top_px: self.top_px.get_untracked(),
            height_px: self.height_px.get_untracked(),
            px: self.rows_px.get_untracked(),
        }
    }

    fn set_top(self, top: f64) {
        // The spacers may still have the height of the previous list: render first.
        self.top_px.set(top);
        if let Some(element) = self.scroller.get_untracked() {
            self.bound_for.set_value(Some(top));
            element.set_scroll_top(top as i32);
            browser::after_paint(move || {
                if self.bound_for.try_get_value().flatten() == Some(top) {
                    element.set_scroll_top(top as i32);
                    self.bound_for.set_value(None);
                    // The list may be too short to scroll that far.
                    let here = f64::from(element.scroll_top());
                    if (here - top).abs() > 1.0 {
                        self.top_px.set(here);
                    }
                }
            });
        }
    }
}

/// The scroll position of a list.
struct Scrolled {
    total: usize,
    /// Pixels above the window.
    top_px: f64,
    height_px: f64,
    px: RowsPx,
}

impl Scrolled {
    fn rows_per_screen(&self) -> usize {
        (((self.height_px - self.px.head) / self.px.row) as usize).max(1)
    }

    fn drawn(&self) -> Drawn {
        let first = self.first_visible();
        let end = first + self.rows_per_screen() + OVERSCAN + 1;
        // Rendered in pairs of rows, which halves the number of changes while scrolling.
        let start = first.saturating_sub(OVERSCAN) & !1;
        let rows = start.min(self.total)..end.min(self.total);
        let all_px = (self.total as f64 * self.px.row).min(MAX_PX);
        let drawn_px = rows.len() as f64 * self.px.row;
        let above_px = match self.is_scaled() {
            false => rows.start as f64 * self.px.row,
            true => {
                let before_px = first.saturating_sub(rows.start) as f64 * self.px.row;
                (self.top_px - before_px).clamp(0.0, all_px - drawn_px)
            }
        };
        let below_px = (all_px - above_px - drawn_px).max(0.0);
        Drawn {
            rows,
            above_px,
            below_px,
        }
    }

    fn first_visible(&self) -> usize {
        match self.is_scaled() {
            true => (self.top_px / self.scrollable_px() * self.last_first()) as usize,
            false => (self.top_px / self.px.row) as usize,
        }
    }

    /// The scroll position at which a row is the first visible one.
    fn top_of(&self, position: usize) -> f64 {
        match self.is_scaled() {
            true => position as f64 / self.last_first() * self.scrollable_px(),
            false => position as f64 * self.px.row,
        }
    }

    fn scrollable_px(&self) -> f64 {
        MAX_PX + self.px.head - self.height_px
    }

    /// The first visible row when the list is scrolled to its end.
    fn last_first(&self) -> f64 {
        self.total.saturating_sub(self.rows_per_screen()).max(1) as f64
    }

    fn is_scaled(&self) -> bool {
        self.total as f64 * self.px.row > MAX_PX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of ten rows and the header: 356 px.
    fn scrolled(total: usize, top_px: f64) -> Scrolled {
        Scrolled {
            total,
            top_px,
            height_px: 356.0,
            px: RowsPx {
                row: 32.0,
                head: 36.0,
            },
        }
    }

    #[test]
    fn what_is_seen_is_drawn_with_some_rows_around_it() {
        // Rows 30 to 39 are visible; 12 more above, and 12 plus the one that is cut off below.
        let drawn = scrolled(100, 960.0).drawn();
        assert_eq!(drawn.rows, 18..53);
        // 18 and 47 rows of 32 px.
        assert_eq!(drawn.above_px.to_string(), "576");
        assert_eq!(drawn.below_px.to_string(), "1504");
        assert_eq!(scrolled(0, 0.0).drawn().rows, 0..0);
        assert_eq!(scrolled(5, 0.0).drawn().rows, 0..5);
    }

    #[test]
    fn a_list_too_high_for_the_browser_is_scrolled_in_proportion() {
        // A million rows would be 32 million pixels.
        let end_px = MAX_PX + 36.0 - 356.0;
        let drawn = scrolled(1_000_000, end_px).drawn();
        assert_eq!(drawn.rows, 999_978..1_000_000);
        let all_px = drawn.above_px + drawn.below_px + 22.0 * 32.0;
        assert_eq!(all_px.to_string(), "12000000");
        assert_eq!(drawn.below_px.to_string(), "0");
        // The first visible row is found again at every scroll position.
        for position in [0, 1, 4_711, 500_000, 999_990] {
            let top_px = scrolled(1_000_000, 0.0).top_of(position);
            // The next whole pixel: rows are smaller than one here.
            let found = scrolled(1_000_000, top_px.ceil()).first_visible();
            assert!(found.abs_diff(position) <= 1, "{position}: {found}");
        }
    }
}

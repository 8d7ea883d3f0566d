//! The columns of a table: their default widths, which of them fit, and their cells.
//!
//! Cells have as few elements as possible: while a table scrolls, hundreds of them are created and laid out within a
//! frame.

use dormer_core::base::sort::Arrange;

use crate::page::prelude::*;
use crate::protocol::{Note, TableCell};

/// The width of a column. Fixed, so that nothing moves when other rows come into view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// The remaining width.
    Rest,
    /// A secondary name, such as the parent op of a kernel.
    Name,
    /// A label of one or two words.
    Label,
    /// A few words.
    Phrase,
    /// One word.
    Word,
    /// A time, or a count.
    Number,
    /// A short number.
    Figure,
    /// A number of three digits, or a share without a bar.
    Small,
    /// A signed difference, in the color of its meaning.
    Signed,
    /// A share, with a bar in the color of its row.
    Share,
    /// How close a figure is to its limit, with a bar that is full at the limit.
    Gauge,
}

/// A scroller narrower than this shows figures without bars; the style sheet has the same width.
const NARROW_PX: f64 = 480.0;

impl Width {
    /// The class of its cells and its `col`; whether the cells are numbers; and its width, in a narrow window too. For
    /// the remaining width, the minimum.
    fn spec(self, window_px: f64) -> (&'static str, bool, f64, f64) {
        let least_px = match is_narrow(window_px) {
            true => window_px * 0.5,
            false => window_px.clamp(1.0, 1_600.0) * 0.24 + 26.0,
        };
        match self {
            Width::Rest => ("w-rest", false, least_px, least_px),
            Width::Name => ("w-name", false, 190.0, 150.0),
            Width::Phrase => ("w-name", false, 212.0, 190.0),
            Width::Label => ("w-label", false, 144.0, 144.0),
            Width::Word => ("w-word", false, 98.0, 98.0),
            Width::Number => ("w-number", true, 104.0, 104.0),
            Width::Signed => ("w-signed", true, 122.0, 122.0),
            Width::Figure => ("w-figure", true, 90.0, 82.0),
            Width::Small => ("w-small", true, 80.0, 80.0),
            Width::Share => ("w-share", true, 150.0, 82.0),
            Width::Gauge => ("w-gauge", true, 150.0, 82.0),
        }
    }

    /// The class of its cells and its `col`.
    pub fn class(self) -> &'static str {
        self.spec(0.0).0
    }

    /// Whether its cells are numbers, aligned right.
    pub fn is_number(self) -> bool {
        self.spec(0.0).1
    }

    /// Its width in a window; for the remaining width, the minimum.
    pub fn px(self, window_px: f64) -> f64 {
        let (.., wide_px, narrow_px) = self.spec(window_px);
        match is_narrow(window_px) {
            true => narrow_px,
            false => wide_px,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableColumn {
    /// The column's label in the sheet, or another label for values from elsewhere.
    pub label: &'static str,
    /// Its heading in this table.
    pub heading: &'static str,
    /// The unit of its numbers, if they are written without it.
    pub unit: &'static str,
    /// Its width.
    pub width: Width,
    /// If not all columns fit, those with the highest rank are left out first.
    pub rank: u8,
    /// In a narrow window it is a second line of the first column, which then has all its width for names.
    pub is_below: bool,
}

impl TableColumn {
    /// A column that is always shown.
    pub const fn new(label: &'static str, heading: &'static str, width: Width) -> TableColumn {
        TableColumn {
            label,
            heading,
            unit: "",
            width,
            rank: 0,
            is_below: false,
        }
    }

    /// Adds the unit of its numbers to its heading.
    pub const fn unit(self, unit: &'static str) -> TableColumn {
        TableColumn { unit, ..self }
    }

    /// Leaves it out if columns of lower rank fill the window.
    pub const fn rank(self, rank: u8) -> TableColumn {
        TableColumn { rank, ..self }
    }

    /// Makes it a second line of the first column in a narrow window.
    pub const fn below(self) -> TableColumn {
        TableColumn {
            is_below: true,
            ..self
        }
    }
}

/// Whether a window is narrow.
pub fn is_narrow(window_px: f64) -> bool {
    window_px < NARROW_PX
}

/// The columns that fit a window: as many as possible, selected by rank, in their order.
pub fn fitting(columns: &[&'static TableColumn], window_px: f64) -> Vec<&'static TableColumn> {
    let mut by_rank: Vec<&'static TableColumn> = columns.to_vec();
    by_rank.arrange_by_key(|column| column.rank);
    let mut left_px = window_px;
    let kept: Vec<&'static str> = by_rank
        .into_iter()
        // One that is too wide leaves space for narrower ones.
        .filter(|column| {
            let px = column.width.px(window_px);
            let fits = column.rank == 0 || px <= left_px;
            if fits {
                left_px -= px;
            }
            fits
        })
        .map(|column| column.label)
        .collect();
    let fits = |column: &&'static TableColumn| kept.contains(&column.label);
    columns.iter().copied().filter(fits).collect()
}

/// The number of letters that fit a column of names of this width in design pixels, beside the category mark if there
/// is one. 0 for columns of other content.
pub fn letters(width: Width, px: f64, has_mark: bool, window_px: f64) -> usize {
    /// Font size of names, in design pixels: 0.92 of `--t-s`.
    const NAME_PX: f64 = 0.92 * 13.0;
    const MARK_PX: f64 = 17.0;
    if !matches!(width, Width::Rest | Width::Name) {
        return 0;
    }
    let pad_px = if is_narrow(window_px) { 8.0 } else { 12.0 };
    let mark_px = if has_mark { MARK_PX } else { 0.0 };
    let room_px = px - 2.0 * pad_px - mark_px;
    let letters = room_px / (NAME_PX * browser::mono_letter());
    // Only whole letters count; fewer than these would be unreadable.
    (letters.floor() as usize).max(4)
}

/// A text cell, or a number if the class is `n`.
pub fn text_cell(class: &'static str, text: String) -> AnyView {
    view! { <td class=class prop:textContent=text></td> }.into_any()
}

/// A name cell for which the worker said which part does not fit: the cell contains the whole name, for copying and
/// searching, with an ellipsis displayed in place of the hidden part.
pub fn fitted_cell(class: &'static str, cell: &TableCell) -> AnyView {
    let title = whole_of(cell);
    if cell.left_out.is_empty() {
        let text = cell.text.clone();
        return view! { <td class=class title=title prop:textContent=text></td> }.into_any();
    }
    view! { <td class=class title=title>{fitted(cell)}</td> }.into_any()
}

/// The name cell of a row with a second line below the name.
pub fn two_lines_cell(name: &TableCell, below: &TableCell) -> AnyView {
    view! {
        <td class="mono dotted two">
            <span title=whole_of(name)>{fitted(name)}</span>
            <span class="soft" title=whole_of(below)>{fitted(below)}</span>
        </td>
    }
    .into_any()
}

fn whole_of(cell: &TableCell) -> String {
    cell.whole.clone().unwrap_or_else(|| cell.text.clone())
}

fn fitted(cell: &TableCell) -> impl IntoView + use<> {
    let text = cell.text.clone();
    let piece = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    let mut kept_from = 0;
    let pieces = each(&cell.left_out, |(from, to)| {
        let kept = piece(kept_from, *from);
        kept_from = *to;
        view! { {kept} <span class="gone" prop:textContent=piece(*from, *to)></span> }
    });
    let last = piece(kept_from, text.len());
    view! { {pieces} {last} }
}

/// A category cell; if the category was not determined by an operator's name, a mark says so.
pub fn category_cell(text: String, note: Option<Note>) -> AnyView {
    let Some(Note::Guess(why)) = note else {
        return view! { <td class="soft" title=text.clone() prop:textContent=text></td> }
            .into_any();
    };
    let title = format!("{text}. {why}.");
    view! {
        <td class="soft" title=title>
            {text}
            <span class="guess" aria-hidden="true">{GUESS}</span>
            <span class="unseen">{format!(", {why}")}</span>
        </td>
    }
    .into_any()
}

/// A share with its bar, in the color of its row.
pub fn share_cell(percent: Option<f64>, text: String) -> AnyView {
    view! { <td class="n share" style=("--share", share(percent)) prop:textContent=text></td> }
        .into_any()
}

/// How close a figure is to its limit, with a bar that is full at the limit. An impossible value gets no bar.
pub fn gauge_cell(percent: Option<f64>, text: String, note: Option<Note>) -> AnyView {
    match note {
        Some(Note::Odd(why)) => view! {
            <td class="n odd" title=why>
                <span class="word">"above the roofline"</span>
                {text}
                <span class="unseen">", above the roofline"</span>
            </td>
        }
        .into_any(),
        Some(Note::Aside(aside) | Note::Guess(aside)) => view! {
            <td class="n share gauge" title=aside.clone() style=("--share", share(percent))>
                {text}
                <sup aria-hidden="true">"\u{2020}"</sup>
                <span class="unseen">{format!(", {aside}")}</span>
            </td>
        }
        .into_any(),
        None => view! {
            <td class="n share gauge" style=("--share", share(percent)) prop:textContent=text></td>
        }
        .into_any(),
    }
}

/// The fill of a bar; `None` if there is no bar.
fn share(percent: Option<f64>) -> Option<String> {
    percent.map(|percent| format!("{:.2}%", percent.clamp(0.0, 100.0)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::page::components) const COLUMNS: &[TableColumn] = &[
        TableColumn::new("name", "Name", Width::Rest),
        TableColumn::new("category", "Category", Width::Label).rank(3),
        TableColumn::new("time", "Time", Width::Figure).rank(1),
        TableColumn::new("share", "Share", Width::Share).rank(2),
    ];

    #[track_caller]
    fn check(window_px: f64, expected: &[&str]) {
        let columns: Vec<&'static TableColumn> = COLUMNS.iter().collect();
        let fitting = fitting(&columns, window_px);
        let labels: Vec<&str> = fitting.iter().map(|column| column.label).collect();
        assert_eq!(labels, expected);
    }

    #[test]
    fn columns_go_by_rank_and_stay_in_order() {
        // 0.24 × 900 + 26 + 144 + 90 + 150 = 626.
        check(900.0, &["name", "category", "time", "share"]);
        // 0.24 × 480 + 26 + 90 + 150 = 381.2; the category needs 144 more.
        check(480.0, &["name", "time", "share"]);
        // In a narrow window, the name has half of it: 170 + 82 + 82 = 334.
        check(340.0, &["name", "time", "share"]);
        check(290.0, &["name", "time"]);
        check(200.0, &["name", "time"]);
        check(0.0, &["name"]);
    }
}

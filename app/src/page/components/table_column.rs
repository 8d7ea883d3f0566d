//! The columns of a table: how wide they are of themselves, which of them fit, and their cells.
//!
//! Each cell has as few elements as it takes: while a table scrolls, hundreds of them are made and
//! laid out within a frame.

use dormer_core::base::sort::Arrange;

use crate::page::prelude::*;
use crate::protocol::{Note, TableCell};

/// How wide a column is. Fixed, so that nothing moves when other rows come into view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Takes what the others leave.
    Rest,
    /// A name of another kind, such as the parent op of a kernel.
    Name,
    /// A label of one or two words.
    Label,
    /// A few words.
    Phrase,
    /// A time, or a count.
    Number,
    /// A number of few digits.
    Figure,
    /// A number of three digits, or a share without a bar.
    Small,
    /// A difference, with its sign, in the color of what it means.
    Signed,
    /// A share, with a bar in the color of its row.
    Share,
    /// How close something comes to its limit, with a bar that is full there.
    Gauge,
}

/// A scroller narrower than this shows bars as figures alone; the style sheet agrees.
const NARROW_PX: f64 = 480.0;

impl Width {
    /// The class of its cells and its `col`; whether the cells are numbers; and its width, in a
    /// narrow window too. Where it takes what is left that is the least one.
    fn spec(self, window_px: f64) -> (&'static str, bool, f64, f64) {
        let least_px = window_px.clamp(1.0, 1_600.0) * 0.24 + 26.0;
        match self {
            Width::Rest => ("w-rest", false, least_px, least_px),
            Width::Name => ("w-name", false, 190.0, 150.0),
            Width::Phrase => ("w-name", false, 190.0, 190.0),
            Width::Label => ("w-label", false, 132.0, 132.0),
            Width::Number => ("w-number", true, 104.0, 104.0),
            Width::Signed => ("w-signed", true, 122.0, 122.0),
            Width::Figure => ("w-figure", true, 90.0, 82.0),
            Width::Small => ("w-small", true, 76.0, 76.0),
            Width::Share => ("w-share", true, 150.0, 82.0),
            Width::Gauge => ("w-gauge", true, 150.0, 82.0),
        }
    }

    /// The class of its cells and its `col`.
    pub fn class(self) -> &'static str {
        self.spec(0.0).0
    }

    /// Its cells are numbers, and stand at the right.
    pub fn is_number(self) -> bool {
        self.spec(0.0).1
    }

    /// Its width in a window; where it takes what is left, the least one.
    pub fn px(self, window_px: f64) -> f64 {
        let (.., wide_px, narrow_px) = self.spec(window_px);
        match window_px < NARROW_PX {
            true => narrow_px,
            false => wide_px,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableColumn {
    /// The column's label in the sheet, or beside it.
    pub label: &'static str,
    /// What stands above it here.
    pub heading: &'static str,
    /// The unit of its numbers, where they do not carry it.
    pub unit: &'static str,
    /// How wide it is.
    pub width: Width,
    /// Where not all columns fit, those with the largest number are left out first.
    pub rank: u8,
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
        }
    }

    /// With the unit of its numbers in its head.
    pub const fn unit(self, unit: &'static str) -> TableColumn {
        TableColumn { unit, ..self }
    }

    /// Left out where columns of a smaller rank fill the window.
    pub const fn rank(self, rank: u8) -> TableColumn {
        TableColumn { rank, ..self }
    }
}

/// The columns that fit a window: as many as possible, in their order, by rank.
pub fn fitting(columns: &[&'static TableColumn], window_px: f64) -> Vec<&'static TableColumn> {
    let mut by_rank: Vec<&'static TableColumn> = columns.to_vec();
    by_rank.arrange_by_key(|column| column.rank);
    let mut left_px = window_px;
    let kept: Vec<&'static str> = by_rank
        .into_iter()
        // One that is too wide leaves room for narrower ones.
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

/// Letters that a column of names has room for that is so many pixels of the design wide, beside the mark
/// of a category where it has one. 0 for columns of something else.
pub fn letters(width: Width, px: f64, has_mark: bool, window_px: f64) -> usize {
    /// Of names, in pixels of the design: 0.92 of `--t-s`.
    const NAME_PX: f64 = 0.92 * 13.0;
    const MARK_PX: f64 = 17.0;
    if !matches!(width, Width::Rest | Width::Name) {
        return 0;
    }
    let pad_px = if window_px < NARROW_PX { 8.0 } else { 12.0 };
    let mark_px = if has_mark { MARK_PX } else { 0.0 };
    let room_px = px - 2.0 * pad_px - mark_px;
    let letters = room_px / (NAME_PX * browser::mono_letter());
    // Half of a letter is none; with fewer than these nothing can be told.
    (letters.floor() as usize).max(4)
}

/// A text, or a number where the class is `n`.
pub fn text_cell(class: &'static str, text: String) -> AnyView {
    view! { <td class=class prop:textContent=text></td> }.into_any()
}

/// A name of which the worker says what there is no room for: the whole stands there, for those who copy
/// or search it, with an ellipsis in the place of what is left out.
pub fn fitted_cell(class: &'static str, cell: &TableCell) -> AnyView {
    let text = cell.text.clone();
    let title = cell.whole.clone().unwrap_or_else(|| text.clone());
    if cell.left_out.is_empty() {
        return view! { <td class=class title=title prop:textContent=text></td> }.into_any();
    }
    let piece = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    let mut kept_from = 0;
    let pieces = each(&cell.left_out, |(from, to)| {
        let kept = piece(kept_from, *from);
        kept_from = *to;
        view! { {kept} <span class="gone" prop:textContent=piece(*from, *to)></span> }
    });
    let last = piece(kept_from, text.len());
    view! { <td class=class title=title>{pieces}{last}</td> }.into_any()
}

/// A category; one that is told by less than an operator's name has a mark that says so.
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

/// How close a figure comes to its limit, with a bar that is full there. What is impossible has no
/// bar: it is no achievement.
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

/// How much of a bar is full; without, there is none.
fn share(percent: Option<f64>) -> Option<String> {
    percent.map(|percent| format!("{:.2}%", percent.clamp(0.0, 100.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[TableColumn] = &[
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
        // 0.24 × 900 + 26 + 132 + 90 + 150 = 614.
        check(900.0, &["name", "category", "time", "share"]);
        // 0.24 × 480 + 26 + 90 + 150 = 381.2; the category needs 132 more.
        check(480.0, &["name", "time", "share"]);
        // 0.24 × 290 + 26 + 82 + 82 = 259.6.
        check(290.0, &["name", "time", "share"]);
        check(200.0, &["name", "time"]);
        check(0.0, &["name"]);
    }
}

//! The user's choices for the columns of a table, and the resulting widths.

use dormer_core::base::sort::Arrange;

use super::table_column::{TableColumn, Width, fitting, is_narrow};

/// The smallest width that a column can be given, in design pixels.
pub const LEAST_PX: f64 = 48.0;
/// The largest width.
pub const MOST_PX: f64 = 1_600.0;
/// The most columns that can be pinned.
const MOST_PINNED: usize = 4;
/// Pinned columns stay fixed as long as they leave this share of the window to the others.
const LEFT_TO_SCROLL: f64 = 0.4;

/// The user's choices for the columns of a table. Each part is the default until the user changes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnChoice {
    /// The shown columns; `None` for those that fit.
    shown: Option<Vec<&'static str>>,
    /// All columns in order; empty for the table's default.
    order: Vec<&'static str>,
    /// Widths, in design pixels.
    px: Vec<(&'static str, f64)>,
    /// The pinned columns; `None` for the first one only.
    pinned: Option<Vec<&'static str>>,
}

impl ColumnChoice {
    /// The columns of a table in order, pinned ones first.
    pub fn arranged(&self, known: &[&'static TableColumn]) -> Vec<&'static TableColumn> {
        let find = |label: &&str| known.iter().copied().find(|one| one.label == *label);
        let mut all: Vec<&'static TableColumn> = self.order.iter().filter_map(find).collect();
        // Columns unknown when the order was chosen go after their usual predecessor.
        for (at, column) in known.iter().enumerate() {
            if all.contains(column) {
                continue;
            }
            let before = at.checked_sub(1).and_then(|before| known.get(before));
            let place = all.iter().position(|one| Some(one) == before);
            all.insert(place.map_or(0, |place| place + 1), column);
        }
        let (pinned, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|one| self.is_pinned(known, one));
        [pinned, others].concat()
    }

    /// Whether a column is pinned at the left.
    pub fn is_pinned(&self, known: &[&'static TableColumn], column: &TableColumn) -> bool {
        match &self.pinned {
            Some(pinned) => pinned.contains(&column.label),
            None => known
                .first()
                .is_some_and(|first| first.label == column.label),
        }
    }

    /// Whether one more column can be pinned.
    pub fn can_pin(&self) -> bool {
        self.pinned
            .as_ref()
            .is_none_or(|pinned| pinned.len() < MOST_PINNED)
    }

    /// Pins or unpins a column.
    pub fn pin(&mut self, known: &[&'static TableColumn], column: &TableColumn) {
        let is_pinned = self.is_pinned(known, column);
        let first = known.first().map(|first| first.label);
        let can_pin = self.can_pin();
        let pinned = self
            .pinned
            .get_or_insert_with(|| first.into_iter().collect());
        match is_pinned {
            true => pinned.retain(|label| *label != column.label),
            false if can_pin => pinned.push(column.label),
            false => {}
        }
    }

    /// The new position of a column that is moved by one; `None` at the ends, and across the border between pinned and
    /// other columns.
    fn swap_positions(
        &self,
        known: &[&'static TableColumn],
        column: &TableColumn,
        on: bool,
    ) -> Option<(usize, usize)> {
        let all = self.arranged(known);
        let from = all.iter().position(|one| one.label == column.label)?;
        let to = match on {
            true => from + 1,
            false => from.checked_sub(1)?,
        };
        let other = all.get(to)?;
        let is_same = self.is_pinned(known, other) == self.is_pinned(known, column);
        is_same.then_some((from, to))
    }

    /// Whether a column can be moved by one, forward or backward.
    pub fn can_move(&self, known: &[&'static TableColumn], column: &TableColumn, on: bool) -> bool {
        self.swap_positions(known, column, on).is_some()
    }

    /// Moves a column by one, forward or backward.
    pub fn move_by_one(&mut self, known: &[&'static TableColumn], column: &TableColumn, on: bool) {
        if let Some((from, to)) = self.swap_positions(known, column, on) {
            let mut all = self.arranged(known);
            all.swap(from, to);
            self.order = all.into_iter().map(|one| one.label).collect();
        }
    }

    /// Shows these columns instead of those that fit.
    pub fn show(&mut self, shown: Vec<&'static str>) {
        self.shown = Some(shown);
    }

    /// The shown columns, of those in order.
    pub fn shown(
        &self,
        arranged: &[&'static TableColumn],
        window_px: f64,
    ) -> Vec<&'static TableColumn> {
        match &self.shown {
            None => {
                let below = self.below(arranged, window_px);
                let mut columns = arranged.to_vec();
                columns.retain(|column| below != Some(*column));
                fitting(&columns, window_px)
            }
            Some(shown) => {
                let mut chosen = arranged.to_vec();
                chosen.retain(|column| column.rank == 0 || shown.contains(&column.label));
                chosen
            }
        }
    }

    /// The column that is a second line of the first one, unless the user wants it beside it.
    pub fn below(
        &self,
        arranged: &[&'static TableColumn],
        window_px: f64,
    ) -> Option<&'static TableColumn> {
        let is_wanted = |label| {
            let shown = self.shown.as_ref();
            shown.is_some_and(|shown| shown.contains(&label))
        };
        let mut columns = arranged.iter().copied().filter(|_| is_narrow(window_px));
        columns.find(|column| column.is_below && !is_wanted(column.label))
    }

    /// Sets a column's width, or resets it.
    pub fn set_px(&mut self, label: &'static str, px: Option<f64>) {
        self.px.retain(|(known, _)| *known != label);
        let px = px.map(|px| px.clamp(LEAST_PX, MOST_PX).round());
        self.px.extend(px.map(|px| (label, px)));
        // The order in which widths were set does not matter.
        self.px.arrange_by_key(|(label, _)| *label);
    }

    /// The width that the user gave a column.
    pub fn px(&self, label: &str) -> Option<f64> {
        let mut all = self.px.iter();
        all.find(|(known, _)| *known == label).map(|(_, px)| *px)
    }
}

/// The widths of a table's columns, and which of them stay fixed while it scrolls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableLayout {
    /// The width of each column, in design pixels.
    pub px: Vec<f64>,
    /// The number of columns that stay fixed at the left.
    pub n_fixed: usize,
}

impl TableLayout {
    /// The layout of the shown columns, pinned ones first.
    pub fn new(
        shown: &[&'static TableColumn],
        n_pinned: usize,
        choice: &ColumnChoice,
        window_px: f64,
    ) -> TableLayout {
        let own_px = |column: &&TableColumn| choice.px(column.label);
        let least = |column: &&'static TableColumn| {
            own_px(column).unwrap_or_else(|| column.width.px(window_px))
        };
        let mut px: Vec<f64> = shown.iter().map(least).collect();
        let left_px = (window_px - px.iter().sum::<f64>()).max(0.0);
        let is_free =
            |column: &&TableColumn, width| column.width == width && own_px(column).is_none();
        // Secondary names grow a little; the first names take the remaining width.
        let name_px = (window_px * NAME_SHARE - Width::Name.px(window_px)).max(0.0);
        let n_names = shown.iter().filter(|one| is_free(one, Width::Name)).count() as f64;
        let n_rests = shown.iter().filter(|one| is_free(one, Width::Rest)).count() as f64;
        let for_names = (name_px * n_names).min(left_px / 2.0);
        for (px, column) in px.iter_mut().zip(shown) {
            if is_free(column, Width::Name) {
                *px += (for_names / n_names).floor();
            } else if is_free(column, Width::Rest) {
                *px += ((left_px - for_names) / n_rests).floor();
            }
        }
        // Without such columns, all are widened proportionally, unless one has a width that the user set.
        let all_px: f64 = px.iter().sum();
        if n_rests + n_names <= 0.0 && shown.iter().all(|one| own_px(one).is_none()) && all_px > 0.0
        {
            let factor = ((all_px + left_px) / all_px).max(1.0);
            px.iter_mut().for_each(|px| *px = (*px * factor).floor());
        }
        TableLayout {
            n_fixed: n_fixed(&px, n_pinned, window_px),
            px,
        }
    }

    /// The width of the table.
    pub fn all_px(&self) -> f64 {
        self.px.iter().sum()
    }

    /// The left edge of a column.
    pub fn left_px(&self, at: usize) -> f64 {
        self.px.iter().take(at).sum()
    }
}

/// The share of a window for a secondary name, if there is space.
const NAME_SHARE: f64 = 0.18;

/// How many of the pinned columns stay fixed: none if nothing scrolls, and only as many as leave enough space.
fn n_fixed(px: &[f64], n_pinned: usize, window_px: f64) -> usize {
    let all_px: f64 = px.iter().sum();
    if all_px <= window_px + 0.5 {
        return 0;
    }
    let pinned = px.iter().take(n_pinned.min(MOST_PINNED));
    let ends = pinned.scan(0.0, |end, px| {
        *end += px;
        Some(*end)
    });
    let room_px = window_px * (1.0 - LEFT_TO_SCROLL);
    ends.take_while(|end| *end <= room_px).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::components::table_column::tests::COLUMNS;

    fn all() -> Vec<&'static TableColumn> {
        COLUMNS.iter().collect()
    }

    fn labels(columns: &[&'static TableColumn]) -> Vec<&'static str> {
        columns.iter().map(|column| column.label).collect()
    }

    #[test]
    fn columns_are_moved_pinned_and_put_back() {
        let mut choice = ColumnChoice::default();
        let order = |choice: &ColumnChoice| labels(&choice.arranged(&all()));
        assert_eq!(order(&choice), ["name", "category", "time", "share"]);
        choice.move_by_one(&all(), &COLUMNS[3], false);
        assert_eq!(order(&choice), ["name", "category", "share", "time"]);
        // Pinned columns stay before the others.
        assert!(!choice.can_move(&all(), &COLUMNS[1], false));
        assert!(!choice.can_move(&all(), &COLUMNS[0], true));
        choice.pin(&all(), &COLUMNS[2]);
        assert_eq!(order(&choice), ["name", "time", "category", "share"]);
        choice.move_by_one(&all(), &COLUMNS[2], false);
        assert_eq!(order(&choice), ["time", "name", "category", "share"]);
        choice.pin(&all(), &COLUMNS[2]);
        choice.pin(&all(), &COLUMNS[0]);
        assert_eq!(order(&choice), ["time", "name", "category", "share"]);
        assert!(!choice.is_pinned(&all(), &COLUMNS[0]));
        assert_ne!(choice, ColumnChoice::default());
    }

    #[test]
    fn a_column_that_is_known_later_stands_behind_the_same_one_as_usual() {
        let mut choice = ColumnChoice::default();
        let known: Vec<_> = [0, 2, 3].map(|at| &COLUMNS[at]).into();
        choice.move_by_one(&known, &COLUMNS[3], false);
        assert_eq!(labels(&choice.arranged(&known)), ["name", "share", "time"]);
        assert_eq!(
            labels(&choice.arranged(&all())),
            ["name", "category", "share", "time"]
        );
    }

    #[test]
    fn no_more_columns_are_pinned_than_leave_something_to_scroll() {
        assert_eq!(n_fixed(&[300.0, 90.0, 90.0], 1, 480.0), 0, "all of it fits");
        assert_eq!(n_fixed(&[100.0, 90.0, 400.0], 2, 400.0), 2);
        assert_eq!(n_fixed(&[200.0, 90.0, 400.0], 2, 400.0), 1);
        assert_eq!(n_fixed(&[300.0, 90.0, 400.0], 2, 400.0), 0);
    }

    #[track_caller]
    fn check(choice: &ColumnChoice, window_px: f64, expected: &[f64]) {
        let layout = TableLayout::new(&all(), 1, choice, window_px);
        let px: Vec<String> = layout.px.iter().map(|px| format!("{px:.0}")).collect();
        let expected: Vec<String> = expected.iter().map(|px| format!("{px:.0}")).collect();
        assert_eq!(px, expected);
    }

    #[test]
    fn names_take_what_is_left_and_a_given_width_stays() {
        let mut choice = ColumnChoice::default();
        check(&choice, 900.0, &[516.0, 144.0, 90.0, 150.0]);
        choice.set_px("time", Some(200.4));
        check(&choice, 900.0, &[406.0, 144.0, 200.0, 150.0]);
        // Wider than the window: it scrolls.
        choice.set_px("name", Some(900.0));
        check(&choice, 900.0, &[900.0, 144.0, 200.0, 150.0]);
        choice.set_px("name", Some(1.0));
        check(&choice, 900.0, &[LEAST_PX, 144.0, 200.0, 150.0]);
        choice.set_px("name", None);
        choice.set_px("time", None);
        assert_eq!(choice, ColumnChoice::default());
    }
}

//! Where lanes and rows lie, from top to bottom.

use std::ops::Range;

use crate::protocol::LaneLine;

pub(super) const TITLE_PX: f64 = 22.0;
pub(super) const ROW_PX: f64 = 18.0;
/// Between two lanes.
const APART_PX: f64 = 8.0;

/// The place of every row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Layout {
    /// Top of each lane's title.
    pub(super) titles: Vec<f64>,
    /// Top of each row.
    pub(super) rows: Vec<f64>,
    /// Rows behind which idle gaps are marked.
    pub(super) gaps: Vec<Range<usize>>,
    /// Height of everything.
    pub(super) height: f64,
}

impl Layout {
    /// One lane below the other.
    pub(super) fn new(lanes: &[LaneLine]) -> Layout {
        let mut layout = Layout::default();
        let mut y = 0.0;
        for lane in lanes {
            layout.titles.push(y);
            y += TITLE_PX;
            if lane.has_gaps {
                layout.gaps.push(lane.first_row..lane.first_row + lane.rows);
            }
            for _ in 0..lane.rows {
                layout.rows.push(y);
                y += ROW_PX;
            }
            y += APART_PX;
        }
        layout.height = y;
        layout
    }

    pub(super) fn row_at(&self, y: f64) -> Option<usize> {
        let row = self.rows.partition_point(|top| *top <= y).checked_sub(1)?;
        (y < self.rows.get(row)? + ROW_PX).then_some(row)
    }

    /// The rows that are at least partly between two heights.
    pub(super) fn rows_between(&self, top: f64, bottom: f64) -> Range<usize> {
        let first = self.rows.partition_point(|row| row + ROW_PX <= top);
        let end = self.rows.partition_point(|row| *row < bottom);
        first..end.max(first)
    }

    pub(super) fn top(&self, row: usize) -> Option<f64> {
        self.rows.get(row).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(first_row: usize, rows: usize, has_gaps: bool) -> LaneLine {
        LaneLine {
            title: String::new(),
            note: String::new(),
            first_row,
            rows,
            has_gaps,
        }
    }

    #[test]
    fn rows_are_found_by_height_and_titles_lie_between() {
        let layout = Layout::new(&[lane(0, 2, true), lane(2, 1, false)]);
        let expected = Layout {
            titles: vec![0.0, 66.0],
            rows: vec![22.0, 40.0, 88.0],
            gaps: std::iter::once(0..2).collect(),
            height: 114.0,
        };
        assert_eq!(layout, expected);
        let cases = [
            (0.0, None),
            (22.0, Some(0)),
            (57.9, Some(1)),
            (60.0, None),
            (90.0, Some(2)),
            (200.0, None),
        ];
        for (y, row) in cases {
            assert_eq!(layout.row_at(y), row, "{y}");
        }
        assert_eq!(layout.rows_between(41.0, 89.0), 1..3);
        assert_eq!(layout.rows_between(500.0, 600.0), 3..3);
    }
}

//! The vertical layout of lanes and rows.

use super::tracks::{PINNED, Tracks};
use crate::protocol::{LaneLine, TraceSide};

pub(super) const ROW_PX: f64 = 18.0;
/// Height of a counter.
pub(super) const COUNTER_PX: f64 = 44.0;
/// Height of the heading above the lanes of the reference, and of each trace below it.
const HEAD_PX: f64 = 30.0;
/// Space between two lanes.
const APART_PX: f64 = 8.0;

/// The position of every visible row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Layout {
    /// The visible lanes, with the top of their titles.
    pub(super) titles: Vec<(usize, f64)>,
    /// Top of each row; `None` if it is hidden.
    tops: Vec<Option<f64>>,
    /// The visible rows, from top to bottom.
    rows: Vec<(f64, usize)>,
    /// Top and bottom of the area where idle gaps are marked, and its trace.
    pub(super) gaps: Vec<(f64, f64, TraceSide)>,
    /// Top of the heading of each trace below the target.
    pub(super) below: Vec<(TraceSide, f64)>,
    /// Top and bottom of each trace's lanes, from top to bottom.
    pub(super) bands: Vec<(f64, f64, TraceSide)>,
    /// Visible counters: position of the lane, number, and top.
    pub(super) counters: Vec<(usize, u32, f64)>,
    /// Total height.
    pub(super) height: f64,
}

impl Layout {
    /// The layout of lanes below each other, pinned ones first, with titles of this height.
    pub(super) fn new(lanes: &[LaneLine], tracks: &Tracks, filter: &str, title_px: f64) -> Layout {
        let n_rows = lanes.iter().map(|lane| lane.first_row + lane.rows).max();
        let mut layout = Layout {
            tops: vec![None; n_rows.unwrap_or(0)],
            ..Layout::default()
        };
        let mut y = 0.0;
        for at in tracks.order(lanes, filter) {
            let Some(lane) = lanes.get(at) else {
                continue;
            };
            let is_below = lane.side.below().is_some() && !tracks.is(PINNED, at);
            let is_known = layout.below.iter().any(|(side, _)| *side == lane.side);
            if is_below && !is_known {
                layout.below.push((lane.side, y));
                y += HEAD_PX;
            }
            let band_top = y;
            layout.titles.push((at, y));
            y += title_px;
            if !tracks.is_folded(at) {
                let above = y;
                if let Some(counter) = &lane.counter {
                    layout.counters.push((at, counter.number, y));
                    y += COUNTER_PX;
                }
                for row in lane.first_row + tracks.folded_rows(at, lane)..lane.first_row + lane.rows
                {
                    if let Some(top) = layout.tops.get_mut(row) {
                        *top = Some(y);
                    }
                    layout.rows.push((y, row));
                    y += ROW_PX;
                }
                if lane.has_gaps && y > above {
                    layout.gaps.push((above, y, lane.side));
                }
            }
            y += APART_PX;
            match layout.bands.last_mut() {
                Some((_, bottom, side)) if *side == lane.side => *bottom = y,
                _ => layout.bands.push((band_top, y, lane.side)),
            }
        }
        layout.height = y;
        layout
    }

    pub(super) fn row_at(&self, y: f64) -> Option<usize> {
        let at = self
            .rows
            .partition_point(|(top, _)| *top <= y)
            .checked_sub(1)?;
        let (top, row) = self.rows.get(at)?;
        (y < top + ROW_PX).then_some(*row)
    }

    /// The rows that are at least partly between two vertical positions.
    pub(super) fn rows_between(&self, top: f64, bottom: f64) -> Vec<usize> {
        let first = self.rows.partition_point(|(row, _)| row + ROW_PX <= top);
        let rows = self.rows.iter().skip(first);
        let rows = rows.take_while(|(row, _)| *row < bottom);
        rows.map(|(_, row)| *row).collect()
    }

    /// The numbers of the counters that are at least partly between two vertical positions.
    pub(super) fn counters_between(&self, top: f64, bottom: f64) -> Vec<u32> {
        let counters = self.counters.iter();
        let seen = counters.filter(|(_, _, y)| *y < bottom && y + COUNTER_PX > top);
        seen.map(|(_, number, _)| *number).collect()
    }

    pub(super) fn top(&self, row: usize) -> Option<f64> {
        self.tops.get(row).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE_PX: f64 = 22.0;

    fn lane(title: &str, first_row: usize, rows: usize, has_gaps: bool) -> LaneLine {
        LaneLine {
            side: TraceSide::Target,
            trace: String::new(),
            title: title.to_owned(),
            note: String::new(),
            first_row,
            rows,
            has_gaps,
            stack: 0,
            counter: None,
        }
    }

    fn lanes() -> Vec<LaneLine> {
        vec![lane("GPU", 0, 2, true), lane("Thread", 2, 1, false)]
    }

    #[test]
    fn rows_are_found_by_height_and_titles_lie_between() {
        let layout = Layout::new(&lanes(), &Tracks::default(), "", TITLE_PX);
        assert_eq!(layout.titles, [(0, 0.0), (1, 66.0)]);
        let tops: Vec<Option<f64>> = (0..3).map(|row| layout.top(row)).collect();
        assert_eq!(tops, [Some(22.0), Some(40.0), Some(88.0)]);
        assert_eq!(
            (layout.gaps.clone(), layout.height),
            (vec![(22.0, 58.0, TraceSide::Target)], 114.0)
        );
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
        assert_eq!(layout.rows_between(41.0, 89.0), [1, 2]);
        assert!(layout.rows_between(500.0, 600.0).is_empty());
    }

    #[test]
    fn tracks_fold_hide_and_are_pinned_and_the_common_stack_is_folded() {
        let rows = |tracks: &str, filter: &str| {
            let mut lanes = lanes();
            lanes.push(LaneLine {
                stack: 3,
                ..lane("Deep", 3, 5, false)
            });
            let layout = Layout::new(&lanes, &Tracks::parse(tracks), filter, TITLE_PX);
            let titles: Vec<usize> = layout.titles.iter().map(|(lane, _)| *lane).collect();
            (titles, layout.rows_between(0.0, 1e9))
        };
        assert_eq!(rows("", ""), (vec![0, 1, 2], vec![0, 1, 2, 6, 7]));
        assert_eq!(rows("s2", ""), (vec![0, 1, 2], (0..8).collect()));
        assert_eq!(rows("f0.h2", ""), (vec![0, 1], vec![2]));
        assert_eq!(rows("p1.h2", ""), (vec![1, 0], vec![2, 0, 1]));
        assert_eq!(rows("", "thr"), (vec![1], vec![2]));
    }

    #[test]
    fn lanes_of_the_reference_stand_below_unless_they_are_pinned() {
        let mut lanes = lanes();
        let below = lanes.clone().into_iter().map(|lane| LaneLine {
            side: TraceSide::Reference,
            trace: "old".to_owned(),
            first_row: lane.first_row + 3,
            ..lane
        });
        lanes.extend(below.collect::<Vec<LaneLine>>());
        let layout = Layout::new(&lanes, &Tracks::default(), "", TITLE_PX);
        assert_eq!(layout.below, [(TraceSide::Reference, 114.0)]);
        assert_eq!(layout.titles[2], (2, 144.0));
        let (target, reference) = (TraceSide::Target, TraceSide::Reference);
        let bands = [(0.0, 114.0, target), (144.0, 258.0, reference)];
        assert_eq!(layout.bands, bands);
        assert_eq!(layout.gaps[1], (166.0, 202.0, reference));

        let pinned = Layout::new(&lanes, &Tracks::parse("p0.p2"), "", TITLE_PX);
        let order: Vec<usize> = pinned.titles.iter().map(|(lane, _)| *lane).collect();
        assert_eq!(order, [0, 2, 1, 3]);
        assert_eq!(pinned.below, [(reference, 66.0 + 66.0 + 48.0)]);
        // A lane is also found by the name of its trace.
        let found = Layout::new(&lanes, &Tracks::default(), "old", TITLE_PX);
        assert_eq!(found.titles.len(), 2);
    }
}

//! Columns of numbers that are nearly always small. Each row takes only the bytes of a small number; large numbers are
//! stored separately.

use serde::{Deserialize, Serialize};

use super::column::Row;
use super::{Column, TrackId};

/// A number that nearly always fits in a narrower type.
pub(crate) trait Wide: Copy {
    /// The narrower type.
    type Narrow: Row + PartialEq;
    /// Marks a number that does not fit.
    const ESCAPE: Self::Narrow;

    fn narrow(self) -> Option<Self::Narrow>;
    fn widen(narrow: Self::Narrow) -> Self;
}

/// A duration in nanoseconds, if known. Nearly all are below 4.29 s.
impl Wide for Option<i64> {
    type Narrow = u32;
    const ESCAPE: u32 = u32::MAX;

    #[inline]
    fn narrow(self) -> Option<u32> {
        match self {
            None => Some(UNKNOWN),
            Some(ns) => u32::try_from(ns).ok().filter(|ns| *ns < UNKNOWN),
        }
    }

    #[inline]
    fn widen(narrow: u32) -> Option<i64> {
        (narrow != UNKNOWN).then_some(i64::from(narrow))
    }
}

/// An unknown duration.
const UNKNOWN: u32 = u32::MAX - 1;

/// A thread or stream: traces have a few hundred.
impl Wide for TrackId {
    type Narrow = u16;
    const ESCAPE: u16 = u16::MAX;

    #[inline]
    fn narrow(self) -> Option<u16> {
        u16::try_from(self.0).ok().filter(|id| *id != Self::ESCAPE)
    }

    #[inline]
    fn widen(narrow: u16) -> TrackId {
        TrackId(narrow.into())
    }
}

/// A column of such numbers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "W: Serialize, W::Narrow: Row",
    deserialize = "W: Deserialize<'de>, W::Narrow: Row"
))]
pub(crate) struct NarrowColumn<W: Wide> {
    rows: Column<W::Narrow>,
    /// Numbers that do not fit, sorted by row.
    escaped: Vec<(u32, W)>,
}

impl<W: Wide> Default for NarrowColumn<W> {
    fn default() -> Self {
        NarrowColumn {
            rows: Column::default(),
            escaped: Vec::new(),
        }
    }
}

impl<W: Wide> NarrowColumn<W> {
    #[inline]
    pub(crate) fn push(&mut self, value: W) {
        let narrow = value.narrow();
        if narrow.is_none() {
            self.escaped.push((self.rows.len() as u32, value));
        }
        self.rows.push(narrow.unwrap_or(W::ESCAPE));
    }

    /// The value of a row, or `None` past the end.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<W> {
        let narrow = self.rows.get(row)?;
        match narrow == W::ESCAPE {
            true => self.get_escaped(row),
            false => Some(W::widen(narrow)),
        }
    }

    #[cold]
    fn get_escaped(&self, row: usize) -> Option<W> {
        let at = self.place(row).ok()?;
        self.escaped.get(at).map(|(_, value)| *value)
    }

    fn place(&self, row: usize) -> Result<usize, usize> {
        self.escaped
            .binary_search_by_key(&row, |(at, _)| *at as usize)
    }

    /// Changes a row; rows past the end are left alone.
    pub(crate) fn set(&mut self, row: usize, value: W) {
        if row >= self.rows.len() {
            return;
        }
        let narrow = value.narrow();
        match (self.place(row), narrow) {
            (Ok(at), None) => self.escaped[at].1 = value,
            (Ok(at), Some(_)) => drop(self.escaped.remove(at)),
            (Err(at), None) => self.escaped.insert(at, (row as u32, value)),
            (Err(_), Some(_)) => {}
        }
        self.rows.set(row, narrow.unwrap_or(W::ESCAPE));
    }

    /// All rows in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = W> + '_ {
        let mut escaped = self.escaped.iter().map(|(_, value)| *value);
        self.rows
            .iter()
            .map(move |narrow| match narrow == W::ESCAPE {
                true => escaped.next().unwrap_or(W::widen(narrow)),
                false => W::widen(narrow),
            })
    }

    /// Appends rows.
    pub(super) fn extend(&mut self, rows: impl Iterator<Item = W>) {
        rows.for_each(|row| self.push(row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_comes_back() {
        let mut column = NarrowColumn::default();
        let limit = i64::from(u32::MAX);
        let all = [
            Some(0),
            None,
            Some(limit - 2),
            Some(limit - 1),
            Some(limit),
            Some(i64::MAX),
            Some(7),
        ];
        column.extend(all.into_iter());
        let got: Vec<_> = (0..=all.len()).map(|row| column.get(row)).collect();
        assert_eq!(got, [all.map(Some).as_slice(), &[None]].concat());
        assert_eq!(column.iter().collect::<Vec<_>>(), all);
        assert_eq!(column.escaped.len(), 3);
    }

    #[test]
    fn a_changed_row_moves_to_where_it_fits() {
        let mut column = NarrowColumn::default();
        column.extend([Some(1), Some(i64::MAX), Some(3)].into_iter());
        column.set(0, Some(1 << 40));
        column.set(1, None);
        column.set(2, Some(5));
        column.set(9, Some(9));
        let rows: Vec<_> = column.iter().collect();
        assert_eq!(rows, [Some(1 << 40), None, Some(5)]);
        column.set(0, Some(1 << 41));
        assert_eq!(column.escaped, [(0, Some(1 << 41))]);
    }

    #[test]
    fn more_tracks_than_fit_keep_their_ids() {
        let mut column = NarrowColumn::default();
        let all = [0, 65_534, 65_535, 1 << 20].map(TrackId);
        column.extend(all.into_iter());
        assert_eq!(column.iter().collect::<Vec<_>>(), all);
        assert_eq!(column.get(3), Some(TrackId(1 << 20)));
    }
}

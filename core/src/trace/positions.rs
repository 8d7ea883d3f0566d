//! A column of nearly always ascending positions.

use serde::{Deserialize, Serialize};

use super::Column;

/// Positions that nearly always increase by little from row to row.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Positions {
    /// The position of the first row of each block.
    first: Column<u32>,
    /// The offset of each row from the first of its block, or [`Positions::ESCAPE`].
    beyond: Column<u8>,
    /// Sorted by row: positions that do not fit.
    escaped: Vec<(u32, u32)>,
}

impl Positions {
    /// Rows per block.
    const BLOCK: usize = 16;
    const ESCAPE: u8 = u8::MAX;

    #[inline]
    pub(super) fn push(&mut self, position: u32) {
        let row = self.beyond.len();
        let block = row / Self::BLOCK;
        if row.is_multiple_of(Self::BLOCK) {
            self.first.push(position);
        }
        let first = self.first.get(block).unwrap_or(0);
        let beyond = position
            .checked_sub(first)
            .and_then(|beyond| u8::try_from(beyond).ok())
            .filter(|beyond| *beyond != Self::ESCAPE);
        if beyond.is_none() {
            self.escaped.push((row as u32, position));
        }
        self.beyond.push(beyond.unwrap_or(Self::ESCAPE));
    }

    /// The position of a row, or `None` past the end.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<u32> {
        match self.beyond.get(row)? {
            Self::ESCAPE => {
                let escaped = self
                    .escaped
                    .binary_search_by_key(&row, |(at, _)| *at as usize);
                self.escaped
                    .get(escaped.ok()?)
                    .map(|(_, position)| *position)
            }
            beyond => Some(self.first.get(row / Self::BLOCK)? + u32::from(beyond)),
        }
    }

    /// All rows in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.beyond.len()).map_while(|row| self.get(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_wherever_they_lie() {
        // Small increases, large increases, and decreases.
        let near = (0..40).map(|row| row * 3);
        let far = (0..40).map(|row| 1_000 + row * 100);
        let all: Vec<u32> = near.chain(far).chain([u32::MAX, 5, 6, u32::MAX]).collect();
        let mut positions = Positions::default();
        all.iter().for_each(|position| positions.push(*position));
        assert_eq!(positions.iter().collect::<Vec<_>>(), all);
        assert_eq!(positions.get(all.len()), None);
    }
}

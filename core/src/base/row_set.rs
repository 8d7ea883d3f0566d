//! A set of rows that numbers its members: one bit per row, and each member's row in another table.

use serde::{Deserialize, Serialize};

/// Which rows of a table have a row in another table, in the same order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RowSet {
    /// A bit for each row.
    words: Vec<u64>,
    /// Number of members before each word.
    before: Vec<u32>,
    n_rows: usize,
}

const WORD: usize = u64::BITS as usize;

impl RowSet {
    /// A set of these rows, in any order, of a table with `n_rows` rows.
    pub(crate) fn of(n_rows: usize, rows: impl Iterator<Item = usize>) -> RowSet {
        let mut words = vec![0_u64; n_rows.div_ceil(WORD)];
        for row in rows {
            if let Some(word) = words.get_mut(row / WORD) {
                *word |= 1 << (row % WORD);
            }
        }
        let mut n = 0;
        let before = words.iter().map(|word| {
            let before = n;
            n += word.count_ones();
            before
        });
        RowSet {
            before: before.collect(),
            words,
            n_rows,
        }
    }

    /// Appends a row and whether it is in the set.
    #[inline]
    pub(crate) fn push(&mut self, is_in: bool) {
        let bit = self.n_rows % WORD;
        if bit == 0 {
            self.before.push(self.len() as u32);
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(is_in) << bit;
        }
        self.n_rows += 1;
    }

    /// Number of members.
    pub(crate) fn len(&self) -> usize {
        let last = self.before.last().zip(self.words.last());
        last.map_or(0, |(before, word)| (before + word.count_ones()) as usize)
    }

    /// The number of members before this row, which is its row in the other table; `None` if it is not in the set.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        let at = row / WORD;
        let (word, before) = self.words.get(at).zip(self.before.get(at))?;
        let bit = 1 << (row % WORD);
        let below = (word & (bit - 1)).count_ones();
        (word & bit != 0).then_some((before + below) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_set_has_the_next_place() {
        let is_in = |row: &usize| row % 3 == 1 || (64..130).contains(row);
        let rows: Vec<usize> = (0..200).filter(is_in).collect();
        let mut pushed = RowSet::default();
        (0..200).for_each(|row| pushed.push(is_in(&row)));
        // In any order; rows past the end are ignored.
        let collected = RowSet::of(200, rows.iter().rev().copied().chain([900]));
        for set in [pushed, collected] {
            assert_eq!(set.len(), rows.len());
            for row in 0..300 {
                let place = rows.iter().position(|one| *one == row);
                assert_eq!(set.place(row), place, "{row}");
            }
        }
    }
}

//! A growable column that never moves what it holds.

/// Rows per segment: 64 Ki.
const SEGMENT_BITS: usize = 16;
const SEGMENT_ROWS: usize = 1 << SEGMENT_BITS;

/// A column of plain values in segments of 64 Ki rows.
///
/// A `Vec` of millions of rows doubles by copying, and in wasm, where memory never shrinks, the
/// old half stays behind as waste. Segments are allocated once and stay where they are.
#[derive(Debug, Clone)]
pub struct Column<T> {
    segments: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Column {
            segments: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Copy> Column<T> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when no row was pushed.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a row.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.len & (SEGMENT_ROWS - 1) == 0 {
            // The first segment grows as a plain Vec, so that small traces stay small.
            let capacity = if self.len == 0 { 0 } else { SEGMENT_ROWS };
            self.segments.push(Vec::with_capacity(capacity));
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.push(value);
            self.len += 1;
        }
    }

    /// The value of a row, or `None` past the end.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Option<T> {
        self.segments
            .get(row >> SEGMENT_BITS)?
            .get(row & (SEGMENT_ROWS - 1))
            .copied()
    }

    /// Changes a row in place; rows past the end are left alone.
    #[inline]
    pub fn set(&mut self, row: usize, value: T) {
        if let Some(slot) = self
            .segments
            .get_mut(row >> SEGMENT_BITS)
            .and_then(|segment| segment.get_mut(row & (SEGMENT_ROWS - 1)))
        {
            *slot = value;
        }
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.segments.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_place_across_segments() {
        let mut column = Column::default();
        for row in 0..SEGMENT_ROWS * 2 + 3 {
            column.push(row as u32);
        }
        assert_eq!(column.len(), SEGMENT_ROWS * 2 + 3);
        assert_eq!(column.get(SEGMENT_ROWS), Some(SEGMENT_ROWS as u32));
        assert_eq!(column.get(SEGMENT_ROWS * 2 + 3), None);
        column.set(SEGMENT_ROWS, 7);
        assert_eq!(column.get(SEGMENT_ROWS), Some(7));
        assert_eq!(column.iter().count(), SEGMENT_ROWS * 2 + 3);
    }
}

//! A growable column that never moves what it holds.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
        match self.segments.last_mut() {
            Some(segment) if segment.len() < segment.capacity().min(SEGMENT_ROWS) => {
                segment.push(value);
            }
            _ => self.push_growing(value),
        }
        self.len += 1;
    }

    /// The first segment grows as a plain `Vec`, so that small traces stay small.
    #[cold]
    #[inline(never)]
    fn push_growing(&mut self, value: T) {
        match self.segments.last_mut() {
            Some(segment) if segment.len() < SEGMENT_ROWS => {
                let more = segment.len().clamp(4, SEGMENT_ROWS - segment.len());
                segment.reserve_exact(more);
                segment.push(value);
            }
            last => {
                let mut segment = Vec::with_capacity(last.map_or(0, |_| SEGMENT_ROWS));
                segment.push(value);
                self.segments.push(segment);
            }
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

    /// The rows from one on: at most some number, and none beyond its segment.
    pub(super) fn slice(&self, from: usize, n_most: usize) -> &[T] {
        let segment = self.segments.get(from >> SEGMENT_BITS);
        let rest = segment.and_then(|segment| segment.get(from & (SEGMENT_ROWS - 1)..));
        let rest = rest.unwrap_or_default();
        rest.get(..n_most).unwrap_or(rest)
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

    /// Appends rows.
    pub fn extend(&mut self, rows: impl Iterator<Item = T>) {
        for row in rows {
            self.push(row);
        }
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.segments.iter().flatten().copied()
    }
}

/// A column value that can be sent as a fixed number of bytes.
pub(crate) trait Row: Copy {
    /// Its bytes.
    type Bytes: AsRef<[u8]> + for<'a> TryFrom<&'a [u8]>;

    fn to_bytes(self) -> Self::Bytes;
    fn of_bytes(bytes: Self::Bytes) -> Self;
}

/// Implements [`Row`] for integers and for types that convert to one.
macro_rules! rows {
    ($($name:ty: $integer:ty, $to:expr, $of:expr;)+) => {$(
        impl Row for $name {
            type Bytes = [u8; size_of::<$integer>()];

            #[inline]
            fn to_bytes(self) -> Self::Bytes {
                let to: fn($name) -> $integer = $to;
                to(self).to_le_bytes()
            }

            #[inline]
            fn of_bytes(bytes: Self::Bytes) -> Self {
                let of: fn($integer) -> $name = $of;
                of(<$integer>::from_le_bytes(bytes))
            }
        }
    )+};
}

pub(crate) use rows;

rows! {
    i64: i64, |number| number, |number| number;
    u64: u64, |number| number, |number| number;
    u32: u32, |number| number, |number| number;
    u16: u16, |number| number, |number| number;
    u8: u8, |number| number, |number| number;
}

/// Serialized as one byte string, instead of encoding each value.
impl<T: Row> Serialize for Column<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(self.len * size_of::<T::Bytes>());
        for row in self.iter() {
            bytes.extend_from_slice(row.to_bytes().as_ref());
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de, T: Row> Deserialize<'de> for Column<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes(PhantomData))
    }
}

struct Bytes<T>(PhantomData<T>);

impl<T: Row> Visitor<'_> for Bytes<T> {
    type Value = Column<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a column")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Column<T>, E> {
        let mut column = Column::default();
        for row in bytes.chunks(size_of::<T::Bytes>()) {
            let row = row
                .try_into()
                .map_err(|_| E::invalid_length(bytes.len(), &self))?;
            column.push(T::of_bytes(row));
        }
        Ok(column)
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
        let end = SEGMENT_ROWS as u32;
        assert_eq!(column.slice(SEGMENT_ROWS - 2, 8), [end - 2, end - 1]);
        assert_eq!(column.slice(SEGMENT_ROWS, 2), [7, end + 1]);
        assert_eq!(column.slice(SEGMENT_ROWS * 2 + 3, 2), [0; 0]);
    }
}

//! Every distinct string of a trace, once.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use super::column::{Row, rows};

/// A row of the [`StringTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StringId(pub u32);

rows! {
    StringId: u32, |id| id.0, StringId;
}

/// Interned strings in one buffer.
#[derive(Debug, Clone)]
pub struct StringTable {
    text: String,
    /// End of each string in `text`; it starts where the one before it ends.
    ends: Vec<u32>,
    index: HashTable<StringId>,
}

impl Default for StringTable {
    /// A table that holds the empty string.
    fn default() -> Self {
        let mut table = StringTable {
            text: String::new(),
            ends: Vec::new(),
            index: HashTable::new(),
        };
        table.intern("");
        table
    }
}

impl StringTable {
    /// The empty string's id.
    pub(crate) const EMPTY: StringId = StringId(0);

    /// The most text that one table holds; offsets are `u32`.
    const MAX_TEXT: usize = 1 << 31;

    /// The id of a string, adding it when it is new.
    ///
    /// A full table (2 GiB of distinct text) returns the id of the empty string.
    pub(crate) fn intern(&mut self, string: &str) -> StringId {
        let hash = hash_bytes(string.as_bytes());
        let StringTable { text, ends, index } = self;
        let is_same = |id: &StringId| is_same(slice(text, ends, *id).as_bytes(), string.as_bytes());
        if let Some(id) = index.find(hash, is_same) {
            return *id;
        }
        if text.len() + string.len() > Self::MAX_TEXT {
            return Self::EMPTY;
        }
        let id = StringId(ends.len() as u32);
        text.push_str(string);
        ends.push(text.len() as u32);
        index.insert_unique(hash, id, |id| hash_bytes(slice(text, ends, *id).as_bytes()));
        id
    }

    /// The id of a string that is already in the table.
    pub fn find(&self, string: &str) -> Option<StringId> {
        self.find_bytes(string.as_bytes())
    }

    /// Like [`StringTable::find`], for bytes that may not be UTF-8; whatever is found is.
    #[inline]
    pub(crate) fn find_bytes(&self, bytes: &[u8]) -> Option<StringId> {
        let is_same = |id: &StringId| is_same(self.get(*id).as_bytes(), bytes);
        self.index.find(hash_bytes(bytes), is_same).copied()
    }

    /// The text of a string; empty for an id of another table.
    #[inline]
    pub fn get(&self, id: StringId) -> &str {
        slice(&self.text, &self.ends, id)
    }

    /// Number of distinct strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Every string with its id, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (StringId, &str)> {
        self.iter_from(0)
    }

    /// Like [`StringTable::iter`], starting at `row`.
    pub(super) fn iter_from(&self, row: usize) -> impl Iterator<Item = (StringId, &str)> {
        (row..self.ends.len()).map(|row| {
            let id = StringId(row as u32);
            (id, self.get(id))
        })
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.index.capacity() * 5
    }
}

/// Whether two texts are equal, compared eight bytes at a time. Most are short, and in WebAssembly a call to `memcmp`
/// costs more than the comparison.
#[inline(always)]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let (chunks, rest) = one.as_chunks::<8>();
    let (other_chunks, other_rest) = other.as_chunks::<8>();
    one.len() == other.len()
        && chunks.iter().zip(other_chunks).all(|(a, b)| a == b)
        && rest.iter().zip(other_rest).all(|(a, b)| a == b)
}

#[inline(always)]
fn slice<'a>(text: &'a str, ends: &[u32], id: StringId) -> &'a str {
    let row = id.0 as usize;
    let end = ends.get(row).copied().unwrap_or(0) as usize;
    let start = row
        .checked_sub(1)
        .and_then(|row| ends.get(row))
        .copied()
        .unwrap_or(0) as usize;
    text.get(start..end).unwrap_or("")
}

/// The hash that all interning uses.
#[inline(always)]
fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_an_id() {
        let mut strings = StringTable::default();
        let mm = strings.intern("aten::mm");
        assert_eq!(strings.intern("aten::mm"), mm);
        assert_eq!(strings.get(mm), "aten::mm");
        assert_eq!(strings.find("aten::bmm"), None);
        assert_eq!(strings.find("aten::m"), None);
        let long = strings.intern("aten::scaled_dot_product");
        assert_eq!(strings.find("aten::scaled_dot_product"), Some(long));
        assert_eq!(strings.find("aten::scaled_dot_producT"), None);
        assert_eq!(strings.find("aten::sCaled_dot_product"), None);
        assert_eq!(strings.get(StringTable::EMPTY), "");
        assert_eq!(strings.get(StringId(99)), "");
    }
}

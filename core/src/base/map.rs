//! Hash tables with little compiled code.
//!
//! A table of hashbrown is compiled again for each type of entries: about 1 KB every time to grow and to search. Here
//! the entries of a map are a vector, in the order in which they were inserted, and a table of positions, compiled
//! once, finds them. Suitable for most tables; use hashbrown's where millions of entries are read or inserted.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::Index;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Where the entries of a map are, by the hash of their key.
#[derive(Clone, Default)]
struct Places(HashTable<Place>);

#[derive(Clone, Copy)]
struct Place {
    hash: u64,
    at: usize,
}

impl Places {
    /// The position of an entry with this hash for which a condition holds.
    fn find(&self, hash: u64, is: &mut dyn FnMut(usize) -> bool) -> Option<usize> {
        let found = self
            .0
            .find(hash, |place| place.hash == hash && is(place.at));
        found.map(|place| place.at)
    }

    /// Adds an entry at the end.
    fn push(&mut self, hash: u64) {
        let at = self.0.len();
        self.0
            .insert_unique(hash, Place { hash, at }, |place| place.hash);
    }

    /// Removes the entry at a position; the last one, whose hash is given too, takes its position.
    fn swap_remove(&mut self, hash: u64, at: usize, last_hash: u64) {
        if let Ok(place) = self.0.find_entry(hash, |place| place.at == at) {
            place.remove();
        }
        let last = self.0.len();
        if let Some(place) = self.0.find_mut(last_hash, |place| place.at == last) {
            place.at = at;
        }
    }
}

fn hash_of(key: &(impl Hash + ?Sized)) -> u64 {
    FxBuildHasher.hash_one(key)
}

/// A hash table; its entries keep the order in which they were inserted, unless some are removed.
#[derive(Clone)]
pub(crate) struct Map<K, V> {
    entries: Vec<(K, V)>,
    places: Places,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Map<K, V> {
        Map {
            entries: Vec::new(),
            places: Places::default(),
        }
    }
}

impl<K, V> Map<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &V)> + Clone {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = &V> + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    pub(crate) fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    pub(crate) fn into_values(self) -> impl ExactSizeIterator<Item = V> {
        self.entries.into_iter().map(|(_, value)| value)
    }
}

impl<K: Hash + Eq, V> Map<K, V> {
    fn find<Q: Hash + Eq + ?Sized>(&self, hash: u64, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        let entries = &self.entries;
        self.places
            .find(hash, &mut |at| entries[at].0.borrow() == key)
    }

    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(hash_of(key), key)?;
        Some(&self.entries[at].1)
    }

    pub(crate) fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(hash_of(key), key)?;
        Some(&mut self.entries[at].1)
    }

    pub(crate) fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(hash_of(key), key).is_some()
    }

    /// Sets the value of a key; returns the one it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let mut value = Some(value);
        let place = self
            .entry(key)
            .or_insert_with(|| value.take().expect("it is new"));
        value.map(|value| std::mem::replace(place, value))
    }

    /// Removes a key; the last entry takes its place.
    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let hash = hash_of(key);
        let at = self.find(hash, key)?;
        let (last, _) = self.entries.last()?;
        self.places.swap_remove(hash, at, hash_of(last));
        Some(self.entries.swap_remove(at).1)
    }

    pub(crate) fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let hash = hash_of(&key);
        let at = self.find(hash, &key);
        Entry {
            map: self,
            key,
            hash,
            at,
        }
    }
}

/// The place of a key in a map, which may be free.
pub(crate) struct Entry<'a, K, V> {
    map: &'a mut Map<K, V>,
    key: K,
    hash: u64,
    at: Option<usize>,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The number of the key in the order in which they were inserted.
    pub(crate) fn number(&self) -> usize {
        self.at.unwrap_or(self.map.len())
    }

    pub(crate) fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let entries = &mut self.map.entries;
        let at = self.at.unwrap_or(entries.len());
        if self.at.is_none() {
            entries.push((self.key, value()));
            self.map.places.push(self.hash);
        }
        &mut entries[at].1
    }

    pub(crate) fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    pub(crate) fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K: Hash + Eq, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Hash + Eq, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Map<K, V> {
        let mut map = Map::default();
        map.extend(entries);
        map
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<Q: Hash + Eq + ?Sized, K: Hash + Eq + Borrow<Q>, V> Index<&Q> for Map<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is in the map")
    }
}

impl<K: Hash + Eq, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Map<K, V>) -> bool {
        let is_same = |(key, value)| other.get(key) == Some(value);
        self.len() == other.len() && self.iter().all(is_same)
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A set of keys, in the order in which they were inserted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Set<K: Hash + Eq>(Map<K, ()>);

impl<K: Hash + Eq> Default for Set<K> {
    fn default() -> Set<K> {
        Set(Map::default())
    }
}

impl<K: Hash + Eq> Set<K> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.0.keys()
    }

    pub(crate) fn contains<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// The number of a key in their order; adds a new one.
    pub(crate) fn number(&mut self, key: K) -> usize {
        let entry = self.0.entry(key);
        let number = entry.number();
        entry.or_default();
        number
    }

    /// Adds a key; returns whether it is new.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }
}

impl Set<String> {
    /// The number of a text; only a new one is copied. Beyond four billion texts all others share a number.
    pub(crate) fn id(&mut self, text: &str) -> u32 {
        let known = self.0.find(hash_of(text), text);
        let number = known.unwrap_or_else(|| self.number(text.to_owned()));
        u32::try_from(number).unwrap_or(u32::MAX)
    }
}

impl<K: Hash + Eq> Extend<K> for Set<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        self.0.extend(keys.into_iter().map(|key| (key, ())));
    }
}

impl<K: Hash + Eq> FromIterator<K> for Set<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Set<K> {
        Set(keys.into_iter().map(|key| (key, ())).collect())
    }
}

impl<K: Hash + Eq> IntoIterator for Set<K> {
    type Item = K;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(K, ())>, fn((K, ())) -> K>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(key, ())| key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_map_holds_what_a_tree_holds() {
        let (mut map, mut tree) = (Map::default(), BTreeMap::default());
        // A sequence of keys that repeats some of them.
        let keys = (0..5_000_u64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54);
        for (at, key) in keys.enumerate() {
            match at % 3 {
                0 => assert_eq!(map.remove(&key), tree.remove(&key)),
                _ => assert_eq!(map.insert(key, at), tree.insert(key, at)),
            }
            assert_eq!(map.len(), tree.len());
        }
        assert!((0..1_024).all(|key| map.get(&key) == tree.get(&key)));
    }

    #[test]
    fn entries_keep_their_order() {
        let mut map: Map<String, Vec<i32>> = Map::default();
        for (at, name) in ["b", "a", "c", "a"].into_iter().enumerate() {
            map.entry(name.to_owned()).or_default().push(at as i32);
        }
        assert!(map.keys().eq(["b", "a", "c"]));
        assert_eq!(map["a"], [1, 3]);
        assert!(map.get("d").is_none());
        let set: Set<&str> = ["b", "a", "b"].into_iter().collect();
        assert!(set.iter().eq(&["b", "a"]) && set.contains("a"));
    }
}

//! Groups in the order of their first appearance.

use std::hash::Hash;

use hashbrown::hash_map::Entry;

use super::map::Map;

/// Accumulates the items of each key, keys in the order of their first appearance.
pub(crate) fn grouped<K: Hash + Eq + Clone, T, A: Default>(
    items: impl IntoIterator<Item = (K, T)>,
    mut add: impl FnMut(&mut A, T),
) -> Vec<(K, A)> {
    let mut places: Map<K, usize> = Map::default();
    let mut groups: Vec<(K, A)> = Vec::new();
    for (key, item) in items {
        let at = match places.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                groups.push((new.key().clone(), A::default()));
                *new.insert(groups.len() - 1)
            }
        };
        add(&mut groups[at].1, item);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_the_order_in_which_they_appear() {
        let items = [("b", 1), ("a", 2), ("b", 3)];
        assert_eq!(
            grouped(items, Vec::push),
            [("b", vec![1, 3]), ("a", vec![2])]
        );
    }
}

//! Groups in the order of their first appearance.

use std::hash::Hash;

use super::map::Map;

/// Accumulates the items of each key, keys in the order of their first appearance.
pub fn grouped<K: Hash + Eq, T, A: Default>(
    items: impl IntoIterator<Item = (K, T)>,
    mut add: impl FnMut(&mut A, T),
) -> Vec<(K, A)> {
    let mut groups: Map<K, A> = Map::default();
    for (key, item) in items {
        add(groups.entry(key).or_default(), item);
    }
    groups.into_iter().collect()
}

/// How often each key occurs.
pub(crate) fn counted<K: Hash + Eq>(keys: impl IntoIterator<Item = K>) -> Vec<(K, usize)> {
    let keys = keys.into_iter().map(|key| (key, ()));
    grouped(keys, |count, ()| *count += 1)
}

/// The sum of the times of each key.
pub(crate) fn summed<K: Hash + Eq>(times: impl IntoIterator<Item = (K, i64)>) -> Vec<(K, i64)> {
    grouped(times, |sum: &mut i64, ns| *sum = sum.saturating_add(ns))
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
        assert_eq!(summed(items), [("b", 4), ("a", 2)]);
        assert_eq!(counted(["b", "a", "b"]), [("b", 2), ("a", 1)]);
    }
}

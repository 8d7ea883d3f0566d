//! Sorting with little compiled code.
//!
//! std compiles its sort again for each type and each comparison: about 5 KB every time, a sixth of the page's worker
//! in total. Here one compiled sort of positions serves them all; only the comparison and the moving of items are
//! compiled for each call. Suitable for table-sized data; use std's sort for millions of events.

use std::cmp::Ordering;
use std::ops::Range;

/// Stable sorting of a slice: like std's `sort`, `sort_by`, `sort_by_key` and `sort_by_cached_key`.
pub trait Arrange<T> {
    /// Sorts by a comparison; equal items keep their order.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key that is cheap to compute.
    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|one, other| key(one).cmp(&key(other)));
    }

    /// Sorts by a key that is cheap to compute, the largest first.
    fn arrange_by_largest<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|one, other| key(other).cmp(&key(one)));
    }

    /// Sorts by a key that is computed once for each item.
    fn arrange_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// Sorts by the items' own order.
    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.arrange_by(T::cmp);
    }
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        if self.len() < 2 {
            return;
        }
        let places = places(self.len(), &mut |one, other| {
            compare(&self[one], &self[other])
        });
        put(self, places);
    }

    fn arrange_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        let keys: Vec<K> = self.iter().map(key).collect();
        let places = places(keys.len(), &mut |one, other| keys[one].cmp(&keys[other]));
        put(self, places);
    }
}

/// Collecting with little compiled code.
pub trait Gather: Iterator + Sized {
    /// Inserts the items into a map or a set, one by one. `collect` sorts them first, with a separate sort for each
    /// iterator type.
    fn gather<C: Default + Extend<Self::Item>>(self) -> C {
        let mut all = C::default();
        all.extend(self);
        all
    }
}

impl<I: Iterator> Gather for I {}

/// Collecting into a sorted list, with [`Arrange`].
pub trait Arranged: Iterator + Sized {
    /// Sorted by a comparison; equal items keep their order.
    fn arranged_by(
        self,
        compare: impl FnMut(&Self::Item, &Self::Item) -> Ordering,
    ) -> Vec<Self::Item> {
        let mut all: Vec<Self::Item> = self.collect();
        all.arrange_by(compare);
        all
    }

    /// Sorted by a key that is cheap to compute.
    fn arranged_by_key<K: Ord>(self, mut key: impl FnMut(&Self::Item) -> K) -> Vec<Self::Item> {
        self.arranged_by(|one, other| key(one).cmp(&key(other)))
    }

    /// Sorted by a key that is cheap to compute, the largest first.
    fn arranged_by_largest<K: Ord>(self, mut key: impl FnMut(&Self::Item) -> K) -> Vec<Self::Item> {
        self.arranged_by(|one, other| key(other).cmp(&key(one)))
    }

    /// Sorted by a key that is computed once for each item.
    fn arranged_by_cached_key<K: Ord>(self, key: impl FnMut(&Self::Item) -> K) -> Vec<Self::Item> {
        let mut all: Vec<Self::Item> = self.collect();
        all.arrange_by_cached_key(key);
        all
    }

    /// Sorted by the items' own order.
    fn arranged(self) -> Vec<Self::Item>
    where
        Self::Item: Ord,
    {
        self.arranged_by(Ord::cmp)
    }

    /// Sorted, each item once.
    fn distinct(self) -> Vec<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut all = self.arranged();
        all.dedup();
        all
    }
}

impl<I: Iterator> Arranged for I {}

/// The largest item of an iterator, the first of equal ones; std's `max_by_key` gives the last.
pub(crate) trait FirstMax: Iterator + Sized {
    /// By a key, which may be a float.
    fn first_max_by_key<K: PartialOrd>(
        self,
        mut key: impl FnMut(&Self::Item) -> K,
    ) -> Option<Self::Item> {
        self.reduce(|most, next| match key(&next) > key(&most) {
            true => next,
            false => most,
        })
    }
}

impl<I: Iterator> FirstMax for I {}

/// Like `partition_point` of a slice, for a point that is probably near a given one: the distance doubles until the
/// point is passed.
pub(crate) fn partition_point_near<T>(
    items: &[T],
    near: usize,
    is_before: impl Fn(&T) -> bool,
) -> usize {
    let before = |at: usize| items.get(at).is_some_and(&is_before);
    // Everything below `low` is before the point, and nothing from `high` on.
    let mut low = near.min(items.len());
    let (mut high, mut step) = (low, 1);
    while before(high) {
        low = high + 1;
        high = (high + step).min(items.len());
        step *= 2;
    }
    while low > 0 && !before(low - 1) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    first_not(low..high, before)
}

/// The sorted position of each item. Not generic, so it is compiled once.
fn places(items: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items).collect();
    order.sort_by(|&one, &other| compare(one, other));
    let mut places = vec![0; items];
    for (place, item) in order.into_iter().enumerate() {
        places[item] = place;
    }
    places
}

/// Moves each item to its place; every swap brings at least one item to its final place.
fn put<T>(items: &mut [T], mut places: Vec<usize>) {
    for at in 0..items.len() {
        while places[at] != at {
            let place = places[at];
            items.swap(at, place);
            places.swap(at, place);
        }
    }
}

/// The first position of a range for which a condition no longer holds, found by halving.
pub(crate) fn first_not(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = start + (end - start) / 2;
        match holds(middle) {
            true => start = middle + 1,
            false => end = middle,
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compares_equal_keeps_its_order() {
        let mut ops = [("mm", 2), ("add", 5), ("bmm", 2), ("relu", 9), ("copy_", 5)];
        ops.arrange_by_largest(|&(_, ns)| ns);
        let names: Vec<&str> = ops.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["relu", "add", "copy_", "mm", "bmm"]);
    }

    #[test]
    fn a_point_is_found_from_anywhere() {
        let items: Vec<usize> = (0..40).map(|at| 2 * at).collect();
        for least in 0..=80 {
            let expected = items.partition_point(|item| *item < least);
            for near in 0..45 {
                let point = partition_point_near(&items, near, |item| *item < least);
                assert_eq!(point, expected, "{least} from {near}");
            }
        }
        assert_eq!(partition_point_near(&[0; 0], 3, |_| true), 0);
    }

    #[test]
    fn a_cached_key_is_made_once_for_each_item() {
        let mut made = 0;
        let mut names = vec!["Mm", "add", "Bmm"];
        names.arrange_by_cached_key(|name| {
            made += 1;
            name.to_lowercase()
        });
        assert_eq!((names, made), (vec!["add", "Bmm", "Mm"], 3));
    }

    #[test]
    fn nothing_and_one_thing_are_sorted() {
        let mut none: [u32; 0] = [];
        none.arrange();
        let mut one = [7];
        one.arrange();
        assert_eq!((none, one), ([], [7]));
    }

    /// Every order of five items, with two that compare equal.
    #[test]
    fn it_sorts_as_std_does() {
        for mut code in 0..3125_u32 {
            let mut items: Vec<(u32, usize)> = Vec::new();
            for at in 0..5 {
                items.push((code % 5, at));
                code /= 5;
            }
            let mut expected = items.clone();
            expected.sort_by_key(|&(value, _)| value);
            items.arrange_by_key(|&(value, _)| value);
            assert_eq!(items, expected);
        }
    }
}

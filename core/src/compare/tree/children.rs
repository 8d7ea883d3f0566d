//! Matches two lists of calls made by two calls of the same name.
//!
//! First, calls with the same name are matched in order. If names repeat, calls with the same calls below them are
//! preferred. Between matched calls, some calls exist on one side only; these may be
//!
//! * *wrappers*: a call that contains only one call, or whose calls the other side makes itself. Their content is
//!   compared, and they are placed around it;
//! * the same call under another name: they make the same calls themselves;
//! * a real difference: everything else.

use std::ops::Range;

use super::skeleton::Skeleton;
use crate::base::map::Map;
use crate::base::sequence::align;
use crate::base::sort::Arranged;
use crate::compare::{Pair, Which};

/// How many calls ahead a call of another name is searched for.
const LOOK_AHEAD: usize = 8;

/// The result of comparing calls, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A call of both sides.
    Both(Pair<u32>),
    /// A call of one side, with everything below it.
    One(Which, u32),
    /// Calls of one or both sides around content to be compared.
    Around(Wrappers),
}

/// Chains of calls, each containing only the next one, around lists to compare.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Wrappers {
    /// The calls, outermost first.
    pub(crate) chains: Pair<Vec<u32>>,
    /// The position in each chain of the first call that both make; the lengths if there is none.
    pub(crate) meet: Pair<usize>,
    /// The calls made by the innermost ones: the lists to compare.
    pub(crate) inside: Pair<Vec<u32>>,
}

/// Unmatched calls of both sides between two matched ones.
type Unmatched<'a> = Pair<&'a [u32]>;

/// Compares lists of calls.
pub(crate) struct Matcher<'a> {
    pub(crate) sides: Pair<&'a Skeleton>,
}

impl Matcher<'_> {
    /// Splits two lists of calls into common and different ones.
    pub(crate) fn compare(&self, lists: &Pair<Vec<u32>>) -> Vec<Item> {
        let mut items = Vec::new();
        let lists = lists.as_ref().map(Vec::as_slice);
        for (between, matched) in pieces(lists, self.matches(lists)) {
            self.of_other_names(between, &mut items);
            items.extend(matched.map(Item::Both));
        }
        items
    }

    pub(crate) fn children(&self, which: Which, row: u32) -> Vec<u32> {
        self.sides.get(which).children(row).collect()
    }

    fn name(&self, which: Which, row: u32) -> u64 {
        self.sides.get(which).row(row).name_key()
    }

    fn keys(&self, lists: Unmatched, key: impl Fn(&Skeleton, u32) -> u64) -> Pair<Vec<u64>> {
        let sides = self.sides.zip(lists);
        sides.map(|(side, rows)| rows.iter().map(|row| key(side, *row)).collect())
    }

    /// Positions that match by name. Calls with the same calls below them take precedence, unless that would match
    /// fewer names.
    fn matches(&self, lists: Unmatched) -> Vec<(usize, usize)> {
        let names = self.keys(lists, |side, row| side.row(row).name_key());
        if names.reference == names.target {
            return (0..names.target.len()).map(|at| (at, at)).collect();
        }
        let by_name = align(&names.reference, &names.target);
        let deep = self.keys(lists, |side, row| side.row(row).deep);
        let shallow = self.keys(lists, |side, row| side.row(row).shallow);
        let mut pairs = Vec::new();
        for keys in [deep, shallow, names] {
            pairs = refined(&pairs, &keys.reference, &keys.target);
        }
        match pairs.len() < by_name.len() {
            true => by_name,
            false => pairs,
        }
    }

    /// Calls whose names the other side does not have at this place: first those with the same call at the end of their
    /// chains.
    fn of_other_names(&self, calls: Unmatched, items: &mut Vec<Item>) {
        if calls.reference.is_empty() || calls.target.is_empty() {
            return alone(calls, items);
        }
        let cores = self.keys(calls, |side, row| side.row(side.core(row)).name_key());
        let pairs = align(&cores.reference, &cores.target);
        for (between, matched) in pieces(calls, pairs) {
            self.wrapped(between, items);
            items.extend(matched.map(|rows| self.chains(rows)));
        }
    }

    /// Finds the wrappers of either side, then calls of other names.
    fn wrapped(&self, calls: Unmatched, items: &mut Vec<Item>) {
        self.unwrapped(Which::Reference, calls, items, |calls, items| {
            self.unwrapped(Which::Target, calls, items, |calls, items| {
                self.renamed(calls, items);
            });
        });
    }

    /// Finds calls of one side around calls that the other side makes itself; the calls in between are passed on.
    fn unwrapped(
        &self,
        which: Which,
        calls: Unmatched,
        items: &mut Vec<Item>,
        rest: impl Fn(Unmatched, &mut Vec<Item>),
    ) {
        let other = which.other();
        let (wrappers, plain) = (*calls.get(which), *calls.get(other));
        let mut places: Map<u64, Vec<usize>> = Map::default();
        for (at, row) in plain.iter().enumerate() {
            places.entry(self.name(other, *row)).or_default().push(at);
        }
        let mut from = Pair::<usize>::default();
        let until = |from: Pair<usize>, wrapper: usize, plain: usize| {
            let mut to = Pair::default();
            *to.get_mut(which) = wrapper;
            *to.get_mut(other) = plain;
            Pair::of(|which| &calls.get(which)[*from.get(which)..*to.get(which)])
        };
        for (at, &row) in wrappers.iter().enumerate() {
            let chain = self.sides.get(which).chain(row);
            let core = chain.last();
            let inside = core.map_or_else(Vec::new, |core| self.children(which, *core));
            let found = self.run(which, &inside, plain, &places, *from.get(other));
            let Some(run) = found else { continue };
            rest(until(from, at, run.start), items);
            let mut around = Wrappers::default();
            *around.meet.get_mut(which) = chain.len();
            *around.chains.get_mut(which) = chain;
            *around.inside.get_mut(which) = inside;
            *around.inside.get_mut(other) = plain[run.clone()].to_vec();
            items.push(Item::Around(around));
            *from.get_mut(which) = at + 1;
            *from.get_mut(other) = run.end;
        }
        rest(until(from, wrappers.len(), plain.len()), items);
    }

    /// The range in which the other side makes at least half of these calls itself.
    fn run(
        &self,
        which: Which,
        inside: &[u32],
        plain: &[u32],
        places: &Map<u64, Vec<usize>>,
        from: usize,
    ) -> Option<Range<usize>> {
        let names: Vec<u64> = inside.iter().map(|row| self.name(which, *row)).collect();
        let next = |name: &u64| {
            let places = places.get(name)?;
            places.get(places.partition_point(|at| *at < from)).copied()
        };
        let found: Vec<usize> = names.iter().filter_map(next).collect();
        if found.len() * 2 < names.len() {
            return None;
        }
        let start = *found.iter().min()?;
        let end = plain.len().min(start + 2 * names.len() + LOOK_AHEAD);
        let there = plain.get(start..end)?.iter();
        let there: Vec<u64> = there.map(|row| self.name(which.other(), *row)).collect();
        let pairs = align(&names, &there);
        let (first, last) = (pairs.first()?, pairs.last()?);
        (pairs.len() * 2 >= names.len()).then_some(start + first.1..start + last.1 + 1)
    }

    /// Pairs calls of different names that make the same calls themselves.
    fn renamed(&self, calls: Unmatched, items: &mut Vec<Item>) {
        let mut pairs = Vec::new();
        let mut from = 0;
        for (a, row) in calls.reference.iter().enumerate() {
            let mut ahead = from..calls.target.len().min(from + LOOK_AHEAD);
            if let Some(b) = ahead.find(|b| self.is_alike(*row, calls.target[*b])) {
                pairs.push((a, b));
                from = b + 1;
            }
        }
        for (between, matched) in pieces(calls, pairs) {
            alone(between, items);
            items.extend(matched.map(|rows| self.chains(rows)));
        }
    }

    /// Whether at least half of the calls that either makes are made by both.
    fn is_alike(&self, reference: u32, target: u32) -> bool {
        let names = Pair { reference, target }
            .zip(self.sides)
            .map(|(row, side)| {
                let children = side.children(side.core(row));
                children.map(|row| side.row(row).name_key()).arranged()
            });
        let (ours, theirs) = (names.reference, names.target);
        let most = ours.len().max(theirs.len());
        let (mut a, mut b, mut n_shared) = (0, 0, 0);
        while let (Some(x), Some(y)) = (ours.get(a), theirs.get(b)) {
            n_shared += usize::from(x == y);
            a += usize::from(x <= y);
            b += usize::from(y <= x);
        }
        most > 0 && n_shared * 2 >= most
    }

    fn chains(&self, rows: Pair<u32>) -> Item {
        let chains = self.sides.zip(rows).map(|(side, row)| side.chain(row));
        let inside = Pair::of(|which| {
            let core = chains.get(which).last();
            core.map_or_else(Vec::new, |core| self.children(which, *core))
        });
        let names = self.keys(chains.as_ref().map(Vec::as_slice), |side, row| {
            side.row(row).name_key()
        });
        let first = align(&names.reference, &names.target).first().copied();
        let meet = first.map(|(reference, target)| Pair { reference, target });
        Item::Around(Wrappers {
            meet: meet.unwrap_or(chains.as_ref().map(Vec::len)),
            chains,
            inside,
        })
    }
}

/// The calls before each pair of positions and after the last, each with the calls of the pair.
fn pieces(
    calls: Unmatched<'_>,
    pairs: Vec<(usize, usize)>,
) -> impl Iterator<Item = (Unmatched<'_>, Option<Pair<u32>>)> {
    let mut from = (0, 0);
    let end = (calls.reference.len(), calls.target.len());
    pairs.into_iter().chain([end]).map(move |(a, b)| {
        let between = Pair {
            reference: &calls.reference[from.0..a],
            target: &calls.target[from.1..b],
        };
        from = (a + 1, b + 1);
        let (reference, target) = (calls.reference.get(a), calls.target.get(b));
        let matched = Pair { reference, target }.both();
        (between, matched.map(|rows| rows.map(|row| *row)))
    })
}

/// Unmatched calls: those of the reference, then those of the target.
fn alone(calls: Unmatched, items: &mut Vec<Item>) {
    for which in Which::ALL {
        let rows = calls.get(which).iter();
        items.extend(rows.map(|row| Item::One(which, *row)));
    }
}

/// Keeps pairs and searches for more between them.
fn refined(pairs: &[(usize, usize)], ours: &[u64], theirs: &[u64]) -> Vec<(usize, usize)> {
    let mut all = Vec::with_capacity(pairs.len());
    let (mut from_a, mut from_b) = (0, 0);
    for &(a, b) in pairs.iter().chain([&(ours.len(), theirs.len())]) {
        let found = align(&ours[from_a..a], &theirs[from_b..b]);
        all.extend(found.into_iter().map(|(i, j)| (from_a + i, from_b + j)));
        if a < ours.len() {
            all.push((a, b));
        }
        (from_a, from_b) = (a + 1, b + 1);
    }
    all
}

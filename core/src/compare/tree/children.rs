//! Which calls of two lists belong together: those that two calls of the same name made.
//!
//! First what has the same name, in order. Where names repeat, calls with the same calls below
//! them belong together. Between those, some calls are there on one side only; of these may be
//!
//! * *wrappers*: a call with nothing but one call in it, or whose calls the other side makes
//!   itself. What is in them is compared, and they stand around it;
//! * the same under another name: they make the same calls themselves;
//! * a real difference: everything else.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::names::NameKey;
use super::sequence::align;
use super::skeleton::Skeleton;
use crate::base::sort::Arrange;
use crate::compare::{Pair, Which};

/// How many calls ahead one of another name is looked for.
const LOOK_AHEAD: usize = 8;

/// What becomes of calls that were compared, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// A call of both.
    Both(Pair<u32>),
    /// A call of one side, with all below it.
    One(Which, u32),
    /// Calls of one or both sides around what is to be compared.
    Around(Wrappers),
}

/// Chains of calls, each with nothing but the next one in it, around lists to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrappers {
    /// The calls, outermost first.
    pub(crate) chains: Pair<Vec<u32>>,
    /// Where the chains have the first call that both make; the lengths where there is none.
    pub(crate) meet: Pair<usize>,
    /// What the innermost made: the lists to compare.
    pub(crate) inside: Pair<Vec<u32>>,
}

/// Calls that were not matched yet, between two that were.
struct Gap {
    reference: Vec<u32>,
    target: Vec<u32>,
}

/// Compares lists of calls.
pub(crate) struct Matcher<'a> {
    pub(crate) sides: Pair<&'a Skeleton>,
}

impl Matcher<'_> {
    /// What two lists of calls have in common, and what they have not.
    pub(crate) fn compare(&self, lists: &Pair<Vec<u32>>) -> Vec<Item> {
        let mut items = Vec::new();
        let pairs = self.matches(&lists.reference, &lists.target);
        self.between(&lists.reference, &lists.target, &pairs, &mut items);
        items
    }

    pub(crate) fn children(&self, which: Which, row: u32) -> Vec<u32> {
        self.sides.get(which).children(row).collect()
    }

    pub(crate) fn name(&self, which: Which, row: u32) -> NameKey {
        self.sides.get(which).row(row).name
    }

    /// Positions that belong together by name. Calls with the same calls below them go first,
    /// unless fewer names would find their like.
    fn matches(&self, reference: &[u32], target: &[u32]) -> Vec<(usize, usize)> {
        let keys =
            |which: Which, rows: &[u32], key: fn(&super::skeleton::Row) -> u64| -> Vec<u64> {
                let side = self.sides.get(which);
                rows.iter().map(|row| key(side.row(*row))).collect()
            };
        let of = |key| {
            [
                keys(Which::Reference, reference, key),
                keys(Which::Target, target, key),
            ]
        };
        let [ours, theirs] = of(|row| u64::from(row.name.0));
        if ours == theirs {
            return (0..ours.len()).map(|at| (at, at)).collect();
        }
        let by_name = align(&ours, &theirs);
        let deep = of(|row| row.deep);
        let shallow = of(|row| row.shallow);
        let mut pairs = Vec::new();
        for [ours, theirs] in [deep, shallow, [ours, theirs]] {
            pairs = refined(&pairs, &ours, &theirs);
        }
        match pairs.len() < by_name.len() {
            true => by_name,
            false => pairs,
        }
    }

    /// Lists the matched calls, with what lies between them.
    fn between(
        &self,
        reference: &[u32],
        target: &[u32],
        pairs: &[(usize, usize)],
        items: &mut Vec<Item>,
    ) {
        let (mut from_a, mut from_b) = (0, 0);
        for &(a, b) in pairs {
            self.gap(&reference[from_a..a], &target[from_b..b], items);
            items.push(Item::Both(Pair {
                reference: reference[a],
                target: target[b],
            }));
            (from_a, from_b) = (a + 1, b + 1);
        }
        self.gap(&reference[from_a..], &target[from_b..], items);
    }

    /// Calls whose names the other side has not, there.
    fn gap(&self, reference: &[u32], target: &[u32], items: &mut Vec<Item>) {
        if reference.is_empty() || target.is_empty() {
            return alone(reference, target, items);
        }
        let cores = |which: Which, rows: &[u32]| -> Vec<u64> {
            let side = self.sides.get(which);
            let names = rows.iter().map(|row| side.row(side.core(*row)).name);
            names.map(|name| u64::from(name.0)).collect()
        };
        let (ours, theirs) = (
            cores(Which::Reference, reference),
            cores(Which::Target, target),
        );
        let (mut from_a, mut from_b) = (0, 0);
        for (a, b) in align(&ours, &theirs) {
            self.wrapped(&reference[from_a..a], &target[from_b..b], items);
            items.push(self.chains(reference[a], target[b]));
            (from_a, from_b) = (a + 1, b + 1);
        }
        self.wrapped(&reference[from_a..], &target[from_b..], items);
    }

    /// Finds the wrappers of either side, then calls of other names.
    fn wrapped(&self, reference: &[u32], target: &[u32], items: &mut Vec<Item>) {
        let whole = Gap {
            reference: reference.to_vec(),
            target: target.to_vec(),
        };
        self.unwrapped(Which::Reference, whole, items, |matcher, gap, items| {
            matcher.unwrapped(Which::Target, gap, items, |matcher, gap, items| {
                matcher.renamed(&gap.reference, &gap.target, items);
            });
        });
    }

    /// Finds calls of one side around what the other side calls itself; what lies between them is
    /// handed on.
    fn unwrapped(
        &self,
        which: Which,
        gap: Gap,
        items: &mut Vec<Item>,
        rest: impl Fn(&Self, Gap, &mut Vec<Item>),
    ) {
        let (wrappers, plain) = match which {
            Which::Reference => (&gap.reference, &gap.target),
            Which::Target => (&gap.target, &gap.reference),
        };
        let other = match which {
            Which::Reference => Which::Target,
            Which::Target => Which::Reference,
        };
        let part = |wrappers: &[u32], plain: &[u32]| {
            let (wrappers, plain) = (wrappers.to_vec(), plain.to_vec());
            match which {
                Which::Reference => Gap {
                    reference: wrappers,
                    target: plain,
                },
                Which::Target => Gap {
                    reference: plain,
                    target: wrappers,
                },
            }
        };
        let mut places: HashMap<NameKey, Vec<usize>, FxBuildHasher> = HashMap::default();
        for (at, row) in plain.iter().enumerate() {
            places.entry(self.name(other, *row)).or_default().push(at);
        }
        let (mut from, mut from_plain) = (0, 0);
        for (at, &row) in wrappers.iter().enumerate() {
            let chain = self.sides.get(which).chain(row);
            let inside = chain
                .last()
                .map_or_else(Vec::new, |core| self.children(which, *core));
            let Some(run) = self.run(which, &inside, plain, &places, from_plain) else {
                continue;
            };
            rest(
                self,
                part(&wrappers[from..at], &plain[from_plain..run.start]),
                items,
            );
            let mut around = Wrappers {
                chains: Pair::default(),
                meet: Pair::default(),
                inside: Pair::default(),
            };
            *around.meet.get_mut(which) = chain.len();
            *around.chains.get_mut(which) = chain;
            *around.inside.get_mut(which) = inside;
            *around.inside.get_mut(other) = plain[run.clone()].to_vec();
            items.push(Item::Around(around));
            (from, from_plain) = (at + 1, run.end);
        }
        rest(self, part(&wrappers[from..], &plain[from_plain..]), items);
    }

    /// Where the other side makes at least half of these calls itself.
    fn run(
        &self,
        which: Which,
        inside: &[u32],
        plain: &[u32],
        places: &HashMap<NameKey, Vec<usize>, FxBuildHasher>,
        from: usize,
    ) -> Option<std::ops::Range<usize>> {
        let names: Vec<NameKey> = inside.iter().map(|row| self.name(which, *row)).collect();
        let next = |name: &NameKey| {
            let places = places.get(name)?;
            places.get(places.partition_point(|at| *at < from)).copied()
        };
        let found: Vec<usize> = names.iter().filter_map(next).collect();
        if found.is_empty() || found.len() * 2 < names.len() {
            return None;
        }
        let other = match which {
            Which::Reference => Which::Target,
            Which::Target => Which::Reference,
        };
        let start = *found.iter().min()?;
        let end = plain.len().min(start + 2 * names.len() + LOOK_AHEAD);
        let keys = |names: &mut dyn Iterator<Item = NameKey>| -> Vec<u64> {
            names.map(|name| u64::from(name.0)).collect()
        };
        let there = plain.get(start..end)?;
        let pairs = align(
            &keys(&mut names.iter().copied()),
            &keys(&mut there.iter().map(|row| self.name(other, *row))),
        );
        let (first, last) = (pairs.first()?, pairs.last()?);
        (pairs.len() * 2 >= names.len()).then_some(start + first.1..start + last.1 + 1)
    }

    /// Pairs calls of different names that make the same calls themselves.
    fn renamed(&self, reference: &[u32], target: &[u32], items: &mut Vec<Item>) {
        let (mut from_a, mut from_b) = (0, 0);
        for (a, row) in reference.iter().enumerate() {
            let ahead = from_b..target.len().min(from_b + LOOK_AHEAD);
            let Some(b) = ahead.into_iter().find(|b| self.is_alike(*row, target[*b])) else {
                continue;
            };
            alone(&reference[from_a..a], &target[from_b..b], items);
            items.push(self.chains(*row, target[b]));
            (from_a, from_b) = (a + 1, b + 1);
        }
        alone(&reference[from_a..], &target[from_b..], items);
    }

    /// At least half of the calls that either makes the other makes too.
    fn is_alike(&self, reference: u32, target: u32) -> bool {
        let names = |which: Which, row: u32| -> Vec<NameKey> {
            let side = self.sides.get(which);
            let children = side.children(side.core(row));
            let mut names: Vec<NameKey> = children.map(|child| self.name(which, child)).collect();
            names.arrange();
            names
        };
        let (ours, theirs) = (
            names(Which::Reference, reference),
            names(Which::Target, target),
        );
        let most = ours.len().max(theirs.len());
        let (mut a, mut b, mut n_shared) = (0, 0, 0);
        while let (Some(x), Some(y)) = (ours.get(a), theirs.get(b)) {
            n_shared += usize::from(x == y);
            a += usize::from(x <= y);
            b += usize::from(y <= x);
        }
        most > 0 && n_shared * 2 >= most
    }

    /// Two calls with the chains below them.
    fn chains(&self, reference: u32, target: u32) -> Item {
        let chains = Pair {
            reference: self.sides.reference.chain(reference),
            target: self.sides.target.chain(target),
        };
        let inside = Pair::of(|which| {
            let core = chains.get(which).last();
            core.map_or_else(Vec::new, |core| self.children(which, *core))
        });
        let names = Pair::of(|which| -> Vec<u64> {
            let names = chains.get(which).iter().map(|row| self.name(which, *row));
            names.map(|name| u64::from(name.0)).collect()
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

/// Calls without their like: those of the reference, then those of the target.
fn alone(reference: &[u32], target: &[u32], items: &mut Vec<Item>) {
    items.extend(
        reference
            .iter()
            .map(|row| Item::One(Which::Reference, *row)),
    );
    items.extend(target.iter().map(|row| Item::One(Which::Target, *row)));
}

/// Keeps pairs and looks for more between them.
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

//! Kernels, modules, CPU operators and kinds of work of both traces, side by side, matched by name.

use std::hash::Hash;

use super::align::{Alignment, align};
use super::pair::{Pair, Which};
use super::side::Side;
use crate::base::group::grouped;
use crate::base::sort::Arrange;
use crate::base::tally::Tally;
use crate::names::Family;
use crate::report::overview::Measure;
use crate::report::{ModuleTime, module_times};

/// A row of both traces or of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<K, T> {
    /// Its key.
    pub key: K,
    /// Its measurements; `None` for a trace without the row.
    pub sides: Pair<Option<T>>,
}

/// The measurements of a row.
pub trait Timed {
    /// Its time in nanoseconds.
    fn ns(&self) -> i64;
}

impl Timed for Tally {
    fn ns(&self) -> i64 {
        self.ns
    }
}

impl<K, T: PartialEq> Named<K, T> {
    /// Whether both sides are equal.
    pub(crate) fn is_same(&self) -> bool {
        self.sides.reference == self.sides.target
    }
}

impl<K, T: Timed> Named<K, T> {
    /// Its time in each trace; 0 in a trace without it.
    pub fn times(&self) -> Pair<i64> {
        self.sides
            .as_ref()
            .map(|side| side.as_ref().map_or(0, Timed::ns))
    }

    /// Whether both traces have it.
    pub fn is_matched(&self) -> bool {
        self.sides.reference.is_some() && self.sides.target.is_some()
    }
}

/// Joins the rows of two lists, longest first; each key occurs once per list.
pub(crate) fn by_key<K, T>(lists: &Pair<Vec<(K, T)>>) -> Vec<Named<K, T>>
where
    K: Hash + Eq + Clone,
    T: Timed + Clone,
{
    let alignment = align(lists.as_ref().map(Vec::len), &[()], |(), which, row| {
        lists.get(which).get(row).map(|(key, _)| key)
    });
    let row = |which: Which, rows: &[usize]| {
        let row = rows.first().and_then(|row| lists.get(which).get(*row));
        row.cloned()
    };
    side_by_side(&alignment, row)
}

/// Joins aligned rows, longest first; `of` merges the rows of one trace.
pub(crate) fn side_by_side<K: Clone, T: Timed, L>(
    alignment: &Alignment<L>,
    of: impl Fn(Which, &[usize]) -> Option<(K, T)>,
) -> Vec<Named<K, T>> {
    let mut named: Vec<Named<K, T>> = Vec::new();
    let mut push = |sides: Pair<Option<(K, T)>>| {
        let key = sides.target.as_ref().or(sides.reference.as_ref());
        if let Some((key, _)) = key {
            named.push(Named {
                key: key.clone(),
                sides: sides.map(|side| side.map(|(_, value)| value)),
            });
        }
    };
    for matched in &alignment.matched {
        push(Pair::of(|which| of(which, matched.rows.get(which))));
    }
    for which in Which::ALL {
        for rows in alignment.unmatched.get(which) {
            push(Pair::only(which, of(which, rows)));
        }
    }
    // Stable sort: ties keep order of appearance.
    named.arrange_by_key(|named| {
        let times = named.times();
        std::cmp::Reverse(times.reference.max(times.target))
    });
    named
}

/// The kernels, copies and fills of both traces that count under the options of their reports, longest first.
pub(crate) fn kernels(sides: Pair<Side>) -> Vec<Named<String, Tally>> {
    by_key(&sides.map(|side| {
        let work = side.profile.gpu.all();
        let lengths = work.map(|work| (work.name, work.span.length()));
        let tallies = grouped(lengths, |tally: &mut Tally, ns| tally.add(ns)).into_iter();
        let strings = &side.profile.trace.strings;
        let named = tallies.map(|(name, tally)| (strings.get(name).to_owned(), tally));
        named.collect()
    }))
}

impl Timed for ModuleTime {
    fn ns(&self) -> i64 {
        self.direct_ns
    }
}

/// The module classes of both traces, longest first; empty if neither was recorded with Python frames.
pub(crate) fn modules(sides: Pair<Side>) -> Vec<Named<String, ModuleTime>> {
    by_key(&sides.map(|side| {
        let times = module_times(side.profile).into_iter();
        times.map(|time| (time.name.clone(), time)).collect()
    }))
}

/// The operators of both traces by CPU time, longest first. For traces without GPU activity, there is nothing else to
/// compare.
pub(crate) fn cpu_ops(sides: Pair<Side>) -> Vec<Named<String, Tally>> {
    by_key(&sides.map(|side| {
        let strings = &side.profile.trace.strings;
        let tallies = side.profile.cpu_ops.iter().map(|op| {
            let (count, ns) = (op.n_calls, op.self_ns);
            (strings.get(op.name).to_owned(), Tally { count, ns })
        });
        tallies.collect()
    }))
}

/// The kinds of work of both traces from their overviews, longest first. Empty if only one trace has GPU times, as they
/// would measure different things.
pub(crate) fn categories(sides: Pair<Side>) -> Vec<Named<Family, Tally>> {
    let measures = sides.map(|side| side.report.overview.measure);
    if measures.reference != measures.target {
        return Vec::new();
    }
    by_key(&sides.map(|side| {
        let tallies = side.report.overview.families.iter().map(|family| {
            let (count, ns) = (calls(&side, family.family), family.ns);
            (family.family, Tally { count, ns })
        });
        tallies.collect()
    }))
}

fn calls(side: &Side, family: Family) -> u64 {
    if side.report.overview.measure == Measure::Cpu {
        return 0;
    }
    let operations = side.report.operations(side.profile);
    let of_family = operations.filter(|(operation, _)| operation.family == family);
    of_family.map(|(operation, _)| operation.n_calls()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::{compared, pair, run};

    #[test]
    fn rows_stand_side_by_side_by_their_name() {
        let tally = |count, ns| Tally { count, ns };
        let rows = by_key(&pair(
            vec![("gemm", tally(2, 50)), ("softmax", tally(1, 70))],
            vec![("copy", tally(1, 5)), ("gemm", tally(2, 80))],
        ));
        let seen = rows.iter();
        let seen = seen.map(|row| (row.key, row.times().difference(), row.is_matched()));
        assert!(seen.eq([
            ("gemm", 30, true),
            ("softmax", -70, false),
            ("copy", 5, false)
        ]));
    }

    #[test]
    fn kernels_are_identified_by_their_name() {
        let two = |one, other| run([("aten::mm", "", one, 20), ("aten::mm", "", other, 10)]);
        let rows = compared(&two("gemm", "gemm"), &two("other_gemm", "gemm"), None).kernels;
        let seen = rows.iter().map(|row| (row.key.as_str(), row.times()));
        assert!(seen.eq([
            ("gemm", pair(30_000, 10_000)),
            ("other_gemm", pair(0, 20_000)),
        ]));
    }
}

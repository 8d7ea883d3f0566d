//! Matches operations that do not match by arguments: the same GEMM in a different type, the same operator on other
//! sizes or types, and the same kernels without their operator.

use super::MatchLevel;
use super::call_text::CallText;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::compare::align::{Alignment, Matched};
use crate::compare::{Pair, Side, Which};
use crate::names::Family;
use crate::profile::operations::Operation;
use crate::trace::StringId;

pub(crate) struct Rows<'a> {
    pub(crate) sides: Pair<Side<'a>>,
    /// Positions of the operations behind the rows.
    pub(crate) lists: &'a Pair<Vec<usize>>,
    pub(crate) texts: &'a Pair<Vec<CallText>>,
}

impl Rows<'_> {
    pub(crate) fn text(&self, which: Which, rows: &[usize]) -> Option<&CallText> {
        self.texts.get(which).get(*rows.first()?)
    }

    /// The name of some rows: for several operators, the first ones, in the order of their first calls.
    pub(crate) fn name(&self, which: Which, rows: &[usize]) -> String {
        const N_NAMED: usize = 3;
        let profile = self.sides.get(which).profile;
        let mut operations: Vec<&Operation> = self.operations(which, rows).collect();
        if operations.len() > 1 {
            operations.arrange_by_key(|operation| operation.uid());
        }
        let mut names: Vec<&str> = Vec::new();
        for operation in operations {
            let name = operation.short_name(profile);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let more = match names.len().saturating_sub(N_NAMED) {
            0 => String::new(),
            n => format!(" + {n} more"),
        };
        names.truncate(N_NAMED);
        format!("{}{more}", names.join(" + "))
    }

    pub(crate) fn positions(&self, which: Which, rows: &[usize]) -> Vec<usize> {
        let list = self.lists.get(which);
        let positions = rows.iter().filter_map(|row| list.get(*row).copied());
        positions.collect()
    }

    pub(crate) fn operations(
        &self,
        which: Which,
        rows: &[usize],
    ) -> impl Iterator<Item = &Operation> {
        let all = self.sides.get(which).profile.operations();
        let positions = self.positions(which, rows).into_iter();
        positions.filter_map(|at| all.get(at))
    }

    pub(crate) fn n_calls(&self, which: Which, rows: &[usize]) -> u64 {
        self.operations(which, rows).map(Operation::n_calls).sum()
    }

    /// FLOPs of all calls of the operations that count; 0 if a model does not know them.
    pub(crate) fn flops(
        &self,
        which: Which,
        rows: &[usize],
        counts: impl Fn(&Operation) -> bool,
    ) -> f64 {
        let side = self.sides.get(which);
        let all = side.profile.operations();
        let operations = self.positions(which, rows).into_iter();
        let operations = operations.filter_map(|at| Some((at, all.get(at)?)));
        let counting = operations.filter(|(_, operation)| counts(operation));
        let flops = counting.map(|(at, operation)| {
            Some(side.report.evaluations.get(at)?.work?.flops * operation.n_calls() as f64)
        });
        flops.sum::<Option<f64>>().unwrap_or(0.0)
    }

    /// Elements of the largest tensor; 0 without shapes.
    pub(crate) fn largest_tensor(&self, which: Which, rows: &[usize]) -> f64 {
        let profile = self.sides.get(which).profile;
        let operations = self.operations(which, rows);
        let tensors = operations.flat_map(|operation| operation.tensors(profile));
        tensors.map(|tensor| tensor.elements()).max().unwrap_or(0) as f64
    }
}

/// An unmatched row of one of the traces: its position, and its kernels with their number of runs.
type Row<'a> = (Which, usize, Vec<(&'a str, u64)>);

/// The key of rows that may match: two texts, the number of calls, and whether activations are recomputed.
type Likeness<'a> = (&'a str, &'a str, u64, bool);

pub(crate) fn pair_by_operator(alignment: &mut Alignment<MatchLevel>, all: &Rows) {
    pair_by_kind(alignment, all, MatchLevel::Operator, |which, rows| {
        let text = all.text(which, rows)?;
        let ranks = text.ranks.as_deref()?;
        let n_calls = all.n_calls(which, rows);
        Some((text.stem(), ranks, n_calls, text.is_recompute))
    });
}

/// Matches GEMMs of equal sizes that one of the traces computes in a different type, and so with a different operator:
/// `aten::mm` and `aten::_scaled_mm`.
pub(crate) fn pair_retyped_gemms(alignment: &mut Alignment<MatchLevel>, all: &Rows) {
    pair_by_kind(alignment, all, MatchLevel::Operator, |which, rows| {
        let text = all.text(which, rows)?;
        let (sizes, _) = text.gemm.as_ref()?;
        let n_calls = all.n_calls(which, rows);
        Some((sizes.as_str(), "", n_calls, text.is_recompute))
    });
}

/// Matches kernels without an operator that have other names in each trace, as after an update of a library: those of
/// one kind of work with the same number of runs.
pub(crate) fn pair_renamed_kernels(alignment: &mut Alignment<MatchLevel>, all: &Rows) {
    pair_by_kind(alignment, all, MatchLevel::Renamed, |which, rows| {
        let mut operations = all.operations(which, rows);
        let first = operations.next().filter(|one| one.is_kernel())?;
        let is_one = operations.next().is_none() && first.family != Family::Other;
        let n_calls = all.n_calls(which, rows);
        is_one.then_some((first.family.label(), "", n_calls, false))
    });
}

/// Matches unmatched rows if both traces have the same number of a kind: they are assumed to be the same ones, in the
/// order of their first calls.
fn pair_by_kind<'a>(
    alignment: &mut Alignment<MatchLevel>,
    all: &'a Rows,
    level: MatchLevel,
    kind: impl Fn(Which, &[usize]) -> Option<Likeness<'a>>,
) {
    let kinds = alignment.unmatched_by(|which, at, rows| Some((kind(which, rows)?, at)));
    for (_, mut of_kind) in kinds {
        if of_kind.reference.len() != of_kind.target.len() {
            continue;
        }
        for which in Which::ALL {
            let unmatched = alignment.unmatched.get(which);
            of_kind.get_mut(which).arrange_by_key(|at| {
                let rows = unmatched.get(*at).map(Vec::as_slice).unwrap_or_default();
                all.text(which, rows).map_or(0, |text| text.uid)
            });
        }
        for (reference, target) in of_kind.reference.into_iter().zip(of_kind.target) {
            let places = Pair { reference, target }.map(|at| vec![at]);
            take(alignment, level, &places);
        }
    }
    drop_taken(alignment);
}

/// Matches unmatched rows by kernels: groups of rows connected by shared kernels, if each kernel has the same number of
/// runs in both traces, and one trace has only kernels without operators.
pub(crate) fn pair_by_kernels(alignment: &mut Alignment<MatchLevel>, all: &Rows) {
    let mut rows: Vec<Row> = Vec::new();
    for which in Which::ALL {
        let side = all.sides.get(which);
        let name = |id: StringId| side.profile.trace.strings.get(id);
        for (at, unmatched) in alignment.unmatched.get(which).iter().enumerate() {
            let operations = all.operations(which, unmatched);
            let kernels = operations.flat_map(|operation| operation.kernels(side.profile));
            let kernels: Vec<(&str, u64)> =
                kernels.map(|(id, count, _)| (name(id), count)).collect();
            rows.push((which, at, kernels));
        }
    }
    // A kernel whose number of runs differs removes its rows, and with them their other kernels.
    loop {
        let mut counts: Map<&str, Pair<u64>> = Map::default();
        for (which, _, kernels) in &rows {
            for (name, count) in kernels {
                *counts.entry(*name).or_default().get_mut(*which) += count;
            }
        }
        let before = rows.len();
        rows.retain(|(.., kernels)| {
            let is_even = |name: &str| {
                let counts = counts.get(name);
                counts.is_some_and(|counts| counts.reference == counts.target)
            };
            !kernels.is_empty() && kernels.iter().all(|(name, _)| is_even(name))
        });
        if rows.len() == before {
            break;
        }
    }
    // Rows that share a kernel form a group.
    let mut group_of: Vec<usize> = (0..rows.len()).collect();
    let mut first_with: Map<&str, usize> = Map::default();
    for (row, (.., kernels)) in rows.iter().enumerate() {
        for (name, _) in kernels {
            let other = *first_with.entry(*name).or_insert(row);
            let (from, to) = (group_of[row], group_of[other]);
            for group in group_of.iter_mut().filter(|group| **group == from) {
                *group = to;
            }
        }
    }
    for group in 0..rows.len() {
        let mut places = Pair::<Vec<usize>>::default();
        for ((which, at, _), of) in rows.iter().zip(&group_of) {
            if *of == group {
                places.get_mut(*which).push(*at);
            }
        }
        let is_kernels = |which: Which| {
            let unmatched = alignment.unmatched.get(which);
            let mut rows = places.get(which).iter().filter_map(|at| unmatched.get(*at));
            rows.all(|rows| all.operations(which, rows).all(Operation::is_kernel))
        };
        let is_any = !places.reference.is_empty() && !places.target.is_empty();
        if is_any && (is_kernels(Which::Reference) || is_kernels(Which::Target)) {
            take(alignment, MatchLevel::Kernels, &places);
        }
    }
    drop_taken(alignment);
}

/// Matches the unmatched rows at these positions, which are left empty.
pub(super) fn take(
    alignment: &mut Alignment<MatchLevel>,
    level: MatchLevel,
    places: &Pair<Vec<usize>>,
) {
    let rows = take_rows(alignment, places);
    alignment.matched.push(Matched { level, rows });
}

/// Takes the unmatched rows at these positions, which are left empty.
pub(super) fn take_rows(
    alignment: &mut Alignment<MatchLevel>,
    places: &Pair<Vec<usize>>,
) -> Pair<Vec<usize>> {
    let mut rows = Pair::<Vec<usize>>::default();
    for which in Which::ALL {
        let (rows, unmatched) = (rows.get_mut(which), alignment.unmatched.get_mut(which));
        for at in places.get(which) {
            rows.extend(
                unmatched
                    .get_mut(*at)
                    .map(std::mem::take)
                    .unwrap_or_default(),
            );
        }
        rows.arrange();
    }
    rows
}

pub(super) fn drop_taken(alignment: &mut Alignment<MatchLevel>) {
    for which in Which::ALL {
        let unmatched = alignment.unmatched.get_mut(which);
        unmatched.retain(|rows| !rows.is_empty());
    }
}

//! GEMMs of one input that only one trace joins along their columns: the projections of query, key and value, or of gate
//! and up.
//!
//! ```text
//! reference   8192 × 4096 × 6144                        the same columns in fewer calls
//! target      8192 × 4096 × 4096, twice 8192 × 4096 × 1024
//! ```

use super::MatchLevel;
use super::groups::Found;
use super::similar::{Rows, drop_taken, take_rows};
use crate::base::format;
use crate::compare::align::Alignment;
use crate::compare::{Pair, Which};
use crate::names::Family;
use crate::profile::operations::kinds::gemm::GemmSizes;

/// Rows and inner size of GEMMs, their type, and whether activations are recomputed.
type InputKey = (u64, u64, &'static str, bool);

/// All calls of a GEMM in one trace.
#[derive(Debug, Clone, Copy)]
struct Gemm {
    /// Its position among the unmatched rows.
    place: usize,
    /// The columns of all its results.
    columns: u64,
    calls: u64,
}

impl Gemm {
    fn of(all: &Rows, which: Which, place: usize, rows: &[usize]) -> Option<(InputKey, Gemm)> {
        let profile = all.sides.get(which).profile;
        let first = all.operations(which, rows).next()?;
        let sizes = GemmSizes::of_params(first).filter(|_| first.family == Family::Gemm)?;
        let dtype = format::dtype(first.tensors(profile).first()?.dtype)?;
        let key = (sizes.m, sizes.k, dtype, first.key.is_recompute);
        let calls = all.n_calls(which, rows);
        let gemm = Gemm {
            place,
            columns: sizes.n.saturating_mul(calls),
            calls,
        };
        (sizes.batch == 1 && !sizes.is_grouped).then_some((key, gemm))
    }

    /// Whether both do as much in other numbers of calls.
    fn joins(self, other: Gemm) -> bool {
        self.columns == other.columns && self.calls != other.calls
    }
}

/// All of them as one.
fn total<'a>(gemms: impl IntoIterator<Item = &'a Gemm>) -> Gemm {
    let none = Gemm {
        place: 0,
        columns: 0,
        calls: 0,
    };
    gemms.into_iter().fold(none, |all, one| Gemm {
        columns: all.columns.saturating_add(one.columns),
        calls: all.calls + one.calls,
        ..all
    })
}

/// Matches unmatched GEMMs of one input that have as many columns together: first one with one, then all that are left.
/// One of these may have the sizes of another GEMM, such as the output projection, which is a part of the group then.
pub(super) fn gemms(alignment: &mut Alignment<MatchLevel>, all: &Rows) -> Vec<Found> {
    let groups = alignment.unmatched_by(|which, place, rows| Gemm::of(all, which, place, rows));
    let mut found = Vec::new();
    for (key, mut left) in groups {
        for pair in one_by_one(&mut left) {
            found.push(take(alignment, &pair.map(|gemm| vec![gemm]), &[]));
        }
        if left.reference.is_empty() || left.target.is_empty() {
            continue;
        }
        let sums = left.as_ref().map(|gemms| total(gemms.iter()));
        if sums.reference.joins(sums.target) {
            found.push(take(alignment, &left, &[]));
            continue;
        }
        let extra = matched_of_input(alignment, all, key);
        let with_extra = Pair::of(|which| {
            let of_trace = extra.iter().map(|(_, both)| both.get(which));
            total(of_trace.chain(left.get(which)))
        });
        if with_extra.reference.joins(with_extra.target) {
            found.push(take(alignment, &left, &extra));
        }
    }
    drop_taken(alignment);
    found
}

/// Takes pairs that do as much as each other out of the lists.
fn one_by_one(left: &mut Pair<Vec<Gemm>>) -> Vec<Pair<Gemm>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(reference) = left.reference.get(at).copied() {
        match left
            .target
            .iter()
            .position(|target| reference.joins(*target))
        {
            Some(partner) => {
                left.reference.remove(at);
                let target = left.target.remove(partner);
                found.push(Pair { reference, target });
            }
            None => at += 1,
        }
    }
    found
}

/// Matched GEMMs of an input that one trace calls more often: their positions, and what each trace calls.
fn matched_of_input(
    alignment: &Alignment<MatchLevel>,
    all: &Rows,
    key: InputKey,
) -> Vec<(usize, Pair<Gemm>)> {
    let matched = alignment.matched.iter().enumerate();
    let of_input = matched.filter_map(|(at, matched)| {
        let gemm = |which| {
            let (of, gemm) = Gemm::of(all, which, 0, matched.rows.get(which))?;
            (of == key).then_some(gemm)
        };
        Some((at, Pair::of(gemm).both()?))
    });
    of_input
        .filter(|(_, both)| both.reference.calls != both.target.calls)
        .collect()
}

/// Turns unmatched and matched rows into one group, which both traces compute as often as the one with fewer calls.
fn take(
    alignment: &mut Alignment<MatchLevel>,
    gemms: &Pair<Vec<Gemm>>,
    extra: &[(usize, Pair<Gemm>)],
) -> Found {
    let places = gemms
        .as_ref()
        .map(|gemms| gemms.iter().map(|gemm| gemm.place).collect());
    let mut rows = take_rows(alignment, &places);
    for (at, _) in extra.iter().rev() {
        let matched = alignment.matched.remove(*at);
        rows.reference.extend(matched.rows.reference);
        rows.target.extend(matched.rows.target);
    }
    let calls = Pair::of(|which| {
        let of_matched = extra.iter().map(|(_, both)| both.get(which));
        total(of_matched.chain(gemms.get(which))).calls
    });
    let units = Some(calls.reference.min(calls.target).max(1));
    Found {
        level: MatchLevel::Meaning,
        rows,
        units: Pair {
            reference: units,
            target: units,
        },
    }
}

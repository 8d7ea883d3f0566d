//! Unmatched operations between the same matched ones: one trace does in several operations, or in other ones, what the
//! other does in one.
//!
//! ```text
//! reference  mm  triton_poi_fused_add_gelu  mm
//! target     mm  add  gelu                  mm
//! ```
//!
//! An operation may run at several places. All that is connected by common places is one row, if it does the same amount
//! of work in both traces.

use super::MatchLevel;
use super::groups::{Found, Members, take};
use super::scopes::Roles;
use super::similar::{Rows, drop_taken};
use crate::base::group::grouped;
use crate::base::map::{Map, Set};
use crate::base::sort::{Arrange, Arranged};
use crate::compare::align::Alignment;
use crate::compare::{Pair, Which};
use crate::names::Family;
use crate::profile::operations::Operation;

/// More operations than these are not a single computation.
const MOST_ROWS: usize = 16;
/// The share of an operation's calls, in percent, that has to be at places that both traces have.
const LEAST_PERCENT: u64 = 90;
/// FLOPs that differ by less are the same.
const SAME_FLOPS: f64 = 0.01;
/// So are the elements of the largest tensors, if no matched operation is beside them.
const SAME: f64 = 0.1;
/// The same beside matched operations, as a fused operator may take its operands in one: gate and up projection, for
/// example.
const SAME_TENSORS: f64 = 2.05;

/// The matched rows before and after some operations; `None` at the ends of the trace.
type Place = (Option<usize>, Option<usize>);

/// An unmatched row: its trace, and its position among the unmatched rows.
type Own = (Which, usize);

/// The places of the unmatched rows of both traces.
#[derive(Default)]
struct Places {
    /// The number of calls of each row at each place.
    calls: Map<Own, Map<Place, u64>>,
    /// The rows at each place, and how often each trace comes there with any of them.
    at: Vec<(Place, Pair<Vec<usize>>, Pair<u64>)>,
}

/// Matches unmatched operations between the same matched ones; `groups` are those that were matched together before.
pub(super) fn between(
    alignment: &mut Alignment<MatchLevel>,
    all: &Rows,
    groups: &[Found],
) -> Vec<Found> {
    let unmatched = alignment.unmatched.as_ref();
    if unmatched.reference.is_empty() || unmatched.target.is_empty() {
        return Vec::new();
    }
    let places = Places::of(alignment, all, groups);
    let mut roles = Roles::new(all);
    let mut found = Vec::new();
    for (is_anchored, members) in places.connected() {
        let rows = Pair::of(|which| {
            let unmatched = alignment.unmatched.get(which);
            let places = members.get(which).places.iter();
            let rows = places.filter_map(|at| unmatched.get(*at));
            rows.flatten().copied().collect::<Vec<usize>>()
        });
        if is_same_work(all, &rows, &members, is_anchored) && roles.may_be_same(all, &rows) {
            found.push(take(alignment, MatchLevel::Neighbors, &members));
        }
    }
    drop_taken(alignment);
    found
}

impl Places {
    fn of(alignment: &Alignment<MatchLevel>, all: &Rows, groups: &[Found]) -> Places {
        let mut places = Places::default();
        let mut at: Map<Place, (Pair<Set<usize>>, Pair<u64>)> = Map::default();
        for which in Which::ALL {
            let paired = alignment.matched.iter().map(|found| &found.rows);
            let anchors = paired.chain(groups.iter().map(|found| &found.rows));
            let anchors = anchors
                .enumerate()
                .map(|(anchor, rows)| (Some(anchor), 0, rows.get(which)));
            let own = alignment.unmatched.get(which).iter().enumerate();
            let own = own.map(|(place, rows)| (None, place, rows));
            let mut calls: Vec<(i64, u64, Option<usize>, usize)> = Vec::new();
            let trace = &all.sides.get(which).profile.trace;
            for (anchor, place, rows) in anchors.chain(own) {
                for call in all.operations(which, rows).flat_map(|one| &one.calls) {
                    calls.push((trace.events.ts_ns(call.event), call.uid, anchor, place));
                }
            }
            calls.arrange();
            let mut before = None;
            let mut run: Vec<usize> = Vec::new();
            let end = (i64::MAX, u64::MAX, None, usize::MAX);
            for (.., anchor, place) in calls.into_iter().chain([end]) {
                let is_end = place == usize::MAX;
                if anchor.is_none() && !is_end {
                    run.push(place);
                    continue;
                }
                if !run.is_empty() {
                    let key = (before, anchor);
                    let (rows, visits) = at.entry(key).or_default();
                    *visits.get_mut(which) += 1;
                    for place in run.drain(..) {
                        rows.get_mut(which).insert(place);
                        let of_row = places.calls.entry((which, place)).or_default();
                        *of_row.entry(key).or_default() += 1;
                    }
                }
                before = anchor;
            }
        }
        let at = at.into_iter().map(|(place, (rows, visits))| {
            let rows = rows.map(|rows| rows.into_iter().arranged());
            (place, rows, visits)
        });
        let is_common = |(_, rows, _): &(Place, Pair<Vec<usize>>, Pair<u64>)| {
            let is_few = |rows: &Vec<usize>| (1..=MOST_ROWS).contains(&rows.len());
            is_few(&rows.reference) && is_few(&rows.target)
        };
        places.at = at.filter(is_common).collect();
        places.at.arrange_by_key(|(place, ..)| *place);
        places
    }

    /// Rows that are connected by places of both traces, how often each trace comes to these places, and whether any of
    /// them is next to a matched operation.
    fn connected(&self) -> Vec<(bool, Pair<Members>)> {
        let common: Set<Place> = self.at.iter().map(|(place, ..)| *place).collect();
        // Rows that are mostly elsewhere.
        let is_elsewhere = |own: &Own| {
            let Some(calls) = self.calls.get(own) else {
                return true;
            };
            let all: u64 = calls.values().sum();
            let here = calls.iter().filter(|(place, _)| common.contains(*place));
            let here: u64 = here.map(|(_, n)| n).sum();
            here * 100 < all * LEAST_PERCENT
        };
        let owns = |rows: &Pair<Vec<usize>>| -> Vec<Own> {
            let owns = Which::ALL.into_iter();
            let owns = owns.flat_map(|which| rows.get(which).iter().map(move |at| (which, *at)));
            owns.filter(|own| !is_elsewhere(own)).collect()
        };
        let mut group_of: Map<Own, usize> = Map::default();
        for (at, (_, rows, _)) in self.at.iter().enumerate() {
            let owns = owns(rows);
            let known = owns.iter().filter_map(|own| group_of.get(own).copied());
            let known: Vec<usize> = known.collect();
            let joined = group_of.values_mut().filter(|of| known.contains(of));
            joined.for_each(|of| *of = at);
            group_of.extend(owns.into_iter().map(|own| (own, at)));
        }
        let rows = self.at.iter().filter_map(|(place, rows, visits)| {
            let owns = owns(rows);
            let group = *group_of.get(owns.first()?)?;
            Some((group, (*place, owns, *visits)))
        });
        let add = |(is_anchored, members): &mut (bool, Pair<Members>), (place, owns, visits)| {
            *is_anchored |= place != (None, None);
            for (which, place) in owns {
                let of_trace = members.get_mut(which);
                if !of_trace.places.contains(&place) {
                    of_trace.places.push(place);
                }
            }
            for which in Which::ALL {
                members.get_mut(which).units += Pair::get(&visits, which);
            }
        };
        let groups = grouped(rows, add).into_iter();
        groups.map(|(_, members)| members).collect()
    }
}

/// Whether the operations of both traces may be the same computation: as many FLOPs, or tensors of about the same size.
fn is_same_work(
    all: &Rows,
    rows: &Pair<Vec<usize>>,
    members: &Pair<Members>,
    is_anchored: bool,
) -> bool {
    let is_few = |which: Which| (1..=MOST_ROWS).contains(&rows.get(which).len());
    if !Which::ALL.into_iter().all(is_few) {
        return false;
    }
    if !is_fused_on_one(all, rows) {
        return false;
    }
    let ratio_of = |amount: &dyn Fn(Which, &[usize]) -> f64| {
        let amounts = Pair::of(|which| amount(which, rows.get(which)));
        let is_known = amounts.reference > 0.0 && amounts.target > 0.0;
        is_known.then(|| amounts.target / amounts.reference)
    };
    let has_heavy = |which: Which| all.operations(which, rows.get(which)).any(is_heavy);
    match (has_heavy(Which::Reference), has_heavy(Which::Target)) {
        (true, true) => {
            let flops_of_unit = |which: Which, rows: &[usize]| {
                all.flops(which, rows, is_heavy) / members.get(which).units.max(1) as f64
            };
            ratio_of(&flops_of_unit).is_some_and(|ratio| (ratio - 1.0).abs() <= SAME_FLOPS)
        }
        (false, false) => {
            ratio_of(&|which, rows| all.largest_tensor(which, rows)).is_some_and(|ratio| {
                match is_anchored {
                    true => (1.0 / SAME_TENSORS..=SAME_TENSORS).contains(&ratio),
                    false => (ratio - 1.0).abs() <= SAME,
                }
            })
        }
        _ => false,
    }
}

/// Whether the operations of at least one trace are all more than a single step: generated kernels, operators of other
/// libraries, attention, norms and so on. Two different single steps are different computations.
fn is_fused_on_one(all: &Rows, rows: &Pair<Vec<usize>>) -> bool {
    Which::ALL.into_iter().any(|which| {
        let profile = all.sides.get(which).profile;
        let mut operations = all.operations(which, rows.get(which));
        operations.all(|operation| {
            use Family::{Elementwise, MemoryCopy, Reduction};
            let is_step = matches!(operation.family, Elementwise | MemoryCopy | Reduction);
            !is_step || !operation.short_name(profile).starts_with("aten::")
        })
    })
}

/// Whether an operation is mostly matrix multiplication.
fn is_heavy(operation: &Operation) -> bool {
    use Family::{Attention, Convolution, Gemm, Moe};
    matches!(operation.family, Attention | Convolution | Gemm | Moe)
}

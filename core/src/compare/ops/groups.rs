//! The same computation with different operations: attention that is fused in only one trace, norms of the same tensor,
//! optimizer steps, MoE layers.

use super::MatchLevel;
use super::similar::{Rows, drop_taken, take_rows};
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::compare::align::Alignment;
use crate::compare::{Pair, Which};
use crate::findings::unfused_attention;
use crate::names::Family;
use crate::names::attention::is_backward;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::attention::AttentionSizes;
use crate::profile::operations::kinds::optimizer::OptimizerStep;

/// Rows of both traces that match.
pub(crate) struct Found {
    pub(crate) level: MatchLevel,
    pub(crate) rows: Pair<Vec<usize>>,
    /// How often each trace computes the whole group, if it is a group of operations.
    pub(crate) units: Pair<Option<u64>>,
}

/// Positions of unmatched rows, and how often they compute something together.
#[derive(Default)]
pub(super) struct Members {
    pub(super) places: Vec<usize>,
    pub(super) units: u64,
}

impl Members {
    fn add(&mut self, (place, units): (usize, u64)) {
        if !self.places.contains(&place) {
            self.places.push(place);
        }
        self.units += units;
    }

    fn shares(&self, other: &Members) -> bool {
        self.places.iter().any(|place| other.places.contains(place))
    }

    /// Adds what belongs to the same computations.
    fn join(&mut self, other: Members) {
        let units = self.units.max(other.units);
        other
            .places
            .into_iter()
            .for_each(|place| self.add((place, 0)));
        self.units = units;
    }
}

/// Whether it is a backward pass; whether it is recomputed; and, if known: heads times sequences, queries, keys, and
/// the head_dim of keys and of values.
type AttentionKey = (bool, bool, Option<[u64; 5]>);

/// Matches attention in one kernel with attention in several operations: first by equal sizes, then the rest.
pub(super) fn attention(alignment: &mut Alignment<MatchLevel>, all: &Rows) -> Vec<Found> {
    let mut found = Vec::new();
    for which in Which::ALL {
        let fused = fused_attention(alignment, all, which);
        if fused.is_empty() {
            continue;
        }
        let unfused = unfused_attention(alignment, all, which.other());
        for (one, several) in joined(pairs(fused, unfused)) {
            let mut members = Pair::<Members>::default();
            *members.get_mut(which) = one;
            *members.get_mut(which.other()) = several;
            found.push(take(alignment, MatchLevel::Meaning, &members));
        }
    }
    drop_taken(alignment);
    found
}

/// Pairs equal keys, then keys that differ only in sizes, if there is just one such pair.
fn pairs(
    mut fused: Vec<(AttentionKey, Members)>,
    mut unfused: Vec<(AttentionKey, Members)>,
) -> Vec<(Members, Members)> {
    let mut found = Vec::new();
    let mut pair = |is_one: fn(&AttentionKey, &AttentionKey) -> bool| {
        let mut at = 0;
        while let Some((key, _)) = fused.get(at) {
            let partner = unfused.iter().position(|(other, _)| is_one(key, other));
            match partner {
                Some(other) => found.push((fused.remove(at).1, unfused.remove(other).1)),
                None => at += 1,
            }
        }
    };
    pair(|a, b| a == b);
    // If the shapes of one of them are unknown.
    pair(|a, b| (a.0, a.1) == (b.0, b.1) && (a.2.is_none() || b.2.is_none()));
    found
}

/// Joins pairs that share operations: the forward and the backward pass in several kernels may make equal calls.
fn joined(found: Vec<(Members, Members)>) -> Vec<(Members, Members)> {
    let mut joined: Vec<(Members, Members)> = Vec::new();
    for (one, several) in found {
        let shares = |of: &(Members, Members)| of.1.shares(&several);
        match joined.iter_mut().find(|of| shares(of)) {
            Some(known) => {
                known.0.join(one);
                known.1.join(several);
            }
            None => joined.push((one, several)),
        }
    }
    joined
}

fn fused_attention(
    alignment: &Alignment<MatchLevel>,
    all: &Rows,
    which: Which,
) -> Vec<(AttentionKey, Members)> {
    let profile = all.sides.get(which).profile;
    let unmatched = alignment.unmatched.get(which).iter().enumerate();
    let of_kind = unmatched.filter_map(|(place, rows)| {
        let first = all.operations(which, rows).next()?;
        let is_it = first.family == Family::Attention;
        let sizes = AttentionSizes::of(profile, first).map(|sizes| {
            let heads = sizes.batch.saturating_mul(sizes.h_q);
            [heads, sizes.n_q, sizes.n_kv, sizes.d_qk, sizes.d_v]
        });
        let key = (
            is_backward(first.short_name(profile)),
            first.key.is_recompute,
            sizes,
        );
        is_it.then(|| (key, (place, all.n_calls(which, rows))))
    });
    grouped(of_kind, Members::add)
}

/// Attention in several operations, limited to those that are unmatched and used only for attention.
fn unfused_attention(
    alignment: &Alignment<MatchLevel>,
    all: &Rows,
    which: Which,
) -> Vec<(AttentionKey, Members)> {
    /// This percentage of an operation's calls has to be in attention.
    const LEAST_PERCENT: u64 = 90;
    let side = all.sides.get(which);
    let chains = unfused_attention::chains(&side.report.analysis_input(side.profile));
    let operations = side.profile.operations();
    let mut calls: Map<usize, u64> = Map::default();
    for operation in chains.iter().flat_map(|chain| &chain.operations) {
        *calls.entry(*operation).or_default() += 1;
    }
    let mut place_of: Map<usize, usize> = Map::default();
    for (place, rows) in alignment.unmatched.get(which).iter().enumerate() {
        let positions = all.positions(which, rows);
        let is_in_attention = |at: &usize| {
            let n_calls = operations.get(*at).map_or(0, Operation::n_calls);
            calls
                .get(at)
                .is_some_and(|n| n * 100 >= n_calls * LEAST_PERCENT)
        };
        if positions.iter().all(is_in_attention) {
            place_of.extend(positions.into_iter().map(|at| (at, place)));
        }
    }
    let chains = chains.iter().filter_map(|chain| {
        place_of.get(&chain.softmax)?;
        let is_recompute = operations.get(chain.softmax)?.key.is_recompute;
        let sizes = chain
            .sizes
            .map(|sizes| [sizes.batch, sizes.n_q, sizes.n_kv, sizes.d_qk, sizes.d_v]);
        let places = chain
            .operations
            .iter()
            .filter_map(|at| place_of.get(at).copied());
        Some((
            (chain.is_backward, is_recompute, sizes),
            places.collect::<Vec<usize>>(),
        ))
    });
    grouped(chains, |members: &mut Members, places| {
        members.units += 1;
        for place in places {
            members.add((place, 0));
        }
    })
}

/// Matches norms with the same number of elements of the same type, independent of the operator.
pub(super) fn norms(alignment: &mut Alignment<MatchLevel>, all: &Rows) -> Vec<Found> {
    by_key(alignment, all, |which, rows| {
        let profile = all.sides.get(which).profile;
        let first = all.operations(which, rows).next()?;
        let tensors = first.tensors(profile);
        let largest = tensors.iter().max_by_key(|tensor| tensor.elements())?;
        let is_it = first.family == Family::Normalization;
        let passes = (
            is_backward(first.short_name(profile)),
            first.key.is_recompute,
        );
        is_it.then(|| (passes, largest.elements(), largest.dtype.to_owned()))
    })
}

/// Matches what is left inside the steps of the same optimizer: one trace updates all parameters in a fused kernel, the
/// other in one kernel for each part of the update.
pub(super) fn optimizers(alignment: &mut Alignment<MatchLevel>, all: &Rows) -> Vec<Found> {
    let steps = all.sides.map(|side| OptimizerStep::all(side.profile));
    let mut found = by_key(alignment, all, |which, rows| {
        let profile = all.sides.get(which).profile;
        let steps = steps.get(which);
        let holding = |one: &Operation| OptimizerStep::of(steps, profile, one);
        let mut operations = all.operations(which, rows);
        let first = holding(operations.next()?)?;
        let is_inside = operations.all(|one| holding(one).is_some());
        is_inside.then(|| first.optimizer.clone())
    });
    for group in &mut found {
        group.units = steps.as_ref().map(|steps| Some(steps.len() as u64));
    }
    found
}

/// Matches the rest of MoE layers: routing and grouped GEMMs are split into kernels in many ways.
pub(super) fn experts(alignment: &mut Alignment<MatchLevel>, all: &Rows) -> Vec<Found> {
    let mut found = by_key(alignment, all, |which, rows| {
        let first = all.operations(which, rows).next()?;
        (first.family == Family::Moe).then_some(first.key.is_recompute)
    });
    for group in &mut found {
        group.units = Pair::of(|which| Some(n_layers(all, which, group.rows.get(which))));
    }
    found
}

/// How often a trace runs a layer: the number of calls of the least frequent operation that has a notable share of the
/// time.
fn n_layers(all: &Rows, which: Which, rows: &[usize]) -> u64 {
    const LEAST_PERCENT: i64 = 10;
    let operations = || all.operations(which, rows);
    let all_ns: i64 = operations().map(|operation| operation.kernel_ns).sum();
    let long = operations().filter(|operation| {
        operation.kernel_ns.saturating_mul(100) >= all_ns.saturating_mul(LEAST_PERCENT)
    });
    long.map(Operation::n_calls).min().unwrap_or(1)
}

/// Matches unmatched rows of both traces with the same key.
fn by_key<K: std::hash::Hash + Eq>(
    alignment: &mut Alignment<MatchLevel>,
    all: &Rows,
    key: impl Fn(Which, &[usize]) -> Option<K>,
) -> Vec<Found> {
    let groups = alignment.unmatched_by(|which, place, rows| {
        Some((key(which, rows)?, (place, all.n_calls(which, rows))))
    });
    let mut found = Vec::new();
    for (_, members) in groups {
        if !members.reference.is_empty() && !members.target.is_empty() {
            let members = members.map(|rows| {
                let mut members = Members::default();
                rows.into_iter().for_each(|row| members.add(row));
                members
            });
            found.push(take(alignment, MatchLevel::Meaning, &members));
        }
    }
    drop_taken(alignment);
    found
}

/// Turns unmatched rows into matched ones and leaves their positions empty.
pub(super) fn take(
    alignment: &mut Alignment<MatchLevel>,
    level: MatchLevel,
    members: &Pair<Members>,
) -> Found {
    let mut places = members.as_ref().map(|members| members.places.clone());
    for which in Which::ALL {
        places.get_mut(which).arrange();
    }
    Found {
        level,
        rows: take_rows(alignment, &places),
        units: members.as_ref().map(|members| Some(members.units.max(1))),
    }
}

//! Sequences that are split over the ranks of a group: with a causal mask, attention costs ranks with later parts more.
//!
//! ```text
//! rank    part of the sequence   attends to
//! 0       0                      0
//! 1       1                      0 1
//! 2       2                      0 1 2
//! ```

use super::roles::{Layout, Role};
use super::same_work::SameWork;
use crate::job::Job;
use crate::names::{Family, family_of_kernel};

/// The last rank of a group must have at least this many times the work of the first.
const LEAST_RATIO: f64 = 1.1;

/// With two ranks, work that grows is no pattern, unless it grows by as much as causal attention makes it.
const LEAST_RATIO_OF_TWO: f64 = 1.3;

/// The work of a rank in a step, relative to the mean of its group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    /// As an index into the ranks of the job.
    pub(crate) rank: usize,
    pub(crate) ns: i64,
    pub(crate) share: f64,
}

/// For each group in which attention grows with the position of the rank, the work of its ranks in a step, in order of
/// their positions.
pub(crate) fn loads(
    job: &Job,
    layout: &Layout,
    same_work: &SameWork,
    step: usize,
) -> Vec<Vec<Load>> {
    let Some(of_step) = same_work.of_steps.get(step) else {
        return Vec::new();
    };
    let groups = job.groups.iter().enumerate();
    let groups = groups.filter(|(at, _)| layout.role(*at) == Role::Sequence);
    let loads = groups.filter_map(|(_, group)| {
        let ranks = group.ranks.iter().map(|number| {
            let rank = job.ranks.iter().position(|rank| rank.number == *number)?;
            let same = of_step.get(rank)?;
            // At the speed of other ranks, so that a slow rank has no more of it.
            Some((rank, same.total_ns.saturating_sub(same.slower_ns())))
        });
        let works: Vec<(usize, i64)> = ranks.collect::<Option<_>>()?;
        let all: i128 = works.iter().map(|(_, ns)| i128::from(*ns)).sum();
        let mean = all as f64 / works.len().max(1) as f64;
        let loads = works.into_iter().map(|(rank, ns)| Load {
            rank,
            ns,
            share: if mean > 0.0 { ns as f64 / mean } else { 1.0 },
        });
        let loads: Vec<Load> = loads.collect();
        grows(&loads, same_work).then_some(loads)
    });
    loads.collect()
}

/// Whether work grows from each rank to the next one, and most of what the last one has more of is attention.
fn grows(loads: &[Load], same_work: &SameWork) -> bool {
    let (Some(first), Some(last)) = (loads.first(), loads.last()) else {
        return false;
    };
    let least = match loads.len() {
        0..=2 => LEAST_RATIO_OF_TWO,
        _ => LEAST_RATIO,
    };
    let is_larger = |(one, next): (&Load, &Load)| next.ns > one.ns;
    let of_last = same_work.more.iter().filter(|of| of.rank == last.rank);
    let most = of_last.max_by_key(|of| of.excess_ns);
    last.ns as f64 >= first.ns as f64 * least
        && loads.iter().zip(loads.iter().skip(1)).all(is_larger)
        && most.is_some_and(|of| family_of_kernel(&of.kernel) == Family::Attention)
}

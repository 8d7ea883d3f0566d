//! Traces the delay of ranks that arrive last because they waited elsewhere back to where it started.

use std::cmp::Reverse;

use super::{Cause, Why};
use crate::base::group::{grouped, summed};
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::base::stats::mean_of_middle_ns;

use crate::job::Job;
use crate::job::analysis::delay::Excess;
use crate::job::analysis::flow::{Flow, Node, Part};
use crate::job::analysis::what_if::Estimator;

/// At most this many collectives are followed back.
const MOST_BACK: usize = 32;

/// A rank that is late by less than this counts as on time.
const LEAST_LATE_NS: i64 = 20_000;

/// Waits for a rank that was itself delayed by another one.
struct Blamed {
    victim: usize,
    step: usize,
    culprit: usize,
    group: Option<usize>,
    caused_ns: i64,
}

/// A rank that others wait for because of another rank, in some steps.
struct Victim {
    rank: usize,
    culprit: usize,
    group: Option<usize>,
    steps: Vec<usize>,
    caused_ns: i64,
}

/// The ranks that others wait for mostly because of another rank, with the steps.
pub(super) fn victims(analysis: &Estimator, least_ns: &[i64]) -> Vec<Cause> {
    let Some(replay) = analysis.replay else {
        return Vec::new();
    };
    let steps: Vec<usize> = replay.steps.iter().map(|of| of.step).collect();
    let blamed = analysis.flow.nodes.iter();
    let blamed: Vec<Blamed> = blamed
        .filter_map(|node| follow(analysis.job, analysis.flow, node))
        .collect();
    let by = blamed.iter().filter(|of| steps.contains(&of.step));
    let by = by.map(|of| ((of.victim, of.step, of.culprit, of.group), of.caused_ns));
    let sums = summed(by)
        .into_iter()
        .map(|((victim, step, culprit, group), ns)| ((victim, step), (ns, culprit, group)));
    let by_victim: Vec<((usize, usize), Vec<_>)> = grouped(sums, Vec::push);
    let mut found: Vec<Victim> = Vec::new();
    for ((victim, step), of_victim) in by_victim {
        let caused_ns = analysis.delays.of(step, victim);
        let caused_ns = caused_ns.map_or(0, |delay| delay.caused_ns);
        let least_ns = least_ns.get(step).copied().unwrap_or(0);
        let Some((caused_ns, culprit, group)) = main_culprit(of_victim, caused_ns, least_ns) else {
            continue;
        };
        let known = found
            .iter_mut()
            .find(|of| (of.rank, of.culprit) == (victim, culprit));
        match known {
            Some(known) => {
                known.steps.push(step);
                known.caused_ns = known.caused_ns.saturating_add(caused_ns);
            }
            None => found.push(Victim {
                rank: victim,
                culprit,
                group,
                steps: vec![step],
                caused_ns,
            }),
        }
    }
    let causes = found.into_iter().map(|of| Cause {
        rank: of.rank,
        steps: of.steps,
        why: Why::WaitsElsewhere {
            culprit: of.culprit,
            group: of.group,
            caused_ns: of.caused_ns,
        },
        excess: Excess::default(),
        saving_ns: None,
    });
    let mut causes: Vec<Cause> = causes.collect();
    for cause in &mut causes {
        cause.steps.arrange();
    }
    causes.arrange_by_key(|cause| (cause.rank, cause.steps.clone()));
    causes
}

/// Of the waits of a victim for others in a step, each with the rank and the group that it waits for: the rank that
/// most of them are for, and the time of these, if that is most of what others wait for the victim, and enough.
fn main_culprit(
    mut waits: Vec<(i64, usize, Option<usize>)>,
    caused_ns: i64,
    least_ns: i64,
) -> Option<(i64, usize, Option<usize>)> {
    waits.arrange_by_key(|(ns, culprit, group)| (Reverse(*ns), *culprit, *group));
    let &(_, culprit, group) = waits.first()?;
    let all_ns = sum(waits.iter().map(|of| of.0));
    let of_culprit_ns = sum(waits.iter().filter(|of| of.1 == culprit).map(|of| of.0));
    let is_enough =
        all_ns >= caused_ns / 2 && of_culprit_ns >= all_ns / 2 && of_culprit_ns >= least_ns;
    is_enough.then_some((of_culprit_ns, culprit, group))
}

/// The rank that delayed the last rank of a collective, if it was another one.
fn follow(job: &Job, flow: &Flow, node: &Node) -> Option<Blamed> {
    let parts = flow.parts_of(node);
    let are_together = node.waits_for_all && !node.is_loose && parts.len() > 1;
    if !are_together || !parts.iter().all(|part| job.clocks.is_joined(part.rank)) {
        return None;
    }
    let last = flow.parts.get(node.last)?;
    let others = parts.iter().filter(|part| part.rank != last.rank);
    let others = mean_of_middle_ns(others.map(|part| part.span.start_ns).collect())?;
    let late_ns = last.span.start_ns.saturating_sub(others);
    if late_ns < LEAST_LATE_NS {
        return None;
    }
    let mut shares: Vec<(usize, i64, Option<usize>)> = Vec::new();
    let mut explained_ns = 0_i64;
    let mut at: &Part = last;
    // The group in which it waited.
    let mut group = None;
    for _ in 0..MOST_BACK {
        let excess_ns = at.excess_ns();
        explained_ns = explained_ns.saturating_add(excess_ns);
        match shares.iter_mut().find(|(rank, ..)| *rank == at.rank) {
            Some((_, ns, _)) => *ns = ns.saturating_add(excess_ns),
            None => shares.push((at.rank, excess_ns, group)),
        }
        if explained_ns >= late_ns / 2 {
            break;
        }
        let before = flow.parts.get(at.before?)?;
        let node = flow.node_of(before)?;
        at = match node.waits_for_all && !node.is_loose {
            true => flow.parts.get(node.last)?,
            false => before,
        };
        if at.rank != before.rank {
            let matched = node.collective(job);
            group = matched.and_then(|matched| matched.group);
        }
    }
    if explained_ns < late_ns / 2 {
        return None;
    }
    let most = shares.iter().map(|(_, ns, _)| *ns).max()?;
    let (culprit, _, group) = *shares.iter().find(|(_, ns, _)| *ns == most)?;
    let waits = parts
        .iter()
        .map(|part| node.begin_ns.saturating_sub(part.span.start_ns));
    (culprit != last.rank).then_some(Blamed {
        victim: last.rank,
        step: node.step?,
        culprit,
        group,
        caused_ns: sum(waits),
    })
}

//! Pipelines: how long each stage waits for the others, against what their number of stages and
//! micro-batches makes inevitable.

use super::Job;
use super::roles::{Layout, Role};
use super::timing::Timing;
use crate::base::interval::percent_of;
use crate::base::map::Map;
use crate::base::sort::Arrange;

/// A rank in a step of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bubble {
    /// Among the ranks of the job.
    pub(crate) rank: usize,
    /// Among the steps of the job.
    pub(crate) step: usize,
    /// Its stage, from 0.
    pub(crate) stage: usize,
    /// Stages of its pipeline.
    pub(crate) n_stages: usize,
    /// Messages to or from one other stage in a step, the largest number: those of one direction.
    pub(crate) n_micro_batches: usize,
    /// Kernels that receive, all of their time.
    pub(crate) receiving_ns: i64,
    /// The transfers of these: what is no waiting.
    pub(crate) transfer_ns: i64,
    /// Time of the step.
    pub(crate) step_ns: i64,
    /// Kernels compute.
    pub(crate) work_ns: i64,
}

impl Bubble {
    /// Time in which the rank waits for other stages.
    pub(crate) fn waiting_ns(&self) -> i64 {
        (self.receiving_ns - self.transfer_ns).max(0)
    }

    /// The same in percent of the step.
    pub(crate) fn percent(&self) -> Option<f64> {
        percent_of(self.waiting_ns(), self.step_ns)
    }

    /// What p stages and m micro-batches make inevitable: (p − 1) / (m + p − 1), in percent.
    pub(crate) fn inevitable_percent(&self) -> Option<f64> {
        let others = self.n_stages.checked_sub(1)?;
        let slots = self.n_micro_batches + others;
        (self.n_micro_batches > 0).then(|| others as f64 * 100.0 / slots as f64)
    }

    /// Work a micro-batch.
    pub(crate) fn work_per_micro_batch_ns(&self) -> Option<i64> {
        let n = i64::try_from(self.n_micro_batches).ok()?;
        (n > 0).then(|| self.work_ns / n)
    }
}

/// All stages in all steps, by step and rank; none without pipelines.
pub(crate) fn bubbles(job: &Job, layout: &Layout, timings: &[Option<Timing>]) -> Vec<Bubble> {
    let places = job.ranks.iter().enumerate();
    let places: Map<u32, usize> = places.map(|(at, rank)| (rank.number, at)).collect();
    let mut found = Vec::new();
    for (group_at, (group, own)) in job.groups.iter().zip(job.by_group()).enumerate() {
        if layout.role(group_at) != Role::Pipeline {
            continue;
        }
        let sums = transfers(job, &own, timings);
        for (step_at, step) in job.steps.iter().enumerate() {
            for (stage, number) in group.ranks.iter().enumerate() {
                let Some(at) = places.get(number).copied() else {
                    continue;
                };
                let own_step = || {
                    let own = step.of_rank.get(at).copied().flatten()?;
                    job.ranks.get(at)?.digest.steps.get(own as usize)
                };
                let Some(own_step) = own_step() else {
                    continue;
                };
                let none = Transfers::default();
                let of = sums.get(&(step_at, at)).unwrap_or(&none);
                found.push(Bubble {
                    rank: at,
                    step: step_at,
                    stage,
                    n_stages: group.ranks.len(),
                    n_micro_batches: of.by_peer.iter().map(|(.., n)| *n).max().unwrap_or(0),
                    receiving_ns: of.receiving_ns,
                    transfer_ns: of.transfer_ns,
                    step_ns: own_step.gpu.span.length(),
                    work_ns: own_step.gpu.computation_ns,
                });
            }
        }
    }
    found.arrange_by_key(|bubble| (bubble.step, bubble.rank));
    found
}

/// What a rank sends and receives in a step.
#[derive(Debug, Default)]
struct Transfers {
    /// The other rank, whether it receives, and how often.
    by_peer: Vec<(u32, bool, usize)>,
    receiving_ns: i64,
    transfer_ns: i64,
}

/// By step and rank: the transfers of a group.
fn transfers(
    job: &Job,
    own: &[usize],
    timings: &[Option<Timing>],
) -> Map<(usize, usize), Transfers> {
    let mut sums: Map<(usize, usize), Transfers> = Map::default();
    for at in own {
        let Some(of) = job.collectives.get(*at) else {
            continue;
        };
        let (Some((from, to)), Some(step)) = (of.pair, of.step) else {
            continue;
        };
        let timing = timings.get(*at).and_then(Option::as_ref);
        for (member, (rank, row)) in of.members.iter().zip(of.rows(&job.ranks)) {
            let sum = sums.entry((step, member.rank)).or_default();
            let receives = rank.number == to;
            let peer = if receives { from } else { to };
            let mut known = sum.by_peer.iter_mut();
            match known.find(|known| (known.0, known.1) == (peer, receives)) {
                Some((.., n)) => *n += 1,
                None => sum.by_peer.push((peer, receives, 1)),
            }
            if receives {
                let length_ns = row.span.length();
                let transfer_ns = timing.map_or(0, |timing| timing.transfer_ns.min(length_ns));
                sum.receiving_ns = sum.receiving_ns.saturating_add(length_ns);
                sum.transfer_ns = sum.transfer_ns.saturating_add(transfer_ns);
            }
        }
    }
    sums
}

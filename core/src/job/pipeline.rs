//! Pipelines: how long each stage waits for the others, against what their number of stages and
//! micro-batches makes inevitable.

use super::Job;
use super::digest::Collective;
use super::roles::{Layout, Role};
use super::timing::Timing;
use crate::base::interval::{percent_of, sum};

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
    /// Sends or receives of one direction a step: the larger number.
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
    let mut found = Vec::new();
    for (group_at, group) in job.groups.iter().enumerate() {
        if layout.role(group_at) != Role::Pipeline {
            continue;
        }
        for (step_at, step) in job.steps.iter().enumerate() {
            for (stage, number) in group.ranks.iter().enumerate() {
                let at = job.ranks.iter().position(|rank| rank.number == *number);
                let Some(at) = at else { continue };
                let Some(rank) = job.ranks.get(at) else {
                    continue;
                };
                let own_step = step.of_rank.get(at).copied().flatten();
                let own_step = own_step.and_then(|own| rank.digest.steps.get(own as usize));
                let Some(own_step) = own_step else { continue };
                let transfers = job.collectives.iter().zip(timings).filter(|(of, _)| {
                    of.group == Some(group_at) && of.pair.is_some() && of.step == Some(step_at)
                });
                let own = transfers.filter_map(|(of, timing)| {
                    let member = of.members.iter().find(|member| member.rank == at)?;
                    let row = rank.digest.collectives.get(member.at as usize)?;
                    Some((of.pair?, row, timing.as_ref()))
                });
                let own: Vec<((u32, u32), &Collective, Option<&Timing>)> = own.collect();
                let received = || own.iter().filter(|((_, to), ..)| to == number);
                let counts = [
                    own.iter().filter(|((from, _), ..)| from == number).count(),
                    received().count(),
                ];
                found.push(Bubble {
                    rank: at,
                    step: step_at,
                    stage,
                    n_stages: group.ranks.len(),
                    n_micro_batches: counts.into_iter().max().unwrap_or(0),
                    receiving_ns: sum(received().map(|(_, row, _)| row.span.length())),
                    transfer_ns: sum(received().map(|(_, row, timing)| {
                        timing.map_or(0, |timing| timing.transfer_ns.min(row.span.length()))
                    })),
                    step_ns: own_step.gpu.span.length(),
                    work_ns: own_step.gpu.computation_ns,
                });
            }
        }
    }
    found.sort_by_key(|bubble| (bubble.step, bubble.rank));
    found
}

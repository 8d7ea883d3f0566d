//! Pipelines: how long each stage waits for the others, compared with what the number of stages and micro-batches makes
//! inevitable.
//!
//! A stage waits in receive kernels while no data moves, and in the idle time before its first and after its last
//! micro-batch: before the first collective of the step, before the last one, and between the last one and the end of
//! the step.

use super::roles::{Layout, Role};
use super::same_work::SameWork;
use super::timing::Timing;
use crate::base::group::grouped;
use crate::base::interval::{Interval, percent_of, sum};
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::import::warning::{Warning, WarningKind};
use crate::job::digest::{Collective, Digest};
use crate::job::{Analysis, Job};
use crate::names::collective::CollectiveKind;

/// A rank in a step of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bubble {
    /// As an index into the ranks of the job.
    pub(crate) rank: usize,
    /// As an index into the steps of the job.
    pub(crate) step: usize,
    /// Its stage, starting at 0.
    pub(crate) stage: usize,
    /// Number of stages of its pipeline.
    pub(crate) n_stages: usize,
    /// Largest number of messages in one direction between this and one other stage in a step.
    pub(crate) n_micro_batches: usize,
    /// Total time of receive kernels.
    pub(crate) receiving_ns: i64,
    /// The transfer time in these, which is not waiting.
    pub(crate) transfer_ns: i64,
    /// Idle time before the first and after the last micro-batch, whether the CPU was late or not.
    pub(crate) idle_ns: i64,
    /// From the end of the previous step to the end of this one, over all ranks.
    pub(crate) step_ns: i64,
    /// Time in which kernels compute.
    pub(crate) work_ns: i64,
}

impl Bubble {
    /// Time in which the rank waits for other stages.
    pub(crate) fn waiting_ns(&self) -> i64 {
        let receiving_ns = (self.receiving_ns - self.transfer_ns).max(0);
        receiving_ns.saturating_add(self.idle_ns)
    }

    /// The same as a percentage of the step.
    pub(crate) fn percent(&self) -> Option<f64> {
        percent_of(self.waiting_ns(), self.step_ns)
    }

    /// Time of receive kernels, transfers included, as a percentage of the step.
    pub(crate) fn receiving_percent(&self) -> Option<f64> {
        percent_of(self.receiving_ns, self.step_ns)
    }

    /// The bubble that p stages and m micro-batches make inevitable: (p − 1) / (m + p − 1), in percent.
    pub(crate) fn inevitable_percent(&self) -> Option<f64> {
        let others = self.n_stages.checked_sub(1)?;
        let slots = self.n_micro_batches + others;
        (self.n_micro_batches > 0).then(|| others as f64 * 100.0 / slots as f64)
    }

    /// Work per micro-batch.
    pub(crate) fn work_per_micro_batch_ns(&self) -> Option<i64> {
        let n = i64::try_from(self.n_micro_batches).ok()?;
        (n > 0).then(|| self.work_ns / n)
    }
}

/// The work of each stage in a step, relative to the mean of all stages; empty without stages or work. It counts at the
/// speed of other ranks, so that a slow rank does not make its stage larger.
pub(crate) fn loads(layout: &Layout, same_work: &SameWork, step: usize) -> Vec<(usize, f64)> {
    let of_step = same_work.of_steps.get(step).into_iter().flatten();
    let works = of_step.enumerate().filter_map(|(rank, same)| {
        let work_ns = same.total_ns.saturating_sub(same.slower_ns());
        Some((layout.stage(rank)?, work_ns.max(0) as f64))
    });
    let of_stages: Vec<(usize, Vec<f64>)> = grouped(works, Vec::push);
    let mut means: Vec<(usize, f64)> = (of_stages.into_iter())
        .map(|(stage, works)| (stage, works.iter().sum::<f64>() / works.len() as f64))
        .collect();
    let mean = means.iter().map(|(_, work)| work).sum::<f64>() / means.len() as f64;
    if means.len() < 2 || mean <= 0.0 {
        return Vec::new();
    }
    means.arrange_by_key(|(stage, _)| *stage);
    means
        .into_iter()
        .map(|(stage, work)| (stage, work / mean))
        .collect()
}

/// The last step of a rank whose trace was cut off, as an index into its own steps: missing activity would look like
/// idle time.
fn cut_step(digest: &Digest) -> Option<u32> {
    let is_cut = |warning: &Warning| {
        let kind = warning.kind;
        matches!(kind, WarningKind::CutGzip | WarningKind::CutJson)
    };
    let last = u32::try_from(digest.steps.len()).ok()?.checked_sub(1);
    last.filter(|_| digest.warnings.iter().any(is_cut))
}

/// All stages in all steps, sorted by step and rank, except for steps in which a trace was cut off; empty without
/// pipelines.
pub(crate) fn bubbles(job: &Job, analysis: &Analysis) -> Vec<Bubble> {
    // No replay means that clocks cannot be compared.
    let Some(replay) = &analysis.replay else {
        return Vec::new();
    };
    let places = job.ranks.iter().enumerate();
    let places: Map<u32, usize> = places.map(|(at, rank)| (rank.number, at)).collect();
    let mut found = Vec::new();
    for (group_at, (group, own)) in job.groups.iter().zip(job.by_group()).enumerate() {
        if analysis.layout.role(group_at) != Role::Pipeline {
            continue;
        }
        let sums = transfers(job, &own, &analysis.timings);
        for time in &replay.steps {
            let step_at = time.step;
            for (stage, number) in group.ranks.iter().enumerate() {
                let Some(at) = places.get(number).copied() else {
                    continue;
                };
                let own_step = || {
                    let own = job.steps.get(step_at)?.of_rank.get(at).copied().flatten()?;
                    let digest = &job.ranks.get(at)?.digest;
                    let step = digest.steps.get(own as usize)?;
                    (cut_step(digest) != Some(own)).then_some((own, step))
                };
                let Some((own, own_step)) = own_step() else {
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
                    idle_ns: idle_ns(job, at, own, time.span),
                    step_ns: time.span.length(),
                    work_ns: own_step.gpu.computation_ns,
                });
            }
        }
    }
    found.arrange_by_key(|bubble| (bubble.step, bubble.rank));
    found
}

/// Idle time of a rank in a step before its first and after its last micro-batch.
fn idle_ns(job: &Job, rank: usize, own_step: u32, step: Interval) -> i64 {
    let Some(digest) = job.ranks.get(rank).map(|rank| &rank.digest) else {
        return 0;
    };
    let own = digest.collectives.iter();
    let own: Vec<&Collective> = own.filter(|of| of.step == Some(own_step)).collect();
    let last = own
        .iter()
        .max_by_key(|of| (of.span.end_ns, of.span.start_ns));
    let Some((first, last)) = own.first().zip(last) else {
        return 0;
    };
    let before = |of: &Collective| of.own.map_or(0, |own| own.late_ns + own.idle_ns());
    // If the last collective is a transfer, the time before it is within the micro-batches.
    let is_behind = last.span != first.span && digest.kind(last) != CollectiveKind::SendReceive;
    let before_last_ns = if is_behind { before(last) } else { 0 };
    let gpu = digest
        .steps
        .get(own_step as usize)
        .map(|step| step.gpu.span);
    let end_ns = gpu.map_or(last.span.end_ns, |gpu| gpu.end_ns.max(last.span.end_ns));
    let after_ns = step.end_ns.saturating_sub(job.corrected_ns(rank, end_ns));
    sum([before(first), before_last_ns, after_ns.max(0)]).min(step.length())
}

/// What a rank sends and receives in a step.
#[derive(Debug, Default)]
struct Transfers {
    /// The other rank, whether this one receives from it, and how often.
    by_peer: Vec<(u32, bool, usize)>,
    receiving_ns: i64,
    transfer_ns: i64,
}

/// The transfers of a group, by step and rank.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::testing::{GEMM, MS, TestJob};

    #[test]
    fn a_bubble_is_waiting_in_transfers_and_idle_around_the_micro_batches() {
        let job = TestJob::of_two_stages().job();
        let of = Analysis::new(&job);
        let bubbles = bubbles(&job, &of);
        let actual = bubbles.iter().map(|of| {
            let received = (of.receiving_ns / MS, of.transfer_ns / MS);
            (of.stage, received, of.idle_ns / MS, of.percent())
        });
        let actual: Vec<_> = actual.collect();
        // 44 ms of receiving minus 4 of transfer, and 10 ms idle.
        let expected = [(0, (0, 0), 0, Some(0.0)), (1, (44, 4), 10, Some(50.0))];
        assert_eq!(actual, expected);
        // One of 4 + 1 slots.
        assert_eq!(bubbles[1].inevitable_percent(), Some(20.0));
    }

    /// The missing part of a trace that was cut off is not a bubble.
    #[test]
    fn the_last_step_of_a_trace_that_was_cut_is_left_out() {
        let mut job = TestJob::of_two_stages();
        job.step_of_two_stages(1, true);
        job.cut(1);
        let job = job.job();
        let of = Analysis::new(&job);
        let bubbles = bubbles(&job, &of);
        let steps_and_ranks: Vec<_> = bubbles.iter().map(|of| (of.step, of.rank)).collect();
        assert_eq!(steps_and_ranks, [(0, 0), (0, 1), (1, 0)]);
    }

    /// A stage with twice the calls has more work; one on which the same calls take longer has not.
    #[test]
    fn stages_are_compared_by_their_work_at_the_speed_of_others() {
        let mut job = TestJob::new(4);
        job.step(1, 0, 100 * MS);
        let ranks = [0, 1, 2, 3];
        for pair in [[0, 1], [1, 2], [2, 3]] {
            let at = i64::from(pair[0]) * 10 * MS;
            job.send("1 mesh_pp", &ranks, pair, [(at, at + MS); 2]);
        }
        for (rank, (calls, ms)) in [(10, 20), (10, 30), (10, 20), (20, 40)]
            .into_iter()
            .enumerate()
        {
            job.work(rank, 0, &GEMM, calls, ms * MS);
        }
        let job = job.job();
        let of = Analysis::new(&job);
        let loads = loads(&of.layout, &of.same_work, 0);
        assert_eq!(loads, [(0, 0.8), (1, 0.8), (2, 0.8), (3, 1.6)]);
    }
}

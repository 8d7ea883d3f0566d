//! How long steps take on each rank, and what it did and how long it waited in each of them.

use super::table::ms_of;
use crate::base::interval::sum;
use crate::base::labels::labeled;
use crate::base::map::Map;
use crate::job::analysis::delay::Delay;
use crate::job::analysis::flow::{Node, Part};
use crate::job::digest::{GpuTime, OwnTime, Step};
use crate::job::{Analysis, Job, Rank};
use crate::report::sheet::Cell;

labeled! {
    /// What the time of a step was derived from.
    pub(super) enum TimeBy {
        /// From the end of the last collective of all ranks in the previous step to that in this step.
        Collectives => "collectives",
        /// The profiler's step on the CPU, whose end may precede that on the GPU because the CPU runs ahead.
        Cpu => "CPU",
    }
}

/// How long a rank waited in the collectives of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::job) struct Waits {
    pub(in crate::job) collectives: usize,
    /// How long data moved in them, within the rank's own kernels.
    pub(in crate::job) transfer_ns: i64,
    /// How many of them no rank can leave before all have started. The following fields count only these: the sender of
    /// a broadcast need not wait for the receivers.
    pub(in crate::job) waiting: usize,
    /// In how many of them it started last.
    pub(in crate::job) last: usize,
    /// How long it waited for the last one, within its own kernels.
    pub(in crate::job) waited_ns: i64,
    /// How long others waited for it where it was last.
    pub(in crate::job) caused_ns: i64,
}

/// Data about a rank in total, or in one of its steps.
#[derive(Debug)]
pub(super) struct Breakdown<'a> {
    /// How its GPU time splits; `None` without a GPU.
    pub(super) gpu: Option<&'a GpuTime>,
    /// Own times before its collectives, summed.
    pub(super) own: OwnTime,
    /// `None` where clocks cannot be compared.
    pub(super) waits: Option<Waits>,
    /// How much longer its own time was than that of its peers, and how that splits.
    pub(super) delay: Option<&'a Delay>,
    /// How many times as long as on other ranks the same work took.
    pub(super) ratio: Option<f64>,
}

impl Breakdown<'_> {
    /// A part of its GPU time; empty without a GPU.
    pub(super) fn gpu_ms(&self, of: fn(&GpuTime) -> i64) -> Cell {
        ms_of(self.gpu.map(of))
    }
}

/// A step of one rank.
#[derive(Debug)]
pub(super) struct RankStep<'a> {
    pub(super) rank: &'a Rank,
    /// Its number in the job.
    pub(super) number: u64,
    pub(super) step: &'a Step,
    pub(super) time_ns: i64,
    pub(super) time_by: TimeBy,
    pub(super) breakdown: Breakdown<'a>,
    /// The longest computation between collectives of all ranks, divided by the mean.
    pub(super) imbalance: Option<f64>,
}

/// Sorted by rank, then by step.
pub(super) fn steps<'a>(job: &'a Job, analysis: &'a Analysis) -> Vec<RankStep<'a>> {
    let waits = waits(job, analysis);
    let ends = ends(job);
    let imbalances: Vec<Option<f64>> = (0..job.steps.len()).map(|at| imbalance(job, at)).collect();
    let steps = job.ranks.iter().enumerate().flat_map(|(at, rank)| {
        let (waits, ends, imbalances) = (&waits, &ends, &imbalances);
        job.steps
            .iter()
            .enumerate()
            .filter_map(move |(step_at, of_job)| {
                let own_at = of_job.of_rank.get(at).copied().flatten()?;
                let step = rank.digest.steps.get(own_at as usize)?;
                let end = |step: Option<usize>| ends.get(&(at, step?)).copied();
                let before = step_at.checked_sub(1).filter(|before| {
                    let before = job.steps.get(*before).map(|step| step.number);
                    before.and_then(|number| number.checked_add(1)) == Some(of_job.number)
                });
                let (time_ns, time_by) = match end(before).zip(end(Some(step_at))) {
                    Some((from, to)) => (to.saturating_sub(from), TimeBy::Collectives),
                    None => (step.host.length(), TimeBy::Cpu),
                };
                let own = rank.digest.collectives.iter();
                let own = own
                    .filter(|of| of.step == Some(own_at))
                    .filter_map(|of| of.own);
                let waited = waits.get(&(at, step_at)).copied().unwrap_or_default();
                Some(RankStep {
                    rank,
                    number: of_job.number,
                    step,
                    time_ns,
                    time_by,
                    breakdown: Breakdown {
                        gpu: rank.digest.gpu.is_some().then_some(&step.gpu),
                        own: own.fold(OwnTime::default(), added),
                        waits: job.clocks.are_comparable.then_some(waited),
                        delay: analysis.delays.of(step_at, at),
                        ratio: analysis.same_work.ratio(step_at, at),
                    },
                    imbalance: imbalances.get(step_at).copied().flatten(),
                })
            })
    });
    steps.collect()
}

impl Waits {
    /// The sum of two steps.
    pub(in crate::job) fn and(self, other: Waits) -> Waits {
        Waits {
            collectives: self.collectives + other.collectives,
            transfer_ns: self.transfer_ns.saturating_add(other.transfer_ns),
            waiting: self.waiting + other.waiting,
            last: self.last + other.last,
            waited_ns: self.waited_ns.saturating_add(other.waited_ns),
            caused_ns: self.caused_ns.saturating_add(other.caused_ns),
        }
    }
}

pub(super) fn added(all: OwnTime, one: OwnTime) -> OwnTime {
    OwnTime {
        total_ns: all.total_ns.saturating_add(one.total_ns),
        work_ns: all.work_ns.saturating_add(one.work_ns),
        copies_ns: all.copies_ns.saturating_add(one.copies_ns),
        late_ns: all.late_ns.saturating_add(one.late_ns),
    }
}

/// A rank and a step, both as indices.
pub(in crate::job) type Place = (usize, usize);

/// By rank and step; empty where clocks cannot be compared.
pub(in crate::job) fn waits(job: &Job, analysis: &Analysis) -> Map<Place, Waits> {
    let mut all: Map<Place, Waits> = Map::default();
    let nodes = analysis.flow.nodes.iter();
    for node in nodes.filter(|node| node.matched.is_some() && job.clocks.are_comparable) {
        let Some(step) = node.step else { continue };
        let waits = waits_in(job, analysis, node);
        let caused_ns = sum(waits.iter().flatten().copied());
        let parts = analysis.flow.parts_of(node).iter();
        for ((part, waited_ns), at) in parts.zip(waits).zip(analysis.flow.places_of(node)) {
            let own = all.entry((part.rank, step)).or_default();
            let moving_ns = part.span.length() - before_all(node, part);
            own.collectives += 1;
            own.transfer_ns = own
                .transfer_ns
                .saturating_add(node.transfer_ns.min(moving_ns));
            own.waiting += usize::from(waited_ns.is_some());
            own.waited_ns = own.waited_ns.saturating_add(waited_ns.unwrap_or(0));
            if waited_ns.is_some() && at == node.last {
                own.last += 1;
                own.caused_ns = own.caused_ns.saturating_add(caused_ns);
            }
        }
    }
    all
}

/// How long each rank of a collective waited for the last one; `None` where it need not have waited, or where no other
/// participant is known.
pub(in crate::job) fn waits_in(job: &Job, analysis: &Analysis, node: &Node) -> Vec<Option<i64>> {
    let parts = analysis.flow.parts_of(node);
    let is_known = job.clocks.are_comparable
        && node.waits_for_all
        && !node.is_loose
        && parts.len() > 1
        && parts.iter().all(|part| job.clocks.is_joined(part.rank));
    let waits = parts.iter();
    let waits = waits.map(|part| is_known.then(|| before_all(node, part)));
    waits.collect()
}

/// How much of its kernel a rank spent before the last one had started.
fn before_all(node: &Node, part: &Part) -> i64 {
    let ns = node.begin_ns.saturating_sub(part.span.start_ns);
    ns.clamp(0, part.span.length().max(0))
}

/// The end of the last collective of all ranks in a step, on each rank's own clock.
fn ends(job: &Job) -> Map<Place, i64> {
    let mut all: Map<Place, i64> = Map::default();
    let of_all = job.collectives.iter().filter(|of| {
        of.expected == job.world_size as usize && of.expected > 1 && of.pair.is_none()
    });
    for of in of_all {
        let Some(step) = of.step else { continue };
        for member in &of.members {
            if let Some((_, row)) = job.recorded(member.rank, member.at) {
                let end_ns = all.entry((member.rank, step)).or_insert(i64::MIN);
                *end_ns = (*end_ns).max(row.span.end_ns);
            }
        }
    }
    all
}

fn imbalance(job: &Job, step: usize) -> Option<f64> {
    let of_rank = &job.steps.get(step)?.of_rank;
    let steps = job.ranks.iter().zip(of_rank).filter_map(|(rank, own)| {
        let step = rank.digest.steps.get((*own)? as usize)?;
        Some(step.between_ns as f64)
    });
    let all: Vec<f64> = steps.collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let most = all.into_iter().reduce(f64::max)?;
    (mean > 0.0).then(|| most / mean)
}

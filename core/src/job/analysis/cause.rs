//! Why a rank delays the others, with the evidence as numbers, and what fixing it saves.

mod blame;
mod experts;
mod hosts;
mod kernels;

use std::cmp::Reverse;

use serde::Serialize;

use experts::Experts;
pub(crate) use hosts::slow_hosts;

use super::delay::{Delay, Excess};
use super::experts::HOT;
use super::late_by::LateBy;
use super::replay::Gain;
use super::same_work::{LEAST_RATIO, MoreWork, Same, SlowCategory};
use super::what_if::{Estimator, WhatIf};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::{mean_of_middle_ns, median};
use crate::job::Job;
use crate::names::cpu_activity::CpuActivity;
use crate::profile::gpu::copies::Direction;

/// Anything shorter than this, or than this share of the step, is no cause.
const LEAST_NS: i64 = 50_000;

/// In per mille of the step.
const LEAST_PER_MILLE: i64 = 5;

/// A cause must also explain at least this share of a rank's excess over its peers.
const LEAST_PERCENT: i64 = 20;

/// Where at least [`LEAST_FOR_SCATTER`] ranks show how much the times of the same kernels scatter, a rank counts as
/// slower if it is more than this many median absolute deviations above the middle.
const LEAST_DEVIATIONS: f64 = 4.0;

/// See [`LEAST_DEVIATIONS`].
const LEAST_FOR_SCATTER: usize = 4;

/// A single kernel counts as slower from this ratio on: the times of one kernel scatter more than those of all.
const LEAST_RATIO_OF_ONE: f64 = 1.25;

/// Maximum number of rows of evidence.
const MOST_ROWS: usize = 10;

/// Why a rank needs more own time than its peers, or arrives late without that.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Why {
    /// The same kernels take longer.
    SlowerKernels {
        /// How many times as long.
        ratio: f64,
        /// By how much they take longer.
        slower_ns: i64,
        /// Number of distinct combinations of kernel, operator and shapes.
        n_kernels: usize,
        /// Which of them.
        which: Slower,
        /// The largest excess first.
        categories: Vec<SlowCategory>,
    },
    /// More calls, other shapes, operators that other ranks do not run.
    MoreWork {
        /// By how much more than the median of the others, computed at the others' speed.
        more_ns: i64,
        /// Over all steps, largest time first.
        work: Vec<MoreWork>,
    },
    /// More tokens for its experts than other ranks get.
    MoreTokens {
        /// Relative to the mean of its groups.
        share: f64,
        /// How much longer it computes on them than its peers on theirs.
        more_ns: i64,
    },
    /// The CPU launches late.
    HostLate {
        /// How much later than the CPUs of its peers.
        late_ns: i64,
        /// What the CPU did meanwhile, longest first.
        by: Vec<(LateBy, i64)>,
        /// Time in which the CPU loads data.
        loading_ns: i64,
        /// The median of the time in which the CPUs of the others load data.
        peers_loading_ns: i64,
    },
    /// Exposed copies.
    Copies {
        /// How much longer than those of the peers.
        copies_ns: i64,
    },
    /// Nothing runs although it was launched.
    Idle {
        /// How much longer than on the peers.
        idle_ns: i64,
    },
    /// It waited elsewhere for the rank that is the cause, and is itself a victim.
    WaitsElsewhere {
        /// The rank at which the delay started.
        culprit: usize,
        /// The group in which it waited, as an index into the groups of the job.
        group: Option<usize>,
        /// How long others waited for this rank because of that.
        caused_ns: i64,
    },
}

impl Why {
    /// Why a rank delays others, in a few words.
    pub(crate) fn brief(&self, job: &Job) -> String {
        match self {
            Why::SlowerKernels { ratio, which, .. } => {
                format!("{} {ratio:.2}×", which.what())
            }
            Why::MoreWork { .. } => "more work".to_owned(),
            Why::MoreTokens { share, .. } => format!("gets {share:.2}× the tokens"),
            Why::HostLate { by, .. } => match by.first() {
                Some((by, _)) => {
                    format!("late launches: {}", format::middle_ellipsis(by.label(), 40))
                }
                None => "late launches".to_owned(),
            },
            Why::Copies { .. } => "copies".to_owned(),
            Why::Idle { .. } => "idle".to_owned(),
            Why::WaitsElsewhere { culprit, .. } => {
                let rank = job.ranks.get(*culprit);
                rank.map_or_else(String::new, |rank| {
                    format!("waits for rank {}", rank.number)
                })
            }
        }
    }
}

/// Which of the same kernels take longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Slower {
    /// One kernel (without a GPU, one operator) accounts for most of the excess; the rest is as fast as elsewhere.
    One(String),
    /// All categories alike, which points to the clock or the power of the GPU.
    All,
    /// Only memory-bound categories.
    OfMemory,
    /// Several that have nothing in common.
    Mixed,
}

impl Slower {
    /// Whether it is copies between the GPU and CPU memory.
    pub(crate) fn is_of_copies(&self) -> bool {
        matches!(self, Slower::One(name) if Direction::of_name(name).crosses())
    }

    /// "the same kernels take", "its copies take".
    pub(crate) fn what(&self) -> &'static str {
        match self.is_of_copies() {
            true => "its copies take",
            false => "the same kernels take",
        }
    }
}

/// A rank that delays others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cause {
    /// As an index into the ranks of the job.
    pub(crate) rank: usize,
    /// In which steps, as indices into those of the job.
    pub(crate) steps: Vec<usize>,
    pub(crate) why: Why,
    /// How much its own time exceeds that of its peers, over these steps.
    pub(crate) excess: Excess,
    /// What fixing it would save over these steps; `None` where clocks cannot be compared, for victims, and for tokens,
    /// which would go to other ranks instead.
    pub(crate) saving_ns: Option<i64>,
}

impl Cause {
    /// The change that corresponds to fixing it; `None` for victims, and for tokens: those taken from one rank would go
    /// to others.
    pub(crate) fn change(&self) -> Option<WhatIf> {
        match self.why {
            Why::SlowerKernels { .. } => Some(WhatIf::SameKernels(self.rank)),
            Why::MoreWork { .. } => Some(WhatIf::EvenWork(self.rank)),
            Why::HostLate { .. } => Some(WhatIf::HostInTime(self.rank)),
            Why::Copies { .. } => Some(WhatIf::EvenCopies(self.rank)),
            Why::Idle { .. } => Some(WhatIf::EvenIdle(self.rank)),
            Why::MoreTokens { .. } | Why::WaitsElsewhere { .. } => None,
        }
    }
}

/// The kind of cause, before its evidence is collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Slower,
    More,
    Tokens,
    Late,
    Copies,
    Idle,
}

/// The causes, largest saving first.
pub(crate) fn find(analysis: &Estimator) -> Vec<Cause> {
    let job = analysis.job;
    let experts = Experts::new(analysis);
    let mut found: Vec<(usize, Sort, Vec<usize>)> = Vec::new();
    for step in 0..job.steps.len() {
        let least_ns = least_ns(job, analysis, step);
        let slower = slower(
            analysis
                .same_work
                .of_steps
                .get(step)
                .map_or(&[], Vec::as_slice),
            job.has_gpu(),
        );
        for rank in 0..job.ranks.len() {
            let is_slower = slower.get(rank).copied().unwrap_or(false)
                || has_slow_kernel(analysis, step, rank, least_ns);
            for sort in sorts(analysis, &experts, (step, rank), is_slower, least_ns) {
                match found.iter_mut().find(|of| (of.0, of.1) == (rank, sort)) {
                    Some((.., steps)) => steps.push(step),
                    None => found.push((rank, sort, vec![step])),
                }
            }
        }
    }
    let causes = found.into_iter().map(|(rank, sort, steps)| {
        let delays = steps
            .iter()
            .filter_map(|step| analysis.delays.of(*step, rank));
        let mut all = Delay::default();
        delays.for_each(|delay| all.add(delay));
        let cause = Cause {
            rank,
            why: why(analysis, &experts, sort, rank, &steps, &all),
            excess: all.excess,
            saving_ns: None,
            steps,
        };
        let gain = cause.change().and_then(|change| analysis.gain(change));
        let Some(gain) = gain else { return cause };
        let steps = match sort {
            Sort::More => gaining(analysis, &gain, cause.steps),
            _ => cause.steps,
        };
        Cause {
            saving_ns: Some(within(analysis, &gain, &steps)),
            steps,
            ..cause
        }
    });
    let mut causes: Vec<Cause> = causes.collect();
    let steps: Vec<i64> = (0..job.steps.len())
        .map(|step| least_ns(job, analysis, step))
        .collect();
    causes.extend(blame::victims(analysis, &steps));
    causes.arrange_by_key(|cause| {
        let excess_ns = cause.excess.total_ns;
        (Reverse(cause.saving_ns), Reverse(excess_ns), cause.rank)
    });
    causes
}

/// Times below this are too short to matter in a step.
fn least_ns(job: &Job, analysis: &Estimator, step: usize) -> i64 {
    let replayed = analysis.replay.iter().flat_map(|replay| &replay.steps);
    let replayed = replayed
        .filter(|of| of.step == step)
        .map(|of| of.span.length());
    let on_host = || {
        let of_rank = job.steps.get(step).map(|of| &of.of_rank);
        let ranks = job.ranks.iter().zip(of_rank.into_iter().flatten());
        let lengths = ranks.filter_map(|(rank, step)| {
            Some(rank.digest.steps.get((*step)? as usize)?.host.length())
        });
        lengths.max().unwrap_or(0)
    };
    let step_ns = replayed.max().unwrap_or_else(on_host);
    LEAST_NS.max(step_ns.saturating_mul(LEAST_PER_MILLE) / 1000)
}

/// For each rank, whether the same work takes longer than on others.
fn slower(of_step: &[Same], may_be_halves: bool) -> Vec<bool> {
    let ratios = of_step
        .iter()
        .filter_map(Same::ratio)
        .arranged_by(f64::total_cmp);
    let least = match ratios.len() >= LEAST_FOR_SCATTER {
        true => least_ratio(&ratios, may_be_halves),
        false => 1.0,
    };
    let of_ranks = of_step.iter().map(|same| {
        let ratio = same.ratio();
        ratio.is_some_and(|ratio| ratio >= LEAST_RATIO && ratio > least)
    });
    of_ranks.collect()
}

/// Whether one kernel of a rank is far slower than on others, and accounts for most of what its kernels take longer,
/// though all of them together do not take much longer.
fn has_slow_kernel(analysis: &Estimator, step: usize, rank: usize, least_ns: i64) -> bool {
    let of_step = analysis.same_work.of_steps.get(step);
    let slower_ns = of_step
        .and_then(|row| row.get(rank))
        .map_or(0, Same::slower_ns);
    analysis.job.has_gpu()
        && slower_ns >= least_ns
        && kernels::slow_one(analysis, rank, &[step])
            .is_some_and(|one| one.ratio() >= LEAST_RATIO_OF_ONE)
}

/// The largest ratio within the scatter of the given sorted ratios. Where half of the ranks may be slow, only the
/// faster half counts: its slowest ratio is the middle, and the deviations of the others are taken from that.
fn least_ratio(ratios: &[f64], may_be_halves: bool) -> f64 {
    let quick = ratios.get(..ratios.len().div_ceil(2));
    let (middle, others) = match quick.and_then(<[f64]>::split_last) {
        Some((middle, quicker)) if may_be_halves => (*middle, quicker),
        _ => (median(ratios.to_vec()), ratios),
    };
    let deviations = others.iter().map(|of| (of - middle).abs());
    middle + LEAST_DEVIATIONS * median(deviations.collect())
}

/// The kinds of causes that apply to a rank in a step.
fn sorts(
    analysis: &Estimator,
    experts: &Experts,
    (step, rank): (usize, usize),
    is_slower: bool,
    least_ns: i64,
) -> Vec<Sort> {
    let Some(delay) = analysis.delays.of(step, rank) else {
        return Vec::new();
    };
    let excess = delay.excess;
    let least_ns = least_ns.max(excess.total_ns.saturating_mul(LEAST_PERCENT) / 100);
    let same = analysis
        .same_work
        .of_steps
        .get(step)
        .and_then(|row| row.get(rank));
    let same = same.copied().unwrap_or_default();
    let mut sorts = Vec::new();
    // Applies without an excess, too: the whole stage may be slow, or the rank may be alone in it. Other ranks with the
    // same kernels show it, and the replay gives the saving.
    if is_slower && same.slower_ns() >= least_ns {
        sorts.push(Sort::Slower);
    }
    // Likewise: ranks that share layers have as much as their peers. Others of the stage show it.
    // The compared work includes copies, which have a cause of their own; those after the last collective of a step delay
    // the first one of the next.
    let next = analysis.delays.of(step + 1, rank);
    let next_ns = next.map_or(0, |next| next.excess.copies_ns);
    let more_ns = (same.more_ns)
        .saturating_sub(excess.copies_ns)
        .saturating_sub(next_ns);
    if more_ns >= least_ns {
        let (of_experts_ns, share) = (experts.of(step, rank), experts.share(rank, &[step]));
        sorts.extend(more(more_ns, of_experts_ns, share, least_ns));
    }
    if excess.late_ns >= least_ns {
        sorts.push(Sort::Late);
    }
    if excess.copies_ns >= least_ns && !sorts.contains(&Sort::Slower) {
        sorts.push(Sort::Copies);
    }
    if excess.idle_ns >= least_ns {
        sorts.push(Sort::Idle);
    }
    sorts
}

/// Classifies the extra work of a rank, part of which may be work of experts; `share` is the rank's number of tokens
/// relative to the mean.
fn more(more_ns: i64, of_experts_ns: i64, share: f64, least_ns: i64) -> Option<Sort> {
    let is_of_experts = of_experts_ns.saturating_mul(2) >= more_ns;
    match is_of_experts {
        true if share > HOT => Some(Sort::Tokens),
        // If the rank gets no more tokens than the others, they do not explain longer work on them.
        true => (more_ns.saturating_sub(of_experts_ns) >= least_ns).then_some(Sort::More),
        false => Some(Sort::More),
    }
}

/// The steps in which evening out the work of these steps saves time: work that a rank launches after the last
/// collective of a step delays the first one of the next.
fn gaining(analysis: &Estimator, gain: &Gain, steps: Vec<usize>) -> Vec<usize> {
    let saved_ns = |step: usize| within(analysis, gain, &[step]);
    let next = steps.iter().map(|step| step + 1);
    let mut gaining = steps.iter().copied().chain(next).distinct();
    gaining.retain(|step| saved_ns(*step) >= LEAST_NS);
    match gaining.is_empty() {
        true => steps,
        false => gaining,
    }
}

/// What a change saves in some steps.
fn within(analysis: &Estimator, gain: &Gain, steps: &[usize]) -> i64 {
    let all = analysis.replay.iter().flat_map(|replay| &replay.steps);
    let of_steps = all.zip(&gain.of_steps);
    let of_steps = of_steps.filter(|(of, _)| steps.contains(&of.step));
    sum(of_steps.map(|(_, ns)| *ns))
}

/// The evidence.
fn why(
    analysis: &Estimator,
    experts: &Experts,
    sort: Sort,
    rank: usize,
    steps: &[usize],
    delay: &Delay,
) -> Why {
    let job = analysis.job;
    match sort {
        Sort::Slower => kernels::slower(analysis, rank, steps),
        Sort::More => {
            let work = analysis.same_work.more.iter();
            let work = work.filter(|row| row.rank == rank).take(MOST_ROWS);
            let of_steps = steps
                .iter()
                .filter_map(|step| analysis.same_work.of_steps.get(*step)?.get(rank));
            Why::MoreWork {
                more_ns: sum(of_steps.map(|same| same.more_ns)),
                work: work.cloned().collect(),
            }
        }
        Sort::Tokens => Why::MoreTokens {
            share: experts.share(rank, steps),
            more_ns: steps.iter().map(|step| experts.of(*step, rank)).sum(),
        },
        Sort::Late => {
            let mut by = delay.late_by.clone();
            by.arrange_by_cached_key(|(by, ns)| (Reverse(*ns), by.label().to_owned()));
            let others = (0..job.ranks.len()).filter(|other| *other != rank);
            let others = others.map(|other| loading_ns(job, other, steps));
            let peers_loading_ns = mean_of_middle_ns(others.collect()).unwrap_or(0);
            let loading_ns = loading_ns(job, rank, steps);
            // Where loading is recorded on its own, a rank is late by what it takes longer than on the others.
            let longer_ns = loading_ns.saturating_sub(peers_loading_ns);
            let is_why = |(by, ns): &(LateBy, i64)| {
                let is_loading = *by == LateBy::Activity(CpuActivity::DataLoading);
                !is_loading || loading_ns == 0 || longer_ns.saturating_mul(2) >= *ns
            };
            by.retain(is_why);
            Why::HostLate {
                late_ns: delay.excess.late_ns,
                by,
                loading_ns,
                peers_loading_ns,
            }
        }
        Sort::Copies => Why::Copies {
            copies_ns: delay.excess.copies_ns,
        },
        Sort::Idle => Why::Idle {
            idle_ns: delay.excess.idle_ns,
        },
    }
}

/// How long the CPU of a rank loads data in some steps.
fn loading_ns(job: &Job, rank: usize, steps: &[usize]) -> i64 {
    let of_steps = steps.iter().filter_map(|step| {
        let own = job.steps.get(*step)?.of_rank.get(rank).copied().flatten()?;
        let digest = &job.ranks.get(rank)?.digest;
        Some(digest.steps.get(own as usize)?.loading_ns)
    });
    sum(of_steps)
}

#[cfg(test)]
mod tests;

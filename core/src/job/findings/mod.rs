//! Findings about a job. Each names the rank, group or step that it is about, and quantifies its saving by the
//! [replay](super::analysis::replay), never by adding up waits.
//!
//! To add a finding, add a row to [`RULES`].

mod all_ranks;
mod combined;
mod exposed;
mod given;
mod hang;
mod hosts;
mod network;
mod ranks;
mod small_messages;
#[cfg(test)]
mod tests;
mod together;

use super::Job;
use super::analysis::Analysis;
use super::analysis::cause::{Cause, Why};
use super::analysis::late_by::LateBy;
use super::analysis::replay::Gain;
use super::analysis::unfinished::{self, Hang};
use super::analysis::what_if::WhatIf;
use super::cards::{JobCard, NO_WAITING};
use super::files::Excluded;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::sort::Arranged;
use crate::names::cpu_activity::CpuActivity;
use Find::{Each, One};
use combined::Combined;
use hosts::SlowHost;

/// A finding saves at least this share of the step, in percent.
const LEAST_PERCENT: f64 = 1.0;

/// A finding saves at least this much time.
const LEAST_NS: i64 = 100_000;

/// The key of the finding about a pipeline with few micro-batches.
pub(super) const FEW_MICRO_BATCHES: &str = "few_micro_batches";

/// The key of the finding about exposed communication.
pub(super) const EXPOSED: &str = "exposed_communication";

/// The key of findings about collectives that never end.
pub(super) const UNFINISHED: &str = "unfinished_collective";

/// What rules have access to.
pub(super) struct Context<'a> {
    pub(super) job: &'a Job,
    pub(super) analysis: &'a Analysis,
    pub(super) excluded: &'a [Excluded],
    /// Ranks that hide each other: all of them have slower kernels.
    slow_together: Option<Combined<'a>>,
    /// Ranks that hide each other: all of them launch late.
    late_together: Option<Combined<'a>>,
    /// Ranks that hide each other: all of them have more work.
    more_together: Option<Combined<'a>>,
    /// Ranks that share a sequence and have more work the later their part of it is.
    of_sequence: Vec<usize>,
    slow_hosts: Vec<SlowHost>,
    /// Collectives that never end.
    unfinished: Vec<Hang>,
}

/// One kind of finding about a job.
struct Rule {
    /// Its name in files.
    key: &'static str,
    find: Find,
}

/// What a rule finds: at most one card about the job, or one about each rank or host.
enum Find {
    One(fn(&Context) -> Option<JobCard>),
    Each(fn(&Context) -> Vec<JobCard>),
}

#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule { key: UNFINISHED, find: Each(hang::card) },
    Rule { key: "slow_rank", find: Each(ranks::slow) },
    Rule { key: "slow_rank", find: One(combined::slow_card) },
    Rule { key: "late_host", find: Each(ranks::late) },
    Rule { key: "late_host", find: One(combined::late_card) },
    Rule { key: "uneven_work", find: Each(ranks::uneven) },
    Rule { key: "uneven_work", find: One(combined::more_card) },
    Rule { key: "uneven_sequence", find: One(together::uneven_sequence) },
    Rule { key: "all_late", find: One(together::late) },
    Rule { key: "slow_steps", find: One(together::slow_steps) },
    Rule { key: "reduced_in_each_micro_batch", find: One(together::reduced_often) },
    Rule { key: "slow_copies", find: Each(ranks::copies) },
    Rule { key: "idle_rank", find: Each(ranks::idle) },
    Rule { key: "slow_host", find: Each(hosts::slow_host) },
    Rule { key: "hot_experts", find: One(all_ranks::hot_experts) },
    Rule { key: "slow_link", find: One(network::slow_link) },
    Rule { key: "slow_period", find: One(network::slow_period) },
    Rule { key: "slow_kernels_without_effect", find: Each(ranks::without_effect) },
    Rule { key: "uneven_stages", find: One(all_ranks::uneven_stages) },
    Rule { key: "pipeline_bubble", find: One(all_ranks::pipeline_bubble) },
    Rule { key: FEW_MICRO_BATCHES, find: One(all_ranks::few_micro_batches) },
    Rule { key: EXPOSED, find: One(exposed::communication) },
    Rule { key: "small_messages", find: One(small_messages::card) },
    Rule { key: "link_bandwidth", find: One(network::link_bandwidth) },
    Rule { key: "other_jobs", find: One(given::other_jobs) },
    Rule { key: "missing_ranks", find: One(given::missing) },
    Rule { key: "clocks_apart", find: One(all_ranks::clocks_apart) },
    Rule { key: NO_WAITING, find: One(all_ranks::no_waiting) },
];

/// All findings, largest saving first, after those that stop the job; those without a known saving follow in the order
/// of the rules. The bound of the job comes last.
pub(super) fn find(job: &Job, analysis: &Analysis, excluded: &[Excluded]) -> Vec<JobCard> {
    let mut context = Context {
        job,
        analysis,
        excluded,
        slow_together: None,
        late_together: None,
        more_together: None,
        of_sequence: together::of_sequence(job, analysis),
        slow_hosts: Vec::new(),
        unfinished: unfinished::find(job),
    };
    context.slow_together = combined::slow(&context);
    context.late_together = combined::late(&context);
    context.more_together = combined::more(&context);
    context.slow_hosts = hosts::find(&context);
    let found = RULES.iter().enumerate().flat_map(|(at, rule)| {
        let cards = match rule.find {
            One(find) => Vec::from_iter(find(&context)),
            Each(find) => find(&context),
        };
        cards.into_iter().map(move |card| {
            let key = rule.key.to_owned();
            (at, JobCard { key, ..card })
        })
    });
    let found = found.arranged_by_cached_key(|(at, card)| {
        (
            card.is_bound(),
            card.key != UNFINISHED,
            std::cmp::Reverse(card.saving_ns),
            *at,
            card.ranks.clone(),
        )
    });
    found.into_iter().map(|(_, card)| card).collect()
}

impl Context<'_> {
    /// The display name of a rank: "rank 5 on node1".
    fn rank(&self, at: usize) -> String {
        let Some(rank) = self.job.ranks.get(at) else {
            return String::new();
        };
        match self
            .job
            .hosts
            .get(rank.host)
            .filter(|_| self.job.hosts.len() > 1)
        {
            Some(host) => format!("rank {} on {host}", rank.number),
            None => format!("rank {}", rank.number),
        }
    }

    /// Whether a card about several ranks, or about their host, covers a cause.
    fn has_joint_card(&self, cause: &Cause) -> bool {
        if self.is_of_sequence(cause) || self.is_of_checkpoint(cause) {
            return true;
        }
        let together = [
            &self.slow_together,
            &self.late_together,
            &self.more_together,
        ];
        together
            .iter()
            .any(|of| of.as_ref().is_some_and(|of| of.has(cause)))
    }

    /// Whether a rank has more work because of its part of a sequence.
    fn is_of_sequence(&self, cause: &Cause) -> bool {
        matches!(cause.why, Why::MoreWork { .. }) && self.of_sequence.contains(&cause.rank)
    }

    /// Whether a rank copies tensors for a checkpoint that it writes, which has a card of its own.
    fn is_of_checkpoint(&self, cause: &Cause) -> bool {
        let mut causes = self.analysis.causes.iter();
        causes.any(|late| self.copies_of_checkpoint(late) == Some(cause))
    }

    /// The copies of a rank that is late because it writes a checkpoint: it copies what it writes.
    fn copies_of_checkpoint(&self, late: &Cause) -> Option<&Cause> {
        let Why::HostLate { by, .. } = &late.why else {
            return None;
        };
        let (by, _) = by.first()?;
        let mut causes = self.analysis.causes.iter();
        let copies = causes.find(|cause| {
            cause.rank == late.rank
                && matches!(cause.why, Why::Copies { .. })
                && cause.steps.iter().all(|step| late.steps.contains(step))
        });
        copies.filter(|_| *by == LateBy::Activity(CpuActivity::Checkpointing))
    }

    /// What fixing a cause saves, with the copies of a checkpoint.
    fn saving_ns(&self, cause: &Cause) -> Option<i64> {
        let Some(copies) = self.copies_of_checkpoint(cause) else {
            return cause.saving_ns;
        };
        let changes = [cause.change()?, copies.change()?];
        let gain = self.analysis.gain_of_all(self.job, &changes)?;
        Some(self.gains(&gain).0)
    }

    fn number(&self, at: usize) -> u32 {
        self.job.number(at).unwrap_or(0)
    }

    /// The display name of several ranks ("rank 2", "ranks 2 and 5", "12 ranks"), and their numbers.
    fn ranks(&self, of: &[usize]) -> (String, Vec<u32>) {
        let mut numbers: Vec<u32> = of.iter().map(|at| self.number(*at)).collect();
        numbers.sort_unstable();
        let names: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let named = match names.len() {
            1 => format!("rank {}", format::listed(&names)),
            0..=6 => format!("ranks {}", format::listed(&names)),
            n => format!("{n} ranks"),
        };
        (named, numbers)
    }

    /// The display name of steps: "step 6", "steps 6 and 7", "all steps".
    fn steps(&self, of: &[usize]) -> String {
        if of.len() == self.job.steps.len() && of.len() > 1 {
            return "all steps".to_owned();
        }
        if self.job.has_no_marked_steps() {
            return "the recording".to_owned();
        }
        let numbers = of.iter().filter_map(|at| self.job.steps.get(*at));
        let numbers: Vec<String> = numbers.map(|step| step.number.to_string()).collect();
        let noun = if numbers.len() == 1 { "step" } else { "steps" };
        match numbers.len() {
            0 => String::new(),
            1..=6 => format!("{noun} {}", format::listed(&numbers)),
            n => format!("{n} of {} steps", self.job.steps.len()),
        }
    }

    /// Total duration of some steps; `None` where unknown.
    fn length_ns(&self, of: &[usize]) -> Option<i64> {
        let replay = self.analysis.replay.as_ref()?;
        let steps = replay.steps.iter().filter(|step| of.contains(&step.step));
        let lengths = steps.map(|step| step.span.length());
        Some(crate::base::interval::sum(lengths)).filter(|ns| *ns > 0)
    }

    fn all_steps(&self) -> Vec<usize> {
        (0..self.job.steps.len()).collect()
    }

    /// Converts a time over some steps to the time per step and a percentage; `None` below the gate.
    fn large(&self, ns: i64, steps: &[usize]) -> Option<(i64, f64)> {
        let n_steps = i64::try_from(steps.len()).ok().filter(|n| *n > 0)?;
        let percent = percent_of(ns, self.length_ns(steps)?)?;
        let of_a_step_ns = ns / n_steps;
        (of_a_step_ns >= LEAST_NS && percent >= LEAST_PERCENT).then_some((of_a_step_ns, percent))
    }

    /// Adds the saving over some steps to a card; `None` below the gate.
    fn with_saving(&self, card: JobCard, ns: Option<i64>, steps: &[usize]) -> Option<JobCard> {
        let ns = ns?;
        let (of_a_step_ns, percent) = self.large(ns, steps)?;
        let time = format::time_ns(of_a_step_ns);
        let share = format::percent(percent);
        let savings = match steps {
            [one] => format!("{time} of {} ({share})", self.steps(&[*one])),
            several => format!("{time} a step in {} ({share})", self.steps(several)),
        };
        Some(JobCard {
            savings,
            saving_ns: Some(ns),
            step: card.step.or(steps.first().copied()),
            ..card
        })
    }

    /// Whether any rank recorded more than communication.
    fn has_computation(&self) -> bool {
        let mut gpus = self.job.ranks.iter().filter_map(|rank| rank.digest.gpu);
        gpus.any(|gpu| gpu.computation_ns > 0)
    }

    /// The steps in which a change saves a relevant amount, and the total saving there.
    fn gains(&self, gain: &Gain) -> (i64, Vec<usize>) {
        let Some(replay) = &self.analysis.replay else {
            return (0, Vec::new());
        };
        let steps = replay.steps.iter().zip(&gain.of_steps);
        let gaining = steps.filter(|(step, ns)| {
            **ns >= LEAST_NS
                && percent_of(**ns, step.span.length()).is_some_and(|of| of >= LEAST_PERCENT)
        });
        let gaining: Vec<(usize, i64)> = gaining.map(|(step, ns)| (step.step, *ns)).collect();
        let ns = gaining.iter().map(|(_, ns)| *ns).sum();
        (ns, gaining.into_iter().map(|(step, _)| step).collect())
    }

    /// What a change saves, if the amount is relevant.
    fn gain(&self, of: WhatIf) -> (Option<i64>, Vec<usize>) {
        self.relevant(self.analysis.gain(self.job, of))
    }

    /// A gain, if the amount is relevant.
    fn relevant(&self, gain: Option<Gain>) -> (Option<i64>, Vec<usize>) {
        let Some(gain) = gain else {
            return (None, Vec::new());
        };
        let (ns, steps) = self.gains(&gain);
        ((!steps.is_empty()).then_some(ns), steps)
    }
}

//! Ranks that delay the others, and why.

use std::cmp::Reverse;

use super::Context;
use crate::base::format;
use crate::base::group::summed;
use crate::base::interval::sum;
use crate::base::value::{Table, Value, cell_columns};
use crate::job::analysis::cause::{Cause, Slower, Why};
use crate::job::analysis::cpu_speed::slower_cpu;
use crate::job::analysis::late_by::LateBy;
use crate::job::cards::{JobCard, ShownTable};
use crate::names::cpu_activity::CpuActivity;

/// Maximum number of rows of evidence.
const MOST_ROWS: usize = 10;

/// What the CPU of a rank does that waits for data.
pub(super) const LOADING: LateBy = LateBy::Activity(CpuActivity::DataLoading);

/// Where steps of a job begin.
pub(super) const AFTER_LAST: &str = "Steps of a job end with their last collective: what the CPU does after that at the end of a step, such as writing a checkpoint, counts in the next one.";

/// What to do about a rank whose CPU is slower than those of others.
const SLOW_CPU: &str = "Find what slows the CPU of this rank down: other processes on its cores, cores that a container limits, memory of another socket (NUMA node, `numactl`), power saving, a profiler that records more. Then let it launch less: `torch.compile`, GPU graphs, larger batches.";

/// What to do about ranks with more work than others.
pub(super) const MORE_WORK: &str = "Give all ranks the same work: batches of one size, sequences packed or sorted by length, no extra calls on one rank.";

/// A card for each cause of one kind with a saving above the gate, unless one card is about several ranks with it.
fn of_causes(
    context: &Context,
    card: impl Fn(&Context, &Cause) -> Option<JobCard>,
) -> Vec<JobCard> {
    let causes = context.analysis.causes.iter();
    let causes = causes.filter(|cause| !context.has_joint_card(cause));
    let cards = causes.filter_map(|cause| {
        let mut card = card(context, cause)?;
        card.ranks = vec![context.number(cause.rank)];
        card.reasoning.extend(victims(context, cause));
        context.with_saving(card, context.saving_ns(cause), &cause.steps)
    });
    cards.collect()
}

/// A sentence about ranks that others wait for only because these waited for this one.
fn victims(context: &Context, cause: &Cause) -> Option<String> {
    let waiting = context.analysis.causes.iter().filter(|of| {
        let culprit = match of.why {
            Why::WaitsElsewhere { culprit, .. } => Some(culprit),
            _ => None,
        };
        culprit == Some(cause.rank) && of.steps.iter().any(|step| cause.steps.contains(step))
    });
    let mut ranks: Vec<u32> = waiting.map(|of| context.number(of.rank)).collect();
    ranks.sort_unstable();
    let names: Vec<String> = ranks.iter().map(u32::to_string).collect();
    let (named, verb) = match names.len() {
        0 => return None,
        1 => (format!("Rank {}", names.concat()), "is"),
        2..=6 => (format!("Ranks {}", format::listed(&names)), "are"),
        n => (format!("{n} ranks"), "are"),
    };
    Some(format!(
        "{named} {verb} late in other groups because of the wait for this one."
    ))
}

pub(super) fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

pub(super) fn slow(context: &Context) -> Vec<JobCard> {
    of_causes(context, |context, cause| {
        let Why::SlowerKernels {
            ratio,
            n_kernels,
            which,
            categories,
            ..
        } = &cause.why
        else {
            return None;
        };
        let rank = format::capitalized(&context.rank(cause.rank));
        let steps = context.steps(&cause.steps);
        let most = categories.first().map_or("", |of| of.category.as_str());
        let other = other_gpu(context, cause.rank);
        let (action, reasoning) = match &other {
            Some((_, others)) => (
                format!(
                    "Replace the GPU, give this rank as much less work as it is slower, or leave it out: the others have {others}."
                ),
                "A rank with another GPU sets the pace of all ranks, as each collective waits for it.",
            ),
            None if !has_shapes(context, cause.rank) => (
                "Record shapes (`record_shapes=True`) to tell a slow GPU from a larger batch or longer sequences on this rank; then check clock rate, temperature and power limit.".to_owned(),
                "No shapes were recorded, so kernels of one name and operator count as the same work.",
            ),
            None => of_slower(which, most),
        };
        let on = other.map_or_else(String::new, |(own, _)| format!(" on another GPU, {own}"));
        Some(JobCard {
            title: format!(
                "Rank {}: {} {}{on}",
                context.number(cause.rank),
                which.what(),
                times(*ratio)
            ),
            issue: format!(
                "{rank} takes {} as long as other ranks for the same {} in {steps}, and the others wait for it.",
                times(*ratio),
                format::counted(
                    *n_kernels as u64,
                    if which.is_of_copies() {
                        "copy"
                    } else {
                        "kernel"
                    }
                ),
            ),
            action,
            reasoning: vec![reasoning.to_owned()],
            tables: vec![slow_work(context, cause.rank)],
            ..JobCard::default()
        })
    })
}

/// What to do about kernels that are slower on the same GPU for the same work, and why; `most` is the category that
/// loses most.
fn of_slower(which: &Slower, most: &str) -> (String, &'static str) {
    match which {
        Slower::All => (
            "Check clock rate, temperature, power limit and memory errors of this GPU; take the node out of service if they stay.".to_owned(),
            "All categories of kernels are slower by about the same factor, so the cause is the GPU (clock throttling, or another process on it), not one kernel; a trace cannot tell which.",
        ),
        of_copies if of_copies.is_of_copies() => (
            "See how this rank reaches its GPU: the CPU cores and memory that its process uses (NUMA node, `numactl`), the PCIe link of the GPU, whether memory is pinned, and what else copies at that time.".to_owned(),
            "These copies account for 80 % or more of the rank's extra time, and its kernels are about as fast as on other ranks.",
        ),
        Slower::One(kernel) => (
            format!("Look at `{}` on this rank: another library version, another choice of autotuning, the alignment of its arguments.", format::middle_ellipsis(kernel, 60)),
            "This kernel accounts for 80 % or more of the rank's extra time, and the other kernels are about as fast as on other ranks, so the GPU's clock is not the cause.",
        ),
        Slower::OfMemory => (
            "Check the memory of this GPU: corrected errors, its clock rate, what else uses its bandwidth.".to_owned(),
            "Only memory-bound categories are slower, and compute-bound ones are not, so the likely cause is the GPU's memory, not its clock.",
        ),
        Slower::Mixed => (
            format!("Look at what {most} does on this rank that it does not on others: memory, alignment, another kernel or library version."),
            "Categories of kernels are slower by different factors, so the clock of the GPU is not the only cause.",
        ),
    }
}

/// Whether shapes are known of any of the kernels that are slower on a rank.
fn has_shapes(context: &Context, rank: usize) -> bool {
    let slow = context.analysis.same_work.slow.iter();
    let mut own = slow.filter(|of| of.rank == rank).peekable();
    own.peek().is_none() || own.any(|of| !of.shapes.is_empty())
}

/// The GPU of a rank and that of all others, if these have one that differs from its own.
fn other_gpu(context: &Context, rank: usize) -> Option<(String, String)> {
    let gpu = |at: usize| {
        let rank = context.job.ranks.get(at)?;
        let device = &rank.digest.identity.device;
        (!device.is_empty()).then(|| device.clone())
    };
    let own = gpu(rank)?;
    let mut others = (0..context.job.ranks.len())
        .filter(|at| *at != rank)
        .map(gpu);
    let first = others.next()??;
    let is_one = others.all(|other| other.as_ref() == Some(&first));
    (is_one && first != own).then_some((own, first))
}

/// The largest ratio of some ranks: how many times as long as others the slowest takes for the same kernels.
pub(super) fn most_times(causes: &[&Cause]) -> f64 {
    let ratios = causes.iter().filter_map(|cause| match cause.why {
        Why::SlowerKernels { ratio, .. } => Some(ratio),
        _ => None,
    });
    ratios.fold(1.0, f64::max)
}

/// The kernels of a rank with the largest excess over those of other ranks.
pub(super) fn slow_work(context: &Context, rank: usize) -> ShownTable {
    let slow = context.analysis.same_work.slow.iter();
    let rows = slow.filter(|of| of.rank == rank).take(MOST_ROWS);
    let table = Table::of(
        "slow_work",
        format!(
            "Kernels that take longer on rank {} than on other ranks",
            context.number(rank)
        ),
        rows,
        cell_columns![
            "kernel", "Kernel", |of| Value::Quoted(format::middle_ellipsis(&format::kernel_name(&of.kernel), 60));
            "op", "Operator", |of| Value::Quoted(of.op.clone());
            "shapes", "Shapes", |of| Value::Text(of.shapes.clone());
            "calls", "Calls", |of| Value::Count(of.calls);
            "mean", "Mean", |of| Value::Ns(of.mean_ns() as i64);
            "others", "Median of ranks", |of| Value::Ns(of.peers_ns() as i64);
            "excess", "Excess, all steps", |of| Value::Ns(of.excess_ns());
        ],
    );
    ShownTable::from(&table)
}

pub(super) fn late(context: &Context) -> Vec<JobCard> {
    of_causes(context, |context, cause| {
        let Why::HostLate {
            late_ns,
            by,
            loading_ns,
            peers_loading_ns,
        } = &cause.why
        else {
            return None;
        };
        let rank = format::capitalized(&context.rank(cause.rank));
        let by = by.first();
        let dominant = by.filter(|(_, ns)| *ns * 2 >= *late_ns).map(|(by, _)| by);
        let is_loading = by.is_some_and(|(by, _)| *by == LOADING);
        let meanwhile = match (dominant, is_loading) {
            (_, true) => format!(
                "; data loading takes {}, {} on other ranks",
                format::time_ns(*loading_ns),
                format::time_ns(*peers_loading_ns)
            ),
            (Some(by), _) => {
                format!("; for most of that time its CPU is in {}", by.in_sentence())
            }
            (None, _) => String::new(),
        };
        let copies = match context
            .copies_of_checkpoint(cause)
            .map(|copies| &copies.why)
        {
            Some(Why::Copies { copies_ns }) => {
                let time = format::time_ns(*copies_ns);
                format!(", and copies what it writes for {time}")
            }
            _ => String::new(),
        };
        let number = context.number(cause.rank);
        let is_activity = dominant.is_some_and(|by| matches!(by, LateBy::Activity(_)));
        let slower = slower_cpu(context.job, cause.rank).filter(|_| !is_activity);
        let cpu = slower.map(|ratio| {
            format!(
                ": its CPU takes {} as long as those of other ranks for the same operators",
                times(ratio)
            )
        });
        let title = match (dominant, is_loading) {
            _ if slower.is_some() => format!(
                "Rank {number} launches kernels late: its CPU takes {} the time",
                times(slower.unwrap_or(1.0))
            ),
            (_, true) => format!("Rank {number} waits for data"),
            (Some(by), _) => {
                let by = by.in_sentence().replace('`', "");
                format!("Rank {number} launches kernels late: {by}")
            }
            (None, _) => format!("Rank {number} launches kernels late"),
        };
        Some(JobCard {
            title,
            issue: format!(
                "{rank} launches its kernels {} later than other ranks in {}{}{copies}.",
                format::time_ns(*late_ns),
                context.steps(&cause.steps),
                cpu.unwrap_or(meanwhile),
            ),
            action: match slower {
                Some(_) => SLOW_CPU.to_owned(),
                None => late_action(dominant, "this rank"),
            },
            reasoning: match cause.steps.contains(&0) {
                true => Vec::new(),
                false => vec![AFTER_LAST.to_owned()],
            },
            ..JobCard::default()
        })
    })
}

/// What the CPUs of ranks that launch late mostly do meanwhile, if it is one thing.
pub(super) fn late_by(causes: &[&Cause]) -> Option<LateBy> {
    let by = causes.iter().filter_map(|cause| match &cause.why {
        Why::HostLate { by, .. } => by.first(),
        _ => None,
    });
    let by = summed(by.map(|(by, ns)| (by, *ns)));
    let all_ns = sum(by.iter().map(|(_, ns)| *ns));
    let most = by.into_iter();
    let (by, ns) = most.max_by_key(|(by, ns)| (*ns, Reverse(by.label())))?;
    (ns * 2 >= all_ns).then(|| by.clone())
}

/// What to do about late launches, by what the CPU does meanwhile.
pub(super) fn late_action(by: Option<&LateBy>, whose: &str) -> String {
    use CpuActivity::{Checkpointing, Compilation, DataLoading, GarbageCollection, Tuning};
    let causes = match by {
        Some(LateBy::Activity(DataLoading)) => {
            return format!(
                "Load data ahead on {whose}: more workers, `prefetch_factor`, pinned memory; look at the storage and the batch that is read."
            );
        }
        Some(LateBy::Activity(GarbageCollection)) => {
            return "Collect garbage on all ranks in the same step, at chosen times: `gc.freeze()` after warm-up, `gc.disable()` in the loop, `gc.collect()` every N steps.".to_owned();
        }
        Some(LateBy::Activity(Checkpointing)) => {
            return "Write checkpoints while training goes on (`torch.distributed.checkpoint.async_save`), or on all ranks in parallel, and less often.".to_owned();
        }
        Some(LateBy::Activity(Compilation | Tuning)) => {
            return "Warm up all ranks with the same shapes before the run, and share the cache of compiled kernels; dynamic shapes that differ by rank compile again.".to_owned();
        }
        Some(by) => by.in_sentence(),
        None => "synchronization, garbage collection, logging, checkpoints, compilation, other processes on its cores".to_owned(),
    };
    format!("Look at what the CPU of {whose} does in that time: {causes}.")
}

pub(super) fn uneven(context: &Context) -> Vec<JobCard> {
    of_causes(context, |context, cause| {
        let Why::MoreWork { more_ns, work } = &cause.why else {
            return None;
        };
        let most = work.first().map(|of| {
            let name = if of.op.is_empty() { &of.kernel } else { &of.op };
            format!(
                ", most of it `{}`: {}, {} on other ranks",
                format::middle_ellipsis(name, 60),
                format::counted(of.calls, "call"),
                format::count(of.peers_calls)
            )
        });
        let table = Table::of(
            "more_work",
            "Work that other ranks have less of",
            work.iter().take(MOST_ROWS),
            cell_columns![
                "op", "Operator", |of| Value::Quoted(of.op.clone());
                "kernel", "Kernel", |of| Value::Quoted(format::middle_ellipsis(&format::kernel_name(&of.kernel), 60));
                "shapes", "Shapes", |of| Value::Text(of.shapes.clone());
                "calls", "Calls", |of| Value::Count(of.calls);
                "others", "Calls on others", |of| Value::Count(of.peers_calls);
                "excess", "Excess", |of| Value::Ns(of.excess_ns);
            ],
        );
        Some(JobCard {
            title: format!(
                "Rank {} has more work than others",
                context.number(cause.rank)
            ),
            issue: format!(
                "{} computes {} more than other ranks in {}{}.",
                format::capitalized(&context.rank(cause.rank)),
                format::time_ns(*more_ns),
                context.steps(&cause.steps),
                most.unwrap_or_default()
            ),
            action: MORE_WORK.to_owned(),
            tables: vec![ShownTable::from(&table)],
            ..JobCard::default()
        })
    })
}

pub(super) fn copies(context: &Context) -> Vec<JobCard> {
    of_causes(context, |context, cause| {
        let Why::Copies { copies_ns } = &cause.why else {
            return None;
        };
        Some(JobCard {
            title: format!("Rank {} waits for copies", context.number(cause.rank)),
            issue: format!(
                "{} spends {} more on exposed memory copies than other ranks in {}.",
                format::capitalized(&context.rank(cause.rank)),
                format::time_ns(*copies_ns),
                context.steps(&cause.steps)
            ),
            action: "Copy from pinned memory with `non_blocking=True`, ahead of its use; check the PCIe link of this GPU.".to_owned(),
            ..JobCard::default()
        })
    })
}

pub(super) fn idle(context: &Context) -> Vec<JobCard> {
    let mut cards = idle_cards(context);
    if !context.has_computation() {
        for card in &mut cards {
            card.savings = format!("up to {}", card.savings);
        }
    }
    cards
}

fn idle_cards(context: &Context) -> Vec<JobCard> {
    of_causes(context, |context, cause| {
        let Why::Idle { idle_ns } = &cause.why else {
            return None;
        };
        // Without a GPU it is unknown whether anything was launched.
        context.job.ranks.get(cause.rank)?.digest.gpu?;
        if !context.has_computation() {
            return Some(JobCard {
                title: format!("Rank {} starts collectives late", context.number(cause.rank)),
                issue: format!(
                    "Between collectives {} takes {} more than other ranks in {}; what runs there was not recorded.",
                    context.rank(cause.rank),
                    format::time_ns(*idle_ns),
                    context.steps(&cause.steps)
                ),
                action: "Record the CPU and all GPU activity of this rank to see whether its kernels, its CPU or its data are late.".to_owned(),
                reasoning: vec!["The saving is an upper bound: what other ranks compute while they wait is not recorded either.".to_owned()],
                ..JobCard::default()
            });
        }
        Some(JobCard {
            title: format!("Rank {} is idle before collectives", context.number(cause.rank)),
            issue: format!(
                "{} is idle for {} more than other ranks in {}, although what runs next was launched.",
                format::capitalized(&context.rank(cause.rank)),
                format::time_ns(*idle_ns),
                context.steps(&cause.steps)
            ),
            action: "Open this rank at that step and look at what the streams wait for: events, other collectives, a loaded GPU.".to_owned(),
            ..JobCard::default()
        })
    })
}

/// Slow ranks whose fix saves nothing until something else is fixed.
pub(super) fn without_effect(context: &Context) -> Vec<JobCard> {
    let gain = |cause: &Cause| {
        let n_steps = cause.steps.len().max(1) as i64;
        match cause.saving_ns.unwrap_or_default() / n_steps {
            ..=0 => "fixing that alone would shorten no step".to_owned(),
            ns => format!(
                "fixing that alone would shorten a step by only {}",
                format::time_ns(ns)
            ),
        }
    };
    let cards = without_saving(context).into_iter().map(|(cause, ratio)| JobCard {
        title: format!("Rank {} is slow, but not the bottleneck", context.number(cause.rank)),
        issue: format!(
            "{} takes {} as long as other ranks for the same kernels in {}, and {}: another bottleneck hides it.",
            format::capitalized(&context.rank(cause.rank)),
            times(ratio),
            context.steps(&cause.steps),
            gain(cause)
        ),
        action: "Fix what is listed above first; then check this GPU.".to_owned(),
        ranks: vec![context.number(cause.rank)],
        step: cause.steps.first().copied(),
        ..JobCard::default()
    });
    cards.collect()
}

/// Ranks with slower kernels whose fix saves too little, alone and together, and how many times as long these take.
fn without_saving<'a>(context: &Context<'a>) -> Vec<(&'a Cause, f64)> {
    let causes = context
        .analysis
        .causes
        .iter()
        .filter(|_| context.job.has_gpu());
    let slow = causes.filter_map(|cause| {
        let Why::SlowerKernels {
            ratio, slower_ns, ..
        } = &cause.why
        else {
            return None;
        };
        let is_large = |ns: i64| context.large(ns, &cause.steps).is_some();
        let is_worth_it = cause.saving_ns.is_some_and(is_large);
        let together = context.slow_together.as_ref();
        let is_reported = is_worth_it || together.is_some_and(|of| of.has(cause));
        (!is_reported && is_large(*slower_ns)).then_some((cause, *ratio))
    });
    slow.collect()
}

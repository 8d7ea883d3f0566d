//! What all ranks do at the same time: no rank delays another, and yet the step is longer than necessary.

use std::cmp::Reverse;

use super::Context;
use super::ranks::{AFTER_LAST, late_action, times};
use crate::base::format;
use crate::base::group::summed;
use crate::base::interval::sum;
use crate::job::analysis::flow::Node;
use crate::job::analysis::late_by::LateBy;
use crate::job::analysis::sequence;
use crate::job::analysis::what_if::WhatIf;
use crate::job::cards::JobCard;
use crate::job::{Analysis, Job};
use crate::names::cpu_activity::CpuActivity;

/// CPUs that launch late together are worth a finding from this share of the steps on: a short time at the start of each
/// step is usual.
const LEAST_LATE_PERCENT: f64 = 5.0;

/// The ranks that share a sequence in groups in which attention grows with the position of the rank.
pub(super) fn of_sequence(job: &Job, analysis: &Analysis) -> Vec<usize> {
    let steps = 0..job.steps.len();
    let loads = steps.flat_map(|step| {
        sequence::loads(job, &analysis.layout, &analysis.same_work, step).concat()
    });
    let mut ranks: Vec<usize> = loads.map(|load| load.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// Ranks with later parts of a sequence have more attention to compute.
pub(super) fn uneven_sequence(context: &Context) -> Option<JobCard> {
    let (saving_ns, steps) = context.gain(WhatIf::EvenSequence);
    let analysis = context.analysis;
    let loads = |step: &usize| {
        sequence::loads(context.job, &analysis.layout, &analysis.same_work, *step).into_iter()
    };
    let loads = steps.iter().flat_map(loads).next()?;
    let (first, last) = (loads.first()?, loads.last()?);
    let [first_rank, last_rank] = [first, last].map(|load| context.number(load.rank));
    let (_, ranks) = context.ranks(&context.of_sequence);
    let card = JobCard {
        title: "Causal attention is split unevenly over ranks".to_owned(),
        issue: format!(
            "Of the ranks that share a sequence, each computes more attention than the one before it: rank {first_rank} computes {} in a step, rank {last_rank} {}, and the others wait for that.",
            format::time_ns(first.ns),
            format::time_ns(last.ns)
        ),
        action: "Give each rank an early and a late part of the sequence (zigzag or striped order; load balancing in the options of context parallelism), so that the causal mask leaves all of them the same work.".to_owned(),
        ranks,
        reasoning: vec!["The saving is that of ranks with the same work.".to_owned()],
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

/// The GPUs of all ranks have nothing to run, because all CPUs launch late.
pub(super) fn late(context: &Context) -> Option<JobCard> {
    let (saving_ns, steps) = context.gain(WhatIf::AllInTime);
    let share = saving_ns.and_then(|ns| context.large(ns, &steps));
    if share.is_none_or(|(_, percent)| percent < LEAST_LATE_PERCENT) {
        return None;
    }
    let flow = &context.analysis.flow;
    let in_steps = |node: &&Node| node.step.is_some_and(|step| steps.contains(&step));
    let late = flow.nodes.iter().filter(in_steps).filter_map(|node| {
        let part = flow.parts_of(node).first()?;
        let (digest, of) = part.recorded(context.job)?;
        Some((digest.text(of.late_by), flow.late_together_ns(node)?))
    });
    let late: Vec<(&str, i64)> = late.filter(|(_, ns)| *ns > 0).collect();
    let all_ns = sum(late.iter().map(|(_, ns)| *ns));
    let by = summed(late).into_iter();
    let most = by.max_by_key(|(by, ns)| (*ns, Reverse(*by)));
    let most = most.filter(|(_, ns)| *ns * 2 >= all_ns);
    let by = most.and_then(|(by, _)| LateBy::of(by));
    let (title, meanwhile) = match &by {
        None => ("All ranks launch kernels late".to_owned(), String::new()),
        Some(by) => (
            format!(
                "All ranks launch kernels late: {}",
                by.in_sentence().replace('`', "")
            ),
            format!("; for most of that time they are in {}", by.in_sentence()),
        ),
    };
    let card = JobCard {
        title,
        issue: format!(
            "The GPUs of all ranks are idle at the same time in {}, because their CPUs launch late{meanwhile}.",
            context.steps(&steps)
        ),
        action: action(by.as_ref()),
        reasoning: vec![AFTER_LAST.to_owned(), "Only the time that all ranks of a collective launch late before it is counted; what one of them needs beyond that has a finding of its own. The report on the trace of one rank shows the code.".to_owned()],
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

/// What to do about it, by what the CPUs do meanwhile.
fn action(by: Option<&LateBy>) -> String {
    match by {
        Some(LateBy::Activity(CpuActivity::GarbageCollection)) => "Keep garbage collection out of steps: `gc.freeze()` after warm-up, `gc.disable()` in the loop, `gc.collect()` every N steps.".to_owned(),
        None => "Give each launch more work (larger batches, fused or compiled operations, GPU graphs), and remove waits for the GPU (`.item()`) that keep CPUs from running ahead.".to_owned(),
        Some(_) => late_action(by, "each rank"),
    }
}

/// Steps in which all ranks take longer for the same kernels than in others.
pub(super) fn slow_steps(context: &Context) -> Option<JobCard> {
    let (saving_ns, steps) = context.gain(WhatIf::EvenSpeed);
    let slow = &context.analysis.same_work.slow_steps;
    let most = times(slow.iter().map(|slow| slow.factor()).fold(1.0, f64::max));
    let card = JobCard {
        title: format!("All ranks are slower in {}", context.steps(&steps)),
        issue: format!(
            "In {}, all ranks take up to {most} as long for the same kernels as in their faster steps.",
            context.steps(&steps)
        ),
        action: "Check clock rates, temperature and power limits of all GPUs at that time, and what else runs on the hosts: a limit for a rack or a host slows all of its GPUs.".to_owned(),
        reasoning: vec!["A trace does not record clock rates. Slow steps at the start are left out: these are a warm-up.".to_owned()],
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

/// Gradients are reduced after each micro-batch, although the optimizer needs only their sum.
pub(super) fn reduced_often(context: &Context) -> Option<JobCard> {
    let (saving_ns, steps) = context.gain(WhatIf::ReducedOnce);
    let repeated = context.analysis.flow.nodes.iter().filter(|node| {
        let mut parts = context.analysis.flow.parts_of(node).iter();
        parts.all(|part| part.is_repeated(context.job))
    });
    let repeated: Vec<&Node> = repeated.collect();
    let n = format::counted(repeated.len() as u64, "collective");
    // What is hidden beside computation is not saved.
    let parts = repeated
        .iter()
        .flat_map(|node| context.analysis.flow.parts_of(node));
    let exposed = summed(parts.map(|part| (part.rank, part.exposed_ns(context.job))));
    let most_ns = exposed.into_iter().map(|(_, ns)| ns).max();
    let saving_ns = saving_ns.zip(most_ns).map(|(ns, most)| ns.min(most));
    let card = JobCard {
        title: "Gradients are reduced in each micro-batch".to_owned(),
        issue: format!(
            "Gradients are reduced after each micro-batch in {}, although the optimizer needs only their sum: {n} are not needed.",
            context.steps(&steps)
        ),
        action: "Accumulate gradients on each rank, and reduce them after the last micro-batch of a step: run the others in `no_sync()`, with `fully_shard` after `set_requires_gradient_sync(False)` where memory suffices.".to_owned(),
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

//! Findings about all ranks: experts, pipelines, clocks, the bound.

use std::collections::BTreeMap;

use super::{Context, LEAST_NS};
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::mean_of_middle_ns;
use crate::base::value::{Table, Value, cell_columns};
use crate::job::analysis::experts::{Exchange, Load, by_rank};
use crate::job::analysis::pipeline::{Bubble, bubbles, loads};
use crate::job::analysis::what_if::WhatIf;
use crate::job::cards::{JobCard, ShownTable};

/// Stages of a pipeline count as uneven from this multiple of the mean on.
const UNEVEN_STAGES: f64 = 1.1;

/// A pipeline waits longer than necessary if it exceeds the inevitable bubble by this many percentage points of the
/// step.
const BUBBLE_POINTS: f64 = 5.0;

/// A pipeline has few micro-batches if it has fewer than this for each stage.
const FEW_TIMES: usize = 2;

/// Clocks that are further apart than this are not synchronized.
const APART_NS: f64 = 1e6;

pub(super) fn hot_experts(context: &Context) -> Option<JobCard> {
    let loads = by_rank(&context.analysis.exchanges);
    let hot: Vec<&Load> = loads.iter().filter(|load| load.is_hot()).collect();
    if hot.is_empty() {
        return hot_in_turns(context);
    }
    let most = hot.iter().map(|load| load.share()).reduce(f64::max)?;
    let ranks: Vec<usize> = hot.iter().map(|load| load.rank).collect();
    let (named, ranks) = context.ranks(&ranks);
    let table = Table::of(
        "experts",
        "Tokens for experts",
        &loads,
        cell_columns![
            "rank", "Rank", |load| Value::Count(u64::from(context.number(load.rank)));
            "share", "Times the mean", |load| Value::Number(load.share());
            "most", "Gets most", |load| Value::percent(percent_of(load.n_most as i64, load.exchanges as i64));
        ],
    );
    let (saving_ns, steps) = context.gain(WhatIf::BalancedExperts);
    let card = JobCard {
        title: format!("Hot experts on {named}"),
        issue: format!(
            "The experts on {named} get up to {most:.2} times as many tokens as the mean of their groups, again and again; the other ranks wait for them."
        ),
        action: "Balance the experts: a load-balancing loss or bias, a capacity factor, or experts placed so that busy ones are on different ranks.".to_owned(),
        ranks,
        tables: vec![ShownTable::from(&table)],
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

/// Ranks whose experts get more tokens than the mean again and again, but only within a step: in the next one they are
/// others.
fn hot_in_turns(context: &Context) -> Option<JobCard> {
    let (saving_ns, steps) = context.gain(WhatIf::BalancedExperts);
    let step_of = |of: &Exchange| context.job.collectives.get(of.dispatch)?.step;
    let exchanges = &context.analysis.exchanges;
    let hot_in = |step: &usize| -> Vec<Load> {
        let of_step = exchanges.iter().filter(|of| step_of(of) == Some(*step));
        by_rank(of_step).into_iter().filter(Load::is_hot).collect()
    };
    let hot: Vec<Vec<Load>> = steps.iter().map(hot_in).collect();
    if hot.iter().any(Vec::is_empty) {
        return None;
    }
    let most = hot.iter().flatten().map(Load::share).reduce(f64::max)?;
    let mut ranks: Vec<usize> = hot.iter().flatten().map(|load| load.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if steps.len() < 2 || ranks.len() < 2 {
        return None;
    }
    let (named, ranks) = context.ranks(&ranks);
    let card = JobCard {
        title: "In each step, experts of other ranks are hot".to_owned(),
        issue: format!(
            "In a step, the experts of one rank or a few ({named}, in turns) get up to {most:.2} times as many tokens as the mean of their groups; the other ranks wait for them."
        ),
        action: "Balance the load of the experts within each batch: use a load-balancing loss or bias computed per batch, a capacity factor, or larger and more mixed batches. Placing experts on other ranks does not help, because other experts are overloaded in each step.".to_owned(),
        ranks,
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

/// Stages with different amounts of work: the others wait for the largest one in each micro-batch.
pub(super) fn uneven_stages(context: &Context) -> Option<JobCard> {
    let (saving_ns, steps) = context.gain(WhatIf::EvenStages);
    let largest = |step: &usize| {
        let loads = loads(&context.analysis.layout, &context.analysis.same_work, *step).into_iter();
        loads.reduce(|most, next| if next.1 > most.1 { next } else { most })
    };
    // The middle step shows how uneven they are.
    let most = steps
        .iter()
        .filter_map(largest)
        .arranged_by(|one, other| one.1.total_cmp(&other.1));
    let middle = most.get(most.len().saturating_sub(1) / 2).copied();
    let (stage, load) = middle.filter(|(_, load)| *load >= UNEVEN_STAGES)?;
    let of_stage = (0..context.job.ranks.len())
        .filter(|rank| context.analysis.layout.stage(*rank) == Some(stage));
    let (_, ranks) = context.ranks(&of_stage.collect::<Vec<usize>>());
    let card = JobCard {
        title: format!("Stage {stage} has {load:.2} times the mean work"),
        issue: format!(
            "Stage {stage} of the pipeline computes {load:.2} times as long as the mean of the stages in {}; the other stages wait for it in each micro-batch.",
            context.steps(&steps)
        ),
        action: "Move layers from this stage to the others, and count embedding, output projection and loss as work of their stages.".to_owned(),
        ranks,
        reasoning: vec!["Work is compared at the speed of other ranks, so that a slow rank does not make its stage larger. The saving is that of stages with the same work.".to_owned()],
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

/// For each step, what other findings can save of it: ranks that delay others, slow links, uneven stages.
fn explained_elsewhere_ns(context: &Context) -> Vec<i64> {
    let gain = |of: WhatIf| {
        context
            .analysis
            .gain(context.job, of)
            .map(|gain| gain.of_steps)
    };
    let all = [WhatIf::NoWaiting, WhatIf::Paths, WhatIf::EvenStages].map(gain);
    let n_steps = all.iter().flatten().map(Vec::len).max().unwrap_or(0);
    let of_step = |step| all.iter().flatten().filter_map(move |gain| gain.get(step));
    (0..n_steps)
        .map(|step| sum(of_step(step).map(|ns| (*ns).max(0))))
        .collect()
}

/// Waiting for other stages beyond the inevitable bubble, without what other findings explain.
pub(super) fn pipeline_bubble(context: &Context) -> Option<JobCard> {
    let replay = context.analysis.replay.as_ref()?;
    let all = bubbles(context.job, context.analysis);
    // The median step of a rank is used: a step delayed by something else says nothing about the pipeline.
    let mut of_ranks: BTreeMap<usize, Vec<(f64, &Bubble)>> = BTreeMap::new();
    let explained_of_steps = explained_elsewhere_ns(context);
    for bubble in &all {
        let mut steps = replay.steps.iter();
        let explained_ns = steps
            .position(|step| step.step == bubble.step)
            .and_then(|at| explained_of_steps.get(at).copied());
        let explained_ns = explained_ns.unwrap_or(0);
        let left_ns = bubble.waiting_ns().saturating_sub(explained_ns).max(0);
        let left = percent_of(left_ns, bubble.step_ns.saturating_sub(explained_ns));
        if let Some((waits, inevitable)) = left.zip(bubble.inevitable_percent()) {
            let of_rank = of_ranks.entry(bubble.rank).or_default();
            of_rank.push((waits - inevitable, bubble));
        }
    }
    let medians = of_ranks.into_values().filter_map(|mut of_rank| {
        of_rank.arrange_by(|one, other| one.0.total_cmp(&other.0));
        of_rank.get((of_rank.len() - 1) / 2).copied()
    });
    let worst = medians.reduce(|most, next| if next.0 > most.0 { next } else { most });
    let (_, bubble) = worst.filter(|(points, _)| *points >= BUBBLE_POINTS)?;
    let percent = |share: Option<f64>| share.map_or_else(String::new, format::percent);
    Some(JobCard {
        title: "Pipeline bubble larger than necessary".to_owned(),
        issue: format!(
            "{} waits for other stages, or is idle before its first and after its last micro-batch, for {} of {}{}; with {} stages and {} micro-batches, {} is unavoidable.",
            format::capitalized(&context.rank(bubble.rank)),
            percent(bubble.percent()),
            context.steps(&[bubble.step]),
            if context.job.steps.len() > 1 { ", the median of its steps" } else { "" },
            bubble.n_stages,
            bubble.n_micro_batches,
            percent(bubble.inevitable_percent())
        ),
        action: "See what the stages wait for in between: another schedule (one forward, one backward), transfers that run while another micro-batch computes; then use more micro-batches or interleaved stages.".to_owned(),
        ranks: vec![context.number(bubble.rank)],
        step: Some(bubble.step),
        ..JobCard::default()
    })
}

/// A pipeline with so few micro-batches that the bubble they make inevitable takes a large part of the step.
pub(super) fn few_micro_batches(context: &Context) -> Option<JobCard> {
    let all = bubbles(context.job, context.analysis);
    let few = |bubble: &&Bubble| {
        (1..bubble.n_stages * FEW_TIMES).contains(&bubble.n_micro_batches) && bubble.n_stages > 1
    };
    let few: Vec<&Bubble> = all.iter().filter(few).collect();
    let first = few.first().filter(|_| few.len() == all.len())?;
    // With twice as many of half the size, the bubble is half as long.
    let halves = few.iter().filter_map(|bubble| {
        let inevitable_ns = bubble.inevitable_percent()? / 100.0 * bubble.step_ns as f64;
        Some(bubble.waiting_ns().min(inevitable_ns as i64) / 2)
    });
    let saves_ns = mean_of_middle_ns(halves.collect()).unwrap_or(0);
    if saves_ns < LEAST_NS {
        return None;
    }
    let percent = percent_of(saves_ns, first.step_ns);
    Some(JobCard {
        savings: format!(
            "up to {} a step ({})",
            format::time_ns(saves_ns),
            percent.map_or_else(String::new, format::percent)
        ),
        title: "Few micro-batches for the stages of the pipeline".to_owned(),
        issue: format!(
            "{} stages with {} micro-batch{} leave each stage without work for {} of the step, while the pipeline fills and drains; twice as many micro-batches of half the size save up to {} a step.",
            first.n_stages,
            first.n_micro_batches,
            if first.n_micro_batches == 1 { "" } else { "es" },
            first.inevitable_percent().map_or_else(String::new, format::percent),
            format::time_ns(saves_ns)
        ),
        action: "Use more micro-batches (smaller ones, or more gradient accumulation), interleaved stages, or fewer stages.".to_owned(),
        reasoning: vec!["The saving assumes that micro-batches of half the size take half as long; small ones use the GPU less well.".to_owned()],
        ..JobCard::default()
    })
}

pub(super) fn clocks_apart(context: &Context) -> Option<JobCard> {
    let clocks = &context.job.clocks;
    if !clocks.are_comparable {
        return Some(JobCard {
            title: "Clocks could not be aligned".to_owned(),
            issue: "No clock offsets make the collectives of different ranks consistent, so no times are compared across ranks.".to_owned(),
            action: "Check that all files are of one run, and synchronize the clocks of the hosts.".to_owned(),
            ..JobCard::default()
        });
    }
    let apart = clocks.of_rank.iter().enumerate();
    let most = apart.max_by(|one, other| one.1.offset_ns.abs().total_cmp(&other.1.offset_ns.abs()));
    let (rank, clock) = most.filter(|(_, clock)| clock.offset_ns.abs() > APART_NS)?;
    Some(JobCard {
        title: "Clocks of hosts differ".to_owned(),
        issue: format!(
            "The clock of {} is {} off that of the first rank. Times are corrected here; tools that compare them as they are name the wrong rank.",
            context.rank(rank),
            format::time_ns(clock.offset_ns.abs() as i64)
        ),
        action: "Synchronize the hosts with PTP or NTP.".to_owned(),
        ranks: vec![context.number(rank)],
        ..JobCard::default()
    })
}

/// The total cost of waiting: what would be saved if all ranks of each collective needed the same own time.
pub(super) fn no_waiting(context: &Context) -> Option<JobCard> {
    let gain = context.analysis.no_waiting.as_ref()?;
    let card = JobCard {
        title: "All waiting for other ranks".to_owned(),
        issue: "If no rank waited for another, the run would be shorter by at most this. It includes the savings of findings about ranks, hosts and experts, but not those of a faster network.".to_owned(),
        action: "Follow the findings above.".to_owned(),
        ..JobCard::default()
    };
    context.with_saving(card, Some(gain.total_ns), &context.all_steps())
}

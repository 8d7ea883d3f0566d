//! Sheets `experts` and `pipeline`: how the work on tokens is distributed, and how long stages wait for each other.

use super::Input;
use super::table::{Body, Col, body, columns, float, int, known, ms, ms_of};
use crate::job::analysis::experts::{Load, by_rank};
use crate::job::analysis::pipeline::Bubble;
use crate::job::{Job, Rank};
use crate::report::sheet::Cell;

/// The load of a rank.
pub(super) struct Expert<'a> {
    rank: &'a Rank,
    load: Load,
}

pub(super) fn experts<'a>() -> Vec<Col<Expert<'a>>> {
    columns![Expert:
        "rank", Count, |of| int(of.rank.number), "The rank, by its number in the job.";
        "exchanges", Count, |of| int(of.load.exchanges), "All-to-alls that bring tokens to its experts, each followed by one that takes as much back.";
        "elements", Count, |of| int(of.load.elements), "Elements that it receives in them.";
        "times mean", Number, |of| float(Some(of.load.share())), "That over the mean of the ranks of its groups.";
        "times most", Count, |of| int(of.load.n_most), "In how many exchanges it receives most.";
        "hot", Flag, |of| Cell::Flag(of.load.is_hot()), "True where that is in 60 % of them or more.";
    ]
}

pub(super) fn experts_body(input: &Input) -> Body<'static> {
    let loads = by_rank(&input.analysis.exchanges).into_iter();
    let rows = loads.filter_map(|load| {
        let rank = input.job.ranks.get(load.rank)?;
        Some(Expert { rank, load })
    });
    body(&experts(), rows)
}

/// A stage in a step.
pub(super) struct Stage<'a> {
    job: &'a Job,
    of: &'a Bubble,
}

pub(super) fn stages<'a>() -> Vec<Col<Stage<'a>>> {
    columns![Stage:
        "rank", Count, |of| known(of.job.number(of.of.rank)), "The rank, by its number in the job.";
        "step", Count, |of| known(of.job.steps.get(of.of.step).map(|step| step.number)), "The number of the step.";
        "stage", Count, |of| int(of.of.stage), "Its stage, from 0.";
        "stages", Count, |of| int(of.of.n_stages), "Stages of its pipeline.";
        "micro-batches", Count, |of| int(of.of.n_micro_batches), "Messages to or from one other stage, the largest number of one direction.";
        "step time ms", Ms, |of| ms(of.of.step_ns), "From the end of the last collective of all ranks in the step before to that in this one.";
        "computation ms", Ms, |of| ms(of.of.work_ns), "Kernels compute.";
        "computation per micro-batch ms", Ms, |of| ms_of(of.of.work_per_micro_batch_ns()), "That for each micro-batch.";
        "receiving ms", Ms, |of| ms(of.of.receiving_ns), "Durations of the kernels that receive from other stages, waiting for them included.";
        "receiving (%)", Percent, |of| float(of.of.receiving_percent()), "Share of the step.";
        "transfer ms", Ms, |of| ms(of.of.transfer_ns), "Part of that in which data moved.";
        "idle ms", Ms, |of| ms(of.of.idle_ns), "Nothing runs before the first and after the last micro-batch, late launches included.";
        "waiting ms", Ms, |of| ms(of.of.waiting_ns()), "The bubble: receiving less transfer, and idle.";
        "waiting (%)", Percent, |of| float(of.of.percent()), "Share of the step.";
        "inevitable (%)", Percent, |of| float(of.of.inevitable_percent()), "What p stages and m micro-batches make inevitable: (p - 1) / (m + p - 1).";
    ]
}

pub(super) fn stages_body(input: &Input) -> Body<'static> {
    let job = input.job;
    body(&stages(), input.bubbles.iter().map(|of| Stage { job, of }))
}

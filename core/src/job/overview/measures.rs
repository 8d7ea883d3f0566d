//! The measures of the heatmap: a number for each rank in each step.

use super::{Context, Measure, MeasureUnit, steps_of};
use crate::base::group::grouped;
use crate::base::interval::percent_of;
use crate::base::map::Map;
use crate::job::digest::GpuTime;
use crate::job::sheets::{Place, Waits};
use crate::job::{Analysis, Job};

/// All measures that are known for some rank in some step; the one to show first comes first.
pub(super) fn of(context: &Context) -> Vec<Measure> {
    let Context {
        job,
        analysis,
        waits,
    } = context;
    let measure =
        |key: &str, label: &str, unit, of: &dyn Fn(usize, usize) -> Option<f64>, doc: &str| {
            Measure {
                key: key.to_owned(),
                label: label.to_owned(),
                doc: doc.to_owned(),
                unit,
                values: (0..job.ranks.len())
                    .map(|rank| (0..job.steps.len()).map(|step| of(rank, step)).collect())
                    .collect(),
            }
        };
    let own = |rank: usize, step: usize| steps_of(job, rank).nth(step).flatten();
    let length_ns = |rank: usize, step: usize| match own(rank, step)?.gpu.span.length() {
        0 => Some(own(rank, step)?.host.length()),
        ns => Some(ns),
    };
    let share = |of: fn(&GpuTime) -> i64| {
        move |rank: usize, step: usize| {
            let gpu = own(rank, step)?.gpu;
            percent_of(of(&gpu), gpu.span.length())
        }
    };
    let delay = |rank, step| {
        let ns = analysis.delays.of(step, rank)?.excess.total_ns;
        percent_of(ns, length_ns(rank, step)?)
    };
    let waits = |of: fn(&Waits) -> i64| {
        move |rank: usize, step: usize| {
            percent_of(of(waits.get(&(rank, step))?), length_ns(rank, step)?)
        }
    };
    let late_ns = late_ns(job);
    let late = |rank, step| percent_of(*late_ns.get(&(rank, step))?, length_ns(rank, step)?);
    let tokens = tokens(analysis, job);
    use MeasureUnit::{Percent, Ratio};
    #[rustfmt::skip]
    let mut all = vec![
        measure("delay", "Delay caused", Percent, &delay, "How much longer than its peers the rank takes before its collectives, as a share of the step."),
        measure("same_work", "Same kernels", Ratio, &|rank, step| analysis.same_work.ratio(step, rank), "How many times as long the rank takes as others for the same kernels, operators and shapes."),
        measure("waiting", "Waiting", Percent, &waits(|of| of.waited_ns), "Share of the step in which the rank waits for others, in collectives that none can leave before all have started; those that overlap count each."),
        measure("transfer", "Transfer", Percent, &waits(|of| of.transfer_ns), "Share of the step in which the rank is in collectives after all have started: data moves. Those that overlap count each."),
        measure("computation", "Computation", Percent, &share(|gpu| gpu.computation_ns), "Share of the step in which kernels compute."),
        measure("exposed_communication", "Exposed communication", Percent, &share(|gpu| gpu.exposed_comm_ns), "Share of the step in which the rank communicates and nothing computes; waiting for other ranks is part of it."),
        measure("late", "Late launches", Percent, &late, "Share of the step in which nothing runs before collectives because the CPU has not launched it yet."),
        measure("idle", "Idle", Percent, &share(|gpu| gpu.idle_ns), "Share of the step in which nothing runs on the GPU."),
        measure("tokens", "Tokens", Ratio, &|rank, step| tokens.get(&(rank, step)).copied(), "How many tokens the experts of the rank get, against the mean of its groups."),
    ];
    all.retain(|measure| measure.values.iter().flatten().any(Option::is_some));
    all
}

/// How late launches were before the collectives of a step, by rank and step.
fn late_ns(job: &Job) -> Map<Place, i64> {
    let mut all: Map<Place, i64> = Map::default();
    for (rank, of) in job.ranks.iter().enumerate() {
        // For each step of the rank, the step of the job.
        let mut steps = vec![None; of.digest.steps.len()];
        for (at, step) in job.steps.iter().enumerate() {
            let own = step.of_rank.get(rank).copied().flatten();
            if let Some(of_job) = own.and_then(|own| steps.get_mut(own as usize)) {
                *of_job = Some(at);
            }
        }
        for collective in &of.digest.collectives {
            let step = collective.step.and_then(|own| steps.get(own as usize));
            if let (Some(Some(step)), Some(own)) = (step, collective.own) {
                let late_ns = all.entry((rank, *step)).or_default();
                *late_ns = late_ns.saturating_add(own.late_ns);
            }
        }
    }
    all
}

/// The load of a rank's experts relative to the mean, by rank and step.
fn tokens(analysis: &Analysis, job: &Job) -> Map<Place, f64> {
    let loads = analysis.exchanges.iter().flat_map(|exchange| {
        let of = job.collectives.get(exchange.dispatch);
        let step = of.and_then(|of| of.step);
        let all: u64 = exchange.loads.iter().map(|(_, load)| *load).sum();
        let mean = all as f64 / exchange.loads.len().max(1) as f64;
        let loads = exchange.loads.iter();
        loads.filter_map(move |(member, load)| Some(((member.rank, step?), (*load as f64, mean))))
    });
    let sums = grouped(loads, |all: &mut (f64, f64), (load, mean)| {
        *all = (all.0 + load, all.1 + mean);
    });
    let known = sums.into_iter().filter(|(_, (_, mean))| *mean > 0.0);
    known
        .map(|(place, (load, mean))| (place, load / mean))
        .collect()
}

//! Machines whose runs are slower than those of the same work elsewhere.
//!
//! The total of each run is divided by the median of the runs of the same model, GPU, build, world size and options;
//! the results of a machine's runs are compared with those of other machines.

use super::Outlier;
use crate::base::group::grouped;
use crate::base::map::Set;
use crate::base::sort::{Arrange, Arranged, Gather};
use crate::fleet::numbers::count;
use crate::fleet::rows::{Fleet, RunRow, Status};
use crate::fleet::statistics::{discoveries, median, p_of_larger, ratio};
use crate::fleet::texts::Text;

/// Minimum number of runs of a machine, and of others.
const LEAST_RUNS: usize = 3;
/// Minimum slowdown that is reported.
const LEAST_CHANGE: f64 = 0.03;
/// Maximum p-value that is reported.
const MOST_P: f64 = 0.01;
/// The false discovery rate among machines.
const FALSE_DISCOVERIES: f64 = 0.05;
/// Maximum number of other runs; of more, evenly spaced ones are used.
const MOST_OTHERS: usize = 2_000;

/// A run relative to the median of the same work.
struct Relative<'a> {
    run: &'a RunRow,
    host: Text,
    /// The index of its work.
    work: usize,
    total: f64,
}

/// Outlier machines, the slowest first.
pub(super) fn outliers(fleet: &Fleet) -> Vec<Outlier> {
    let all = relative(fleet);
    let hosts = grouped(
        all.iter().map(|of| ((of.host, of.run.gpu), of)),
        |own: &mut Vec<&Relative>, of| own.push(of),
    );
    let mut by_work: Vec<Vec<&Relative>> = Vec::new();
    for of in &all {
        if by_work.len() <= of.work {
            by_work.resize_with(of.work + 1, Vec::new);
        }
        by_work[of.work].push(of);
    }
    let tested = hosts.into_iter().filter_map(|((host, gpu), own)| {
        let works: Set<usize> = own.iter().map(|of| of.work).gather();
        let works = works.into_iter().arranged();
        let same_work = works.iter().filter_map(|work| by_work.get(*work)).flatten();
        let mut others: Vec<f64> = same_work
            .filter(|of| of.host != host)
            .map(|of| of.total)
            .collect();
        if own.len() < LEAST_RUNS || others.len() < LEAST_RUNS {
            return None;
        }
        others.arrange_by(f64::total_cmp);
        let step = others.len().div_ceil(MOST_OTHERS);
        let others: Vec<f64> = others.into_iter().step_by(step).collect();
        let totals: Vec<f64> = own.iter().map(|of| of.total).collect();
        let found = ratio(&totals, &others)?;
        let slowest = own
            .iter()
            .max_by(|one, other| one.total.total_cmp(&other.total))?;
        let models: Set<Option<Text>> = own.iter().map(|of| of.run.model).gather();
        let outlier = Outlier {
            host,
            gpu,
            ratio: found.ratio,
            low: found.interval.map(|(low, _)| low),
            high: found.interval.map(|(_, high)| high),
            n_runs: count(own.len()),
            n_models: count(models.len()),
            run: slowest.run.run_id,
        };
        Some((outlier, p_of_larger(&totals, &others)))
    });
    let tested: Vec<(Outlier, f64)> = tested.collect();
    let p: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
    let significant = discoveries(&p, FALSE_DISCOVERIES);
    let slower =
        tested
            .into_iter()
            .zip(significant)
            .filter_map(|((outlier, p), is_significant)| {
                let is_reported =
                    is_significant && p < MOST_P && outlier.ratio > 1.0 + LEAST_CHANGE;
                is_reported.then_some(outlier)
            });
    slower.arranged_by(|one, other| other.ratio.total_cmp(&one.ratio))
}

/// Runs of known machines and models relative to the median of the same work.
fn relative(fleet: &Fleet) -> Vec<Relative<'_>> {
    let runs = fleet.runs.iter().filter(|run| run.status == Status::Ok);
    let runs = runs.filter_map(|run| {
        let (model, host) = (run.model?, run.host?);
        let total = run.total_ns.filter(|ns| *ns > 0)? as f64;
        let work = (model, run.gpu, run.build, run.world_size, run.options_hash);
        Some((work, (run, host, total)))
    });
    let works = grouped(runs, Vec::push);
    let relative = works.into_iter().enumerate().flat_map(|(work, (_, runs))| {
        let totals: Vec<f64> = runs.iter().map(|(_, _, total)| *total).collect();
        let usual = median(&totals).unwrap_or(1.0);
        runs.into_iter().map(move |(run, host, total)| Relative {
            run,
            host,
            work,
            total: total / usual,
        })
    });
    relative.collect()
}

//! The jobs that took longest.

use std::cmp::Reverse;

use super::SlowJob;
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::sort::{Arranged, Gather};
use crate::base::stats::mean_of_middle_ns;
use crate::fleet::numbers::count;
use crate::fleet::rows::RunRow;
use crate::fleet::texts::Text;

/// At most this many are listed.
const MOST: usize = 50;

/// Runs are compared with those of the same model and GPU.
type Kind = (Option<Text>, Option<Text>);

fn kind(run: &RunRow) -> Kind {
    (run.model, run.gpu)
}

/// The longest run of each job, and runs without a job.
pub(super) fn slowest(runs: &[&RunRow]) -> Vec<SlowJob> {
    let times = runs
        .iter()
        .filter_map(|run| Some((kind(run), run.total_ns?)));
    let usual = grouped(times, Vec::push)
        .into_iter()
        .filter_map(|(kind, times)| {
            let is_compared = times.len() > 1;
            let median = mean_of_middle_ns(times).filter(|ns| *ns > 0)?;
            is_compared.then_some((kind, median))
        });
    let usual: Map<Kind, i64> = usual.gather();
    // A run without a job counts as a job.
    let jobs = runs.iter().map(|run| match run.job_id {
        Some(job) => ((Some(job), None), *run),
        None => ((None, Some(run.run_id)), *run),
    });
    let jobs = grouped(jobs, |all: &mut Vec<&RunRow>, run| all.push(run));
    let jobs = jobs.into_iter().filter_map(|((job, _), all)| {
        let longest = all.iter().min_by_key(|run| Reverse(run.total_ns))?;
        let total_ns = longest.total_ns?;
        let usual_ns = usual.get(&kind(longest));
        Some(SlowJob {
            job,
            run: longest.run_id,
            model: longest.model,
            gpu: longest.gpu,
            build: longest.build,
            n_runs: count(all.len()),
            total_ns,
            idle_ns: longest.idle_ns,
            ratio: usual_ns.map(|usual| total_ns as f64 / *usual as f64),
        })
    });
    let mut jobs = jobs.arranged_by_largest(|job| job.total_ns);
    jobs.truncate(MOST);
    jobs
}

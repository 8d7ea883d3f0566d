//! A summary of many traces: runs, builds and medians here, every other table in a separate file.

use super::{Build, Median, Run, Summary, Totals, found, hosts, jobs, sentence, top};
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::map::{Map, Set};
use crate::base::sort::{Arrange, Arranged, Gather};
use crate::base::stats::mean_of_middle_ns;
use crate::fleet::builds::Builds;
use crate::fleet::metric::Metric;
use crate::fleet::numbers::count;
use crate::fleet::regressions::{Question, Regressions};
use crate::fleet::rows::{Fleet, RunRow, Status};
use crate::fleet::texts::Text;

/// The metrics that are compared between builds.
const METRICS: [Metric; 5] = [
    Metric::Total,
    Metric::Compute,
    Metric::ExposedComm,
    Metric::Idle,
    Metric::Category,
];

/// Options of a summary.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The tag that identifies builds.
    pub by: String,
    /// The version of Dormer.
    pub dormer: String,
}

impl Summary {
    /// Summarizes many traces; the page shows the summary, [`Summary::to_file_within`] writes it.
    pub fn new(fleet: &Fleet, options: &Options) -> Summary {
        let builds = Builds::new(&fleet.runs, &fleet.texts);
        let question = Question {
            metrics: METRICS.to_vec(),
            newest: None,
        };
        let regressions = Regressions::new(fleet, &builds, &question);
        let runs: Vec<&RunRow> = fleet
            .runs
            .iter()
            .filter(|run| run.status.is_read())
            .collect();
        let builds_rows = builds.list.iter().map(|at| Build {
            build: at.build,
            first_ns: at.first_ns,
            n_runs: at.n_runs,
        });
        let (ops, kernels) = (top::ops(fleet), top::kernels(fleet));
        let rows = run_rows(fleet);
        let mut summary = Summary {
            sentence: String::new(),
            by: options.by.clone(),
            dormer: options.dormer.clone(),
            totals: totals(fleet, &runs),
            texts: fleet.texts.list().to_vec(),
            builds: builds_rows.collect(),
            medians: medians(fleet, &rows, &builds),
            runs: rows,
            weeks: Vec::new(),
            regressions: regressions.changes,
            carriers: regressions.carriers,
            history: regressions.history,
            ops,
            kernels,
            findings: found::findings(fleet),
            lost: found::lost(&runs),
            slowest: jobs::slowest(&runs),
            outliers: hosts::outliers(fleet),
            rejected: found::rejected(fleet),
        };
        summary.sentence = sentence::sentence(&summary);
        summary
    }
}

fn totals(fleet: &Fleet, runs: &[&RunRow]) -> Totals {
    let starts = || runs.iter().filter_map(|run| run.start_ns);
    let models: Set<Text> = runs.iter().filter_map(|run| run.model).gather();
    let partial = runs.iter().filter(|run| run.status == Status::Partial);
    Totals {
        n_files: count(fleet.runs.len()),
        n_runs: count(runs.len()),
        n_partial: count(partial.count()),
        n_models: count(models.len()),
        gpu_ns: sum(runs.iter().filter_map(|run| run.total_ns)),
        idle_ns: sum(runs.iter().filter_map(|run| run.idle_ns)),
        first_ns: starts().min(),
        last_ns: starts().max(),
    }
}

/// Runs with figures, the newest first, each with its first finding.
fn run_rows(fleet: &Fleet) -> Vec<Run> {
    let mut first: Map<u32, &crate::fleet::rows::FindingRow> = Map::default();
    for finding in &fleet.findings {
        let known = first.entry(finding.run).or_insert(finding);
        if finding.number < known.number {
            *known = finding;
        }
    }
    let read = (0_u32..)
        .zip(&fleet.runs)
        .filter(|(_, run)| run.status.is_read());
    let rows = read.map(|(at, run)| {
        let finding = first.get(&at);
        Run {
            id: run.run_id,
            model: run.model,
            gpu: run.gpu,
            build: run.build,
            host: run.host,
            job: run.job_id,
            uri: run.uri,
            start_ns: run.start_ns,
            status: run.status,
            total_ns: run.total_ns,
            busy_ns: run.busy_ns,
            compute_ns: run.compute_ns,
            exposed_comm_ns: run.exposed_comm_ns,
            exposed_copy_ns: run.exposed_copy_ns,
            idle_ns: run.idle_ns,
            finding: finding.map(|finding| finding.title),
            worth_ns: finding.and_then(|finding| finding.mid_ns),
        }
    });
    rows.arranged_by_largest(|run| run.start_ns)
}

fn medians(fleet: &Fleet, runs: &[Run], builds: &Builds) -> Vec<Median> {
    let runs = runs
        .iter()
        .map(|run| ((run.model, run.gpu, run.build), run));
    let mut groups: Vec<(_, Vec<&Run>)> = grouped(runs, Vec::push);
    let name = |text: Option<Text>| text.map(|text| fleet.texts.get(text));
    groups.arrange_by_cached_key(|((model, gpu, build), _)| {
        let place = build.and_then(|build| builds.place(build));
        let [model, gpu] = [*model, *gpu].map(|of| name(of).map(str::to_owned));
        (model.is_none(), model, gpu, place.is_none(), place)
    });
    groups.iter().map(|(_, runs)| Median::of(runs)).collect()
}

impl Median {
    /// The medians of runs of one model on one GPU in one build.
    pub(super) fn of(runs: &[&Run]) -> Median {
        let first = runs.first();
        let median = |time: fn(&Run) -> Option<i64>| {
            mean_of_middle_ns(runs.iter().filter_map(|run| time(run)).collect())
        };
        Median {
            model: first.and_then(|run| run.model),
            gpu: first.and_then(|run| run.gpu),
            build: first.and_then(|run| run.build),
            n_runs: count(runs.len()),
            total_ns: median(|run| run.total_ns),
            busy_ns: median(|run| run.busy_ns),
            compute_ns: median(|run| run.compute_ns),
            exposed_comm_ns: median(|run| run.exposed_comm_ns),
            exposed_copy_ns: median(|run| run.exposed_copy_ns),
            idle_ns: median(|run| run.idle_ns),
        }
    }
}

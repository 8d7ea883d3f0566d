//! The summary of many traces: read from its file, shown as text.

mod runs;
mod tables;

use std::cell::RefCell;

use dormer_core::base::{calendar, format};
use dormer_core::fleet::Summary;
use dormer_core::fleet::regressions::{Change, Level};
use dormer_core::fleet::words;
use web_sys::File;

use super::reading::bytes_of;
use super::replies::send;
use crate::protocol::{
    Failure, FleetChange, FleetOpened, FleetPoint, FleetRuns, FleetRunsQuery, FleetTrend, Reply,
};

thread_local! {
    static FLEET: RefCell<Option<Summary>> = const { RefCell::new(None) };
}

/// Reads a file and sends what is shown of it.
pub(super) async fn open(file: Option<File>) {
    let Some(file) = file else { return };
    let read = match bytes_of(&file, file.size()).await {
        Ok(bytes) => Summary::read(&bytes).map_err(|bad| Failure::new(bad.to_string())),
        Err(failure) => Err(failure),
    };
    let reply = match read {
        Ok(summary) => {
            let opened = opened(&summary);
            FLEET.set(Some(summary));
            Reply::FleetOpened(Box::new(opened))
        }
        Err(failure) => Reply::Failed(failure),
    };
    send(&reply, &[]);
}

/// Runs of the summary.
pub(super) fn runs(query: &FleetRunsQuery) -> FleetRuns {
    FLEET.with_borrow(|fleet| {
        let fleet = fleet.as_ref();
        fleet.map_or_else(FleetRuns::default, |fleet| runs::runs(fleet, query))
    })
}

fn opened(of: &Summary) -> FleetOpened {
    FleetOpened {
        sentence: of.sentence.clone(),
        facts: facts(of),
        changes: (of.regressions.iter().enumerate())
            .map(|(at, change)| changed(of, at, change))
            .collect(),
        trends: trends(of),
        tables: tables::all(of),
        n_runs: of.runs.len() as u32,
    }
}

fn facts(of: &Summary) -> Vec<(String, String)> {
    let totals = &of.totals;
    let count = |n: u32| format::count(u64::from(n));
    let share = match totals.gpu_ns {
        ns if ns > 0 => format::percent(100.0 * totals.idle_ns as f64 / ns as f64),
        _ => String::new(),
    };
    let days = [totals.first_ns, totals.last_ns].map(|ns| ns.map(calendar::date_of));
    let days = match days {
        [Some(first), Some(last)] if first == last => first,
        [Some(first), Some(last)] => format!("{first} to {last}"),
        _ => String::new(),
    };
    let builds = match of.builds.len() {
        0 => String::new(),
        n => count(n as u32),
    };
    let all = [
        ("Runs", count(totals.n_runs)),
        ("Models", count(totals.n_models)),
        ("Builds", builds),
        ("GPU time", words::gpu_time(totals.gpu_ns)),
        ("Idle", share),
        ("Recorded", days),
    ];
    let filled = all.into_iter().filter(|(_, text)| !text.is_empty());
    filled
        .map(|(label, text)| (label.to_owned(), text))
        .collect()
}

fn changed(of: &Summary, at: usize, change: &Change) -> FleetChange {
    let points = of.history_of(at);
    let points: Vec<(FleetPoint, bool)> = points
        .map(|point| {
            let shown = FleetPoint {
                build: of.text(point.build).to_owned(),
                n_runs: point.n_runs,
                ns: point.median_ns,
            };
            (shown, point.build == change.build)
        })
        .collect();
    let place = points.iter().position(|(_, is_it)| *is_it);
    let uri = |id| {
        let run = of.runs.iter().find(|run| run.id == id);
        let uri = run.and_then(|run| of.text_of(run.uri));
        uri.unwrap_or_default().to_owned()
    };
    FleetChange {
        title: words::title(change, &of.texts),
        scope: words::scope(change, &of.texts),
        evidence: words::evidence(change, &of.texts),
        is_slower: change.is_slower(),
        is_confirmed: change.level == Level::Confirmed,
        carriers: tables::carriers(of, at),
        at: place.map(|at| at as u32),
        points: points.into_iter().map(|(point, _)| point).collect(),
        runs: [uri(change.new_run), uri(change.base_run)],
    }
}

/// Medians are sorted by model, then GPU, then build.
fn trends(of: &Summary) -> Vec<FleetTrend> {
    let mut trends: Vec<FleetTrend> = Vec::new();
    for median in &of.medians {
        let Some(ns) = median.total_ns else { continue };
        let text = |text| of.text_of(text).unwrap_or_default().to_owned();
        let (model, gpu) = (text(median.model), text(median.gpu));
        let is_same = trends
            .last()
            .is_some_and(|last| last.model == model && last.gpu == gpu);
        if !is_same {
            trends.push(FleetTrend {
                model,
                gpu,
                ..FleetTrend::default()
            });
        }
        if let Some(trend) = trends.last_mut() {
            trend.points.push(FleetPoint {
                build: text(median.build),
                n_runs: median.n_runs,
                ns,
            });
            let share = median.idle_ns.filter(|_| ns > 0);
            let share = share.map(|idle_ns| 100.0 * idle_ns as f64 / ns as f64);
            trend.idle = share.map_or_else(String::new, format::percent);
        }
    }
    trends
}

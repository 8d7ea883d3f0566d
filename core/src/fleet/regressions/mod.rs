//! What became slower or faster between builds.
//!
//! A series is a time of the same work ([`Metric`]) over builds: same model, GPU, world size and options. A build is
//! compared with the ten previous builds of the series:
//!
//! 1. The ratio is the median of all ratios new / base, with its 95 % interval.
//! 2. An **alarm** is a change of more than 3 % that is not noise. With three or more runs of the build: a one-sided
//!    Mann–Whitney test, p < 0.01, that is also significant among the tests of all series of the build
//!    (Benjamini–Hochberg, 5 %). With one or two runs: more than 4 · 1.4826 · MAD of the medians of at least
//!    [`LEAST_BASE_BUILDS`] previous builds.
//! 3. It is **confirmed** if the next build of the series has an alarm, too.
//!
//! What became faster is found in the same way; idle time that was displaced by slower work is not reported.

mod carriers;
mod judge;
mod series;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::builds::Builds;
use super::columns::{Cell, columns};
use super::metric::Metric;
use super::numbers::count;
use super::rows::Fleet;
use super::statistics::median;
use super::texts::Text;
use crate::base::labels::labeled;
use crate::base::sort::Arrange;
use carriers::Parts;
use judge::Judged;
use series::Series;

pub use series::LeftOut;

labeled! {
    /// The confidence in a change.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Level {
        /// The build differs from previous ones by more than noise.
        Alarm => "alarm" as "alarm",
        /// The next build does, too.
        Confirmed => "confirmed" as "confirmed",
    }
}

labeled! {
    /// The kind of contributor to a change.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Part {
        /// An operation with its arguments.
        Op => "operation" as "op",
        /// A kernel.
        Kernel => "kernel" as "kernel",
    }
}

impl Cell for Level {}
impl Cell for Part {}

columns! {
    /// A series that changed with a build.
    Change in ChangeColumns {
        /// The model, or the tag `model` instead.
        model: Option<Text>,
        /// The GPU.
        gpu: Option<Text>,
        /// Number of ranks of the jobs.
        world_size: Option<i64>,
        /// What changed.
        metric: Metric,
        /// Its category, operation or kernel; `None` for the times of a whole run.
        name: Option<Text>,
        /// Input shapes, for an operation.
        dims: Option<Text>,
        /// The build that it changed with.
        build: Text,
        /// The confidence in it.
        level: Level,
        /// The build that confirmed it.
        confirmed_by: Option<Text>,
        /// New time over old: the median over all pairs of runs. 1.06 is 6 % slower, less than 1 is faster.
        ratio: f64,
        /// The lower end of the 95 % interval; `None` if there are too few runs.
        low: Option<f64>,
        /// The upper end.
        high: Option<f64>,
        /// The p-value of the difference; `None` for builds with one or two runs, which are compared with the spread of
        /// previous builds.
        p: Option<f64>,
        /// Number of runs of the build.
        n_new: u32,
        /// Number of runs of the builds that it is compared with.
        n_base: u32,
        /// Number of those builds.
        n_base_builds: u32,
        /// The first of those.
        base_first: Text,
        /// The last of those.
        base_last: Text,
        /// Median over the runs of the build.
        new_ns: i64,
        /// Median over the runs of those builds.
        base_ns: i64,
        /// A run of the build to compare: the one nearest to the median.
        new_run: Text,
        /// A run of those builds to compare: the one nearest to the median.
        base_run: Text,
    }

    /// A contributor to a change.
    Carrier in CarrierColumns {
        /// The index of the change in its list.
        regression: u32,
        /// Its kind.
        part: Part,
        /// Its name.
        name: Text,
        /// Input shapes, for an operation.
        dims: Option<Text>,
        /// Median of its time in runs of previous builds; 0 if it did not run.
        base_ns: i64,
        /// Median of its time in runs of the build.
        new_ns: i64,
        /// Its difference as a percentage of the total difference. More than 100 if others became faster.
        share_percent: f64,
    }

    /// The value of a series in a build.
    Point in PointColumns {
        /// The index of the change in its list.
        regression: u32,
        /// The build.
        build: Text,
        /// Number of its runs.
        n_runs: u32,
        /// Median over those runs.
        median_ns: i64,
    }
}

impl Change {
    /// Whether it became slower.
    pub fn is_slower(&self) -> bool {
        self.ratio > 1.0
    }
}

/// A build with one or two runs is compared with at least this many builds: the spread of fewer is not meaningful.
pub const LEAST_BASE_BUILDS: usize = 4;

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The metrics to compare. All tests of a build are evaluated together.
    pub metrics: Vec<Metric>,
    /// The newest build to consider, as if none had followed: reports what changed with it, or earlier and is still
    /// visible in it. `None` reports every change in all builds.
    pub newest: Option<Text>,
}

/// What changed between builds.
#[derive(Debug, Clone, Default)]
pub struct Regressions {
    /// Confirmed before alarms, slower before faster, then by the time difference per run.
    pub changes: Vec<Change>,
    /// Their contributors.
    pub carriers: Vec<Carrier>,
    /// Their values over builds.
    pub history: Vec<Point>,
    /// Number of series with at least two builds.
    pub n_series: usize,
    /// Runs with figures that are excluded.
    pub left_out: LeftOut,
}

/// A change that was found, before it becomes a row.
struct Found<'a> {
    series: &'a Series,
    judged: &'a Judged,
    /// The index of its build in the series.
    at: usize,
    /// The index of the last consecutive build with an alarm in the same direction.
    until: usize,
}

impl Regressions {
    /// Finds the regressions of many traces.
    pub fn new(fleet: &Fleet, builds: &Builds, question: &Question) -> Regressions {
        let newest = question.newest.map(|build| builds.place(build));
        let last = match newest {
            None => usize::MAX,
            Some(Some(place)) => place,
            Some(None) => return Regressions::default(),
        };
        let (takes_part, left_out) = series::taking_part(&fleet.runs);
        let metrics = question.metrics.iter();
        let all: Vec<Series> = metrics
            .flat_map(|metric| series::series(fleet, builds, *metric, last, &takes_part))
            .collect();
        let judged = judge::judge(&all);
        let found = all.iter().zip(&judged);
        let found = found.flat_map(|(series, judged)| episodes(series, judged));
        let is_asked_for = |found: &Found| {
            let until = found.series.builds.get(found.until);
            newest.is_none() || until.map(|build| build.build) == newest.flatten()
        };
        let found: Vec<Found> = found.filter(is_asked_for).collect();
        let changes = found
            .iter()
            .filter_map(|found| Some((found.change(fleet, builds)?, found)));
        let mut changes: Vec<(Change, &Found)> = changes.collect();
        leave_out_displaced_idle_time(&mut changes);
        changes.arrange_by_key(|(change, _)| {
            let is_alarm = change.level == Level::Alarm;
            let cost_ns = change.new_ns.abs_diff(change.base_ns);
            (is_alarm, !change.is_slower(), Reverse(cost_ns))
        });
        let mut regressions = Regressions {
            n_series: all.iter().filter(|series| series.builds.len() > 1).count(),
            left_out,
            ..Regressions::default()
        };
        let parts = Parts::new(fleet);
        for (at, (change, found)) in (0..).zip(changes) {
            let [new, base] = [found.new_values(), found.base_values()].map(runs);
            let carriers = parts.carrying(&change, at, &new, &base);
            regressions.carriers.extend(carriers);
            regressions.history.extend(found.history(at, builds));
            regressions.changes.push(change);
        }
        regressions
    }
}

/// Slower kernels leave less idle time between them, which is not an improvement.
fn leave_out_displaced_idle_time(changes: &mut Vec<(Change, &Found)>) {
    let runs = |of: &Change| (of.model, of.gpu, of.world_size, of.build);
    let slower = changes.iter().map(|(change, _)| change);
    let slower = slower.filter(|of| of.is_slower() && of.metric != Metric::Idle);
    let slower: Vec<_> = slower.map(runs).collect();
    changes.retain(|(change, _)| {
        let is_shorter = change.metric == Metric::Idle && !change.is_slower();
        !(is_shorter && slower.contains(&runs(change)))
    });
}

/// A series over builds, for programs that evaluate it themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// The model, or the tag `model` instead.
    pub model: Text,
    /// The GPU.
    pub gpu: Option<Text>,
    /// Number of ranks of the jobs.
    pub world_size: Option<i64>,
    /// The options with which its traces were analyzed.
    pub options: Option<Text>,
    /// The metric.
    pub metric: Metric,
    /// Its category, operation or kernel.
    pub name: Option<Text>,
    /// Input shapes, for an operation.
    pub dims: Option<Text>,
    /// The median in nanoseconds, by index of the build; `None` if it has no runs.
    pub medians_ns: Vec<Option<i64>>,
}

/// Every series of some metrics.
pub fn trends(fleet: &Fleet, builds: &Builds, metrics: &[Metric]) -> Vec<Trend> {
    let (takes_part, _) = series::taking_part(&fleet.runs);
    let all = metrics.iter().flat_map(|metric| {
        let all = series::series(fleet, builds, *metric, usize::MAX, &takes_part);
        all.into_iter().map(|series| {
            let mut medians_ns = vec![None; builds.list.len()];
            for build in &series.builds {
                if let Some(median) = medians_ns.get_mut(build.build) {
                    *median = middle(&build.values);
                }
            }
            let key = series.key;
            Trend {
                model: key.model,
                gpu: key.gpu,
                world_size: key.world_size,
                options: key.options,
                metric: key.metric,
                name: key.name,
                dims: key.dims,
                medians_ns,
            }
        })
    });
    all.collect()
}

/// The builds of a series with an alarm, each with the consecutive ones that have an alarm in the same direction.
fn episodes<'a>(series: &'a Series, judged: &'a [Option<Judged>]) -> Vec<Found<'a>> {
    let mut found: Vec<Found> = Vec::new();
    for (at, judged) in judged.iter().enumerate() {
        let Some(judged) = judged.as_ref().filter(|judged| judged.is_alarm) else {
            continue;
        };
        match found.last_mut() {
            Some(last) if last.until + 1 == at && last.judged.is_slower() == judged.is_slower() => {
                last.until = at;
            }
            _ => found.push(Found {
                series,
                judged,
                at,
                until: at,
            }),
        }
    }
    found
}

/// Time and run.
type Value = (f64, u32);

impl Found<'_> {
    fn new_values(&self) -> Vec<Value> {
        let build = self.series.builds.get(self.at);
        build.map_or_else(Vec::new, |build| build.values.clone())
    }

    fn base_values(&self) -> Vec<Value> {
        let base = judge::base(self.series, self.at);
        base.iter().flat_map(|build| build.values.clone()).collect()
    }

    /// The row of the change, with times and runs of the build and of previous builds.
    fn change(&self, fleet: &Fleet, builds: &Builds) -> Option<Change> {
        let (key, judged) = (&self.series.key, self.judged);
        let build = |at: usize| self.series.builds.get(at).map(|of| builds.at(of.build));
        let (new, base) = (self.new_values(), self.base_values());
        let run_id = |run: u32| fleet.runs.get(run as usize).map(|run| run.run_id);
        let is_confirmed = self.until > self.at;
        Some(Change {
            model: Some(key.model),
            gpu: key.gpu,
            world_size: key.world_size,
            metric: key.metric,
            name: key.name,
            dims: key.dims,
            build: build(self.at)?,
            level: if is_confirmed {
                Level::Confirmed
            } else {
                Level::Alarm
            },
            confirmed_by: build(self.at + 1).filter(|_| is_confirmed),
            ratio: judged.ratio.ratio,
            low: judged.ratio.interval.map(|(low, _)| low),
            high: judged.ratio.interval.map(|(_, high)| high),
            p: judged.p,
            n_new: count(new.len()),
            n_base: count(base.len()),
            n_base_builds: count(judged.n_base),
            base_first: build(self.at.checked_sub(judged.n_base)?)?,
            base_last: build(self.at.checked_sub(1)?)?,
            new_ns: middle(&new)?,
            base_ns: middle(&base)?,
            new_run: run_id(nearest_to_middle(&new)?)?,
            base_run: run_id(nearest_to_middle(&base)?)?,
        })
    }

    /// All builds of the series, from the first that it is compared with.
    fn history(&self, regression: u32, builds: &Builds) -> Vec<Point> {
        let first = self.at.saturating_sub(self.judged.n_base);
        let points = self.series.builds.iter().skip(first).filter_map(|build| {
            Some(Point {
                regression,
                build: builds.at(build.build),
                n_runs: count(build.values.len()),
                median_ns: middle(&build.values)?,
            })
        });
        points.collect()
    }
}

fn runs(values: Vec<Value>) -> Vec<u32> {
    values.into_iter().map(|(_, run)| run).collect()
}

/// The median in nanoseconds.
fn middle(values: &[Value]) -> Option<i64> {
    let times: Vec<f64> = values.iter().map(|(ns, _)| *ns).collect();
    median(&times).map(|ns| ns.round() as i64)
}

/// The run whose time is nearest to the median, the first one if there are several.
fn nearest_to_middle(values: &[Value]) -> Option<u32> {
    let middle = middle(values)? as f64;
    let apart = |(ns, _): &Value| (ns - middle).abs();
    let nearest = values
        .iter()
        .min_by(|one, other| apart(one).total_cmp(&apart(other)));
    nearest.map(|(_, run)| *run)
}

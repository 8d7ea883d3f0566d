//! Steps of a serving engine one by one: how long each takes compared with similar steps, how that changes over the
//! recording, and the batches and graphs behind it.

mod chart;
mod facts;
mod median;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::assess::Thresholds;
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::sort::{Arrange, Gather};
use crate::base::stats::median_ns;
use crate::base::trend::trend;
use crate::names::batch::{Batch, Phase};
use crate::profile::serving::{Activity, Serving, ServingStep, StepLength};
use crate::trace::{EventId, TrackId};

pub use chart::{StepBar, StepChart, batch_table, denoising_table, graph_table};
pub(crate) use facts::facts;
pub use facts::{slow, steady_text, trend_sentences};
pub use median::median_step;

/// A step compared with similar steps.
#[derive(Debug, Clone, Copy)]
pub struct StepFigures<'a> {
    /// Its position among all steps, from 1.
    pub number: usize,
    /// The step.
    pub step: &'a ServingStep,
    /// Its GPU activity.
    pub activity: Activity,
    /// How long it takes.
    pub length: StepLength,
    /// The position of the first graph that it replays in [`Serving::graphs`].
    pub graph: Option<usize>,
    /// The median of similar steps: those of its phase with about as many tokens, or of its graph if tokens are
    /// unknown; `None` if there are too few of them.
    pub usual_ns: Option<i64>,
    /// Whether it takes much longer than they do.
    pub is_slow: bool,
}

impl StepFigures<'_> {
    /// How much longer it takes than similar steps.
    pub fn over_ns(&self) -> Option<i64> {
        Some(self.length.ns.saturating_sub(self.usual_ns?))
    }

    /// The phase of its requests.
    pub fn phase(&self) -> &'static str {
        phase_label(self.step.phase())
    }
}

pub(crate) fn phase_label(phase: Option<Phase>) -> &'static str {
    phase.map_or("unknown phase", Phase::label)
}

/// Minimum number of similar steps, including the step itself.
const LEAST_ALIKE: usize = 4;
/// Steps are similar if their tokens differ by at most this percentage.
const ALIKE_PERCENT: u64 = 10;
/// A slow step is more than this many median absolute deviations above the median.
const LEAST_DEVIATIONS: i64 = 5;

/// The steps that have GPU activity, in the order in which the CPU ran them.
pub fn step_figures<'a>(serving: &'a Serving, thresholds: &Thresholds) -> Vec<StepFigures<'a>> {
    let graphs = first_graphs(serving);
    let working = serving.steps.iter().zip(1..).filter_map(|(step, number)| {
        Some(StepFigures {
            number,
            step,
            activity: step.activity?,
            length: step.length?,
            graph: graphs.get(&(step.track, step.event)).copied(),
            usual_ns: None,
            is_slow: false,
        })
    });
    let mut figures: Vec<StepFigures> = working.collect();
    let usual = Usual::new(&figures);
    for step in &mut figures {
        let Some((median_ns, deviation_ns)) = usual.of(step) else {
            continue;
        };
        let over_ns = step.length.ns.saturating_sub(median_ns);
        let percent = percent_or_zero(over_ns, median_ns);
        step.usual_ns = Some(median_ns);
        step.is_slow = percent >= thresholds.step_slow_percent
            && over_ns > deviation_ns.saturating_mul(LEAST_DEVIATIONS);
    }
    figures
}

/// The position of the first graph that each step replays, by thread and event of the step.
fn first_graphs(serving: &Serving) -> BTreeMap<(TrackId, EventId), usize> {
    let mut calls: Vec<(i64, usize)> = Vec::new();
    for (at, graph) in serving.graphs.iter().enumerate() {
        let starts = graph.replays.iter().map(|replay| replay.on_host.start_ns);
        calls.extend(starts.map(|ns| (ns, at)));
    }
    calls.arrange();
    let steps = serving.steps.iter().filter_map(|step| {
        let first = calls.partition_point(|(ns, _)| *ns < step.on_host.start_ns);
        let (ns, graph) = calls.get(first)?;
        let is_inside = step.on_host.contains(*ns);
        is_inside.then_some(((step.track, step.event), *graph))
    });
    steps.gather()
}

/// Phase, tokens, and the graph if tokens are unknown.
type Alike = (Option<Phase>, Option<u64>, Option<usize>);

/// The median of similar steps, and their median absolute deviation.
struct Usual {
    by_size: BTreeMap<Alike, Option<(i64, i64)>>,
}

impl Usual {
    fn new(steps: &[StepFigures]) -> Usual {
        let mut sizes: BTreeMap<Alike, Vec<i64>> = BTreeMap::new();
        for figures in steps {
            let of_size = sizes.entry(alike(figures)).or_default();
            of_size.push(figures.length.ns);
        }
        let usual = |(phase, tokens, graph): Alike| {
            let range = match tokens {
                Some(n) => (phase, Some(least(n)), graph)..=(phase, Some(most(n)), graph),
                None => (phase, None, graph)..=(phase, None, graph),
            };
            let times = sizes
                .range(range)
                .flat_map(|(_, times)| times.iter().copied());
            let times: Vec<i64> = times.collect();
            if times.len() < LEAST_ALIKE {
                return None;
            }
            let median = median_ns(times.clone())?;
            let away = times.iter().map(|ns| (ns - median).abs());
            Some((median, median_ns(away.collect())?))
        };
        Usual {
            by_size: sizes.keys().map(|size| (*size, usual(*size))).gather(),
        }
    }

    fn of(&self, step: &StepFigures) -> Option<(i64, i64)> {
        self.by_size.get(&alike(step)).copied().flatten()
    }
}

fn alike(figures: &StepFigures) -> Alike {
    let step = figures.step;
    let tokens = step.batch.and_then(|batch| batch.tokens());
    (
        step.phase(),
        tokens,
        figures.graph.filter(|_| tokens.is_none()),
    )
}

fn least(tokens: u64) -> u64 {
    tokens - tokens / 100 * ALIKE_PERCENT - tokens % 100 * ALIKE_PERCENT / 100
}

fn most(tokens: u64) -> u64 {
    tokens.saturating_add(tokens / ALIKE_PERCENT)
}

/// How the time of a step changes over the recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTrend {
    /// The phase of their requests.
    pub phase: Option<Phase>,
    /// Number of steps that show it.
    pub n_steps: usize,
    /// Requests per step, if annotations contain them.
    pub requests: Option<u64>,
    /// Average change from one step to the next.
    pub slope_ns: f64,
    /// Change from the first step to the last.
    pub change_ns: f64,
    /// The same as a percentage of the median.
    pub change_percent: f64,
    /// How the KV tokens of a step change in the same period, in percent.
    pub kv_change_percent: Option<f64>,
}

impl StepTrend {
    /// "decode steps of 32 requests grow by 3.1 % (0.33 ms) over 120 steps, 2.8 µs a step; their KV tokens
    /// grow by 12 %"
    pub fn sentence(&self) -> String {
        let requests = self
            .requests
            .map(|n| format!(" of {}", format::counted(n, "request")));
        let verb = |change: f64| if change < 0.0 { "shrink" } else { "grow" };
        let kv = self.kv_change_percent.filter(|change| change.abs() >= 0.1);
        let kv = kv.map(|change| {
            let percent = format::percent(change.abs());
            format!("; their KV tokens {} by {percent}", verb(change))
        });
        format!(
            "{}steps{} {} by {} ({}) over {}, {} a step{}",
            self.phase
                .map_or(String::new(), |phase| format!("{} ", phase.label())),
            requests.unwrap_or_default(),
            verb(self.change_ns),
            format::percent(self.change_percent.abs()),
            format::time_ns(self.change_ns.abs() as i64),
            format::counted(self.n_steps as u64, "step"),
            format::time_ns(self.slope_ns.abs() as i64),
            kv.unwrap_or_default()
        )
    }
}

/// Trends of the step time for each phase, among its steps with the most common number of requests, or with the most
/// common graph if requests are unknown. Trends that may be due to chance or are small are left out.
pub fn step_trends(steps: &[StepFigures], thresholds: &Thresholds) -> Vec<StepTrend> {
    let mut groups: BTreeMap<Alike, Vec<&StepFigures>> = BTreeMap::new();
    for figures in steps {
        let requests = figures.step.batch.and_then(|batch| batch.requests());
        let graph = figures.graph.filter(|_| requests.is_none());
        // If the batch is unknown, a trend means nothing.
        if requests.is_some() || graph.is_some() {
            let key = (figures.step.phase(), requests, graph);
            groups.entry(key).or_default().push(figures);
        }
    }
    let mut largest: BTreeMap<Option<Phase>, (Option<u64>, Vec<&StepFigures>)> = BTreeMap::new();
    for ((phase, requests, _), group) in groups {
        let known = largest.entry(phase).or_default();
        if group.len() > known.1.len() {
            *known = (requests, group);
        }
    }
    let trends = largest
        .into_iter()
        .filter_map(|(phase, (requests, group))| {
            // The last step has a different basis if nothing follows it.
            let basis = group.first()?.length.basis;
            let same = group.iter().filter(|one| one.length.basis == basis);
            let same: Vec<&StepFigures> = same.copied().collect();
            let times: Vec<f64> = same.iter().map(|one| one.length.ns as f64).collect();
            let found = trend(&times)?;
            let median = median_ns(same.iter().map(|one| one.length.ns).collect())?;
            let change_percent = found.change / median.max(1) as f64 * 100.0;
            let is_large = change_percent.abs() >= thresholds.step_trend_percent;
            is_large.then(|| StepTrend {
                phase,
                n_steps: same.len(),
                requests,
                slope_ns: found.slope,
                change_ns: found.change,
                change_percent,
                kv_change_percent: kv_change(&same),
            })
        });
    trends.collect()
}

/// How the KV tokens per step change over some steps, as a percentage of their mean.
fn kv_change(steps: &[&StepFigures]) -> Option<f64> {
    let tokens: Option<Vec<f64>> = steps
        .iter()
        .map(|one| Some(one.step.batch?.kv_tokens()? as f64))
        .collect();
    let tokens = tokens?;
    let mean = tokens.iter().sum::<f64>() / tokens.len().max(1) as f64;
    let change = trend(&tokens)?.change;
    (mean > 0.0).then(|| change / mean * 100.0)
}

/// Steps of one phase and batch size, or all of a phase.
#[derive(Debug, Clone)]
pub(crate) struct BatchFigures {
    pub(crate) phase: Option<Phase>,
    /// Requests and tokens of each step; `None` for all steps of the phase.
    pub(crate) size: Option<(Option<u64>, Option<u64>)>,
    pub(crate) n_steps: usize,
    pub(crate) kv_tokens: Option<u64>,
    pub(crate) lengths_ns: Vec<i64>,
    pub(crate) busy_ns: Vec<i64>,
    /// Tokens of all steps, if known for each.
    pub(crate) n_tokens: Option<u64>,
}

impl BatchFigures {
    fn new(
        phase: Option<Phase>,
        size: Option<(Option<u64>, Option<u64>)>,
        steps: &[&StepFigures],
    ) -> BatchFigures {
        let batches = || steps.iter().map(|one| one.step.batch);
        let counts = |of: fn(&Batch) -> Option<u64>| -> Option<Vec<i64>> {
            batches().map(|batch| Some(of(&batch?)? as i64)).collect()
        };
        let kv_tokens = counts(Batch::kv_tokens).and_then(median_ns);
        BatchFigures {
            phase,
            size,
            n_steps: steps.len(),
            kv_tokens: kv_tokens.map(|n| n as u64),
            lengths_ns: steps.iter().map(|one| one.length.ns).collect(),
            busy_ns: steps.iter().map(|one| one.length.busy_ns).collect(),
            n_tokens: counts(Batch::tokens).map(|all| sum(all) as u64),
        }
    }

    /// The median of a step.
    pub(crate) fn median_ns(&self) -> i64 {
        median_ns(self.lengths_ns.clone()).unwrap_or(0)
    }

    /// The time of all steps per token computed.
    pub(crate) fn ns_per_token(&self) -> Option<f64> {
        let tokens = self.n_tokens.filter(|n| *n > 0)?;
        Some(sum(self.lengths_ns.iter().copied()) as f64 / tokens as f64)
    }
}

/// Steps by phase, each followed by its batch sizes if there are several, smallest first.
pub(crate) fn by_batch(steps: &[StepFigures]) -> Vec<BatchFigures> {
    let mut phases: BTreeMap<Option<Phase>, Vec<&StepFigures>> = BTreeMap::new();
    for figures in steps {
        phases
            .entry(figures.step.phase())
            .or_default()
            .push(figures);
    }
    let mut all = Vec::new();
    for (phase, steps) in phases {
        let mut sizes: BTreeMap<(Option<u64>, Option<u64>), Vec<&StepFigures>> = BTreeMap::new();
        for figures in &steps {
            let batch = figures.step.batch;
            let count = |of: fn(&Batch) -> Option<u64>| batch.as_ref().and_then(of);
            let size = (count(Batch::requests), count(Batch::tokens));
            sizes.entry(size).or_default().push(figures);
        }
        all.push(BatchFigures::new(phase, None, &steps));
        let sizes = sizes.into_iter().filter(|(size, _)| *size != (None, None));
        all.extend(sizes.map(|(size, steps)| BatchFigures::new(phase, Some(size), &steps)));
    }
    all
}

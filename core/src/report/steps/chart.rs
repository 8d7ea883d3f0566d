//! The steps as bars over the recording, and tables of their batches and graphs, as view data.

use serde::{Deserialize, Serialize};

use super::{BatchFigures, StepFigures, by_batch, phase_label};
use crate::base::format;
use crate::base::stats::{median_ns, quantile_ns};
use crate::base::value::cell_columns;
use crate::names::batch::{Batch, Phase};
use crate::profile::serving::{GraphFacts, Serving, StageKind};
use crate::report::fact_table::{CellKind, FactRow, FactTable};
use crate::trace::Trace;

/// Maximum number of bars; with more steps, several share one.
const MOST_BARS: usize = 400;
/// Maximum rows of the batch table.
const MOST_BATCHES: usize = 30;
/// Maximum rows of the graph table.
const MOST_GRAPHS: usize = 40;

/// A bar for each step: its time above, its tokens below.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepChart {
    /// In execution order.
    pub bars: Vec<StepBar>,
    /// The value at full height.
    pub top: String,
    /// The same for tokens; empty if none are known.
    pub tokens_top: String,
    /// The color legend: token and text of each.
    pub phases: Vec<(String, String)>,
    /// Number of steps per bar; the longest of them is drawn.
    pub per_bar: usize,
}

/// A step, or the longest of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepBar {
    /// The position of the step, from 1.
    pub number: usize,
    /// The name of its color.
    pub token: String,
    /// Its time in percent of the full height.
    pub percent: f64,
    /// Whether it exceeds the full height.
    pub is_cut: bool,
    /// Its tokens as a percentage of the maximum.
    pub tokens_percent: f64,
    /// Whether it takes much longer than similar steps.
    pub is_slow: bool,
    /// Its description.
    pub text: String,
}

impl StepChart {
    /// `None` for fewer than two steps.
    pub fn new(steps: &[StepFigures]) -> Option<StepChart> {
        /// A step this many times as long as the 95th percentile is cut.
        const MOST_OVER: i64 = 4;
        let lengths = || steps.iter().map(|step| step.length.ns);
        let longest_ns = lengths().max().filter(|_| steps.len() > 1)?;
        let usual_ns = quantile_ns(lengths().collect(), 0.95).unwrap_or(longest_ns);
        let top_ns = longest_ns.min(usual_ns.saturating_mul(MOST_OVER)).max(1);
        let most_tokens = steps.iter().filter_map(tokens).max();
        let per_bar = steps.len().div_ceil(MOST_BARS);
        let bar = |group: &[StepFigures]| {
            let step = group.iter().max_by_key(|step| step.length.ns)?;
            let share = |n: u64| n as f64 / most_tokens.unwrap_or(1).max(1) as f64 * 100.0;
            Some(StepBar {
                number: step.number,
                token: phase_label(step.step.phase()).replace(' ', "-"),
                percent: step.length.ns.min(top_ns) as f64 / top_ns as f64 * 100.0,
                is_cut: step.length.ns > top_ns,
                tokens_percent: tokens(step).map_or(0.0, share),
                is_slow: group.iter().any(|step| step.is_slow),
                text: text(step),
            })
        };
        let all = Phase::ALL.into_iter().map(Some).chain([None]);
        let phases = all.filter_map(|phase| {
            let n = steps
                .iter()
                .filter(|step| step.step.phase() == phase)
                .count();
            let label = phase_label(phase);
            let noun = phase.map_or("step".to_owned(), |_| format!("{label} step"));
            let text = format::counted(n as u64, &noun);
            (n > 0).then(|| (label.replace(' ', "-"), text))
        });
        Some(StepChart {
            bars: steps.chunks(per_bar).filter_map(bar).collect(),
            top: format::time_ns(top_ns),
            tokens_top: most_tokens.map_or(String::new(), |n| format::counted(n, "token")),
            phases: phases.collect(),
            per_bar,
        })
    }
}

fn tokens(step: &StepFigures) -> Option<u64> {
    step.step.batch?.tokens()
}

/// "Step 12: decode, 32 requests, 32 tokens, 10.7 ms"
fn text(step: &StepFigures) -> String {
    let batch = step.step.batch;
    let counted = |n: Option<u64>, noun: &str| n.map(|n| format!("{}, ", format::counted(n, noun)));
    let over = step.over_ns().filter(|_| step.is_slow);
    let over = over.map(|ns| format!(", {} longer than similar steps", format::time_ns(ns)));
    let phase = step
        .step
        .phase()
        .map(|phase| format!("{}, ", phase.label()));
    format!(
        "Step {}: {}{}{}{}{}",
        step.number,
        phase.unwrap_or_default(),
        counted(batch.and_then(|batch| batch.requests()), "request").unwrap_or_default(),
        counted(batch.and_then(|batch| batch.tokens()), "token").unwrap_or_default(),
        format::time_ns(step.length.ns),
        over.unwrap_or_default()
    )
}

fn count(n: Option<u64>) -> String {
    n.map_or(String::new(), format::count)
}

/// Steps by phase and batch size: medians.
pub fn batch_table(steps: &[StepFigures]) -> Option<FactTable> {
    use CellKind::{Number, Text};
    let rows = by_batch(steps);
    let title = match rows.len() > MOST_BATCHES {
        true => "By phase and batch size: medians (all are in serving_batches.csv)",
        false => "By phase and batch size: medians",
    };
    let phase = |row: &BatchFigures| match (row.size, phase_label(row.phase)) {
        (Some(_), phase) => phase.to_owned(),
        (None, phase) => format!("{phase}, all"),
    };
    FactTable::of(
        title,
        rows.iter().take(MOST_BATCHES),
        cell_columns![
            "Phase", Text, |row| phase(row);
            "Requests", Number, |row| count(row.size.and_then(|size| size.0));
            "Tokens", Number, |row| count(row.size.and_then(|size| size.1));
            "KV tokens", Number, |row| count(row.kv_tokens);
            "Steps", Number, |row| format::count(row.n_steps as u64);
            "Step time", Number, |row| format::time_ns(row.median_ns());
            "GPU busy", Number, |row| median_ns(row.busy_ns.clone()).map_or(String::new(), format::time_ns);
            "Per token", Number, |row| row.ns_per_token().map_or(String::new(), |ns| format::time_us(ns / 1e3));
        ],
        |_| FactRow::default(),
    )
}

/// The replayed graphs, with the batches that they serve.
pub fn graph_table(trace: &Trace, serving: &Serving) -> Option<FactTable> {
    use CellKind::{Name, Number, Text};
    let range = |range: Option<(u64, u64)>| match range {
        Some((least, most)) if least == most => format::count(most),
        Some((least, most)) => format::range(&format::count(least), &format::count(most)),
        None => String::new(),
    };
    let padding = |graph: &GraphFacts| {
        let is_named = graph.captured_for().is_some_and(|one| one.is_named);
        let padding = graph.padding_percent().map(|percent| match is_named {
            true => format::percent(percent),
            false => format!("at least {}", format::percent(percent)),
        });
        padding.unwrap_or_default()
    };
    let n = serving.graphs.len();
    let title = match n > MOST_GRAPHS {
        true => format!(
            "GPU graphs: the longest {MOST_GRAPHS} of {}",
            format::count(n as u64)
        ),
        false => "GPU graphs".to_owned(),
    };
    FactTable::of(
        title,
        serving.graphs.iter().take(MOST_GRAPHS),
        cell_columns![
            "Longest kernel", Name, |graph| format::kernel_name(trace.name(graph.longest));
            "Kernels", Number, |graph| format::count(graph.n_work as u64);
            "Replays", Number, |graph| format::count(graph.replays.len() as u64);
            "Replay", Number, |graph| format::time_ns(graph.median_ns());
            "All replays", Number, |graph| format::time_ns(graph.ns());
            "Phases", Text, |graph| format::joined(graph.phases().into_iter().map(Phase::label), ", ");
            "Requests", Number, |graph| range(graph.range(Batch::requests));
            "Tokens", Number, |graph| range(graph.range(Batch::tokens));
            "Padding", Number, |graph| padding(graph);
        ],
        |graph| FactRow {
            event: (graph.replays.first()).map(|replay| trace.events.uid(replay.call)),
            ..FactRow::default()
        },
    )
}

/// The denoising steps of a diffusion pipeline, one after the other.
pub fn denoising_table(serving: &Serving) -> Option<FactTable> {
    use CellKind::{Number, Text};
    serving.of(Some(Phase::Diffusion)).next()?;
    let mut stages = serving.stages.iter();
    let stage = stages.find(|stage| stage.kind == StageKind::Steps && stage.parts.len() > 1)?;
    let (first, median) = (stage.parts.first()?.start_ns, stage.median_ns()?);
    let title = match stage.parts.len() {
        n if n > MOST_BATCHES => format!("The first {MOST_BATCHES} of {n} denoising steps"),
        _ => "Denoising steps".to_owned(),
    };
    FactTable::of(
        title,
        (1..).zip(stage.parts.iter().take(MOST_BATCHES)),
        cell_columns![
            "Denoising step", Text, |(number, _): &(i32, _)| number.to_string();
            "Starts after", Number, |(_, span)| format::time_ns(span.start_ns.saturating_sub(first));
            "Time", Number, |(_, span)| format::time_ns(span.length());
            "Over the median", Number, |(_, span)| format::signed_time_ns(span.length().saturating_sub(median));
        ],
        |_| FactRow::default(),
    )
}

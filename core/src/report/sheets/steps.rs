//! The sheets of steps, batches and graphs.

use super::SheetInput;
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::stats::median_ns;
use crate::names::batch::{Batch, Phase};
use crate::profile::serving::GraphFacts;
use crate::profile::window::begin_ns;
use crate::report::columns::{Col, columns, float, int, known, ms, ms_of, percent, rows, text};
use crate::report::sheet::Cell;
use crate::report::steps::{BatchFigures, StepFigures, by_batch, phase_label, step_figures};

pub(crate) const STEPS: &str = "serving_steps";
pub(crate) const BATCHES: &str = "serving_batches";
pub(crate) const GRAPHS: &str = "serving_graphs";

pub(crate) fn step_columns<'a>() -> Vec<Col<StepRow<'a>>> {
    columns![StepRow<'_>:
        "step", Count, |of| int(of.figures.number), "Its position among the steps, from 1; `--step` takes it.";
        "phase", Text, |of| phase_cell(of.figures.step.phase()), "What its requests do: prefill, decode, mixed, draft, idle, or diffusion; empty if unknown.";
        "start ms", Ms, |of| ms(of.figures.activity.span.start_ns.saturating_sub(of.begin_ns)), "When its GPU activity starts, after the first event of the trace.";
        "requests", Count, |of| of.batch(Batch::requests), "Requests of its batch.";
        "tokens", Count, |of| of.batch(Batch::tokens), "Tokens that it computes.";
        "KV tokens", Count, |of| of.batch(Batch::kv_tokens), "Tokens that it attends to, the new ones included.";
        "padded to", Count, |of| of.batch(|batch| batch.padded_to), "Requests that its graph was captured for, where the annotation says so.";
        "step time ms", Ms, |of| ms(of.figures.length.ns), "How long it takes.";
        "step time is", Text, |of| text(of.figures.length.basis.short()), "`to the next step`: until the GPU activity of the next step starts. `GPU span`: from its own first to its last GPU activity, where no step follows.";
        "GPU span ms", Ms, |of| ms(of.figures.activity.span.length()), "From its first to its last GPU activity.";
        "GPU busy ms", Ms, |of| ms(of.figures.length.busy_ns), "Part of the step time in which anything runs on the GPU.";
        "GPU idle ms", Ms, |of| ms(of.figures.length.idle_ns()), "The rest of the step time.";
        "kernels", Count, |of| int(of.figures.activity.n_work), "Kernels, copies and fills that it launched.";
        "launches", Count, |of| int(of.figures.activity.n_launches), "Calls that launched them; a graph is one.";
        "graph replays", Count, |of| int(of.figures.activity.n_replays), "Those of them that launched graphs.";
        "usual step time ms", Ms, |of| ms_of(of.figures.usual_ns), "Median of the steps like it: same phase, tokens within 10 %; empty where they are fewer than four.";
        "over usual ms", Ms, |of| ms_of(of.figures.over_ns()), "How much longer it takes than that.";
        "over usual (%)", Percent, |of| float(of.over_percent()), "How much longer it takes than that, in percent of that.";
        "slow", Flag, |of| Cell::Flag(of.figures.is_slow), "True where it exceeds the threshold for slow steps and the usual variation.";
    ]
}

pub(crate) fn batch_columns<'a>() -> Vec<Col<BatchRow<'a>>> {
    columns![BatchRow<'_>:
        "phase", Text, |of| phase_cell(of.figures.phase), "What the requests of these steps do; empty if unknown.";
        "batch", Text, |of| text(if of.figures.size.is_some() { "one size" } else { "all" }), "`all` steps of the phase, or those of one size.";
        "requests", Count, |of| known(of.size().0), "Requests of each of these steps.";
        "tokens", Count, |of| known(of.size().1), "Tokens that each computes.";
        "KV tokens", Count, |of| known(of.figures.kv_tokens), "Tokens that a step attends to, the median.";
        "steps", Count, |of| int(of.figures.n_steps), "How many steps they are.";
        "step time ms", Ms, |of| ms(of.figures.median_ns()), "Median of the step times.";
        "step time ms_min", Ms, |of| ms_of(of.lengths().min()), "The shortest step.";
        "step time ms_max", Ms, |of| ms_of(of.lengths().max()), "The longest step.";
        "GPU busy ms", Ms, |of| ms_of(median_ns(of.figures.busy_ns.clone())), "Part of a step in which anything runs on the GPU, the median.";
        "ms per token", Ms, |of| float(of.figures.ns_per_token().map(|ns| ns / 1e6)), "Time of all these steps for each token that they compute.";
        "Percentage (%)", Percent, |of| percent(sum(of.lengths()), Some(of.all_ns)), "Share of the time of all steps.";
    ]
}

pub(crate) fn graph_columns<'a>() -> Vec<Col<GraphRow<'a>>> {
    columns![GraphRow<'_>:
        "graph", Count, |of| int(of.number), "Its number, by the time of all replays, the longest first.";
        "kernels", Count, |of| int(of.graph.n_work), "Kernels, copies and fills of a replay.";
        "replays", Count, |of| int(of.graph.replays.len()), "How often it is replayed.";
        "replay ms", Ms, |of| ms(of.graph.median_ns()), "From the first to the last GPU activity of a replay, the median.";
        "all replays ms", Ms, |of| ms(of.graph.ns()), "The time of all its replays.";
        "Percentage (%)", Percent, |of| percent(of.graph.ns(), Some(of.all_ns)), "Share of the time of the replays of all graphs.";
        "phases", Text, |of| text(&format::joined(of.graph.phases().into_iter().map(Phase::label), ", ")), "What the requests of the steps do that replay it.";
        "requests_min", Count, |of| known(of.requests().map(|range| range.0)), "The fewest requests of a step that replays it.";
        "requests_max", Count, |of| known(of.requests().map(|range| range.1)), "The most requests of such a step.";
        "tokens_min", Count, |of| known(of.tokens().map(|range| range.0)), "The fewest tokens of such a step.";
        "tokens_max", Count, |of| known(of.tokens().map(|range| range.1)), "The most tokens of such a step.";
        "captured for", Count, |of| known(of.graph.captured_for().map(|one| one.n)), "Requests that it was captured for, where annotations say so; else the most tokens that it serves, which is the least that it can be captured for; empty where all its steps are of one size.";
        "captured size is", Text, |of| text(of.graph.captured_for().map_or("", |one| if one.is_named { "annotated" } else { "at least" })), "`annotated`, or `at least`.";
        "padding (%)", Percent, |of| float(of.graph.padding_percent()), "Share of the captured batch that is padding, the mean; at least that where the size is.";
        "longest kernel", Text, |of| text(of.longest), "The kernel that takes longest in a replay: it distinguishes graphs.";
    ]
}

fn phase_cell(phase: Option<Phase>) -> Cell {
    phase.map_or(Cell::Empty, |phase| text(phase_label(Some(phase))))
}

pub(crate) struct StepRow<'a> {
    figures: StepFigures<'a>,
    begin_ns: i64,
}

impl StepRow<'_> {
    fn batch(&self, number: fn(&Batch) -> Option<u64>) -> Cell {
        known(self.figures.step.batch.as_ref().and_then(number))
    }

    fn over_percent(&self) -> Option<f64> {
        percent_of(self.figures.over_ns()?, self.figures.usual_ns?)
    }
}

pub(crate) fn step_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let begin_ns = begin_ns(&input.profile.trace);
    let steps = figures(input).into_iter();
    rows(
        &step_columns(),
        steps.map(|figures| StepRow { figures, begin_ns }),
    )
}

/// The steps of a serving engine, if there are any.
fn figures<'a>(input: &SheetInput<'a>) -> Vec<StepFigures<'a>> {
    let serving = input.profile.serving();
    serving.map_or_else(Vec::new, |serving| {
        step_figures(serving, &input.options.thresholds)
    })
}

pub(crate) struct BatchRow<'a> {
    figures: &'a BatchFigures,
    all_ns: i64,
}

impl BatchRow<'_> {
    /// Requests and tokens.
    fn size(&self) -> (Option<u64>, Option<u64>) {
        self.figures.size.unwrap_or_default()
    }

    fn lengths(&self) -> impl Iterator<Item = i64> {
        self.figures.lengths_ns.iter().copied()
    }
}

pub(crate) fn batch_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let steps = figures(input);
    let all_ns = sum(steps.iter().map(|step| step.length.ns));
    let batches = by_batch(&steps);
    let batches = batches.iter();
    rows(
        &batch_columns(),
        batches.map(|figures| BatchRow { figures, all_ns }),
    )
}

pub(crate) struct GraphRow<'a> {
    number: usize,
    graph: &'a GraphFacts,
    all_ns: i64,
    longest: &'a str,
}

impl GraphRow<'_> {
    fn requests(&self) -> Option<(u64, u64)> {
        self.graph.range(Batch::requests)
    }

    fn tokens(&self) -> Option<(u64, u64)> {
        self.graph.range(Batch::tokens)
    }
}

pub(crate) fn graph_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let serving = input.profile.serving();
    let graphs = serving.map_or(&[][..], |serving| &serving.graphs);
    let all_ns = sum(graphs.iter().map(GraphFacts::ns));
    let graphs = (1..).zip(graphs).map(|(number, graph)| GraphRow {
        number,
        graph,
        all_ns,
        longest: input.profile.trace.name(graph.longest),
    });
    rows(&graph_columns(), graphs)
}

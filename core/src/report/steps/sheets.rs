//! The sheets of steps, batches and graphs.

use super::{BatchFigures, StepFigures, by_batch, phase_label, step_figures};
use crate::base::interval::sum;
use crate::base::stats::median_ns;
use crate::names::batch::{Batch, Phase};
use crate::profile::lanes::begin_ns;
use crate::profile::serving::{GraphFacts, Serving};
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::report::{SheetInput, ms, percent};

pub(crate) const STEPS: &str = "serving_steps";
pub(crate) const BATCHES: &str = "serving_batches";
pub(crate) const GRAPHS: &str = "serving_graphs";

#[rustfmt::skip]
pub(crate) const STEP_COLUMNS: [Column; 19] = [
    column("step", Unit::Count, "Its position among the steps, from 1; `--step` takes it."),
    column("phase", Unit::Text, "What its requests do: prefill, decode, mixed, draft, idle, or diffusion; empty if unknown."),
    column("start ms", Unit::Ms, "When its GPU activity starts, after the first event of the trace."),
    column("requests", Unit::Count, "Requests of its batch."),
    column("tokens", Unit::Count, "Tokens that it computes."),
    column("KV tokens", Unit::Count, "Tokens that it attends to, the new ones included."),
    column("padded to", Unit::Count, "Requests that its graph was captured for, where the annotation says so."),
    column("step time ms", Unit::Ms, "How long it takes."),
    column("step time is", Unit::Text, "`to the next step`: until the GPU activity of the next step starts. `GPU span`: from its own first to its last GPU activity, where no step follows."),
    column("GPU span ms", Unit::Ms, "From its first to its last GPU activity."),
    column("GPU busy ms", Unit::Ms, "Part of the step time in which anything runs on the GPU."),
    column("GPU idle ms", Unit::Ms, "The rest of the step time."),
    column("kernels", Unit::Count, "Kernels, copies and fills that it launched."),
    column("launches", Unit::Count, "Calls that launched them; a graph is one."),
    column("graph replays", Unit::Count, "Those of them that launched graphs."),
    column("usual step time ms", Unit::Ms, "Median of the steps like it: same phase, tokens within 10 %; empty where they are fewer than four."),
    column("over usual ms", Unit::Ms, "How much longer it takes than that."),
    column("over usual (%)", Unit::Percent, "How much longer it takes than that, in percent of that."),
    column("slow", Unit::Flag, "True where it exceeds the threshold for slow steps and the usual variation."),
];

#[rustfmt::skip]
pub(crate) const BATCH_COLUMNS: [Column; 12] = [
    column("phase", Unit::Text, "What the requests of these steps do; empty if unknown."),
    column("batch", Unit::Text, "`all` steps of the phase, or those of one size."),
    column("requests", Unit::Count, "Requests of each of these steps."),
    column("tokens", Unit::Count, "Tokens that each computes."),
    column("KV tokens", Unit::Count, "Tokens that a step attends to, the median."),
    column("steps", Unit::Count, "How many steps they are."),
    column("step time ms", Unit::Ms, "Median of the step times."),
    column("step time ms_min", Unit::Ms, "The shortest step."),
    column("step time ms_max", Unit::Ms, "The longest step."),
    column("GPU busy ms", Unit::Ms, "Part of a step in which anything runs on the GPU, the median."),
    column("ms per token", Unit::Ms, "Time of all these steps for each token that they compute."),
    column("Percentage (%)", Unit::Percent, "Share of the time of all steps."),
];

#[rustfmt::skip]
pub(crate) const GRAPH_COLUMNS: [Column; 15] = [
    column("graph", Unit::Count, "Its number, by the time of all replays, the longest first."),
    column("kernels", Unit::Count, "Kernels, copies and fills of a replay."),
    column("replays", Unit::Count, "How often it is replayed."),
    column("replay ms", Unit::Ms, "From the first to the last GPU activity of a replay, the median."),
    column("all replays ms", Unit::Ms, "The time of all its replays."),
    column("Percentage (%)", Unit::Percent, "Share of the time of the replays of all graphs."),
    column("phases", Unit::Text, "What the requests of the steps do that replay it."),
    column("requests_min", Unit::Count, "The fewest requests of a step that replays it."),
    column("requests_max", Unit::Count, "The most requests of such a step."),
    column("tokens_min", Unit::Count, "The fewest tokens of such a step."),
    column("tokens_max", Unit::Count, "The most tokens of such a step."),
    column("captured for", Unit::Count, "Requests that it was captured for, where annotations say so; else the most tokens that it serves, which is the least that it can be captured for; empty where all its steps are of one size."),
    column("captured size is", Unit::Text, "`annotated`, or `at least`."),
    column("padding (%)", Unit::Percent, "Share of the captured batch that is padding, the mean; at least that where the size is."),
    column("longest kernel", Unit::Text, "The kernel that takes longest in a replay: it tells graphs apart."),
];

fn count(n: Option<u64>) -> Cell {
    n.and_then(|n| i64::try_from(n).ok())
        .map_or(Cell::Empty, Cell::Int)
}

fn number(n: usize) -> Cell {
    count(u64::try_from(n).ok())
}

fn text(of: &str) -> Cell {
    Cell::Text(of.to_owned())
}

fn phase_cell(phase: Option<Phase>) -> Cell {
    phase.map_or(Cell::Empty, |phase| text(phase_label(Some(phase))))
}

pub(crate) fn step_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let Some(serving) = input.profile.serving() else {
        return Vec::new();
    };
    let begin_ns = begin_ns(&input.profile.trace);
    let steps = step_figures(serving, &input.options.thresholds);
    steps.iter().map(|step| step_row(step, begin_ns)).collect()
}

fn step_row(figures: &StepFigures, begin_ns: i64) -> Vec<Cell> {
    let StepFigures {
        step,
        activity,
        length,
        ..
    } = figures;
    let of_batch = |of: fn(&Batch) -> Option<u64>| count(step.batch.as_ref().and_then(of));
    let over_ns = figures.over_ns();
    let over_percent = over_ns.map_or(Cell::Empty, |ns| percent(ns, figures.usual_ns));
    vec![
        number(figures.number),
        phase_cell(step.phase()),
        ms(activity.span.start_ns.saturating_sub(begin_ns)),
        of_batch(Batch::requests),
        of_batch(Batch::tokens),
        of_batch(Batch::kv_tokens),
        of_batch(|batch| batch.padded_to),
        ms(length.ns),
        text(length.basis.short()),
        ms(activity.span.length()),
        ms(length.busy_ns),
        ms(length.idle_ns()),
        number(activity.n_work),
        number(activity.n_launches),
        number(activity.n_replays),
        figures.usual_ns.map_or(Cell::Empty, ms),
        over_ns.map_or(Cell::Empty, ms),
        over_percent,
        Cell::Flag(figures.is_slow),
    ]
}

pub(crate) fn batch_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let Some(serving) = input.profile.serving() else {
        return Vec::new();
    };
    let steps = step_figures(serving, &input.options.thresholds);
    let all_ns = sum(steps.iter().map(|step| step.length.ns));
    let rows = by_batch(&steps);
    rows.iter().map(|row| batch_row(row, all_ns)).collect()
}

fn batch_row(row: &BatchFigures, all_ns: i64) -> Vec<Cell> {
    let (requests, tokens) = row.size.unwrap_or_default();
    let lengths = || row.lengths_ns.iter().copied();
    let ns = |ns: Option<i64>| ns.map_or(Cell::Empty, ms);
    let per_token = row.ns_per_token().map(|ns| Cell::Float(ns / 1e6));
    vec![
        phase_cell(row.phase),
        text(if row.size.is_some() {
            "one size"
        } else {
            "all"
        }),
        count(requests),
        count(tokens),
        count(row.kv_tokens),
        number(row.n_steps),
        ms(row.median_ns()),
        ns(lengths().min()),
        ns(lengths().max()),
        ns(median_ns(row.busy_ns.clone())),
        per_token.unwrap_or(Cell::Empty),
        percent(sum(lengths()), Some(all_ns)),
    ]
}

pub(crate) fn graph_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let graphs = input
        .profile
        .serving()
        .map_or(&[][..], |serving: &Serving| &serving.graphs);
    let all_ns = sum(graphs.iter().map(GraphFacts::ns));
    let trace = &input.profile.trace;
    let row = |(at, graph): (usize, &GraphFacts)| {
        let phases: Vec<&str> = graph.phases().into_iter().map(Phase::label).collect();
        let [requests, tokens] = [Batch::requests, Batch::tokens].map(|of| graph.range(of));
        let captured = graph.captured_for();
        let phases = match phases.is_empty() {
            true => Cell::Empty,
            false => Cell::Text(phases.join(", ")),
        };
        let basis = captured.map(|one| {
            if one.is_named {
                "annotated"
            } else {
                "at least"
            }
        });
        vec![
            number(at + 1),
            number(graph.n_work),
            number(graph.replays.len()),
            ms(graph.median_ns()),
            ms(graph.ns()),
            percent(graph.ns(), Some(all_ns)),
            phases,
            count(requests.map(|range| range.0)),
            count(requests.map(|range| range.1)),
            count(tokens.map(|range| range.0)),
            count(tokens.map(|range| range.1)),
            count(captured.map(|one| one.n)),
            basis.map_or(Cell::Empty, text),
            graph.padding_percent().map_or(Cell::Empty, Cell::Float),
            text(trace.name(graph.longest)),
        ]
    };
    graphs.iter().enumerate().map(row).collect()
}

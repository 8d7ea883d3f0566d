//! How steps are launched: padding to a captured size, many graphs, slow launches, a slow first layer.

use super::passes::{Kernel, Pass, Role};
use super::{Issue, Kind, Source};
use crate::base::interval::{Interval, gaps_in, union};
use crate::base::stats::median_ns;
use crate::findings::prelude::*;
use crate::hardware::roofline::Bound;
use crate::names::batch::{Engine, Phase};
use crate::profile::graphs::shapes::Source as Sizes;
use crate::profile::launch::runtime_calls::NODE_GAP_NS;
use crate::profile::serving::padding::{Padded, RowGrids, padded};
use crate::profile::serving::{Serving, ServingStep, ShapeKind};
use crate::trace::{Category, EventId};

/// A step whose size is known, with its time and its event.
type TimedStep<'a> = (&'a Padded, i64, EventId);

/// Padding rows: a graph runs with the size that it was captured for.
pub(super) fn padding(source: &Source) -> Vec<Issue> {
    /// A smaller share of the rows is not reported.
    const LEAST_PERCENT: f64 = 5.0;
    let Some(serving) = source.serving else {
        return Vec::new();
    };
    let input = source.input;
    let all = padded(input.profile);
    let of_time = all.iter().filter_map(|one| {
        let step = serving.steps.get(one.step)?;
        Some((one, step.activity?.span.length(), step.event))
    });
    let of_time: Vec<TimedStep> = of_time.collect();
    let is_padded = |one: &&TimedStep| one.0.captured > one.0.real;
    let steps: Vec<&TimedStep> = of_time.iter().filter(is_padded).collect();
    let Some((longest, ..)) = steps.iter().max_by_key(|(_, ns, _)| *ns) else {
        return Vec::new();
    };
    let empty = |steps: &mut dyn Iterator<Item = &TimedStep>| {
        crate::findings::engine::outcome::weighted(steps.map(|(one, ns, _)| (one.percent(), *ns)))
    };
    let percent = empty(&mut steps.iter().copied());
    let Some(percent) = percent.filter(|percent| *percent >= LEAST_PERCENT) else {
        return Vec::new();
    };
    let modeled = without_padding(input, empty(&mut of_time.iter()).unwrap_or(0.0));
    // An annotation says what the engine pads to; other sources may be unrelated to the graph.
    let is_sure = |one: &Padded| one.is_in_grids || one.source == Sizes::Recorded;
    let sure = steps.iter().filter(|(one, ..)| is_sure(one));
    let unmodeled: Vec<(usize, i64)> = sure
        .flat_map(|(one, ..)| empty_rows(source, serving, one))
        .collect();
    let is_unmodeled = !unmodeled.is_empty();
    let by_grids = is_unmodeled && steps.iter().any(|(one, ..)| one.is_in_grids);
    let savings = times_by_operation(modeled.into_iter().chain(unmodeled));
    let saved_ns = sum(savings.iter().map(|(_, ns)| *ns));
    let mut words = padding_words(input, serving, longest);
    words.extend([
        ("steps", format::counted(steps.len() as u64, "step")),
        ("percent", format::percent(percent)),
        holds("priced", saved_ns > 0),
        holds("by_grids", by_grids),
        holds("unmodeled", is_unmodeled),
    ]);
    let time_ns = sum(steps.iter().map(|(_, ns, _)| *ns));
    let issue = Issue {
        events: steps.iter().take(10).map(|(.., event)| *event).collect(),
        words,
        ..Issue::new(Kind::GraphPadding, time_ns)
    };
    vec![match saved_ns {
        0 => issue,
        ns => Issue {
            operations: savings.iter().map(|(at, _)| *at).collect(),
            ..issue.saving(Impact::at_most(ns), savings)
        },
    }]
}

/// The time that operations save without padding, where `empty_percent` of the rows of all steps are. Only
/// compute-bound operations get shorter with fewer tokens, until they are bound by memory: weights are read in any case.
/// The same operations run in steps without padding.
fn without_padding(input: &Input, empty_percent: f64) -> Vec<(usize, i64)> {
    let all = input.operations();
    let saved = all.filter_map(|(at, operation, evaluation)| {
        let roofline = evaluation
            .roofline
            .filter(|roofline| roofline.bound == Bound::Compute)?;
        let is_counted = !evaluation.is_anomaly && operation.is_replayed(input.profile);
        let most = 1.0 - roofline.memory_us / roofline.compute_us?;
        let ns = operation.kernel_ns as f64 * most.min(empty_percent / 100.0);
        is_counted.then_some((at, ns.round() as i64))
    });
    saved.collect()
}

/// The sizes of a step, and what sets those of graphs.
fn padding_words(input: &Input, serving: &Serving, step: &Padded) -> Words {
    let source = match step.source {
        Sizes::Recorded => String::new(),
        source => format!(", {}", source.label()),
    };
    let flag = serving.engine.and_then(Engine::graph_sizes_flags);
    let flag = flag.unwrap_or("the engine's list of graph sizes");
    let ridge = ridge_rows(input).map(|rows| format::count(rows.round() as u64));
    vec![
        ("unit", step.rows.label().to_owned()),
        ("requests", format::count(step.real)),
        ("captured", format::count(step.captured)),
        ("source", source),
        ("flag", flag.to_owned()),
        ("ridge", ridge.unwrap_or_default()),
    ]
}

/// From this number of rows on, a GEMM with weights is bound by arithmetic: each weight serves two operations a row. For
/// weights that are narrower than the arithmetic there are fewer.
fn ridge_rows(input: &Input) -> Option<f64> {
    let basis = input.options.basis;
    input.gpu()?.ridge_flops_per_byte(basis)
}

/// The time of empty rows in a step whose captured size is certain, for operations without a model: that of GEMMs down
/// to the rows from which on they are bound by arithmetic, and that of kernels with a workgroup for each row.
fn empty_rows(source: &Source, serving: &Serving, of: &Padded) -> Vec<(usize, i64)> {
    let (input, mut grids) = (source.input, RowGrids::new());
    let trace = &input.profile.trace;
    let (captured, real) = (of.captured as f64, of.real as f64);
    let of_gemm = ridge_rows(input).map(|ridge| real.max(ridge) / captured);
    let Some(step) = serving
        .steps
        .get(of.step)
        .filter(|_| source.passes.are_replays)
    else {
        return Vec::new();
    };
    let kernels = replays_of(source, step).flat_map(|pass| &pass.kernels);
    let saved = kernels.filter_map(|kernel| {
        let at = kernel
            .operation
            .filter(|at| input.evaluation(*at).roofline.is_none())?;
        let left = match kernel.role {
            Role::Gemm => of_gemm?,
            _ => {
                let (_, rows) = grids.of(trace, kernel.event)?;
                (rows == of.captured).then_some(real / captured)?
            }
        };
        let left_ns = (kernel.ns as f64 * left).round() as i64;
        let saved_ns = kernel.ns - left_ns.max(source.passes.floor_ns);
        (saved_ns > 0).then_some((at, saved_ns))
    });
    saved.collect()
}

/// Graph launches that take as long as what they launch, and decoding in many graphs.
pub(super) fn issues(source: &Source) -> Vec<Issue> {
    piecewise(source)
        .into_iter()
        .chain(slow_launch(source))
        .collect()
}

/// The replays that a step launched.
pub(super) fn replays_of<'a>(
    source: &'a Source,
    step: &'a ServingStep,
) -> impl Iterator<Item = &'a Pass> {
    let events = &source.input.profile.trace.events;
    source.passes.all.iter().filter(move |pass| {
        pass.call().is_some_and(|call| {
            events.track(call) == step.track && step.on_host.contains(events.ts_ns(call))
        })
    })
}

fn piecewise(source: &Source) -> Option<Issue> {
    let serving = source.serving?;
    if serving.shape.kind != ShapeKind::PiecewiseGraph || !source.passes.are_replays {
        return None;
    }
    /// A step with fewer launches is one graph with related launches.
    const LEAST_LAUNCHES: usize = 5;
    let steps = serving.of(Some(Phase::Decode));
    let steps = steps.map(|step| (step, replays_of(source, step).count()));
    let many: Vec<(&ServingStep, usize)> = steps.filter(|(_, n)| *n >= LEAST_LAUNCHES).collect();
    let n_launches: usize = many.iter().map(|(_, n)| n).sum();
    let activity = many.iter().filter_map(|(step, _)| step.activity);
    let idle_ns = sum(activity.clone().map(|one| one.span.length() - one.busy_ns));
    let time_ns = sum(activity.map(|one| one.span.length()));
    let n = many.len() as u64;
    (n > 0).then(|| Issue {
        events: many.iter().take(10).map(|(step, _)| step.event).collect(),
        words: vec![
            ("steps", format::counted(n, "decode step")),
            ("per_step", format::count(n_launches as u64 / n)),
            ("idle", format::time_ns(idle_ns)),
            ("step_time", format::time_ns(time_ns)),
        ],
        ..Issue::new(Kind::Piecewise, idle_ns)
    })
}

fn slow_launch(source: &Source) -> Option<Issue> {
    /// Relative to the time of the replays.
    const LONG: f64 = 0.5;
    const LEAST_WAITED: f64 = 0.01;
    if !source.passes.are_replays {
        return None;
    }
    let events = &source.input.profile.trace.events;
    let (mut launch_ns, mut replay_ns, mut waited_ns) = (0_i64, 0_i64, 0_i64);
    let mut calls = Vec::new();
    for pass in &source.passes.all {
        let (Some(call), Some(span)) = (pass.call(), pass.span()) else {
            continue;
        };
        let on_host = events.span(call);
        let busy = union(pass.kernels.iter().map(|one| one.span()).collect());
        let gaps = gaps_in(span, &busy)
            .filter(|gap| gap.length() > NODE_GAP_NS && gap.end_ns <= on_host.end_ns);
        waited_ns = waited_ns.saturating_add(sum(gaps.map(Interval::length)));
        launch_ns = launch_ns.saturating_add(on_host.length());
        replay_ns = replay_ns.saturating_add(span.length());
        calls.push((on_host.length(), call));
    }
    let is_long = launch_ns as f64 > replay_ns as f64 * LONG;
    let is_waited = waited_ns as f64 > replay_ns as f64 * LEAST_WAITED;
    calls.arrange_by_largest(|(ns, _)| *ns);
    (is_long || is_waited).then(|| Issue {
        events: calls.iter().take(10).map(|(_, call)| *call).collect(),
        words: vec![
            (
                "launches",
                format::counted(calls.len() as u64, "graph launch"),
            ),
            ("launch_time", format::time_ns(launch_ns)),
            ("replay_time", format::time_ns(replay_ns)),
            (
                "waits_said",
                match is_waited {
                    true => format!(
                        "; replays wait {} for their own launch",
                        format::time_ns(waited_ns)
                    ),
                    false => String::new(),
                },
            ),
        ],
        ..Issue::new(Kind::SlowLaunch, waited_ns)
    })
}

/// From the start of each attention kernel to that of the next.
fn layer_times(attention: &[&Kernel]) -> Vec<i64> {
    let layers = attention.iter().zip(attention.iter().skip(1));
    let layers = layers.map(|(one, next)| next.start_ns.saturating_sub(one.start_ns));
    layers.collect()
}

/// The first layer of the first step, if it takes far longer than the others. In training, the backward pass comes
/// between the layers.
pub(super) fn cold_start(source: &Source) -> Vec<Issue> {
    /// Relative to the median of the others.
    const FAR: i64 = 3;
    const LEAST_LAYERS: usize = 4;
    /// Relative to the step.
    const LEAST_SHARE: f64 = 0.01;
    let issues = || {
        let passes = source.passes.all.iter();
        let by_start = passes.arranged_by_key(|pass| pass.span().map(|span| span.start_ns));
        let mut by_start = by_start.into_iter().filter(|pass| !pass.kernels.is_empty());
        let pass = by_start.next()?;
        let attention = pass.attention();
        let layers = layer_times(&attention);
        let (first_ns, others) = layers.split_first()?;
        let median_ns = median_ns(others.to_vec())?;
        let more_ns = first_ns.saturating_sub(median_ns);
        let span_ns = pass.span()?.length();
        let is_far = |first_ns: &i64| *first_ns >= median_ns.saturating_mul(FAR);
        let is_cold = others.len() >= LEAST_LAYERS
            && is_far(first_ns)
            && more_ns as f64 >= span_ns as f64 * LEAST_SHARE;
        // What takes as long in the next step is not a start.
        let next = by_start.next().map(|pass| layer_times(&pass.attention()));
        let recurs = next.is_some_and(|layers| layers.first().is_some_and(is_far));
        if !is_cold || recurs || source.input.profile.is_training() {
            return None;
        }
        let events = &source.input.profile.trace.events;
        let call_ns = |at: usize| {
            let call = attention.get(at)?.call?;
            Some(events.ts_ns(call))
        };
        let on_cpu = call_ns(0).zip(call_ns(1));
        let overhead = on_cpu.map(|(from, to)| {
            let span = Interval::new(from, to.max(from));
            let all = events.in_category(Category::Overhead);
            sum(all.filter_map(|event| Some(events.span(event).overlap(span)?.length())))
        });
        let overhead_ns = overhead.unwrap_or(0).min(more_ns);
        Some(Issue {
            events: attention.iter().take(2).map(|one| one.event).collect(),
            words: vec![
                ("more", format::time_ns(more_ns)),
                ("median", format::time_ns(median_ns)),
                ("first", format::time_ns(*first_ns)),
                (
                    "overhead_said",
                    match overhead_ns {
                        0 => String::new(),
                        ns => format!(
                            "; {} of it are loading of kernels and the profiler's own work",
                            format::time_ns(ns)
                        ),
                    },
                ),
            ],
            ..Issue::new(Kind::ColdStart, more_ns)
        })
    };
    issues().into_iter().collect()
}

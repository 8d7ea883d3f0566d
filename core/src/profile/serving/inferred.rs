//! Infers steps of an engine or model whose annotations and frames do not show them.
//!
//! A graph that contains layers and is replayed repeatedly is a step. Without graphs, a step is the repeating kernel
//! sequence, if two ways to count its layers agree. Training repeats as well, but has steps of a different kind.

use super::replays::Graph;
use super::steps::{Named, NamedBy};
use super::{ServingStep, layers};
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::median_ns;
use crate::names::attention::{is_backward, is_main};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::trace::annotations::step_number;
use crate::trace::{ByName, Category};

/// Fewer kernels are not a step.
const LEAST_KERNELS: usize = 50;
/// Minimum number of attention kernels in a step; fewer may be a single layer.
const LEAST_LAYERS: usize = 2;
/// Minimum number of steps to infer them from a kernel sequence.
const LEAST_STEPS: usize = 3;

/// Whether to look for steps: the GPU runs attention, the program does not mark steps for the profiler, and it is not
/// training.
pub(super) fn may_recur(profile: &Profile) -> bool {
    let trace = &profile.trace;
    let mut attends = false;
    let mut kernels: Map<_, ()> = Map::default();
    for (_, work) in profile.gpu.iter() {
        if kernels.insert(work.name, ()).is_none() {
            let name = trace.strings.get(work.name);
            if is_backward(name) {
                return false;
            }
            attends |= is_main(name);
        }
    }
    if !attends || profile.is_training() {
        return false;
    }
    let is_named = |name: &str| step_number(name).is_some() || name.starts_with("Optimizer.");
    let mut steps = trace.named(|of| of == Category::UserAnnotation, is_named);
    steps.next().is_none()
}

/// The steps of a trace without named ones; `None` if no repetition looks like steps.
pub(super) fn find(profile: &Profile, graphs: &[Graph]) -> Option<Named> {
    let replays = by_replays(profile, graphs).map(|steps| (NamedBy::Replays, steps));
    let kernels = || by_kernels(profile).map(|steps| (NamedBy::Kernels, steps));
    let (by, mut steps) = replays.or_else(kernels)?;
    steps.arrange_by_key(|step| (step.on_host.start_ns, step.event));
    Some(Named {
        engine: None,
        by,
        steps,
    })
}

/// Replays of graphs that contain layers, if one of these graphs is replayed several times. Pieces of a step are
/// replayed once per layer, and contain no layers themselves.
fn by_replays(profile: &Profile, graphs: &[Graph]) -> Option<Vec<ServingStep>> {
    let mut is_layer = ByName::new(is_main);
    let mut is_step = |graph: &&Graph| {
        let Some(first) = graph.replays.first() else {
            return false;
        };
        let kernels = profile.gpu.each(&first.work);
        let layers = kernels.filter(|work| is_layer.of(&profile.trace, work.event));
        first.work.len() >= LEAST_KERNELS && layers.count() >= LEAST_LAYERS
    };
    let whole: Vec<&Graph> = graphs.iter().filter(&mut is_step).collect();
    whole.iter().any(|graph| graph.replays.len() > 1).then(|| {
        let steps = whole.iter().flat_map(|graph| &graph.replays).map(|replay| {
            let span = profile.trace.events.span(replay.call);
            let end_ns = span.end_ns.max(span.start_ns.saturating_add(1));
            let on_host = Interval::new(span.start_ns, end_ns);
            ServingStep::new(&profile.trace, replay.call, on_host, None)
        });
        steps.collect()
    })
}

/// The repeating blocks of kernels on a stream, if each block has layers.
fn by_kernels(profile: &Profile) -> Option<Vec<ServingStep>> {
    let streams = layers::stream_runs(profile);
    let stream = streams.iter().max_by_key(|stream| stream.work.len())?;
    let mut runs: Vec<&[GpuId]> = stream
        .runs
        .iter()
        .filter(|run| run.period() >= LEAST_KERNELS as f64)
        .filter_map(|run| stream.work.get(run.span.clone()))
        .collect();
    let time = |work: &[GpuId]| layers::span(profile, work).map_or(0, Interval::length);
    runs.arrange_by_largest(|work| time(work));
    runs.into_iter().find_map(|work| blocks(profile, work))
}

/// The blocks of a run. Each starts at a kernel that runs once per block: the one before which the GPU is idle longest.
fn blocks(profile: &Profile, work: &[GpuId]) -> Option<Vec<ServingStep>> {
    let mut places: Map<_, Vec<usize>> = Map::default();
    for (at, id) in work.iter().enumerate() {
        places
            .entry(profile.gpu.get(*id)?.name)
            .or_default()
            .push(at);
    }
    let waits_ns = |at: usize| {
        let before = profile.gpu.get(*work.get(at.checked_sub(1)?)?)?;
        let span = profile.gpu.get(*work.get(at)?)?.span;
        Some(span.start_ns.saturating_sub(before.span.end_ns).max(0))
    };
    let marks = places
        .into_values()
        .filter(|places| places.len() > LEAST_STEPS && is_even(places))
        .arranged_by_key(|places| {
            let waits = places.iter().filter_map(|at| waits_ns(*at));
            (
                std::cmp::Reverse(median_ns(waits.collect()).unwrap_or(0)),
                places.first().copied(),
            )
        });
    let marks = marks.into_iter().next()?;
    let blocks: Vec<&[GpuId]> = marks
        .windows(2)
        .filter_map(|pair| match pair {
            [from, to] => work.get(*from..*to),
            _ => None,
        })
        .collect();
    if !have_layers(profile, &blocks) {
        return None;
    }
    let call = |id: &GpuId| profile.gpu.get(*id)?.launched_by;
    let events = &profile.trace.events;
    let steps = marks.windows(2).map(|pair| {
        let (from, to) = (*pair.first()?, *pair.get(1)?);
        let (first, next) = (call(work.get(from)?)?, call(work.get(to)?)?);
        let (start_ns, end_ns) = (events.ts_ns(first), events.ts_ns(next));
        let is_one_thread = events.track(first) == events.track(next) && start_ns < end_ns;
        is_one_thread.then(|| {
            let on_host = Interval::new(start_ns, end_ns);
            ServingStep::new(&profile.trace, first, on_host, None)
        })
    });
    steps.collect()
}

/// Whether positions are about evenly spaced, far enough apart for a step.
fn is_even(places: &[usize]) -> bool {
    /// Steps of the same kind differ by a few kernels.
    const MOST_PERCENT: i64 = 10;
    let apart = places.iter().zip(places.iter().skip(1));
    let apart: Vec<i64> = apart.map(|(one, next)| (next - one) as i64).collect();
    let Some(usual) = median_ns(apart.clone()) else {
        return false;
    };
    let is_usual = |one: &i64| (one - usual).abs() * 100 <= usual * MOST_PERCENT;
    usual >= LEAST_KERNELS as i64 && apart.iter().all(is_usual)
}

/// Whether all blocks have the same number of layers, both by attention kernels and by repetition.
fn have_layers(profile: &Profile, blocks: &[&[GpuId]]) -> bool {
    let counts = |work: &&[GpuId]| layers::layers(profile, work);
    let Some(Some(first)) = blocks.first().map(counts) else {
        return false;
    };
    // Blocks of a run are similar: checking the first and the last is enough.
    let last = blocks.last().and_then(counts);
    first >= LEAST_LAYERS && last == Some(first)
}

//! Layers as parts of the time: the kernels of a step, or of a graph replay, cut at layer boundaries.
//!
//! Each layer has one main attention kernel. Layers have the same spacing as these kernels, and start where the
//! repeating blocks start. Work before the first layer, between groups of layers and after the last layer forms
//! separate parts.

use std::ops::Range;

use super::activity::Launched;
use super::layers::{alike, anchors, by_stream};
use super::{Serving, replays, stages, stages::Modules};
use crate::base::interval::Interval;
use crate::base::periods;
use crate::names::batch::Phase;
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::trace::{EventId, TrackId};

/// A layer of a step, or work outside of layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Its index among the layers of the step, from 0, like module indices; `None` for work outside of layers.
    pub number: Option<usize>,
    /// Whether it is certainly a layer; otherwise it is a block around an attention kernel.
    pub is_layer: bool,
    /// The stream of the layers.
    pub track: TrackId,
    /// From its first to its last work.
    pub span: Interval,
    /// Its work on all streams, by start.
    pub work: Vec<GpuId>,
}

impl Slice {
    /// Its name, for display.
    pub fn name(&self) -> String {
        match self.number {
            Some(number) if self.is_layer => format!("layer {number}"),
            Some(number) => format!("attention block {number}"),
            None => "beside the layers".to_owned(),
        }
    }

    /// The event of its first work.
    pub fn first(&self, profile: &Profile) -> Option<EventId> {
        let first = self.work.first()?;
        Some(profile.gpu.get(*first)?.event)
    }
}

/// A step, or a denoising step, with its layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSlices {
    /// The position of the step in [`Serving::steps`].
    pub step: usize,
    /// For a diffusion pipeline, the number of the denoising step, from 1.
    pub iteration: Option<usize>,
    /// Its work, cut into slices.
    pub slices: Vec<Slice>,
}

/// The steps of a profile with their layers; empty if no step has several layers.
pub fn of_steps(profile: &Profile) -> Vec<StepSlices> {
    let Some(serving) = profile.serving() else {
        return Vec::new();
    };
    let launched = Launched::new(profile);
    let is_diffusion = serving.of(Some(Phase::Diffusion)).next().is_some();
    let graphs = match is_diffusion {
        true => replays::graphs(profile),
        false => Vec::new(),
    };
    let modules = Modules::default();
    let mut all = Vec::new();
    for (at, step) in serving.steps.iter().enumerate() {
        let mut add = |iteration, work: &[GpuId]| {
            let slices = of_work(profile, serving, work);
            if slices.iter().any(|slice| slice.number.is_some()) {
                all.push(StepSlices {
                    step: at,
                    iteration,
                    slices,
                });
            }
        };
        if step.phase() == Some(Phase::Diffusion) {
            let iterations = stages::iterations(profile, step, &graphs, &launched, &modules);
            for (work, number) in iterations.iter().zip(1..) {
                add(Some(number), work);
            }
        } else {
            let work: Vec<GpuId> = launched.during(step.track, step.on_host).collect();
            add(None, &work);
        }
    }
    all
}

/// The work of a step or replay, cut at its layers; a single part without layers.
pub fn of_work(profile: &Profile, serving: &Serving, work: &[GpuId]) -> Vec<Slice> {
    let streams = by_stream(profile, work);
    let Some((track, main)) = streams.into_iter().max_by_key(|(_, own)| own.len()) else {
        return Vec::new();
    };
    let anchors = anchors(profile, &main);
    let is_layer = serving.blocks.as_ref().and_then(|blocks| blocks.layers) == Some(anchors.len());
    let places = cuts(profile, &main, &anchors);
    let start_ns = |at: usize| {
        let id = main.get(at)?;
        Some(profile.gpu.get(*id)?.span.start_ns)
    };
    let mut edges: Vec<(i64, Option<usize>)> = Vec::new();
    let mut end = 0;
    for (number, place) in places {
        if place.start > end {
            edges.extend(start_ns(end).map(|ns| (ns, None)));
        }
        edges.extend(start_ns(place.start).map(|ns| (ns, Some(number))));
        end = place.end;
    }
    edges.extend(start_ns(end).map(|ns| (ns, None)));
    if let Some(first) = edges.first_mut() {
        first.0 = i64::MIN;
    }
    let mut own: Vec<(i64, GpuId)> = work
        .iter()
        .filter_map(|id| Some((profile.gpu.get(*id)?.span.start_ns, *id)))
        .collect();
    own.sort_unstable();
    let until = |ns: i64| own.partition_point(|(start_ns, _)| *start_ns < ns);
    let ends = edges.iter().skip(1).map(|(ns, _)| until(*ns));
    let ends = ends.chain([own.len()]);
    let slices = edges
        .iter()
        .zip(ends)
        .filter_map(|((from_ns, number), end)| {
            let work = own.get(until(*from_ns)..end)?;
            let work: Vec<GpuId> = work.iter().map(|(_, id)| *id).collect();
            Some(Slice {
                number: *number,
                is_layer,
                track,
                span: super::layers::span(profile, &work)?,
                work,
            })
        });
    slices.collect()
}

/// The range of each layer in the work of a stream, with its index.
fn cuts(profile: &Profile, main: &[GpuId], anchors: &[usize]) -> Vec<(usize, Range<usize>)> {
    let names = main
        .iter()
        .filter_map(|id| Some(profile.gpu.get(*id)?.name.0));
    let runs = periods::runs(&names.collect::<Vec<u32>>());
    let mut all: Vec<(usize, Range<usize>)> = Vec::new();
    let mut first = 0;
    for n in alike(anchors) {
        let group = anchors.get(first..first + n).unwrap_or_default();
        first += n;
        let Some((apart, before)) = distance(group).zip(lead(group, anchors, &runs)) else {
            continue;
        };
        let starts: Vec<usize> = group.iter().map(|at| at.saturating_sub(before)).collect();
        let last = starts.last().map_or(0, |start| start + apart);
        let ends = starts.iter().copied().skip(1).chain([last]);
        let number = first - n;
        for ((start, end), number) in starts.iter().zip(ends).zip(number..) {
            let before = all.last().map_or(0, |(_, place)| place.end);
            let place = (*start).max(before)..end.min(main.len());
            if !place.is_empty() {
                all.push((number, place));
            }
        }
    }
    all
}

/// The distance between the last two of a group.
fn distance(group: &[usize]) -> Option<usize> {
    let [.., one, next] = group else { return None };
    Some(next - one)
}

/// The number of kernels of a layer before its attention: from the start of the repeating blocks to the first attention
/// kernel in them.
fn lead(group: &[usize], anchors: &[usize], runs: &[periods::Run]) -> Option<usize> {
    let apart = distance(group)?;
    let inside = |run: &&periods::Run| group.iter().any(|at| run.span.contains(at));
    let run = runs
        .iter()
        .filter(inside)
        .max_by_key(|run| run.span.len())?;
    Some((anchors.iter().find(|at| run.span.contains(at))? - run.span.start) % apart.max(1))
}

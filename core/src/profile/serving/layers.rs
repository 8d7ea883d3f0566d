//! Counts the layers of a step in two ways: by attention kernels, one per layer, and by what repeats in its kernel
//! sequence.

use super::ServingStep;
use super::activity::Launched;
use super::replays::Graph;
use crate::base::group::grouped;
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::periods::{self, Run};
use crate::base::sort::Arrange;
use crate::names::attention::is_main;
use crate::names::batch::Phase;
use crate::names::moe::MoeRole;
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::trace::{ByName, EventId, TrackId};

/// The repetitions on one stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRuns {
    /// The stream of a device.
    pub track: TrackId,
    /// Its GPU activity, by start.
    pub work: Vec<GpuId>,
    /// Repetitions, as positions in `work`.
    pub runs: Vec<Run>,
}

/// What repeats within a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    /// Average number of kernels in a repeating block.
    pub period: f64,
    /// Number of repetitions; the last block may be incomplete.
    pub blocks: f64,
    /// The time from the first to the last kernel of these blocks.
    pub ns: i64,
    /// How often the longest kernel of a block occurs in it.
    pub layers_per_block: usize,
    /// Number of attention kernels, one per layer.
    pub attention: usize,
    /// The same, in groups of consecutive similar layers.
    pub alike: Vec<usize>,
    /// Number of layers, if both ways to count agree.
    pub layers: Option<usize>,
}

/// The repetitions on each stream of a profile.
pub fn stream_runs(profile: &Profile) -> Vec<StreamRuns> {
    let all: Vec<GpuId> = profile.gpu.iter().map(|(id, _)| id).collect();
    by_stream(profile, &all)
        .into_iter()
        .map(|(track, work)| runs(profile, track, work))
        .collect()
}

pub(super) fn by_stream(profile: &Profile, work: &[GpuId]) -> Vec<(TrackId, Vec<GpuId>)> {
    let events = &profile.trace.events;
    let work = work
        .iter()
        .filter_map(|id| Some((*id, profile.gpu.get(*id)?)));
    let streams = work.map(|(id, work)| (events.track(work.event), (work.span.start_ns, id)));
    let mut streams = grouped(streams, |all: &mut Vec<(i64, GpuId)>, one| all.push(one));
    for (_, work) in &mut streams {
        work.sort_unstable();
    }
    let ids = |work: Vec<(i64, GpuId)>| work.into_iter().map(|(_, id)| id).collect();
    streams
        .into_iter()
        .map(|(track, work)| (track, ids(work)))
        .collect()
}

fn runs(profile: &Profile, track: TrackId, work: Vec<GpuId>) -> StreamRuns {
    let names = work
        .iter()
        .filter_map(|id| Some(profile.gpu.get(*id)?.name.0));
    let names: Vec<u32> = names.collect();
    StreamRuns {
        track,
        runs: periods::runs(&names),
        work,
    }
}

/// From the first start to the last end.
pub(super) fn span(profile: &Profile, work: &[GpuId]) -> Option<Interval> {
    let spans = work
        .iter()
        .filter_map(|id| Some(profile.gpu.get(*id)?.span));
    spans.reduce(Interval::hull)
}

/// The event of the longest piece of work.
pub(super) fn longest(profile: &Profile, work: &[GpuId]) -> Option<EventId> {
    let all = profile.gpu.each(work);
    all.max_by_key(|one| (one.span.length(), std::cmp::Reverse(one.span.start_ns)))
        .map(|one| one.event)
}

/// The blocks of the repetition that takes the most time, among those with at least `least` kernels per block.
pub(super) fn longest_run(profile: &Profile, work: &[GpuId], least: usize) -> Vec<Vec<GpuId>> {
    let streams = by_stream(profile, work)
        .into_iter()
        .map(|(track, work)| runs(profile, track, work));
    let streams: Vec<StreamRuns> = streams.collect();
    let all = streams
        .iter()
        .flat_map(|stream| stream.runs.iter().map(move |run| (stream, run)));
    let long = all.filter(|(_, run)| run.period() >= least as f64);
    let time = |(stream, run): &(&StreamRuns, &Run)| {
        let work = stream.work.get(run.span.clone()).unwrap_or_default();
        span(profile, work).map_or(0, Interval::length)
    };
    let Some((stream, run)) = long.max_by_key(time) else {
        return Vec::new();
    };
    let work = stream.work.get(run.span.clone()).unwrap_or_default();
    let blocks = work.chunks(run.period().round().max(1.0) as usize);
    blocks.map(<[GpuId]>::to_vec).collect()
}

/// What repeats in a step: the step with the median amount of work that does not draft tokens, or an iteration of a
/// diffusion pipeline. Of several replays in a step, the largest is the model.
pub(super) fn blocks(
    profile: &Profile,
    steps: &[ServingStep],
    iterations: &[Vec<GpuId>],
    graphs: &[Graph],
    launched: &Launched,
) -> Option<Blocks> {
    let working = steps.iter().filter(|step| step.activity.is_some());
    let mut working: Vec<&ServingStep> = working.collect();
    if working.iter().any(|step| !is_draft(step)) {
        working.retain(|step| !is_draft(step));
    }
    working.arrange_by_key(|step| step.activity.map_or(0, |activity| activity.n_work));
    let step = working.get(working.len() / 2)?;
    if let Some(work) = iterations.last() {
        return of_work(profile, work);
    }
    let own: Vec<GpuId> = launched.during(step.track, step.on_host).collect();
    let whole = of_work(profile, &own)?;
    let of_model = largest_replay(profile, step, graphs).and_then(|work| of_work(profile, work));
    // Pieces of a graph have at most one layer.
    let is_model = |one: &Blocks| one.layers.is_some() && one.attention * 2 > whole.attention;
    Some(of_model.filter(is_model).unwrap_or(whole))
}

fn is_draft(step: &ServingStep) -> bool {
    step.phase() == Some(Phase::Draft)
}

/// The replay with the most kernels in a step: a draft model may run in the same step.
fn largest_replay<'a>(
    profile: &Profile,
    step: &ServingStep,
    graphs: &'a [Graph],
) -> Option<&'a [GpuId]> {
    let events = &profile.trace.events;
    let replays = graphs.iter().flat_map(|graph| &graph.replays);
    let own = replays.filter(|replay| {
        let is_in_step = step.on_host.contains(events.ts_ns(replay.call));
        is_in_step && events.track(replay.call) == step.track
    });
    own.map(|replay| replay.work.as_slice())
        .max_by_key(|work| work.len())
}

/// The number of layers in some work, if both ways to count agree.
pub(super) fn layers(profile: &Profile, work: &[GpuId]) -> Option<usize> {
    of_work(profile, work)?.layers
}

/// What repeats in some work, on the stream with the most of it.
fn of_work(profile: &Profile, work: &[GpuId]) -> Option<Blocks> {
    let streams = by_stream(profile, work).into_iter();
    let (track, work) = streams.max_by_key(|(_, work)| work.len())?;
    let stream = runs(profile, track, work);
    let of_run = |run: &Run| stream.work.get(run.span.clone()).unwrap_or_default();
    let time = |run: &&Run| span(profile, of_run(run)).map_or(0, Interval::length);
    let run = stream
        .runs
        .iter()
        .filter(|run| run.period() > 1.0)
        .max_by_key(time)?;
    let anchors = anchors(profile, &stream.work);
    let counted = |n: usize| run.blocks.round() as usize * n;
    let in_block = longest_in_block(profile, run, of_run(run));
    let agrees = |n: &usize| *n > 0 && counted(*n) == anchors.len();
    let layers_per_block = in_block.iter().copied().find(agrees).unwrap_or(in_block[0]);
    let by_period = counted(layers_per_block);
    Some(Blocks {
        period: run.period(),
        blocks: run.blocks,
        ns: time(&run),
        layers_per_block,
        attention: anchors.len(),
        layers: (by_period == anchors.len() && by_period > 0).then_some(by_period),
        alike: alike(&anchors),
    })
}

/// Positions of the main attention kernels, one per layer.
pub(super) fn anchors(profile: &Profile, work: &[GpuId]) -> Vec<usize> {
    let mut is_anchor = ByName::new(is_main);
    let events = work
        .iter()
        .filter_map(|id| Some(profile.gpu.get(*id)?.event));
    let anchors = events
        .enumerate()
        .filter(|(_, event)| is_anchor.of(&profile.trace, *event));
    anchors.map(|(at, _)| at).collect()
}

/// Groups consecutive layers that are similar, by the distances between their anchors. Most of the work between two
/// anchors belongs to the layer of the first one. The anchor before a change of distance is therefore the first layer
/// of the next group, if that continues with the same distance.
pub(super) fn alike(anchors: &[usize]) -> Vec<usize> {
    /// Blocks of the same kind differ by one or two kernels.
    const MOST_PERCENT: usize = 10;
    let is_like = |one: usize, usual: usize| one.abs_diff(usual) * 100 <= usual * MOST_PERCENT;
    let apart = anchors.iter().zip(anchors.iter().skip(1));
    let mut groups = vec![usize::from(!anchors.is_empty())];
    let (mut usual, mut change) = (None, None);
    for gap in apart.map(|(one, next)| next - one) {
        let last = groups.len() - 1;
        match usual {
            Some(of_group) if !is_like(gap, of_group) => {
                groups.push(1);
                (usual, change) = (None, Some(gap));
                continue;
            }
            Some(_) => {}
            None => {
                let follows = change.is_some_and(|change| is_like(change, gap));
                if follows && last > 0 && groups[last - 1] > 1 {
                    groups[last - 1] -= 1;
                    groups[last] += 1;
                }
                usual = Some(gap);
            }
        }
        groups[last] += 1;
    }
    groups.retain(|n| *n > 0);
    groups
}

/// How often the kernel with the longest mean duration occurs in a block: all calls of its name; only those of about
/// the same duration, because GEMMs of different sizes may share a name; half of the calls if it computes both GEMMs of
/// the experts.
fn longest_in_block(profile: &Profile, run: &Run, work: &[GpuId]) -> [usize; 3] {
    /// Percentage of the longest call.
    const AS_LONG_PERCENT: i64 = 75;
    let period = run.period().round().max(1.0) as usize;
    let mut times: Map<_, (i64, i64)> = Map::default();
    for work in profile.gpu.each(work) {
        let (ns, n) = times.entry(work.name).or_default();
        *ns = ns.saturating_add(work.span.length());
        *n += 1;
    }
    let mean = |name| times.get(&name).map_or(0, |(ns, n)| ns / n.max(&1));
    // The first block may be a warm-up, the last one incomplete.
    let middle = work.len() / period / 2 * period;
    let block = work.get(middle..middle + period).unwrap_or(work);
    let block = || profile.gpu.each(block);
    let longest = block().max_by_key(|one| (mean(one.name), std::cmp::Reverse(one.name.0)));
    let Some(longest) = longest.map(|one| one.name) else {
        return [0; 3];
    };
    let calls = block().filter(|one| one.name == longest);
    let calls: Vec<i64> = calls.map(|one| one.span.length()).collect();
    let least_ns = calls.iter().copied().max().unwrap_or(0) / 100 * AS_LONG_PERCENT;
    let is_as_long = |ns: &&i64| **ns >= least_ns;
    let is_of_experts = MoeRole::of_name(profile.trace.strings.get(longest)) == Some(MoeRole::Gemm);
    let layers_of_experts = match is_of_experts && calls.len().is_multiple_of(2) {
        true => calls.len() / 2,
        false => 0,
    };
    let as_long = calls.iter().filter(is_as_long).count();
    [calls.len(), as_long, layers_of_experts]
}

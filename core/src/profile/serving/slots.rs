//! The kernels of GPU graphs by their position in the layers: the kernels that all layers run at the same position form
//! a slot.
//!
//! A replay has no operators, and one kernel may serve several GEMMs of a layer; its position distinguishes them. A
//! layer starts as far before its attention kernel as the repeating blocks do; without a known attention kernel, the
//! blocks themselves are used.

use std::ops::Range;

use super::layers::{alike, anchors, by_stream};
use super::replays;
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::periods::{self, Run};
use crate::base::sort::{Arrange, Arranged};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::trace::StringId;

/// The part of a graph that a kernel runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Before the first layer; everything in a graph without visible layers.
    Before,
    /// In consecutive similar layers; the index of the kind of layers.
    Layers(usize),
    /// After the last layer.
    After,
    /// On a different stream than the layers.
    OtherStream,
}

/// One kernel at one position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    /// Index of the graph, by total time, longest first.
    pub(crate) graph: usize,
    pub(crate) part: Part,
    /// The layers that contain it, from 0.
    pub(crate) layers: Vec<usize>,
    pub(crate) name: StringId,
    /// By replay and layer: the kernel that ran, with its layer.
    pub(crate) work: Vec<(GpuId, usize)>,
    /// Average number of kernels before it in its part.
    offset: f64,
}

/// A position: part, layer, and number of kernels before it in that layer or part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    part: Part,
    layer: usize,
    offset: usize,
}

/// The slots of all graphs, in execution order.
pub(crate) fn slots(profile: &Profile) -> Vec<Slot> {
    let graphs = replays::graphs(profile);
    let mut all = Vec::new();
    for (graph, of_graph) in graphs.iter().enumerate() {
        // Replays of a graph run the same kernels on the same streams.
        let mut known: Map<Vec<StringId>, Vec<Place>> = Map::default();
        let mut placed = Vec::new();
        for replay in &of_graph.replays {
            let mut streams = by_stream(profile, &replay.work);
            streams.arrange_by_key(|(track, work)| (std::cmp::Reverse(work.len()), *track));
            for (at, (_, work)) in streams.iter().enumerate() {
                let names = work
                    .iter()
                    .filter_map(|id| Some(profile.gpu.get(*id)?.name));
                let names: Vec<StringId> = names.collect();
                let places = match at {
                    0 => known
                        .entry(names.clone())
                        .or_insert_with(|| places(&names, &anchors(profile, work)))
                        .clone(),
                    _ => part(0..names.len(), Part::OtherStream, 0).collect(),
                };
                placed.extend(nth(&names, &places).zip(work.iter().copied()));
            }
        }
        let slots = grouped(
            placed
                .into_iter()
                .map(|((key, place), id)| (key, (place, id))),
            add,
        );
        let slots = slots
            .into_iter()
            .map(|((part, name, _), found)| Slot {
                graph,
                part,
                name,
                offset: found.offsets as f64 / found.work.len().max(1) as f64,
                layers: found.layers(),
                work: found.work,
            })
            .arranged_by(|one, next| {
                let parts = one.part.rank().cmp(&next.part.rank());
                parts.then_with(|| one.offset.total_cmp(&next.offset))
            });
        all.extend(slots);
    }
    all
}

impl Part {
    /// Its sort order among the parts of a graph.
    fn rank(self) -> (u8, usize) {
        match self {
            Part::Before => (0, 0),
            Part::Layers(kind) => (1, kind),
            Part::After => (2, 0),
            Part::OtherStream => (3, 0),
        }
    }
}

/// The kernels of a slot.
#[derive(Default)]
struct Found {
    work: Vec<(GpuId, usize)>,
    offsets: usize,
}

impl Found {
    fn layers(&self) -> Vec<usize> {
        self.work.iter().map(|(_, layer)| *layer).distinct()
    }
}

fn add(found: &mut Found, (place, id): (Place, GpuId)) {
    found.work.push((id, place.layer));
    found.offsets += place.offset;
}

/// The slot of each kernel: its part, its name, and its count among the kernels of that name in its layer.
fn nth<'a>(
    names: &'a [StringId],
    places: &'a [Place],
) -> impl Iterator<Item = ((Part, StringId, usize), Place)> + 'a {
    let mut seen: Map<(Part, usize, StringId), usize> = Map::default();
    names.iter().zip(places).map(move |(name, place)| {
        let nth = seen.entry((place.part, place.layer, *name)).or_default();
        *nth += 1;
        ((place.part, *name, *nth), *place)
    })
}

/// Consecutive kernels in one layer of a part.
fn part(range: Range<usize>, part: Part, layer: usize) -> impl Iterator<Item = Place> {
    (0..range.len()).map(move |offset| Place {
        part,
        layer,
        offset,
    })
}

/// The position of each kernel of a stream, given the positions of the attention kernels.
fn places(names: &[StringId], anchors: &[usize]) -> Vec<Place> {
    let symbols: Vec<u32> = names.iter().map(|name| name.0).collect();
    let runs = periods::runs(&symbols);
    let layers = match anchors.len() {
        0 | 1 => blocks(&runs),
        _ => around(anchors, &runs, &symbols),
    };
    let (Some((first, _)), Some((last, _))) = (layers.first(), layers.last()) else {
        return part(0..names.len(), Part::Before, 0).collect();
    };
    let before = part(0..first.start, Part::Before, 0);
    let after = part(last.end..names.len(), Part::After, 0);
    let inside = layers.iter().enumerate();
    let inside =
        inside.flat_map(|(at, (range, kind))| part(range.clone(), Part::Layers(*kind), at));
    before.chain(inside).chain(after).collect()
}

/// The blocks of the longest repetition, if there is one.
fn blocks(runs: &[Run]) -> Vec<(Range<usize>, usize)> {
    let long = runs.iter().filter(|run| run.period() > 1.5);
    let Some(run) = long.max_by_key(|run| (run.span.len(), std::cmp::Reverse(run.span.start)))
    else {
        return Vec::new();
    };
    let period = run.period().round().max(1.0) as usize;
    let starts = run.span.clone().step_by(period);
    starts
        .map(|start| (start..(start + period).min(run.span.end), 0))
        .collect()
}

/// A layer around each attention kernel, with its kind.
fn around(anchors: &[usize], runs: &[Run], symbols: &[u32]) -> Vec<(Range<usize>, usize)> {
    let kinds = alike(anchors).into_iter().enumerate();
    let kinds: Vec<usize> = kinds
        .flat_map(|(kind, n)| std::iter::repeat_n(kind, n))
        .collect();
    let mut starts = Vec::with_capacity(anchors.len());
    let mut lead = None;
    for (at, anchor) in anchors.iter().enumerate() {
        let kind = kinds.get(at);
        if at == 0 || kind != kinds.get(at - 1) {
            // The first of its kind may be atypical, because the kernels before it differ.
            let own = anchors.get(at + 1).filter(|_| kind == kinds.get(at + 1));
            lead = lead_of(*own.unwrap_or(anchor), anchors, runs).or(lead);
        }
        let after = at.checked_sub(1).and_then(|at| anchors.get(at));
        let least = after.map_or(0, |before| before + 1);
        let gap = anchors.get(at + 1).map_or(0, |next| next - anchor - 1);
        starts.push(anchor.saturating_sub(lead.unwrap_or(gap / 2)).max(least));
    }
    lead_in(anchors, &kinds, symbols, &mut starts);
    let end = last_end(anchors, &starts, symbols);
    let ends = starts.iter().skip(1).copied().chain([end]);
    let ranges = starts.iter().zip(ends).map(|(start, end)| *start..end);
    ranges.zip(kinds).collect()
}

/// The first layer may lack a kernel that all others have, or have an extra one, so the repetition starts after it. In
/// that case, layers of its kind start where they begin to match the first one.
fn lead_in(anchors: &[usize], kinds: &[usize], symbols: &[u32], starts: &mut [usize]) {
    let [first, second, ..] = *anchors else {
        return;
    };
    let [own, lead] = shared_lead(symbols, first, second);
    let known = starts.get(1).map_or(0, |start| second - start);
    if kinds.first() != kinds.get(1) || lead <= known {
        return;
    }
    for (at, (start, anchor)) in starts.iter_mut().zip(anchors).enumerate() {
        let before = at.checked_sub(1).and_then(|at| anchors.get(at));
        let least = before.map_or(0, |before| before + 1);
        let lead = if at == 0 { own } else { lead };
        if kinds.get(at) == kinds.first() {
            *start = anchor.saturating_sub(lead).max(least);
        }
    }
}

/// How far back from the first and the next attention kernel the same kernels run, ignoring up to two in a row that
/// only one of both has.
fn shared_lead(symbols: &[u32], first: usize, next: usize) -> [usize; 2] {
    const MOST_SKIPPED: usize = 2;
    let symbol = |end: usize| symbols.get(end.checked_sub(1)?);
    let (mut one, mut other) = (first, next);
    while one > 0 && other > first + 1 {
        let is_same = |skipped: &[usize; 2]| {
            let ends = [one.checked_sub(skipped[0]), other.checked_sub(skipped[1])];
            let [Some(one), Some(other)] = ends else {
                return false;
            };
            other > first + 1 && symbol(one).is_some() && symbol(one) == symbol(other)
        };
        let skips = (0..=MOST_SKIPPED).flat_map(|n| [[0, n], [n, 0]]);
        let Some([of_one, of_other]) = skips.into_iter().find(is_same) else {
            break;
        };
        one -= of_one + 1;
        other -= of_other + 1;
    }
    [first - one, next - other]
}

/// The number of kernels of a layer before its attention: from the start of the repeating blocks around it.
fn lead_of(anchor: usize, anchors: &[usize], runs: &[Run]) -> Option<usize> {
    let around = runs
        .iter()
        .filter(|run| run.period() > 1.5 && run.span.contains(&anchor));
    let run = around.max_by_key(|run| run.span.len())?;
    Some(anchors.iter().find(|anchor| run.span.contains(anchor))? - run.span.start)
}

/// The end of the last layer: it is as long as the last earlier layer with the same attention kernel.
fn last_end(anchors: &[usize], starts: &[usize], symbols: &[u32]) -> usize {
    let Some((last, before)) = anchors.split_last() else {
        return symbols.len();
    };
    let symbol = |anchor: &usize| symbols.get(*anchor);
    let like = before
        .iter()
        .rposition(|anchor| symbol(anchor) == symbol(last));
    let like = like.unwrap_or(before.len().saturating_sub(1));
    let length = match (starts.get(like), starts.get(like + 1)) {
        (Some(start), Some(next)) => next - start,
        _ => 0,
    };
    (starts.last().copied().unwrap_or(0) + length).clamp(last + 1, symbols.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter per kernel, with layers around `A` and `B`: the layers as groups of letters, with a dash before the
    /// kernels outside of layers.
    fn layers(kernels: &str) -> String {
        let names: Vec<StringId> = kernels.bytes().map(|byte| StringId(byte.into())).collect();
        let is_anchor = |name: &StringId| matches!(name.0 as u8, b'A' | b'B');
        let anchors: Vec<usize> = (0..names.len())
            .filter(|at| is_anchor(&names[*at]))
            .collect();
        let places = places(&names, &anchors);
        assert_eq!(places.len(), names.len());
        let mut text = String::new();
        let mut last = None;
        for (place, letter) in places.iter().zip(kernels.chars()) {
            let now = (place.part, place.layer);
            if last.is_some_and(|last| last != now) {
                text.push(' ');
            }
            if last != Some(now) && !matches!(place.part, Part::Layers(_)) {
                text.push('-');
            }
            last = Some(now);
            text.push(letter);
        }
        text
    }

    #[test]
    fn layers_start_where_what_repeats_does() {
        for (kernels, expected) in [
            // Norm, projection, attention, output; kernels before and after are outside of layers.
            ("xynqAonqAonqAonqAoz", "-xy nqAo nqAo nqAo nqAo -z"),
            // Full-attention and sliding-window layers alternate; one kind has an extra kernel.
            (
                "enqAonqBronqAonqBronqAonqBroh",
                "-e nqAo nqBro nqAo nqBro nqAo nqBro -h",
            ),
            // The first layer starts with a different kernel, and another one follows the last layer.
            ("eqAonqAonqAonqAohz", "-e qAon qAon qAon qAoh -z"),
            // The first layer lacks a kernel.
            (
                "enqrAonqtrAonqtrAonqtrAoh",
                "-e nqrAo nqtrAo nqtrAo nqtrAo -h",
            ),
            // A repetition without attention, and no repetition.
            ("xabcabcabcy", "-x abc abc abc -y"),
            ("abcde", "-abcde"),
            ("", ""),
        ] {
            assert_eq!(layers(kernels), expected, "{kernels}");
        }
    }
}

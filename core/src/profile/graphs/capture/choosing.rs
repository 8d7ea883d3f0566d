//! Which capture a replay comes from.
//!
//! First, the kernel sequence decides, over all captures: this needs no annotation and works for several graphs per
//! step. Captures of several sizes may launch the same kernels; then the smallest one that holds the tokens of the step
//! is chosen. Layers launch the same kernels, too; for them, the order of the launches decides.

use std::sync::Arc;

use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::profile::launch::{GpuId, Launches, is_graph_launch};
use crate::trace::distributed::rank;
use crate::trace::{ByName, EventId, Trace, TrackId, extra_args};

use super::copies::Merge;
use super::matching::{self, Launched, Pairs, Replayed};
use super::names::{self, Class, Symbols, Work};
use super::segments::{Found, Segment};
use super::steps::{Step, Steps};
use super::why::Why;

/// A file's captures.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) trace: Option<&'a Trace>,
    pub(super) found: Found,
    rank: Option<u64>,
}

impl<'a> File<'a> {
    pub(super) fn new(name: &str, trace: Option<&'a Trace>, found: Found) -> File<'a> {
        File {
            trace,
            found,
            rank: trace.and_then(rank).or_else(|| names::rank_of_file(name)),
        }
    }
}

/// A replay of a graph.
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) launch: EventId,
    /// A row of [`Replays::graphs`].
    pub(super) graph: usize,
    /// Its kernels, stream by stream, sorted by start within a stream.
    pub(super) kernels: Vec<GpuId>,
}

/// A graph, identified by its kernel sequence.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    /// The kernels of its first replay, by start.
    kernels: Vec<Replayed<'a>>,
    /// By kernel: its position in [`Replay::kernels`].
    places: Vec<u32>,
}

/// The replays of a trace, in launch order.
#[derive(Debug, Default)]
pub(super) struct Replays<'a> {
    pub(super) all: Vec<Replay>,
    pub(super) graphs: Vec<Graph<'a>>,
}

impl<'a> Replays<'a> {
    /// Finds the replays that are not merged with a capture yet.
    pub(super) fn find(
        trace: &'a Trace,
        launches: &Launches,
        symbols: &mut Symbols<'a>,
    ) -> Replays<'a> {
        let events = &trace.events;
        let mut graph_launches = ByName::new(is_graph_launch);
        let mut replays = Replays::default();
        let mut known: Map<u64, usize> = Map::default();
        for of_call in launches
            .launches
            .chunk_by(|one, next| one.call == next.call)
        {
            let Some(launch) = of_call.first().map(|first| first.call) else {
                continue;
            };
            if !graph_launches.of(trace, launch) {
                continue;
            }
            let event = |id: GpuId| launches.work.get(id.index()).copied();
            let place = |id: GpuId| {
                let event = event(id)?;
                Some((events.track(event), events.ts_ns(event), id))
            };
            let kernels = of_call.iter().filter_map(|launch| place(launch.work));
            let kernels = kernels.arranged();
            let work = kernels.iter().map(|(track, _, id)| {
                let name = event(*id).map_or("", |event| trace.name(event));
                (*track, symbols.work(name), name)
            });
            let work: Vec<_> = work.collect();
            let hash = names::hash_of(work.iter().map(|(track, work, _)| (track.0, *work)));
            let graph = *known.entry(hash).or_insert_with(|| {
                let starts = kernels.iter().map(|(_, start_ns, _)| *start_ns);
                let node = |place: u32| node(trace, event(kernels.get(place as usize)?.2)?);
                replays.graphs.push(Graph::new(&work, starts, node));
                replays.graphs.len() - 1
            });
            replays.all.push(Replay {
                launch,
                graph,
                kernels: kernels.into_iter().map(|(.., id)| id).collect(),
            });
        }
        replays
            .all
            .arrange_by_key(|replay| (events.ts_ns(replay.launch), replay.launch));
        replays
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl<'a> Graph<'a> {
    fn new(
        work: &[(TrackId, Work, &'a str)],
        starts: impl Iterator<Item = i64>,
        node: impl Fn(u32) -> Option<u64>,
    ) -> Graph<'a> {
        let places = starts.zip(0..).arranged();
        let kernels = places.iter().filter_map(|(_, place)| {
            let (stream, work, name) = *work.get(*place as usize)?;
            Some(Replayed {
                work,
                stream,
                node: node(*place),
                class: Class::of_kernel(name, work),
            })
        });
        Graph {
            kernels: kernels.collect(),
            places: places.iter().map(|(_, place)| *place).collect(),
        }
    }
}

/// The node number of a kernel within its graph, if the profiler records it.
fn node(trace: &Trace, kernel: EventId) -> Option<u64> {
    let args = trace.strings.get(trace.events.extra_args(kernel)?);
    let node = extra_args::value(args, "graph node id")?;
    node.parse().ok().filter(|node| *node != 0)
}

/// A segment: file and position in the file.
pub(super) type At = (usize, usize);

/// How well a segment explains a graph.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) segment: At,
    /// By position in [`Replay::kernels`]: the launch.
    pub(super) pairs: Pairs,
    pub(super) n_matched: usize,
}

impl Fit {
    /// Whether the kernels of the last launches of its segment are missing.
    pub(super) fn is_cut(&self, n_launches: usize) -> bool {
        let last = self.pairs.iter().flatten().max();
        last.is_some_and(|last| (*last as usize) + 1 < n_launches)
    }
}

/// The fit for each replay, or why there is none.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The best fits of each graph.
    pub(super) fits: Vec<Vec<Fit>>,
    /// By replay: an index into the fits of its graph.
    pub(super) of_replay: Vec<Result<usize, Why>>,
}

impl Plan {
    /// The fit of a replay.
    pub(super) fn fit(&self, graph: usize, replay: usize) -> Option<&Fit> {
        let row = *self.of_replay.get(replay)?.as_ref().ok()?;
        self.fits.get(graph)?.get(row)
    }

    /// What to put below which launch.
    pub(super) fn into_merges(self, replays: &Replays, files: Vec<File>) -> Vec<Merge> {
        let mut segments: Map<At, Arc<Segment>> = Map::default();
        for (file, of_file) in files.into_iter().enumerate() {
            for (at, segment) in of_file.found.segments.into_iter().enumerate() {
                segments.insert((file, at), Arc::new(segment));
            }
        }
        let merges = replays.all.iter().enumerate().filter_map(|(at, replay)| {
            let fit = self.fit(replay.graph, at)?;
            let kernels = replay.kernels.iter().zip(&fit.pairs);
            Some(Merge {
                launch: replay.launch,
                file: fit.segment.0,
                segment: Arc::clone(segments.get(&fit.segment)?),
                kernels: kernels
                    .filter_map(|(id, pair)| Some((*id, (*pair)?)))
                    .collect(),
            })
        });
        merges.collect()
    }
}

/// Chooses a fit for every replay.
pub(super) fn choose(trace: &Trace, replays: &Replays, files: &[File]) -> Plan {
    let all: Vec<(At, &Segment, Vec<Launched>)> = files
        .iter()
        .enumerate()
        .flat_map(|(file, of_file)| {
            let segments = of_file.found.segments.iter().enumerate();
            segments.map(move |(at, segment)| ((file, at), segment, launched(of_file, segment)))
        })
        .collect();
    let mut by_sequence: Map<u64, Vec<usize>> = Map::default();
    for (at, (_, _, launches)) in all.iter().enumerate() {
        if launches.iter().any(|launch| launch.is_named) {
            let hash = names::hash_of(launches.iter().map(|launch| launch.work));
            by_sequence.entry(hash).or_default().push(at);
        }
    }
    let candidates: Vec<(Vec<Fit>, Option<Why>)> = replays
        .graphs
        .iter()
        .map(|graph| {
            let hash = names::hash_of(graph.kernels.iter().map(|kernel| kernel.work));
            let equal = by_sequence.get(&hash);
            let fits = |rows: &[usize]| -> Vec<Fit> {
                let rows = rows.iter().filter_map(|row| all.get(*row));
                rows.map(|(at, _, launches)| fit(graph, *at, launches))
                    .collect()
            };
            match equal {
                Some(rows) => best(graph, fits(rows), &all),
                None => {
                    let rows: Vec<usize> = (0..all.len())
                        .filter(|row| is_worth_a_look(graph, &all[*row].2))
                        .collect();
                    best(graph, fits(&rows), &all)
                }
            }
        })
        .collect();
    let launches: Vec<EventId> = replays.all.iter().map(|replay| replay.launch).collect();
    let steps = Steps::new(trace, &launches);
    let mut chooser = Chooser {
        files,
        rank: rank(trace),
        nth: Map::default(),
    };
    let of_replay = replays.all.iter().enumerate().map(|(at, replay)| {
        let (fits, why) = &candidates[replay.graph];
        match why {
            Some(why) => Err(why.clone()),
            None => chooser.choose(fits, steps.of(at)),
        }
    });
    Plan {
        of_replay: of_replay.collect(),
        fits: candidates.into_iter().map(|(fits, _)| fits).collect(),
    }
}

fn launched<'a>(file: &File<'a>, segment: &Segment) -> Vec<Launched<'a>> {
    let launches = segment.launches.iter().map(|launch| Launched {
        work: launch.work,
        is_named: launch.is_named,
        class: Class::of_launch(
            file.trace.zip(launch.op).map(|(trace, op)| trace.name(op)),
            launch.work,
        ),
    });
    launches.collect()
}

/// At least half of the launches of a capture must be replayed: a part of a large capture that looks like a small graph
/// does not count.
fn is_most(n_matched: usize, n_launches: usize) -> bool {
    n_matched * 2 >= n_launches
}

/// Whether a capture can explain enough of a graph, from how often each kernel is launched.
fn is_worth_a_look(graph: &Graph, launches: &[Launched]) -> bool {
    let (n_kernels, n_launches) = (graph.kernels.len(), launches.len());
    if !is_most(n_kernels, n_launches) || !matching::is_enough(n_launches.min(n_kernels), n_kernels)
    {
        return false;
    }
    if !launches.iter().any(|launch| launch.is_named) {
        return true;
    }
    let mut n_left: Map<Work, i64> = Map::default();
    for launch in launches {
        *n_left.entry(launch.work).or_default() += 1;
    }
    let mut n_common = 0;
    for kernel in &graph.kernels {
        let left = n_left.entry(kernel.work).or_default();
        n_common += usize::from(*left > 0);
        *left -= 1;
    }
    // A launch without a name can match any kernel.
    let n_unnamed = launches.iter().filter(|launch| !launch.is_named).count();
    matching::is_enough(n_common + n_unnamed, n_kernels)
}

fn fit(graph: &Graph, segment: At, launches: &[Launched]) -> Fit {
    let by_start = matching::pair(&graph.kernels, launches);
    let mut pairs = vec![None; by_start.len()];
    for (pair, place) in by_start.iter().zip(&graph.places) {
        if let Some(slot) = pairs.get_mut(*place as usize) {
            *slot = *pair;
        }
    }
    Fit {
        segment,
        n_matched: matching::n_matched(&pairs),
        pairs,
    }
}

/// The fits that explain the most kernels with the fewest launches left over; or why there is none.
fn best(
    graph: &Graph,
    mut fits: Vec<Fit>,
    all: &[(At, &Segment, Vec<Launched>)],
) -> (Vec<Fit>, Option<Why>) {
    let n_kernels = graph.kernels.len();
    let n_launches: Map<At, usize> = all
        .iter()
        .map(|(at, _, launches)| (*at, launches.len()))
        .collect();
    let launches_of = |fit: &Fit| n_launches.get(&fit.segment).copied().unwrap_or(0);
    let most = fits.iter().map(|fit| fit.n_matched).max().unwrap_or(0);
    fits.retain(|fit| {
        matching::is_enough(fit.n_matched, n_kernels) && is_most(fit.n_matched, launches_of(fit))
    });
    let score = |fit: &Fit| (fit.n_matched, std::cmp::Reverse(launches_of(fit)));
    let Some(top) = fits.iter().map(score).max() else {
        return (
            fits,
            Some(Why::Unlike {
                n_matched: most as u64,
            }),
        );
    };
    fits.retain(|fit| score(fit) == top);
    (fits, None)
}

struct Chooser<'a> {
    files: &'a [File<'a>],
    /// The rank of the trace.
    rank: Option<u64>,
    /// How often each group of equal captures was used, by step and first member.
    nth: Map<(usize, At), usize>,
}

impl Chooser<'_> {
    fn segment(&self, fit: &Fit) -> Option<&Segment> {
        let (file, at) = fit.segment;
        self.files.get(file)?.found.segments.get(at)
    }

    /// The fit of a replay.
    fn choose(&mut self, fits: &[Fit], step: Step) -> Result<usize, Why> {
        let mut rows: Vec<usize> = (0..fits.len()).collect();
        let segment = |row: &usize| fits.get(*row).and_then(|fit| self.segment(fit));
        if let Some(tokens) = step.tokens {
            let largest = rows.iter().filter_map(|row| segment(row)?.known_size());
            let largest = largest.max().unwrap_or(0);
            let capacity = |row: &usize| segment(row)?.capacity(tokens);
            let Some(least) = rows.iter().filter_map(capacity).min() else {
                return Err(Why::TooSmall {
                    captured: largest,
                    tokens,
                });
            };
            rows.retain(|row| capacity(row) == Some(least));
        }
        let own = |row: &usize| {
            let file = fits.get(*row).and_then(|fit| self.files.get(fit.segment.0));
            self.rank.is_some() && file.is_some_and(|file| file.rank == self.rank)
        };
        if rows.iter().any(own) {
            rows.retain(own);
        }
        // Captures of the same size in one file are the layers of one step.
        let shapes = |row: &usize| segment(row).map(|segment| segment.shapes);
        let file = |row: &usize| fits.get(*row).map(|fit| fit.segment.0);
        let size = |row: &usize| segment(row).and_then(Segment::known_size);
        let first = *rows.first().ok_or(Why::Unlike { n_matched: 0 })?;
        let is_other = |row: &&usize| {
            let is_in_other_file = file(row) != file(&first);
            shapes(row) != shapes(&first) && (is_in_other_file || size(row) != size(&first))
        };
        if rows.iter().any(|row| is_other(&row)) {
            let sizes = rows.iter().filter_map(size).distinct();
            return Err(Why::Ambiguous { sizes });
        }
        rows.retain(|row| file(row) == file(&first));
        let of_file = fits
            .get(first)
            .and_then(|fit| self.files.get(fit.segment.0));
        let n_segments = of_file.map_or(0, |file| file.found.segments.len());
        // If there are as many captures as launches, they are in the same order.
        let in_order = rows.iter().copied().find(|row| {
            n_segments == step.n_launches
                && fits.get(*row).is_some_and(|fit| fit.segment.1 == step.nth)
        });
        if let Some(row) = in_order {
            return Ok(row);
        }
        let key = (
            step.number,
            fits.get(first).map_or((0, 0), |fit| fit.segment),
        );
        let nth = self.nth.entry(key).or_default();
        let row = rows.get(*nth % rows.len()).copied();
        *nth += 1;
        row.ok_or(Why::Unlike { n_matched: 0 })
    }
}

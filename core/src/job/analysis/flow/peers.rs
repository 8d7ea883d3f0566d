//! What the peers of each rank did before a collective: the median of the others of its pipeline stage. A rank without
//! peers is compared with its own other steps, and only in how late it launched, since other stages do different work,
//! and its own work may differ from step to step.

use super::{Flow, Node};
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::stats::medians_of_others;
use crate::job::Job;
use crate::job::analysis::roles::Layout;
use crate::job::digest::OwnTime;

/// The key shared by collectives of groups of the same kind: the kind of group and the end of a transfer, the step, and
/// the number within the step.
type Alike<'a> = (Lane<'a>, Option<usize>, usize);

/// The key shared by parts of groups of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Lane<'a> {
    description: &'a str,
    n_ranks: usize,
    kind: &'a str,
    /// For a transfer, the positions of its ends, and whether this rank sends.
    transfer: Option<(usize, usize, bool)>,
    stage: Option<usize>,
}

/// The key shared by the same collective of a rank in all steps: its rank, its group, and the number within the step.
type InSteps<'a> = (usize, Option<usize>, Lane<'a>, usize);

/// A step is compared with the median of the rank's other steps if there are at least this many.
const LEAST_OTHER_STEPS: usize = 2;

/// Finds the peers of all parts.
pub(super) fn find(job: &Job, layout: &Layout, flow: &mut Flow) {
    let (sets, in_steps) = set_alike(job, layout, flow);
    // Groups in which several ranks of a stage were read use their own median; the rest use that of similar groups.
    let of_stages = within_stages(job, layout, flow);
    let mut medians: Vec<Option<OwnTime>> = vec![None; flow.parts.len()];
    for scope in sets.into_iter().chain(of_stages) {
        let own = scope
            .iter()
            .filter_map(|at| Some((*at, flow.parts.get(*at)?.own?)));
        let (places, own): (Vec<usize>, Vec<OwnTime>) = own.unzip();
        for (place, median) in places.into_iter().zip(of_others(&own)) {
            if let Some(known) = medians.get_mut(place) {
                *known = median.or(*known);
            }
        }
    }
    for (part, median) in flow.parts.iter_mut().zip(medians) {
        part.peers = median;
    }
    alone(flow, in_steps);
}

/// Assigns parts to sets of those that are alike. Returns the sets, and the same collectives in all steps.
fn set_alike<'a>(
    job: &'a Job,
    layout: &Layout,
    flow: &mut Flow,
) -> (Vec<Vec<usize>>, Vec<(InSteps<'a>, usize)>) {
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let mut known: Map<Alike, usize> = Map::default();
    let mut numbers: Map<(Option<usize>, Lane, Option<usize>), usize> = Map::default();
    let mut alike = vec![0; flow.parts.len()];
    let mut in_steps: Vec<(InSteps, usize)> = Vec::new();
    for node in &flow.nodes {
        // Both ends of a transfer have a lane of their own, and so has each stage.
        let mut of_node: Vec<(Option<Lane>, usize)> = Vec::new();
        for (part, place) in flow.parts_of(node).iter().zip(flow.places_of(node)) {
            let (lane, group) = lane(job, layout, node, part.rank);
            let known_set = of_node.iter().find(|(of, _)| *of == lane);
            let set = match (known_set, lane) {
                (Some((_, set)), _) => *set,
                (None, None) => {
                    sets.push(Vec::new());
                    sets.len() - 1
                }
                (None, Some(lane)) => {
                    let number = numbers.entry((group, lane, node.step)).or_default();
                    let key = (lane, node.step, *number);
                    if node.step.is_some() {
                        in_steps.push(((part.rank, group, lane, *number), place));
                    }
                    *number += 1;
                    *known.entry(key).or_insert_with(|| {
                        sets.push(Vec::new());
                        sets.len() - 1
                    })
                }
            };
            if known_set.is_none() {
                of_node.push((lane, set));
            }
            sets[set].push(place);
            alike[place] = set;
        }
    }
    for (part, set) in flow.parts.iter_mut().zip(alike) {
        part.alike = set;
    }
    (sets, in_steps)
}

/// The parts of each collective, by stage.
fn within_stages(job: &Job, layout: &Layout, flow: &Flow) -> Vec<Vec<usize>> {
    let is_transfer = |node: &Node| node.collective(job).is_some_and(|of| of.pair.is_some());
    let several = flow.nodes.iter();
    let several = several.filter(|node| node.n > 1 && !is_transfer(node));
    let of_stages = several.flat_map(|node| {
        let stage = |at: usize| layout.stage(flow.parts.get(at)?.rank);
        let by_stage = flow.places_of(node).map(|at| (stage(at), at));
        let by_stage: Vec<(Option<usize>, Vec<usize>)> = grouped(by_stage, Vec::push);
        by_stage.into_iter().map(|(_, places)| places)
    });
    of_stages.collect()
}

/// Compares ranks without peers with their own other steps, in how late they launched.
fn alone(flow: &mut Flow, in_steps: Vec<(InSteps, usize)>) {
    for (_, places) in grouped(in_steps, Vec::push) {
        let places: Vec<usize> = places;
        let parts = places.iter().filter_map(|at| flow.parts.get(*at));
        let is_alone = parts.clone().all(|part| part.peers.is_none());
        let late: Option<Vec<i64>> = parts.map(|part| Some(part.own?.late_ns)).collect();
        let Some(late) = late.filter(|late| is_alone && late.len() > LEAST_OTHER_STEPS) else {
            continue;
        };
        for (place, usual_ns) in places.into_iter().zip(medians_of_others(&late)) {
            let Some(part) = flow.parts.get_mut(place) else {
                continue;
            };
            part.peers = part.own.map(|own| {
                let late_ns = own.late_ns.min(usual_ns);
                OwnTime {
                    total_ns: own.total_ns - (own.late_ns - late_ns),
                    late_ns,
                    ..own
                }
            });
        }
    }
}

/// The key that a part of a node shares with those of other groups, and its group.
fn lane<'a>(
    job: &'a Job,
    layout: &Layout,
    node: &Node,
    rank: usize,
) -> (Option<Lane<'a>>, Option<usize>) {
    let found = || {
        let matched = job.collectives.get(node.matched?)?;
        let at = matched.group?;
        let group = job.groups.get(at)?;
        let transfer = match matched.pair {
            None => None,
            Some((from, to)) => {
                let position = |of| group.ranks.iter().position(|rank| *rank == of);
                let own = job.number(rank)?;
                Some((position(from)?, position(to)?, own == from))
            }
        };
        let lane = Lane {
            description: &group.description,
            n_ranks: group.ranks.len(),
            kind: matched.kind.label(),
            transfer,
            stage: layout.stage(rank),
        };
        Some((lane, at))
    };
    found().map_or((None, None), |(lane, at)| (Some(lane), Some(at)))
}

/// For each one the median of the others; `None` where there are none.
fn of_others(all: &[OwnTime]) -> Vec<Option<OwnTime>> {
    if all.len() < 2 {
        return vec![None; all.len()];
    }
    let medians = |value: fn(&OwnTime) -> i64| {
        medians_of_others(&all.iter().map(value).collect::<Vec<i64>>())
    };
    let total = medians(|own| own.total_ns);
    let work = medians(|own| own.work_ns);
    let copies = medians(|own| own.copies_ns);
    let late = medians(|own| own.late_ns);
    let rows = total
        .into_iter()
        .zip(work)
        .zip(copies.into_iter().zip(late));
    let rows = rows.map(|((total_ns, work_ns), (copies_ns, late_ns))| {
        Some(OwnTime {
            total_ns,
            work_ns,
            copies_ns,
            late_ns,
        })
    });
    rows.collect()
}

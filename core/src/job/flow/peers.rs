//! What the peers of each rank did before a collective: the median of the others.

use super::{Flow, Node};
use crate::base::map::Map;
use crate::base::stats::medians_of_others;
use crate::job::Job;
use crate::job::digest::OwnTime;

/// What collectives of groups of the same kind have in common: which group that is, who has which end
/// of a transfer, the step, and the number in it.
type Alike<'a> = (Lane<'a>, Option<usize>, usize);

/// The kind of a group, of what is done, and of a transfer the positions of its ends and which end.
type Lane<'a> = (&'a str, usize, &'a str, Option<(usize, usize, bool)>);

/// Finds the peers of all parts.
pub(super) fn find(job: &Job, flow: &mut Flow) {
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let mut known: Map<Alike, usize> = Map::default();
    let mut numbers: Map<(Option<usize>, Lane, usize, Option<usize>), usize> = Map::default();
    let mut alike = vec![0; flow.parts.len()];
    for node in &flow.nodes {
        // Both ends of a transfer have a lane of their own.
        let mut of_node: Vec<(Option<bool>, usize)> = Vec::new();
        for (part, place) in flow.parts_of(node).iter().zip(flow.places_of(node)) {
            let (lane, group) = lane(job, node, part.rank);
            let sends = lane.and_then(|lane| lane.3).map(|(.., sends)| sends);
            let known_set = of_node.iter().find(|(of, _)| *of == sends);
            let set = match (known_set, lane) {
                (Some((_, set)), _) => *set,
                (None, None) => {
                    sets.push(Vec::new());
                    sets.len() - 1
                }
                (None, Some(lane)) => {
                    let of_pair = lane
                        .3
                        .map_or(0, |(from, to, _)| from * job.ranks.len() + to);
                    let number = numbers
                        .entry((group, lane, of_pair, node.step))
                        .or_default();
                    let key = (lane, node.step, *number);
                    *number += 1;
                    *known.entry(key).or_insert_with(|| {
                        sets.push(Vec::new());
                        sets.len() - 1
                    })
                }
            };
            if known_set.is_none() {
                of_node.push((sends, set));
            }
            sets[set].push(place);
            alike[place] = set;
        }
    }
    for (part, set) in flow.parts.iter_mut().zip(alike) {
        part.alike = set;
    }
    // Groups of which several ranks were read tell by themselves; the rest asks those alike.
    let is_transfer = |node: &Node| {
        let matched = node.matched.and_then(|at| job.collectives.get(at));
        matched.is_some_and(|of| of.pair.is_some())
    };
    let several = flow.nodes.iter();
    let several = several.filter(|node| node.n > 1 && !is_transfer(node));
    let scopes = several.map(|node| flow.places_of(node).collect::<Vec<usize>>());
    let mut medians: Vec<Option<OwnTime>> = vec![None; flow.parts.len()];
    for scope in sets.into_iter().chain(scopes) {
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
}

/// What a part of a node has in common with those of other groups, and its group.
fn lane<'a>(job: &'a Job, node: &Node, rank: usize) -> (Option<Lane<'a>>, Option<usize>) {
    let found = || {
        let matched = job.collectives.get(node.matched?)?;
        let at = matched.group?;
        let group = job.groups.get(at)?;
        let transfer = match matched.pair {
            None => None,
            Some((from, to)) => {
                let position = |of| group.ranks.iter().position(|rank| *rank == of);
                let own = job.ranks.get(rank)?.number;
                Some((position(from)?, position(to)?, own == from))
            }
        };
        let lane = (
            group.description.as_str(),
            group.ranks.len(),
            matched.kind.label(),
            transfer,
        );
        Some((lane, at))
    };
    found().map_or((None, None), |(lane, at)| (Some(lane), Some(at)))
}

/// Of each the median of the others; `None` where there are none.
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

//! The order of collectives: each follows all that precede it on any rank.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Flow, Node, Part};
use crate::base::sort::Arranged;

/// Sorts the nodes of a flow topologically; among nodes that may come next, the earliest is first. Where the orders of
/// ranks contradict each other, as with inaccurate clocks or overlapping collectives, the earliest node comes next
/// without waiting for its predecessors.
pub(super) fn sorted(mut flow: Flow) -> Flow {
    // For each node, how many of its parts have open predecessors, and which nodes follow it.
    let mut open: Vec<usize> = vec![0; flow.nodes.len()];
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); flow.nodes.len()];
    for part in &flow.parts {
        let Some(before) = part.before.and_then(|at| flow.parts.get(at)) else {
            continue;
        };
        if let Some(followers) = followers.get_mut(before.node) {
            followers.push(part.node);
            open[part.node] += 1;
        }
    }
    let key = |at: usize| (flow.nodes.get(at).map_or(0, |node| node.begin_ns), at);
    let by_begin = (0..flow.nodes.len()).arranged_by_key(|at| key(*at));
    let ready = by_begin.iter().filter(|at| open[**at] == 0);
    let mut ready: BinaryHeap<Reverse<(i64, usize)>> = ready.map(|at| Reverse(key(*at))).collect();
    let mut is_done = vec![false; flow.nodes.len()];
    let mut order = Vec::with_capacity(flow.nodes.len());
    let mut rest = by_begin.iter();
    loop {
        let next = ready.pop().map(|Reverse((_, at))| at);
        let Some(at) = next.or_else(|| rest.find(|at| !is_done[**at]).copied()) else {
            break;
        };
        if is_done[at] {
            continue;
        }
        is_done[at] = true;
        order.push(at);
        for follower in &followers[at] {
            open[*follower] = open[*follower].saturating_sub(1);
            if open[*follower] == 0 {
                ready.push(Reverse(key(*follower)));
            }
        }
    }
    reordered(&mut flow, &order)
}

/// A flow with its nodes in another order, and its parts in the order of the nodes.
fn reordered(flow: &mut Flow, order: &[usize]) -> Flow {
    let mut nodes: Vec<Node> = Vec::with_capacity(flow.nodes.len());
    let mut parts: Vec<Part> = Vec::with_capacity(flow.parts.len());
    let mut places: Vec<usize> = vec![0; flow.parts.len()];
    for at in order {
        let Some(node) = flow.nodes.get(*at) else {
            continue;
        };
        let first = parts.len();
        for (part, at) in flow.parts_of(node).iter().zip(node.first..) {
            places[at] = parts.len();
            parts.push(Part {
                node: nodes.len(),
                ..*part
            });
        }
        nodes.push(Node {
            first,
            last: first + (node.last - node.first),
            ..*node
        });
    }
    let own_nodes: Vec<usize> = parts.iter().map(|part| part.node).collect();
    for part in &mut parts {
        let before = part.before.and_then(|at| places.get(at).copied());
        // A predecessor that still comes later cannot be waited for.
        part.before = before.filter(|at| own_nodes.get(*at).is_some_and(|node| *node < part.node));
    }
    Flow { nodes, parts }
}

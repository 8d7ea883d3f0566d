//! The cost of calls: time on the CPU, and the GPU activity that they launched.
//!
//! Costs are additive: every nanosecond of a thread and every piece of GPU activity belongs to exactly one call. The
//! cost of a subtree is therefore the sum of the self costs of its calls, and however calls are merged, their total
//! stays the same.

use std::iter::Sum;
use std::ops::{AddAssign, Range};

use super::{CallTree, NodeId};
use crate::base::interval::{Interval, running_sums, sum};
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::trace::{Category, Trace};

/// Time and GPU activity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Total duration of GPU activity. Concurrent work counts separately.
    pub gpu_ns: i64,
    /// Time on the CPU.
    pub cpu_ns: i64,
    /// Number of kernels, copies and fills.
    pub n_work: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        // Impossible times in a broken trace must not overflow.
        self.gpu_ns = self.gpu_ns.saturating_add(other.gpu_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.n_work = self.n_work.saturating_add(other.n_work);
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), |mut all, cost| {
            all += cost;
            all
        })
    }
}

/// Which call GPU activity is assigned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The runtime or driver call that launched it.
    Launch,
    /// The operator that made that call; if it was made by Python or at the top level, the call itself.
    Operator,
}

/// The GPU activity of every call in a profile's [full tree](Profile::full_tree). 12 bytes per piece.
#[derive(Debug)]
pub struct Launched {
    /// The call of each piece of work, ascending.
    nodes: Vec<NodeId>,
    /// By position: total duration of all pieces before it, with one more entry for all of them.
    before_ns: Vec<i64>,
}

impl Launched {
    /// Finds the call of every piece of work whose launch was recorded.
    pub fn new(profile: &Profile, owner: Owner) -> Launched {
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let mut pieces: Vec<(NodeId, i64)> = profile
            .gpu
            .iter()
            .filter_map(|(_, work)| {
                let launch = tree.node_of(work.launched_by?)?;
                let node = match owner {
                    Owner::Launch => launch,
                    Owner::Operator => operator(trace, tree, launch),
                };
                Some((node, work.span.length()))
            })
            .collect();
        pieces.arrange_by_key(|&(node, _)| node);
        Launched {
            nodes: pieces.iter().map(|(node, _)| *node).collect(),
            before_ns: running_sums(pieces.iter().map(|(_, ns)| *ns)),
        }
    }

    /// What the calls in a range of nodes launched themselves; for a call's [subtree](CallTree::subtree), everything
    /// launched by it and below it.
    pub fn within(&self, nodes: Range<u32>) -> Cost {
        let start = self.nodes.partition_point(|node| node.0 < nodes.start);
        let end = self.nodes.partition_point(|node| node.0 < nodes.end);
        let at = |position: usize| self.before_ns.get(position).copied().unwrap_or(0);
        Cost {
            gpu_ns: at(end).saturating_sub(at(start)),
            cpu_ns: 0,
            n_work: end.saturating_sub(start) as u64,
        }
    }

    /// Every piece of work: its call and its duration.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (NodeId, i64)> + '_ {
        let pairs = self.before_ns.iter().zip(self.before_ns.iter().skip(1));
        let lengths = pairs.map(|(before, after)| after.saturating_sub(*before));
        self.nodes.iter().copied().zip(lengths)
    }
}

/// The operator that made a runtime call, as the [`Owner::Operator`] of what it launched.
fn operator(trace: &Trace, tree: &CallTree, launch: NodeId) -> NodeId {
    let caller = tree
        .ancestors(launch)
        .find(|node| !tree.category(trace, *node).is_runtime());
    caller
        .filter(|caller| tree.category(trace, *caller) == Category::CpuOp)
        .unwrap_or(launch)
}

/// By node: the value of [`own_cpu_ns`], computed in a single pass over the tree.
pub(super) fn own_cpu_of_all(trace: &Trace, tree: &CallTree) -> Vec<i64> {
    /// The remaining self time of a call, up to where its children were processed, and its end.
    #[derive(Clone, Copy, Default)]
    struct Remaining {
        own_ns: i64,
        until_ns: i64,
        end_ns: i64,
        is_recorded: bool,
    }
    let mut left = vec![Remaining::default(); tree.len()];
    for call in tree.ids() {
        let event = tree.event(call).filter(|event| !trace.captured.has(*event));
        let Some(event) = event else {
            continue;
        };
        let span = trace.events.span(event);
        if let Some(slot) = left.get_mut(call.index()) {
            *slot = Remaining {
                own_ns: span.length(),
                until_ns: span.start_ns,
                end_ns: span.end_ns,
                is_recorded: true,
            };
        }
        let caller = tree.parent(call);
        let caller = caller.and_then(|caller| left.get_mut(caller.index()));
        if let Some(caller) = caller.filter(|caller| caller.is_recorded) {
            let start_ns = span.start_ns.max(caller.until_ns);
            let end_ns = span.end_ns.min(caller.end_ns).max(start_ns);
            caller.until_ns = end_ns;
            let inside_ns = Interval::new(start_ns, end_ns).length();
            caller.own_ns = caller.own_ns.saturating_sub(inside_ns);
        }
    }
    left.into_iter().map(|left| left.own_ns.max(0)).collect()
}

/// The self CPU time of a call, excluding calls below it; zero for a call of unknown duration.
pub fn own_cpu_ns(trace: &Trace, tree: &CallTree, node: NodeId) -> i64 {
    // Calls recorded during graph capture took no time in this recording.
    let recorded = |node: NodeId| {
        let event = tree
            .event(node)
            .filter(|event| !trace.captured.has(*event))?;
        Some(trace.events.span(event))
    };
    let Some(call) = recorded(node) else {
        return 0;
    };
    // If a call outlasts its caller by a rounding error, two siblings may overlap.
    let mut counted_until_ns = call.start_ns;
    let below = tree.children(node).filter_map(recorded).map(|child| {
        let start_ns = child.start_ns.max(counted_until_ns);
        let end_ns = child.end_ns.min(call.end_ns).max(start_ns);
        counted_until_ns = end_ns;
        Interval::new(start_ns, end_ns).length()
    });
    call.length().saturating_sub(sum(below)).max(0)
}

//! The layers and kernels of a graph replay, below a graph launch with nothing recorded below it.

use std::collections::HashMap;

use dormer_core::Profile;
use dormer_core::profile::cpu::tree::Cost;
use dormer_core::profile::launch::GpuId;
use dormer_core::profile::serving::slices::of_work;
use dormer_core::trace::EventId;

use super::shape::Item;

/// Numbers of layers and kernels start here: above those of calls, below those of headings.
const FIRST: Item = 1 << 30;

/// A layer, or a kernel of a replay.
pub(super) struct Node {
    pub(super) parent: Item,
    /// The number of nodes between it and the launch.
    pub(super) depth: u32,
    pub(super) what: What,
    pub(super) cost: Cost,
    children: std::ops::Range<u32>,
}

pub(super) enum What {
    /// A layer, or something beside layers, by name.
    Part(String),
    /// A kernel, copy or fill.
    Work(EventId),
}

/// What is below the graph launches of a trace.
#[derive(Default)]
pub(super) struct Replays {
    nodes: Vec<Node>,
    below: HashMap<Item, std::ops::Range<u32>>,
}

impl Replays {
    /// For a trace whose steps are known.
    pub(super) fn new(profile: &Profile) -> Replays {
        let mut replays = Replays::default();
        let Some(serving) = profile.serving() else {
            return replays;
        };
        let tree = profile.full_tree();
        for replay in serving.graphs.iter().flat_map(|graph| &graph.replays) {
            let Some(launch) = tree.node_of(replay.call) else {
                continue;
            };
            let work = tree.gpu_work(launch);
            if tree.has_children(launch) || work.len() < 2 {
                continue;
            }
            let slices = of_work(profile, serving, work);
            if slices.iter().all(|slice| slice.number.is_none()) {
                let kernels = replays.kernels(profile, launch.0, 1, work);
                replays.below.insert(launch.0, kernels);
                continue;
            }
            let first = replays.nodes.len() as u32;
            for slice in &slices {
                replays.nodes.push(Node {
                    parent: launch.0,
                    depth: 1,
                    what: What::Part(slice.name()),
                    cost: cost(profile, &slice.work),
                    children: 0..0,
                });
            }
            let end = replays.nodes.len() as u32;
            for (at, slice) in (first..end).zip(&slices) {
                let kernels = replays.kernels(profile, FIRST + at, 2, &slice.work);
                if let Some(node) = replays.nodes.get_mut(at as usize) {
                    node.children = kernels;
                }
            }
            replays.below.insert(launch.0, first..end);
        }
        replays
    }

    fn kernels(
        &mut self,
        profile: &Profile,
        parent: Item,
        depth: u32,
        work: &[GpuId],
    ) -> std::ops::Range<u32> {
        let first = self.nodes.len() as u32;
        for id in work {
            if let Some(kernel) = profile.gpu.get(*id) {
                self.nodes.push(Node {
                    parent,
                    depth,
                    what: What::Work(kernel.event),
                    cost: cost(profile, &[*id]),
                    children: 0..0,
                });
            }
        }
        first..self.nodes.len() as u32
    }

    /// What an item is; `None` for a call or a heading.
    pub(super) fn get(&self, item: Item) -> Option<&Node> {
        self.nodes.get(item.checked_sub(FIRST)? as usize)
    }

    /// The children of a launch, a layer or a kernel; `None` for any other item.
    pub(super) fn below(&self, item: Item) -> Option<impl Iterator<Item = Item> + use<>> {
        let own = self.get(item).map(|node| &node.children);
        let children = own.or_else(|| self.below.get(&item))?;
        Some(children.clone().map(|at| FIRST + at))
    }
}

fn cost(profile: &Profile, work: &[GpuId]) -> Cost {
    let work = work.iter().filter_map(|id| profile.gpu.get(*id));
    work.fold(Cost::default(), |mut cost, one| {
        cost += Cost {
            gpu_ns: one.span.length(),
            cpu_ns: 0,
            n_work: 1,
        };
        cost
    })
}

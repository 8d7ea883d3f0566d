//! What each name cost itself, and who called it.

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::builder::Builder;
use super::{Label, MergedId, MergedTree};
use crate::tree::Cost;

impl MergedTree {
    /// A top-down tree the other way around. Its roots are the names that cost something
    /// themselves; below each stand its callers, with what it cost when they called it.
    ///
    /// The cost of a node with those below is that of the root's calls with all that they called;
    /// of calls inside each other the outermost counts.
    pub fn bottom_up(top_down: &MergedTree) -> MergedTree {
        let costly: HashSet<Label, FxBuildHasher> = top_down
            .ids()
            .filter_map(|id| top_down.get(id))
            .filter(|of| of.own != Cost::default())
            .map(|of| of.label)
            .collect();
        let mut builder = Builder::default();
        // By name: the nodes of that name above the present one, outermost first.
        let mut open: HashMap<Label, Vec<MergedId>, FxBuildHasher> = HashMap::default();
        let mut above: Vec<(MergedId, Label)> = Vec::new();
        for id in top_down.ids() {
            while let Some(&(last, label)) = above.last() {
                if top_down.subtree(last).end > id.0 {
                    break;
                }
                above.pop();
                if let Some(open) = open.get_mut(&label) {
                    open.pop();
                }
            }
            let Some(of) = top_down.get(id) else {
                continue;
            };
            let outer = open.entry(of.label).or_default();
            if costly.contains(&of.label) {
                // Up to here the callers are those of an outer call, which counts this one.
                let shared = outer.iter().map(|outer| shared(top_down, id, *outer));
                let shared = shared.max().unwrap_or(0);
                let chain = std::iter::successors(Some(id), |node| top_down.parent(*node));
                let mut node = Builder::TOP;
                for (level, call) in chain.filter_map(|call| top_down.get(call)).enumerate() {
                    node = builder.below(node, call.label, call.first);
                    builder.count(node, of.n_calls);
                    builder.add_own(node, of.own);
                    if level >= shared {
                        builder.add_all(node, of.all);
                    }
                }
            }
            outer.push(id);
            above.push((id, of.label));
        }
        builder.in_order()
    }
}

/// How many labels two nodes have in common, from themselves upwards.
fn shared(tree: &MergedTree, one: MergedId, other: MergedId) -> usize {
    let labels = |node: MergedId| {
        let chain = std::iter::successors(Some(node), |node| tree.parent(*node));
        chain.filter_map(|node| tree.get(node).map(|of| of.label))
    };
    let pairs = labels(one).zip(labels(other));
    pairs.take_while(|(one, other)| one == other).count()
}

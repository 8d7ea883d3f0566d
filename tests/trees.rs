//! Consistency of the call trees of real traces, with themselves and each other.

use dormer_core::compare::Which;
use dormer_core::compare::tree::{DiffId, TreeDiff};
use dormer_core::profile::cpu::tree::{BottomUp, Cost, Launched, MergedTree, Owner};

use crate::support::opened::{NO_GPU, Opened, profile};
use crate::support::shared;

#[test]
fn a_trace_does_not_differ_from_itself() {
    for (name, trace) in shared::with_sample() {
        let trace = opened(&name, &trace);
        let tree = TreeDiff::new(trace.side(), trace.side());
        assert!(tree.places.is_empty(), "{name}: {:?}", tree.places.first());
        check(&tree, &trace, &trace, &name);
    }
}

/// Whatever two traces have in common, no GPU activity is lost and none counts twice.
#[test]
fn times_of_each_side_sum_up() {
    let traces = shared::with_sample();
    let traces: Vec<Opened> = traces
        .iter()
        .map(|(name, trace)| opened(name, trace))
        .collect();
    for reference in &traces {
        for target in &traces {
            let tree = TreeDiff::new(reference.side(), target.side());
            check(
                &tree,
                reference,
                target,
                &format!("{} and {}", reference.name, target.name),
            );
        }
    }
}

/// However calls are aggregated, their total cost is that of the trace.
#[test]
fn merged_trees_cost_what_the_trace_costs() {
    for (name, trace) in shared::with_sample() {
        let profile = profile(&trace);
        let launched = Launched::new(&profile, Owner::Launch);
        let all = launched.within(0..profile.full_tree().len() as u32);
        let top_down = MergedTree::top_down(&profile);
        let own = |tree: &MergedTree, id| tree.get(id).map(|of| of.own).unwrap_or_default();
        let bottom_up = BottomUp::new(MergedTree::top_down(&profile));
        let roots = bottom_up.roots().filter_map(|id| bottom_up.get(id));
        let roots: Cost = roots.map(|of| of.own).sum();
        assert_eq!(
            (roots.gpu_ns, roots.n_work),
            (all.gpu_ns, all.n_work),
            "{name}"
        );
        let others = [
            MergedTree::by_module(&profile),
            MergedTree::forward_and_backward(&profile),
        ];
        let sum = |tree: &MergedTree| -> Cost { tree.ids().map(|id| own(tree, id)).sum() };
        assert_eq!(sum(&top_down), roots, "{name}");
        for tree in others.iter().flatten() {
            let sum = sum(tree);
            assert_eq!((sum.gpu_ns, sum.n_work), (all.gpu_ns, all.n_work), "{name}");
            // Named ranges also have the time in which none of their calls runs.
            assert!(sum.cpu_ns >= roots.cpu_ns, "{name}");
        }
    }
}

/// Without a GPU, because efficiencies do not matter here.
fn opened(name: &str, trace: &[u8]) -> Opened {
    Opened::on(name, trace, NO_GPU)
}

fn check(tree: &TreeDiff, reference: &Opened, target: &Opened, name: &str) {
    let sides = [(Which::Reference, reference), (Which::Target, target)];
    for (which, Opened { profile, .. }) in sides {
        let mut n_nodes = vec![0; profile.gpu.len()];
        for (id, _) in tree.iter() {
            for work in tree.own_work(id, which) {
                n_nodes[work.index()] += 1;
            }
        }
        assert!(n_nodes.iter().all(|n| *n == 1), "{name}, {which:?}");
        let whole: i64 = profile.gpu.iter().map(|(_, work)| work.span.length()).sum();
        let root = tree.get(DiffId::ROOT).unwrap();
        assert_eq!(*root.gpu_ns.get(which), whole, "{name}, {which:?}");
    }
    for (id, node) in tree.iter() {
        for (which, Opened { profile, .. }) in sides {
            let own = tree.own_work(id, which).iter();
            let own = own.map(|id| profile.gpu.get(*id).unwrap().span.length());
            let below = tree.children(id).map(|id| tree.get(id).unwrap().gpu_ns);
            let below = below.map(|times| *times.get(which));
            let sum: i64 = own.chain(below).sum();
            assert_eq!(*node.gpu_ns.get(which), sum, "{name}, {which:?}");
        }
    }
}

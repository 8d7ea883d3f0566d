//! The call trees of real traces against themselves and each other.

use dormer_core::compare::tree::{DiffId, TreeDiff};
use dormer_core::compare::{Side, Which};
use dormer_core::import::import;
use dormer_core::profile::Profile;
use dormer_core::profile::tree::{BottomUp, Cost, Launched, MergedTree, Owner};
use dormer_core::report::{Report, ReportOptions};

use crate::support::shared;

#[test]
fn a_trace_does_not_differ_from_itself() {
    for (name, trace) in shared::with_sample() {
        let trace = Analysed::new(&trace);
        let tree = TreeDiff::new(trace.side("reference"), trace.side("target"));
        assert!(tree.places.is_empty(), "{name}: {:?}", tree.places.first());
        check(&tree, &trace, &trace, &name);
    }
}

/// Whatever two traces have in common: no GPU work gets lost, none counts twice.
#[test]
fn times_of_each_side_sum_up() {
    let traces: Vec<(String, Analysed)> = shared::with_sample()
        .into_iter()
        .map(|(name, trace)| (name, Analysed::new(&trace)))
        .collect();
    for (one, reference) in &traces {
        for (other, target) in &traces {
            let tree = TreeDiff::new(reference.side("reference"), target.side("target"));
            check(&tree, reference, target, &format!("{one} and {other}"));
        }
    }
}

/// However calls are put together, they cost what the trace costs.
#[test]
fn merged_trees_cost_what_the_trace_costs() {
    for (name, trace) in shared::with_sample() {
        let profile = Profile::new(import(trace.as_slice()).unwrap());
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
            // Named ranges have the time, too, in which none of their calls runs.
            assert!(sum.cpu_ns >= roots.cpu_ns, "{name}");
        }
    }
}

struct Analysed {
    profile: Profile,
    report: Report,
}

impl Analysed {
    fn new(trace: &[u8]) -> Analysed {
        let profile = Profile::new(import(trace).unwrap());
        let report = Report::new(&profile, &ReportOptions::default());
        Analysed { profile, report }
    }

    fn side<'a>(&'a self, name: &'a str) -> Side<'a> {
        Side {
            name,
            profile: &self.profile,
            report: &self.report,
        }
    }
}

fn check(tree: &TreeDiff, reference: &Analysed, target: &Analysed, name: &str) {
    let sides = [(Which::Reference, reference), (Which::Target, target)];
    for (which, Analysed { profile, .. }) in sides {
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
        for which in [Which::Reference, Which::Target] {
            let own = tree.own_work(id, which).iter();
            let profile = match which {
                Which::Reference => &reference.profile,
                Which::Target => &target.profile,
            };
            let own: i64 = own
                .map(|id| profile.gpu.get(*id).unwrap().span.length())
                .sum();
            let below = tree.children(id).map(|id| tree.get(id).unwrap().gpu_ns);
            let below: i64 = below.map(|times| *times.get(which)).sum();
            assert_eq!(*node.gpu_ns.get(which), own + below, "{name}, {which:?}");
        }
    }
}

//! One small trace in every kind of tree, written out, and invariants for the sample.

use super::{BottomUp, ClassTree, Merged, MergedId, MergedTree};
use crate::import::import;
use crate::profile::Profile;
use crate::profile::cpu::tree::cost::own_cpu_of_all;
use crate::profile::cpu::tree::{Cost, Launched, Owner, own_cpu_ns};
use crate::testing::Timetable;

/// One line per node: name, self and total GPU time, self and total CPU time in microseconds, number of calls and of
/// kernels.
fn lines(profile: &Profile, tree: &MergedTree) -> Vec<String> {
    let line = |id| line(profile, tree.get(id).unwrap(), tree.depth(id));
    tree.ids().map(line).collect()
}

fn line(profile: &Profile, of: &Merged, depth: u16) -> String {
    format!(
        "{}{}: GPU {}/{}, CPU {}/{}, {} × {}",
        "  ".repeat(usize::from(depth)),
        of.label.name(&profile.trace),
        of.own.gpu_ns / 1000,
        of.all.gpu_ns / 1000,
        of.own.cpu_ns / 1000,
        of.all.cpu_ns / 1000,
        of.n_calls,
        of.all.n_work,
    )
}

/// Every node of a bottom-up tree, including callers.
fn all_callers(tree: &mut BottomUp) -> Vec<MergedId> {
    let mut all = Vec::new();
    let mut waiting: Vec<MergedId> = tree.roots().collect();
    waiting.reverse();
    while let Some(node) = waiting.pop() {
        all.push(node);
        let mut callers: Vec<MergedId> = tree.callers(node).collect();
        assert_eq!(callers.is_empty(), !tree.has_callers(node));
        assert!(callers.iter().all(|id| tree.parent(*id) == Some(node)));
        callers.reverse();
        waiting.append(&mut callers);
    }
    all
}

fn lines_of_callers(profile: &Profile, tree: &mut BottomUp) -> Vec<String> {
    let all = all_callers(tree).into_iter();
    all.map(|id| line(profile, tree.get(id).unwrap(), tree.depth(id)))
        .collect()
}

/// `aten::mm` is called directly and by `aten::linear`; each call launches a kernel of 10 µs.
fn two_steps() -> Profile {
    Timetable::new()
        .op("aten::linear", 0..100)
        .op("aten::mm", 10..40)
        .launched("gemm", 20..25, 50..60)
        .op("aten::linear", 100..200)
        .op("aten::mm", 110..140)
        .launched("gemm", 120..125, 150..160)
        .op("aten::mm", 200..220)
        .launched("gemm", 210..215, 250..260)
        .profile()
}

#[test]
fn top_down_calls_of_one_name_below_the_same_caller_are_one() {
    let profile = two_steps();
    let tree = MergedTree::top_down(&profile);
    assert_eq!(
        lines(&profile, &tree),
        [
            "aten::linear: GPU 0/20, CPU 140/200, 2 × 2",
            "  aten::mm: GPU 20/20, CPU 50/60, 2 × 2",
            "    cudaLaunchKernel: GPU 0/0, CPU 10/10, 2 × 0",
            "aten::mm: GPU 10/10, CPU 15/20, 1 × 1",
            "  cudaLaunchKernel: GPU 0/0, CPU 5/5, 1 × 0",
        ]
    );
}

#[test]
fn bottom_up_a_name_stands_above_its_callers() {
    let profile = two_steps();
    let mut tree = BottomUp::new(MergedTree::top_down(&profile));
    assert_eq!(
        lines_of_callers(&profile, &mut tree),
        [
            "aten::linear: GPU 0/20, CPU 140/200, 2 × 2",
            "aten::mm: GPU 30/30, CPU 65/80, 3 × 3",
            "  aten::linear: GPU 20/20, CPU 50/60, 2 × 2",
            "cudaLaunchKernel: GPU 0/0, CPU 15/15, 3 × 0",
            "  aten::mm: GPU 0/0, CPU 15/15, 3 × 0",
            "    aten::linear: GPU 0/0, CPU 10/10, 2 × 0",
        ]
    );
}

#[test]
fn calls_inside_themselves_count_once() {
    let profile = Timetable::new()
        .op("f", 0..100)
        .op("f", 10..90)
        .op("f", 20..80)
        .launched("gemm", 30..40, 50..57)
        .profile();
    let top_down = MergedTree::top_down(&profile);
    assert_eq!(
        lines(&profile, &top_down),
        [
            "f: GPU 0/7, CPU 20/100, 1 × 1",
            "  f: GPU 0/7, CPU 20/80, 1 × 1",
            "    f: GPU 7/7, CPU 50/60, 1 × 1",
            "      cudaLaunchKernel: GPU 0/0, CPU 10/10, 1 × 0",
        ]
    );
    // The total time of `f` is that of its outermost call; that of `f ← f` is of the second.
    assert_eq!(
        lines_of_callers(&profile, &mut BottomUp::new(top_down))[..3],
        [
            "f: GPU 7/7, CPU 90/100, 3 × 1",
            "  f: GPU 7/7, CPU 70/80, 2 × 1",
            "    f: GPU 7/7, CPU 50/60, 1 × 1",
        ]
    );
}

#[test]
fn operators_stand_below_modules_and_ranges_and_the_rest_is_outside() {
    let profile = Timetable::new()
        .annotation("ProfilerStep#3", 0..100)
        .frame("train.py(3): step", 5..95)
        .frame("nn.Module: Block_0", 10..50)
        .frame("block.py(1): forward", 11..49)
        .op("aten::mm", 20..40)
        .launched("gemm", 22..24, 60..70)
        .op("aten::add_", 60..80)
        .launched("add", 62..64, 90..95)
        .annotation("ProfilerStep#4", 100..200)
        .op("aten::add_", 110..120)
        .op("aten::zero_", 300..310)
        .profile();
    let tree = MergedTree::by_module(&profile).unwrap();
    assert_eq!(
        lines(&profile, &tree),
        [
            // In the first step, 10 µs are outside of `step`; in the second, 90 µs are outside of calls.
            "ProfilerStep: GPU 0/15, CPU 130/200, 2 × 2",
            "  nn.Module: Block_0: GPU 0/10, CPU 20/40, 1 × 1",
            "    aten::mm: GPU 10/10, CPU 18/20, 1 × 1",
            "      cudaLaunchKernel: GPU 0/0, CPU 2/2, 1 × 0",
            "  Outside modules: GPU 0/5, CPU 0/30, 0 × 1",
            "    aten::add_: GPU 5/5, CPU 28/30, 2 × 1",
            "      cudaLaunchKernel: GPU 0/0, CPU 2/2, 1 × 0",
            "Outside modules: GPU 0/0, CPU 0/10, 0 × 0",
            "  aten::zero_: GPU 0/0, CPU 10/10, 1 × 0",
        ]
    );
}

#[test]
fn a_trace_without_modules_has_its_ranges_and_one_without_either_nothing() {
    let profile = Timetable::new()
        .annotation("forward", 0..50)
        .op("aten::mm", 10..20)
        .op("aten::add", 60..70)
        .profile();
    let tree = MergedTree::by_module(&profile).unwrap();
    assert_eq!(
        lines(&profile, &tree),
        [
            "forward: GPU 0/0, CPU 40/50, 1 × 0",
            "  aten::mm: GPU 0/0, CPU 10/10, 1 × 0",
            "Outside annotations: GPU 0/0, CPU 0/10, 0 × 0",
            "  aten::add: GPU 0/0, CPU 10/10, 1 × 0",
        ]
    );
    assert!(MergedTree::by_module(&two_steps()).is_none());
    assert!(MergedTree::forward_and_backward(&two_steps()).is_none());
}

/// ```text
/// µs          0    20   40   60   80   100
/// step        [============================)
/// train.py       [======================)       5 to 95
/// forward             [=========)               20 to 60
/// aten::mm               [===)                  30 to 45
/// loss                           [====)         65 to 85, no call in it
/// ```
#[test]
fn a_range_has_the_time_that_passes_in_it_and_in_no_call() {
    let ranges = Timetable::new()
        .annotation("step", 0..100)
        .annotation("forward", 20..60)
        .op("aten::mm", 30..45)
        .annotation("loss", 65..85);
    let lines_of = |timetable: Timetable| {
        let profile = timetable.profile();
        lines(&profile, &MergedTree::by_module(&profile).unwrap())
    };
    assert_eq!(
        lines_of(ranges.clone()),
        [
            "step: GPU 0/0, CPU 60/100, 1 × 0",
            "  forward: GPU 0/0, CPU 25/40, 1 × 0",
            "    aten::mm: GPU 0/0, CPU 15/15, 1 × 0",
        ]
    );
    // With frames, a range inside a frame takes its time from the frame. The frame belongs to the step, which keeps the
    // rest.
    assert_eq!(
        lines_of(ranges.frame("train.py(3): step", 5..95)),
        [
            "step: GPU 0/0, CPU 60/100, 1 × 0",
            "  forward: GPU 0/0, CPU 25/40, 1 × 0",
            "    aten::mm: GPU 0/0, CPU 15/15, 1 × 0",
        ]
    );
}

/// A forward call in a module, and its gradient.
fn training(backward_thread: u32) -> Profile {
    let number = r#""Sequence number": 7"#;
    Timetable::new()
        .frame("nn.Module: Linear_0", 0..50)
        .op("aten::addmm", 10..40)
        .args(number)
        .launched("gemm", 20..25, 30..40)
        .thread(backward_thread)
        .op(
            "autograd::engine::evaluate_function: AddmmBackward0",
            100..150,
        )
        .args(number)
        .op("AddmmBackward0", 105..145)
        .args(number)
        .launched("gemm", 110..115, 120..150)
        .op("Unknown", 200..210)
        .profile()
}

#[test]
fn the_backward_pass_of_an_operator_stands_under_it_whatever_its_thread() {
    for thread in [1, 2] {
        let profile = training(thread);
        let tree = MergedTree::forward_and_backward(&profile).unwrap();
        assert_eq!(
            lines(&profile, &tree),
            [
                "nn.Module: Linear_0: GPU 0/40, CPU 20/100, 1 × 2",
                "  aten::addmm: GPU 10/40, CPU 25/80, 1 × 2",
                "    cudaLaunchKernel: GPU 0/0, CPU 5/5, 1 × 0",
                "    autograd::engine::evaluate_function: AddmmBackward0: GPU 0/30, CPU 10/50, 1 × 1",
                "      AddmmBackward0: GPU 30/30, CPU 35/40, 1 × 1",
                "        cudaLaunchKernel: GPU 0/0, CPU 5/5, 1 × 0",
                "Outside modules: GPU 0/0, CPU 0/10, 0 × 0",
                "  Unknown: GPU 0/0, CPU 10/10, 1 × 0",
            ]
        );
    }
}

/// Every tree costs as much as the trace; `tests/trees.rs` checks the sums of all nodes.
#[test]
fn every_tree_of_the_sample_adds_up() {
    let profile = Profile::new(import(crate::sample::TRACE.as_bytes()).unwrap());
    let full = profile.full_tree();
    let launched = Launched::new(&profile, Owner::Launch).within(0..full.len() as u32);
    let lengths: Vec<i64> = profile
        .gpu
        .iter()
        .filter(|(_, work)| work.launched_by.is_some())
        .map(|(_, work)| work.span.length())
        .collect();
    assert_eq!(launched.gpu_ns, lengths.iter().sum::<i64>());
    assert_eq!(launched.n_work, lengths.len() as u64);
    let cpu_ns = full
        .ids()
        .map(|node| own_cpu_ns(&profile.trace, full, node))
        .sum();
    let all = Cost { cpu_ns, ..launched };

    let top_down = MergedTree::top_down(&profile);
    let own = |tree: &MergedTree, id| tree.get(id).unwrap().own;
    let modules = MergedTree::by_module(&profile).unwrap();
    let linked = MergedTree::forward_and_backward(&profile).unwrap();
    for tree in [&top_down, &modules, &linked] {
        assert!(tree.ids().all(|id| own(tree, id).cpu_ns >= 0));
        for id in tree.ids() {
            let below: Cost = tree
                .children(id)
                .map(|child| tree.get(child).unwrap().all)
                .sum();
            let mut sum = own(tree, id);
            sum += below;
            assert_eq!(tree.get(id).unwrap().all, sum);
        }
    }
    // No node of the bottom-up tree costs more than the trace, and callers share their root's cost.
    let mut bottom_up = BottomUp::new(top_down);
    let own = |tree: &BottomUp, id| tree.get(id).unwrap().own;
    let roots: Cost = bottom_up.roots().map(|id| own(&bottom_up, id)).sum();
    assert_eq!(roots, all);
    for id in all_callers(&mut bottom_up) {
        let callers = bottom_up.callers(id);
        let callers: Cost = callers.map(|caller| own(&bottom_up, caller)).sum();
        let of = bottom_up.get(id).unwrap();
        assert!(of.all.gpu_ns >= of.own.gpu_ns && of.all.gpu_ns <= all.gpu_ns);
        assert!(callers.gpu_ns <= of.own.gpu_ns && callers.cpu_ns <= of.own.cpu_ns);
    }
}

/// Every reachable node of a class tree, with the number of its modules and the spread of their GPU time in
/// microseconds.
fn lines_of_classes(profile: &Profile, tree: &mut ClassTree) -> Vec<String> {
    let mut lines = Vec::new();
    let mut waiting: Vec<MergedId> = tree.roots().collect();
    waiting.reverse();
    while let Some(node) = waiting.pop() {
        let modules = tree.instances(node).map_or_else(String::new, |of| {
            let [least, mean, most] =
                [of.gpu.least_ns, of.gpu.mean_ns, of.gpu.most_ns].map(|ns| ns / 1000);
            format!(", {} modules of {least} to {most}, mean {mean}", of.n)
        });
        let of = line(profile, tree.get(node).unwrap(), tree.depth(node));
        lines.push(format!("{of}{modules}"));
        let mut below: Vec<MergedId> = tree.children(node).collect();
        assert_eq!(below.is_empty(), !tree.has_children(node));
        below.reverse();
        waiting.append(&mut below);
    }
    lines
}

/// Two layers with a projection each, whose kernels take 10 and 30 µs, and a head of a different class.
fn two_layers() -> Profile {
    Timetable::new()
        .frame("nn.Module: Layer_0", 0..100)
        .frame("nn.Module: Linear_0", 10..90)
        .op("aten::mm", 20..40)
        .launched("gemm", 22..24, 60..70)
        .frame("nn.Module: Layer_1", 100..200)
        .frame("nn.Module: Linear_1", 110..190)
        .op("aten::mm", 120..140)
        .launched("gemm", 122..124, 160..190)
        .frame("nn.Module: Head_0", 200..300)
        .profile()
}

#[test]
fn siblings_of_one_class_are_one_node_and_so_is_what_is_below_them() {
    let profile = two_layers();
    let names = MergedTree::by_module(&profile).unwrap();
    let mut tree = ClassTree::new(&profile.trace, names);
    assert_eq!(
        lines_of_classes(&profile, &mut tree),
        [
            "nn.Module: Layer: GPU 0/40, CPU 40/200, 2 × 2, 2 modules of 10 to 30, mean 20",
            "  nn.Module: Linear: GPU 0/40, CPU 120/160, 2 × 2, 2 modules of 10 to 30, mean 20",
            "    aten::mm: GPU 40/40, CPU 36/40, 2 × 2",
            "      cudaLaunchKernel: GPU 0/0, CPU 4/4, 2 × 0",
            "nn.Module: Head_0: GPU 0/0, CPU 100/100, 1 × 0",
        ]
    );
}

#[test]
fn a_class_is_split_into_its_modules_and_put_together_again() {
    let profile = two_layers();
    let names = MergedTree::by_module(&profile).unwrap();
    let mut tree = ClassTree::new(&profile.trace, names);
    let layers = tree.roots().next().unwrap();
    let merged = lines_of_classes(&profile, &mut tree);
    tree.split(layers, true);
    let split = lines_of_classes(&profile, &mut tree);
    assert_eq!(
        split[1..4],
        [
            "  nn.Module: Layer_0: GPU 0/10, CPU 20/100, 1 × 1",
            "    nn.Module: Linear_0: GPU 0/10, CPU 60/80, 1 × 1",
            "      aten::mm: GPU 10/10, CPU 18/20, 1 × 1",
        ]
    );
    // Every node of the underlying tree is found, split or not.
    let names: Vec<MergedId> = tree.of_names().ids().collect();
    for is_split in [true, false] {
        tree.split(layers, is_split);
        for name in &names {
            let label = tree.of_names().get(*name).unwrap().label;
            let held = tree.holding(*name).unwrap();
            let held = tree.get(held).unwrap().label.name(&profile.trace);
            assert!(label.name(&profile.trace).starts_with(held), "{held}");
        }
    }
    assert_eq!(lines_of_classes(&profile, &mut tree), merged);
    // A node of the split tree splits its ancestors again.
    let single = split.len() as u32;
    assert!((0..single).any(|node| {
        tree.arrange_for(MergedId(node));
        tree.is_split(layers)
    }));
    // A single module cannot be split.
    let head = tree.roots().nth(1).unwrap();
    tree.split(head, true);
    assert!(!tree.is_split(head));
}

#[test]
fn own_times_in_one_go_are_those_of_each_call() {
    let sample = Profile::new(import(crate::sample::TRACE.as_bytes()).unwrap());
    for profile in [two_steps(), two_layers(), sample] {
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let each = tree.ids().map(|call| own_cpu_ns(trace, tree, call));
        assert_eq!(own_cpu_of_all(trace, tree), each.collect::<Vec<i64>>());
    }
}

use std::fmt::Write;

use super::*;
use crate::base::interval::Interval;
use crate::compare::testing;
use crate::profile::window::Window;
use crate::testing::Timetable;

fn diff(reference: &Timetable, target: &Timetable) -> TreeDiff {
    of_profiles(&reference.profile(), &target.profile())
}

fn of_profiles(reference: &Profile, target: &Profile) -> TreeDiff {
    testing::profiles(reference, target, None, |sides| {
        let diff = TreeDiff::new(sides.reference, sides.target);
        check(&diff, sides.map(|side| side.profile));
        diff
    })
}

/// Invariants of every comparison: each GPU activity is in one node, and times add up.
fn check(diff: &TreeDiff, profiles: Pair<&Profile>) {
    for which in Which::ALL {
        let profile = profiles.get(which);
        let mut work: Vec<GpuId> = diff
            .iter()
            .flat_map(|(id, _)| diff.own_work(id, which).iter().copied())
            .collect();
        work.sort_unstable();
        let all: Vec<GpuId> = profile.gpu.iter().map(|(id, _)| id).collect();
        assert_eq!(work, all, "{which:?}");
        let sum: i64 = profile.gpu.iter().map(|(_, work)| work.span.length()).sum();
        let root = diff.get(DiffId::ROOT).unwrap();
        assert_eq!(*root.gpu_ns.get(which), sum, "{which:?}");
        let mut nodes: Vec<NodeId> = diff
            .iter()
            .filter_map(|(_, node)| *node.nodes.get(which))
            .collect();
        let n_nodes = nodes.len();
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), n_nodes, "a call is in two nodes");
    }
    for (id, node) in diff.iter() {
        for child in diff.children(id) {
            assert!(child > id);
            assert_eq!(diff.get(child).unwrap().parent, Some(id));
        }
        assert!(id == DiffId::ROOT || node.parent.is_some());
    }
}

/// Within a window, a thread may have only a launch that ends after its operator.
#[test]
fn the_work_of_a_launch_that_outlasts_its_operator_has_a_place() {
    let whole = Timetable::new()
        .op("aten::mm", 0..10)
        .launched("gemm", 5..20, 50..60)
        .profile();
    let part = whole.window(&Window::range(Interval::new(45_000, 70_000)));
    assert_eq!((part.tree.len(), part.tree.strays().len()), (2, 0));
    let diff = of_profiles(&part, &part);
    assert_eq!(diff.gpu_work(DiffId::ROOT, Which::Target).len(), 1);
}

/// The threads' calls as text: `=` both, `-` the reference alone, `+` the target alone; with the times of both in µs.
fn outline(diff: &TreeDiff) -> String {
    let mut out = String::new();
    let mut open: Vec<(DiffId, usize)> = vec![(DiffId::ROOT, 0)];
    while let Some((id, depth)) = open.pop() {
        let node = diff.get(id).unwrap();
        if depth > 1 {
            let mark = match node.presence {
                Presence::Both => '=',
                Presence::Only(Which::Reference) => '-',
                Presence::Only(Which::Target) => '+',
            };
            let us = node.gpu_ns.map(|ns| ns / 1000);
            let (indent, name) = ("  ".repeat(depth - 2), diff.name(id));
            writeln!(out, "{indent}{mark} {name} {}:{}", us.reference, us.target).unwrap();
        }
        open.extend(diff.children(id).rev().map(|child| (child, depth + 1)));
    }
    out
}

/// Builds calls from text like `"a(b c(d))"`: a call with calls in it, one after the other. A call without any launches
/// a kernel of its name for 10 µs. Names that start with a lower-case letter are operators, the others Python frames.
fn calls(text: &str) -> Timetable {
    let call = |table: Timetable, name: &str, span| match name.starts_with(char::is_uppercase) {
        true => table.frame(name, span),
        false => table.op(name, span),
    };
    let mut open: Vec<(&str, i32)> = Vec::new();
    let (mut table, mut now, mut n_leaves) = (Timetable::new(), 0, 0);
    for piece in text.split_inclusive(['(', ')', ' ']) {
        let name = piece.trim_end_matches(['(', ')', ' ']);
        if piece.ends_with('(') {
            open.push((name, now));
            now += 1;
            continue;
        }
        if !name.is_empty() {
            n_leaves += 1;
            let at = 100_000 + 10 * n_leaves as i32;
            table = call(table, name, now..now + 4)
                .launch(n_leaves, now + 1..now + 2)
                .kernel(n_leaves, &format!("{name}_kernel"), at..at + 10);
            now += 5;
        }
        if piece.ends_with(')') {
            let (name, start) = open.pop().unwrap();
            table = call(table, name, start..now);
            now += 1;
        }
    }
    table
}

/// Names of the calls of one side alone, and their common enclosing call.
fn places(diff: &TreeDiff) -> Vec<String> {
    let places = diff.places.iter().map(|place| {
        let first = place.occurrences.first().unwrap();
        let busy = place.busy_ns.map(|ns| ns / 1000);
        format!(
            "{} ×{}: {} | {} ({}:{} µs)",
            diff.name(first.common),
            place.occurrences.len(),
            place.calls.reference.join(" "),
            place.calls.target.join(" "),
            busy.reference,
            busy.target
        )
    });
    places.collect()
}

#[test]
fn equal_trees_have_no_places() {
    let trace = calls("Main(linear(mm add) relu linear(mm add))");
    let diff = diff(&trace, &trace);
    assert_eq!(diff.places, []);
    assert_eq!(
        outline(&diff),
        "\
= Main 50:50
  = linear 20:20
    = mm 10:10
    = add 10:10
  = relu 10:10
  = linear 20:20
    = mm 10:10
    = add 10:10
"
    );
}

#[test]
fn one_fused_kernel_against_four_is_one_place() {
    let fused = calls("Main(Block(norm flash mm) Block(norm flash mm))");
    let unfused =
        calls("Main(Block(norm bmm mul softmax bmm mm) Block(norm bmm mul softmax bmm mm))");
    let diff = diff(&unfused, &fused);
    assert_eq!(
        places(&diff),
        ["Block ×2: bmm mul softmax bmm | flash (80:20 µs)"]
    );
    assert!(outline(&diff).starts_with(
        "\
= Main 120:60
  = Block 60:30
    = norm 10:10
    - bmm 10:0
    - mul 10:0
    - softmax 10:0
    - bmm 10:0
    + flash 0:10
    = mm 10:10
"
    ));
}

#[test]
fn an_operator_that_takes_another_way_is_one_place() {
    let diff = diff(
        &calls("sdpa(flash)"),
        &calls("sdpa(math(bmm softmax bmm) copy)"),
    );
    assert_eq!(places(&diff), ["sdpa ×1: flash | math copy (10:40 µs)"]);
}

#[test]
fn a_wrapper_stands_around_calls_of_both() {
    let cases = [
        // It contains only one call.
        ("Main(Compiled(Forward(mm add)))", "Main(Forward(mm add))"),
        // Several calls, which the other side makes itself.
        ("Main(norm Block(mm add) relu)", "Main(norm mm add relu)"),
        (
            "Main(norm mm add relu)",
            "Main(norm Wrap(Block(mm add)) relu)",
        ),
        // A different wrapper on each side.
        (
            "Main(Compiled(Forward(mm add)))",
            "Main(Eager(Call(Forward(mm add))))",
        ),
        // The same calls under another name.
        ("Main(OldForward(mm add))", "Main(NewForward(mm add))"),
    ];
    for (reference, target) in cases {
        let diff = diff(&calls(reference), &calls(target));
        let lines = outline(&diff);
        assert_eq!(places(&diff), [""; 0], "{reference} {target}\n{lines}");
        let n_both = lines.lines().filter(|line| {
            let line = line.trim_start();
            line.starts_with("= mm") || line.starts_with("= add")
        });
        assert_eq!(n_both.count(), 2, "{lines}");
    }
    let diff = diff(
        &calls("Main(norm Block(mm add) relu)"),
        &calls("Main(norm mm add relu)"),
    );
    assert_eq!(
        outline(&diff),
        "\
= Main 40:40
  = norm 10:10
  - Block 20:20
    = mm 10:10
    = add 10:10
  = relu 10:10
"
    );
}

#[test]
fn an_inserted_layer_is_found_among_equal_ones() {
    let layers = |extra: Option<usize>| {
        let mut layers = vec!["Layer(norm mm)"; 200];
        if let Some(at) = extra {
            layers.insert(at, "Layer(norm conv mul)");
        }
        calls(&format!("Main({})", layers.join(" ")))
    };
    let diff = diff(&layers(None), &layers(Some(77)));
    assert_eq!(places(&diff), ["Main ×1:  | Layer (0:30 µs)"]);
    let call = diff.places[0].occurrences[0].calls.target[0];
    assert_eq!(
        diff.children(diff.get(call).unwrap().parent.unwrap())
            .position(|id| id == call),
        Some(77)
    );
}

#[test]
fn the_same_call_with_other_kernels_is_a_place() {
    let mm = |kernel| Timetable::new().work("aten::mm", kernel, 20..50);
    let diff = diff(&mm("nvjet"), &mm("Cijk"));
    assert_eq!(places(&diff), ["aten::mm ×1:  |  (30:30 µs)"]);
    assert_eq!(diff.places[0].kernels.target, ["Cijk"]);
}

#[test]
fn threads_and_work_that_nothing_launched_have_their_place() {
    let trace = |extra: bool| {
        let table = calls("linear(mm)")
            .thread(2)
            .op("backward", 0..10)
            .launch(90, 1..2);
        let table = table.kernel(90, "backward_kernel", 200_000..200_010);
        match extra {
            true => table.kernel(99, "unknown", 300_000..300_007),
            false => table,
        }
    };
    let diff = diff(&trace(false), &trace(true));
    assert_eq!(places(&diff), ["all threads ×1:  |  (0:7 µs)"]);
    assert_eq!(diff.children(DiffId::ROOT).count(), 2);
}

#[test]
fn launches_outside_of_operators_belong_to_their_thread() {
    let trace = |copies: i32| {
        (1..=copies).fold(Timetable::new(), |table, id| {
            let start = 10 * id;
            let table = table.launch(id as u32, start..start + 5);
            table.kernel(id as u32, "copy", 100 + start..104 + start)
        })
    };
    let diff = diff(&trace(2), &trace(3));
    assert_eq!(places(&diff), ["thread ×1:  |  (8:12 µs)"]);
}

#[test]
fn without_frames_on_one_side_operators_alone_are_compared() {
    let diff = diff(&calls("Main(linear(mm) relu)"), &calls("linear(mm) relu"));
    assert_eq!(diff.frames, Frames::Without);
    assert_eq!(places(&diff), [""; 0]);
}

#[test]
fn twenty_thousand_siblings_and_ten_thousand_levels_are_quick() {
    let siblings = |n: usize, every: usize| {
        let names = (0..n).map(|at| match at % every {
            0 => "extra",
            1 => "mul",
            _ => "add",
        });
        calls(&names.collect::<Vec<&str>>().join(" "))
    };
    let diff = diff(&siblings(20_000, 50), &siblings(20_000, 41));
    assert!(diff.len() > 20_000);
    let deep = |wrapper: &str| {
        let names: String = (0..10_000)
            .map(|at| format!("{wrapper}{}(", at % 7))
            .collect();
        calls(&format!("{names}mm add{}", ")".repeat(10_000)))
    };
    let diff = super::tests::diff(&deep("Old"), &deep("New"));
    assert_eq!(places(&diff), [""; 0]);
    assert!(diff.len() > 20_000);
}

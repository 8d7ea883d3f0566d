//! Nesting, one rule per test.

use std::sync::Arc;

use super::{CallTree, Frames};
use crate::profile::launch::Launches;
use crate::testing::{Timetable, outline};

fn check(timetable: Timetable, expected: &[&str]) {
    check_frames(timetable, Frames::Without, expected);
}

fn check_frames(timetable: Timetable, frames: Frames, expected: &[&str]) {
    let trace = timetable.trace();
    let launches = Launches::new(&trace);
    let tree = CallTree::new(&trace, frames, &launches);
    let outline = outline(&trace, &tree, &launches);
    assert_eq!(outline.lines().collect::<Vec<_>>(), expected);
}

/// Operators of one thread, each as `name start..end` in microseconds.
fn ops(text: &str) -> Timetable {
    text.split(", ").fold(Timetable::new(), |timetable, op| {
        let (name, span) = op.split_once(' ').unwrap();
        let (start, end) = span.split_once("..").unwrap();
        let us = |text: &str| text.parse::<f64>().unwrap();
        timetable.op(name, us(start)..us(end))
    })
}

#[test]
fn calls_of_a_thread_nest_by_time() {
    #[rustfmt::skip]
    let cases: &[(&str, &[&str])] = &[
        ("linear 0..100, mm 10..40, add 40..90, relu 100..110", &["linear", "  mm", "  add", "relu"]),
        // The file need not be in time order.
        ("mm 10..40, relu 100..110, linear 0..100", &["linear", "  mm", "relu"]),
        // Of calls that start together, the first in the file is the outer one.
        ("outer 5..10, inner 5..10", &["outer", "  inner"]),
        // The longer one comes second, so it cannot be inside, and there is no open call that it fits into.
        ("short 5..8, long 5..10", &["short", "! long"]),
        // A call that starts when another one ends is its sibling.
        ("a 0..5, b 5..9", &["a", "b"]),
        // A call may outlast its caller by less than a microsecond; then its parent is the caller's caller.
        ("model 0..100, linear 10..50, mm 49.001..60.0", &["model", "  linear", "  mm"]),
        // One microsecond of overlap is too much.
        ("model 0..100, linear 10..50, mm 49..60", &["model", "  linear", "! mm"]),
        // A root has no caller that could become the parent.
        ("linear 10..50, mm 49.5..60.0", &["linear", "! mm"]),
        // A few nanoseconds are rounding: it is the next root.
        ("linear 10..50, mm 49.998..60.0, add 50..55", &["linear", "mm", "  add"]),
        // The next caller is not checked again: `mm` also ends after `model`, but is still its child; what follows
        // nests in `mm`.
        ("model 0..50, linear 10..50, mm 49.5..60.0, late 52..53", &["model", "  linear", "  mm", "    late"]),
        // A stray is never a caller.
        ("linear 0..50, stray 20..70, mm 30..40, after 55..60", &["linear", "  mm", "after", "! stray"]),
    ];
    for (calls, expected) in cases {
        check(ops(calls), expected);
    }
}

#[test]
fn threads_do_not_mix() {
    check(
        Timetable::new()
            .op("forward", 0..100)
            .thread(2)
            .op("backward", 10..50)
            .thread(1)
            .op("mm", 20..30),
        &["forward", "  mm", "backward"],
    );
}

#[test]
fn a_launch_that_outlasts_its_operator_belongs_to_it() {
    check(
        Timetable::new()
            .op("mm", 0..50)
            .launched("gemm", 20..70, 80..90)
            .op("add", 60..65),
        &["mm", "  cudaLaunchKernel -> gemm", "add"],
    );
}

#[test]
fn annotations_are_no_calls() {
    check(
        Timetable::new().op("mm", 0..50).annotation("step", 10..15),
        &["mm"],
    );
}

#[test]
fn python_frames_are_in_the_tree_on_demand() {
    let timetable = Timetable::new()
        .frame("train.py(3): step", 0..100)
        .op("linear", 10..90)
        .frame("hook.py(1): log", 20..30);
    check(timetable.clone(), &["linear"]);
    check_frames(
        timetable,
        Frames::With,
        &["train.py(3): step", "  linear", "    hook.py(1): log"],
    );
}

#[test]
fn a_call_without_a_duration_has_no_length() {
    check(
        Timetable::new()
            .op("model", 0..100)
            .raw(r#"{"ph": "X", "cat": "cpu_op", "name": "cut", "pid": 100, "tid": 1, "ts": 20}"#)
            .op("mm", 30..40),
        &["model", "  cut", "  mm"],
    );
}

#[test]
fn the_tree_can_be_walked_both_ways() {
    let profile = Timetable::new()
        .op("model", 0..100)
        .op("linear", 0..50)
        .op("mm", 10..20)
        .launched("gemm", 12..14, 30..35)
        .op("relu", 50..60)
        .launched("elementwise", 52..54, 60..70)
        .profile();
    let (trace, tree) = (&profile.trace, &profile.tree);
    let name = |node| trace.name(tree.event(node).unwrap());
    let root = tree.roots().next().unwrap();
    assert_eq!(tree.roots().map(name).collect::<Vec<_>>(), ["model"]);
    assert_eq!(
        tree.children(root).map(name).collect::<Vec<_>>(),
        ["linear", "relu"]
    );
    let mm = tree.ids().find(|node| name(*node) == "mm").unwrap();
    assert_eq!(tree.depth(mm), 2);
    assert_eq!(
        tree.ancestors(mm).map(name).collect::<Vec<_>>(),
        ["linear", "model"]
    );
    assert!(tree.has_children(mm));
    assert_eq!(tree.node_of(tree.event(mm).unwrap()), Some(mm));
    assert_eq!(profile.gpu.busy_ns(tree.gpu_work(mm)), 5_000);
    assert_eq!(profile.gpu.busy_ns(tree.gpu_work(root)), 15_000);
}

#[test]
fn a_node_that_is_searched_is_the_one_that_is_listed() {
    // Calls out of order, calls that start together, strays, and two threads.
    let trace = Timetable::new()
        .frame("inner", 10..20)
        .launched("late", 12..13, 500..510)
        .frame("outer", 0..100)
        .frame("alike", 30..40)
        .frame("alike", 30..40)
        .frame("stray", 35..60)
        .thread(2)
        .frame("other", 5..90)
        .work("aten::mm", "gemm", 200..230)
        .trace();
    let launches = Launches::new(&trace);
    let trace = Arc::new(trace);
    let listed = CallTree::new(&trace, Frames::With, &launches);
    let searched = CallTree::with_frames(&trace, &launches);
    assert_eq!(listed.strays().len(), 1);
    for event in trace.events.ids() {
        assert_eq!(listed.node_of(event), searched.node_of(event));
    }
    for node in listed.ids() {
        assert_eq!(listed.gpu_work(node), searched.gpu_work(node));
        assert_eq!(listed.parent(node), searched.parent(node));
    }
}

#[test]
fn calls_know_how_deep_they_are_however_deep() {
    let frames = (0..600_u32).fold(Timetable::new(), |all, at| {
        all.frame("forward", at..2_000 - at)
    });
    let trace = frames.trace();
    let tree = CallTree::new(&trace, Frames::With, &Launches::new(&trace));
    let depths = tree.ids().map(|node| tree.depth(node));
    assert!(depths.eq(0..600));
}

//! Rows of the recorded tree: opening and closing them, search, graph replays.

use dormer_core::testing::Timetable;

use super::Tree;
use crate::protocol::{Direction, TreeMode, TreeRow, TreeStep};

#[test]
fn the_thread_with_the_most_gpu_time_is_open_at_first() {
    let rows = Tree::of_sample().rows();
    let mut threads = rows.iter().filter(|row| row.branch.depth == 0);
    for (name, is_open) in [
        ("python · thread 4100 (python)", false),
        ("python · thread 4177 (pt_autograd_0)", true),
    ] {
        let thread = threads.next().unwrap();
        assert_eq!((&*thread.name, thread.branch.open), (name, Some(is_open)));
    }
    assert!(threads.next().is_none());
    assert!(rows.iter().any(|row| row.branch.depth == 1));
}

#[test]
fn closing_takes_everything_deeper_away_and_opening_brings_it_back() {
    let mut tree = Tree::of_sample();
    tree.unfold(TreeStep::Hottest(None));
    let open = tree.rows();
    let is_open = |row: &&TreeRow| row.branch.depth == 0 && row.branch.open == Some(true);
    let thread = open.iter().find(is_open).unwrap().node;
    tree.unfold(TreeStep::Toggle(thread));
    assert!(tree.rows().iter().all(|row| row.branch.depth == 0));
    tree.unfold(TreeStep::Toggle(thread));
    assert_eq!(tree.rows(), open);
}

#[test]
fn the_hottest_path_ends_at_a_call_that_launches() {
    let mut tree = Tree::of_sample();
    let end = tree.unfold(TreeStep::Hottest(None)).unwrap();
    assert_eq!(end.kind, "runtime call");
    assert_eq!(end.gpu_count, "1");
    let parent = tree.unfold(TreeStep::Parent(end.node)).unwrap();
    assert_eq!(parent.branch.depth, end.branch.depth - 1);
    // The operator that owns the kernel has its category's color.
    assert_eq!(parent.token, "gemm");
}

#[test]
fn without_gpu_activity_the_hottest_path_follows_the_cpu() {
    let mut tree = Tree::of(
        Timetable::new()
            .op("aten::relu", 0..10)
            .op("aten::linear", 10..100)
            .op("aten::t", 11..15)
            .op("aten::addmm", 20..90)
            .profile(),
    );
    // The only thread is initially open.
    let names = |tree: &mut Tree| -> Vec<String> {
        let rows = tree.rows().into_iter().skip(1);
        rows.map(|row| row.name).collect()
    };
    assert_eq!(names(&mut tree), ["aten::relu", "aten::linear"]);
    let end = tree.unfold(TreeStep::Hottest(None)).unwrap();
    assert_eq!(end.name, "aten::addmm");
    let open = ["aten::relu", "aten::linear", "aten::t", "aten::addmm"];
    assert_eq!(names(&mut tree), open);
}

#[test]
fn a_search_goes_around_and_opens_what_lies_above() {
    let mut tree = Tree::of_sample();
    let first = tree.find("ATEN::addmm", None, Direction::Here).unwrap();
    assert_eq!((first.position, first.matches), (1, 27));
    let rows = tree.rows();
    assert_eq!(rows[first.target.row].name, "aten::addmm");

    let here = Some(first.target.node);
    assert_eq!(tree.find("aten::addmm", here, Direction::Here), Some(first));
    let next = tree.find("aten::addmm", here, Direction::Next).unwrap();
    assert_eq!(next.position, 2);
    let last = tree.find("aten::addmm", here, Direction::Previous).unwrap();
    assert_eq!(last.position, 27);
    let after_last = tree.find("aten::addmm", Some(last.target.node), Direction::Next);
    assert_eq!(after_last.unwrap().position, 1);
    assert_eq!(tree.find("no such call", None, Direction::Here), None);
}

#[test]
fn every_row_knows_its_place_among_its_siblings() {
    let mut tree = Tree::of_sample();
    tree.unfold(TreeStep::Hottest(None));
    let rows = tree.rows();
    for (row, next) in rows.iter().zip(rows.iter().skip(1)) {
        assert!((1..=row.branch.siblings).contains(&row.branch.position));
        if next.branch.depth == row.branch.depth {
            assert_eq!(next.branch.position, row.branch.position + 1);
        }
    }
}

#[test]
fn a_node_of_another_trace_is_no_place_to_go() {
    let mut tree = Tree::of_sample();
    for unknown in [1 << 30, u32::MAX] {
        assert_eq!(tree.unfold(TreeStep::Reveal(unknown)), None);
        assert_eq!(tree.unfold(TreeStep::Toggle(unknown)), None);
        assert_eq!(tree.unfold(TreeStep::Parent(unknown)), None);
        assert!(tree.unfold(TreeStep::Hottest(Some(unknown))).is_some());
    }
}

/// The operator that launches a collective has its color, as does the kernel in the timeline.
#[test]
fn communication_has_its_color() {
    let trace = Timetable::new()
        .work(
            "record_param_comms",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)",
            20..60,
        )
        .work("aten::mm", "gemm", 60..70);
    for mode in [TreeMode::Recorded, TreeMode::TopDown] {
        let mut tree = Tree::of(trace.profile());
        tree.show(mode, None);
        let rows = tree.rows();
        for (name, token) in [("record_param_comms", "comm"), ("aten::mm", "gemm")] {
            let mut named = rows.iter().filter(|row| row.name == name);
            assert!(named.any(|row| row.token == token), "{mode:?}: {rows:?}");
        }
    }
}

/// A graph of three layers that is replayed, with nothing recorded below its launch.
#[test]
fn below_a_replay_stand_its_layers_and_their_kernels() {
    let layer =
        |_: u32| std::iter::once("attn_fwd".to_owned()).chain((0..4).map(|at| format!("k{at}")));
    let names: Vec<String> = ["embedding".to_owned()]
        .into_iter()
        .chain((0..3).flat_map(layer))
        .collect();
    let start = Timetable::new()
        .annotation("step[DECODE bs=4]", 0..20)
        .op("aten::copy_", 1..15)
        .runtime("cudaGraphLaunch", 1, 2..6)
        .arrow_start(1);
    let trace = names
        .iter()
        .zip(0..)
        .fold(start, |trace, (name, at): (_, u32)| {
            trace.kernel(1, name, 100 + at * 10..109 + at * 10)
        });
    let mut tree = Tree::of(trace.profile());
    tree.unfold(TreeStep::ToDepth(9));
    let rows: Vec<_> = (tree.rows().into_iter())
        .map(|row| (row.branch.depth, row.name, row.gpu_time))
        .skip_while(|(_, name, _)| name != "cudaGraphLaunch")
        .take(6)
        .collect();
    let depth = rows[0].0;
    let seen: Vec<_> = rows
        .iter()
        .map(|(at, name, time)| (at - depth, &**name, &**time))
        .collect();
    let expected = [
        (0, "cudaGraphLaunch", "144 µs"),
        (1, "beside the layers", "9.00 µs"),
        (2, "embedding", "9.00 µs"),
        (1, "layer 0", "45.0 µs"),
        (2, "attn_fwd", "9.00 µs"),
        (2, "k0", "9.00 µs"),
    ];
    assert_eq!(seen, expected);
    // A search finds kernels, and opens everything above them.
    let found = tree.find("k3", None, Direction::Next).unwrap();
    assert_eq!((found.position, found.matches), (1, 3));
}

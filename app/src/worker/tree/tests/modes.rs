//! Trees of merged calls: top-down, bottom-up, by module, backward.

use dormer_core::testing::Timetable;

use super::Tree;
use crate::protocol::{Direction, TreeMode, TreeStep, tree_sort};

#[test]
fn every_way_to_put_calls_together_has_rows_and_they_are_found() {
    let mut tree = Tree::of_sample();
    for (mode, ..) in TreeMode::ALL {
        let facts = tree.show(mode, Some((tree_sort::GPU, true)));
        assert_eq!(facts.summary, "", "{mode:?}");
        assert_eq!(facts.total, tree.rows().len(), "{mode:?}");
        let found = tree.find("aten::addmm", None, Direction::Here).unwrap();
        assert_eq!(tree.rows()[found.target.row].node, found.target.node);
        let next = tree.find("aten::addmm", Some(found.target.node), Direction::Next);
        // If there is only one, it is the first again.
        let expected = found.matches.min(2);
        assert_eq!(next.unwrap().position, expected, "{mode:?}");
    }
}

#[test]
fn siblings_are_sorted_and_levels_open_at_once() {
    let mut tree = Tree::of_sample();
    tree.show(TreeMode::TopDown, Some((tree_sort::NAME, false)));
    tree.unfold(TreeStep::ToDepth(2));
    let rows = tree.rows();
    assert_eq!(rows.iter().map(|row| row.branch.depth).max(), Some(2));
    let roots = rows.iter().filter(|row| row.branch.depth == 0);
    let names: Vec<String> = roots.map(|row| row.name.to_lowercase()).collect();
    assert!(names.is_sorted() && !names.is_empty(), "{names:?}");
    // Another order keeps what is open.
    tree.show(TreeMode::TopDown, Some((tree_sort::GPU, true)));
    assert_eq!(tree.rows().len(), rows.len());
    let rows = tree.rows();
    let roots = rows.iter().filter(|row| row.branch.depth == 0);
    let shares: Vec<f64> = roots.filter_map(|row| row.gpu_percent).collect();
    assert!(shares.is_sorted_by(|one, next| one >= next), "{shares:?}");
}

#[test]
fn a_trace_without_a_backward_pass_says_so() {
    let profile = Timetable::new().op("aten::mm", 0..10).profile();
    let mut tree = Tree::of(profile);
    for (mode, begins) in [
        (TreeMode::Modules, "This trace has no modules"),
        (TreeMode::Backward, "This trace has no backward pass"),
    ] {
        let facts = tree.show(mode, None);
        assert_eq!(facts.total, 0);
        assert!(facts.summary.starts_with(begins));
        assert_eq!(tree.unfold(TreeStep::Hottest(None)), None);
    }
    assert_eq!(tree.show(TreeMode::Recorded, None).summary, "");
}

#[test]
fn the_selected_call_is_kept_where_another_way_has_it() {
    // Two calls of `mm`, with different callers.
    let table = Timetable::new()
        .op("linear", 0..10)
        .op("mm", 1..9)
        .launched("gemm", 2..3, 100..110)
        .op("bmm", 20..30)
        .op("mm", 21..29)
        .launched("gemm", 22..23, 200..240);
    let mut tree = Tree::of(table.profile());
    let last = tree.find("mm", None, Direction::Previous).unwrap();
    let second = last.target.node;
    let mut keep = Some(second);
    let mut kept = |tree: &mut Tree, mode| {
        let facts = tree.show_and_keep(mode, None, keep);
        let target = facts.target.unwrap();
        keep = Some(target.node);
        let row = tree.rows().swap_remove(target.row);
        assert_eq!(row.node, target.node);
        (row.name, row.branch.depth, row.gpu_time)
    };
    let name = "mm".to_owned();
    let of_one = (name.clone(), 1, "40.0 \u{b5}s".to_owned());
    assert_eq!(kept(&mut tree, TreeMode::TopDown), of_one);
    // Bottom-up, it is the name itself, with all its calls.
    let of_both = (name.clone(), 0, "50.0 \u{b5}s".to_owned());
    assert_eq!(kept(&mut tree, TreeMode::BottomUp), of_both);
    // Back in the recorded tree, it is the first of them.
    let first = (name, 2, "10.0 \u{b5}s".to_owned());
    assert_eq!(kept(&mut tree, TreeMode::Recorded), first);
    // Another order of the same tree keeps the node.
    let by_time = Some((tree_sort::GPU, true));
    let facts = tree.show_and_keep(TreeMode::Recorded, by_time, Some(second));
    assert_eq!(facts.target.map(|target| target.node), Some(second));
}

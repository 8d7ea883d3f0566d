//! The flame graph.

use dormer_core::testing::Timetable;

use super::{Tree, texts};
use crate::protocol::{Direction, TreeMode, TreeStep, tree_sort};

/// `block` with `wide`, which takes 96 of its 100 µs, and four short calls; `other` of 100 µs.
fn narrow_and_wide() -> Tree {
    let mut table = Timetable::new().op("block", 0..90).op("wide", 1..10);
    table = table.launched("gemm", 2..3, 1000..1096);
    for id in 2..=5_u32 {
        let start = 10 * id;
        table = table
            .op("short", start..start + 5)
            .launch(id, start + 1..start + 2)
            .kernel(id, "fill", 2000 + 10 * id..2001 + 10 * id);
    }
    table = table.op("other", 100..110).launch(9, 101..102);
    let table = table.kernel(9, "other_kernel", 3000..3100);
    Tree::of(table.profile())
}

#[test]
fn blocks_are_as_wide_as_their_time_and_stand_below_their_caller() {
    let mut tree = narrow_and_wide();
    tree.show(TreeMode::TopDown, None);
    let (flame, blocks) = tree.flame(None, 200.0, false);
    let expected = "0 block 0+100, 0 other 100+100, 1 wide 0+96, 1 short 96+4";
    assert_eq!(texts(&blocks).join(", "), expected);
    assert_eq!((flame.all_ns, flame.shown_ns), (200e3, 200e3));
    assert_eq!(flame.rows, 2);
    // What launches GPU activity has the color of its category, its callers that of their kind.
    assert_eq!(blocks[0].token, "op");
    assert_ne!(blocks[2].token, "op");
    // On the CPU, `block` takes 90 of 100 µs.
    let (_, blocks) = tree.flame(None, 200.0, true);
    assert_eq!(texts(&blocks)[..2], ["0 block 0+180", "0 other 180+20"]);
}

#[test]
fn calls_too_narrow_to_draw_become_one_block_and_none_is_left_out() {
    let mut tree = narrow_and_wide();
    // 2.5 µs per pixel: each of the short calls is less than half a pixel wide.
    let (flame, blocks) = tree.flame(None, 80.0, false);
    // Nothing is drawn below a block of several calls.
    assert_eq!(
        texts(&blocks),
        [
            "0 thread 1 0+80",
            "1 block 0+40",
            "1 other 40+40",
            "2 wide 0+38",
            "2 short×4 38+2",
            "2 cudaLaunchKernel 40+40",
            "3 cudaLaunchKernel 0+38",
        ]
    );
    assert_eq!(flame.rows, 4);
}

#[test]
fn a_call_at_the_top_fills_the_width_and_its_callers_are_the_way_to_it() {
    let mut tree = narrow_and_wide();
    let (_, blocks) = tree.flame(None, 200.0, false);
    let block = blocks.iter().find(|block| block.is_of("block")).unwrap();
    let (flame, inside) = tree.flame(Some(block.node), 200.0, false);
    assert_eq!(inside[0].text, "0 block 0+200");
    assert_eq!((flame.all_ns, flame.shown_ns), (200e3, 100e3));
    let path: Vec<&str> = flame.path.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(path, ["thread 1", "block"]);
    // A node that does not exist is not used as the root.
    assert_eq!(tree.flame(Some(u32::MAX), 200.0, false).1, blocks);
}

#[test]
fn bottom_up_a_name_is_as_wide_as_what_it_cost_itself() {
    let mut tree = narrow_and_wide();
    tree.show(TreeMode::BottomUp, Some((tree_sort::GPU_SELF, true)));
    let (flame, blocks) = tree.flame(None, 200.0, false);
    // `block` called two of them.
    assert_eq!(
        texts(&blocks),
        [
            "0 other 0+100",
            "0 wide 100+96",
            "0 short 196+4",
            "1 block 100+96",
            "1 block 196+4",
        ]
    );
    assert_eq!(flame.missing, None);
}

#[test]
fn bottom_up_names_are_searched_and_the_callers_that_are_shown() {
    let mut tree = narrow_and_wide();
    tree.show(TreeMode::BottomUp, None);
    let n_found = |tree: &mut Tree, text| {
        let found = tree.find(text, None, Direction::Here);
        found.map(|found| found.matches)
    };
    assert_eq!(n_found(&mut tree, "block"), Some(1));
    let wide = tree.find("wide", None, Direction::Here).unwrap();
    tree.unfold(TreeStep::Toggle(wide.target.node));
    assert_eq!(n_found(&mut tree, "block"), Some(2));
    tree.unfold(TreeStep::CloseAll);
    assert_eq!(n_found(&mut tree, "block"), Some(1));
}

#[test]
fn calls_without_gpu_time_say_so() {
    let profile = Timetable::new().op("aten::mm", 0..10).profile();
    let mut tree = Tree::of(profile);
    let (flame, blocks) = tree.flame(None, 200.0, false);
    assert_eq!(blocks, []);
    assert_eq!(flame.missing.unwrap(), "None of these calls has GPU time.");
    assert_eq!(tree.flame(None, 200.0, true).1.len(), 2);
}

//! Modules of one class, the folded stack, and hidden calls.

use dormer_core::testing::Timetable;

use super::{Tree, texts};
use crate::protocol::{Direction, TreeMode, TreeRow, TreeSettings, TreeStep, tree_sort};

/// Three layers of one class with a kernel each, of 10, 20 and 30 µs, below three frames that each call only the next,
/// and a call without GPU activity.
fn three_layers() -> Tree {
    let mut table = Timetable::new()
        .frame("train.py(1): <module>", 0..1000)
        .frame("train.py(9): main", 1..999)
        .frame("torch/nn/modules/module.py(5): _call_impl", 2..998)
        .frame("model/net.py(7): forward", 3..997)
        .op("aten::empty", 4..6);
    for layer in 0..3_u32 {
        let start = 100 * layer + 10;
        table = table
            .frame(&format!("nn.Module: Layer_{layer}"), start..start + 90)
            .op("aten::mm", start + 10..start + 20)
            .launched(
                "gemm",
                start + 11..start + 12,
                start + 30..start + 40 + 10 * layer,
            );
    }
    Tree::of(table.profile())
}

fn shown(rows: &[TreeRow]) -> Vec<String> {
    let line = |row: &TreeRow| {
        let times = row.instances.as_ref().map_or_else(String::new, |of| {
            format!(" ×{}, {} ({})", of.n, of.mean, of.range)
        });
        format!("{} {}{times}", row.branch.depth, row.name)
    };
    rows.iter().map(line).collect()
}

#[test]
fn modules_of_a_class_are_one_row_below_the_folded_stack() {
    let mut tree = three_layers();
    let change = tree.show(TreeMode::TopDown, Some((tree_sort::GPU, true)));
    let stack: Vec<&str> = change.stack.iter().map(|(_, name)| name.as_str()).collect();
    // Without the empty call, the last one of the stack would have a single child.
    assert_eq!(
        stack,
        [
            "train.py(1): <module>",
            "train.py(9): main",
            "torch/nn/modules/module.py(5): _call_impl",
            "model/net.py(7): forward",
        ]
    );
    let layers = "0 Layer ×3, 20.0 µs (10.0–30.0 µs)";
    let rows = tree.rows();
    assert_eq!(shown(&rows), [layers, "1 aten::mm"]);
    assert_eq!((&*rows[0].kind, change.hidden), ("modules", 1));

    // Split into instances.
    let split = tree.unfold(TreeStep::Instances(rows[0].node)).unwrap();
    assert_eq!(split.name, "Layer");
    let instances = ["1 Layer_0", "1 Layer_1", "1 Layer_2"];
    let mut names = shown(&tree.rows()).split_off(1);
    names.sort_unstable();
    assert_eq!(names, instances);

    // The flame graph starts there, too.
    let (flame, blocks) = tree.flame(None, 60.0, false);
    assert_eq!(texts(&blocks)[..2], ["0 Layer ×3 0+60", "1 Layer_2 0+30"]);
    assert_eq!(flame.path.len(), 5);

    // A call of the stack is shown, and folded again.
    let first = change.stack[2].0;
    tree.unfold(TreeStep::StartAt(Some(first)));
    let rows = tree.rows();
    let code: Vec<&str> = rows.iter().take(2).map(|row| &*row.code).collect();
    assert_eq!((rows[0].node, &code[..]), (first, &["pytorch", "own"][..]));
    tree.unfold(TreeStep::FoldStack);
    assert_eq!(tree.rows()[0].name, "Layer");
    // What is navigated to is shown, wherever it is.
    let found = tree.find("<module>", None, Direction::Here).unwrap();
    assert_eq!(found.target.row, 0);
    assert_eq!(tree.rows()[0].name, "train.py(1): <module>");
}

#[test]
fn calls_without_gpu_time_are_hidden_until_they_are_asked_for_or_gone_to() {
    let mut tree = three_layers();
    let has_empty = |tree: &mut Tree| tree.rows().iter().any(|row| row.name == "aten::empty");
    tree.show(TreeMode::TopDown, None);
    assert!(!has_empty(&mut tree));
    let found = tree.find("aten::empty", None, Direction::Here).unwrap();
    let row = tree.rows().swap_remove(found.target.row);
    assert_eq!((&*row.name, row.node), ("aten::empty", found.target.node));
    // Another mode hides it again; the switch shows all.
    tree.show(TreeMode::Modules, None);
    assert!(!has_empty(&mut tree));
    let step = TreeStep::Settings(TreeSettings {
        mode: TreeMode::Modules,
        sort: None,
        keep: None,
        all_rows: true,
    });
    let change = tree.view.step(&tree.profile, &step);
    assert_eq!(change.hidden, 0);
    tree.unfold(TreeStep::ToDepth(9));
    assert!(has_empty(&mut tree));
}

#[test]
fn the_hottest_call_is_at_the_top_bottom_up() {
    let mut tree = three_layers();
    let launch = tree.unfold(TreeStep::Hottest(None)).unwrap();
    assert_eq!(launch.kind, "runtime call");
    let by_time = Some((tree_sort::GPU_SELF, true));
    let change = tree.show_and_keep(TreeMode::BottomUp, by_time, Some(launch.node));
    let target = change.target.unwrap();
    let row = tree.rows().swap_remove(target.row);
    // What the launch led to belongs to its operator.
    assert_eq!((target.row, &*row.name), (0, "aten::mm"));
    assert_eq!(row.gpu_own, "60.0 µs");
}

//! The call tree of three training steps, unfolded.

use dormer_core::import::import;
use dormer_core::testing::Timetable;
use dormer_core::{Profile, Report, ReportOptions, sample};

use super::super::families::Families;
use super::TreeView;
use crate::protocol::{
    Direction, FindInTree, Flame, FlameBlock, FlameQuery, Sort, TreeChange, TreeLook, TreeMode,
    TreeRow, TreeRowsQuery, TreeStep, TreeTarget, tree_sort,
};

/// A block of the flame graph.
#[derive(Debug, Clone, PartialEq)]
struct Block {
    /// Its row, its name, the number of its calls if there are several, left edge and width.
    text: String,
    node: u32,
    token: String,
}

impl Block {
    fn is_of(&self, name: &str) -> bool {
        self.text.split(' ').nth(1) == Some(name)
    }
}

fn texts(blocks: &[Block]) -> Vec<&str> {
    blocks.iter().map(|block| block.text.as_str()).collect()
}

/// A match of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    target: TreeTarget,
    position: usize,
    matches: usize,
}

struct Tree {
    profile: Profile,
    view: TreeView,
}

impl Tree {
    fn of_sample() -> Tree {
        let imported = import(sample::TRACE.as_bytes()).unwrap();
        Tree::of(Profile::new(imported))
    }

    fn of(profile: Profile) -> Tree {
        let report = Report::new(&profile, &ReportOptions::default());
        let view = TreeView::new(
            &profile,
            &Families::new(&profile, &report.overview.operations),
        );
        Tree { profile, view }
    }

    fn rows(&mut self) -> Vec<TreeRow> {
        let all = TreeRowsQuery {
            offset: 0,
            count: usize::MAX,
        };
        self.view.rows(&self.profile, &all).rows
    }

    fn look(&mut self, mode: TreeMode, sort: Option<(&str, bool)>) -> TreeChange {
        self.look_and_keep(mode, sort, None)
    }

    fn look_and_keep(
        &mut self,
        mode: TreeMode,
        sort: Option<(&str, bool)>,
        keep: Option<u32>,
    ) -> TreeChange {
        let sort = sort.map(|(column, descending)| Sort {
            column: column.to_owned(),
            descending,
        });
        let look = TreeStep::Look(TreeLook {
            mode,
            sort,
            keep,
            all_rows: false,
        });
        self.view.step(&self.profile, &look)
    }

    /// Performs a step, and returns the row it leads to.
    fn unfold(&mut self, step: TreeStep) -> Option<TreeRow> {
        let change = self.view.step(&self.profile, &step);
        let rows = self.rows();
        assert_eq!(change.total, rows.len());
        let target = change.target?;
        assert_eq!(rows[target.row].node, target.node);
        Some(rows[target.row].clone())
    }

    /// The blocks, row by row, edges in whole pixels.
    fn flame(&mut self, root: Option<u32>, width_px: f64, by_cpu: bool) -> (Flame, Vec<Block>) {
        let query = FlameQuery {
            root,
            width_px,
            by_cpu,
        };
        let (flame, bytes) = self.view.flame(&self.profile, &query);
        let blocks = FlameBlock::read_all(&bytes).into_iter().map(|block| {
            let (row, node) = (block.row, block.node);
            let calls = match block.n_calls {
                1 => String::new(),
                n_calls => format!("×{n_calls}"),
            };
            let name = &flame.names[block.name];
            let [left_px, wide_px] = [block.left_px, block.wide_px].map(f64::round);
            Block {
                text: format!("{row} {name}{calls} {left_px}+{wide_px}"),
                node,
                token: flame.tokens[block.hue].clone(),
            }
        });
        let blocks = blocks.collect();
        (flame, blocks)
    }

    fn find(&mut self, text: &str, from: Option<u32>, direction: Direction) -> Option<Found> {
        let query = FindInTree {
            text: text.to_owned(),
            from,
            direction,
        };
        let change = self.view.step(&self.profile, &TreeStep::Find(query));
        Some(Found {
            target: change.target?,
            position: change.position,
            matches: change.of,
        })
    }
}

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
fn without_gpu_work_the_hottest_path_follows_the_host() {
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

#[test]
fn every_way_to_put_calls_together_has_rows_and_they_are_found() {
    let mut tree = Tree::of_sample();
    for (mode, ..) in TreeMode::ALL {
        let facts = tree.look(mode, Some((tree_sort::GPU, true)));
        assert_eq!(facts.says, "", "{mode:?}");
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
    tree.look(TreeMode::TopDown, Some((tree_sort::NAME, false)));
    tree.unfold(TreeStep::ToDepth(2));
    let rows = tree.rows();
    assert_eq!(rows.iter().map(|row| row.branch.depth).max(), Some(2));
    let roots = rows.iter().filter(|row| row.branch.depth == 0);
    let names: Vec<String> = roots.map(|row| row.name.to_lowercase()).collect();
    assert!(names.is_sorted() && !names.is_empty(), "{names:?}");
    // Another order keeps what is open.
    tree.look(TreeMode::TopDown, Some((tree_sort::GPU, true)));
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
        let facts = tree.look(mode, None);
        assert_eq!(facts.total, 0);
        assert!(facts.says.starts_with(begins));
        assert_eq!(tree.unfold(TreeStep::Hottest(None)), None);
    }
    assert_eq!(tree.look(TreeMode::Recorded, None).says, "");
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
        let facts = tree.look_and_keep(mode, None, keep);
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
    let facts = tree.look_and_keep(TreeMode::Recorded, by_time, Some(second));
    assert_eq!(facts.target.map(|target| target.node), Some(second));
}

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
    tree.look(TreeMode::TopDown, None);
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
    tree.look(TreeMode::BottomUp, Some((tree_sort::GPU_OWN, true)));
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
    tree.look(TreeMode::BottomUp, None);
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
        tree.look(mode, None);
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
    let profile = trace.profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let families = Families::new(&profile, &report.overview.operations);
    let mut tree = TreeView::new(&profile, &families);
    tree.step(&profile, &TreeStep::ToDepth(9));
    let query = TreeRowsQuery {
        offset: 0,
        count: 40,
    };
    let rows = tree.rows(&profile, &query).rows.into_iter();
    let rows: Vec<_> = rows
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
    let found = tree.step(
        &profile,
        &TreeStep::Find(FindInTree {
            text: "k3".to_owned(),
            from: None,
            direction: Direction::Next,
        }),
    );
    assert_eq!((found.position, found.of), (1, 3));
}

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
    let look = tree.look(TreeMode::TopDown, Some((tree_sort::GPU, true)));
    let stack: Vec<&str> = look.stack.iter().map(|(_, name)| name.as_str()).collect();
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
    assert_eq!((&*rows[0].kind, look.hidden), ("modules", 1));

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
    let first = look.stack[2].0;
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
    tree.look(TreeMode::TopDown, None);
    assert!(!has_empty(&mut tree));
    let found = tree.find("aten::empty", None, Direction::Here).unwrap();
    let row = tree.rows().swap_remove(found.target.row);
    assert_eq!((&*row.name, row.node), ("aten::empty", found.target.node));
    // Another mode hides it again; the switch shows all.
    tree.look(TreeMode::Modules, None);
    assert!(!has_empty(&mut tree));
    let look = TreeStep::Look(TreeLook {
        mode: TreeMode::Modules,
        sort: None,
        keep: None,
        all_rows: true,
    });
    let change = tree.view.step(&tree.profile, &look);
    assert_eq!(change.hidden, 0);
    tree.unfold(TreeStep::ToDepth(9));
    assert!(has_empty(&mut tree));
}

#[test]
fn the_hottest_call_is_at_the_top_bottom_up() {
    let mut tree = three_layers();
    let launch = tree.unfold(TreeStep::Hottest(None)).unwrap();
    assert_eq!(launch.kind, "runtime call");
    let by_time = Some((tree_sort::GPU_OWN, true));
    let look = tree.look_and_keep(TreeMode::BottomUp, by_time, Some(launch.node));
    let target = look.target.unwrap();
    let row = tree.rows().swap_remove(target.row);
    // What the launch led to belongs to its operator.
    assert_eq!((target.row, &*row.name), (0, "aten::mm"));
    assert_eq!(row.gpu_own, "60.0 µs");
}

//! The call tree of three training steps, unfolded.

use dormer_core::import::import;
use dormer_core::{Profile, Report, ReportOptions, sample};

use super::super::families::Families;
use super::TreeView;
use crate::protocol::{
    Direction, FindInTree, Sort, TreeFacts, TreeLook, TreeMatch, TreeMode, TreeRow, TreeRowsQuery,
    Unfold, tree_sort,
};

struct Tree {
    profile: Profile,
    view: TreeView,
}

impl Tree {
    fn of_sample() -> Tree {
        let imported = import(sample::trace_json().as_bytes()).unwrap();
        let profile = Profile::new(imported);
        let report = Report::new(&profile, &ReportOptions::default());
        let view = TreeView::new(&profile, &Families::new(&profile, &report));
        Tree { profile, view }
    }

    fn rows(&mut self) -> Vec<TreeRow> {
        let all = TreeRowsQuery {
            offset: 0,
            count: usize::MAX,
        };
        self.view.rows(&self.profile, &all).rows
    }

    fn look(&mut self, mode: TreeMode, sort: Option<(&str, bool)>) -> TreeFacts {
        let sort = sort.map(|(column, descending)| Sort {
            column: column.to_owned(),
            descending,
        });
        self.view.look(&self.profile, &TreeLook { mode, sort })
    }

    /// Does something, and gives the row it leads to.
    fn unfold(&mut self, unfold: Unfold) -> Option<TreeRow> {
        let change = self.view.unfold(&self.profile, unfold);
        let rows = self.rows();
        assert_eq!(change.total, rows.len());
        let target = change.target?;
        assert_eq!(rows[target.row].node, target.node);
        Some(rows[target.row].clone())
    }

    fn find(&mut self, text: &str, from: Option<u32>, direction: Direction) -> Option<TreeMatch> {
        let query = FindInTree {
            text: text.to_owned(),
            from,
            direction,
        };
        self.view.find(&self.profile, &query)
    }
}

#[test]
fn the_thread_with_the_most_gpu_time_is_open_at_first() {
    let rows = Tree::of_sample().rows();
    let threads: Vec<(&str, Option<bool>)> = rows
        .iter()
        .filter(|row| row.depth == 0)
        .map(|row| (row.name.as_str(), row.open))
        .collect();
    assert_eq!(
        threads,
        [
            ("python · thread 4100 (python)", Some(false)),
            ("python · thread 4177 (pt_autograd_0)", Some(true)),
        ]
    );
    assert!(rows.iter().any(|row| row.depth == 1));
}

#[test]
fn closing_takes_everything_deeper_away_and_opening_brings_it_back() {
    let mut tree = Tree::of_sample();
    tree.unfold(Unfold::Hottest(None));
    let open = tree.rows();
    let thread = open
        .iter()
        .find(|row| row.depth == 0 && row.open == Some(true))
        .unwrap()
        .node;
    tree.unfold(Unfold::Toggle(thread));
    assert!(tree.rows().iter().all(|row| row.depth == 0));
    tree.unfold(Unfold::Toggle(thread));
    assert_eq!(tree.rows(), open);
}

#[test]
fn the_hottest_path_ends_at_a_call_that_launches() {
    let mut tree = Tree::of_sample();
    let end = tree.unfold(Unfold::Hottest(None)).unwrap();
    assert_eq!(end.kind, "runtime call");
    assert_eq!(end.gpu_count, "1");
    let parent = tree.unfold(Unfold::Parent(end.node)).unwrap();
    assert_eq!(parent.depth, end.depth - 1);
    // The operator that owns the kernel carries its category's colour.
    assert_eq!(parent.token, "gemm");
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
    tree.unfold(Unfold::Hottest(None));
    let rows = tree.rows();
    for (row, next) in rows.iter().zip(rows.iter().skip(1)) {
        assert!((1..=row.siblings).contains(&row.position));
        if next.depth == row.depth {
            assert_eq!(next.position, row.position + 1);
        }
    }
}

#[test]
fn a_node_of_another_trace_is_no_place_to_go() {
    let mut tree = Tree::of_sample();
    for unknown in [1 << 30, u32::MAX] {
        assert_eq!(tree.unfold(Unfold::Reveal(unknown)), None);
        assert_eq!(tree.unfold(Unfold::Toggle(unknown)), None);
        assert_eq!(tree.unfold(Unfold::Parent(unknown)), None);
        assert!(tree.unfold(Unfold::Hottest(Some(unknown))).is_some());
    }
}

#[test]
fn every_way_to_put_calls_together_has_rows_and_they_are_found() {
    let mut tree = Tree::of_sample();
    for (mode, ..) in TreeMode::ALL {
        let facts = tree.look(mode, Some((tree_sort::GPU, true)));
        assert_eq!(facts.missing, None, "{mode:?}");
        assert_eq!(facts.total, tree.rows().len(), "{mode:?}");
        let found = tree.find("aten::addmm", None, Direction::Here).unwrap();
        assert_eq!(tree.rows()[found.target.row].node, found.target.node);
        let next = tree.find("aten::addmm", Some(found.target.node), Direction::Next);
        let is_only = found.matches == 1;
        assert_eq!(
            next.unwrap().position,
            if is_only { 1 } else { 2 },
            "{mode:?}"
        );
    }
}

#[test]
fn siblings_are_sorted_and_levels_open_at_once() {
    let mut tree = Tree::of_sample();
    tree.look(TreeMode::TopDown, Some((tree_sort::NAME, false)));
    tree.unfold(Unfold::ToDepth(2));
    let rows = tree.rows();
    assert_eq!(rows.iter().map(|row| row.depth).max(), Some(2));
    let roots = rows.iter().filter(|row| row.depth == 0);
    let names: Vec<String> = roots.map(|row| row.name.to_lowercase()).collect();
    assert!(names.is_sorted() && !names.is_empty(), "{names:?}");
    // Another order keeps what is open.
    tree.look(TreeMode::TopDown, Some((tree_sort::GPU, true)));
    assert_eq!(tree.rows().len(), rows.len());
    let shares: Vec<f64> = tree
        .rows()
        .iter()
        .filter(|row| row.depth == 0)
        .filter_map(|row| row.gpu_percent)
        .collect();
    assert!(shares.is_sorted_by(|one, next| one >= next), "{shares:?}");
}

#[test]
fn a_trace_without_a_backward_pass_says_so() {
    let profile = dormer_core::testing::Timetable::new()
        .op("aten::mm", 0..10)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let view = TreeView::new(&profile, &Families::new(&profile, &report));
    let mut tree = Tree { profile, view };
    for (mode, begins) in [
        (TreeMode::Modules, "This trace names no modules"),
        (TreeMode::Backward, "This trace has no backward pass"),
    ] {
        let facts = tree.look(mode, None);
        assert_eq!(facts.total, 0);
        assert!(facts.missing.unwrap().starts_with(begins));
        assert_eq!(tree.unfold(Unfold::Hottest(None)), None);
    }
    assert_eq!(tree.look(TreeMode::Recorded, None).missing, None);
}

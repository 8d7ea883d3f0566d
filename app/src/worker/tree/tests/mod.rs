//! The call tree of three training steps and of small traces, unfolded.

mod flame;
mod folding;
mod modes;
mod rows;

use dormer_core::import::import;
use dormer_core::{Profile, Report, ReportOptions, sample};

use super::super::families::Families;
use super::TreeView;
use crate::protocol::{
    Direction, FindInTree, Flame, FlameBlock, FlameQuery, Sort, TreeChange, TreeMode, TreeRow,
    TreeRowsQuery, TreeSettings, TreeStep, TreeTarget,
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

    fn show(&mut self, mode: TreeMode, sort: Option<(&str, bool)>) -> TreeChange {
        self.show_and_keep(mode, sort, None)
    }

    fn show_and_keep(
        &mut self,
        mode: TreeMode,
        sort: Option<(&str, bool)>,
        keep: Option<u32>,
    ) -> TreeChange {
        let sort = sort.map(|(column, descending)| Sort {
            column: column.to_owned(),
            descending,
        });
        let step = TreeStep::Settings(TreeSettings {
            mode,
            sort,
            keep,
            all_rows: false,
        });
        self.view.step(&self.profile, &step)
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

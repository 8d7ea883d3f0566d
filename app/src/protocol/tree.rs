//! The call tree.

use serde::{Deserialize, Serialize};

use super::Sort;

/// How calls are grouped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeMode {
    /// Every call separately, per thread.
    #[default]
    Recorded,
    /// Calls with the same name and the same callers are merged.
    TopDown,
    /// Names at the top, with their callers below.
    BottomUp,
    /// Operators below modules and named ranges.
    Modules,
    /// The same, with each operator's backward pass below it.
    Backward,
}

impl TreeMode {
    /// All modes, with their names in the URL and on the page.
    pub const ALL: [(TreeMode, &'static str, &'static str); 5] = [
        (TreeMode::Recorded, "", "As recorded"),
        (TreeMode::TopDown, "top-down", "Top-down"),
        (TreeMode::BottomUp, "bottom-up", "Bottom-up"),
        (TreeMode::Modules, "modules", "By module"),
        (TreeMode::Backward, "backward", "Forward + backward"),
    ];

    /// The word in the URL.
    pub fn slug(self) -> &'static str {
        let known = TreeMode::ALL.iter().find(|(mode, ..)| *mode == self);
        known.map(|(_, slug, _)| *slug).unwrap_or_default()
    }

    /// The mode for a word in the URL.
    pub fn of(slug: &str) -> TreeMode {
        let named = TreeMode::ALL.iter().find(|(_, known, _)| *known == slug);
        named.map(|(mode, ..)| *mode).unwrap_or_default()
    }
}

/// The columns by which siblings are sorted, as in the URL.
pub mod tree_sort {
    /// The order of the trace.
    pub const RECORDED: &str = "recorded";
    pub const NAME: &str = "name";
    /// GPU time including calls below.
    pub const GPU: &str = "gpu";
    /// GPU self time.
    pub const GPU_SELF: &str = "gpu-own";
    /// CPU time including calls below.
    pub const CPU: &str = "cpu";
    /// CPU self time.
    pub const CPU_SELF: &str = "cpu-own";
    /// Number of calls.
    pub const CALLS: &str = "calls";
    /// Number of kernels, copies and fills.
    pub const KERNELS: &str = "kernels";
}

/// How the tree is displayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSettings {
    /// How calls are grouped.
    pub mode: TreeMode,
    /// The order of siblings; `None` for that of the trace.
    pub sort: Option<Sort>,
    /// A node of the previously displayed tree, to navigate to in this one.
    pub keep: Option<u32>,
    /// Whether calls without GPU activity are shown, too.
    pub all_rows: bool,
}

/// Asks for rows `offset .. offset + count` of the expanded call tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeRowsQuery {
    /// First row.
    pub offset: usize,
    pub count: usize,
}

/// A page of a tree's rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreePage<T> {
    /// Total number of rows.
    pub total: usize,
    /// Position of the first row below.
    pub offset: usize,
    pub rows: Vec<T>,
}

/// The position of a row in its tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its depth, from 0.
    pub depth: u32,
    /// Position among its siblings, from 1.
    pub position: u32,
    /// Number of siblings, including itself.
    pub siblings: u32,
    /// Whether its children are shown; `None` for a leaf.
    pub open: Option<bool>,
}

/// One node of the call tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeRow {
    /// The node's id; it stays the same while the trace is open.
    pub node: u32,
    /// Its position in the tree; a thread has depth 0.
    pub branch: Branch,
    /// Its name, shortened in the middle.
    pub name: String,
    /// The full name, if `name` is shortened.
    pub whole: Option<String>,
    /// What it is: "CPU op", "module", "Python, own code", "thread" …
    pub kind: String,
    /// Whose code a Python function is: "own", "pytorch" or "library"; empty if it is not a Python function.
    pub code: String,
    /// The modules that it represents, if there are several.
    pub instances: Option<TreeInstances>,
    /// The color token of its category; empty if it has none.
    pub token: String,
    /// Sum of the durations of everything it launched, directly or in calls below.
    pub gpu_time: String,
    /// Sum of the durations of what it launched directly.
    pub gpu_own: String,
    /// `gpu_time` as a share of the parent row's, for drawing; at the top, of all GPU time.
    pub gpu_percent: Option<f64>,
    /// `gpu_time` as a share of all GPU time.
    pub gpu_of_all: String,
    /// Number of kernels, copies and fills.
    pub gpu_count: String,
    /// Its duration on the CPU.
    pub cpu_time: String,
    /// Its CPU self time.
    pub cpu_own: String,
    /// Number of calls that it represents; empty for a single recorded one.
    pub calls: String,
    /// `N` of `dormer tree --uid N`, of the first of its calls; `None` for a thread.
    pub uid: Option<u32>,
}

/// Modules of the same class that are merged into one row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeInstances {
    /// Number of modules.
    pub n: u32,
    /// Their average GPU time, or CPU time in a trace without GPU activity.
    pub mean: String,
    /// The minimum and the maximum.
    pub range: String,
    /// Whether they are shown separately below the row.
    pub split: bool,
}

/// An action on the call tree, or on the compared call trees.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeQuery {
    pub of_both: bool,
    pub step: TreeStep,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeStep {
    /// Shows a node's children, or hides them.
    Toggle(u32),
    /// Opens all nodes above a node.
    Reveal(u32),
    /// Goes to the parent of a node, without opening or closing anything.
    Parent(u32),
    /// Closes everything.
    CloseAll,
    /// Searches the next node with a name.
    Find(FindInTree),
    /// Changes how the call tree is displayed; all later queries refer to that.
    Settings(TreeSettings),
    /// Opens all nodes above an event's call, or the call that launched it: `N` of `dormer tree --uid N`.
    RevealEvent(u32),
    /// Follows the child with the most GPU time, from a node or from the top, down to the call that launches GPU
    /// activity.
    Hottest(Option<u32>),
    /// Opens this many levels and closes everything below.
    ToDepth(u32),
    /// Splits the merged modules of a row, or merges them again.
    Instances(u32),
    /// Makes a call of the folded stack the first row; `None` shows the whole stack.
    StartAt(Option<u32>),
    /// Folds the outermost calls that contain all others.
    FoldStack,
    /// Shows only differences of both trees and the calls around them, or everything.
    OnlyDifferences(bool),
    /// Goes to a difference of both trees: 1 is the largest. After the last one the first follows.
    Difference(usize),
}

/// The result of a tree action.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeChange {
    /// Total number of rows.
    pub total: usize,
    /// The row to go to; everything above it is open. `None` if there is none.
    pub target: Option<TreeTarget>,
    /// The index of the match or difference, from 1; zero for none.
    pub position: usize,
    /// Number of search matches, or of places where both trees differ. Identical places count once.
    pub of: usize,
    /// A message: why there are no rows, or whether both trees differ.
    pub summary: String,
    /// The calls around all rows, outermost first, with their names.
    pub stack: Vec<(u32, String)>,
    /// Whether there are more calls that contain all others.
    pub can_fold: bool,
    /// Number of rows below open ones that are hidden because they have no GPU time.
    pub hidden: usize,
}

/// A row of the expanded call tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeTarget {
    pub row: usize,
    pub node: u32,
}

/// Searches the next node whose name contains `text`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindInTree {
    /// The text; case is ignored.
    pub text: String,
    /// The node to start from; `None` starts at the top.
    pub from: Option<u32>,
    /// The direction.
    pub direction: Direction,
}

/// The direction of a search, which wraps around in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Stays at the node if it still matches, else goes down: used while typing.
    Here,
    /// Down.
    Next,
    /// Up.
    Previous,
}

/// A block of the [`Flame`]: a call, or adjacent calls that are too narrow to draw separately.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FlameBlock {
    pub left_px: f64,
    pub wide_px: f64,
    /// Durations of GPU activity.
    pub gpu_ns: f64,
    pub cpu_ns: f64,
    /// The call; if there are several, the one with the most time.
    pub node: u32,
    /// The index of its name in the list of names.
    pub name: usize,
    /// Number of calls that it represents.
    pub n_calls: u32,
    pub row: usize,
    pub hue: usize,
}

impl FlameBlock {
    /// The bytes to send: its numbers in order, little-endian.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + use<> {
        let numbers = [
            self.left_px,
            self.wide_px,
            self.gpu_ns,
            self.cpu_ns,
            f64::from(self.node),
            self.name as f64,
            f64::from(self.n_calls),
            self.row as f64,
            self.hue as f64,
        ];
        numbers.into_iter().flat_map(f64::to_le_bytes)
    }

    /// Decodes blocks; an incomplete block at the end is left out.
    pub fn read_all(bytes: &[u8]) -> Vec<FlameBlock> {
        let (numbers, _) = bytes.as_chunks();
        let numbers: Vec<f64> = numbers.iter().copied().map(f64::from_le_bytes).collect();
        let (blocks, _) = numbers.as_chunks();
        let block = |numbers: &[f64; 9]| {
            let [
                left_px,
                wide_px,
                gpu_ns,
                cpu_ns,
                node,
                name,
                n_calls,
                row,
                hue,
            ] = *numbers;
            FlameBlock {
                left_px,
                wide_px,
                gpu_ns,
                cpu_ns,
                node: node as u32,
                name: name as usize,
                n_calls: n_calls as u32,
                row: row as usize,
                hue: hue as usize,
            }
        };
        blocks.iter().map(block).collect()
    }
}

/// Asks for the call tree as blocks; only visible blocks are sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlameQuery {
    /// The call at the top; `None` for all calls.
    pub root: Option<u32>,
    /// Width of the drawing.
    pub width_px: f64,
    /// Whether the width of blocks is CPU time instead of GPU time.
    pub by_cpu: bool,
}

/// The call tree as blocks. They are sent alongside: row by row, each from left to right.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flame {
    /// The color tokens by hue.
    pub tokens: Vec<String>,
    /// The distinct names of the blocks.
    pub names: Vec<String>,
    pub rows: usize,
    /// The call at the top, if it has time.
    pub root: Option<u32>,
    /// The calls from the outermost to the one at the top, with their names.
    pub path: Vec<(u32, String)>,
    /// The time of all calls, in nanoseconds, which shares refer to.
    pub all_ns: f64,
    pub shown_ns: f64,
    /// Why there are no blocks, if there are none.
    pub missing: Option<String>,
}

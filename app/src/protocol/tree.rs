//! The call tree.

use serde::{Deserialize, Serialize};

use super::Sort;

/// How calls are put together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeMode {
    /// Every call by itself, thread by thread.
    #[default]
    Recorded,
    /// Calls of a name below the same callers.
    TopDown,
    /// A name with its callers below.
    BottomUp,
    /// Operators below modules and named ranges.
    Modules,
    /// The same, with the backward pass of an operator below it.
    Backward,
}

impl TreeMode {
    /// All of them, with what the URL and the page call them.
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

    /// The one of a word in the URL.
    pub fn of(slug: &str) -> TreeMode {
        let named = TreeMode::ALL.iter().find(|(_, known, _)| *known == slug);
        named.map(|(mode, ..)| *mode).unwrap_or_default()
    }
}

/// The columns that siblings are sorted by, as the URL has them.
pub mod tree_sort {
    /// The order of the trace.
    pub const RECORDED: &str = "recorded";
    pub const NAME: &str = "name";
    /// GPU time with calls below.
    pub const GPU: &str = "gpu";
    /// GPU time of the calls themselves.
    pub const GPU_OWN: &str = "gpu-own";
    /// CPU time with calls below.
    pub const CPU: &str = "cpu";
    /// CPU time of the calls themselves.
    pub const CPU_OWN: &str = "cpu-own";
    /// Number of calls.
    pub const CALLS: &str = "calls";
    /// Number of kernels, copies and fills.
    pub const KERNELS: &str = "kernels";
}

/// How the tree is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeLook {
    /// How calls are put together.
    pub mode: TreeMode,
    /// The order of siblings; `None` for that of the trace.
    pub sort: Option<Sort>,
    /// A node of the tree as it was shown before, to go to where this one has it.
    pub keep: Option<u32>,
    /// Calls without GPU activity are rows, too.
    pub all_rows: bool,
}

/// Asks for rows `offset .. offset + count` of the unfolded call tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeRowsQuery {
    /// First row.
    pub offset: usize,
    pub count: usize,
}

/// A window of the rows of a tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreePage<T> {
    /// Rows in all.
    pub total: usize,
    /// Position of the first row below.
    pub offset: usize,
    pub rows: Vec<T>,
}

/// Where a row stands in its tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// How deep it lies, from 0.
    pub depth: u32,
    /// Position among its siblings, from 1.
    pub position: u32,
    /// Number of siblings, itself included.
    pub siblings: u32,
    /// `None` for a leaf, else whether its children are shown.
    pub open: Option<bool>,
}

/// One node of the call tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeRow {
    /// The node; stays the same while the trace is open.
    pub node: u32,
    /// A thread lies at 0.
    pub branch: Branch,
    /// Shortened in the middle.
    pub name: String,
    /// The whole name, where `name` is shortened.
    pub whole: Option<String>,
    /// What it is: "CPU op", "module", "Python, own code", "thread" …
    pub kind: String,
    /// Whose code a Python function is: "own", "pytorch" or "library"; empty for what is none.
    pub code: String,
    /// The modules that it stands for, where these are several.
    pub instances: Option<TreeInstances>,
    /// The color token of its category; empty where it has none.
    pub token: String,
    /// Durations of everything it launched, directly or below, summed.
    pub gpu_time: String,
    /// Durations of what it launched itself.
    pub gpu_own: String,
    /// That time as a share of what the row above has, to draw it; at the top of all GPU time.
    pub gpu_percent: Option<f64>,
    /// That time as a share of all GPU time.
    pub gpu_of_all: String,
    /// How many kernels, copies and fills those are.
    pub gpu_count: String,
    /// Its duration on the CPU.
    pub cpu_time: String,
    /// That without the calls below.
    pub cpu_own: String,
    /// How many calls it stands for; empty for one that was recorded.
    pub calls: String,
    /// `N` of `dormer tree --uid N`, of the first of its calls; `None` for a thread.
    pub uid: Option<u32>,
}

/// Modules of one class that are one row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeInstances {
    /// How many they are.
    pub n: u32,
    /// The mean of their GPU times; of their CPU times in a trace without GPU activity.
    pub mean: String,
    /// The least and the most of these.
    pub range: String,
    /// They stand below the row by themselves.
    pub split: bool,
}

/// Does something to the call tree, or to both call trees that are compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeQuery {
    pub of_both: bool,
    pub step: TreeStep,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeStep {
    /// Shows a node's children, or hides them.
    Toggle(u32),
    /// Opens whatever lies above a node.
    Reveal(u32),
    /// Goes to the parent of a node; opens and closes nothing.
    Parent(u32),
    /// Closes everything.
    CloseAll,
    /// Looks for the next node of a name.
    Find(FindInTree),
    /// Shows the call tree in another way; all later questions are about that.
    Look(TreeLook),
    /// Opens what lies above the call that an event is, or that launched it: `N` of
    /// `dormer tree --uid N`.
    RevealEvent(u32),
    /// Follows the child with the most GPU time, from a node or from the top, down to the call
    /// that launches the work.
    Hottest(Option<u32>),
    /// Opens so many levels and closes what is below.
    ToDepth(u32),
    /// Puts the modules of a row below it by themselves, or together again.
    Instances(u32),
    /// Makes a call of the folded stack the first row; `None` shows all of the stack.
    StartAt(Option<u32>),
    /// Folds the calls that are around all others.
    FoldStack,
    /// Shows of both trees only what differs and the calls around it, or all.
    OnlyDifferences(bool),
    /// Goes to a difference of both trees: 1 is the largest. What is beyond the last one is the
    /// first again.
    Difference(usize),
}

/// What that did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeChange {
    /// Rows in all.
    pub total: usize,
    /// The row to go to; everything above it is open. `None` where there is none to go to.
    pub target: Option<TreeTarget>,
    /// The how many-eth match or difference that is, from 1; zero for none.
    pub position: usize,
    /// Matches of a search; else places where both trees differ. Places that are alike are one.
    pub of: usize,
    /// Why there are no rows, where there are none; whether both trees differ.
    pub says: String,
    /// The calls around all rows, outermost first, with their names.
    pub stack: Vec<(u32, String)>,
    /// More calls are around all others than those.
    pub can_fold: bool,
    /// Rows below open ones that are left out, as they have no GPU time.
    pub hidden: usize,
}

/// A row of the unfolded call tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeTarget {
    pub row: usize,
    pub node: u32,
}

/// Looks for the next node whose name contains `text`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindInTree {
    /// The text; case does not count.
    pub text: String,
    /// The node to start from; `None` starts at the top.
    pub from: Option<u32>,
    /// Which way.
    pub direction: Direction,
}

/// Which way a search goes. Both ways it goes around the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Stays at the node if it still fits, else goes down: the text is being typed.
    Here,
    /// Down.
    Next,
    /// Up.
    Previous,
}

/// A block of the [`Flame`]: a call, or calls beside each other that are too narrow to be drawn apart.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FlameBlock {
    pub left_px: f64,
    pub wide_px: f64,
    /// Durations of GPU activity.
    pub gpu_ns: f64,
    pub cpu_ns: f64,
    /// The call; of several the one with the most time.
    pub node: u32,
    /// Its name, as a position in the list of names.
    pub name: usize,
    /// How many calls it stands for.
    pub n_calls: u32,
    pub row: usize,
    pub hue: usize,
}

impl FlameBlock {
    /// As it travels: its numbers in their order, little-endian.
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

    /// The blocks that travelled; what is cut off at their end is left out.
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

/// Asks for the call tree as blocks, of which only those come that can be seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlameQuery {
    /// The call at the top; `None` for all calls.
    pub root: Option<u32>,
    /// Width of the drawing.
    pub width_px: f64,
    /// Blocks are as wide as the CPU time, else as the GPU time.
    pub by_cpu: bool,
}

/// The call tree as blocks. The blocks travel beside it: row by row, each from left to right.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flame {
    /// The color tokens by hue.
    pub tokens: Vec<String>,
    /// The names of the blocks, each once.
    pub names: Vec<String>,
    pub rows: usize,
    /// The call at the top, where it has time.
    pub root: Option<u32>,
    /// The calls from the outermost to the one at the top, with their names.
    pub path: Vec<(u32, String)>,
    /// The time of all calls, in nanoseconds: what shares are of.
    pub all_ns: f64,
    pub shown_ns: f64,
    /// Why there are no blocks, where there are none.
    pub missing: Option<String>,
}

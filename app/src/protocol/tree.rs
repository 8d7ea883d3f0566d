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
    /// Name.
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

/// Chooses how the tree is shown; all later questions are about that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeLook {
    /// How calls are put together.
    pub mode: TreeMode,
    /// The order of siblings; `None` for that of the trace.
    pub sort: Option<Sort>,
    /// A node of the tree as it was shown before, to go to where this one has it.
    pub keep: Option<u32>,
}

/// What there is to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFacts {
    /// Rows in all.
    pub total: usize,
    /// Why there are none, where there are none.
    pub missing: Option<String>,
    /// Where the node is that was to be kept; everything above it is open.
    pub target: Option<TreeTarget>,
}

/// Asks for rows `offset .. offset + count` of the unfolded call tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeRowsQuery {
    /// First row.
    pub offset: usize,
    /// Number of rows.
    pub count: usize,
}

/// A window of the unfolded call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreePage {
    /// Rows in all.
    pub total: usize,
    /// Position of the first row below.
    pub offset: usize,
    /// The rows.
    pub rows: Vec<TreeRow>,
}

/// One node of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeRow {
    /// The node; stays the same while the trace is open.
    pub node: u32,
    /// How deep it lies; a thread is 0.
    pub depth: u32,
    /// Shortened in the middle.
    pub name: String,
    /// The whole name, where `name` is shortened.
    pub whole: Option<String>,
    /// What it is: "CPU op", "Python function", "thread" …
    pub kind: String,
    /// The color token of its category; empty where it has none.
    pub token: String,
    /// `None` for a leaf, else whether its children are shown.
    pub open: Option<bool>,
    /// Durations of everything it launched, directly or below, summed.
    pub gpu_time: String,
    /// Durations of what it launched itself.
    pub gpu_own: String,
    /// That time as a share of all GPU time, to draw it.
    pub gpu_percent: Option<f64>,
    /// How many kernels, copies and fills those are.
    pub gpu_count: String,
    /// Its duration on the CPU.
    pub cpu_time: String,
    /// That without the calls below.
    pub cpu_own: String,
    /// How many calls it stands for; empty for one that was recorded.
    pub calls: String,
    /// Position among its siblings, from 1.
    pub position: u32,
    /// Number of siblings, itself included.
    pub siblings: u32,
    /// `N` of `dormer tree --uid N`, of the first of its calls; `None` for a thread.
    pub uid: Option<u32>,
}

/// Opens or closes nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unfold {
    /// Shows a node's children, or hides them.
    Toggle(u32),
    /// Follows the child with the most GPU time, from a node or from the top, down to the call
    /// that launches the work.
    Hottest(Option<u32>),
    /// Opens whatever lies above a node.
    Reveal(u32),
    /// The same for the call that an event is, or that launched it: `N` of `dormer tree --uid N`.
    RevealEvent(u32),
    /// Goes to the parent of a node; opens and closes nothing.
    Parent(u32),
    /// Opens so many levels and closes what is below.
    ToDepth(u32),
    /// Closes everything.
    CloseAll,
}

/// What opening and closing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeChange {
    /// Rows in all.
    pub total: usize,
    /// The row to go to, and its node; `None` where there is none to go to.
    pub target: Option<TreeTarget>,
}

/// A row of the unfolded call tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeTarget {
    /// Its position.
    pub row: usize,
    /// Its node.
    pub node: u32,
}

/// Looks for the next node whose name contains `text`.
#[derive(Debug, Clone, Serialize, Deserialize)]
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

/// A node that was found; everything above it is open now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeMatch {
    /// Where it is now.
    pub target: TreeTarget,
    /// The how many-eth match it is, from 1.
    pub position: usize,
    /// Matches in all.
    pub matches: usize,
}

/// Bytes of a block of the [`Flame`], all numbers little-endian: its left edge and its width in
/// pixels (`f32`), GPU time and CPU time in nanoseconds (`f64`), its node, the position of
/// its name among the names, how many calls it stands for (`u32`), its row and its hue (`u16`).
pub const FLAME_BLOCK_BYTES: usize = 40;

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
    /// Rows in all.
    pub rows: usize,
    /// The call at the top, where it has time.
    pub root: Option<u32>,
    /// The calls from the outermost to the one at the top, with their names.
    pub path: Vec<(u32, String)>,
    /// The time of all calls, in nanoseconds: what shares are of.
    pub all_ns: f64,
    /// The time of what is shown.
    pub shown_ns: f64,
    /// Why there are no blocks, where there are none.
    pub missing: Option<String>,
}

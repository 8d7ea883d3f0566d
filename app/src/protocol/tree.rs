//! The call tree.

use serde::{Deserialize, Serialize};

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
    /// The colour token of its category; empty where it has none.
    pub token: String,
    /// `None` for a leaf, else whether its children are shown.
    pub open: Option<bool>,
    /// GPU time of everything it launched, directly or below.
    pub gpu_time: String,
    /// That time as a share of all GPU time, to draw it.
    pub gpu_percent: Option<f64>,
    /// How many kernels, copies and fills those are.
    pub gpu_count: String,
    /// Its own duration on the host.
    pub cpu_time: String,
    /// Position among its siblings, from 1.
    pub position: u32,
    /// Number of siblings, itself included.
    pub siblings: u32,
    /// `N` of `dormer tree --uid N`; `None` for a thread.
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
    /// Closes everything but the threads.
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

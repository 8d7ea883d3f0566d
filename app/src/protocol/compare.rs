//! Two traces: the second one on its way, and the Compare view.

use dormer_core::report::overview::{Limit, SplitPart};
use serde::{Deserialize, Serialize};

use super::{Branch, Evidence, Findings, Opened};

/// The names of two files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNames {
    /// Of the trace to improve.
    pub target: String,
    /// Of the trace that it is compared with.
    pub reference: String,
}

/// What the header shows of the reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceOpened {
    /// The GPU that the trace names, if Dormer knows it.
    pub detected: Option<String>,
    /// Events in the file, digits grouped.
    pub events: String,
    /// It replays GPU graphs, whose captures can be merged with it.
    pub takes_captures: bool,
}

/// Makes the target the reference, and the reference the target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SwapTraces {
    /// The user's choice after that.
    pub choice: super::Choice,
}

/// The traces after they were swapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Swapped {
    /// What all views but this one show.
    pub target: Opened,
    /// What it is compared with.
    pub reference: ReferenceOpened,
}

/// Forgets the reference.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CloseReference;

/// Asks what the Compare view shows.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CompareQuery;

/// What two traces say about each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareFacts {
    /// The answer in a sentence.
    pub headline: String,
    /// How much of it the hardware explains, and what cannot be told.
    pub sentences: Vec<String>,
    /// What limits trust in the numbers of either.
    pub limits: Vec<Limit>,
    /// Reference and target.
    pub sides: Vec<ComparedSide>,
    /// The way from the time of the reference to that of the target; empty where nothing differs.
    pub steps: Vec<WaterfallStep>,
    /// Where the scale of the steps starts, where that is not zero.
    pub scale_from: Option<String>,
    /// How the operations of both were judged.
    pub verdicts: Vec<VerdictCount>,
    /// Where the target falls behind, what is worth most first.
    pub findings: Findings,
    /// What both traces lose in the same way, what is worth most first.
    pub waste: Vec<SharedWaste>,
    /// The tables that have rows.
    pub tables: Vec<ComparedTable>,
}

/// One of the traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedSide {
    /// "Reference" or "Target".
    pub role: String,
    /// What it is called.
    pub name: String,
    /// The device it ran on; empty where that is not known.
    pub device: String,
    /// How long it takes.
    pub total: String,
    /// That time in percent of the longer one.
    pub percent: f64,
    /// Where the time went.
    pub split: Vec<SplitPart>,
}

/// A step of the way, or one of its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaterfallStep {
    pub label: String,
    /// `total`, `slower`, `faster` or `equal`.
    pub kind: String,
    /// The color token of its category; empty where it has none.
    pub token: String,
    /// The ends of its bar, in percent of the scale.
    pub span: (f64, f64),
    /// Its time in the reference; empty for the ends.
    pub reference: String,
    /// Its time in the target; empty for the ends.
    pub target: String,
    /// How much longer the target takes; of the ends, the whole time.
    pub difference: String,
}

/// What both traces lose in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedWaste {
    /// Names in backticks.
    pub title: String,
    /// What it saves on the target, with its share of the run.
    pub saves: String,
    /// Its figures in both traces.
    pub sentence: String,
    /// What to do about it on the target.
    pub advice: String,
    /// Operations of the target that show it.
    pub evidence: Vec<Evidence>,
    /// Those beyond the named ones.
    pub n_more: usize,
}

/// Operations that were judged alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCount {
    /// As it is filtered by.
    pub key: String,
    /// For people.
    pub label: String,
    /// How many, digits grouped.
    pub count: String,
    /// How much longer they take in the target.
    pub difference: String,
}

/// A table of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedTable {
    /// What it is asked for by.
    pub key: String,
    /// How many rows it has, digits grouped.
    pub count: String,
}

/// Asks for rows `offset .. offset + count` of both call trees side by side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DiffRowsQuery {
    /// First row.
    pub offset: usize,
    pub count: usize,
}

/// A call of one trace, or of both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiffRow {
    /// The node; stays the same while both traces are open.
    pub node: u32,
    /// What is above all threads lies at 0.
    pub branch: Branch,
    /// Shortened in the middle, without what a run decides.
    pub name: String,
    /// As either trace has it; empty where that one has no such call, or no other name.
    pub recorded: [String; 2],
    /// The color token of its category; empty where it launches nothing itself.
    pub token: String,
    /// The only trace that has it: `reference` or `target`; empty for a call of both.
    pub only: String,
    /// What is different, in words; empty for a call that is the same in both.
    pub mark: String,
    /// It stands for no call: all threads, a thread, or work that belongs to no call.
    pub is_heading: bool,
    /// GPU time of all below it, of reference and target; empty for one that has nothing there.
    pub times: [String; 2],
    /// Target minus reference.
    pub difference: String,
    /// That in percent of the largest one of all rows, with its sign.
    pub percent: f64,
    /// What it launches itself, in the reference and in the target.
    pub kernels: [String; 2],
    /// `N` of `dormer tree --uid N` in the target, where it is a call of the target.
    pub uid: Option<u32>,
}

/// The sheets of the comparison, as tables are asked for.
pub mod sheet {
    /// Operations of both traces.
    pub const OPERATIONS: &str = "compare_operations";
    /// Operations of the target alone.
    pub const TARGET_ONLY: &str = "compare_target_only";
    /// Operations of the reference alone.
    pub const REFERENCE_ONLY: &str = "compare_reference_only";
    /// Kinds of work.
    pub const CATEGORIES: &str = "compare_categories";
    pub const KERNELS: &str = "compare_kernels";
    /// Classes of modules.
    pub const MODULES: &str = "compare_modules";
    pub const COLLECTIVES: &str = "compare_collectives";
    /// Steps of serving engines by phase and batch size.
    pub const STEPS: &str = "compare_steps";
    /// Peaks of memory, and what operators hold of them.
    pub const MEMORY: &str = "compare_memory";
    /// Both call trees, side by side; not a table.
    pub const TREE: &str = "compare_tree";
    /// Places where the call trees differ.
    pub const PLACES: &str = "compare_places";
    /// Operators on the CPU.
    pub const CPU: &str = "compare_host";
}

/// The columns of the sheets of the comparison.
pub mod column {
    /// What a row is.
    pub const NAME: &str = "name";
    /// The shapes of its operands.
    pub const SHAPES: &str = "shapes";
    /// What the reference alone calls at a place of the tree.
    pub const REFERENCE_CALLS: &str = "calls in the reference";
    /// What the target alone calls there.
    pub const TARGET_CALLS: &str = "calls in the target";
    pub const REFERENCE: &str = "reference time";
    pub const TARGET: &str = "target time";
    /// Target minus reference.
    pub const DIFFERENCE: &str = "difference";
    /// Memory in the reference.
    pub const REFERENCE_MB: &str = "reference MB";
    /// Memory in the target.
    pub const TARGET_MB: &str = "target MB";
    /// Target minus reference, of memory.
    pub const DIFFERENCE_MB: &str = "difference MB";
    /// Target over reference, of a call.
    pub const RATIO: &str = "measured ratio";
    /// The same as the hardware predicts it.
    pub const EXPECTED: &str = "expected ratio";
    /// The one over the other.
    pub const EXCESS: &str = "measured ÷ expected";
    /// Whether the hardware explains it.
    pub const VERDICT: &str = "verdict";
    /// The same by printed peaks alone.
    pub const OTHER_VERDICT: &str = "verdict on the other basis";
    /// How often in the reference.
    pub const REFERENCE_COUNT: &str = "reference count";
    /// How often in the target.
    pub const TARGET_COUNT: &str = "target count";
    /// Its time, of what one trace alone has.
    pub const TIME: &str = "time";
    /// How often, of what one trace alone has.
    pub const COUNT: &str = "count";
    /// Share of the time in which its trace computes.
    pub const SHARE: &str = "share of compute";
}

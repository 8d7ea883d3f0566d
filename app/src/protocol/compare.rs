//! Two traces: opening the second one, and the Compare view.

use dormer_core::report::overview::{Limit, SplitPart};
use serde::{Deserialize, Serialize};

use super::{Branch, Evidence, Findings, Opened};

/// The names of two files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNames {
    /// The trace to improve.
    pub target: String,
    /// The trace that it is compared with.
    pub reference: String,
}

/// What the header shows of the reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceOpened {
    /// Its rank, if it is one of a job's.
    pub rank: Option<u64>,
    /// The GPU named in the trace, if Dormer knows it.
    pub detected: Option<String>,
    /// Events in the file, with digit grouping.
    pub events: String,
    /// Whether it replays GPU graphs, whose captures can be merged with it.
    pub takes_captures: bool,
}

/// Swaps target and reference.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SwapTraces {
    /// The user's options afterwards.
    pub choice: super::Choice,
}

/// The traces after they were swapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Swapped {
    /// The trace that all other views show.
    pub target: Opened,
    /// The trace that it is compared with.
    pub reference: ReferenceOpened,
}

/// Closes the reference.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CloseReference;

/// Asks for the contents of the Compare view.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CompareQuery;

/// The comparison of two traces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareFacts {
    /// The main result in a sentence.
    pub headline: String,
    /// How much of it is explained by the hardware, and what is unknown.
    pub sentences: Vec<String>,
    /// What either trace lost.
    pub losses: Vec<String>,
    /// Limits to the reliability of the numbers of either trace.
    pub limits: Vec<Limit>,
    /// Reference and target.
    pub sides: Vec<ComparedSide>,
    /// The steps from the time of the reference to that of the target; empty if nothing differs.
    pub steps: Vec<WaterfallStep>,
    /// The start of the steps' scale, if it is not zero.
    pub scale_from: Option<String>,
    /// How the operations of both were judged.
    pub verdicts: Vec<VerdictCount>,
    /// Where the target falls behind, the largest savings first.
    pub findings: Findings,
    /// Time that both traces lose in the same way, the largest savings first.
    pub waste: Vec<SharedWaste>,
    /// The tables that have rows.
    pub tables: Vec<ComparedTable>,
}

/// One of the traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedSide {
    /// "Reference" or "Target".
    pub role: String,
    /// Its name.
    pub name: String,
    /// The device it ran on; empty if unknown.
    pub device: String,
    /// Its total time.
    pub total: String,
    /// That time in percent of the longer one.
    pub percent: f64,
    /// Where the time went.
    pub split: Vec<SplitPart>,
}

/// A step of the waterfall chart, or one of its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaterfallStep {
    pub label: String,
    /// `total`, `slower`, `faster` or `equal`.
    pub kind: String,
    /// The color token of its category; empty if it has none.
    pub token: String,
    /// The ends of its bar, in percent of the scale.
    pub span: (f64, f64),
    /// Its time in the reference; empty for the ends.
    pub reference: String,
    /// Its time in the target; empty for the ends.
    pub target: String,
    /// How much longer the target takes; for the ends, the total time.
    pub difference: String,
    /// For an operation, the key of its table and its row.
    pub row: Option<(String, u32)>,
}

/// Time that both traces lose in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedWaste {
    /// The title, with names in backticks.
    pub title: String,
    /// What it saves on the target, with its share of the run.
    pub saves: String,
    /// Its figures in both traces.
    pub sentence: String,
    /// What to do about it on the target.
    pub advice: String,
    /// Operations of the target that show it.
    pub evidence: Vec<Evidence>,
    /// Number of further operations.
    pub n_more: usize,
}

/// Operations with the same verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCount {
    /// The key for filtering.
    pub key: String,
    /// The label for people.
    pub label: String,
    /// Number of operations, with digit grouping.
    pub count: String,
    /// How much longer they take in the target.
    pub difference: String,
}

/// A table of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedTable {
    /// The key for requesting it.
    pub key: String,
    /// Number of rows, with digit grouping.
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
    /// The node's id; it stays the same while both traces are open.
    pub node: u32,
    /// Its position in the tree; the node above all threads has depth 0.
    pub branch: Branch,
    /// The name without parts that vary between runs, shortened in the middle.
    pub name: String,
    /// The name recorded in each trace; empty if it has no such call, or the same name.
    pub recorded: [String; 2],
    /// The color token of its category; empty if it launches nothing itself.
    pub token: String,
    /// The only trace that has it: `reference` or `target`; empty for a call of both.
    pub only: String,
    /// What differs, in words; empty for a call that is the same in both.
    pub mark: String,
    /// Whether it is not a call: all threads, a thread, or GPU activity that belongs to no call.
    pub is_heading: bool,
    /// GPU time including calls below, of reference and target; empty for a trace without any.
    pub times: [String; 2],
    /// Target minus reference.
    pub difference: String,
    /// The difference in percent of the largest one of all rows, signed.
    pub percent: f64,
    /// What it launches itself, in the reference and in the target.
    pub kernels: [String; 2],
    /// `N` of `dormer tree --uid N` in the target, if it is a call of the target.
    pub uid: Option<u32>,
}

/// The keys of the comparison's tables.
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
    /// Peaks of memory, and the operators that hold it.
    pub const MEMORY: &str = "compare_memory";
    /// Both call trees side by side; not a table.
    pub const TREE: &str = "compare_tree";
    /// Places where the call trees differ.
    pub const PLACES: &str = "compare_places";
    /// Operators on the CPU.
    pub const CPU: &str = "compare_host";
}

/// The columns of the sheets of the comparison.
pub mod column {
    /// The name of a row.
    pub const NAME: &str = "name";
    /// The shapes of its operands.
    pub const SHAPES: &str = "shapes";
    /// What only the reference calls at a place in the tree.
    pub const REFERENCE_CALLS: &str = "calls in the reference";
    /// What only the target calls there.
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
    /// Time per call, target divided by reference.
    pub const RATIO: &str = "measured ratio";
    /// The ratio predicted by the hardware.
    pub const EXPECTED: &str = "expected ratio";
    /// Measured divided by expected ratio.
    pub const EXCESS: &str = "measured ÷ expected";
    /// Whether the hardware explains it.
    pub const VERDICT: &str = "verdict";
    /// The verdict on the other basis, printed peaks or achievable figures.
    pub const OTHER_VERDICT: &str = "verdict on the other basis";
    /// Number of calls in the reference.
    pub const REFERENCE_COUNT: &str = "reference count";
    /// Number of calls in the target.
    pub const TARGET_COUNT: &str = "target count";
    /// The time, in tables of only one trace.
    pub const TIME: &str = "time";
    /// The number of calls, in tables of only one trace.
    pub const COUNT: &str = "count";
    /// Share of the time in which its trace computes.
    pub const SHARE: &str = "share of compute";
}

//! The Overview: the main result, what to do, the evidence.

use dormer_core::NoGpu;
use dormer_core::report::cards::{Asides, Savings};
use dormer_core::report::gap_chart::GapChart;
use dormer_core::report::overview::{
    FamilyTime, Limit, Quality, ServingFacts, SplitPart, WorkTime,
};
use serde::{Deserialize, Serialize};

/// The Overview, ready for display.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The time range that all of this is about; `None` for the whole trace, if that is the default.
    pub window: Option<WindowFacts>,
    /// The main result in one or two sentences.
    pub headline: String,
    /// For a serving engine or a diffusion pipeline: its steps.
    pub serving: Option<ServingFacts>,
    /// Why there are no GPU results, and how to get them; `None` if there are.
    pub no_gpu: Option<NoGpu>,
    /// Where the recorded GPU time went; empty without GPU activity.
    pub split: Vec<SplitPart>,
    /// What to do, the largest savings first; `None` while it is being computed.
    pub findings: Option<Findings>,
    /// A few figures of the whole trace: label and value.
    pub facts: Vec<(String, String)>,
    /// Kernel time by Dormer's categories, largest first.
    pub families: Vec<FamilyTime>,
    /// Share of that time whose category is known only from the kernel's name; `None` if it is negligible.
    pub guessed: Option<String>,
    /// A note that attention runs as separate operations, which are counted elsewhere; `None` if it does not.
    pub unfused: Option<String>,
    /// The operations, and collectives, that took the most time, largest first; kernels, if no operators were recorded.
    pub top: Vec<TopOperation>,
    /// Whether `top` has kernels.
    pub top_is_kernels: bool,
    /// The measure of the times in `top`: "GPU time" or "CPU time".
    pub top_measure: String,
    /// Problems found by import and profile.
    pub quality: Quality,
    /// Limits to the reliability of the numbers, in a few words each.
    pub limits: Vec<Limit>,
    /// Captures of the GPU graphs that the trace replays.
    pub captures: CaptureFacts,
    /// The GPU whose roofline is used.
    pub gpu: GpuFacts,
}

/// Captures of the GPU graphs that a trace replays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureFacts {
    /// Merged files: the name of each, and how much it explains.
    pub merged: Vec<(String, String)>,
    /// The model whose configuration was given.
    pub model: Option<String>,
    /// Whether graphs are replayed without a merged capture.
    pub is_wanted: bool,
}

impl CaptureFacts {
    /// Whether captures can be, or are, merged with the trace.
    pub fn are_taken(&self) -> bool {
        self.is_wanted || !self.merged.is_empty()
    }
}

/// A GPU of a trace with several, which can be analyzed alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuLine {
    /// Its value in the options: its number in the trace.
    pub device: String,
    /// Its label for people: "GPU 7".
    pub name: String,
    /// Time from its first start to its last end.
    pub length: String,
}

/// The analyzed part of a trace, if it is a part or could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowFacts {
    /// What it is: a step, the steps of a serving engine, a GPU, or a time range.
    pub name: String,
    /// Its length.
    pub length: String,
    /// Whether it is the whole trace, although only its steps could be analyzed.
    pub is_whole: bool,
    /// The option to analyze the steps of a serving engine, if something else is selected.
    pub steps: Option<WindowChoice>,
    /// The option to analyze the whole trace, if something else is selected.
    pub whole: Option<WindowChoice>,
}

/// The option that analyzes a time range: `None` for the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowChoice {
    /// Its value in the options.
    pub window: Option<(u64, u64)>,
}

/// What to do, the largest savings first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The findings, in order.
    pub cards: Vec<Card>,
    /// Additional remarks.
    pub asides: Asides,
}

/// A finding: what is slow, what to do about it, and what that saves. Names from the trace are in backticks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// A key that is stable when the report changes.
    pub key: String,
    /// Its number, from 1.
    pub number: usize,
    /// The title, a few words.
    pub title: String,
    /// The severity, in a word.
    pub severity: String,
    /// The name of its color in style sheets.
    pub light: String,
    /// Why its longest operation takes longer than its roofline time.
    pub gap: Option<GapChart>,
    /// The confidence in it, in a word; empty if it is certain.
    pub confidence: String,
    /// The analysis that found it.
    pub analysis: String,
    /// What is slow, in a sentence.
    pub issue: String,
    /// What to change in the model.
    pub model: String,
    /// What to change in the kernel.
    pub kernel: String,
    /// What it saves; `None` if a trace cannot show it.
    pub savings: Option<Savings>,
    /// What the savings are estimated from, or that they are not.
    pub basis: String,
    /// The amount of memory, if it is about memory and not about time.
    pub memory: Option<String>,
    /// The evidence, the longest first.
    pub evidence: Vec<Evidence>,
    /// Number of further pieces of evidence.
    pub n_more: usize,
    /// Titles of related findings.
    pub within: Vec<String>,
    /// The slug of the report's heading with details.
    pub details: String,
    /// Whether the Idle & communication view shows it.
    pub is_system: bool,
    /// Whether the Memory view shows it.
    pub is_memory: bool,
}

/// An operation or event that shows a finding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its name, shortened in the middle.
    pub name: String,
    /// Shapes and types of its tensors.
    pub shapes: String,
    /// Its time, and the number of calls.
    pub time: String,
    /// The color token of its category; empty if it has none.
    pub token: String,
    /// Its row in the sheet of operations.
    pub row: Option<u32>,
    /// The event, or the first call of an operation; `None` in a comparison.
    pub uid: Option<u32>,
    /// Whether it, or the call that launched it, is in the call tree.
    pub in_tree: bool,
    /// Whether it is evidence of the idle time before it.
    pub is_after_gap: bool,
    /// Whether calls or runs of it can be shown; an annotation has none.
    pub has_runs: bool,
}

/// One of the operations that took the most time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopOperation {
    /// Its name and time.
    pub time: WorkTime,
    /// Whether it is a kernel, listed in the table of kernels.
    pub is_kernel: bool,
    /// The operator's row in the sheet `ops_summary`.
    pub row: Option<u32>,
}

/// The GPU whose roofline is used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// Its name; `None` if it is neither in the trace nor selected.
    pub name: Option<String>,
    /// Label and value of each figure.
    pub figures: Vec<(String, String)>,
    /// Whether they are peak or achievable figures, and where they come from.
    pub basis: String,
    /// Whether some figures are peaks and others achievable.
    pub mixed: bool,
}

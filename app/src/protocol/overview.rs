//! The Overview: the answer, what to do, the evidence.

use dormer_core::NoGpu;
use dormer_core::report::cards::{Asides, Worth};
use dormer_core::report::gap_chart::GapChart;
use dormer_core::report::overview::{
    FamilyTime, Limit, Quality, ServingFacts, SplitPart, WorkTime,
};
use serde::{Deserialize, Serialize};

/// The Overview, ready to be shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The part of the time that all of this is of; `None` for the whole trace, where no part of it
    /// would be analyzed without a choice.
    pub window: Option<WindowFacts>,
    /// The answer in one or two sentences.
    pub headline: String,
    /// Of a serving engine or a diffusion pipeline: its steps.
    pub serving: Option<ServingFacts>,
    /// Why nothing is said of the GPU, and the way to it; `None` where something is.
    pub no_gpu: Option<NoGpu>,
    /// Where the recorded GPU time went; empty without GPU activity.
    pub split: Vec<SplitPart>,
    /// What to do, what is worth most first; `None` while it is being looked for.
    pub findings: Option<Findings>,
    /// A few figures of the whole trace: label and value.
    pub facts: Vec<(String, String)>,
    /// Kernel time by Dormer's categories, largest first.
    pub families: Vec<FamilyTime>,
    /// Share of that time whose category a kernel's name alone tells; `None` where it is next to
    /// nothing.
    pub guessed: Option<String>,
    /// That attention runs in separate operations, which count elsewhere; `None` where it does not.
    pub unfused: Option<String>,
    /// The operations, and collectives, that took the most time, largest first; kernels, where no
    /// operators were recorded.
    pub top: Vec<TopOperation>,
    /// `top` are kernels.
    pub top_is_kernels: bool,
    /// What the times of `top` are, "GPU time" or "CPU time".
    pub top_measure: String,
    /// What import and profile had to say.
    pub quality: Quality,
    /// What limits trust in the numbers, in a few words each.
    pub limits: Vec<Limit>,
    /// Captures of the GPU graphs that it replays.
    pub captures: CaptureFacts,
    /// The GPU the report is judged against.
    pub gpu: GpuFacts,
}

/// Captures of the GPU graphs that a trace replays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureFacts {
    /// Files that are merged: what each is called, and how much it explains.
    pub merged: Vec<(String, String)>,
    /// The model whose configuration was given.
    pub model: Option<String>,
    /// Graphs are replayed that no capture is merged with.
    pub is_wanted: bool,
}

impl CaptureFacts {
    /// Whether captures can be merged with the trace, or are.
    pub fn are_taken(&self) -> bool {
        self.is_wanted || !self.merged.is_empty()
    }
}

/// A GPU of a trace of several, to be analyzed alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuLine {
    /// As the choice has it: the number that the trace gives it.
    pub device: String,
    /// For people: "GPU 7".
    pub name: String,
    /// From its first start to its last end.
    pub length: String,
}

/// What is analyzed of a trace, where that is a part of it or could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowFacts {
    /// What it is: a step, the steps of a serving engine, a GPU, or from when to when.
    pub name: String,
    /// How long it is.
    pub length: String,
    /// It is all of the trace, of which the steps alone could be analyzed.
    pub is_whole: bool,
    /// The choice of the steps of a serving engine, where something else is chosen.
    pub steps: Option<WindowChoice>,
    /// The choice of the whole trace, where something else is chosen.
    pub whole: Option<WindowChoice>,
}

/// What to choose to analyze a part of the time: `None` for what is analyzed without a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowChoice {
    /// As the choice has it.
    pub window: Option<(u64, u64)>,
}

/// What to do, what is worth most first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// In order.
    pub cards: Vec<Card>,
    /// What is said beside them.
    pub asides: Asides,
}

/// A finding: what is slow, what to do about it, and what that is worth. Names from the trace
/// stand in backticks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// What it is known by while the report changes.
    pub key: String,
    /// Its number, from 1.
    pub number: usize,
    /// A few words.
    pub title: String,
    /// How much it matters, in a word.
    pub severity: String,
    /// The name of its color in style sheets.
    pub light: String,
    /// Why the longest of its operations takes longer than its roofline time.
    pub gap: Option<GapChart>,
    /// How sure it is that it is what it is called, in a word; empty where nothing is left to guess.
    pub confidence: String,
    /// The analysis that found it.
    pub analysis: String,
    /// What is slow, in a sentence.
    pub issue: String,
    /// What to change in the model.
    pub model: String,
    /// What to ask of the kernel.
    pub kernel: String,
    /// What it saves; `None` where a trace cannot tell.
    pub worth: Option<Worth>,
    /// What that is estimated from, or that it is not.
    pub basis: String,
    /// The memory that it is about, where it is about that and not about time.
    pub memory: Option<String>,
    /// What shows it, the longest first.
    pub evidence: Vec<Evidence>,
    /// How many more show it.
    pub n_more: usize,
    /// Findings that go with it, by their titles.
    pub within: Vec<String>,
    /// Where the report says more of it: a heading's slug.
    pub details: String,
    /// The Idle & communication view shows what it is about.
    pub is_system: bool,
    /// The Memory view shows what it is about.
    pub is_memory: bool,
}

/// An operation or event that shows a finding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its name, shortened in the middle.
    pub name: String,
    /// Shapes and types of its tensors.
    pub shapes: String,
    /// Its time, and of how many calls.
    pub time: String,
    /// The color token of its category; empty where it has none.
    pub token: String,
    /// Its row in the sheet of operations.
    pub row: Option<u32>,
    /// The event: of an operation its first call; `None` for one of a comparison.
    pub uid: Option<u32>,
    /// The tree has it, or what launched it.
    pub in_tree: bool,
    /// Calls or runs of it can be shown; of an annotation there are none.
    pub has_runs: bool,
}

/// One of the operations that took the most time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopOperation {
    /// What it is, and its time.
    pub time: WorkTime,
    /// It is a kernel, to be found in the table of kernels.
    pub is_kernel: bool,
    /// The operator's row in the sheet `ops_summary`.
    pub row: Option<u32>,
}

/// The GPU the report is judged against.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// Its name; `None` when it is neither told by the trace nor chosen.
    pub name: Option<String>,
    /// Label and value of each figure.
    pub figures: Vec<(String, String)>,
    /// Whether they are peak or achievable figures, and where they come from.
    pub basis: String,
    /// Some are peak and some achievable figures.
    pub mixed: bool,
}

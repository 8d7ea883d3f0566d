//! Where the target falls behind, and what both traces lose alike: what the [rules](super::findings) and
//! [`waste`](super::waste) make.

use super::pair::Pair;
use crate::base::format;
use crate::findings::{Priority, Replay};

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Operations of both traces: their places in
    /// [`Operations::matched`](super::Operations::matched), the longest first.
    Operations(Vec<usize>),
    /// Operations of the target alone: their places in
    /// [`Operations::lone`](super::Operations::lone), the longest first.
    Lone(Vec<usize>),
    /// Communication while nothing is computed.
    ExposedCommunication,
    /// Copies while nothing is computed or communicated.
    ExposedCopies,
    /// Nothing runs.
    Idle,
}

/// What following a finding saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saving {
    /// When the target takes as long as the reference and the hardware predict; where nothing is
    /// predicted, as long as the reference.
    pub matching_ns: i64,
    /// When the target reaches its own roofline: the most that can be saved. `None` where that is
    /// not known.
    pub roof_ns: Option<i64>,
    /// Whether something is predicted of all of it.
    pub is_predicted: bool,
}

/// Where the target falls behind, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// Its number, from 1.
    pub number: usize,
    /// What it is about.
    pub subject: Subject,
    /// The pattern, as files write it: "kernel_issue".
    pub pattern: &'static str,
    /// How much it matters.
    pub priority: Priority,
    /// A few words; names in backticks.
    pub title: String,
    /// One sentence with the headline figures.
    pub gap: String,
    /// What to change in the model or in how it is run: one sentence.
    pub model: String,
    /// What to ask of the kernel: one sentence.
    pub kernel: String,
    /// How it was found, sentence by sentence.
    pub reasoning: Vec<String>,
    /// The measured times that it is about.
    pub times: Pair<i64>,
    /// What following it saves; `None` where nothing tells.
    pub saving: Option<Saving>,
    /// The least time that the target can take for it by its own roofline, where the reference takes
    /// less: the rest of the difference cannot be closed on this hardware.
    pub floor_ns: Option<i64>,
    /// For kernel engineers.
    pub replay: Option<Replay>,
}

impl Gap {
    /// "Model: … Kernel: …", each a sentence.
    pub fn action(&self) -> String {
        format!("Model: {} Kernel: {}", self.model, self.kernel)
    }

    /// That the reference is out of reach: "The target cannot go below 1.20 ms on this hardware."
    pub fn floor(&self) -> Option<String> {
        let floor = format::time_ns(self.floor_ns?);
        Some(format!(
            "The target cannot go below {floor} on this hardware."
        ))
    }
}

/// Where the target falls behind, what matters most first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gaps {
    /// In order.
    pub ranked: Vec<Gap>,
    /// Those that are too small to be shown.
    pub n_small: usize,
    /// What following all of them saves when the target takes as long as predicted.
    pub together_ns: i64,
}

impl Gaps {
    /// Whether what following all of them saves is at most that: of some nothing is predicted.
    pub fn is_at_most(&self) -> bool {
        let mut savings = self.ranked.iter().filter_map(|gap| gap.saving);
        savings.any(|saving| saving.roof_ns.is_none())
    }
}

/// What both traces lose in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waste {
    /// What it is, as files write it: the key of a rule, "low_roofline" or "idle".
    pub key: &'static str,
    /// A few words; names in backticks.
    pub title: String,
    /// One sentence with the figures of both.
    pub sentence: String,
    /// What to do about it on the target: one sentence.
    pub advice: String,
    /// The time that it is about in each trace.
    pub times: Pair<i64>,
    /// What it saves on the target: the cautious and the hopeful end.
    pub saves: (i64, i64),
    /// Operations of the target that show it: positions in
    /// [`Profile::operations`](crate::Profile::operations), the longest first.
    pub operations: Vec<usize>,
}

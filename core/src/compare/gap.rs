//! Where the target falls behind, and what both traces waste in the same way: the results of the
//! [rules](super::findings) and of [`shared_waste`](super::shared_waste).

use super::pair::Pair;
use crate::base::format;
use crate::findings::{Priority, Replay};

/// What a gap is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GapSubject {
    /// Operations of both traces: positions in [`Operations::matched`](super::Operations::matched), longest first.
    Operations(Vec<usize>),
    /// Operations of the target alone: positions in [`Operations::unmatched`](super::Operations::unmatched), longest
    /// first.
    Unmatched(Vec<usize>),
    /// Communication without concurrent computation.
    ExposedCommunication,
    /// Copies without concurrent computation or communication.
    ExposedCopies,
    /// Time in which nothing runs.
    Idle,
}

/// The saving of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saving {
    /// If the target takes as long as the reference and the hardware predict; or as long as the reference, if there is
    /// no prediction.
    pub matching_ns: i64,
    /// If the target reaches its own roofline: the maximum saving. `None` if unknown.
    pub roofline_ns: Option<i64>,
    /// Whether there is a prediction for all of it.
    pub is_predicted: bool,
}

impl Saving {
    /// Whether matching the reference is the most that can be saved: the target's own roofline is unknown, or allows no
    /// more.
    pub fn is_at_most(&self) -> bool {
        self.roofline_ns
            .is_none_or(|most_ns| most_ns <= self.matching_ns)
    }
}

/// Where the target falls behind, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// Its number, from 1.
    pub number: usize,
    /// What it is about.
    pub subject: GapSubject,
    /// The pattern's key in files: "kernel_issue".
    pub pattern: &'static str,
    /// How much it matters.
    pub priority: Priority,
    /// A few words; names in backticks.
    pub title: String,
    /// One sentence with the main figures.
    pub gap: String,
    /// What to change in the model or in how it is run: one sentence.
    pub model: String,
    /// What to change in the kernel: one sentence.
    pub kernel: String,
    /// How it was found, sentence by sentence.
    pub reasoning: Vec<String>,
    /// The measured times that it is about.
    pub times: Pair<i64>,
    /// Its saving; `None` if unknown.
    pub saving: Option<Saving>,
    /// The target's minimum time for it, by its own roofline, if the reference takes less: the rest of the difference
    /// cannot be closed on this hardware.
    pub floor_ns: Option<i64>,
    /// For kernel engineers.
    pub replay: Option<Replay>,
}

impl Gap {
    /// "Model: … Kernel: …", each a sentence.
    pub fn action(&self) -> String {
        format!("Model: {} Kernel: {}", self.model, self.kernel)
    }

    /// States that the reference is out of reach: "The target cannot go below 1.20 ms on this hardware."
    pub fn floor(&self) -> Option<String> {
        let floor = format::time_ns(self.floor_ns?);
        Some(format!(
            "The target cannot go below {floor} on this hardware."
        ))
    }
}

/// Where the target falls behind, largest saving first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gaps {
    /// In order.
    pub ranked: Vec<Gap>,
    /// Number of gaps that are too small to show.
    pub n_small: usize,
    /// The saving of all of them together, if the target takes as long as predicted.
    pub together_ns: i64,
}

impl Gaps {
    /// Whether the total is only an upper bound, because the roofline is unknown for some.
    pub fn is_at_most(&self) -> bool {
        let mut savings = self.ranked.iter().filter_map(|gap| gap.saving);
        savings.any(|saving| saving.roofline_ns.is_none())
    }
}

/// Something that both traces waste in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waste {
    /// Its key in files: the key of a rule, "low_roofline" or "idle".
    pub key: &'static str,
    /// A few words; names in backticks.
    pub title: String,
    /// One sentence with the figures of both.
    pub sentence: String,
    /// What to do about it on the target: one sentence.
    pub advice: String,
    /// The affected time in each trace.
    pub times: Pair<i64>,
    /// The saving on the target: low and high estimate.
    pub saves: (i64, i64),
    /// The affected operations of the target: positions in [`Profile::operations`](crate::Profile::operations), longest
    /// first.
    pub operations: Vec<usize>,
}

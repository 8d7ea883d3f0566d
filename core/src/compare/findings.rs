//! What to do about the target: where it falls behind the reference by more than the hardware
//! explains.
//!
//! An operation comes first when three things hold: it is slower than the hardware predicts, it
//! has a large share of the computation, and there is evidence that its kernel is at fault. What
//! following a finding saves never goes below the roof of the target's own GPU.

mod actions;
mod lone;
mod machine;
mod more_calls;
mod operations;
mod other_types;
mod system;

use std::cmp::Reverse;

use super::comparison::Comparison;
use super::pair::Pair;
use crate::assess::Thresholds;
use crate::base::sort::Arrange;
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
    /// When the target takes as long as the reference and the hardware predict.
    pub matching_ns: i64,
    /// When the target reaches its own roof: the most that can be saved. `None` where no roof is
    /// known.
    pub roof_ns: Option<i64>,
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
    /// For kernel engineers.
    pub replay: Option<Replay>,
}

impl Gap {
    /// "Model: … Kernel: …", each a sentence.
    pub fn action(&self) -> String {
        format!("Model: {} Kernel: {}", self.model, self.kernel)
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

/// How much something matters that has this share of the run of the target.
fn priority_of_run(lines: &Thresholds, percent: f64) -> Priority {
    match percent {
        percent if percent > lines.high_percent_of_compute => Priority::High,
        percent if percent > lines.medium_percent_of_compute => Priority::Medium,
        _ => Priority::Low,
    }
}

impl Gaps {
    /// Whether what following all of them saves is at most that: of some nothing is predicted.
    pub fn is_at_most(&self) -> bool {
        let mut savings = self.ranked.iter().filter_map(|gap| gap.saving);
        savings.any(|saving| saving.roof_ns.is_none())
    }

    /// Finds and ranks them: by priority, then by what they save, then by time, then by name.
    pub(crate) fn of(comparison: &Comparison) -> Gaps {
        let total_ns = comparison.parts.total.target;
        if total_ns <= 0 || !comparison.has_gpu_times() {
            return Gaps::default();
        }
        let least_ns = total_ns as f64 * comparison.thresholds.finding_percent_of_total / 100.0;
        let mut all = operations::gaps(comparison);
        all.extend(machine::gap(comparison));
        all.extend(more_calls::gaps(comparison));
        all.extend(other_types::gap(comparison));
        all.extend(lone::gap(comparison));
        all.extend(system::gaps(comparison));
        // What nothing tells the saving of is as large as its time.
        let weight = |gap: &Gap| {
            gap.saving
                .map_or(gap.times.target, |saving| saving.matching_ns)
        };
        let (mut ranked, small): (Vec<Gap>, Vec<Gap>) = all
            .into_iter()
            .partition(|gap| weight(gap) as f64 >= least_ns);
        ranked.arrange_by(|a, b| {
            let key = |gap: &Gap| {
                let saved_ns = gap.saving.map_or(-1, |saving| saving.matching_ns);
                (gap.priority, Reverse(saved_ns), Reverse(gap.times.target))
            };
            key(a).cmp(&key(b)).then_with(|| a.title.cmp(&b.title))
        });
        for (at, gap) in ranked.iter_mut().enumerate() {
            gap.number = at + 1;
        }
        let savings = ranked.iter().filter_map(|gap| gap.saving);
        let together_ns = crate::base::interval::sum(savings.map(|saving| saving.matching_ns));
        Gaps {
            together_ns: together_ns.min(total_ns),
            n_small: small.len(),
            ranked,
        }
    }
}

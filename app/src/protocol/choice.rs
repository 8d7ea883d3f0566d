//! What the user chooses for the whole page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Stands before the name of a GPU whose figures are the user's own.
pub const OWN: &str = "own:";

/// What the user chose that changes the report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The GPU by name; `None` takes the one the trace names. The user's own has
    /// [`OWN`] before its name.
    pub gpu: Option<String>,
    /// The user's own figures, the text of a file, where they are to judge.
    pub profile: Option<String>,
    /// The same of the reference, where two traces are compared.
    pub reference_gpu: Option<String>,
    /// The user's own figures, where they are to judge the reference.
    pub reference_profile: Option<String>,
    /// The user's own performance models, the text of a file.
    pub perf_models: Option<String>,
    /// The part of the target's time that is analyzed: nanoseconds after the first event of the
    /// trace. `None` for all of it.
    pub window: Option<(u64, u64)>,
    /// The one GPU of the target that is analyzed, as the trace numbers it; it comes before `window`.
    pub device: Option<String>,
    /// Judge by printed peaks, also where achievable figures are known.
    pub peak: bool,
    /// All GPU events, also those no launching CPU call was found for.
    pub all_gpu_events: bool,
    /// Thresholds by name that are not the usual ones.
    pub thresholds: BTreeMap<String, f64>,
}

impl Choice {
    /// The choice by which the reference is judged: on its own GPU, by the same lines. Which part of
    /// it is analyzed follows from the target's.
    pub fn of_reference(&self) -> Choice {
        Choice {
            gpu: self.reference_gpu.clone(),
            profile: self.reference_profile.clone(),
            window: None,
            device: None,
            ..self.clone()
        }
    }
}

/// Figures of a GPU, as the text of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuText {
    pub text: String,
}

/// The user's own performance models, as the text of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelsText {
    pub text: String,
}

/// What they do in the trace that is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedModels {
    /// What they do, in a sentence.
    pub sentence: String,
    /// Each model, in the order of the file.
    pub models: Vec<ModelUse>,
}

/// What a model of the user's does in a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUse {
    /// The op's name, or what names begin with and a `*`.
    pub op: String,
    /// How many operations it counts the work of, digits grouped.
    pub operations: String,
    /// Their GPU time; empty where there are none.
    pub time: String,
    /// Why it counts less than it could.
    pub note: Option<String>,
}

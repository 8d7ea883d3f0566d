//! The user's options for the whole page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The prefix of the name of a GPU with the user's own figures.
pub const OWN: &str = "own:";

/// The user's options that affect the report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The GPU by name; `None` for the one named in the trace. The user's own has the prefix [`OWN`].
    pub gpu: Option<String>,
    /// The user's own GPU figures, as the text of a file, if they are used.
    pub profile: Option<String>,
    /// The GPU of the reference, if two traces are compared.
    pub reference_gpu: Option<String>,
    /// The user's own GPU figures for the reference, if they are used.
    pub reference_profile: Option<String>,
    /// The user's own performance models, as the text of a file.
    pub perf_models: Option<String>,
    /// The analyzed time range of the target, in nanoseconds after the first event of the trace. `None` for all of it.
    pub window: Option<(u64, u64)>,
    /// The only GPU of the target to analyze, by its number in the trace; takes precedence over `window`.
    pub device: Option<String>,
    /// Use printed peaks even if achievable figures are known.
    pub peak: bool,
    /// Include GPU events without a known launching CPU call.
    pub all_gpu_events: bool,
    /// Non-default thresholds by name.
    pub thresholds: BTreeMap<String, f64>,
}

impl Choice {
    /// The options for the reference: its own GPU, the same thresholds. Which part of it is analyzed follows from the
    /// target's.
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

/// The effect of performance models in the open trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedModels {
    /// Their effect, in a sentence.
    pub sentence: String,
    /// Each model, in the order of the file.
    pub models: Vec<ModelUse>,
}

/// The effect of a user's model in a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUse {
    /// The op's name, or a prefix followed by `*`.
    pub op: String,
    /// Number of operations that it applies to, with digit grouping.
    pub operations: String,
    /// Their GPU time; empty if there are none.
    pub time: String,
    /// Why it does not apply everywhere it could.
    pub note: Option<String>,
}

//! The model of a trace, inferred from modules, operations and shapes; each answer comes with its evidence.

mod architecture;
mod modules;
mod precision;
mod scale;
#[cfg(test)]
mod tests;

use crate::profile::Profile;
use architecture::{DENOISERS, DIFFUSION, architecture};
use modules::{Modules, of_denoiser, of_file};
use precision::precision;
use scale::scale;

pub(crate) use modules::{GENERIC, WRAPPERS, families};

/// Shown for unknown values.
pub const UNKNOWN: &str = "Cannot be inferred from trace";

/// An answer and its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inferred {
    /// The answer; `None` if unknown.
    pub value: Option<String>,
    /// The evidence, in a sentence; empty without an answer.
    pub evidence: String,
}

impl Inferred {
    fn new(value: impl Into<String>, evidence: impl Into<String>) -> Inferred {
        Inferred {
            value: Some(value.into()),
            evidence: evidence.into(),
        }
    }

    /// The answer, or [`UNKNOWN`].
    pub fn text(&self) -> &str {
        self.value.as_deref().unwrap_or(UNKNOWN)
    }
}

/// What is known about the model of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name: "Qwen2".
    pub model: Inferred,
    /// Its kind: "Transformer".
    pub architecture: Inferred,
    /// Its size: layers, hidden size, heads, vocabulary.
    pub scale: Inferred,
    /// The precision of most of its arithmetic.
    pub precision: Inferred,
}

impl ModelInfo {
    /// Infers the model from modules, operations and shapes.
    pub fn new(profile: &Profile) -> ModelInfo {
        let modules = Modules::of(profile);
        let architecture = architecture(profile, &modules);
        let denoiser = modules.has(DENOISERS);
        let denoiser = denoiser.filter(|_| architecture.text() == DIFFUSION);
        ModelInfo {
            // Prompt encoders have more modules than the denoiser, but do not define the model.
            model: of_sizes(profile).unwrap_or_else(|| {
                match denoiser.map_or_else(|| modules.model(), of_denoiser) {
                    Inferred { value: None, .. } => of_file(&profile.trace),
                    model => model,
                }
            }),
            scale: scale(profile, &modules, &architecture),
            architecture,
            precision: precision(profile),
        }
    }

    /// The name for titles.
    pub fn title(&self) -> &str {
        self.model.value.as_deref().unwrap_or("Workload")
    }
}

/// The model whose sizes are known.
fn of_sizes(profile: &Profile) -> Option<Inferred> {
    let known = profile.known_model()?;
    Some(Inferred::new(&*known.config.name, &*known.evidence))
}

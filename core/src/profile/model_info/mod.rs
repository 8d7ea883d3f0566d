//! What model a trace is of, as far as modules, operations and shapes tell; each answer with its
//! evidence.

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

/// What stands where nothing tells.
pub const UNKNOWN: &str = "Cannot be inferred from trace";

/// An answer, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inferred {
    /// The answer; `None` where nothing tells.
    pub value: Option<String>,
    /// What it rests on, in a sentence; empty without an answer.
    pub evidence: String,
}

impl Inferred {
    fn new(value: impl Into<String>, evidence: impl Into<String>) -> Inferred {
        Inferred {
            value: Some(value.into()),
            evidence: evidence.into(),
        }
    }

    /// The answer, or that there is none.
    pub fn text(&self) -> &str {
        self.value.as_deref().unwrap_or(UNKNOWN)
    }
}

/// What model a trace is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name: "Qwen2".
    pub model: Inferred,
    /// Its kind: "Transformer".
    pub architecture: Inferred,
    /// Its size: layers, hidden size, heads, vocabulary.
    pub scale: Inferred,
    /// The type that most of its arithmetic is in.
    pub precision: Inferred,
}

impl ModelInfo {
    /// Looks at modules, operations and shapes.
    pub fn new(profile: &Profile) -> ModelInfo {
        let modules = Modules::of(profile);
        let architecture = architecture(profile, &modules);
        let denoiser = modules.has(DENOISERS);
        let denoiser = denoiser.filter(|_| architecture.text() == DIFFUSION);
        ModelInfo {
            // The encoders of the prompt have more modules, and are not what the model is.
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

    /// For titles.
    pub fn title(&self) -> &str {
        self.model.value.as_deref().unwrap_or("Workload")
    }
}

/// The model whose sizes are known.
fn of_sizes(profile: &Profile) -> Option<Inferred> {
    let known = profile.known_model()?;
    Some(Inferred::new(&*known.config.name, &*known.evidence))
}

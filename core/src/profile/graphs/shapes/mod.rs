//! Shapes of kernels that a GPU graph replays and that have no recorded operator.
//!
//! ```text
//! config, or sizes of a proved model ─┬→ roles by order ─→ sizes ─┐
//! kernels of a forward pass ──────────┘                           ├→ FLOPs and bytes, with their source
//! annotation of the step, ops next to the graph ─→ tokens ─────────┘
//! ```
//!
//! Each size has a [`Source`], and each value the weakest source that it depends on. Results never appear in the sheets
//! that carry the reference's names: those contain only what was recorded.

mod blocks;
mod diffusion;
mod eager;
mod grid;
mod inputs;
mod known;
mod messages;
mod passes;
mod roles;
mod split;
#[cfg(test)]
mod tests;
mod tokens;
mod windows;
mod work;

use std::sync::Arc;

use crate::base::map::Map;
use crate::perf::model_config::ModelConfig;
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::operations::Operation;
use passes::ForwardPass;

pub use crate::profile::operations::estimate::{Estimate, Source};
pub use eager::EagerShapes;
pub use inputs::ImageTokens;
pub use known::KnownModel;
pub(crate) use messages::Messages;

/// User-provided sources for the shapes of replayed kernels.
#[derive(Debug, Clone, Default)]
pub struct ShapeSources {
    /// The configuration of the model.
    pub config: Option<Arc<ModelConfig>>,
    /// An eager trace of the same model.
    pub eager: Option<Arc<EagerShapes>>,
}

impl ShapeSources {
    /// The same without the name of the model.
    pub(crate) fn without_names(&self) -> ShapeSources {
        let unnamed = |config: &Arc<ModelConfig>| {
            Arc::new(ModelConfig {
                name: "model".to_owned(),
                ..(**config).clone()
            })
        };
        ShapeSources {
            config: self.config.as_ref().map(unnamed),
            eager: self.eager.clone(),
        }
    }
}

/// The estimates of a profile.
#[derive(Debug, Default)]
pub(crate) struct Estimates {
    all: Vec<Estimate>,
    /// By kernel: the index of its estimate, and the kernel's share of it.
    of: Map<GpuId, (u32, f64)>,
}

impl Estimates {
    /// The estimate of a kernel, and the kernel's share of it.
    fn of(&self, id: GpuId) -> Option<(&Estimate, f64)> {
        let (at, share) = self.of.get(&id)?;
        Some((self.all.get(*at as usize)?, *share))
    }

    fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Adds the estimate of a kernel at a position of a pass, if it is replayed and has none.
    fn put(&mut self, pass: &ForwardPass, at: usize, share: f64, make: impl FnOnce() -> Estimate) {
        let is_bare = pass.is_bare.get(at).copied().unwrap_or(false);
        let id = pass.kernels.get(at).copied().filter(|_| is_bare);
        if let Some(id) = id.filter(|id| !self.of.contains_key(id)) {
            self.all.push(make());
            self.of.insert(id, (self.all.len() as u32 - 1, share));
        }
    }
}

/// Adds estimates to operations of kernels without operators. `recorded` are the operations of a profile as recorded;
/// new parts are appended.
pub(crate) fn add(profile: &Profile, recorded: &mut Vec<Operation>) {
    let (sources, mut passes) = (&profile.sources, passes::find(profile));
    let sees_window = recorded.iter().any(|one| one.sees_window);
    if passes.is_empty() && sources.config.is_none() && !sees_window {
        return;
    }
    let known = known::find(profile, recorded, &passes);
    let known = profile.derived.known_model.get_or_init(|| known);
    let known = known.as_ref().ok().and_then(Option::as_ref);
    if let Some(known) = known {
        work::add_routing(profile, known, &passes, recorded);
    }
    // Operators of a capture already provide the shapes of their kernels.
    passes.retain(ForwardPass::has_bare);
    let mut estimates = Estimates::default();
    let own = || EagerShapes::of_own_steps(profile, &passes);
    if let Some(eager) = sources.eager.clone().or_else(own) {
        // Recorded weights take precedence.
        let n_windows = eager.add(profile, &passes, &mut estimates);
        if let Some(coverage) = eager.coverage(&passes, &estimates, n_windows) {
            let _ = profile.derived.eager_coverage.set(coverage);
        }
    }
    if let Some(known) = known {
        work::add(profile, known, &passes, &mut estimates);
        if let Some(model) = known.config.diffusion() {
            diffusion::add(profile, model, &passes, &mut estimates);
        }
    }
    let mut parts = split::split(profile, recorded, &estimates);
    recorded.append(&mut parts);
    if let Some(known) = known {
        windows::add(profile, known, recorded);
    }
}

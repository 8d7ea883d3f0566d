//! The model of replayed kernels: that of a given configuration, or a known model whose family, hidden size, vocabulary
//! and number of layers all match the trace.

use std::sync::Arc;

use super::passes::ForwardPass;
use crate::base::format;
use crate::base::map::Map;
use crate::names::Family;
use crate::perf::model_config::{ModelConfig, proved};
use crate::profile::Profile;
use crate::profile::model_info::families;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::GemmSizes;
use crate::trace::distributed::layer_ranks;

/// Narrower GEMMs are not an LM head.
const MIN_VOCABULARY: u64 = 20_000;
/// Maximum padding of the vocabulary, in rows per GPU.
const MOST_PADDING: u64 = 1024;

/// The model that the sizes of replayed kernels are derived from.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownModel {
    /// Its sizes.
    pub config: Arc<ModelConfig>,
    /// Number of GPUs that share each layer.
    pub gpus: u64,
    /// How it was identified, in a sentence.
    pub evidence: String,
}

/// Why a given configuration cannot be used, in a sentence.
pub(super) type ConfigMismatch = String;

/// The model of a profile, or why a given configuration belongs to another model. `recorded` are the profile's
/// operations.
pub(crate) fn find(
    profile: &Profile,
    recorded: &[Operation],
    passes: &[ForwardPass],
) -> Result<Option<KnownModel>, ConfigMismatch> {
    let head = lm_head(profile, recorded);
    let layers = usual_layers(passes).or_else(|| eager_layers(profile));
    let mut metadata = profile.trace.metadata.iter();
    let is_alone = !metadata.any(|(key, _)| key == "distributedInfo");
    let gpus = layer_ranks(&profile.trace).or(is_alone.then_some(1));
    match &profile.sources.config {
        Some(config) => fitting(config, head, layers, gpus).map(Some),
        None => Ok(proved_model(profile, head, layers, gpus)),
    }
}

/// The number of attention kernels in most passes.
fn usual_layers(passes: &[ForwardPass]) -> Option<u64> {
    let mut counts: Map<usize, usize> = Map::default();
    for pass in passes.iter().filter(|pass| pass.n_layers > 0) {
        *counts.entry(pass.n_layers).or_default() += pass.kernels.len();
    }
    let most = counts.into_iter().max_by_key(|(layers, n)| (*n, *layers))?;
    Some(most.0 as u64)
}

/// The number of layers in a step, if both ways to count agree.
fn eager_layers(profile: &Profile) -> Option<u64> {
    Some(profile.serving()?.blocks.as_ref()?.layers? as u64)
}

/// K (the hidden size) and N of a recorded GEMM that computes logits.
fn lm_head(profile: &Profile, recorded: &[Operation]) -> Option<(u64, u64)> {
    let gemms = recorded.iter().filter(|one| one.family == Family::Gemm);
    let sizes = gemms.filter_map(|one| GemmSizes::of(profile, one));
    let heads = sizes.filter(|sizes| {
        sizes.batch == 1 && sizes.n >= MIN_VOCABULARY && sizes.n / 2 > sizes.k && sizes.n > sizes.m
    });
    let widest = heads.max_by_key(|sizes| sizes.n)?;
    Some((widest.k, widest.n))
}

fn fitting(
    config: &Arc<ModelConfig>,
    head: Option<(u64, u64)>,
    layers: Option<u64>,
    gpus: Option<u64>,
) -> Result<KnownModel, ConfigMismatch> {
    let known = |gpus| KnownModel {
        config: Arc::clone(config),
        gpus,
        evidence: "The model's configuration was given.".to_owned(),
    };
    let Some(model) = config.language() else {
        return Ok(known(1));
    };
    let unfit = |what: &str, theirs: u64, ours: u64| {
        format!(
            "The configuration is of another model: its {what} is {}, in the trace it is {}.",
            format::count(theirs),
            format::count(ours)
        )
    };
    let mut gpus = gpus;
    if let Some((hidden, columns)) = head {
        if hidden != model.hidden {
            return Err(unfit("hidden size", model.hidden, hidden));
        }
        // The columns on one GPU show how many GPUs share the vocabulary.
        let share = (model.vocab as f64 / columns as f64).round().max(1.0) as u64;
        let share = gpus.unwrap_or(share);
        let all = columns.saturating_mul(share);
        if all < model.vocab || all - model.vocab > MOST_PADDING.saturating_mul(share) {
            return Err(unfit("vocabulary", model.vocab, all));
        }
        gpus = Some(share);
    }
    if let Some(layers) =
        layers.filter(|layers| *layers > 1 && !model.layers.is_multiple_of(*layers))
        && !layers.is_multiple_of(model.layers)
    {
        return Err(unfit("number of layers", model.layers, layers));
    }
    gpus.map(known).ok_or_else(|| {
        "The trace has several groups of GPUs, and which of them share each layer is not recorded."
            .to_owned()
    })
}

fn proved_model(
    profile: &Profile,
    head: Option<(u64, u64)>,
    layers: Option<u64>,
    gpus: Option<u64>,
) -> Option<KnownModel> {
    let ((hidden, columns), layers, gpus) = (head?, layers?, gpus?);
    let vocab = columns.saturating_mul(gpus);
    let (config, family) = families(&profile.trace)
        .into_iter()
        .find_map(|family| Some((proved(&family, hidden, vocab, layers)?, family)))?;
    Some(KnownModel {
        evidence: format!(
            "Family {family}, hidden size {hidden}, vocabulary {} and {layers} layers are those of {}.",
            format::count(vocab),
            config.name
        ),
        config: Arc::new(config),
        gpus,
    })
}

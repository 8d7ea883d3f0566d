//! The architecture of a model, from its operations and the names of its modules.

use super::Inferred;
use super::modules::{Modules, called};
use crate::base::format;
use crate::names::words::holds;
use crate::names::{Family, Library, library_of_kernel};
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Words in the names of denoising modules.
pub(super) const DENOISERS: &[&str] = &["unet", "dit", "diffusion", "sd3", "flux"];
/// The name that [`architecture`] uses for their models.
pub(super) const DIFFUSION: &str = "Diffusion model";
/// The names that [`architecture`] uses for networks whose layers all have different widths: their most frequent K is
/// not a hidden size.
const CONVOLUTIONAL: &str = "Convolutional network";
const RECOMMENDATION: &str = "Recommendation model";

/// Words in the names of vision modules.
#[rustfmt::skip]
const VISION: &[&str] = &[
    "vit", "patchembed", "patchembedding", "patchembeddings", "timesformer", "swin", "swinv",
    "imageprocessor",
];

/// Words in the names of operators and kernels of state-space layers.
const STATE_SPACE: &[&str] = &["mamba", "selective_scan", "selective_state", "chunk_scan"];
/// Below this share of the time, they are a part of something else.
const MIN_SCAN_PERCENT: f64 = 5.0;

pub(super) fn architecture(profile: &Profile, modules: &Modules) -> Inferred {
    let named = |words: &'static [&'static str]| {
        move |operation: &Operation| holds(operation.short_name(profile), words)
    };
    let family = |family| move |operation: &Operation| operation.family == family;
    let has_attention = share(profile, family(Family::Attention)) > 0.0;
    let has_softmax =
        share(profile, named(&["softmax"])) > 0.0 && share(profile, named(&["bmm"])) > 0.0;
    let convolution = share(profile, family(Family::Convolution));
    let is_transformer = has_attention || has_softmax;
    if let Some(class) = modules.has(DENOISERS)
        && is_transformer
    {
        return called(DIFFUSION, class);
    }
    let moe = "Mixture-of-experts Transformer";
    if share(profile, family(Family::Moe)) > 0.0 {
        return Inferred::new(moe, "Operations route tokens to experts.");
    }
    if share(profile, exchanges_tokens(profile)) > 0.0 {
        return Inferred::new(moe, "Tokens are exchanged with experts on other GPUs.");
    }
    if let Some(class) = modules.has(&["mamba", "ssm"]) {
        return called("State-space model", class);
    }
    if share(profile, named(STATE_SPACE)) >= MIN_SCAN_PERCENT {
        return match is_transformer {
            true => Inferred::new(
                "Hybrid of state-space and attention layers",
                "Scans of state-space layers and attention ran.",
            ),
            false => Inferred::new("State-space model", "Scans of state-space layers ran."),
        };
    }
    if is_transformer {
        let evidence = match has_attention {
            true => "Attention operations ran.",
            false => "Softmax runs between batched GEMMs: attention that is not fused.",
        };
        return match modules.has(VISION) {
            Some(class) => Inferred::new(
                "Vision Transformer",
                format!("{evidence} A module is called `{class}`."),
            ),
            None => Inferred::new("Transformer", evidence),
        };
    }
    if share(profile, named(&["embedding_bag"])) > 0.0 {
        return Inferred::new(RECOMMENDATION, "Bags of embeddings are summed.");
    }
    if share(profile, named(&["rnn", "lstm", "gru"])) > 0.0 {
        return Inferred::new("Recurrent network", "Recurrent layers ran.");
    }
    /// Below this, a convolution may be the first layer of any model.
    const MIN_CONVOLUTION_PERCENT: f64 = 10.0;
    if convolution >= MIN_CONVOLUTION_PERCENT {
        let percent = format::percent(convolution);
        let evidence = format!("Convolutions take {percent} of the kernel time.");
        return Inferred::new(CONVOLUTIONAL, evidence);
    }
    Inferred::default()
}

/// Whether an operation's longest kernel is from a library that exchanges tokens between experts.
fn exchanges_tokens(profile: &Profile) -> impl Fn(&Operation) -> bool {
    move |operation| {
        let longest = operation.longest_kernel(profile);
        let library = longest.and_then(library_of_kernel);
        matches!(library, Some(Library::DeepEp | Library::Mori))
    }
}

/// Share of the kernel time in operations that match, in percent.
fn share(profile: &Profile, is_it: impl Fn(&Operation) -> bool) -> f64 {
    let (mut part, mut all) = (0.0, 0.0);
    for operation in profile.operations() {
        all += operation.kernel_ns as f64;
        if is_it(operation) {
            part += operation.kernel_ns as f64;
        }
    }
    if all > 0.0 { part / all * 100.0 } else { 0.0 }
}

/// Whether all layers of the model share one hidden size.
pub(super) fn has_hidden_size(architecture: &Inferred) -> bool {
    ![CONVOLUTIONAL, RECOMMENDATION].contains(&architecture.text())
}

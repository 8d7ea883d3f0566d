//! The size of a model: layers, hidden size, heads and vocabulary.

use std::collections::BTreeMap;

use super::Inferred;
use super::architecture::{DIFFUSION, has_hidden_size};
use super::modules::Modules;
use crate::base::format;
use crate::base::group::grouped;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::cpu::autograd::Passes;
use crate::profile::operations::Operation;

/// Prefixes of modules that encode the prompt of a diffusion model.
const PROMPT_ENCODERS: &[&str] = &["CLIP", "T5"];

/// If all heads together are narrower than the hidden size by at least this factor, they are one GPU's share. In some
/// models all heads together are slightly narrower.
const LEAST_SHARES: u64 = 2;

/// A part of the size, and what shows it.
type Said = (String, String);

pub(super) fn scale(profile: &Profile, modules: &Modules, architecture: &Inferred) -> Inferred {
    let gemms = forward_gemms(profile);
    let is_uniform = has_hidden_size(architecture);
    let hidden = hidden_size(&gemms).filter(|_| is_uniform);
    let said = [
        layers(modules, architecture),
        hidden.map(|(hidden, calls)| said_of_hidden_size(profile, hidden, calls)),
        heads(profile, hidden.map(|(hidden, _)| hidden)),
        vocabulary(&gemms).map(said_of_vocabulary),
    ];
    let (parts, evidence): (Vec<String>, Vec<String>) = said.into_iter().flatten().unzip();
    match parts.is_empty() {
        true => Inferred::default(),
        false => Inferred::new(parts.join(", "), format!("{}.", evidence.join("; "))),
    }
}

fn layers(modules: &Modules, architecture: &Inferred) -> Option<Said> {
    let is_part = |class: &str| {
        let encodes = PROMPT_ENCODERS.iter().any(|start| class.starts_with(start));
        architecture.text() != DIFFUSION || !encodes
    };
    let (class, count) = modules.layers(is_part)?;
    // A block of a convolutional network is several layers.
    let noun = match has_hidden_size(architecture) {
        true => "layer",
        false => "block",
    };
    Some((
        format::counted(count, noun),
        format!("`{class}` has {} instances", format::count(count)),
    ))
}

/// The most frequent K of unbatched GEMMs, with the number of their calls.
fn hidden_size(gemms: &[(&Operation, u64)]) -> Option<(u64, u64)> {
    let unbatched = gemms.iter();
    let unbatched = unbatched.filter(|(one, _)| param(one, "B").unwrap_or(1) == 1);
    let inner = unbatched.filter_map(|(one, calls)| Some((param(one, "K")?, *calls)));
    let inner = grouped(inner, |sum: &mut u64, calls| *sum += calls);
    let most = inner.iter().map(|(_, calls)| *calls).max()?;
    inner.into_iter().find(|(_, calls)| *calls == most)
}

fn said_of_hidden_size(profile: &Profile, hidden: u64, calls: u64) -> Said {
    let have = if calls == 1 { "has" } else { "have" };
    let of_forward = match profile.is_training() {
        true => " of the forward pass",
        false => "",
    };
    let gemms = format::counted(calls, "GEMM");
    (
        format!("hidden size {hidden}"),
        format!("{gemms}{of_forward} {have} K = {hidden}"),
    )
}

/// The heads of the attention operation with the most time.
fn heads(profile: &Profile, hidden: Option<u64>) -> Option<Said> {
    let (heads, width) = profile.operations().iter().find_map(|operation| {
        let heads = param(operation, "H_Q").filter(|heads| *heads > 0)?;
        Some((heads, param(operation, "d_h_qk")))
    })?;
    let are_shared_out = hidden.zip(width).is_some_and(|(hidden, width)| {
        heads.saturating_mul(width).saturating_mul(LEAST_SHARES) <= hidden
    });
    let heads = format::counted(heads, "head");
    let evidence = "the attention operation with the most time has as many";
    Some(match are_shared_out {
        true => (
            format!("{heads} on a GPU"),
            format!(
                "{evidence}; together they are narrower than the hidden size, so other heads are on other GPUs"
            ),
        ),
        false => (heads, evidence.to_owned()),
    })
}

fn said_of_vocabulary(vocabulary: u64) -> Said {
    let evidence = "the wide GEMM that runs least often has as many columns";
    (
        format!("vocabulary {}", format::count(vocabulary)),
        evidence.to_owned(),
    )
}

/// A parameter of a perf model as a number.
fn param(operation: &Operation, wanted: &str) -> Option<u64> {
    operation.known()?.size_of(wanted)
}

/// GEMMs with the number of their calls in the forward pass: those of gradients sum over tokens instead.
fn forward_gemms(profile: &Profile) -> Vec<(&Operation, u64)> {
    let mut passes = Passes::new(profile);
    let operations = profile.operations().iter();
    operations
        .filter(|operation| operation.family == Family::Gemm)
        .map(|gemm| {
            let calls = gemm.calls.iter();
            let calls = calls.filter(|call| !passes.is_backward(call.event));
            (gemm, calls.count() as u64)
        })
        .filter(|(_, calls)| *calls > 0)
        .collect()
}

/// The number of columns of the output layer: of the wide GEMMs, the one that runs least often; the widest of equals.
/// GEMMs that run about as often as the most frequent one are inside the layers.
fn vocabulary(gemms: &[(&Operation, u64)]) -> Option<u64> {
    /// Narrower output layers are not a vocabulary.
    const MIN_VOCABULARY: u64 = 20_000;
    /// Up to four GEMMs of a layer can have the same size: those of Q, K, V and the output projection.
    const GEMMS_ALIKE: u64 = 4;
    let mut calls: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (gemm, n_calls) in gemms {
        if let (Some(n), Some(k)) = (param(gemm, "N"), param(gemm, "K")) {
            *calls.entry((n, k)).or_default() += n_calls;
        }
    }
    let most = calls.values().copied().max()?;
    let wide = calls.into_iter().filter(|((n, _), calls)| {
        let is_in_layers = calls.saturating_mul(GEMMS_ALIKE) >= most && most > 1;
        *n >= MIN_VOCABULARY && !is_in_layers
    });
    let ((n, _), _) = wide.min_by_key(|((n, _), calls)| (*calls, std::cmp::Reverse(*n)))?;
    Some(n)
}

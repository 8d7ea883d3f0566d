//! The precision of most of a model's arithmetic, and whether weights have fewer bits.

use super::Inferred;
use crate::base::format;
use crate::hardware::Precision;
use crate::names::Family;
use crate::names::words::{Words, classify, holds};
use crate::profile::Profile;
use crate::profile::operations::Operation;

pub(super) fn precision(profile: &Profile) -> Inferred {
    let matrix = [
        Family::Gemm,
        Family::Attention,
        Family::Convolution,
        Family::Moe,
    ];
    let mut times: Vec<(Precision, i64)> = Vec::new();
    let (mut all_ns, mut by_name_ns, mut packed_ns) = (0_i64, 0_i64, 0_i64);
    let operations = profile.operations().iter();
    for operation in operations.filter(|operation| matrix.contains(&operation.family)) {
        let ns = operation.kernel_ns;
        all_ns = all_ns.saturating_add(ns);
        if has_packed_weights(profile, operation) {
            packed_ns = packed_ns.saturating_add(ns);
        }
        let spec = operation.modeled.as_ref().and_then(|one| one.work.compute);
        let by_name = || precision_of_kernel(operation.longest_kernel(profile)?);
        let Some(precision) = spec.map(|spec| spec.precision).or_else(by_name) else {
            continue;
        };
        if spec.is_none() {
            by_name_ns = by_name_ns.saturating_add(ns);
        }
        match times.iter_mut().find(|(known, _)| *known == precision) {
            Some((_, all)) => *all = all.saturating_add(ns),
            None => times.push((precision, ns)),
        }
    }
    let most = times.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
    // If it is less than half, it is not the precision of the model.
    let is_majority = most > 0 && most >= all_ns / 2;
    let Some((precision, ns)) = times.iter().find(|(_, ns)| *ns == most && is_majority) else {
        return Inferred::default();
    };
    let by_name = match by_name_ns {
        0 => "",
        _ => ", by kernel names where shapes were not recorded",
    };
    let percent = |ns: i64| format::percent(ns as f64 / all_ns as f64 * 100.0);
    let mut evidence = format!(
        "{} of the time of GEMMs, attention and convolutions is in it{by_name}.",
        percent(*ns)
    );
    let mut value = precision.label().to_owned();
    if packed_ns > all_ns / 2 {
        value.push_str(", weights in lower precision");
        evidence.push_str(&format!(
            " {} is in operations named after packed weights.",
            percent(packed_ns)
        ));
    }
    Inferred::new(value, evidence)
}

/// Words in the names of GEMMs whose weights have fewer bits than the arithmetic.
#[rustfmt::skip]
const PACKED_WEIGHTS: &[&str] = &[
    "16xmxfp4", "4bit", "awq", "fpa_intb", "gptq", "machete", "marlin", "weight_only", "wna16",
];

fn has_packed_weights(profile: &Profile, operation: &Operation) -> bool {
    let name = profile.trace.strings.get(operation.key.name);
    let mut names = operation.longest_kernel(profile).into_iter().chain([name]);
    names.any(|name| holds(name, PACKED_WEIGHTS))
}

/// The precision that a kernel multiplies in, by its name. Narrow types come first, because kernel names also contain
/// the type of the result.
fn precision_of_kernel(name: &str) -> Option<Precision> {
    const WORDS: &Words<Precision> = &[
        // Weights that are unpacked to the type of the tokens.
        (Precision::Bf16, &["bf16xmxfp4"]),
        (Precision::Fp16, &["fp16xmxfp4"]),
        (Precision::Fp4, &["fp4", "e2m1"]),
        (
            Precision::Fp8,
            &["fp8", "e4m3", "e5m2", "float8", "_f8", "f16f8"],
        ),
        (Precision::Int8, &["int8"]),
        (Precision::Bf16, &["bf16", "bfloat16"]),
    ];
    // A KV cache type that also has a value for 16 bits.
    let name = name.to_ascii_lowercase().replace("fp8kvcachedatatype", "");
    classify(WORDS, &name)
}

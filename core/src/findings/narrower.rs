//! Narrower types in the words of advice: only those that the GPU has units for, and none that the
//! work uses already.

use super::Input;
use super::compute::is_wide;
use super::order::tensors;
use super::outcome::Row;
use crate::hardware::{Figure, GpuSpec, Precision, Vendor};
use crate::perf::{ComputeSpec, is_tf32_kernel};
use crate::profile::operations::Operation;

/// Types of 16 bits; the first that a GPU has is the one to choose.
const SIXTEEN_BIT: [Precision; 2] = [Precision::Bf16, Precision::Fp16];

/// The rate of the matrix units in 16 bits, and of which type it is: BF16, or FP16 on a GPU without.
pub(super) fn matrix_rate_16_bit(input: &Input) -> Option<(Precision, Figure)> {
    let rate = |precision: Precision| {
        let figure = input.gpu()?.matrix_rate(precision, input.options.basis)?;
        Some((precision, figure))
    };
    SIXTEEN_BIT.into_iter().find_map(rate)
}

/// "BF16 or FP16", as far as the GPU has units for them; "16 bits" where it has none.
pub(super) fn sixteen_bit(input: &Input) -> String {
    match listed(input, &SIXTEEN_BIT).as_slice() {
        [] => "16 bits".to_owned(),
        names => names.join(" or "),
    }
}

/// How wide the arithmetic of the longest of some wide rows is: "32 bits", "64 bits".
pub(super) fn width(input: &Input, rows: &[&Row]) -> &'static str {
    match spec(input, rows).map(|spec| spec.precision) {
        Some(Precision::Fp64) => "64 bits",
        _ => "32 bits",
    }
}

/// What to do about work in 32 bits: "run it in BF16 or FP16 (autocast), or allow TF32 where the
/// accuracy suffices". TF32 is no advice where a kernel says that it runs, where the GPU has none, or
/// where reading and writing takes longer than the arithmetic without it: TF32 changes no byte.
pub(super) fn instead_of_32_bits(input: &Input, rows: &[&Row]) -> String {
    if spec(input, rows).is_some_and(|spec| spec.precision == Precision::Fp64) {
        let narrow = sixteen_bit(input);
        return format!("run it in FP32, or in {narrow}, where the accuracy suffices");
    }
    let has_tf32 = input.gpu().map(|gpu| has(gpu, input, Precision::Tf32));
    let tf32 = match has_tf32 {
        _ if runs_tf32(input, rows) || are_short_of_memory(input, rows) => "",
        Some(false) => "",
        Some(true) => ", or allow TF32 where the accuracy suffices",
        None => ", or allow TF32 where the GPU has it and the accuracy suffices",
    };
    format!("run it in {} (autocast){tf32}", sixteen_bit(input))
}

/// What narrower types could do for rows that arithmetic bounds, by the type of the longest:
/// "narrower types (FP8, INT8) where the accuracy allows". `None` where the GPU has none.
pub(super) fn less_arithmetic(input: &Input, rows: &[&Row]) -> Option<String> {
    let spec = spec(input, rows);
    if are_complex(input, rows) {
        return less_complex(input, rows);
    }
    if spec.is_some_and(is_wide) {
        return Some(instead_of_32_bits(input, rows));
    }
    let types = below(input, spec)?;
    Some(format!(
        "narrower types ({types}) where the accuracy allows"
    ))
}

/// The same of complex numbers, which have no 16-bit units: each part may be narrower in its own type.
fn less_complex(input: &Input, rows: &[&Row]) -> Option<String> {
    if spec(input, rows).is_some_and(|spec| spec.precision == Precision::Fp64) {
        return Some("run it in single precision where the accuracy suffices".to_owned());
    }
    let has_tf32 = input
        .gpu()
        .is_none_or(|gpu| has(gpu, input, Precision::Tf32));
    (has_tf32 && !runs_tf32(input, rows))
        .then(|| "allow TF32 where the accuracy suffices".to_owned())
}

/// How narrow the weights of rows that the memory bounds could be, and by how much less is read:
/// "8 or 4 bits", "halve or quarter". They are widened when they are read, so that any GPU can have
/// them narrower than its units. `None` where they are as narrow as that already.
pub(super) fn narrower_weights(input: &Input, rows: &[&Row]) -> Option<(String, &'static str)> {
    use Precision::{Fp4, Fp6, Fp8, Int8};
    if are_complex(input, rows) {
        return None;
    }
    match (packed_bits(input, rows), spec(input, rows)) {
        (Some(4), _) => return None,
        (Some(_), _) => return Some(("4 bits".to_owned(), "halve")),
        (None, _) => {}
    }
    match spec(input, rows) {
        Some(spec) if is_wide(spec) => Some((sixteen_bit(input), "halve")),
        Some(spec) if matches!(spec.precision, Fp8 | Int8) => Some(("4 bits".to_owned(), "halve")),
        Some(spec) if matches!(spec.precision, Fp4 | Fp6) => None,
        _ => Some(("8 or 4 bits".to_owned(), "halve or quarter")),
    }
}

/// How narrow a cache of keys and values could be: "8 bits". `None` where it is already.
pub(super) fn narrower_cache(input: &Input, rows: &[&Row]) -> Option<String> {
    use Precision::{Bf16, Fp16};
    match spec(input, rows) {
        Some(spec) if is_wide(spec) => Some(sixteen_bit(input)),
        Some(spec) if !matches!(spec.precision, Bf16 | Fp16) => None,
        _ => Some("8 bits".to_owned()),
    }
}

/// The narrower types that operands of these rows could have: "FP8, INT8". `None` where the GPU has
/// none.
pub(super) fn narrower_types(input: &Input, rows: &[&Row]) -> Option<String> {
    match spec(input, rows) {
        _ if are_complex(input, rows) => None,
        Some(spec) if is_wide(spec) => Some(sixteen_bit(input)),
        spec => below(input, spec),
    }
}

/// Whether the arithmetic of the longest row is in 32 bits or more.
pub(super) fn is_in_32_bits(input: &Input, rows: &[&Row]) -> bool {
    spec(input, rows).is_some_and(is_wide)
}

/// Whether the operation of the longest row works on complex numbers.
fn are_complex(input: &Input, rows: &[&Row]) -> bool {
    let operation = || input.profile.operations().get(rows.first()?.operation);
    operation().is_some_and(|operation| is_complex(input, operation))
}

/// Whether an operation works on complex numbers, which no type of 16 bits or fewer replaces.
pub(super) fn is_complex(input: &Input, operation: &Operation) -> bool {
    let mut tensors = tensors(input, operation).into_iter();
    tensors.any(|tensor| tensor.dtype.contains("complex"))
}

/// Of how many bits the weights are that the longest row widens as it reads them, by its name.
fn packed_bits(input: &Input, rows: &[&Row]) -> Option<u32> {
    const WORDS: [(&str, u32); 9] = [
        ("4bit", 4),
        ("int4", 4),
        ("w4a", 4),
        ("fp4", 4),
        ("gptq", 4),
        ("awq", 4),
        ("marlin", 4),
        ("int8pack", 8),
        ("w8a16", 8),
    ];
    let operation = input.profile.operations().get(rows.first()?.operation)?;
    let name = operation.short_name(input.profile).to_ascii_lowercase();
    let word = WORDS.iter().find(|(word, _)| name.contains(word))?;
    Some(word.1)
}

/// Whether the matrix units skip the zeros of weights that are half zeros, and the rows do not have
/// them do so already.
pub(super) fn has_sparsity(input: &Input, rows: &[&Row]) -> bool {
    let operations = rows
        .iter()
        .filter_map(|row| input.profile.operations().get(row.operation));
    let mut names = operations.map(|operation| operation.short_name(input.profile));
    if names.any(|name| name.contains("sparse")) {
        return false;
    }

    let of = |gpu: &GpuSpec| match (gpu.vendor, gpu.compute) {
        (Some(Vendor::Nvidia), Some(compute)) => compute >= (8, 0),
        (Some(Vendor::Amd), Some(compute)) => compute >= (9, 4),
        _ => false,
    };
    input.gpu().is_some_and(of)
}

/// Whether the framework has flash kernels for the GPU: not for NVIDIA's before the generation of
/// 8.0, whose matrix units lack BF16, too.
pub(super) fn has_flash_kernels(input: &Input) -> bool {
    let is_too_old = |gpu: &GpuSpec| {
        gpu.vendor == Some(Vendor::Nvidia) && gpu.compute.is_some_and(|compute| compute < (8, 0))
    };
    !input.gpu().is_some_and(is_too_old)
}

/// The types below those of 16 or of eight bits.
fn below(input: &Input, spec: Option<ComputeSpec>) -> Option<String> {
    use Precision::{Fp4, Fp6, Fp8, Int8};
    let candidates: &[Precision] = match spec.map(|spec| spec.precision) {
        Some(Fp4) => &[],
        Some(Fp6 | Fp8 | Int8) => &[Fp4],
        _ => &[Fp8, Int8],
    };
    let names = listed(input, candidates);
    (!names.is_empty()).then(|| names.join(", "))
}

/// Those that the GPU has; all where no GPU is chosen.
fn listed(input: &Input, candidates: &[Precision]) -> Vec<&'static str> {
    let candidates = candidates.iter().copied();
    candidates
        .filter(|precision| input.gpu().is_none_or(|gpu| has(gpu, input, *precision)))
        .map(Precision::label)
        .collect()
}

fn has(gpu: &GpuSpec, input: &Input, precision: Precision) -> bool {
    gpu.matrix_rate(precision, input.options.basis).is_some()
}

/// The arithmetic of the longest of some rows.
fn spec(input: &Input, rows: &[&Row]) -> Option<ComputeSpec> {
    let judged = input.judged.get(rows.first()?.operation)?;
    judged.work?.compute
}

/// Whether the longest row takes longer to read and write than to compute in units of full single
/// precision.
fn are_short_of_memory(input: &Input, rows: &[&Row]) -> bool {
    let is_short = || {
        let (gpu, basis) = (input.gpu()?, input.options.basis);
        let work = input.judged.get(rows.first()?.operation)?.work?;
        let own = [basis, basis.other()].map(|basis| gpu.matrix(Precision::Fp32, basis));
        let own = own.into_iter().flatten().next();
        let rate = own.or_else(|| gpu.vector_rate(Precision::Fp32, basis))?;
        let compute_us = work.flops / (rate.tflops * 1e6);
        Some(compute_us < work.bytes? / (gpu.mem_bw_gbps * 1e3))
    };
    is_short().unwrap_or(false)
}

/// Whether the name of a kernel says that it computes in TF32.
pub(super) fn runs_tf32(input: &Input, rows: &[&Row]) -> bool {
    let strings = &input.profile.trace.strings;
    let operations = rows
        .iter()
        .filter_map(|row| input.profile.operations().get(row.operation));
    let mut kernels = operations.flat_map(|operation| operation.kernels(input.profile));
    kernels.any(|(name, ..)| is_tf32_kernel(strings.get(name)))
}

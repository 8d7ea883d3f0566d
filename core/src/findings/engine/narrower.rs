//! Narrower types: what they save, and how advice names them: only types that the GPU has units for, and that the work
//! does not use already.

use super::row::Row;
use crate::findings::Input;
use crate::hardware::roofline::{peak_tflops, roofline};
use crate::hardware::{Basis, Figure, GpuSpec, Precision, Vendor};
use crate::names::Family;
use crate::names::gemm::packed_bits;
use crate::perf::{ComputeSpec, Unit, Work, is_tf32_kernel};

/// 16-bit types; the first one that a GPU supports is recommended.
const SIXTEEN_BIT: [Precision; 2] = [Precision::Bf16, Precision::Fp16];

/// The matrix-unit rate for a 16-bit type, and the type: BF16, or FP16 on a GPU without BF16.
pub(crate) fn matrix_rate_16_bit(input: &Input) -> Option<(Precision, Figure)> {
    let rate = |precision: Precision| {
        let figure = input.gpu()?.matrix_rate(precision, input.options.basis)?;
        Some((precision, figure))
    };
    SIXTEEN_BIT.into_iter().find_map(rate)
}

/// "BF16 or FP16", limited to what the GPU has units for; "16 bits" if it has none.
pub(crate) fn sixteen_bit(input: &Input) -> String {
    match listed(input, &SIXTEEN_BIT).as_slice() {
        [] => "16 bits".to_owned(),
        names => names.join(" or "),
    }
}

/// The precision of the longest of some wide rows: "FP32", "TF32", "FP64".
pub(crate) fn width(input: &Input, rows: &[&Row]) -> &'static str {
    match spec(input, rows).map(|spec| spec.precision) {
        Some(Precision::Fp64) => "FP64",
        _ if runs_tf32(input, rows.get(..1).unwrap_or_default()) => "TF32",
        _ => "FP32",
    }
}

/// What to do about work in FP32: "run it in BF16 or FP16 (autocast), or allow TF32 …". TF32 is not suggested if it is
/// already used, if the GPU lacks it, or if the work is memory-bound. PyTorch has one switch for convolutions and one
/// for other GEMMs.
pub(crate) fn instead_of_32_bits(input: &Input, rows: &[&Row]) -> String {
    if spec(input, rows).is_some_and(|spec| spec.precision == Precision::Fp64) {
        let narrow = sixteen_bit(input);
        return format!("run it in FP32, or in {narrow}, where the accuracy suffices");
    }
    let has_switch = input.vendor() != Some(Vendor::Amd) || !is_convolution(input, rows);
    let has_tf32 = match input.gpu() {
        Some(gpu) => Some(has_switch && is_tf32_faster(gpu, input)),
        None => (!has_switch).then_some(false),
    };
    let tf32 = match has_tf32 {
        _ if runs_tf32(input, rows) || are_short_of_memory(input, rows) => "",
        Some(false) => "",
        Some(true) => ", or allow TF32 where the accuracy suffices",
        None => ", or allow TF32 where the GPU has it and the accuracy suffices",
    };
    let switch = if tf32.is_empty() {
        ""
    } else {
        tf32_switch(input, rows)
    };
    format!("run it in {} (autocast){tf32}{switch}", sixteen_bit(input))
}

fn is_convolution(input: &Input, rows: &[&Row]) -> bool {
    let first = rows.first();
    first.is_some_and(|row| input.operation(row.operation).family == Family::Convolution)
}

/// Whether TF32 is faster than FP32 on vector units: on gaming GPUs both have the same rate.
fn is_tf32_faster(gpu: &GpuSpec, input: &Input) -> bool {
    let basis = input.options.basis;
    let tf32 = gpu.matrix_rate(Precision::Tf32, basis);
    let vector = gpu.vector_rate(Precision::Fp32, basis);
    tf32.is_some_and(|tf32| vector.is_none_or(|vector| tf32.tflops > vector.tflops))
}

/// The PyTorch switch that makes the longest row use TF32, in parentheses.
fn tf32_switch(input: &Input, rows: &[&Row]) -> &'static str {
    match (is_convolution(input, rows), input.vendor()) {
        (true, _) => " (`torch.backends.cudnn.allow_tf32 = True`)",
        (false, Some(Vendor::Amd)) => {
            " (`torch.set_float32_matmul_precision(\"high\")`, with `HIPBLASLT_ALLOW_TF32=1` in the environment)"
        }
        (false, _) => " (`torch.set_float32_matmul_precision(\"high\")`)",
    }
}

/// What narrower types could do for compute-bound rows: "narrower types (FP8, INT8) where the accuracy allows". `None`
/// if the GPU has none, or for complex numbers.
pub(crate) fn less_arithmetic(input: &Input, rows: &[&Row]) -> Option<String> {
    let spec = spec(input, rows);
    match spec.map(|spec| spec.precision) {
        Some(Precision::Fp64) if are_complex(input, rows) => {
            Some("run it in FP32 where the accuracy suffices".to_owned())
        }
        _ if are_complex(input, rows) => {
            // AMD's libraries have TF32 for real numbers alone.
            let has_tf32 = input.vendor() != Some(Vendor::Amd)
                && input.gpu().is_none_or(|gpu| is_tf32_faster(gpu, input));
            (has_tf32 && !runs_tf32(input, rows)).then(|| {
                let switch = tf32_switch(input, rows);
                format!("allow TF32 where the accuracy suffices{switch}")
            })
        }
        _ if spec.is_some_and(is_wide) => Some(instead_of_32_bits(input, rows)),
        _ => {
            let types = below(input, spec)?;
            let advice = format!("narrower types ({types}) where the accuracy allows");
            Some(advice)
        }
    }
}

/// How narrow the weights of memory-bound rows could be, and by how much that reduces reads: "8 or 4 bits", "halve or
/// quarter". Weights are widened when read, so the units of the GPU do not matter.
pub(crate) fn narrower_weights(input: &Input, rows: &[&Row]) -> Option<(String, &'static str)> {
    use Precision::{Fp4, Fp6, Fp8, Int8};
    if are_complex(input, rows) {
        return None;
    }
    let operation = rows.first().map(|row| input.operation(row.operation));
    match operation.and_then(|operation| packed_bits(operation.short_name(input.profile))) {
        Some(4) => return None,
        Some(_) => return Some(("4 bits".to_owned(), "halve")),
        None => {}
    }
    match spec(input, rows) {
        Some(spec) if is_wide(spec) => Some((sixteen_bit(input), "halve")),
        Some(spec) if matches!(spec.precision, Fp8 | Int8) => Some(("4 bits".to_owned(), "halve")),
        Some(spec) if matches!(spec.precision, Fp4 | Fp6) => None,
        _ => Some(("8 or 4 bits".to_owned(), "halve or quarter")),
    }
}

/// How narrow a KV cache could be: "8 bits". `None` if it is already.
pub(crate) fn narrower_cache(input: &Input, rows: &[&Row]) -> Option<String> {
    use Precision::{Bf16, Fp16};
    match spec(input, rows) {
        Some(spec) if is_wide(spec) => Some(sixteen_bit(input)),
        Some(spec) if !matches!(spec.precision, Bf16 | Fp16) => None,
        _ => Some("8 bits".to_owned()),
    }
}

/// The narrower types that operands could have: "FP8, INT8". `None` if the GPU has none.
pub(crate) fn narrower_types(input: &Input, rows: &[&Row]) -> Option<String> {
    match spec(input, rows) {
        _ if are_complex(input, rows) => None,
        Some(spec) if is_wide(spec) => Some(sixteen_bit(input)),
        spec => below(input, spec),
    }
}

pub(crate) fn is_in_32_bits(input: &Input, rows: &[&Row]) -> bool {
    spec(input, rows).is_some_and(is_wide)
}

fn are_complex(input: &Input, rows: &[&Row]) -> bool {
    let first = rows.first();
    first.is_some_and(|row| input.operation(row.operation).is_complex(input.profile))
}

/// Whether the matrix units support structured sparsity of weights that the rows do not use yet.
pub(crate) fn has_sparsity(input: &Input, rows: &[&Row]) -> bool {
    let operations = rows.iter().map(|row| input.operation(row.operation));
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

/// Whether the framework has flash kernels for the GPU: not for NVIDIA GPUs before compute capability 8.0.
pub(crate) fn has_flash_kernels(input: &Input) -> bool {
    let is_too_old = |gpu: &GpuSpec| {
        gpu.vendor == Some(Vendor::Nvidia) && gpu.compute.is_some_and(|compute| compute < (8, 0))
    };
    !input.gpu().is_some_and(is_too_old)
}

/// Whether the framework has flash kernels for the GPU only as an experiment, and none of a second library: for AMD's
/// Radeon.
pub(crate) fn are_flash_kernels_experimental(input: &Input) -> bool {
    let is_radeon = |gpu: &GpuSpec| {
        gpu.vendor == Some(Vendor::Amd) && gpu.compute.is_some_and(|compute| compute >= (10, 0))
    };
    input.gpu().is_some_and(is_radeon)
}

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

/// The types that the GPU supports; all if no GPU is chosen.
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

fn spec(input: &Input, rows: &[&Row]) -> Option<ComputeSpec> {
    input.evaluation(rows.first()?.operation).work?.compute
}

/// Whether the longest row takes longer to read and write than to compute in FP32, that is, is memory-bound.
fn are_short_of_memory(input: &Input, rows: &[&Row]) -> bool {
    let is_short = || {
        let (gpu, basis) = (input.gpu()?, input.options.basis);
        let work = input.evaluation(rows.first()?.operation).work?;
        let own = [basis, basis.other()].map(|basis| gpu.matrix(Precision::Fp32, basis));
        let own = own.into_iter().flatten().next();
        let rate = own.or_else(|| gpu.vector_rate(Precision::Fp32, basis))?;
        let compute_us = work.flops / (rate.tflops * 1e6);
        Some(compute_us < work.bytes? / (gpu.mem_bw_gbps * 1e3))
    };
    is_short().unwrap_or(false)
}

pub(crate) fn runs_tf32(input: &Input, rows: &[&Row]) -> bool {
    let strings = &input.profile.trace.strings;
    let operations = rows.iter().map(|row| input.operation(row.operation));
    let mut kernels = operations.flat_map(|operation| operation.kernels(input.profile));
    kernels.any(|(name, ..)| is_tf32_kernel(strings.get(name)))
}

/// Whether arithmetic is in FP32, TF32 or FP64.
pub fn is_wide(spec: ComputeSpec) -> bool {
    use Precision::{Fp32, Fp64, Tf32};
    matches!(spec.precision, Fp32 | Fp64 | Tf32)
}

pub(crate) fn on_matrix_units(work: Work, precision: Precision) -> Work {
    let unit = Unit::Matrix;
    let compute = Some(ComputeSpec { unit, precision });
    Work { compute, ..work }
}

/// What work in FP32 would save in 16 bits at the same efficiency: half the bytes, at the rate of the 16-bit matrix
/// units. `None` without a GPU that has such units.
pub fn saved_by_16_bit(input: &Input, row: &Row) -> Option<i64> {
    let gpu = input.gpu()?;
    if input.operation(row.operation).is_complex(input.profile) {
        return None;
    }
    let work = input.evaluation(row.operation).work?;
    let (precision, _) = matrix_rate_16_bit(input)?;
    let narrow = Work {
        bytes: work.bytes.map(|bytes| bytes / 2.0),
        ..on_matrix_units(work, precision)
    };
    let basis = input.options.basis;
    let judged = roofline(&work, gpu, basis)?.time_us;
    // The roofline of FP32 is that of TF32 if the GPU supports it. Work that does not use TF32 takes at least as long
    // as on the vector units.
    let bases = [Basis::Peak, Basis::Achievable];
    let has_units = bases.map(|basis| gpu.matrix(Precision::Fp32, basis).is_some());
    let spec = work.compute;
    let is_single = spec.is_some_and(|spec| spec.precision == Precision::Fp32);
    let runs_on_vectors = is_single && !has_units.contains(&true) && !runs_tf32(input, &[row]);
    let on_vectors = || {
        let unit = Unit::Vector;
        let compute = spec.map(|spec| ComputeSpec { unit, ..spec });
        let us = roofline(&Work { compute, ..work }, gpu, basis)?.time_us;
        (row.time_ns as f64 >= us * 1e3 * row.n_calls as f64).then_some(us)
    };
    let now = runs_on_vectors.then(on_vectors).flatten().unwrap_or(judged);
    // Both on one basis: a peak is no measure for what is achievable. But no faster than that.
    let own = spec.and_then(|spec| peak_tflops(spec, gpu, basis));
    let own = own.map_or(basis, |(_, basis)| basis);
    let then = roofline(&narrow, gpu, own)?.time_us;
    let least = roofline(&narrow, gpu, basis)?.time_us * 1e3 * row.n_calls as f64;
    let time = row.time_ns as f64;
    let won = (time * (1.0 - then / now)).min(time - least);
    Some(won.max(0.0).round() as i64)
}

/// The same for work of which only the kernel is known, on vector units: the difference of the rates.
pub(crate) fn saved_by_matrix_units(input: &Input, row: &Row) -> Option<i64> {
    let vector = input
        .gpu()?
        .vector_rate(Precision::Fp32, input.options.basis)?;
    let (_, matrix) = matrix_rate_16_bit(input)?;
    let share = 1.0 - vector.tflops / matrix.tflops.max(1e-9);
    Some((row.time_ns as f64 * share).max(0.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::Calls;
    use crate::report::Report;
    use crate::testing::options_on;

    /// 2·8192³ operations in FP32: 2.22 ms at TF32's 494.7 TFLOPS, 16.4 ms at the 67 of the
    /// vector units, 1.11 ms at 989 in 16 bits.
    #[test]
    fn what_runs_in_no_tf32_gains_from_where_it_is() {
        let won = |kernel: &str, us: u32| {
            let calls = Calls::new().call("aten::mm", "8192x8192:float*2", kernel, us);
            let profile = calls.profile();
            let report = Report::new(&profile, &options_on("H100"));
            let row = &report.analyses.outcome("gemm").unwrap().rows[0];
            let won_ns = saved_by_16_bit(&report.analysis_input(&profile), row).unwrap();
            won_ns as f64 / f64::from(us) / 10.0
        };
        // In percent: half of the time with TF32, and 93 % of the time on vector units.
        assert!((won("cutlass_80_tensorop_s1688gemm_128x128", 20_000) - 50.0).abs() < 0.1);
        assert!((won("ampere_sgemm_128x64_nn", 20_000) - 93.2).abs() < 0.1);
        // Faster than the vector units, so it does not run on them, whatever its name.
        assert!((won("sgemm", 10_000) - 50.0).abs() < 0.1);
    }
}

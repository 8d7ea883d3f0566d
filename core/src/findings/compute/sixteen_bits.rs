//! What arithmetic in 32 bits would gain in 16.

use crate::findings::Input;
use crate::findings::narrower::{is_complex, matrix_rate_16_bit, runs_tf32};
use crate::findings::outcome::Row;
use crate::hardware::roofline::roofline;
use crate::hardware::{Basis, Precision};
use crate::perf::{ComputeSpec, Unit, Work};

/// Whether arithmetic is in 32 bits or more.
pub fn is_wide(spec: ComputeSpec) -> bool {
    use Precision::{Fp32, Fp64, Tf32};
    matches!(spec.precision, Fp32 | Fp64 | Tf32)
}

/// What work in 32 bits would gain in 16 at the same efficiency: half the bytes, and the rate of the
/// 16-bit matrix units, in BF16 or where there is none in FP16. `None` without a GPU, or where the
/// GPU has no such units.
pub fn won_by_16_bit(input: &Input, row: &Row) -> Option<i64> {
    let gpu = input.gpu()?;
    let work = input.judged.get(row.operation)?.work?;
    let (precision, _) = matrix_rate_16_bit(input)?;
    let narrow = Work {
        bytes: work.bytes.map(|bytes| bytes / 2.0),
        compute: Some(ComputeSpec {
            unit: Unit::Matrix,
            precision,
        }),
        ..work
    };
    let basis = input.options.basis;
    let operation = input.profile.operations().get(row.operation)?;
    if is_complex(input, operation) {
        return None;
    }
    let judged = roofline(&work, gpu, basis)?.time_us;
    // The roof of single precision is that of TF32 where the GPU has such a mode. What runs in no such
    // mode takes at least as long as the vector units do.
    let bases = [Basis::Peak, Basis::Achievable];
    let has_units = bases.map(|basis| gpu.matrix(Precision::Fp32, basis).is_some());
    let is_single = work
        .compute
        .is_some_and(|spec| spec.precision == Precision::Fp32);
    let runs_on_vectors = is_single && !has_units.contains(&true) && !runs_tf32(input, &[row]);
    let on_vectors = || {
        let compute = work.compute.map(|spec| ComputeSpec {
            unit: Unit::Vector,
            ..spec
        });
        let us = roofline(&Work { compute, ..work }, gpu, basis)?.time_us;
        (row.time_ns as f64 >= us * 1e3 * row.n_calls as f64).then_some(us)
    };
    let now = runs_on_vectors.then(on_vectors).flatten().unwrap_or(judged);
    let then = roofline(&narrow, gpu, basis)?.time_us;
    let share = (1.0 - then / now).clamp(0.0, 1.0);
    Some((row.time_ns as f64 * share).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::testing::{Timetable, options_on};

    /// 2·8192³ operations in single precision: 2.22 ms at TF32's 494.7 TFLOPS, 16.4 ms at the 67 of the
    /// vector units, 1.11 ms at 989 in 16 bits.
    #[test]
    fn what_runs_in_no_tf32_gains_from_where_it_is() {
        let won = |kernel: &str, us: u32| {
            let profile = Timetable::new()
                .op("aten::mm", 0..10)
                .args(r#""Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["float", "float"]"#)
                .launch(1, 1..2)
                .kernel(1, kernel, 100..100 + us)
                .profile();
            let report = Report::new(&profile, &options_on("H100"));
            let row = &report.analyses.outcome("gemm").unwrap().rows[0];
            let won_ns = won_by_16_bit(&report.analysis_input(&profile), row).unwrap();
            won_ns as f64 / f64::from(us) / 10.0
        };
        // In percent: one half of TF32's time, and 93 of 100 of the vector units'.
        assert!((won("cutlass_80_tensorop_s1688gemm_128x128", 20_000) - 50.0).abs() < 0.1);
        assert!((won("ampere_sgemm_128x64_nn", 20_000) - 93.2).abs() < 0.1);
        // Faster than the vector units are: whatever its name, it does not run on them.
        assert!((won("sgemm", 10_000) - 50.0).abs() < 0.1);
    }
}

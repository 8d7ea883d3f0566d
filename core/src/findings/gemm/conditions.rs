//! What the rules for GEMMs ask of an operation, and what their advice saves.

use super::{Observed, is_tiny};
use crate::assess::waterfall::Cause;
use crate::findings::engine::compute::{impact_of_gap, impact_of_steps};
use crate::findings::engine::narrower::matrix_rate_16_bit;
use crate::findings::prelude::*;
use crate::hardware::roofline::{Bound, peak_tflops};
use crate::names::HelperKind;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::GemmSizes;
use crate::profile::operations::measured::MeasuredOperations;
use crate::profile::operations::origin::is_in_linear_loss;

/// Whether the kernels beside the one that multiplies are mostly the reductions of a split along K.
pub(super) fn is_of_split(input: &Input, observed: &Observed) -> bool {
    longest_helper(input, observed) == Some(HelperKind::SplitSum)
}

/// Whether what runs beside a GEMM that adds to a tensor mostly copies that tensor.
pub(super) fn copies_summand(input: &Input, observed: &Observed) -> bool {
    let adds = observed.operation.short_name(input.profile).contains("add");
    adds && longest_helper(input, observed) == Some(HelperKind::Copy)
}

/// What most of the time in kernels beside the one that multiplies is for.
fn longest_helper(input: &Input, observed: &Observed) -> Option<HelperKind> {
    let measured = MeasuredOperations::of(input.profile);
    let measured = measured.get(input.profile, observed.row.operation)?;
    Some(measured.helpers.first()?.kind)
}

/// Whether an operand is one matrix for the whole batch, and an entry of the other one is narrower than the largest tiles.
pub(super) fn shares_matrix(input: &Input, observed: &Observed) -> bool {
    const NARROW: u64 = 256;
    let operation = observed.operation;
    let Some((sizes, arguments)) = observed.sizes.zip(operation.arguments(input.profile)) else {
        return false;
    };
    let first = usize::from(operation.short_name(input.profile).contains("baddbmm"));
    let is_shared = |at: usize| {
        let operand = arguments.tensor(at);
        operand.is_some_and(|operand| match (operand.shape, operand.strides) {
            ([batch, _, _], Some([stride, ..])) => *batch > 1 && *stride == 0,
            _ => false,
        })
    };
    (is_shared(first + 1) && sizes.m < NARROW) || (is_shared(first) && sizes.n < NARROW)
}

/// Whether FP8 operands are multiplied with the slower of two ways to add up.
pub(super) fn accumulates_slowly(group: &Group<Observed<'static>>) -> bool {
    let first = group.first().operation;
    let arguments = first.arguments(group.input.profile);
    let is_scaled_mm = first.short_name(group.input.profile) == "aten::_scaled_mm";
    is_scaled_mm && arguments.is_some_and(|arguments| arguments.flag(7) == Some(false))
}

/// A 16-bit type, and what its matrix units take for the same arithmetic.
pub(super) fn in_16_bits(group: &Group<Observed<'static>>) -> Option<(&'static str, i64)> {
    let (precision, rate) = matrix_rate_16_bit(group.input)?;
    let flops = group.rows.iter().filter_map(|row| {
        Some(group.input.evaluation(row.operation).work?.flops * row.n_calls as f64)
    });
    let ns = flops.sum::<f64>() / (rate.tflops * 1e3);
    (rate.tflops > 0.0).then(|| (precision.label(), ns.round() as i64))
}

/// What giving all compute units a workgroup saves: the steps that model it, whatever limits the operation. If there
/// are none, because it is clearly memory-bound, up to the share of the units without a workgroup.
pub(super) fn of_full_units(observed: &Observed) -> Option<Impact> {
    let steps = impact_of_steps(
        observed.waterfall.as_ref()?,
        &[Cause::TilePadding, Cause::WaveQuantization],
    );
    steps.or_else(|| {
        let (workgroups, units) = observed.few_workgroups()?;
        let idle = 1.0 - workgroups as f64 / f64::from(units);
        let most_ns = (observed.row.time_ns as f64 * idle) as i64;
        Some(Impact::at_most(
            impact_of_gap(observed.row)?.within(most_ns).high_ns,
        ))
    })
}

/// Whether it is one of the memory-bound GEMMs of a loss that computes logits for a chunk of rows at a time.
pub(super) fn is_of_chunk(input: &Input, row: &Row, operation: &Operation) -> bool {
    let first = operation
        .first()
        .filter(|_| row.n_calls > 1 && row.bound == Some(Bound::Memory));
    first.is_some_and(|call| is_in_linear_loss(input.profile, call.event))
}

/// The time beyond what its arithmetic takes.
pub(super) fn beyond_arithmetic_ns(input: &Input, row: &Row) -> Option<i64> {
    let work = input.evaluation(row.operation).work?;
    let (tflops, _) = peak_tflops(work.compute?, input.gpu()?, input.options.basis)?;
    let least_ns = work.flops / (tflops * 1e3) * row.n_calls as f64;
    Some(row.time_ns - least_ns.round() as i64).filter(|ns| *ns > 0)
}

pub(super) fn is_gemv(observed: &Observed) -> bool {
    observed
        .sizes
        .is_some_and(|sizes| sizes.m.min(sizes.n) == 1)
}

pub(super) fn is_outer(observed: &Observed) -> bool {
    !is_gemv(observed) && observed.sizes.is_some_and(|sizes| sizes.k == 1)
}

pub(super) fn is_skinny(input: &Input, observed: &Observed) -> bool {
    let thresholds = &input.options.thresholds;
    let is_it = |sizes: GemmSizes| {
        let GemmSizes { m, n, .. } = sizes;
        let is_long = m.max(n) as f64 >= thresholds.gemm_skinny_ratio * m.min(n) as f64;
        is_long && !is_tiny(sizes, thresholds)
    };
    !is_gemv(observed) && !is_outer(observed) && observed.sizes.is_some_and(is_it)
}

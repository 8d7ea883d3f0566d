//! Norms that an operator runs before its GEMM, as layers of Transformer Engine do: the FLOP/byte model of the operator
//! is that of the GEMM, so a slow norm only shows in the time of its kernels.

use crate::findings::prelude::*;
use crate::names::HelperKind;
use crate::names::attention::is_backward;
use crate::perf::element_bytes;
use crate::profile::operations::Operation;
use crate::profile::operations::measured::MeasuredOperations;

/// A norm at a low % of the memory bandwidth that takes a good part of its operator.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlowNorm {
    pub(super) ns: i64,
    /// Of the memory bandwidth.
    pub(super) percent: f64,
}

impl SlowNorm {
    pub(super) fn of(input: &Input, row: &Row, operation: &Operation) -> Option<SlowNorm> {
        /// Of the time of the operator.
        const MUCH: f64 = 0.1;
        let all = MeasuredOperations::of(input.profile);
        let measured = all.get(input.profile, row.operation)?;
        let mut helpers = measured.helpers.iter();
        let ns = helpers.find(|helper| helper.kind == HelperKind::Norm)?.ns;
        let percent = bytes(input, operation)? * row.n_calls as f64
            / (input.gpu()?.mem_bw_gbps * ns.max(1) as f64)
            * 100.0;
        let is_slow = percent < input.options.thresholds.gate_efficiency_percent;
        let is_much = ns as f64 >= row.time_ns as f64 * MUCH;
        (is_slow && is_much).then_some(SlowNorm { ns, percent })
    }
}

/// The bytes that a norm moves at most: its input is read and written; backward, a gradient is read in addition.
fn bytes(input: &Input, operation: &Operation) -> Option<f64> {
    let tensors = operation.tensors(input.profile);
    let normed = tensors.iter().find(|tensor| tensor.shape.len() > 1)?;
    let passes = match is_backward(operation.short_name(input.profile)) {
        true => 3.0,
        false => 2.0,
    };
    Some(normed.n() * element_bytes(normed.dtype)? * passes)
}

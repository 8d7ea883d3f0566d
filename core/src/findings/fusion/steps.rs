//! The role of each operation in chains, with its inputs and output.

use crate::assess::Evaluation;
use crate::findings::prelude::*;
use crate::hardware::roofline::peak_tflops;
use crate::names::Family;
use crate::names::elementwise::ElementwiseKind;
use crate::names::fusion::{BATCH_NORMS, ELEMENTWISE, REDUCTIONS, ROW_NORMS};
use crate::profile::operations::Operation;
use crate::profile::operations::dataflow::{Shape, Shapes};
use crate::profile::operations::kinds::elementwise::has_double;
use crate::profile::operations::streams::StreamCall;

/// The role of a step in chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepRole {
    /// Element-wise, or a reduction: can be fused.
    Fusable,
    /// A GEMM or a convolution: others can be fused into its epilogue.
    Matrix,
    /// A fused norm: it can absorb a preceding residual addition, and what follows it.
    Norm,
    /// A fused norm that has to see a whole batch first: it can only absorb what follows it.
    BatchNorm,
    /// The softmax of unfused attention, which belongs to the attention analysis.
    Softmax,
    /// Ends every chain.
    Other,
}

impl StepRole {
    pub(super) fn is_norm(self) -> bool {
        matches!(self, StepRole::Norm | StepRole::BatchNorm)
    }
}

/// An operation as a step of chains.
#[derive(Debug, Clone)]
pub(super) struct Operator {
    pub(super) role: StepRole,
    /// "add" for `aten::add_`.
    pub(super) name: String,
    pub(super) takes: Vec<Shape>,
    pub(super) gives: Option<Shape>,
    /// Whether shapes were recorded.
    pub(super) has_shapes: bool,
    /// It reads or writes FP64, other than single numbers.
    pub(super) is_double: bool,
    /// The minimum time of its arithmetic; `None` without a model or a GPU.
    pub(super) compute_us: Option<f64>,
}

/// A step of a lane with its operator.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainStep<'a> {
    pub(super) step: &'a StreamCall,
    pub(super) operator: &'a Operator,
}

/// The role of each of the profile's operations, in their order.
pub(super) fn operators(input: &Input) -> Vec<Operator> {
    let all = input.profile.operations().iter().zip(input.evaluations);
    let all = all.map(|(operation, evaluation)| operator(input, operation, evaluation));
    all.collect()
}

fn operator(input: &Input, operation: &Operation, evaluation: &Evaluation) -> Operator {
    let full = input.profile.trace.strings.get(operation.key.name);
    let name = full.strip_prefix("aten::").unwrap_or("");
    let name = name.strip_suffix('_').unwrap_or(name);
    let shapes = Shapes::new(input.profile, operation);
    let role = match name {
        _ if operation.key.kernel.is_some() || !operation.is_linked => StepRole::Other,
        _ if operation.is_tuning() => StepRole::Other,
        _ if operation.family == Family::MemoryCopy => StepRole::Other,
        "_softmax" | "softmax" => StepRole::Softmax,
        // A change of strides is not part of a chain: how much slower a kernel is that reads strided data is unknown.
        // The analysis of element-wise operations covers these copies.
        "copy" if ElementwiseKind::of(input.profile, operation) != ElementwiseKind::Cast => {
            StepRole::Other
        }
        _ if ELEMENTWISE.contains(&name) || REDUCTIONS.contains(&name) => StepRole::Fusable,
        "" => StepRole::Other,
        _ if matches!(operation.family, Family::Gemm | Family::Convolution) => StepRole::Matrix,
        _ if ROW_NORMS.contains(&name) => StepRole::Norm,
        _ if BATCH_NORMS.contains(&name) => StepRole::BatchNorm,
        _ => StepRole::Other,
    };
    let compute_us = || {
        let (work, gpu) = (evaluation.work?, input.gpu()?);
        let peak = |spec| peak_tflops(spec, gpu, input.options.basis);
        let peak = work.compute.and_then(peak);
        Some(peak.map_or(0.0, |(tflops, _)| work.flops / tflops / 1e6))
    };
    Operator {
        role,
        name: name.to_owned(),
        is_double: has_double(input.profile, operation),
        takes: shapes.takes(name),
        gives: shapes.gives(name),
        has_shapes: !operation.dims(input.profile).is_empty(),
        compute_us: compute_us().filter(|_| role != StepRole::Other),
    }
}

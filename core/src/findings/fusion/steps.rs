//! What ran one after the other on a stream of a GPU, with what each step takes and gives.

use crate::assess::{Input, Judged};
use crate::base::sort::Arrange;
use crate::findings::elementwise::Group;
use crate::hardware::roofline::peak_tflops;
use crate::names::Family;
use crate::names::fusion::{BATCH_NORMS, ELEMENTWISE, REDUCTIONS, ROW_NORMS};
use crate::profile::dataflow::{Shape, Shapes};
use crate::profile::launch::GpuId;
use crate::profile::operations::Operation;
use crate::trace::EventId;

/// What a step is for a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepRole {
    /// Each element by itself, or a reduction: what fuses.
    Fusable,
    /// A GEMM or a convolution: others fuse into its end.
    Matrix,
    /// A fused norm: it can take a residual addition before it in, and what follows it along.
    Norm,
    /// A fused norm that has to see a whole batch first: it can only take along what follows it.
    BatchNorm,
    /// The softmax of unfused attention: that is the attention analysis's.
    Softmax,
    /// Ends every chain.
    Other,
}

/// An operation as a step of chains.
#[derive(Debug, Clone)]
pub(super) struct Operator {
    pub(super) role: StepRole,
    /// "add" of `aten::add_`.
    pub(super) name: String,
    pub(super) takes: Vec<Shape>,
    pub(super) gives: Option<Shape>,
    /// How long its arithmetic takes at least; `None` without a model or a GPU.
    pub(super) compute_us: Option<f64>,
}

/// A call, or the part of it that ran without another in between.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Position in the profile's operations.
    pub(super) operation: usize,
    pub(super) event: EventId,
    pub(super) ns: i64,
    pub(super) n_kernels: usize,
}

/// Steps in order of time, stream of a GPU after stream; `None` where a chain has to end.
pub(super) fn steps(input: &Input) -> Vec<Option<Step>> {
    let profile = input.profile;
    // By kernel or copy: its operation and call, counted through.
    let mut call_of: Vec<Option<(usize, EventId, u32)>> = vec![None; profile.gpu.len()];
    let mut n_calls = 0_u32;
    for (at, operation, _) in input.operations().filter(|(_, one, _)| one.is_linked) {
        for call in &operation.calls {
            for work in &call.work {
                if let Some(of) = call_of.get_mut(work.index()) {
                    *of = Some((at, call.event, n_calls));
                }
            }
            n_calls = n_calls.saturating_add(1);
        }
    }
    // The numbers of streams repeat on each GPU: a track is one stream of one of them.
    let track = |event| profile.trace.events.track(event).0;
    let mut order: Vec<(u32, i64, u32)> = profile
        .gpu
        .iter()
        .map(|(id, work)| (track(work.event), work.span.start_ns, id.0))
        .collect();
    order.arrange();
    let mut steps: Vec<Option<Step>> = Vec::new();
    let (mut stream, mut last_call) = (None, None);
    for (of_stream, _, id) in order {
        if stream.replace(of_stream) != Some(of_stream) {
            steps.push(None);
            last_call = None;
        }
        let of = call_of.get(id as usize).copied().flatten();
        let ns = profile
            .gpu
            .get(GpuId(id))
            .map_or(0, |work| work.span.length());
        match (of, last_call) {
            (Some((.., call)), Some(last)) if call == last => {
                if let Some(Some(step)) = steps.last_mut() {
                    step.ns = step.ns.saturating_add(ns);
                    step.n_kernels += 1;
                }
            }
            (Some((operation, event, call)), _) => {
                last_call = Some(call);
                steps.push(Some(Step {
                    operation,
                    event,
                    ns,
                    n_kernels: 1,
                }));
            }
            (None, _) => {
                last_call = None;
                steps.push(None);
            }
        }
    }
    steps
}

/// By position in the profile's operations: what each is for a chain.
pub(super) fn operators(input: &Input) -> Vec<Operator> {
    let all = input.profile.operations().iter().zip(input.judged);
    all.map(|(operation, judged)| operator(input, operation, judged))
        .collect()
}

fn operator(input: &Input, operation: &Operation, judged: &Judged) -> Operator {
    let full = input.profile.trace.strings.get(operation.key.name);
    let name = full.strip_prefix("aten::").unwrap_or("");
    let name = name.strip_suffix('_').unwrap_or(name);
    let shapes = Shapes::new(input.profile, operation);
    let role = match name {
        _ if operation.key.kernel.is_some() || !operation.is_linked => StepRole::Other,
        _ if operation.family == Family::MemoryCopy => StepRole::Other,
        "_softmax" | "softmax" => StepRole::Softmax,
        // A change of strides is no step of a chain: how much slower a kernel is that reads them is not
        // known. The analysis of element-wise operations has these copies.
        "copy" if Group::of(input, operation) != Group::Cast => StepRole::Other,
        _ if ELEMENTWISE.contains(&name) || REDUCTIONS.contains(&name) => StepRole::Fusable,
        "" => StepRole::Other,
        _ if matches!(operation.family, Family::Gemm | Family::Convolution) => StepRole::Matrix,
        _ if ROW_NORMS.contains(&name) => StepRole::Norm,
        _ if BATCH_NORMS.contains(&name) => StepRole::BatchNorm,
        _ => StepRole::Other,
    };
    let compute_us = judged
        .work
        .filter(|_| role != StepRole::Other)
        .and_then(|work| {
            let gpu = input.gpu()?;
            let peak = work
                .compute
                .and_then(|spec| peak_tflops(spec, gpu, input.options.basis));
            Some(peak.map_or(0.0, |(tflops, _)| work.flops / tflops / 1e6))
        });
    Operator {
        role,
        name: name.to_owned(),
        takes: shapes.takes(name),
        gives: shapes.gives(name),
        compute_us,
    }
}

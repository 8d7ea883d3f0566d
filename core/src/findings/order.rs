//! Calls in the order in which the GPU runs them: what comes right before and right after what.
//!
//! A lane is one stream of one GPU. What a lane runs is in order by construction, whichever thread
//! launched it, be it with a graph or without a known call. A call is placed where the first of
//! its kernels is.

use super::Input;
use super::in_use::is_in_graph;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::profile::operations::Operation;
use crate::profile::rows::PerfRow;
use crate::trace::{Dims, TrackId};

/// One call in its lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Its operation: a position in [`Profile::operations`](crate::Profile::operations).
    pub(super) operation: usize,
    /// Which of the operation's calls.
    pub(super) call: usize,
    lane: TrackId,
    start_ns: i64,
}

impl Placed {
    /// The call.
    pub(super) fn row<'a>(&self, input: &Input<'a>) -> Option<&'a PerfRow> {
        input.operation(self.operation).calls.get(self.call)
    }

    /// Its kernel time.
    pub(super) fn kernel_ns(&self, input: &Input) -> i64 {
        self.row(input).map_or(0, |row| row.kernel_ns)
    }
}

/// The calls that count under the options, lane after lane, each in order of time.
#[derive(Debug, Default)]
pub(super) struct Order {
    calls: Vec<Placed>,
}

impl Order {
    /// Sorts all calls.
    pub(super) fn new(input: &Input) -> Order {
        let (gpu, events) = (&input.profile.gpu, &input.profile.trace.events);
        let mut calls: Vec<Placed> = Vec::new();
        for (at, operation, _) in input.operations() {
            for (call, row) in operation.calls.iter().enumerate() {
                let work = row.work.iter().filter_map(|id| gpu.get(*id));
                let Some(first) = work.min_by_key(|work| (work.span.start_ns, work.event)) else {
                    continue;
                };
                calls.push(Placed {
                    operation: at,
                    call,
                    lane: events.track(first.event),
                    start_ns: first.span.start_ns,
                });
            }
        }
        calls.arrange_by_key(|placed| {
            (
                placed.lane.0,
                placed.start_ns,
                placed.operation,
                placed.call,
            )
        });
        Order { calls }
    }

    /// The lanes.
    pub(super) fn lanes(&self) -> impl Iterator<Item = &[Placed]> {
        self.calls.chunk_by(|a, b| a.lane == b.lane)
    }
}

/// The kernel time of some calls.
pub(super) fn time_ns<'a>(input: &Input, calls: impl IntoIterator<Item = &'a Placed>) -> i64 {
    sum(calls.into_iter().map(|placed| placed.kernel_ns(input)))
}

/// A tensor argument of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct TensorArg<'a> {
    pub(super) shape: &'a [i64],
    /// As the profiler writes it: "c10::BFloat16".
    pub(super) dtype: &'a str,
    pub(super) strides: Option<&'a [i64]>,
}

impl TensorArg<'_> {
    /// Number of elements; of impossible sizes 0.
    pub(super) fn elements(&self) -> u64 {
        let mut sizes = self.shape.iter().map(|size| u64::try_from(*size).ok());
        let product = sizes.try_fold(1_u64, |all, size| all.checked_mul(size?));
        product.unwrap_or(0)
    }

    /// Whether some of its elements are the same memory: a dimension that was expanded.
    pub(super) fn is_expanded(&self) -> bool {
        let strides = self.strides.unwrap_or_default();
        let dims = self.shape.iter().zip(strides);
        dims.into_iter()
            .any(|(size, stride)| *size > 1 && *stride == 0)
    }
}

/// The tensors among the arguments of an operation, in order; those of a list are left out. None of
/// kernels of GPU graphs: what calls a graph takes the tensors of all of it.
pub(super) fn tensors<'a>(input: &Input<'a>, operation: &Operation) -> Vec<TensorArg<'a>> {
    let args = operation.args(input.profile);
    let Some(args) = args.filter(|_| !is_in_graph(input.profile, operation)) else {
        return Vec::new();
    };
    let trace = &input.profile.trace;
    let one = |dims: Option<&Dims>| match dims {
        Some(Dims::One(shape)) => Some(trace.args.shape(*shape)),
        _ => None,
    };
    let dims = args.dims.as_deref().unwrap_or_default().iter();
    dims.enumerate()
        .filter_map(|(at, dims)| {
            let dtype = trace.strings.get(*args.types.as_deref()?.get(at)?);
            let shape = one(Some(dims)).filter(|shape| !shape.is_empty())?;
            format::dtype(dtype)?;
            Some(TensorArg {
                shape,
                dtype,
                strides: one(args.strides.as_deref().and_then(|strides| strides.get(at))),
            })
        })
        .collect()
}

/// Whether an operation does nothing but copy a tensor on the GPU.
pub(super) fn is_copy(input: &Input, operation: &Operation) -> bool {
    const OPS: &[&str] = &[
        "aten::copy_",
        "aten::clone",
        "aten::contiguous",
        "aten::_to_copy",
        "aten::to",
        "aten::reshape",
        "aten::_reshape_copy",
        "aten::repeat",
    ];
    if operation.is_kernel() {
        let name = operation.short_name(input.profile);
        return name.contains("copy_kernel") || name.contains("CopyKernel");
    }
    OPS.contains(&operation.short_name(input.profile))
}

/// Whether a copy keeps the type: casts are no changes of layout.
pub(super) fn keeps_type(tensors: &[TensorArg]) -> bool {
    tensors
        .first()
        .is_some_and(|first| tensors.iter().all(|tensor| tensor.dtype == first.dtype))
}

//! An operation in one of the traces.

use super::side::Side;
use crate::base::tally::Tally;
use crate::names::HelperKind;
use crate::profile::gpu::copies::is_copy_over_link;
use crate::profile::operations::Operation;

/// All runs of one kernel within an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelUse {
    /// Its full name.
    pub name: String,
    /// Number of runs.
    pub count: u64,
    /// Sum of its durations.
    pub ns: i64,
}

/// Helper kernels of one kind that an operation launches besides its main kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// Their purpose.
    pub kind: HelperKind,
    /// The full name of the longest of them.
    pub name: String,
    /// Number of runs.
    pub count: u64,
    /// Sum of their durations.
    pub ns: i64,
}

/// An operation in one of the traces.
#[derive(Debug, Clone, PartialEq)]
pub struct OpSide {
    /// Positions in that trace's [`Profile::operations`](crate::Profile::operations): several if it was called from
    /// several threads, or with different strides.
    pub operations: Vec<usize>,
    /// Position of its first call in the events of that trace.
    pub uid: u64,
    /// Number of calls; for several operations that compute something together, how often they do.
    pub calls: u64,
    /// Kernel time of all calls but those that tune; activity of unknown duration adds nothing. This and what follows
    /// does not count calls that choose the fastest of several kernels: their trials are no work of a step.
    pub time_ns: i64,
    /// The number of its calls whose time is fully known, and their kernel time.
    pub timed: Tally,
    /// Calls that take far longer than the median: their number, and what they take beyond it.
    pub(crate) stray: Tally,
    /// The median and the longest time of a call.
    pub(crate) call_ns: Option<(i64, i64)>,
    /// Its part of the trace's computation time: overlapping kernels share it.
    pub exclusive_ns: i64,
    /// The part of the run that its kernel time corresponds to: less if kernels run concurrently.
    pub run_ns: i64,
    /// Its share of the kernel time of all computation in that trace.
    pub percent_of_compute: Option<f64>,
    /// Its kernels, longest first; at most [`OpSide::MAX_KERNELS`].
    pub kernels: Vec<KernelUse>,
    /// Number of distinct kernels.
    pub n_kernels: usize,
    /// Number of runs of all of them.
    pub n_runs: u64,
    /// Its helper kernels by kind, longest first; empty if any kernel may be a main kernel.
    pub helpers: Vec<Helper>,
    /// Why its main kernel is not made for this GPU, if the name shows it: "built for Turing, an older generation".
    pub outdated: Option<String>,
    /// Whether it is called by scaled dot product attention.
    pub(crate) is_in_sdpa: bool,
    /// For a convolution, whether its input is channels-last; `None` if the strides do not show it.
    pub is_channels_last: Option<bool>,
    /// The strides of the tensors of its first operation: "[4096, 1] and [8192, 1]"; `None` if not all are recorded.
    pub(crate) strides: Option<String>,
    /// For a GEMM, whether its sizes suit any kernel: neither small nor odd. `None` if shapes do not show it.
    pub is_regular: Option<bool>,
}

impl OpSide {
    /// Number of kernels kept by name.
    pub const MAX_KERNELS: usize = 4;

    /// Average kernel time per call, over calls with a known time; 0 if there are none.
    pub fn ns_per_call(&self) -> f64 {
        self.timed.ns as f64 / self.timed.count.max(1) as f64
    }

    /// The first of its operations.
    pub(crate) fn first<'a>(&self, side: &Side<'a>) -> Option<&'a Operation> {
        side.profile.operations().get(*self.operations.first()?)
    }

    /// Whether most of its time is copies between the GPU and another memory.
    pub(crate) fn is_over_link(&self) -> bool {
        let longest = self.kernels.first();
        let is_copy = longest.is_some_and(|copy| is_copy_over_link(&copy.name));
        self.exclusive_ns < self.time_ns / 2 && is_copy
    }

    /// Whether it is computation, not a copy or communication. Those take time only if they are exposed.
    pub(crate) fn is_computation(&self) -> bool {
        self.exclusive_ns > 0 && !self.is_over_link()
    }
}

//! An operation in one of the traces.

use super::named::Tally;
use crate::names::HelperKind;
use crate::profile::copies::is_copy_over_link;

/// All runs of one kernel within an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelUse {
    /// Its name, whole.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Sum of its durations.
    pub ns: i64,
}

/// Kernels that an operation launches beside the one that does its work, of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// What they are there for.
    pub kind: HelperKind,
    /// The name of the longest of them, whole.
    pub name: String,
    /// How often they ran.
    pub count: u64,
    /// Sum of their durations.
    pub ns: i64,
}

/// An operation in one of the traces.
#[derive(Debug, Clone, PartialEq)]
pub struct OpSide {
    /// Positions in that trace's [`Profile::operations`](crate::Profile::operations): several
    /// where it was called from several threads, or with several strides.
    pub operations: Vec<usize>,
    /// Position of its first call in the events of that trace.
    pub uid: u64,
    /// Its calls; of several operations that compute something together, how often they do.
    pub calls: u64,
    /// Kernel time of all calls; work of unknown duration adds nothing.
    pub time_ns: i64,
    /// Those of its calls whose whole time is known, and their kernel time.
    pub timed: Tally,
    /// Its part of the time in which that trace computes: where kernels overlap, they share it.
    pub exclusive_ns: i64,
    /// What its kernel time is of the time of that run: less where kernels compute at once.
    pub run_ns: i64,
    /// Its kernel time as a share of that of all that computes in that trace.
    pub percent_of_compute: Option<f64>,
    /// Its kernels, the longest first; at most [`OpSide::MAX_KERNELS`].
    pub kernels: Vec<KernelUse>,
    /// How many different kernels it has.
    pub n_kernels: usize,
    /// Its helper kernels by kind, the longest first; none where every kernel may be its work.
    pub helpers: Vec<Helper>,
    /// Why the kernel that takes most of its time is not made for the GPU, where its name says so:
    /// "built for Turing, an older generation".
    pub outdated: Option<String>,
    /// Of a convolution, whether the channels of its input lie next to each other in memory; `None`
    /// where strides do not tell.
    pub is_channels_last: Option<bool>,
    /// Of a product, whether its sizes suit any kernel: neither small nor odd. `None` where shapes do
    /// not tell.
    pub is_regular: Option<bool>,
}

impl OpSide {
    /// Kernels that are kept by name.
    pub const MAX_KERNELS: usize = 4;

    /// Mean kernel time of a call, of those whose time is known; 0 where no call's is.
    pub fn ns_per_call(&self) -> f64 {
        self.timed.ns as f64 / self.timed.count.max(1) as f64
    }

    /// Whether most of its time is copies between the GPU and another memory.
    pub(crate) fn is_over_link(&self) -> bool {
        let longest = self.kernels.first();
        let is_copy = longest.is_some_and(|copy| is_copy_over_link(&copy.name));
        self.exclusive_ns < self.time_ns / 2 && is_copy
    }

    /// Whether it computes: copies and communication do not, and cost time only where nothing hides
    /// them.
    pub(crate) fn is_computation(&self) -> bool {
        self.exclusive_ns > 0 && !self.is_over_link()
    }
}

//! Operations of both traces, side by side.
//!
//! An operation is the calls of one operator with equal arguments. Its partner is looked for in
//! steps, each for what the one before left: the same arguments down to strides and values; the
//! same shapes and types; and an operator that does the same under another name. Calls that one
//! trace splits by their strides, and the other does not, are one row. Where one of the traces has
//! no shapes, the name has to do. What is alone then may be the same operator on other sizes or
//! types, called as often; or the same kernels, as often, whose operator one of the traces does not
//! tell. Threads do not matter: the same call made from two of them is one row. Neither do running
//! numbers in the names of generated kernels, nor the operand that a result is written to.

mod call_text;
mod matching;
mod similar;
#[cfg(test)]
mod tests;

use super::expected::Judgement;
use super::pair::Pair;
use crate::names::Family;
use crate::profile::copies::is_copy_over_link;

/// How two operations were found to belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchLevel {
    /// The same operator with the same shapes, types, strides and values.
    Arguments,
    /// The same operator with the same shapes and types; strides or values differ.
    Shapes,
    /// Another name for the same work on the same shapes.
    Counterpart,
    /// The same name; one of the traces has no shapes of it, or neither.
    Name,
    /// The same operator, called as often with as many dimensions; sizes or types differ.
    Operator,
    /// The same kernels, run as often; one of the traces does not tell which operator runs them.
    Kernels,
}

impl MatchLevel {
    /// Those that rows are paired by one after another.
    const BY_KEY: [MatchLevel; 4] = [
        MatchLevel::Arguments,
        MatchLevel::Shapes,
        MatchLevel::Counterpart,
        MatchLevel::Name,
    ];

    /// As files write it.
    pub fn key(self) -> &'static str {
        match self {
            MatchLevel::Arguments => "arguments",
            MatchLevel::Shapes => "shapes",
            MatchLevel::Counterpart => "counterpart",
            MatchLevel::Name => "name",
            MatchLevel::Operator => "operator",
            MatchLevel::Kernels => "kernels",
        }
    }

    /// For people: what is the same.
    pub fn label(self) -> &'static str {
        match self {
            MatchLevel::Arguments => "all arguments",
            MatchLevel::Shapes => "shapes and types",
            MatchLevel::Counterpart => "shapes, under another name",
            MatchLevel::Name => "name",
            MatchLevel::Operator => "operator, on other sizes or types",
            MatchLevel::Kernels => "kernels, without their operator",
        }
    }
}

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

/// An operation in one of the traces.
#[derive(Debug, Clone, PartialEq)]
pub struct OpSide {
    /// Positions in that trace's [`Profile::operations`](crate::Profile::operations): several
    /// where it was called from several threads, or with several strides.
    pub operations: Vec<usize>,
    /// Position of its first call in the events of that trace.
    pub uid: u64,
    /// Its calls.
    pub calls: u64,
    /// Kernel time of all calls; work of unknown duration adds nothing.
    pub time_ns: i64,
    /// Those of its calls whose whole time is known.
    pub timed: TimedCalls,
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
    /// Of a convolution, whether the channels of its input lie next to each other in memory; `None`
    /// where strides do not tell.
    pub is_channels_last: Option<bool>,
    /// Of a product, whether its sizes suit any kernel: neither small nor odd. `None` where shapes do
    /// not tell.
    pub is_regular: Option<bool>,
}

/// Calls of an operation and their kernel time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimedCalls {
    /// How many.
    pub calls: u64,
    /// Their kernel time.
    pub ns: i64,
}

impl OpSide {
    /// Kernels that are kept by name.
    pub const MAX_KERNELS: usize = 4;

    /// Mean kernel time of a call, of those whose time is known; 0 where no call's is.
    pub fn ns_per_call(&self) -> f64 {
        self.timed.ns as f64 / self.timed.calls.max(1) as f64
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

/// An operation of both traces.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedOp {
    /// Its name; of a kernel that stands for itself, the kernel.
    pub name: String,
    /// Its name in the reference, where that is another one.
    pub reference_name: Option<String>,
    /// The shapes and the type of its operands, for people; empty where they were not recorded.
    pub shapes: String,
    /// The same in the reference, where those are other ones.
    pub reference_shapes: Option<String>,
    /// The types of its first operand for people, "bf16", where they differ.
    pub types: Option<Pair<String>>,
    /// What was found to be the same.
    pub level: MatchLevel,
    /// It runs while activations are computed again.
    pub is_recompute: bool,
    /// The kind of work that it is in the target.
    pub family: Family,
    /// In each of the traces.
    pub sides: Pair<OpSide>,
    /// Whether the hardware explains the difference.
    pub judgement: Judgement,
}

impl MatchedOp {
    /// Kernel time of all calls.
    pub fn times(&self) -> Pair<i64> {
        self.sides.as_ref().map(|side| side.time_ns)
    }

    /// Number of calls.
    pub fn calls(&self) -> Pair<u64> {
        self.sides.as_ref().map(|side| side.calls)
    }

    /// Its name with its shapes.
    pub fn label(&self) -> String {
        label(&self.name, &self.shapes)
    }

    /// Whether both sides take the same time for as many calls.
    pub fn is_same(&self) -> bool {
        let calls = self.calls();
        self.times().difference() == 0 && calls.reference == calls.target
    }
}

/// An operation of one of the traces.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneOp {
    /// Its name; of a kernel that stands for itself, the kernel.
    pub name: String,
    /// The shapes and the type of its operands, for people.
    pub shapes: String,
    /// It runs while activations are computed again.
    pub is_recompute: bool,
    /// The kind of work that it is.
    pub family: Family,
    /// What is known of it.
    pub side: OpSide,
}

impl LoneOp {
    /// Its name with its shapes.
    pub fn label(&self) -> String {
        label(&self.name, &self.shapes)
    }
}

fn label(name: &str, shapes: &str) -> String {
    match shapes.is_empty() {
        true => name.to_owned(),
        false => format!("{name} {shapes}"),
    }
}

/// The operations of both traces.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operations {
    /// What both have, the longest in the target first.
    pub matched: Vec<MatchedOp>,
    /// What only one has, the longest first.
    pub lone: Pair<Vec<LoneOp>>,
}

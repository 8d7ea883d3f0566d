//! Operations of both traces, side by side.
//!
//! An operation is the calls of one operator with equal arguments. Its partner is looked for in
//! steps, each for what the one before left: the same arguments down to strides and values; the
//! same shapes and types; an operator that does the same under another name; and a GEMM of the same
//! sizes, whichever operator computes it. Calls that one trace splits by their strides, or among
//! several operators, and the other does not, are one row. Where one of the traces has no shapes, the
//! name has to do. What is alone then may be [the same computation](groups) in several operations,
//! as attention that is fused in one trace only; the same operator on other sizes or types, called as
//! often; the same kernels, as often, whose operator one of the traces does not tell; or what both
//! traces run inside the same module. Threads do not matter: the same call made from two of them is one row. Neither do running
//! numbers in the names of generated kernels, nor the operand that a result is written to.

mod call_text;
mod groups;
mod matching;
mod scopes;
mod side;
mod similar;
#[cfg(test)]
mod tests;

use super::expected::Judgement;
use super::pair::{Pair, Which};
use crate::base::labels::labelled;
use crate::names::Family;

pub use super::op_side::{Helper, KernelUse, OpSide};

labelled! {
    /// How two operations were found to belong together; what is the same, for people.
    pub enum MatchLevel {
        /// The same operator with the same shapes, types, strides and values.
        Arguments => "all arguments" as "arguments",
        /// The same operator with the same shapes and types; strides or values differ.
        Shapes => "shapes and types" as "shapes",
        /// Another name for the same work on the same shapes.
        Counterpart => "shapes, under another name" as "counterpart",
        /// A GEMM of the same batch, M, N, K and type, by another operator.
        Gemm => "GEMM sizes" as "gemm",
        /// The same name; one of the traces has no shapes of it, or neither.
        Name => "name" as "name",
        /// The same operator, called as often with as many dimensions; sizes or types differ.
        Operator => "operator, on other sizes or types" as "operator",
        /// The same kernels, run as often; one of the traces does not tell which operator runs them.
        Kernels => "kernels, without their operator" as "kernels",
        /// The same computation, in one trace in several operations: attention, a MoE layer, a norm.
        Meaning => "what is computed, in other operations" as "meaning",
        /// What is left inside a module or operator of both traces.
        Place => "the module or operator around them" as "place",
    }
}

impl MatchLevel {
    /// Those that rows are paired by one after another.
    const BY_KEY: [MatchLevel; 5] = [
        MatchLevel::Arguments,
        MatchLevel::Shapes,
        MatchLevel::Counterpart,
        MatchLevel::Gemm,
        MatchLevel::Name,
    ];
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

    /// The kernel time of the reference for as many calls as the target makes, of those whose time
    /// is known.
    pub(crate) fn held_ns(&self) -> f64 {
        self.sides.reference.ns_per_call() * self.sides.target.timed.count as f64
    }

    /// Whether both traces run it by the same kernels, each as often a call.
    pub(crate) fn runs_same_kernels(&self) -> bool {
        let Pair { reference, target } = &self.sides;
        let is_run = |name: &str, count: u64| {
            let mut others = reference.kernels.iter();
            others.any(|other| {
                other.name == name && other.count * target.calls == count * reference.calls
            })
        };
        let mut kernels = target.kernels.iter();
        !target.kernels.is_empty()
            && reference.n_kernels == target.n_kernels
            && kernels.all(|kernel| is_run(&kernel.name, kernel.count))
    }

    /// The types, where that of the target is wider.
    pub(crate) fn wider_types(&self) -> Option<&Pair<String>> {
        let types = self.types.as_ref()?;
        let bits = types.as_ref().map(|label| float_bits(label)).both()?;
        (bits.target > bits.reference).then_some(types)
    }

    /// The share of its roofline that a trace reaches, in percent.
    pub fn roofline_percent(&self, which: Which) -> Option<f64> {
        let roof = (*self.judgement.roofs.get(which))?;
        Some(roof.percent(self.sides.get(which).ns_per_call()))
    }

    /// The least time that its calls can take on the target.
    pub fn floor_ns(&self) -> Option<f64> {
        let calls = self.sides.target.timed.count as f64;
        Some(self.judgement.roofs.target?.us_per_call * 1e3 * calls)
    }

    /// The helper kernels of a trace that the other one has none of.
    pub fn own_helpers(&self, which: Which) -> impl Iterator<Item = &Helper> {
        let others = &self.sides.get(which.other()).helpers;
        let own = self.sides.get(which).helpers.iter();
        own.filter(|helper| !others.iter().any(|other| other.kind == helper.kind))
    }

    /// What is against the kernel of a trace, where nothing is against that of the other one.
    pub fn outdated(&self, which: Which) -> Option<&str> {
        let is_other = self.sides.get(which.other()).outdated.is_some();
        let outdated = self.sides.get(which).outdated.as_deref();
        outdated.filter(|_| !is_other)
    }

    /// Whether it may stand for several operations of each trace that compute the same together.
    pub(crate) fn is_group(&self) -> bool {
        matches!(self.level, MatchLevel::Meaning | MatchLevel::Place)
    }

    /// Whether both sides take the same time for as many calls.
    pub fn is_same(&self) -> bool {
        let calls = self.calls();
        self.times().difference() == 0 && calls.reference == calls.target
    }
}

/// 16 of "bf16", 8 of "fp8 e4m3"; `None` for what is no floating-point type.
fn float_bits(label: &str) -> Option<u32> {
    let rest = ["fp", "bf"]
        .iter()
        .find_map(|start| label.strip_prefix(start))?;
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..n_digits)?.parse().ok()
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

/// A name with its shapes, where they are known.
pub(crate) fn label(name: &str, shapes: &str) -> String {
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

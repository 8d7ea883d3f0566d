//! Operations of both traces, side by side.
//!
//! An operation is the calls of one operator with equal arguments. Its match is searched for in steps, each for what
//! the one before left unmatched: the same arguments including strides and values; the same shapes and types; an
//! equivalent operator with a different name; and a GEMM of the same sizes, independent of the operator. Calls that
//! only one trace splits by strides or among several operators become one row. If one of the traces has no shapes, the
//! name is used. After that, an operation may match [the same computation](groups) in several operations, such as
//! attention that is fused in only one trace; the same operator on sizes that are [larger by one factor](scaled), or on
//! any other sizes or types with the same number of calls; the same kernels with the same number of runs, if one trace
//! does not know their operator; kernels of one kind with the same number of runs, if neither does; what both traces run inside the same module; or what they run [between the same
//! operations](neighbors). Threads do not matter: the same call made from two threads is one row. Running numbers in
//! the names of generated kernels and the output operand do not matter either.

mod call_text;
mod figures;
mod groups;
mod joined;
mod matching;
mod neighbors;
mod scaled;
mod scopes;
mod similar;
#[cfg(test)]
mod tests;

use super::expected::{Judgment, Verdict};
use super::pair::{Pair, Which};
use crate::base::format;
use crate::base::labels::labeled;
use crate::names::Family;
use crate::names::normalized::unnumbered;
use crate::perf::is_tf32_kernel;

pub use super::op_side::{Helper, KernelUse, OpSide};

labeled! {
    /// How two operations were matched; the labels say what is the same.
    pub enum MatchLevel {
        /// The same operator with the same shapes, types, strides and values.
        Arguments => "all arguments" as "arguments",
        /// The same operator with the same shapes and types; strides or values differ.
        Shapes => "shapes and types" as "shapes",
        /// An equivalent operator with a different name, on the same shapes.
        Counterpart => "shapes, under another name" as "counterpart",
        /// A GEMM with the same batch, M, N, K and type, by a different operator.
        Gemm => "GEMM sizes" as "gemm",
        /// The same name; at least one of the traces has no shapes for it.
        Name => "name" as "name",
        /// The same operator, with the same number of dimensions; sizes or types differ. All sizes differ by the factor
        /// by which most operations differ, or the number of calls is the same.
        Operator => "operator, on other sizes or types" as "operator",
        /// The same kernels with the same number of runs; one of the traces does not show which operator runs them.
        Kernels => "kernels, without their operator" as "kernels",
        /// Kernels of one kind of work with the same number of runs, under other names; neither trace shows which
        /// operator runs them.
        Renamed => "kind of work and runs of a kernel" as "renamed",
        /// The same computation, split into several operations in one trace: attention, a MoE layer, a norm.
        Meaning => "what is computed, in other operations" as "meaning",
        /// What is left inside a module or operator that both traces have.
        Place => "the module or operator around them" as "place",
        /// What is left between the same matched operations.
        Neighbors => "the operations before and after them" as "neighbors",
    }
}

impl MatchLevel {
    /// The levels that match by key, in order.
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
    /// Its name; for a kernel without an operator, the kernel.
    pub name: String,
    /// Its name in the reference, if different.
    pub reference_name: Option<String>,
    /// The shapes and the type of its operands, as text; empty if they were not recorded.
    pub shapes: String,
    /// The same in the reference, if different.
    pub reference_shapes: Option<String>,
    /// The types of its first operand as text, "bf16", if they differ.
    pub types: Option<Pair<String>>,
    /// How it was matched.
    pub level: MatchLevel,
    /// It is a GEMM of another inner and another outer size, as those of another model are.
    pub(crate) has_other_weights: bool,
    /// It runs while activations are recomputed.
    pub is_recompute: bool,
    /// Its kind of work in the target.
    pub family: Family,
    /// Its figures in each of the traces.
    pub sides: Pair<OpSide>,
    /// Whether the hardware explains the difference.
    pub judgment: Judgment,
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

    /// Its name and shapes.
    pub fn label(&self) -> String {
        label(&self.name, &self.shapes)
    }

    /// The kernel time of the reference, scaled to the target's number of calls with known time.
    pub(crate) fn scaled_ns(&self) -> f64 {
        self.sides.reference.ns_per_call() * self.sides.target.timed.count as f64
    }

    /// Whether both traces run it with the same kernels, with the same number of runs per call.
    pub(crate) fn runs_same_kernels(&self) -> bool {
        let Pair { reference, target } = &self.sides;
        let is_run = |name: &str, count: u64| {
            let mut others = reference.kernels.iter();
            others.any(|other| {
                let (n_reference, n_target) = (reference.timed.count, target.timed.count);
                unnumbered(&other.name) == unnumbered(name)
                    && other.count * n_target == count * n_reference
            })
        };
        let mut kernels = target.kernels.iter();
        !target.kernels.is_empty()
            && reference.n_kernels == target.n_kernels
            && kernels.all(|kernel| is_run(&kernel.name, kernel.count))
    }

    /// The types, if the target's is wider.
    pub(crate) fn wider_types(&self) -> Option<&Pair<String>> {
        let types = self.types.as_ref()?;
        let bits = types.as_ref().map(|label| float_bits(label)).both()?;
        (bits.target > bits.reference).then_some(types)
    }

    /// Whether a wider type is all that the target does differently: what it takes beyond the reference on the same GPU
    /// is due to its type, though its kernels may be slow for that type.
    pub(crate) fn is_slower_by_type(&self) -> bool {
        self.wider_types().is_some() && self.judgment.is_same_gpu
    }

    /// Why the target is faster than predicted, if that is visible.
    pub fn why_faster(&self) -> Option<&'static str> {
        const FASTER: f64 = 0.9;
        let excess = self.judgment.excess?;
        let narrower = self.types.as_ref().and_then(|types| {
            let bits = types.as_ref().map(|label| float_bits(label)).both()?;
            Some(bits.target < bits.reference)
        });
        let Pair { reference, target } = self.sides.as_ref().map(|side| side.operations.len());
        let in_tf32 = self
            .sides
            .as_ref()
            .map(|side| side.kernels.iter().any(|one| is_tf32_kernel(&one.name)));
        match excess {
            excess if excess > FASTER => None,
            _ if self.is_group() && target < reference => {
                Some("fewer operations for the same work")
            }
            _ if narrower == Some(true) => Some("a narrower type"),
            _ if in_tf32.target && !in_tf32.reference => Some("TF32"),
            _ if !self.judgment.is_same_gpu => None,
            _ if self.own_helpers(Which::Reference).next().is_some() => Some("no helper kernels"),
            _ if self.outdated(Which::Reference).is_some() => Some("a kernel made for this GPU"),
            _ if self.level != MatchLevel::Operator && !self.runs_same_kernels() => {
                Some("other kernels")
            }
            _ => None,
        }
    }

    /// Whether its sizes differ, and with them its FLOPs or bytes.
    pub(crate) fn has_other_sizes(&self) -> bool {
        /// Ratios that differ by less from 1 are those of a bias, of weights, and so on.
        const SAME: f64 = 0.02;
        let ratio = self.judgment.sizes_ratio;
        self.level == MatchLevel::Operator && ratio.is_some_and(|ratio| (ratio - 1.0).abs() > SAME)
    }

    /// Whether the FLOPs or bytes that decide its time differ, whatever its arguments.
    fn has_other_work(&self) -> bool {
        const SAME: f64 = 0.02;
        let expected = self.judgment.expected;
        self.judgment.is_same_gpu && expected.is_some_and(|ratio| (ratio - 1.0).abs() > SAME)
    }

    /// The verdict as shown to users, with what explains the difference: the hardware, sizes, or types.
    pub fn verdict_label(&self) -> &'static str {
        /// A difference that the verdict tolerates is worth a word from this ratio on, or below the other one.
        const SLOWER: f64 = 1.1;
        const FASTER: f64 = 0.9;
        let is_same_gpu = self.judgment.is_same_gpu;
        match self.judgment.verdict {
            Verdict::ExplainedByHardware if self.has_other_sizes() => match is_same_gpu {
                true => "explained by its sizes",
                false => "explained by sizes and hardware",
            },
            Verdict::ExplainedByHardware if self.types.is_some() => match is_same_gpu {
                true => "explained by its type",
                false => "explained by type and hardware",
            },
            Verdict::ExplainedByHardware if is_same_gpu && self.has_other_work() => {
                "explained by its work"
            }
            Verdict::ExplainedByHardware if is_same_gpu => match self.judgment.excess {
                Some(excess) if excess >= SLOWER => "slightly slower than expected",
                Some(excess) if excess <= FASTER => "slightly faster than expected",
                _ => "as expected",
            },
            verdict => verdict.label_on(is_same_gpu),
        }
    }

    /// The percentage of its roofline that a trace reaches.
    pub fn roofline_percent(&self, which: Which) -> Option<f64> {
        Some((*self.judgment.rooflines.get(which))?.percent(self.sides.get(which).ns_per_call()))
    }

    /// The minimum time of its calls on the target, by the roofline of the target's own report.
    pub fn floor_ns(&self) -> Option<f64> {
        let calls = self.sides.target.timed.count as f64;
        Some(self.judgment.floor?.us_per_call * 1e3 * calls)
    }

    /// The helper kernels of a trace of kinds that the other one does not have.
    pub fn own_helpers(&self, which: Which) -> impl Iterator<Item = &Helper> {
        let others = &self.sides.get(which.other()).helpers;
        let own = self.sides.get(which).helpers.iter();
        own.filter(|helper| !others.iter().any(|other| other.kind == helper.kind))
    }

    /// What is wrong with the kernel of a trace, if nothing is wrong with the other one's.
    pub fn outdated(&self, which: Which) -> Option<&str> {
        let is_other = self.sides.get(which.other()).outdated.is_some();
        let outdated = self.sides.get(which).outdated.as_deref();
        outdated.filter(|_| !is_other)
    }

    /// Whether it may cover several operations of each trace that compute the same together.
    pub(crate) fn is_group(&self) -> bool {
        matches!(
            self.level,
            MatchLevel::Meaning | MatchLevel::Place | MatchLevel::Neighbors
        )
    }

    /// Whether it is attention in several operations on the target, and in one on the reference.
    pub(crate) fn is_unfused_attention(&self) -> bool {
        self.level == MatchLevel::Meaning
            && self.family == Family::Attention
            && self.sides.target.operations.len() > self.sides.reference.operations.len()
    }

    /// Whether both sides have the same time and the same number of calls.
    pub fn is_same(&self) -> bool {
        let calls = self.calls();
        self.times().difference() == 0 && calls.reference == calls.target
    }
}

/// 16 for "bf16", 8 for "fp8 e4m3"; `None` if it is not a floating-point type.
fn float_bits(label: &str) -> Option<u32> {
    let rest = ["fp", "bf"]
        .iter()
        .find_map(|start| label.strip_prefix(start))?;
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..n_digits)?.parse().ok()
}

/// What an operation of one trace alone does if it only serves others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Auxiliary {
    /// It copies a tensor to one of another type.
    Conversion,
    /// It copies a tensor within the GPU.
    Copy,
    /// It adds a vector to each row of a matrix.
    Bias,
}

/// An operation of one of the traces.
#[derive(Debug, Clone, PartialEq)]
pub struct UnmatchedOp {
    /// Its name; for a kernel without an operator, the kernel.
    pub name: String,
    /// The shapes and the type of its operands, as text.
    pub shapes: String,
    /// It runs while activations are recomputed.
    pub is_recompute: bool,
    /// Its kind of work.
    pub family: Family,
    pub(crate) auxiliary: Option<Auxiliary>,
    /// Its figures.
    pub side: OpSide,
}

impl UnmatchedOp {
    /// Its name and shapes.
    pub fn label(&self) -> String {
        label(&self.name, &self.shapes)
    }
}

/// A name with its shapes, if known.
pub(crate) fn label(name: &str, shapes: &str) -> String {
    let name = format::operation_name(name);
    match shapes.is_empty() {
        true => name.into_owned(),
        false => format!("{name} {shapes}"),
    }
}

/// The operations of both traces.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operations {
    /// Operations of both, longest in the target first.
    pub matched: Vec<MatchedOp>,
    /// Operations of only one, longest first.
    pub unmatched: Pair<Vec<UnmatchedOp>>,
}

impl Operations {
    /// Drops the predictions of operations without recorded sizes, such as steps of an optimizer, where others have
    /// them: in traces of different work, theirs differ, too.
    pub(crate) fn forget_sizes(&mut self) {
        if self.matched.iter().all(|op| op.shapes.is_empty()) {
            return;
        }
        use MatchLevel::{Arguments, Name, Shapes};
        let bare = |op: &&mut MatchedOp| {
            op.shapes.is_empty() && matches!(op.level, Arguments | Shapes | Name)
        };
        for op in self.matched.iter_mut().filter(bare) {
            op.judgment = op.judgment.without_sizes();
        }
    }
}

//! Which launches and kernels can belong together, by their names.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::base::format::is_digits;
use crate::base::map::Map;
use crate::names::words::leading_digits;
use crate::names::{Family, family_of_kernel, family_of_op, op_category};

/// What a launch launches, or what ran on the GPU: equal if one can come from the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Work {
    /// A kernel, identified by its name.
    Kernel(u32),
    /// A copy: runtimes and GPUs name them differently.
    Copy,
    /// A fill.
    Fill,
}

impl Work {
    /// A key shared by equal work.
    pub(super) fn key(self) -> u64 {
        match self {
            Work::Copy => 0,
            Work::Fill => 1,
            Work::Kernel(name) => u64::from(name) + 2,
        }
    }
}

/// Numbers for names, shared across traces.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a> {
    known: Map<&'a str, Work>,
    n_kernels: u32,
}

impl<'a> Symbols<'a> {
    pub(super) fn work(&mut self, name: &'a str) -> Work {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let work = if is_copy(name) {
            Work::Copy
        } else if is_fill(name) {
            Work::Fill
        } else {
            self.n_kernels += 1;
            Work::Kernel(self.n_kernels)
        };
        self.known.insert(name, work);
        work
    }
}

/// Names on both sides of a copy: `hipMemcpyAsync`, `Memcpy DtoD (Device -> Device)`, and the copy kernels of ROCm.
fn is_copy(name: &str) -> bool {
    const KERNELS: [&str; 2] = ["MEMORY_COPY_", "__amd_rocclr_copyBuffer"];
    name.contains("Memcpy") || KERNELS.iter().any(|start| name.starts_with(start))
}

fn is_fill(name: &str) -> bool {
    name.contains("Memset") || name.contains("fillBuffer")
}

/// Whether a runtime call launches something, by its name.
pub(super) fn is_launch(name: &str) -> bool {
    const WORDS: [&[u8]; 3] = [b"launch", b"memcpy", b"memset"];
    let has = |word: &[u8]| {
        let mut windows = name.as_bytes().windows(word.len());
        windows.any(|window| window.eq_ignore_ascii_case(word))
    };
    WORDS.into_iter().any(has)
}

/// The captured batch size, from an enclosing annotation: `capture_32_FULL`, `capture_graph_bs_8`.
pub(super) fn captured_size(annotation: &str) -> Option<u64> {
    let rest = annotation.strip_prefix("capture_")?;
    let rest = rest.strip_prefix("graph_bs_").unwrap_or(rest);
    let digits = leading_digits(rest);
    let after = rest.get(digits.len()..)?;
    let is_whole = after.is_empty() || after.starts_with('_');
    digits.parse().ok().filter(|_| is_whole)
}

/// The captured batch size, from a file name that engines use: `bs_8_rank0.json.gz`, `bs_8_q_4_rank0.json`.
pub(super) fn size_of_file(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("bs_")?;
    let (requests, rest) = number(rest)?;
    let of_request = rest.strip_prefix("_q_").and_then(number);
    requests.checked_mul(of_request.map_or(1, |(tokens, _)| tokens))
}

/// The rank in a file name: `graph_capture_rank_0.…`, `bs_8_rank0.json.gz`.
pub(super) fn rank_of_file(name: &str) -> Option<u64> {
    let (_, rest) = name.rsplit_once("rank")?;
    number(rest.trim_start_matches(['_', '-'])).map(|(rank, _)| rank)
}

/// The name without the number that SGLang's profiler of kernel shapes appends to its operators, as in the reference;
/// `None` for other operators.
pub(super) fn without_number(op: &str) -> Option<&str> {
    let (name, digits) = op.rsplit_once('_')?;
    (is_digits(digits) && op.starts_with(SHAPE_PROFILER)).then_some(name)
}

/// Prefix of the operators that SGLang's profiler of kernel shapes puts around launches.
pub(super) const SHAPE_PROFILER: &str = "sglang_profiler::";

/// A number and what follows it.
fn number(text: &str) -> Option<(u64, &str)> {
    let digits = leading_digits(text);
    Some((digits.parse().ok()?, text.get(digits.len()..)?))
}

/// Hash of a sequence, in order.
pub(super) fn hash_of(sequence: impl Iterator<Item = impl Hash>) -> u64 {
    let mut hasher = FxHasher::default();
    for item in sequence {
        item.hash(&mut hasher);
    }
    hasher.finish()
}

/// What an unnamed launch, or a kernel, is known to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class<'a> {
    /// A kernel that torch.compile generated, by its name.
    Triton(&'a str),
    /// One of the families that are distinguished reliably.
    Of(Family),
    /// A copy or fill.
    Moved(Work),
    /// Anything.
    Any,
}

impl<'a> Class<'a> {
    /// The class of a launch, from the operator above it.
    pub(super) fn of_launch(op: Option<&'a str>, work: Work) -> Class<'a> {
        match (work, op) {
            (Work::Copy | Work::Fill, _) => Class::Moved(work),
            (_, Some(op)) if op.starts_with("triton_") => Class::Triton(op),
            (_, Some(op)) => Class::of(family_of_op(op_category(op, None), op, None)),
            (_, None) => Class::Any,
        }
    }

    /// The class of GPU activity.
    pub(super) fn of_kernel(name: &'a str, work: Work) -> Class<'a> {
        match work {
            Work::Copy | Work::Fill => Class::Moved(work),
            _ if name.starts_with("triton_") => Class::Triton(name),
            _ => Class::of(family_of_kernel(name)),
        }
    }

    fn of(family: Family) -> Class<'a> {
        match family {
            Family::Gemm | Family::Attention | Family::Normalization => Class::Of(family),
            _ => Class::Any,
        }
    }

    /// Whether a launch can have launched a kernel: yes, no, or unknown.
    pub(super) fn launches(self, kernel: Class) -> Option<bool> {
        match (self, kernel) {
            (Class::Moved(one), Class::Moved(other)) => Some(one == other),
            (Class::Moved(_), _) | (_, Class::Moved(_)) => Some(false),
            (Class::Triton(op), Class::Triton(kernel)) => Some(is_of(op, kernel)),
            (Class::Triton(_), _) | (_, Class::Triton(_)) => match self {
                Class::Any => None,
                _ => Some(false),
            },
            (Class::Of(one), Class::Of(other)) => Some(one == other),
            _ => None,
        }
    }
}

/// `triton_poi_fused_1` launches `triton_poi_fused_1` and `triton_poi_fused_1_0d1d`, but not `triton_poi_fused_10`.
fn is_of(op: &str, kernel: &str) -> bool {
    let rest = kernel.strip_prefix(op);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_fills_are_equal_by_what_they_do() {
        let mut symbols = Symbols::default();
        let mut same = |one, other| symbols.work(one) == symbols.work(other);
        for (one, other, expected) in [
            ("hipMemcpyAsync", "Memcpy DtoD (Device -> Device)", true),
            (
                "hipMemcpyWithStream",
                "__amd_rocclr_copyBufferAligned",
                true,
            ),
            ("hipMemsetAsync", "__amd_rocclr_fillBufferAligned.kd", true),
            ("cudaMemsetAsync", "Memset (Device)", true),
            ("hipMemcpyAsync", "Memset (Device)", false),
            ("gemm", "gemm", true),
            ("gemm", "gemm2", false),
        ] {
            assert_eq!(same(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn annotations_name_the_size() {
        for (name, size) in [
            ("capture_32_FULL", Some(32)),
            ("capture_128_PIECEWISE", Some(128)),
            ("capture_graph_bs_8", Some(8)),
            ("capture_16", Some(16)),
            ("capture_begin", None),
            ("capture_3x", None),
            ("execute_32", None),
        ] {
            assert_eq!(captured_size(name), size, "{name}");
        }
    }

    #[test]
    fn names_of_files_tell_size_and_rank() {
        for (name, size, rank) in [
            ("bs_8_rank0.json.gz", Some(8), Some(0)),
            ("bs_8_q_4_rank3.json", Some(32), Some(3)),
            ("graph_capture_rank_1.1722.pt.trace.json.gz", None, Some(1)),
            ("capture_trace_rank_0.json.gz", None, Some(0)),
            ("bs_.json", None, None),
            ("frank.json", None, None),
        ] {
            assert_eq!(
                (size_of_file(name), rank_of_file(name)),
                (size, rank),
                "{name}"
            );
        }
    }

    #[test]
    fn classes_that_contradict_are_told() {
        let kernel = |name| Class::of_kernel(name, Work::Kernel(1));
        let op = |name| Class::of_launch(Some(name), Work::Kernel(2));
        for (op, kernel, expected) in [
            (op("aten::mm"), kernel("triton_poi_fused_0"), Some(false)),
            (
                op("triton_poi_fused_1"),
                kernel("triton_poi_fused_1"),
                Some(true),
            ),
            (
                op("triton_poi_fused_1"),
                kernel("triton_poi_fused_10"),
                Some(false),
            ),
            (op("aten::mm"), kernel("Cijk_Ailk_Bljk"), Some(true)),
            (op("my::op"), kernel("Cijk_Ailk_Bljk"), None),
            (op("my::op"), kernel("triton_poi_fused_1"), None),
            (Class::Moved(Work::Copy), kernel("gemm"), Some(false)),
            (
                Class::Moved(Work::Copy),
                Class::Moved(Work::Copy),
                Some(true),
            ),
        ] {
            assert_eq!(op.launches(kernel), expected, "{op:?} {kernel:?}");
        }
    }
}

//! Kinds of reductions, by name.

use ReductionKind::*;

use super::words::{Words, classify, holds, without_namespace};
use crate::base::labels::labeled;

labeled! {
    /// Kinds of work along an axis.
    pub(crate) enum ReductionKind {
        Softmax => "softmax",
        Loss => "loss",
        Pooling => "pooling",
        /// Sorts all values.
        Sorting => "sorting",
        /// Selects the largest, the k-th, or the median value.
        Selection => "selection",
        /// Keeps the values that satisfy a condition; how many is not known in advance.
        Compaction => "compaction",
        Scan => "running sum",
        /// Short convolutions and scans in state-space layers.
        StateSpace => "state-space layer",
        Mean => "mean or variance",
        Sum => "sum",
        Extreme => "maximum or minimum",
        Norm => "vector norm",
        Other => "other",
    }
}

#[rustfmt::skip]
const WORDS: &Words<ReductionKind> = &[
    (Softmax, &["softmax", "logsumexp"]),
    (Loss, &["loss", "cross_entropy", "crossentropy"]),
    (Pooling, &["pool"]),
    (Selection, &["topk", "top_k", "kthvalue", "median"]),
    (Compaction, &["unique", "nonzero", "masked_select"]),
    (Sorting, &["sort"]),
    (StateSpace, &[
        "selective_scan", "selectivescan", "causal_conv1d", "causalconv1d", "mamba", "_chunk_",
        "state_passing",
    ]),
    (Scan, &["cumsum", "cumprod", "scan"]),
    (Mean, &["mean", "var", "std"]),
    (Norm, &["norm"]),
    (Sum, &["sum"]),
    (Extreme, &["max", "min"]),
];

impl ReductionKind {
    /// From the name of the operator, or of a kernel without one.
    pub(crate) fn of(name: &str) -> ReductionKind {
        classify(WORDS, name).unwrap_or(Other)
    }

    /// Whether its values are read in an unknown number of passes.
    pub(crate) fn takes_passes(self) -> bool {
        matches!(self, Sorting | Selection | Compaction)
    }

    /// Whether it reduces many elements to few in one pass. The usual efficiency of such kernels is known.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Softmax | Mean | Sum | Extreme | Norm)
    }
}

/// Whether it is a softmax as in attention; log-softmax belongs to a loss.
pub(crate) fn is_softmax_of_attention(name: &str) -> bool {
    holds(name, &["softmax"]) && !holds(name, &["log_softmax", "logsoftmax"])
}

/// Whether a reduction picks one of its elements, so there is no sum.
pub(crate) fn picks_element(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "argmax", "argmin", "max", "min", "amax", "amin", "any", "all",
    ];
    let word = without_namespace(name).split('_').next();
    word.is_some_and(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind() {
        let cases = [
            ("aten::_log_softmax_backward_data", Softmax),
            ("aten::nll_loss_forward", Loss),
            ("aten::max_pool2d_with_indices", Pooling),
            ("aten::topk", Selection),
            ("aten::kthvalue", Selection),
            ("aten::median", Selection),
            ("aten::sort", Sorting),
            ("aten::_unique2", Compaction),
            ("aten::masked_select", Compaction),
            ("aten::cumsum", Scan),
            ("SelectiveScanFn", StateSpace),
            ("_chunk_state_fwd_kernel", StateSpace),
            ("aten::mean", Mean),
            ("aten::sum", Sum),
            ("aten::argmax", Extreme),
            ("aten::linalg_vector_norm", Norm),
            ("my::reduce", Other),
        ];
        for (name, kind) in cases {
            assert_eq!(ReductionKind::of(name), kind, "{name}");
        }
    }
}

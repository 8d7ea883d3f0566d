//! What a reduction computes, by its name.

use ReductionKind::*;

use super::words::{Words, holds, said_by, without_namespace};
use crate::base::labels::labelled;

labelled! {
    /// Kinds of work along an axis.
    pub(crate) enum ReductionKind {
        Softmax => "softmax",
        Loss => "loss",
        Pooling => "pooling",
        /// All values in order.
        Sorting => "sorting",
        /// The largest, the k-th, the middle one.
        Selection => "selection",
        /// Only the values that a condition leaves: how many is not known before.
        Compaction => "compaction",
        Scan => "running sum",
        /// Short convolutions and scans of state-space layers.
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
    /// By the name of the operator, or of the kernel that stands for itself.
    pub(crate) fn of(name: &str) -> ReductionKind {
        said_by(WORDS, name).unwrap_or(Other)
    }

    /// Whether its values are read several times, and how often is not known.
    pub(crate) fn takes_passes(self) -> bool {
        matches!(self, Sorting | Selection | Compaction)
    }

    /// Whether one pass over many elements leaves few: what such kernels usually reach is known.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Softmax | Mean | Sum | Extreme | Norm)
    }
}

/// Whether it is a softmax as attention has it; its logarithm belongs to a loss.
pub(crate) fn is_softmax_of_attention(name: &str) -> bool {
    holds(name, &["softmax"]) && !holds(name, &["log_softmax", "logsoftmax"])
}

/// Whether a reduction picks one of its elements, so that there is nothing to sum up.
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

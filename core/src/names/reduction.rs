//! What a reduction computes, by its name.

/// Kinds of work along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReductionKind {
    Softmax,
    Loss,
    Pooling,
    /// All values in order.
    Sorting,
    /// The largest, the k-th, the middle one.
    Selection,
    /// Only the values that a condition leaves: how many is not known before.
    Compaction,
    Scan,
    /// Short convolutions and scans of state-space layers.
    StateSpace,
    Mean,
    Sum,
    Extreme,
    Norm,
    Other,
}

/// What a lower-case name holds; the first that fits.
const WORDS: &[(&str, ReductionKind)] = &[
    ("softmax", ReductionKind::Softmax),
    ("logsumexp", ReductionKind::Softmax),
    ("loss", ReductionKind::Loss),
    ("cross_entropy", ReductionKind::Loss),
    ("crossentropy", ReductionKind::Loss),
    ("pool", ReductionKind::Pooling),
    ("topk", ReductionKind::Selection),
    ("top_k", ReductionKind::Selection),
    ("kthvalue", ReductionKind::Selection),
    ("median", ReductionKind::Selection),
    ("unique", ReductionKind::Compaction),
    ("nonzero", ReductionKind::Compaction),
    ("masked_select", ReductionKind::Compaction),
    ("sort", ReductionKind::Sorting),
    ("selective_scan", ReductionKind::StateSpace),
    ("selectivescan", ReductionKind::StateSpace),
    ("causal_conv1d", ReductionKind::StateSpace),
    ("causalconv1d", ReductionKind::StateSpace),
    ("mamba", ReductionKind::StateSpace),
    ("_chunk_", ReductionKind::StateSpace),
    ("state_passing", ReductionKind::StateSpace),
    ("cumsum", ReductionKind::Scan),
    ("cumprod", ReductionKind::Scan),
    ("scan", ReductionKind::Scan),
    ("mean", ReductionKind::Mean),
    ("var", ReductionKind::Mean),
    ("std", ReductionKind::Mean),
    ("norm", ReductionKind::Norm),
    ("sum", ReductionKind::Sum),
    ("max", ReductionKind::Extreme),
    ("min", ReductionKind::Extreme),
];

impl ReductionKind {
    /// By the name of the operator, or of the kernel that stands for itself; the first that fits.
    pub(crate) fn of(name: &str) -> ReductionKind {
        let name = name.to_ascii_lowercase();
        let word = WORDS.iter().find(|(word, _)| name.contains(word));
        word.map_or(ReductionKind::Other, |(_, kind)| *kind)
    }

    /// For people.
    pub(crate) fn label(self) -> &'static str {
        match self {
            ReductionKind::Softmax => "softmax",
            ReductionKind::Loss => "loss",
            ReductionKind::Pooling => "pooling",
            ReductionKind::Sorting => "sorting",
            ReductionKind::Selection => "selection",
            ReductionKind::Compaction => "compaction",
            ReductionKind::Scan => "running sum",
            ReductionKind::StateSpace => "state-space layer",
            ReductionKind::Mean => "mean or variance",
            ReductionKind::Sum => "sum",
            ReductionKind::Extreme => "maximum or minimum",
            ReductionKind::Norm => "vector norm",
            ReductionKind::Other => "other",
        }
    }

    /// Whether its values are read several times, and how often is not known.
    pub(crate) fn takes_passes(self) -> bool {
        matches!(
            self,
            ReductionKind::Sorting | ReductionKind::Selection | ReductionKind::Compaction
        )
    }

    /// Whether one pass over many elements leaves few: what such kernels usually reach is known.
    pub(crate) fn is_plain(self) -> bool {
        matches!(
            self,
            ReductionKind::Softmax
                | ReductionKind::Mean
                | ReductionKind::Sum
                | ReductionKind::Extreme
                | ReductionKind::Norm
        )
    }
}

/// Whether it is a softmax as attention has it; its logarithm belongs to a loss.
pub(crate) fn is_softmax_of_attention(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has = |word: &str| name.contains(word);
    has("softmax") && !has("log_softmax") && !has("logsoftmax")
}

/// Whether a reduction picks one of its elements, so that there is nothing to sum up.
pub(crate) fn picks_element(name: &str) -> bool {
    let name = name.rsplit("::").next().unwrap_or(name);
    let word = name.split('_').next().unwrap_or(name);
    let words = [
        "argmax", "argmin", "max", "min", "amax", "amin", "any", "all",
    ];
    words.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind() {
        let cases = [
            ("aten::_log_softmax_backward_data", ReductionKind::Softmax),
            ("aten::nll_loss_forward", ReductionKind::Loss),
            ("aten::max_pool2d_with_indices", ReductionKind::Pooling),
            ("aten::topk", ReductionKind::Selection),
            ("aten::kthvalue", ReductionKind::Selection),
            ("aten::median", ReductionKind::Selection),
            ("aten::sort", ReductionKind::Sorting),
            ("aten::_unique2", ReductionKind::Compaction),
            ("aten::masked_select", ReductionKind::Compaction),
            ("aten::cumsum", ReductionKind::Scan),
            ("SelectiveScanFn", ReductionKind::StateSpace),
            ("_chunk_state_fwd_kernel", ReductionKind::StateSpace),
            ("aten::mean", ReductionKind::Mean),
            ("aten::sum", ReductionKind::Sum),
            ("aten::argmax", ReductionKind::Extreme),
            ("aten::linalg_vector_norm", ReductionKind::Norm),
            ("my::reduce", ReductionKind::Other),
        ];
        for (name, kind) in cases {
            assert_eq!(ReductionKind::of(name), kind, "{name}");
        }
    }
}

//! What a reduction computes, by its name, and what is said of those that are slow.

/// Kinds of work along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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

/// What is said of slow reductions of no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Advice {
    pub(super) title: &'static str,
    pub(super) model: &'static str,
    pub(super) kernel: &'static str,
}

impl Kind {
    /// By the name of the operator, or of the kernel that stands for itself; the first that fits.
    pub(super) fn of(name: &str) -> Kind {
        const WORDS: &[(&str, Kind)] = &[
            ("softmax", Kind::Softmax),
            ("logsumexp", Kind::Softmax),
            ("loss", Kind::Loss),
            ("cross_entropy", Kind::Loss),
            ("crossentropy", Kind::Loss),
            ("pool", Kind::Pooling),
            ("topk", Kind::Selection),
            ("top_k", Kind::Selection),
            ("kthvalue", Kind::Selection),
            ("median", Kind::Selection),
            ("unique", Kind::Compaction),
            ("nonzero", Kind::Compaction),
            ("masked_select", Kind::Compaction),
            ("sort", Kind::Sorting),
            ("selective_scan", Kind::StateSpace),
            ("selectivescan", Kind::StateSpace),
            ("causal_conv1d", Kind::StateSpace),
            ("causalconv1d", Kind::StateSpace),
            ("mamba", Kind::StateSpace),
            ("_chunk_", Kind::StateSpace),
            ("state_passing", Kind::StateSpace),
            ("cumsum", Kind::Scan),
            ("cumprod", Kind::Scan),
            ("scan", Kind::Scan),
            ("mean", Kind::Mean),
            ("var", Kind::Mean),
            ("std", Kind::Mean),
            ("norm", Kind::Norm),
            ("sum", Kind::Sum),
            ("max", Kind::Extreme),
            ("min", Kind::Extreme),
        ];
        let name = name.to_ascii_lowercase();
        let word = WORDS.iter().find(|(word, _)| name.contains(word));
        word.map_or(Kind::Other, |(_, kind)| *kind)
    }

    /// For people.
    pub(super) fn label(self) -> &'static str {
        match self {
            Kind::Softmax => "softmax",
            Kind::Loss => "loss",
            Kind::Pooling => "pooling",
            Kind::Sorting => "sorting",
            Kind::Selection => "selection",
            Kind::Compaction => "compaction",
            Kind::Scan => "running sum",
            Kind::StateSpace => "state-space layer",
            Kind::Mean => "mean or variance",
            Kind::Sum => "sum",
            Kind::Extreme => "maximum or minimum",
            Kind::Norm => "vector norm",
            Kind::Other => "other",
        }
    }

    /// Whether its values are read several times, and how often is not known.
    pub(super) fn takes_passes(self) -> bool {
        matches!(self, Kind::Sorting | Kind::Selection | Kind::Compaction)
    }

    /// Whether one pass over many elements leaves few: what such kernels usually reach is known.
    pub(super) fn is_plain(self) -> bool {
        matches!(
            self,
            Kind::Softmax | Kind::Mean | Kind::Sum | Kind::Extreme | Kind::Norm
        )
    }

    /// What is said of slow ones.
    pub(super) fn advice(self) -> Advice {
        match self {
            Kind::Mean | Kind::Sum | Kind::Extreme | Kind::Norm => Advice {
                title: "Reductions far from the memory bandwidth",
                model: "fuse it with what produces its input (`torch.compile`): the input is then reduced while it is written.",
                kernel: "reductions usually reach 50 to 70 % of the memory bandwidth: have the split of these shapes over the GPU looked at with the reproducer.",
            },
            Kind::Softmax => Advice {
                title: "Softmax far from the memory bandwidth",
                model: "fuse it with the scaling and masking before it.",
                kernel: "softmax usually reaches 50 to 70 % of the memory bandwidth: have this row length compared in other implementations with the reproducer.",
            },
            Kind::Loss => Advice {
                title: "Losses far from the memory bandwidth",
                model: "let one kernel compute the loss from what is before it (for classes a fused cross entropy, else `torch.compile`): that is then not written and read again.",
                kernel: "have the split of its rows over the GPU looked at with the reproducer.",
            },
            Kind::Pooling => Advice {
                title: "Pooling far from the memory bandwidth",
                model: "keep its input in the layout of the convolutions around it (`torch.channels_last`); where the model is free to choose, a convolution with a stride needs no pooling behind it.",
                kernel: "have this window compared in other implementations with the reproducer.",
            },
            Kind::Scan => Advice {
                title: "Running sums far from the memory bandwidth",
                model: "run it along the innermost dimension, over as many rows at once as there are; where totals of blocks are enough, a sum of blocks needs no order.",
                kernel: "have a scan in blocks compared with this one for these shapes.",
            },
            Kind::StateSpace => Advice {
                title: "State-space layers far from the roof",
                model: "take kernels that do the short convolution, the scan and the gate of a layer together where its library has them; where the model is free to choose, the form in chunks is matrix products.",
                kernel: "have the split of channels and of the sequence over the GPU looked at with the reproducer.",
            },
            Kind::Sorting | Kind::Selection | Kind::Compaction | Kind::Other => Advice {
                title: "Operations along an axis far from the roof",
                model: "see whether a fused or library operation does the same work for these shapes.",
                kernel: "have the kernel looked at with the reproducer.",
            },
        }
    }
}

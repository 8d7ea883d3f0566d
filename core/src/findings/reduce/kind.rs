//! What a reduction computes, by its name.

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
}

//! What is known about a kernel without an operator, and where it comes from.

use crate::base::labels::labeled;
use crate::perf::Modeled;
use crate::perf::model_config::Role;

labeled! {
    /// Where a size comes from, most reliable first.
    pub enum Source {
        /// An operator of this trace.
        Recorded => "recorded" as "recorded",
        /// An operator of a capture.
        Captured => "captured" as "captured",
        /// An operator of an eager trace of the same model.
        Eager => "from eager trace" as "eager_trace",
        /// The model's configuration, or a model whose sizes are known.
        Config => "from config" as "config",
        /// The launch grid of a kernel.
        Grid => "from launch grid" as "launch_grid",
        /// Operators next to the graph.
        Neighbors => "from neighbors" as "neighbors",
    }
}

/// What is known about a kernel, or about calls of one, without an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// What it computes in its layer.
    pub role: Role,
    /// The least reliable source of its sizes.
    pub source: Source,
    /// Its FLOPs, bytes and sizes.
    pub modeled: Modeled,
    /// Padding may make the sizes larger: FLOPs and bytes are lower bounds.
    pub is_least: bool,
}

impl Estimate {
    /// "32×5120×2880, from config"; with the number of experts for MoE, and only the source for anything that is not a
    /// GEMM.
    pub(crate) fn sizes(&self) -> String {
        let size = |name| self.modeled.size_of(name);
        let experts = size("E").zip(size("topk"));
        let gemm = size("M").zip(size("N")).zip(size("K"));
        let sizes = match (experts, gemm) {
            (Some((experts, chosen)), Some(((_, inner), hidden))) => {
                format!("{experts} experts of {hidden}×{inner}, {chosen} of each token, ")
            }
            (None, Some(((m, n), k))) => match size("B") {
                Some(batch) => format!("{batch} of {m}×{n}×{k}, "),
                None => format!("{m}×{n}×{k}, "),
            },
            _ => String::new(),
        };
        format!("{sizes}{}", self.source.label())
    }
}

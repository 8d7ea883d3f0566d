//! Parts of MoE layers, by the names of operators and kernels.

/// Parts of an MoE layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoePart {
    /// Chooses experts: gate, router.
    Routing,
    /// Sorts, aligns, gathers and adds up tokens.
    Sorting,
    /// The first or second grouped GEMM in a kernel of its own.
    Unfused,
    /// All of the experts in one operation.
    Fused,
}

/// Parts of names in lower case; the first that fits.
const WORDS: &[(&str, MoePart)] = &[
    ("gemm1", MoePart::Unfused),
    ("gemm2", MoePart::Unfused),
    ("stage1", MoePart::Unfused),
    ("stage2", MoePart::Unfused),
    ("_up", MoePart::Unfused),
    ("_down", MoePart::Unfused),
    ("gating", MoePart::Routing),
    ("gate_", MoePart::Routing),
    ("router", MoePart::Routing),
    ("routing", MoePart::Routing),
    ("topk", MoePart::Routing),
    ("top_k", MoePart::Routing),
    ("sort", MoePart::Sorting),
    ("align", MoePart::Sorting),
    ("permute", MoePart::Sorting),
    ("scatter", MoePart::Sorting),
    ("gather", MoePart::Sorting),
    ("expandinputrows", MoePart::Sorting),
    ("finalize", MoePart::Sorting),
    ("moe_sum", MoePart::Sorting),
    ("buildexpertmaps", MoePart::Sorting),
    ("computestrides", MoePart::Sorting),
    ("bitmatrix", MoePart::Sorting),
    ("writeback_idx", MoePart::Sorting),
    ("reorder_triton", MoePart::Sorting),
    ("src2dst", MoePart::Sorting),
    ("masked_m_", MoePart::Sorting),
    ("shuffleinputrows", MoePart::Sorting),
    ("problem_sizes", MoePart::Sorting),
];

/// Softmax, bias or groups and the choice of experts in one kernel.
const FUSED_ROUTING: &[&str] = &[
    "fused",
    "topk_softmax",
    "topkgating",
    "topk_gating",
    "grouped_topk",
];

/// GEMMs in eight bits or fewer.
const NARROW: &[&str] = &["fp8", "fp4", "int8", "int4", "mxfp", "w4a", "w8a8"];

impl MoePart {
    /// By the name and the reference's label.
    pub(crate) fn of(name: &str, label: &str) -> MoePart {
        let lower = name.to_ascii_lowercase();
        let word = WORDS.iter().find(|(word, _)| lower.contains(word));
        match (label, word) {
            ("MoE_unfused", _) => MoePart::Unfused,
            ("MoE_fused", _) => MoePart::Fused,
            (_, Some((_, part))) => *part,
            ("MoE_aux", None) => MoePart::Sorting,
            (_, None) => MoePart::Fused,
        }
    }

    /// In tables.
    pub(crate) fn label(self) -> &'static str {
        match self {
            MoePart::Routing => "routing",
            MoePart::Sorting => "sorting of tokens",
            MoePart::Unfused => "expert GEMMs, unfused",
            MoePart::Fused => "fused MoE",
        }
    }
}

/// Whether one kernel does all of the routing.
pub(crate) fn is_fused_routing(name: &str) -> bool {
    holds(name, FUSED_ROUTING)
}

/// Whether a name tells a type of eight bits or fewer.
pub(crate) fn is_narrow(name: &str) -> bool {
    holds(name, NARROW)
}

fn holds(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    words.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_tell_the_part() {
        let cases = [
            ("aiter::fmoe_g1u1", "MoE_fused", MoePart::Fused),
            ("aiter::ck_moe_stage1", "MoE_unfused", MoePart::Unfused),
            ("aiter::moe_sorting_fwd", "MoE_aux", MoePart::Sorting),
            (
                "aiter::biased_grouped_topk_hip",
                "MoE_aux",
                MoePart::Routing,
            ),
            (
                "void vllm::topkGatingSoftmax<4, 128>",
                "other",
                MoePart::Routing,
            ),
            ("vllm::moe_forward", "other", MoePart::Fused),
            ("my::moe_gemm2", "other", MoePart::Unfused),
        ];
        for (name, label, part) in cases {
            assert_eq!(MoePart::of(name, label), part, "{name}");
        }
    }
}

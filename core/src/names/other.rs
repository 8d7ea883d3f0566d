//! Look-ups and writes by index and recurrent layers: kinds of work that a family does not tell.

use super::Family;

/// Kinds of work beside the families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherKind {
    /// Reads rows that an index names; gradients of that, too.
    LookUp,
    /// Writes to where an index says, or adds up there.
    Scatter,
    /// A recurrent layer: GEMMs and element-wise work in one operator.
    Recurrent,
    /// Anything else.
    Miscellaneous,
}

/// Parts of names of look-ups, in lower case.
const LOOK_UPS: &[&str] = &[
    "embedding",
    "aten::index",
    "aten::_index",
    "index_select",
    "indexselect",
    "index_put",
    "index_add",
    "index_elementwise",
    "indexing_backward",
    "indexfunc",
    "gather",
    "scatter",
    "aten::take",
];

/// Parts of those names that write.
const SCATTERS: &[&str] = &[
    "scatter",
    "index_put",
    "index_add",
    "index_copy",
    "index_reduce",
    "indexfunc",
];

/// A kernel of both.
const EITHER: &str = "scatter_gather";

/// Names that hold such a part and mean something else.
const NO_LOOK_UPS: &[&str] = &[
    "rotary",
    "topk",
    "all_gather",
    "allgather",
    "reduce_scatter",
    "with_indices",
    "patch_embed",
    "position",
];

/// Parts of names of recurrent layers.
const RECURRENT: &[&str] = &["_rnn", "::rnn", "lstm", "_gru", "::gru"];

impl OtherKind {
    /// By the name of the operator, or of the kernel that stands for itself.
    pub(crate) fn of(name: &str, family: Family) -> OtherKind {
        use Family::{Elementwise, Gemm, Other, Reduction};
        if !matches!(family, Elementwise | Reduction | Gemm | Other) {
            return OtherKind::Miscellaneous;
        }
        let name = name.to_ascii_lowercase();
        let holds = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if holds(RECURRENT) {
            OtherKind::Recurrent
        } else if family != Family::Gemm && holds(LOOK_UPS) && !holds(NO_LOOK_UPS) {
            match holds(SCATTERS) && !name.contains(EITHER) {
                true => OtherKind::Scatter,
                false => OtherKind::LookUp,
            }
        } else {
            OtherKind::Miscellaneous
        }
    }

    /// In the column of types.
    pub(crate) fn label(self) -> &'static str {
        match self {
            OtherKind::LookUp => "look-up by index",
            OtherKind::Scatter => "write by index",
            OtherKind::Recurrent => "recurrent layer",
            OtherKind::Miscellaneous => "miscellaneous",
        }
    }
}

/// Whether a kernel sorts the indices of a look-up.
pub(crate) fn is_sort(kernel: &str) -> bool {
    let kernel = kernel.to_ascii_lowercase();
    ["sort", "krn_partial", "radix"]
        .iter()
        .any(|word| kernel.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_class() {
        use Family::{Elementwise, Gemm, Other, Reduction};
        let cases = [
            ("aten::embedding", Elementwise, OtherKind::LookUp),
            (
                "aten::embedding_dense_backward",
                Reduction,
                OtherKind::LookUp,
            ),
            ("aten::index_put_", Elementwise, OtherKind::Scatter),
            ("aten::_index_put_impl_", Elementwise, OtherKind::Scatter),
            ("aten::gather", Elementwise, OtherKind::LookUp),
            (
                "_scatter_gather_elementwise_kernel",
                Elementwise,
                OtherKind::LookUp,
            ),
            ("aten::scatter_add_", Elementwise, OtherKind::Scatter),
            (
                "void at::native::vectorized_gather_kernel<16, long>",
                Elementwise,
                OtherKind::LookUp,
            ),
            (
                "sgl_kernel::rotary_embedding",
                Elementwise,
                OtherKind::Miscellaneous,
            ),
            (
                "void at::native::sbtopk::gatherTopK<float>",
                Reduction,
                OtherKind::Miscellaneous,
            ),
            (
                "aten::max_pool2d_with_indices",
                Reduction,
                OtherKind::Miscellaneous,
            ),
            ("aten::_cudnn_rnn", Gemm, OtherKind::Recurrent),
            (
                "aten::_thnn_fused_lstm_cell",
                Elementwise,
                OtherKind::Recurrent,
            ),
            ("aten::miopen_rnn_backward", Gemm, OtherKind::Recurrent),
            ("gather_gemm", Gemm, OtherKind::Miscellaneous),
            ("aten::group_norm", Other, OtherKind::Miscellaneous),
            ("aten::mul", Elementwise, OtherKind::Miscellaneous),
        ];
        for (name, family, expected) in cases {
            assert_eq!(OtherKind::of(name, family), expected, "{name}");
        }
    }
}

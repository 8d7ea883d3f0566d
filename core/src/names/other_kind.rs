//! Lookups and writes by index, and recurrent layers: kinds of work without a family.

use super::Family;
use super::words::holds;
use crate::base::labels::labeled;

labeled! {
    /// Kinds of work in addition to the families.
    pub(crate) enum OtherKind {
        /// Reads rows by index; includes the gradient of that.
        LookUp => "look-up by index",
        /// Writes or accumulates by index.
        Scatter => "write by index",
        /// GEMMs and element-wise work in one operator.
        Recurrent => "recurrent layer",
        Miscellaneous => "miscellaneous",
    }
}

/// Parts of names of lookups, in lower case.
#[rustfmt::skip]
const LOOK_UPS: &[&str] = &[
    "embedding", "aten::index", "aten::_index", "index_select", "indexselect", "index_put",
    "index_add", "index_elementwise", "indexing_backward", "indexfunc", "gather", "scatter",
    "aten::take",
];

/// Parts of those names that write.
#[rustfmt::skip]
const SCATTERS: &[&str] = &[
    "scatter", "index_put", "index_add", "index_copy", "index_reduce", "indexfunc",
];

/// Parts of names of kernels that run low-rank adapters (LoRA) beside the GEMMs of a model.
const ADAPTERS: &[&str] = &[
    "lora_shrink",
    "lora_expand",
    "bgmv",
    "sgmv",
    "lora_a_",
    "lora_b_",
];

/// A kernel that does either.
const EITHER: &str = "scatter_gather";

/// Names that contain such a part but mean something else.
#[rustfmt::skip]
const NO_LOOK_UPS: &[&str] = &[
    "rotary", "topk", "all_gather", "allgather", "reduce_scatter", "with_indices", "patch_embed",
    "position",
];

/// Parts of names of recurrent layers.
const RECURRENT: &[&str] = &["_rnn", "::rnn", "lstm", "_gru", "::gru"];

impl OtherKind {
    /// From the name of the operator, or of a kernel without one.
    pub(crate) fn of(name: &str, family: Family) -> OtherKind {
        use Family::{Elementwise, Gemm, Other, Reduction};
        if !matches!(family, Elementwise | Reduction | Gemm | Other) {
            return OtherKind::Miscellaneous;
        }
        if holds(name, RECURRENT) {
            OtherKind::Recurrent
        } else if family == Gemm || !holds(name, LOOK_UPS) || holds(name, NO_LOOK_UPS) {
            OtherKind::Miscellaneous
        } else if holds(name, SCATTERS) && !holds(name, &[EITHER]) {
            OtherKind::Scatter
        } else {
            OtherKind::LookUp
        }
    }
}

/// Whether a kernel runs low-rank adapters beside the GEMMs of a model.
pub(crate) fn is_adapter(kernel: &str) -> bool {
    holds(kernel, ADAPTERS)
}

/// Whether a kernel works on a sparse tensor: its shape does not tell how many elements it has.
pub(crate) fn takes_sparse_tensor(kernel: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "cusparse::", "rocsparse", "csrmm", "csrmv", "coomm", "coomv", "csr_spmm", "sparseelementwise", "indexsparse",
        "coalescevaluekernel",
    ];
    holds(kernel, WORDS)
}

/// Whether a kernel sorts the indices of a lookup.
pub(crate) fn is_sort(kernel: &str) -> bool {
    holds(kernel, &["sort", "krn_partial", "radix"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_class() {
        use Family::{Elementwise, Gemm, Other, Reduction};
        use OtherKind::*;
        #[rustfmt::skip]
        let cases = [
            ("aten::embedding", Elementwise, LookUp),
            ("aten::embedding_dense_backward", Reduction, LookUp),
            ("aten::index_put_", Elementwise, Scatter),
            ("aten::_index_put_impl_", Elementwise, Scatter),
            ("aten::gather", Elementwise, LookUp),
            ("_scatter_gather_elementwise_kernel", Elementwise, LookUp),
            ("aten::scatter_add_", Elementwise, Scatter),
            ("void at::native::vectorized_gather_kernel<16, long>", Elementwise, LookUp),
            ("sgl_kernel::rotary_embedding", Elementwise, Miscellaneous),
            ("void at::native::sbtopk::gatherTopK<float>", Reduction, Miscellaneous),
            ("aten::max_pool2d_with_indices", Reduction, Miscellaneous),
            ("aten::_cudnn_rnn", Gemm, Recurrent),
            ("aten::_thnn_fused_lstm_cell", Elementwise, Recurrent),
            ("aten::miopen_rnn_backward", Gemm, Recurrent),
            ("gather_gemm", Gemm, Miscellaneous),
            ("aten::group_norm", Other, Miscellaneous),
            ("aten::mul", Elementwise, Miscellaneous),
        ];
        for (name, family, expected) in cases {
            assert_eq!(OtherKind::of(name, family), expected, "{name}");
        }
    }
}

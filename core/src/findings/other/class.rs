//! What kind of work an operation is that its family does not tell.

use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Kinds of other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::findings) enum Class {
    /// Reads rows that an index names; gradients of that, too.
    LookUp,
    /// Writes to where an index says, or adds up there.
    Scatter,
    /// A recurrent layer: products and element-wise work in one operator.
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

impl Class {
    /// By the name of the operator, or of the kernel that stands for itself.
    pub(in crate::findings) fn of(profile: &Profile, operation: &Operation) -> Class {
        use Family::{Elementwise, Gemm, Other, Reduction};
        let family = operation.family;
        if !matches!(family, Elementwise | Reduction | Gemm | Other) {
            return Class::Miscellaneous;
        }
        Class::of_name(operation.short_name(profile), family)
    }

    fn of_name(name: &str, family: Family) -> Class {
        let name = name.to_ascii_lowercase();
        let holds = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if holds(RECURRENT) {
            Class::Recurrent
        } else if family != Family::Gemm && holds(LOOK_UPS) && !holds(NO_LOOK_UPS) {
            match holds(SCATTERS) && !name.contains(EITHER) {
                true => Class::Scatter,
                false => Class::LookUp,
            }
        } else {
            Class::Miscellaneous
        }
    }

    /// In the column of types.
    pub(super) fn label(self) -> &'static str {
        match self {
            Class::LookUp => "look-up by index",
            Class::Scatter => "write by index",
            Class::Recurrent => "recurrent layer",
            Class::Miscellaneous => "miscellaneous",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_class() {
        use Family::{Elementwise, Gemm, Other, Reduction};
        let cases = [
            ("aten::embedding", Elementwise, Class::LookUp),
            ("aten::embedding_dense_backward", Reduction, Class::LookUp),
            ("aten::index_put_", Elementwise, Class::Scatter),
            ("aten::_index_put_impl_", Elementwise, Class::Scatter),
            ("aten::gather", Elementwise, Class::LookUp),
            (
                "_scatter_gather_elementwise_kernel",
                Elementwise,
                Class::LookUp,
            ),
            ("aten::scatter_add_", Elementwise, Class::Scatter),
            (
                "void at::native::vectorized_gather_kernel<16, long>",
                Elementwise,
                Class::LookUp,
            ),
            (
                "sgl_kernel::rotary_embedding",
                Elementwise,
                Class::Miscellaneous,
            ),
            (
                "void at::native::sbtopk::gatherTopK<float>",
                Reduction,
                Class::Miscellaneous,
            ),
            (
                "aten::max_pool2d_with_indices",
                Reduction,
                Class::Miscellaneous,
            ),
            ("aten::_cudnn_rnn", Gemm, Class::Recurrent),
            ("aten::_thnn_fused_lstm_cell", Elementwise, Class::Recurrent),
            ("aten::miopen_rnn_backward", Gemm, Class::Recurrent),
            ("gather_gemm", Gemm, Class::Miscellaneous),
            ("aten::group_norm", Other, Class::Miscellaneous),
            ("aten::mul", Elementwise, Class::Miscellaneous),
        ];
        for (name, family, expected) in cases {
            assert_eq!(Class::of_name(name, family), expected, "{name}");
        }
    }
}

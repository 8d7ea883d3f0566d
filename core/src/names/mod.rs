//! Classifies ops and kernels by name.
//!
//! There are two classifications. [`op_category`] gives TraceLens's label, from its table of op names and a few rules;
//! sheets include it, so that existing notebooks keep working. [`Family`] is Dormer's own: eleven families that cover
//! every op and every kernel by name, each with its color; views and reports use it.
//!
//! Further files each answer one question about names: what an operator of a family does (`attention`, `gemm`, `moe`,
//! `norm` and so on), what a kernel's name says about its tile and types (`tile`), what the CPU does in a span
//! (`cpu_activity`), and how serving engines write a batch ([`batch`]).
//!
//! The library that a kernel comes from is separate: [`Library`]. To add a name, add a row with an example to the rules
//! of families or of libraries.

pub(crate) mod attention;
pub mod batch;
pub(crate) mod collective;
pub(crate) mod compiled_region;
pub(crate) mod convolution;
pub(crate) mod counterparts;
pub(crate) mod cpu_activity;
pub(crate) mod elementwise;
mod family;
mod family_rules;
pub mod frames;
pub(crate) mod fusion;
pub(crate) mod gemm;
pub(crate) mod gpu_activity;
mod helper;
pub(crate) mod layer;
mod library;
pub mod memory;
pub mod modules;
pub(crate) mod moe;
pub(crate) mod norm;
pub(crate) mod normalized;
mod op_table;
pub(crate) mod optimizer;
mod other_kind;
pub(crate) mod reduction;
mod rule;
pub(crate) mod runtime_calls;
pub(crate) mod signatures;
pub(crate) mod tile;
mod triton;
pub(crate) mod words;

pub use family::{Certainty, Family, family_of_kernel, family_of_op};
pub use helper::HelperKind;
pub use library::Library;
pub(crate) use library::{library_of, library_of_kernel};
pub use op_table::KnownOp;
pub(crate) use op_table::{known_op, known_ops};
pub(crate) use other_kind::{OtherKind, is_adapter, is_sort, takes_sparse_tensor};
pub(crate) use triton::LoopKind;

/// The prefix of a Python frame that is a module.
pub(crate) const MODULE: &str = "nn.Module: ";

/// Whether a Python frame is that of a module.
pub(crate) fn is_module(frame: &str) -> bool {
    frame.starts_with(MODULE)
}

/// Strips the prefix of a module's Python frame, `Linear_3` for `nn.Module: Linear_3`; any other name is returned
/// unchanged.
pub fn without_prefix(name: &str) -> &str {
    name.strip_prefix(MODULE).unwrap_or(name)
}

/// The label of an unknown op.
pub const OTHER: &str = "other";

/// TraceLens's label for an op. `first_kernel` is the name of its earliest kernel; it decides only if the op's own name
/// is not known.
pub fn op_category(name: &str, first_kernel: Option<&str>) -> &'static str {
    if let Some(op) = known_op(name) {
        return op.label;
    }
    if name.starts_with("triton") {
        return "triton";
    }
    if name.starts_with("record_param_comms") {
        return "record_param_comms";
    }
    // Only PyTorch's own kernels, case-sensitive: TraceLens's rule, unchanged.
    match first_kernel {
        Some(kernel) if kernel.starts_with("void at::native") => {
            ["elementwise", "reduce", "multi_tensor_apply"]
                .into_iter()
                .find(|word| kernel.contains(word))
                .unwrap_or(OTHER)
        }
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Op name, name of its first kernel, label.
    #[rustfmt::skip]
    const CASES: &[(&str, Option<&str>, &str)] = &[
        ("aten::addmm", None, "GEMM"),
        ("aten::convolution_backward", None, "CONV_bwd"),
        ("aten::_scaled_dot_product_flash_attention", None, "SDPA_fwd"),
        ("aten::_scaled_dot_product_flash_attention_backward", None, "SDPA_bwd"),
        ("aten::native_layer_norm", None, "NORM_fwd"),
        ("aten::add_", None, "elementwise"),
        ("aten::sum", None, "reduce"),
        ("aiter::moe_sum", None, "MoE_aux"),
        // A known op name takes precedence over its kernel's name.
        ("aten::copy_", Some("void at::native::reduce_kernel<512>()"), "elementwise"),
        ("triton_poi_fused_add_0", None, "triton"),
        ("triton_tem_fused_mm_3", None, "triton"),
        ("record_param_comms", None, "record_param_comms"),
        ("record_param_comms::all_reduce", None, "record_param_comms"),
        ("aten::gelu", Some("void at::native::vectorized_elementwise_kernel<4, G>"), "elementwise"),
        ("aten::argmax", Some("void at::native::reduce_kernel<512, 1>"), "reduce"),
        ("aten::_fused_adamw_", Some("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<T>"), "multi_tensor_apply"),
        // "elementwise" is checked first.
        ("my::op", Some("void at::native::elementwise_kernel<reduce>"), "elementwise"),
        ("aten::embedding", Some("void at::native::(anonymous namespace)::indexSelectLargeIndex<T>"), "other"),
        ("my::op", Some("void (anonymous namespace)::elementwise_kernel_with_index<int>"), "other"),
        ("my::op", Some("Void at::native::elementwise_kernel"), "other"),
        ("aten::softmax", None, "other"),
        ("", None, "other"),
    ];

    #[test]
    fn labels_follow_the_reference() {
        for &(name, kernel, expected) in CASES {
            assert_eq!(op_category(name, kernel), expected, "{name} {kernel:?}");
        }
    }
}

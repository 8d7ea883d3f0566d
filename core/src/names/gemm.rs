//! What the names of GEMM operators and kernels say: helper kernels, split-K, types.

use super::tile::Split;
use super::words::{Words, classify, contains_any, holds};

/// Kernels that copy operands into another layout.
pub(crate) fn is_layout_change(kernel: &str) -> bool {
    const WORDS: &[&str] = &[
        "transpose_",
        "batched_transpose",
        "nchwtonhwc",
        "nhwctonchw",
    ];
    // One that also casts is a part of quantizing, which needs both layouts for the backward pass.
    holds(kernel, WORDS) && !holds(kernel, &["gemm", "cast_transpose"])
}

/// Kernels that sum the parts of a split-K GEMM.
pub(crate) fn is_split_sum(kernel: &str) -> bool {
    const PARTS: &[&str] = &["PostGSU", "splitKreduce", "splitk_reduce", "SplitKReduce"];
    contains_any(kernel, PARTS)
}

/// Kernels of a split-K GEMM.
pub(crate) fn is_split(kernel: &str) -> bool {
    is_split_sum(kernel) || Split::of(kernel) != Split::None
}

/// Kernels of hipBLASLt and rocBLAS.
pub(crate) fn is_of_tensile(kernel: &str) -> bool {
    kernel.contains("Cijk_")
}

/// Whether a Tensile name has types of 8 bits or fewer. They follow the indices, as in "Cijk_Alik_Bljk_F8BS_BH".
pub(crate) fn is_narrow_tensile(kernel: &str) -> bool {
    let types = || kernel.get(kernel.find("Cijk_")?..)?.split('_').nth(3);
    let is_narrow = |types: &str| {
        ["F8", "B8", "I8", "F6", "F4"]
            .iter()
            .any(|one| types.starts_with(one))
    };
    types().is_some_and(is_narrow)
}

/// Whether the first size of a kernel's tile is along N. The vendors' libraries are column-major, so PyTorch has them
/// compute Cᵀ = Bᵀ·Aᵀ.
pub(crate) fn is_by_columns(op: &str, kernel: &str) -> bool {
    op.starts_with("aten::") || is_of_tensile(kernel) || kernel.starts_with("nvjet")
}

/// Operators that factorize matrices, or solve by that. A library does so in many kernels, GEMMs among them, and reads
/// results of some of them on the CPU.
#[rustfmt::skip]
const FACTORIZATIONS: &[&str] = &[
    "_linalg_eigh", "_linalg_eigvals", "linalg_eig", "linalg_eigh", "linalg_eigvals", "linalg_eigvalsh",
    "_linalg_svd", "linalg_svd", "linalg_svdvals", "linalg_qr", "geqrf", "linalg_cholesky_ex", "linalg_cholesky",
    "cholesky", "cholesky_inverse", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_ldl_factor_ex",
    "linalg_inv", "linalg_inv_ex", "linalg_pinv", "linalg_lstsq", "_linalg_det", "_linalg_slogdet",
    "_linalg_solve_ex", "linalg_solve",
];

/// Whether an operator factorizes matrices.
pub(crate) fn is_factorization(op: &str) -> bool {
    let name = op.strip_prefix("aten::");
    name.is_some_and(|name| FACTORIZATIONS.contains(&name))
}

/// Words in operator names for GEMMs of 8 bits or fewer.
const QUANTIZED: &[&str] = &[
    "w8a8", "int8", "fp8", "w4a16", "w4a4", "fp4", "int4", "4bit", "_int_mm", "gptq", "awq",
    "marlin", "machete",
];

/// Whether the name of an operator says that it uses 8 bits or fewer.
pub(crate) fn is_quantized(op: &str) -> bool {
    holds(op, QUANTIZED)
}

/// Bits per weight of operators that dequantize weights as they read them, by operator name.
pub(crate) fn packed_bits(op: &str) -> Option<u32> {
    const WORDS: &Words<u32> = &[
        (
            4,
            &[
                "4bit", "int4", "w4a", "fp4", "gptq", "awq", "marlin", "machete",
            ],
        ),
        (8, &["int8pack", "w8a16"]),
    ];
    classify(WORDS, op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_a_split_along_k() {
        assert!(is_split("Cijk_SS_BiasS_HA_PostGSU4_VW4"));
        assert!(is_split(
            "Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU8_GSUAMBSK_K1"
        ));
        assert!(!is_split(
            "Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU1_GSUAMBSK_SK0_SKXCCM0"
        ));
        assert!(is_narrow_tensile("Cijk_Alik_Bljk_F8BS_BH_MT128x128x64"));
        assert!(!is_narrow_tensile("Cijk_Alik_Bljk_BBS_BH_MT128x128x64"));
    }
}

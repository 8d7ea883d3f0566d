//! What the names of GEMM operators and kernels tell: tile, split along K, types.

use super::words::{Words, holds, leading_digits, said_by};

/// Kernels that copy operands into another layout.
pub(crate) fn is_layout_change(kernel: &str) -> bool {
    const WORDS: &[&str] = &[
        "transpose_",
        "batched_transpose",
        "nchwtonhwc",
        "nhwctonchw",
    ];
    holds(kernel, WORDS) && !holds(kernel, &["gemm"])
}

/// Kernels that add up the parts of a GEMM that is split along K.
pub(crate) fn is_split_sum(kernel: &str) -> bool {
    ["PostGSU", "splitKreduce", "splitk_reduce", "SplitKReduce"]
        .iter()
        .any(|part| kernel.contains(part))
}

/// Kernels of a GEMM that is split along K. Tensile writes how many parts there are ("GSU8"), or
/// that parts go to whichever unit is free ("SK3").
pub(crate) fn is_split(kernel: &str) -> bool {
    let of_tensile = || {
        is_of_tensile(kernel)
            && (number_after(kernel, "_GSU").is_some_and(|parts| parts > 1)
                || number_after(kernel, "_SK").is_some_and(|mode| mode > 0))
    };
    is_split_sum(kernel) || holds(kernel, &["splitk", "streamk"]) || of_tensile()
}

/// Kernels of hipBLASLt and rocBLAS.
pub(crate) fn is_of_tensile(kernel: &str) -> bool {
    kernel.contains("Cijk_")
}

/// The first number that follows a mark.
fn number_after(text: &str, mark: &str) -> Option<u64> {
    let mut places = text.match_indices(mark);
    places.find_map(|(at, _)| leading_digits(text.get(at + mark.len()..)?).parse().ok())
}

/// Whether Tensile's name says eight bits or fewer: the types follow the indices, as in
/// "Cijk_Alik_Bljk_F8BS_BH".
pub(crate) fn is_narrow_tensile(kernel: &str) -> bool {
    let types = || kernel.get(kernel.find("Cijk_")?..)?.split('_').nth(3);
    let is_narrow = |types: &str| {
        ["F8", "B8", "I8", "F6", "F4"]
            .iter()
            .any(|one| types.starts_with(one))
    };
    types().is_some_and(is_narrow)
}

/// Whether the first size of a kernel's tile lies along N. The vendors' libraries know matrices by
/// columns, so that PyTorch has them compute Cᵀ = Bᵀ·Aᵀ.
pub(crate) fn is_by_columns(op: &str, kernel: &str) -> bool {
    op.starts_with("aten::") || is_of_tensile(kernel) || kernel.starts_with("nvjet")
}

/// The output tile, first and second size, where the name of a kernel has it: "MT256x128x64",
/// "tilesize256x128x64", "_128x256_", "128x64_32x6".
pub(crate) fn output_tile(kernel: &str) -> Option<(u64, u64)> {
    for mark in ["MT", "tilesize"] {
        let found = kernel
            .match_indices(mark)
            .find_map(|(at, _)| two_sizes(kernel.get(at + mark.len()..)?));
        if found.is_some() {
            return found;
        }
    }
    // Other families of kernels write it between underscores, before the tile along K and its stages.
    let (first, second) = kernel.split('_').find_map(two_sizes)?;
    // Two compute units share the tile of CUTLASS's kernels of that name.
    let first = if kernel.contains("_2sm") {
        first / 2
    } else {
        first
    };
    (first >= 8 && second >= 8).then_some((first, second))
}

/// "256x128" at the start of a text.
fn two_sizes(text: &str) -> Option<(u64, u64)> {
    let size = |text: &str| text.parse().ok().filter(|size| (1..=1024).contains(size));
    let first = leading_digits(text);
    let rest = text.strip_prefix(first)?.strip_prefix('x')?;
    Some((size(first)?, size(leading_digits(rest))?))
}

/// Words for GEMMs of eight bits or fewer in the names of operators.
const QUANTIZED: &[&str] = &[
    "w8a8", "int8", "fp8", "w4a16", "w4a4", "fp4", "int4", "4bit", "_int_mm", "gptq", "awq",
    "marlin",
];

/// Whether the name of an operator says that it computes in eight bits or fewer.
pub(crate) fn is_quantized(op: &str) -> bool {
    holds(op, QUANTIZED)
}

/// Of how many bits weights are that are widened as they are read, by the name of an operator.
pub(crate) fn packed_bits(op: &str) -> Option<u32> {
    const WORDS: &Words<u32> = &[
        (4, &["4bit", "int4", "w4a", "fp4", "gptq", "awq", "marlin"]),
        (8, &["int8pack", "w8a16"]),
    ];
    said_by(WORDS, op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_tell_the_tile() {
        #[rustfmt::skip]
        let cases = [
            ("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16", Some((256, 128))),
            ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", Some((128, 256))),
            ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn", Some((128, 64))),
            ("sm90_xmma_gemm_bf16bf16_tilesize128x128x64_warpgroupsize1x1x1", Some((128, 128))),
            // The first pair is the tile; the tile along K and the stages follow it.
            ("nvjet_tst_64x8_64x16_2x4_h_bz_TNT", Some((64, 8))),
            ("cutlass_80_tensorop_4x4_128x64_nn", None),
            // Two compute units write a tile together.
            ("cutlass3x_sm100_tensorop_s256x128x16gemm_bf16_256x128x64_4x1x1_0_tnn_align8_2sm", Some((128, 128))),
            ("void gemmk1_kernel<int, float, 256, 5>", None),
            ("MTx", None),
            ("MT99999999999999999999x1", None),
        ];
        for (kernel, tile) in cases {
            assert_eq!(output_tile(kernel), tile, "{kernel}");
        }
    }

    #[test]
    fn names_tell_a_split_along_k() {
        #[rustfmt::skip]
        let cases = [
            ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU8_GSUAMBSK_K1", true),
            ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU0_SK3_SKXCCM8", true),
            ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU1_GSUAMBSK_SK0_SKXCCM0", false),
            ("cutlass_streamk_gemm_128x128", true),
            ("nvjet_hsh_256x256_64x4_1x2_h_bz_splitK_NNN", true),
            ("nvjet_hsh_256x256_64x4_1x2_h_bz_NNN", false),
        ];
        for (kernel, expected) in cases {
            assert_eq!(is_split(kernel), expected, "{kernel}");
        }
        assert!(is_narrow_tensile("Cijk_Alik_Bljk_F8BS_BH_MT128x128x64"));
        assert!(!is_narrow_tensile("Cijk_Alik_Bljk_BBS_BH_MT128x128x64"));
    }
}

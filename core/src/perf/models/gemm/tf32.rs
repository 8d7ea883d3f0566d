//! FP32 GEMMs that the matrix units compute in TF32, which AMD calls XF32.

use crate::names::words::holds;

/// Whether the name of a kernel shows it: by the word, by a 16×8×8 instruction on real or complex FP32 operands
/// (NVIDIA), or by the mode after Tensile's types (AMD).
pub(crate) fn is_tf32_kernel(name: &str) -> bool {
    holds(name, &["tf32", "xf32", "s1688", "c1688", "_s_mx_"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_tf32() {
        let cases = [
            ("cutlass_80_tensorop_s1688gemm_128x128", true),
            ("cutlass_80_tensorop_c1688gemm_64x64", true),
            ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n", true),
            ("Cijk_Ailk_Bljk_S_MX_B_Bias_HA_S_SAV_MT256x256x32", true),
            ("Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_MT256x256x32", false),
            ("ampere_sgemm_128x64_nn", false),
        ];
        for (kernel, expected) in cases {
            assert_eq!(is_tf32_kernel(kernel), expected, "{kernel}");
        }
    }
}

//! Whether a GEMM kernel reads its operands transposed, if its name shows it.

/// The transposition of the kernel's two operands, from the first kernel whose name can be parsed. Vendor libraries are
/// column-major: these are the kernel's operands, not the op's.
pub(crate) fn transpose(kernels: &[&str]) -> Option<(Option<bool>, Option<bool>)> {
    kernels
        .iter()
        .find_map(|name| tensile(name).or_else(|| nvjet(name)))
}

/// hipBLASLt and rocBLAS: `Cijk_Alik_Bljk_…`, the indices of output and operands.
fn tensile(name: &str) -> Option<(Option<bool>, Option<bool>)> {
    const INDICES: &[u8] = b"C..._A..._B...";
    let is_tensile = name.as_bytes().windows(INDICES.len()).any(|window| {
        let mut bytes = window.iter().zip(INDICES);
        bytes.all(|(byte, wanted)| match wanted {
            b'.' => byte.is_ascii_lowercase(),
            _ => byte == wanted,
        })
    });
    let is_transposed = |plain: &str, transposed: &str| match () {
        () if name.contains(plain) => Some(false),
        () if name.contains(transposed) => Some(true),
        () => None,
    };
    is_tensile.then(|| {
        (
            is_transposed("_Ailk_", "_Alik_"),
            is_transposed("_Bljk_", "_Bjlk_"),
        )
    })
}

/// cuBLAS on Hopper and later: `nvjet_tst_192x192_64x4_1x2_h_bz_coopA_TNT`, one letter for each operand and for the
/// output.
fn nvjet(name: &str) -> Option<(Option<bool>, Option<bool>)> {
    if !name.starts_with("nvjet") {
        return None;
    }
    match name.rsplit('_').next()?.as_bytes() {
        [a, b, ..] => Some((Some(*a == b'T'), Some(*b == b'T'))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_names_tell_the_transposition() {
        let both = |a, b| Some((Some(a), Some(b)));
        #[rustfmt::skip]
        let cases: [(&[&str], _); 6] = [
            (&["Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16x1"], both(true, false)),
            (&["Cijk_Ailk_Bjlk_S_MX_B_MT128x128x16"], both(false, true)),
            (&["nvjet_tst_192x192_64x4_1x2_h_bz_coopA_TNT"], both(true, false)),
            // A name that is truncated before its letters says nothing.
            (&["nvjet_tst_192x192_64x4_T"], None),
            (&["ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"], None),
            // A split-K kernel first, then the GEMM kernel.
            (&["void splitK()", "nvjet_hsh_64x8_64x16_4x1_v_bz_NNN"], both(false, false)),
        ];
        for (kernels, expected) in cases {
            assert_eq!(transpose(kernels), expected, "{kernels:?}");
        }
    }
}

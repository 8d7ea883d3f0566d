//! What kernel names say about how the work is split: tile, split along K, the GPU generation that they were built for,
//! and the compute units that they use.
//!
//! | written by | form | tile |
//! |---|---|---|
//! | Tensile (hipBLASLt, rocBLAS) | `MT128x224x64`, split `GSU4`, stream-K `SK3` | M × N × K |
//! | cuBLAS, cuDNN | `tilesize128x128x64` | M × N × K |
//! | cuBLASLt | `nvjet_tst_128x192_64x4_2x1` | M × N, then K × stages |
//! | CUTLASS 2 | `256x128_32x3`, `128x64_ldg8_f2f_stages_64x4` | M × N, then K × stages |
//! | CUTLASS 3 | `256x128x64_4x1x1` | M × N × K |
//! | CUTLASS 3, its types | `tuple<C<128>, C<256>, C<64>>` | M × N × K |
//! | TensorRT-LLM | `_t128x8x512_` | M × N × K |
//! | MIOpen | `bt128x128x32` | M × N × K |
//! | Composable Kernel | `Li256ELi128ELi256ELi32E`, `<256, 128, 256, 32, …>`: threads, then the tile | M × N × K |
//! | AITER, Triton | `BLOCK_SIZE_M_128_BLOCK_SIZE_N_256_BLOCK_SIZE_K_64`, `16x128x256x1` | M × N × K |
//! | FlashAttention 2 | `kernel_traits<64, 128, 64, 4>`: head dimension, then the tile | queries × keys |
//! | memory-efficient attention | `aligned_64x128_rf` | queries × keys |

use super::convolution;
use super::words::{Words, classify, holds, leading_digits};
use crate::base::labels::labeled;

/// The tile that one workgroup computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tile {
    /// Along the first and the second dimension of the result.
    pub(crate) output: (u64, u64),
    /// Size along K of one iteration; `None` if the name does not tell.
    pub(crate) k: Option<u64>,
}

/// How the sum over K is split into parts that run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    /// Not split.
    None,
    /// Into this many parts.
    Parts(u64),
    /// Into an unknown number of parts.
    Unknown,
    /// Stream-K: work is distributed evenly over all compute units.
    Stream,
}

impl Tile {
    /// From the name of a GEMM or convolution kernel.
    pub(crate) fn of(kernel: &str) -> Option<Tile> {
        FORMS.iter().find_map(|form| form(kernel))
    }
}

/// Formats of tiles; the first match decides.
const FORMS: &[fn(&str) -> Option<Tile>] = &[
    |kernel| after(kernel, "MT"),
    |kernel| after(kernel, "tilesize"),
    |kernel| after(kernel, "_bt"),
    |kernel| after(kernel, "_t"),
    of_blocks,
    of_composable_kernel,
    of_tuples,
    of_underscores,
];

/// "128x224x64" after a marker.
fn after(kernel: &str, mark: &str) -> Option<Tile> {
    let mut places = kernel.match_indices(mark);
    places.find_map(|(at, _)| {
        let (sizes, _) = sizes::<3>(kernel.get(at + mark.len()..)?)?;
        tile(sizes[0], sizes[1], Some(sizes[2]))
    })
}

/// "BLOCK_SIZE_M_128_BLOCK_SIZE_N_256_BLOCK_SIZE_K_64", "BLOCK_M128".
fn of_blocks(kernel: &str) -> Option<Tile> {
    let upper = kernel.to_ascii_uppercase();
    let size = |dim: &str| {
        let marks = [format!("BLOCK_SIZE_{dim}"), format!("BLOCK_{dim}")];
        marks.iter().find_map(|mark| {
            let rest = upper.get(upper.find(mark)? + mark.len()..)?;
            number(rest.trim_start_matches(['_', '=', ' ']))
        })
    };
    tile(size("M")?, size("N")?, size("K"))
}

/// Template arguments of a block: threads of a workgroup, then the tile.
fn of_composable_kernel(kernel: &str) -> Option<Tile> {
    let numbers: Vec<u64> = match kernel {
        _ if kernel.starts_with("_ZN2ck") => {
            let parts = kernel.split("Li").skip(1);
            parts.map(|part| number(part).unwrap_or(0)).collect()
        }
        _ if kernel.contains("ck::") => {
            let parts = kernel.split(['<', ',', '>']);
            parts.map(|part| number(part.trim()).unwrap_or(0)).collect()
        }
        _ => return None,
    };
    numbers.windows(4).find_map(|window| {
        let &[threads, m, n, k] = window else {
            return None;
        };
        let is_block = matches!(threads, 64 | 128 | 256 | 512)
            && [m, n].iter().all(|size| *size >= 16 && size % 16 == 0)
            && k >= 4
            && k % 4 == 0;
        is_block.then(|| tile(m, n, Some(k)))?
    })
}

/// Compile-time constants of three sizes: "cute::tuple<cute::C<128>, cute::C<256>, cute::C<64>>". That of the cluster
/// is smaller.
fn of_tuples(kernel: &str) -> Option<Tile> {
    const LEAST: u64 = 16;
    kernel.split("tuple<").skip(1).find_map(|tuple| {
        let sizes = tuple.get(..tuple.find(">>")?)?.split(',').map(|part| {
            let (_, size) = part.split_once("C<")?;
            number(size.trim_start_matches("(int)"))
        });
        let sizes: Vec<u64> = sizes.collect::<Option<_>>()?;
        let &[first, n, k] = sizes.as_slice() else {
            return None;
        };
        // Two compute units share the tile of such kernels.
        let m = if kernel.contains("2Sm") {
            first / 2
        } else {
            first
        };
        let is_tile = [m, n, k].iter().all(|size| *size >= LEAST && size % 8 == 0);
        is_tile.then(|| tile(m, n, Some(k)))?
    })
}

/// Between underscores: "256x128x64", or "128x256" followed by the tile along K and the number of stages.
fn of_underscores(kernel: &str) -> Option<Tile> {
    let parts: Vec<&str> = kernel.split('_').collect();
    let at = parts.iter().position(|part| sizes::<2>(part).is_some())?;
    let part = parts.get(at)?;
    let ([first, second], _) = sizes::<2>(part)?;
    // Two compute units share the tile of CUTLASS's kernels of that name.
    let first = match kernel.contains("_2sm") {
        true => first / 2,
        false => first,
    };
    let own_k = sizes::<3>(part).map(|([_, _, k], _)| k);
    let of_stages = || {
        let mut others = parts.get(at + 1..)?.iter();
        let pair = others.find_map(|part| sizes::<2>(part).filter(|(_, rest)| rest.is_empty()));
        pair.map(|([k, _], _)| k)
    };
    tile(first, second, own_k.or_else(of_stages))
}

/// Rejects smaller sizes, which are cluster sizes and stage counts.
fn tile(first: u64, second: u64, k: Option<u64>) -> Option<Tile> {
    (first >= 8 && second >= 8).then_some(Tile {
        output: (first, second),
        k: k.filter(|k| *k >= 4),
    })
}

/// "256x128" at the start of a text, and what follows.
fn sizes<const N: usize>(text: &str) -> Option<([u64; N], &str)> {
    let mut found = [0; N];
    let mut rest = text;
    for (at, size) in found.iter_mut().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('x')?;
        }
        *size = number(rest)?;
        rest = rest.get(leading_digits(rest).len()..)?;
    }
    Some((found, rest))
}

/// A size at the start of a text.
fn number(text: &str) -> Option<u64> {
    let size = leading_digits(text).parse().ok()?;
    (1..=1024).contains(&size).then_some(size)
}

impl Split {
    /// From the name of the GEMM kernel.
    pub(crate) fn of(kernel: &str) -> Split {
        let behind = |mark| {
            let at = kernel.find(mark)? + str::len(mark);
            leading_digits(kernel.get(at..)?).parse::<u64>().ok()
        };
        if behind("_SK").is_some_and(|mode| mode > 0) || holds(kernel, &["streamk", "stream_k"]) {
            return Split::Stream;
        }
        match behind("_GSU") {
            Some(parts) if parts > 1 => Split::Parts(parts),
            _ if kernel.ends_with("_gkgs") || kernel.contains("_gkgs_") => Split::Unknown,
            _ if holds(kernel, &["splitk", "split_k"]) => Split::Unknown,
            _ => Split::None,
        }
    }
}

labeled! {
    /// The generation of NVIDIA GPUs that a kernel was built for, with its compute capability.
    pub(crate) enum Generation {
        Volta => "Volta (7.0)",
        Turing => "Turing (7.5)",
        Ampere => "Ampere (8.0)",
        Ada => "Ada (8.9)",
        Hopper => "Hopper (9.0)",
        Blackwell => "Blackwell (10.0)",
        /// Of workstations and games: its matrix instructions are those of Ada.
        RtxBlackwell => "Blackwell (12.0)",
    }
}

#[rustfmt::skip]
const GENERATIONS: &Words<Generation> = &[
    (Generation::RtxBlackwell, &["sm120", "cutlass_120"]),
    (Generation::Blackwell, &["sm100", "sm103", "cutlass_100", "blackwell"]),
    (Generation::Hopper, &["sm90", "hopper", "wgmma", "gmma"]),
    (Generation::Ada, &["sm89", "cutlass_89"]),
    (Generation::Ampere, &["ampere_", "sm80", "sm86", "cutlass_80", "cutlass_86", "cutlass::arch::sm80"]),
    (Generation::Turing, &["turing_", "sm75", "cutlass_75"]),
    (Generation::Volta, &["volta_", "sm70", "cutlass_70", "_h884", "_s884"]),
];

impl Generation {
    /// From the name of a kernel; `None` if it does not say.
    pub(crate) fn of(kernel: &str) -> Option<Generation> {
        classify(GENERATIONS, kernel)
    }

    /// From a compute capability; `None` for older ones.
    pub(crate) fn of_gpu((major, minor): (u32, u32)) -> Option<Generation> {
        Some(match (major, minor) {
            (7, 0..=4) => Generation::Volta,
            (7, _) => Generation::Turing,
            (8, 0..=8) => Generation::Ampere,
            (8, _) => Generation::Ada,
            (9, _) => Generation::Hopper,
            (10..=11, _) => Generation::Blackwell,
            (12.., _) => Generation::RtxBlackwell,
            _ => return None,
        })
    }

    /// Whether its kernels make full use of the matrix units of another generation. Those of Ada and of Blackwell for
    /// workstations take the same instructions as Ampere's.
    pub(crate) fn suits(self, gpu: Generation) -> bool {
        let takes_amperes = matches!(gpu, Generation::Ada | Generation::RtxBlackwell);
        self >= gpu || (takes_amperes && self >= Generation::Ampere)
    }
}

/// Whether the name of a kernel says that it runs on vector units, although matrix units could do the work.
pub(crate) fn is_on_vector_units(kernel: &str) -> bool {
    const WORDS: &[&str] = &[
        "simt",
        "_sgemm",
        "_cgemm",
        "maxwell_",
        "gemmsn_",
        "gemmk1_",
        "naive_conv",
        "naive_gemm",
        "_ffma_",
        "scudnn",
    ];
    holds(kernel, WORDS) || is_tensile_without_matrix_units(kernel)
}

/// Whether a kernel of Tensile names the tile of each thread (`TT4_4`) and no matrix instruction (`MI16x16x4x1`).
fn is_tensile_without_matrix_units(kernel: &str) -> bool {
    let thread_tile = kernel.split_once("_TT").map(|(_, rest)| rest);
    let names_one =
        thread_tile.is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit()));
    kernel.starts_with("Cijk_") && names_one && !kernel.contains("_MI")
}

/// Whether the name of a kernel says that it multiplies or convolves FP32 on vector units.
pub(crate) fn is_fp32_on_vector_units(kernel: &str) -> bool {
    is_on_vector_units(kernel)
        && holds(
            kernel,
            &["_sgemm", "f32f32_f32f32", "scudnn", "_sb_", "_s_b_"],
        )
}

/// Whether the name of a kernel says that it is a fallback for shapes without a tuned kernel.
pub(crate) fn is_fallback(kernel: &str) -> bool {
    holds(kernel, &["naive", "fallback", "ref_matmul", "ref_gemm"])
        || convolution::is_fallback(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_tell_the_tile() {
        #[rustfmt::skip]
        let cases = [
            ("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16", Some((256, 128)), Some(64)),
            ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", Some((128, 256)), Some(64)),
            ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn", Some((128, 64)), Some(64)),
            ("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8", Some((256, 128)), Some(32)),
            ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_32x3_nn_align8>(…)", Some((128, 256)), Some(32)),
            ("sm90_xmma_gemm_bf16bf16_tilesize128x128x64_warpgroupsize1x1x1", Some((128, 128)), Some(64)),
            // The first pair is the tile; the tile along K and the stages follow it.
            ("nvjet_tst_64x8_64x16_2x4_h_bz_TNT", Some((64, 8)), Some(64)),
            ("cutlass_80_tensorop_4x4_128x64_nn", None, None),
            // Two compute units write a tile together.
            ("cutlass3x_sm100_tensorop_s256x128x16gemm_bf16_256x128x64_4x1x1_0_tnn_align8_2sm", Some((128, 128)), Some(64)),
            ("bmm_E2m1_E2m1E2m1_Fp32_t128x8x512_s5_et128x8_m128x8x64_cga1x1x1_16dp256b_TN", Some((128, 8)), Some(512)),
            ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8", Some((128, 256)), Some(32)),
            ("_ZN2ck16tensor_operation6deviceE_GridwiseGemmILi256ELi128ELi64ELi32ELi8E", Some((128, 64)), Some(32)),
            ("void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<…, 256, 224, 256, 64, 8>>", Some((224, 256)), Some(64)),
            ("void cutlass::device_kernel<MainloopSm90<5, cute::tuple<cute::C<2>, cute::C<1>, cute::C<1>>, Pingpong>, cute::tuple<cute::C<64>, cute::C<128>, cute::C<128>>, cutlass::float_e4m3_t>", Some((64, 128)), Some(128)),
            ("_gemm_a16_w16_kernel_BLOCK_SIZE_M_256_BLOCK_SIZE_N_128_BLOCK_SIZE_K_64_GROUP_SIZE_M_4", Some((256, 128)), Some(64)),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", Some((16, 128)), Some(256)),
            ("void gemmk1_kernel<int, float, 256, 5>", None, None),
            ("MTx", None, None),
            ("MT99999999999999999999x1x1", None, None),
        ];
        for (kernel, output, k) in cases {
            let tile = Tile::of(kernel);
            assert_eq!(tile.map(|tile| tile.output), output, "{kernel}");
            assert_eq!(tile.and_then(|tile| tile.k), k, "{kernel}");
        }
    }

    #[test]
    fn names_tell_a_split_along_k() {
        #[rustfmt::skip]
        let cases = [
            ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU8_GSUAMBSK_K1", Split::Parts(8)),
            ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU0_SK3_SKXCCM8", Split::Stream),
            ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU1_GSUAMBSK_SK0_SKXCCM0", Split::None),
            ("cutlass_streamk_gemm_128x128", Split::Stream),
            ("nvjet_hsh_256x256_64x4_1x2_h_bz_splitK_NNN", Split::Unknown),
            ("igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x64_wt32x32x8_gkgs", Split::Unknown),
            ("nvjet_hsh_256x256_64x4_1x2_h_bz_NNN", Split::None),
        ];
        for (kernel, expected) in cases {
            assert_eq!(Split::of(kernel), expected, "{kernel}");
        }
    }

    #[test]
    fn names_tell_the_generation() {
        #[rustfmt::skip]
        let cases = [
            ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn", Some(Generation::Ampere)),
            ("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32", Some(Generation::Ampere)),
            ("cutlass_75_tensorop_f16_s1688gemm_f16_256x128_32x2_nn_align8", Some(Generation::Turing)),
            ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn", Some(Generation::Volta)),
            ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128", Some(Generation::Hopper)),
            ("nvjet_sm100_tst_24x64_64x16_4x1_v_bz_TNN", Some(Generation::Blackwell)),
            ("cutlass3x_sm120_bstensorop_s16832gemm_block_scaled", Some(Generation::RtxBlackwell)),
            ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", None),
            ("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16", None),
        ];
        for (kernel, expected) in cases {
            assert_eq!(Generation::of(kernel), expected, "{kernel}");
        }
        assert_eq!(Generation::of_gpu((9, 0)), Some(Generation::Hopper));
        assert!(!Generation::Ampere.suits(Generation::Hopper));
        assert!(Generation::Ampere.suits(Generation::Ada));
        assert!(Generation::Hopper.suits(Generation::Hopper));
        assert_eq!(Generation::of_gpu((12, 0)), Some(Generation::RtxBlackwell));
        assert!(Generation::Ampere.suits(Generation::RtxBlackwell));
        assert!(!Generation::Turing.suits(Generation::RtxBlackwell));
        assert!(!Generation::Ampere.suits(Generation::Blackwell));
    }

    #[test]
    fn names_tell_the_units() {
        assert!(is_on_vector_units(
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>"
        ));
        assert!(is_on_vector_units("ampere_sgemm_128x64_nn"));
        assert!(is_fp32_on_vector_units("ampere_sgemm_128x64_nn"));
        let tensile = "Cijk_Ailk_Bljk_SB_MT64x64x16_SE_GSU1_ISA90a_K1_TT4_4_VW4_WG16_16_1";
        assert!(is_fp32_on_vector_units(tensile));
        let on_matrix_units =
            "Cijk_Ailk_Bljk_SB_MT64x64x16_MI32x32x2x1_SE_GSU1_ISA90a_K1_TT4_4_WG16_16_1";
        assert!(!is_on_vector_units(on_matrix_units));
        assert!(!is_on_vector_units("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_SE"));
        assert!(is_fp32_on_vector_units(
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__51_cublas"
        ));
        assert!(!is_fp32_on_vector_units(
            "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16"
        ));
        assert!(!is_fp32_on_vector_units("ampere_cgemm_64x64_nn"));
        assert!(is_on_vector_units("ampere_cgemm_64x64_nn"));
        assert!(!is_on_vector_units("cutlass_80_tensorop_s1688gemm_128x128"));
        assert!(is_fallback(
            "naive_conv_ab_packed_fwd_nchw_ushort_double_ushort"
        ));
        assert!(is_fallback("ref_convolution_fwd"));
        assert!(!is_fallback("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"));
    }
}

//! Each rule, from a trace with one such GEMM.

mod advice;
mod quantization;
mod tiles;

use crate::findings::engine::finding::Impact;
use crate::findings::engine::outcome::Outcome;
use crate::findings::samples::{
    Calls, assert_contains, assert_contains_none, found, only, patterns,
};
use crate::report::Report;
use crate::testing::{Timetable, options_on};

/// One GEMM of 100 ms on a GPU.
fn slow(gpu: &str, op: &str, args: &str, kernel: &str) -> Outcome {
    let calls = Calls::new().call(op, args, kernel, 100_000);
    calls.outcome_on(gpu, "gemm")
}

/// The findings about such a GEMM in BF16 on an MI300X.
fn found_of(op: &str, args: &str, kernel: &str) -> Vec<&'static str> {
    patterns(&slow("MI300X", op, args, kernel))
}

/// A pipeline run with `n_layers` layers: a GEMM with one row, and one with many rows.
fn of_one_row(n_layers: u32, one: &str, many: &str) -> Vec<&'static str> {
    let calls = (0..n_layers).fold(Calls::new(), |calls, _| {
        let calls = calls.call("aten::mm", one, "gemvx", 40);
        calls.call("aten::mm", many, "Cijk_MT128x128x32", 60)
    });
    let calls = calls.with(|table| table.annotation("execute_diffusion_1_256x256", 0..100_000));
    patterns(&calls.outcome("gemm"))
}

/// Profilers record the shape of a sparse matrix as if it were dense: 10 240 GFLOP that nothing computes.
#[test]
fn the_work_of_a_sparse_matrix_is_unknown() {
    let multiplied = |kernel: &str| {
        let sizes = "200000x200000:float, 200000x128:float";
        slow("A100-80GB", "aten::mm", sizes, kernel)
    };
    let sparse = multiplied("void cusparse::csrmm_alg2_kernel<cusparse::CsrMMPolicy<256>>");
    assert_eq!(patterns(&sparse), ["unmodeled_significant"]);
    assert_eq!(sparse.rows[0].efficiency_percent, None);
    let dense = multiplied("ampere_sgemm_128x128_nn");
    assert!(dense.rows[0].efficiency_percent.is_some());
}

#[test]
fn a_row_that_is_no_token_is_one_finding_for_all_layers() {
    const TOKENS: &str = "768x3072, 3072x3072";
    let key = "gemv_of_one_input";
    let has = |found: Vec<&str>| found.contains(&key);
    assert!(has(of_one_row(8, "1x3072, 3072x9216", TOKENS)));
    // Once or twice in a step; weights that other calls multiply by more rows, like those of experts.
    assert!(!has(of_one_row(2, "1x3072, 3072x9216", TOKENS)));
    assert!(!has(of_one_row(8, "1x3072, 3072x3072", TOKENS)));
    // Decoding a single request: every row is its token.
    assert!(!has(of_one_row(
        8,
        "1x3072, 3072x9216",
        "1x3072, 3072x3072"
    )));
    // There are no steps.
    let calls = Calls::new().calls(8, "aten::mm", "1x3072, 3072x9216", "gemvx", 40);
    assert!(!has(patterns(&calls.outcome("gemm"))));
}

#[test]
fn each_pattern_is_seen() {
    #[rustfmt::skip]
    let cases = [
        // 37 632 GEMMs of 8 × 64 by 64 × 8.
        ("aten::bmm", "37632x8x64, 37632x64x8", "Cijk_MT16x16x32", "tiny_batched"),
        ("aten::mm", "1x4096, 4096x4096", "gemvx", "gemv"),
        // 65 536 is 128 times 512.
        ("aten::mm", "65536x4096, 4096x512", "gemm", "tall_skinny"),
        // 4 tiles of 256 × 256 for 304 compute units.
        ("aten::mm", "512x4096, 4096x512", "Cijk_MT256x256x32", "few_output_tiles"),
        // Rows of 1 022 elements are 2 044 bytes, no multiple of 16.
        ("aten::mm", "4096x1022, 1022x4096", "Cijk_MT16x16x32", "misaligned"),
        // Large and regular: compute-bound.
        ("aten::mm", "4096x4096, 4096x4096", "Cijk_MT128x128x32", "compute_bound_gap"),
        // 8·64·(N + K) bytes for few FLOPs: memory-bound.
        ("aten::mm", "64x4096, 4096x4096", "Cijk_MT16x16x32", "memory_bound_gap"),
        // An outer product writes 8 192² elements and has no rows to pad.
        ("aten::mm", "8192x1, 1x8192", "Cijk_MT16x16x32", "outer_product"),
        // 300 tiles for 304 compute units leave next to none without work.
        ("aten::mm", "788x768, 768x768", "Cijk_Alik_Bljk_BBS_BH_MT64x32x64_SK0", "compute_bound_gap"),
        // PyTorch's libraries use column-major order. 15 rows by 16 384 columns: 64 tiles of 256 × 16.
        ("aten::mm", "15x4096, 4096x16384", "Cijk_Alik_Bljk_BBS_BH_MT256x16x64_SK0", "few_output_tiles"),
        // 4 tiles of 256 × 256, each split along K.
        ("aten::mm", "512x4096, 4096x512", "nvjet_hsh_256x256_64x4_1x2_h_bz_splitK_NNN", "compute_bound_gap"),
    ];
    for (op, args, kernel, expected) in cases {
        assert_eq!(found_of(op, args, kernel), [expected], "{args}");
    }
}

/// Named causes of the rest: an older kernel, short sums, small tiles, units without work.
#[test]
fn what_has_no_factor_has_a_title() {
    let old = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn";
    let tiny_tiles = "Cijk_Alik_Bljk_BBS_BH_MT32x32x16_SK0";
    #[rustfmt::skip]
    let cases = [
        ("H100", "4096x4096*2", old, 450, "old_generation", "Kernels built for Ampere (8.0), on Hopper (9.0)"),
        // 8 192² results of 32 elements each, in one step.
        ("MI300X", "8192x32, 32x8192", "Cijk_MT256x256x32", 200, "few_k_steps", "K = 32: too small for its kernel"),
        // 16 384 tiles read 8.6 GB in 1.5 ms.
        ("MI300X", "4096x4096*2", tiny_tiles, 1_500, "small_tiles", "32×32 tiles read the operands too often"),
        // 32 of 132 units have no work, which explains little of 16 %.
        ("H100", "64x8192, 8192x12800", "nvjet_tst_128x64_64x4_1x2_h_bz_NNN", 400, "tall_skinny", "Tall and skinny GEMMs"),
        ("MI300X", "4095x4096, 4096x4095", "Cijk_MT256x256x32", 900, "misaligned", "N = 4 095: not 16-byte aligned"),
        // One workgroup does everything, which alignment would not change.
        ("MI300X", "8x4096, 4096x3", "Cijk_MT16x16x64", 64, "few_output_tiles", "1 tile on 304 compute units"),
        // The roofline of FP32 is that of TF32, but it runs on vector units.
        ("H100", "4096x4096:float*2", "ampere_sgemm_128x64_nn", 2_800, "wide_precision", "GEMMs in FP32"),
    ];
    for (gpu, args, kernel, us, pattern, title) in cases {
        let outcome = Calls::new()
            .call("aten::mm", args, kernel, us)
            .outcome_on(gpu, "gemm");
        let title = title.replace("4 095", "4\u{202f}095");
        assert_eq!(only(&outcome, pattern).title, title);
    }
}

/// K is a single step of the kernel, so there is nothing to split.
#[test]
fn a_short_sum_is_not_to_be_split() {
    let outcome = slow(
        "MI300X",
        "aten::mm",
        "1048576x64, 64x64",
        "Cijk_MT64x256x64",
    );
    assert_contains_none(&only(&outcome, "tall_skinny").kernel, &["split"]);
}

/// Ten calls of 160 µs near their roofline, and one of 800 µs, which is not the first and thus not a warm-up.
#[test]
fn a_straggler_is_found_where_the_others_are_fast() {
    let kernel = "nvjet_tst_128x256_64x4_1x2_h_bz_NNN";
    let calls = Calls::new()
        .calls(5, "aten::mm", "4096x4096*2", kernel, 160)
        .call("aten::mm", "4096x4096*2", kernel, 800)
        .calls(5, "aten::mm", "4096x4096*2", kernel, 160);
    let outcome = calls.outcome_on("H100", "gemm");
    let finding = only(&outcome, "calls_differ");
    assert_eq!(finding.impact, Some(Impact::measured(640_000)));
}

/// An outer product is neither advised to use other units nor to be split along K; a MoE expert without tokens does
/// nothing at all.
#[test]
fn outer_and_empty_gemms_are_not_misread() {
    let found = |args| found_of("aten::mm", args, "Cijk_MT16x16x32");
    assert_eq!(found("131072x1:float, 1x64:float"), ["outer_product"]);
    assert_eq!(found("0x4096, 4096x128"), [""; 0]);
}

#[test]
fn the_issue_names_operation_sizes_time_and_efficiency() {
    let args = "37632x8x64, 37632x64x8";
    let outcome = slow("MI300X", "aten::bmm", args, "Cijk_MT16x16x32");
    // 2 · 37 632 · (8·64 + 64·8 + 8·8) bytes at 5.3 TB/s take 15.5 µs of the 100 ms.
    let operation = "`aten::bmm` (37 632 of 8×8×64)";
    let parts = [operation, "100 ms (100 % of compute)", "<0.1 %"];
    assert_contains(&only(&outcome, "tiny_batched").issue, &parts);
}

#[test]
fn an_efficient_gemm_is_no_finding() {
    // 2 · 8 192³ operations at 708 TFLOPS take 1.55 ms; 2 ms are 78 % of roofline.
    let calls = Calls::new().call("aten::mm", "8192x8192*2", "Cijk_MT256x256x32", 2000);
    let gemm = calls.outcome("gemm");
    assert_eq!(patterns(&gemm), [""; 0]);
    assert_eq!(gemm.rows[0].class, "regular");
    assert!((gemm.efficiency_percent().unwrap() - 77.65).abs() < 0.01);
}

#[test]
fn a_layout_change_inside_is_worth_what_it_takes() {
    let kernels = [
        ("batched_transpose_32x32_half", 500),
        ("Cijk_MT256x256x32", 2000),
    ];
    let calls = Calls::new().kernels("aten::mm", "8192x8192*2", &kernels);
    let outcome = calls.outcome_without_gpu("gemm");
    let finding = only(&outcome, "layout_change_inside");
    assert_eq!(finding.impact, Some(Impact::measured(500_000)));
}

/// A GEMM of unknown sizes is not reported as slow for being quantized.
#[test]
fn gemms_without_a_model_are_called_that() {
    let kernel = "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u>";
    let outcome = slow("MI300X", "MyFunction", "", kernel);
    let finding = only(&outcome, "unmodeled_significant");
    assert_eq!(finding.replay, None);
    let texts = [&finding.title, &finding.issue, &finding.kernel];
    for text in texts.into_iter().chain(&finding.reasoning) {
        assert_contains_none(text, &["()", "reproducer"]);
    }
    // It is unknown whether it is regular.
    assert_eq!(outcome.rows[0].class, "");
    let outcome = Calls::new().graph(kernel, 10, 10_000).outcome("gemm");
    assert_eq!(outcome.rows[0].class, "quantized");
    assert!(outcome.findings.is_empty());
}

/// GEMMs without parameters of their own use the shapes of their arguments.
#[test]
fn sizes_come_from_the_model_too() {
    let of = |op, args| slow("MI300X", op, args, "gemm");
    let vector = of("aten::mv", "8192x8192, 8192");
    assert_eq!(vector.rows[0].class, "matrix × vector");
    let scaled = "64x8192, 64x4096:c10::Float8_e4m3fn, 4096x8192:c10::Float8_e4m3fn, 64x1:float, 1x8192:float, _";
    let scaled = of("_C::cutlass_scaled_mm", scaled);
    assert_eq!(scaled.rows[0].class, "tall and skinny, quantized");
    let outcome = of("aten::_grouped_mm", "4096x1024, 8x1024x2048, 8:int, _*2");
    assert_eq!(outcome.rows[0].class, "regular");
    assert_contains(&outcome.findings[0].issue, &["8 groups of 512×2048×1024"]);
}

/// 4 µs each: their efficiency does not make them bottlenecks, and the minimum for a kernel is 2 µs.
#[test]
fn short_gemms_are_reported_by_their_number() {
    let kernel = "nvjet_tst_64x8_64x16_1x2_h_bz_NNN";
    let calls = Calls::new().calls(1_500, "aten::mm", "64x256, 256x256", kernel, 4);
    let outcome = calls.outcome_on("H100", "gemm");
    let finding = only(&outcome, "many_small_products");
    assert_eq!(finding.impact.unwrap().high_ns, 3_000_000);
}

/// 110 tiles for 108 compute units are two waves: half of the time, although the GEMM is above 40 % of roofline. One
/// tile less on each unit, and nothing is found.
#[test]
fn a_large_certain_cause_is_found_below_a_good_efficiency() {
    let kernel = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_nn";
    let on = |gpu: &str, args: &str, kernel: &str, us: u32| {
        let calls = Calls::new().calls(20, "aten::mm", args, kernel, us);
        calls.outcome_on(gpu, "gemm")
    };
    let outcome = on("A100-80GB", "1408x8192, 8192x1280", kernel, 185);
    let finding = only(&outcome, "few_output_tiles");
    assert_eq!(finding.title, "110 tiles on 108 compute units");
    assert_contains(
        &finding.model,
        &["the last of 2 waves has 2 tiles for 108 compute units"],
    );
    // 94.6 µs at roofline and 90.4 µs of the second wave, in each of 20 calls.
    let impact = finding.impact.unwrap();
    assert!(
        (1_700_000..1_820_000).contains(&impact.high_ns),
        "{impact:?}"
    );
    let full = on("A100-80GB", "1536x8192, 8192x1152", kernel, 105);
    assert_eq!(patterns(&full), [""; 0]);
    // An older kernel at 48 %, and a new one.
    let old = on(
        "H100",
        "8192x8192*2",
        &kernel.replace("128x128", "256x128"),
        2_315,
    );
    only(&old, "old_generation");
    let new = on(
        "H100",
        "8192x8192*2",
        "nvjet_tst_256x128_64x4_2x1_v_bz_TNT",
        2_315,
    );
    assert_eq!(patterns(&new), [""; 0]);
}

/// 2 µs of 17 are what filling the GPU by a split costs; 45 of 115 are too much.
#[test]
fn a_short_split_k_reduction_is_no_finding() {
    let on = |gpu: &str, args: &str, kernels: &[(&str, u32)]| {
        let calls = (0..20).fold(Calls::new(), |calls, _| {
            calls.kernels("aten::mm", args, kernels)
        });
        calls.outcome_on(gpu, "gemm")
    };
    let split = ("nvjet_tst_64x128_64x8_2x1_v_bz_splitK_TNN", 15);
    let sum = ("void cublasLt::splitKreduce_kernel<32, 16, int, float>", 2);
    let cheap = on("H100", "512x16384, 16384x512", &[split, sum]);
    assert_eq!(patterns(&cheap), [""; 0]);
    let split = ("Cijk_Ailk_Bljk_BBS_BH_MT128x128x64_SN_GSU32_ISA942", 70);
    let costly = on(
        "MI300X",
        "256x131072, 131072x256",
        &[split, ("Cijk_SB_PostGSU32_VW4", 45)],
    );
    let impact = only(&costly, "helper_kernels").impact.unwrap();
    assert_eq!(impact, Impact::at_most(900_000));
}

/// Complex FP32 runs on vector units unless TF32 is allowed, however well it is aligned.
#[test]
fn vector_units_are_left_by_a_type_or_by_alignment() {
    let args = "2048x2048:c10::complex<float>*2";
    let kernel = "cutlass_80_simt_cgemm_32x32_8x2_nn_align1";
    let calls = Calls::new().call("aten::mm", args, kernel, 4_100);
    let complex = calls.outcome_on("A100-80GB", "gemm");
    assert_contains(&only(&complex, "slower_unit").model, &["allow TF32"]);
}

/// At a sixth of the memory bandwidth, the type is not what makes it slow; at four fifths nothing else is left.
#[test]
fn fp32_short_of_memory_is_slow_for_another_reason() {
    let args = "1000000x64:float, 64x64:float";
    let at = |kernel: &str, us: u32| {
        let calls = Calls::new().calls(10, "aten::mm", args, kernel, us);
        calls.outcome_on("H100", "gemm")
    };
    let slow = at("ampere_sgemm_32x32_sliced1x4_nn", 900);
    only(&slow, "tall_skinny");
    let fast = at(
        "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x64x32",
        190,
    );
    assert_eq!(only(&fast, "wide_precision").title, "GEMMs in TF32");
}

/// Where TF32 is no faster than FP32 on vector units it is not advised; AMD's library needs a variable for it.
#[test]
fn tf32_is_advised_where_it_is_faster() {
    #[rustfmt::skip]
    let cases = [
        ("RTX-4090", "ampere_sgemm_128x64_nn", 2_080, None),
        ("A100-80GB", "ampere_sgemm_128x64_nn", 8_000, Some("`torch.set_float32_matmul_precision(\"high\")`)")),
        ("MI300X", "Cijk_Ailk_Bljk_SB_MT128x128x16_SN", 1_100, Some("`HIPBLASLT_ALLOW_TF32=1`")),
    ];
    for (gpu, kernel, us, expected) in cases {
        let calls = Calls::new().call("aten::mm", "4096x4096:float*2", kernel, us);
        let outcome = calls.outcome_on(gpu, "gemm");
        let model = &only(&outcome, "wide_precision").model;
        match expected {
            Some(expected) => assert_contains(model, &["allow TF32", expected]),
            None => assert_contains_none(model, &["TF32"]),
        }
    }
}

/// 12 experts in each of two layers; one layer writes to a cache by an index instead.
#[test]
fn a_loop_over_experts_is_found() {
    let expert = |calls: Calls, rows: u32, scatter: &str| {
        let tokens = format!("{rows}x2048");
        let up = format!("{tokens}, 2048x1408");
        let down = format!("{rows}x1408, 1408x2048");
        let kernel = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn";
        calls
            .call("aten::index", "4096x2048, _", "index_kernel", 5)
            .call("aten::mm", &up, kernel, 20)
            .call("aten::silu", &format!("{rows}x1408"), "silu_kernel", 3)
            .call("aten::mm", &down, kernel, 20)
            .call(scatter, "4096x2048, _", "scatter_kernel", 5)
    };
    let layers = |experts: u32| {
        let layer = |calls: Calls, _| {
            let attends = calls.call("aten::_softmax", "64x64", "softmax_kernel", 2);
            (0..experts).fold(attends, |calls, at| {
                expert(calls, 40 + at, "aten::index_add_")
            })
        };
        (0..2)
            .fold(Calls::new(), layer)
            .outcome_on("A100-80GB", "gemm")
    };
    let outcome = layers(12);
    let finding = only(&outcome, "gemm_per_expert");
    assert_contains(
        &finding.issue,
        &["48 calls of GEMMs multiply the tokens of one expert each"],
    );
    assert_contains(&finding.model, &["grouped GEMM"]);
    let others = patterns(&layers(2));
    assert!(!others.contains(&"gemm_per_expert"), "{others:?}");
}

/// 512 rows by 4-bit weights are bound by arithmetic, one row by reading the weights.
#[test]
fn weights_of_fewer_bits_do_not_help_many_rows() {
    let args = |rows: u32| format!("{rows}x4096, 512x32x32x4:int, =128, 32x4096x2");
    let of = |rows: u32, us: u32| {
        let calls =
            Calls::new().calls(20, "aten::_weight_int4pack_mm", &args(rows), "tinygemm", us);
        calls.outcome_on("A100-80GB", "gemm")
    };
    assert_contains(
        &of(512, 460).findings[0].model,
        &["dequantize them once", "INT8"],
    );
    assert_contains_none(&of(1, 40).findings[0].model, &["dequantize"]);
}

/// What a GEMM adds to is copied into its result first.
#[test]
fn a_copied_summand_is_named() {
    let kernels = [
        (
            "void at::native::elementwise_kernel<128, 2, direct_copy_kernel_cuda>",
            100,
        ),
        (
            "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_64x3_nn",
            520,
        ),
    ];
    let of = |op: &str, args: &str| {
        let outcome = Calls::new()
            .kernels(op, args, &kernels)
            .outcome_on("A100-80GB", "gemm");
        only(&outcome, "helper_kernels").model.clone()
    };
    assert_contains(
        &of("aten::addmm", "4096, 4096x4096*2"),
        &["the summand is copied"],
    );
    assert_contains_none(&of("aten::mm", "4096x4096*2"), &["summand"]);
}

/// 8,192 rows for 128,256 classes of 4,096 numbers in chunks: for each of three GEMMs 1.05 GB of weights are read, or
/// 2.1 GB of their gradient read and written.
#[test]
fn small_chunks_of_a_loss_are_found() {
    let loss = |rows: u32, us: [u32; 2], name: &str| {
        let kernel = "nvjet_tst_128x256_64x4_2x1_v_bz_TNT";
        let chunk = |calls: Calls| {
            let logits = format!("{rows}x4096, 4096x128256");
            let gradient = format!("128256x4096, 128256x{rows}, {rows}x4096, =1, =1");
            calls.call("aten::mm", &logits, kernel, us[0]).call(
                "aten::addmm",
                &gradient,
                kernel,
                us[1],
            )
        };
        let all = |calls| (0..8192 / rows).fold(calls, |calls, _| chunk(calls));
        Calls::new().inside(name, all).outcome_on("H100", "gemm")
    };
    let outcome = loss(128, [450, 900], "LigerFusedLinearCrossEntropyFunction");
    let finding = only(&outcome, "gemm_per_chunk");
    assert_contains(
        &finding.issue,
        &["128 calls of GEMMs take 128 rows of a loss at a time: 86.4 ms"],
    );
    // 17.2 TFLOP take 17.4 ms.
    let high_ns = finding.impact.map(|impact| impact.high_ns);
    assert!(high_ns.is_some_and(|ns| (60_000_000..70_000_000).contains(&ns)));
    let of_large = loss(1024, [1_500, 1_500], "LigerFusedLinearCrossEntropyFunction");
    assert_eq!(patterns(&of_large), [""; 0]);
    assert!(!patterns(&loss(128, [450, 900], "MyModel")).contains(&"gemm_per_chunk"));
}

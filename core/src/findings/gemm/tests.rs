//! Each pattern from a trace with one such product.

use super::super::finding::Impact;
use super::super::samples::Calls;
use super::*;
use crate::import::import;
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// One `aten::bmm` or `aten::mm` that takes 100 ms, and what is found of it on an MI300X.
fn found(op: &str, dims: &str, dtype: &str, kernel: &str) -> Vec<(&'static str, String)> {
    let profile = Timetable::new()
        .op(op, 0..10)
        .args(&format!(
            r#""Input Dims": {dims}, "Input type": ["{dtype}", "{dtype}"]"#
        ))
        .launch(1, 1..2)
        .kernel(1, kernel, 100..100_100)
        .profile();
    let options = options_on("MI300X");
    let report = Report::new(&profile, &options);
    let findings = &report.analyses.findings.ranked;
    findings
        .iter()
        .map(|ranked| (ranked.finding.pattern, ranked.finding.issue.clone()))
        .collect()
}

fn patterns(op: &str, dims: &str, dtype: &str, kernel: &str) -> Vec<&'static str> {
    let found = found(op, dims, dtype, kernel);
    found.into_iter().map(|(pattern, _)| pattern).collect()
}

const BF16: &str = "c10::BFloat16";

#[test]
fn each_pattern_is_seen() {
    let cases = [
        // 37 632 products of 8 × 64 by 64 × 8.
        (
            "aten::bmm",
            "[[37632, 8, 64], [37632, 64, 8]]",
            "Cijk_MT16x16x32",
            "tiny_batched",
        ),
        ("aten::mm", "[[1, 4096], [4096, 4096]]", "gemvx", "gemv"),
        // 65 536 is 128 times 512.
        (
            "aten::mm",
            "[[65536, 4096], [4096, 512]]",
            "gemm",
            "tall_skinny",
        ),
        // 4 tiles of 256 × 256 for 304 compute units.
        (
            "aten::mm",
            "[[512, 4096], [4096, 512]]",
            "Cijk_MT256x256x32",
            "few_output_tiles",
        ),
        // Rows of 1 022 elements are 2 044 bytes, no multiple of 16.
        (
            "aten::mm",
            "[[4096, 1022], [1022, 4096]]",
            "Cijk_MT16x16x32",
            "misaligned",
        ),
        // Large and regular: bound by arithmetic.
        (
            "aten::mm",
            "[[4096, 4096], [4096, 4096]]",
            "Cijk_MT128x128x32",
            "compute_bound_gap",
        ),
        // 8·64·(N + K) bytes for few products: bound by the memory.
        (
            "aten::mm",
            "[[64, 4096], [4096, 4096]]",
            "Cijk_MT16x16x32",
            "memory_bound_gap",
        ),
    ];
    for (op, dims, kernel, expected) in cases {
        assert_eq!(patterns(op, dims, BF16, kernel), [expected], "{dims}");
    }
}

/// A column times a row writes 8 192² numbers and has no rows to pad; an expert without tokens does
/// nothing at all.
#[test]
fn outer_and_empty_products_are_not_misread() {
    let kernel = "Cijk_MT16x16x32";
    let outer = patterns("aten::mm", "[[8192, 1], [1, 8192]]", BF16, kernel);
    assert_eq!(outer, ["outer_product"]);
    // Nor is it one for other units, or to be split along what it has not.
    let single = patterns("aten::mm", "[[131072, 1], [1, 64]]", "float", kernel);
    assert_eq!(single, ["outer_product"]);
    let empty = patterns("aten::mm", "[[0, 4096], [4096, 128]]", BF16, kernel);
    assert_eq!(empty, [""; 0]);
}

#[test]
fn the_issue_names_operation_sizes_time_and_efficiency() {
    let found = found(
        "aten::bmm",
        "[[37632, 8, 64], [37632, 64, 8]]",
        BF16,
        "Cijk_MT16x16x32",
    );
    // 2 · 37 632 · (8·64 + 64·8 + 8·8) bytes at 5.3 TB/s take 15.5 µs of the 100 ms.
    assert_eq!(
        found[0].1,
        "`aten::bmm` (37\u{202F}632 of 8×8×64) multiplies many tiny matrices: 100 ms (100 % of \
         compute) at <0.1 % of the roof."
    );
}

#[test]
fn an_efficient_product_is_no_finding() {
    // 2 · 8 192³ operations at 708 TFLOPS take 1.55 ms; 2 ms are 78 % of the roof.
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(r#""Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
        .launch(1, 1..2)
        .kernel(1, "Cijk_MT256x256x32", 100..2100)
        .profile();
    let options = options_on("MI300X");
    let report = Report::new(&profile, &options);
    assert!(report.analyses.findings.ranked.is_empty());
    let gemm = report.analyses.outcome("gemm").unwrap();
    assert_eq!(gemm.rows[0].class, "regular");
    assert!((gemm.efficiency_percent().unwrap() - 77.65).abs() < 0.01);
}

#[test]
fn a_layout_change_inside_is_worth_what_it_takes() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(r#""Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
        .launch(1, 1..2)
        .launch(2, 3..4)
        .kernel(1, "batched_transpose_32x32_half", 100..600)
        .kernel(2, "Cijk_MT256x256x32", 600..2600)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let finding = &report.analyses.findings.ranked[0].finding;
    assert_eq!(finding.pattern, "layout_change_inside");
    assert_eq!(finding.impact, Some(Impact::measured(500_000)));
}

#[test]
fn a_32_bit_product_among_16_bit_ones_gains_what_the_narrow_units_give() {
    let float = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]"#;
    let half = float.replace("float", "c10::BFloat16");
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(&half)
        .launch(1, 1..2)
        .op("aten::mm", 10..20)
        .args(float)
        .launch(2, 11..12)
        .kernel(1, "Cijk_MT256x256x32", 100..3100)
        .kernel(2, "Cijk_MT256x256x32", 3100..5100)
        .profile();
    let options = options_on("MI300X");
    let report = Report::new(&profile, &options);
    let ranked = &report.analyses.findings.ranked;
    let wide = ranked
        .iter()
        .find(|ranked| ranked.finding.pattern == "wide_precision")
        .unwrap();
    let impact = wide.finding.impact.unwrap();
    // 2 ms at the FP32 or TF32 rate become 2 ms · rate / 708.
    let rate = options.gpu.as_ref().and_then(|gpu| {
        let spec = report.judged[1].work?.compute?;
        crate::hardware::roofline::peak_tflops(spec, gpu, options.basis)
    });
    let left = 2e6 * rate.unwrap().0 / 708.0;
    assert!(
        (impact.high_ns as f64 - (2e6 - left)).abs() < 2.0,
        "{impact:?}"
    );
}

#[test]
fn names_of_kernels_tell_the_tile() {
    let cases = [
        (
            "Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16",
            Some((256, 128)),
        ),
        (
            "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
            Some((128, 256)),
        ),
        (
            "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn",
            Some((128, 64)),
        ),
        (
            "sm90_xmma_gemm_bf16bf16_tilesize128x128x64_warpgroupsize1x1x1",
            Some((128, 128)),
        ),
        // The first pair is the tile, behind it stand that along K and the stages.
        ("nvjet_tst_64x8_64x16_2x4_h_bz_TNT", Some((64, 8))),
        ("cutlass_80_tensorop_4x4_128x64_nn", None),
        // Two compute units write a tile together.
        (
            "cutlass3x_sm100_tensorop_s256x128x16gemm_bf16_256x128x64_4x1x1_0_tnn_align8_2sm",
            Some((128, 128)),
        ),
        ("void gemmk1_kernel<int, float, 256, 5>", None),
        ("MTx", None),
        ("MT99999999999999999999x1", None),
    ];
    for (kernel, tile) in cases {
        assert_eq!(output_tile(kernel), tile, "{kernel}");
    }
}

#[test]
fn a_product_of_matrix_and_vector_in_a_batch_has_no_weights() {
    let model = |op: &str, dims: &str| {
        let profile = Timetable::new()
            .op(op, 0..10)
            .args(&format!(
                r#""Input Dims": {dims}, "Input type": ["{BF16}", "{BF16}"]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "gemvx", 100..50_100)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let ranked = report.analyses.findings.ranked.iter();
        let mut found = ranked.filter(|ranked| ranked.finding.pattern == "gemv");
        found.next().unwrap().finding.model.clone()
    };
    assert!(model("aten::mm", "[[1, 4096], [4096, 4096]]").contains("weights"));
    // A query of each of 32 heads and the keys of 4 096 positions.
    let cached = model("aten::bmm", "[[32, 1, 128], [32, 128, 4096]]");
    assert!(
        cached.contains("cache") && !cached.contains("weights"),
        "{cached}"
    );
}

/// What to do about one product of 100 ms on a GPU: in the model, and in a kernel.
fn advice(gpu: &str, op: &str, dims: &str, dtype: &str, kernel: &str) -> (String, String) {
    let args = format!(r#""Input Dims": {dims}, "Input type": ["{dtype}", "{dtype}"]"#);
    let calls = Calls::new().call(op, &args, kernel, 100_000);
    let outcome = calls.outcome_on(gpu, "gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    (finding.model.clone(), finding.kernel.clone())
}

#[test]
fn narrower_types_are_those_that_the_gpu_has() {
    let square = "[[4096, 4096], [4096, 4096]]";
    let model = |gpu: &str, dtype: &str, kernel: &str| {
        let (model, _) = advice(gpu, "aten::mm", square, dtype, kernel);
        let types = model.split("; ").next().unwrap();
        types.trim_end_matches('.').to_owned()
    };
    assert_eq!(
        model("H100", BF16, "gemm"),
        "narrower types (FP8, INT8) where the accuracy allows, or sparsity where weights are sparse"
    );
    assert_eq!(
        model("A100-80GB", BF16, "gemm"),
        "narrower types (INT8) where the accuracy allows, or sparsity where weights are sparse"
    );
    assert_eq!(
        model("MI210", BF16, "Cijk_MT128x128x32"),
        "narrower types (INT8) where the accuracy allows"
    );
    // Products in 32 bits: 16 bits come first, and TF32 where it does not run.
    assert_eq!(
        model("A100-80GB", "float", "ampere_sgemm_128x64_nn"),
        "run it in BF16 or FP16 (autocast), or allow TF32 where the accuracy suffices"
    );
    assert_eq!(
        model(
            "A100-80GB",
            "float",
            "cutlass_80_tensorop_s1688gemm_128x128"
        ),
        "run it in BF16 or FP16 (autocast)"
    );
    assert_eq!(
        model("V100-32GB", "float", "volta_sgemm_128x64_nn"),
        "run it in FP16 (autocast)"
    );
}

#[test]
fn activations_are_not_taken_for_weights() {
    let values = "[[96, 1024, 1024], [96, 1024, 64]]";
    let (model, _) = advice("MI300X", "aten::bmm", values, BF16, "gemm");
    assert_eq!(
        model,
        "fuse it with what follows it (in attention, a fused attention kernel does); keep its \
         operands in a narrower type (FP8, INT8)."
    );
    // A product with weights.
    let (model, _) = advice(
        "MI300X",
        "aten::mm",
        "[[64, 4096], [4096, 4096]]",
        BF16,
        "gemm",
    );
    assert_eq!(
        model,
        "larger batches reuse each weight more often; weights in 8 or 4 bits halve or quarter what \
         is read; fuse the epilogue."
    );
}

#[test]
fn a_split_product_has_more_parts_than_output_tiles() {
    // 4 tiles of 256 × 256, each split along K.
    let dims = "[[512, 4096], [4096, 512]]";
    let split = "nvjet_hsh_256x256_64x4_1x2_h_bz_splitK_NNN";
    assert_eq!(
        patterns("aten::mm", dims, BF16, split),
        ["compute_bound_gap"]
    );
    let (_, kernel) = advice("MI300X", "aten::mm", dims, BF16, split);
    assert!(
        kernel.starts_with("tune tile sizes and the split along K"),
        "{kernel}"
    );
}

/// A product whose sizes nothing tells is not slow for being quantised.
#[test]
fn products_of_unknown_work_are_called_that() {
    let kernel = "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u>";
    let outcome = Calls::new()
        .call("MyFunction", "", kernel, 100_000)
        .outcome("gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "unmodelled_significant");
    assert_eq!(finding.replay, None);
    let texts = [&finding.title, &finding.issue, &finding.kernel];
    for text in texts.into_iter().chain(&finding.reasoning) {
        assert!(
            !text.contains("()") && !text.contains("reproducer"),
            "{text}"
        );
    }
    // Nothing says that it is regular.
    assert_eq!(outcome.rows[0].class, "");
    let outcome = Calls::new().graph(kernel, 10, 10_000).outcome("gemm");
    assert_eq!(outcome.rows[0].class, "quantised");
    assert!(outcome.findings.is_empty());
}

/// A tile of 64 × 32 on 788 × 768: 12 along N by 25 along M, for PyTorch's libraries see columns.
#[test]
fn tiles_lie_along_n_first() {
    let product = Product {
        batch: 1,
        m: 788,
        n: 768,
        k: 768,
        is_grouped: false,
    };
    assert_eq!(product.tiles((64, 32), true), 300);
    assert_eq!(product.tiles((64, 32), false), 13 * 24);
    // 15 rows by 16 384 columns: 64 tiles of 256 × 16 for 304 units.
    let dims = "[[15, 4096], [4096, 16384]]";
    let found = patterns(
        "aten::mm",
        dims,
        BF16,
        "Cijk_Alik_Bljk_BBS_BH_MT256x16x64_SK0",
    );
    assert_eq!(found, ["few_output_tiles"]);
}

#[test]
fn names_tell_a_split_along_k() {
    let cases = [
        ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU8_GSUAMBSK_K1", true),
        ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU0_SK3_SKXCCM8", true),
        (
            "Cijk_Alik_Bljk_BBS_BH_MT128x128x64_GSU1_GSUAMBSK_SK0_SKXCCM0",
            false,
        ),
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

/// Four tiles of 256 × 256. The longest kernel was launched with `grid`, of threads or of blocks.
#[test]
fn more_workgroups_than_tiles_are_a_split() {
    let launched = |call: &str, grid: &str| {
        let profile = Timetable::new()
            .without_flows()
            .op("aten::mm", 0..10)
            .args(&format!(
                r#""Input Dims": [[512, 4096], [4096, 512]], "Input type": ["{BF16}", "{BF16}"]"#
            ))
            .runtime(call, 1, 1..2)
            .kernel(1, "Cijk_Alik_Bljk_BBS_BH_MT256x256x32", 100..100_100)
            .args(&format!(r#""grid": {grid}, "block": [256, 1, 1]"#))
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let ranked = &report.analyses.findings.ranked;
        ranked[0].finding.pattern
    };
    let of_blocks = "hipLaunchKernel";
    assert_eq!(launched(of_blocks, "[4, 1, 1]"), "few_output_tiles");
    assert_eq!(launched(of_blocks, "[8, 1, 1]"), "compute_bound_gap");
    let of_threads = "hipExtModuleLaunchKernel";
    assert_eq!(launched(of_threads, "[1024, 1, 1]"), "few_output_tiles");
    assert_eq!(launched(of_threads, "[2048, 1, 1]"), "compute_bound_gap");
}

/// Complex numbers have no units of 16 bits: they are no wide precision among narrow ones.
#[test]
fn complex_products_are_not_to_be_narrowed() {
    let complex = r#""Input Dims": [[64, 512, 512], [64, 512, 512]], "Input type": ["c10::complex<float>", "c10::complex<float>"]"#;
    let half = r#""Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    let outcome = Calls::new()
        .calls(40, "aten::mm", half, "gemm", 2_000)
        .call("aten::bmm", complex, "cutlass_80_simt_cgemm", 50_000)
        .outcome("gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "compute_bound_gap");
    assert!(finding.issue.contains("aten::bmm"), "{}", finding.issue);
    let expected = "allow TF32 where the accuracy suffices; larger batches";
    assert!(finding.model.starts_with(expected), "{}", finding.model);
}

/// Products without parameters of their own: by the shapes of their arguments.
#[test]
fn sizes_come_from_the_model_too() {
    let fp8 = "c10::Float8_e4m3fn";
    let class = |op: &str, args: &str| {
        let outcome = Calls::new().call(op, args, "gemm", 100_000).outcome("gemm");
        outcome.rows[0].class.clone()
    };
    let mv = format!(r#""Input Dims": [[8192, 8192], [8192]], "Input type": ["{BF16}", "{BF16}"]"#);
    assert_eq!(class("aten::mv", &mv), "matrix × vector");
    let scaled = format!(
        r#""Input Dims": [[64, 8192], [64, 4096], [4096, 8192], [64, 1], [1, 8192], []], "Input type": ["{BF16}", "{fp8}", "{fp8}", "float", "float", ""]"#
    );
    assert_eq!(
        class("_C::cutlass_scaled_mm", &scaled),
        "tall and skinny, quantised"
    );
    let grouped = format!(
        r#""Input Dims": [[4096, 1024], [8, 1024, 2048], [8], [], []], "Input type": ["{BF16}", "{BF16}", "int", "", ""]"#
    );
    assert_eq!(class("aten::_grouped_mm", &grouped), "regular");
    let outcome = Calls::new()
        .call("aten::_grouped_mm", &grouped, "gemm", 100_000)
        .outcome("gemm");
    let issue = &outcome.findings[0].issue;
    assert!(issue.contains("8 groups of 512×2048×1024"), "{issue}");
}

/// Decoding with narrow weights: nothing doubts that they pay, and nothing asks for what is there.
#[test]
fn what_is_in_use_is_not_advised() {
    let fp8 = "c10::Float8_e4m3fn";
    let decode = "[[64, 4096], [4096, 4096]]";
    let (model, _) = advice("MI300X", "sgl_kernel::fp8_scaled_mm", decode, fp8, "gemm");
    assert!(
        model.starts_with("larger batches reuse each weight"),
        "{model}"
    );
    let square = "[[8192, 8192], [8192, 8192]]";
    let (model, _) = advice("MI300X", "sgl_kernel::fp8_scaled_mm", square, fp8, "gemm");
    assert!(
        model.starts_with("check that the quantisation pays"),
        "{model}"
    );
    // Half of the weights are zeros already.
    let args = format!(
        r#""Input Dims": [[8192, 4096], [8192, 512], [8192, 8192]], "Input type": ["{BF16}", "short int", "{BF16}"]"#
    );
    let calls = Calls::new().call("aten::_sparse_semi_structured_mm", &args, "gemm", 100_000);
    let model = &calls.outcome_on("H100", "gemm").findings[0].model;
    assert!(!model.contains("sparsity"), "{model}");
    // Four bits already.
    let args = format!(
        r#""Input Dims": [[1, 4096], [8388608, 1], [], [262144], [16], []], "Input type": ["{BF16}", "unsigned char", "ScalarList", "float", "float", "Scalar"], "Concrete Inputs": ["", "", "[4096, 4096]", "", "", "64"]"#
    );
    let calls = Calls::new().call("bitsandbytes::gemv_4bit", &args, "kgemm_4bit", 100_000);
    let outcome = calls.outcome_on("H100", "gemm");
    assert_eq!(outcome.rows[0].class, "matrix × vector, quantised");
    let model = &outcome.findings[0].model;
    assert!(
        model.starts_with("batch more requests or tokens into one product:"),
        "{model}"
    );
}

/// What is not whole vectors long, and what to pad it to.
#[test]
fn padding_names_the_size() {
    let found = |dims: &str, strides: &str| {
        let args = format!(
            r#""Input Dims": {dims}, "Input type": ["{BF16}", "{BF16}"], "Input Strides": {strides}"#
        );
        let calls = Calls::new().call("aten::mm", &args, "Cijk_MT16x16x32", 100_000);
        let outcome = calls.outcome("gemm");
        let finding = outcome.findings.first().expect("a finding");
        (finding.pattern, finding.model.replace('\u{202F}', " "))
    };
    // A vocabulary: skinny, too, but padding is the first thing.
    let (pattern, model) = found("[[141, 512], [512, 30522]]", "[[512, 1], [1, 512]]");
    assert_eq!(pattern, "misaligned");
    assert!(
        model.starts_with("pad N (30 522) to 30 528, the next multiple of 8"),
        "{model}"
    );
    // Rows of 1 004 numbers that begin 1 024 apart are whole vectors; 1 001 apart they are not.
    let dims = |k: u64| format!("[[4096, {k}], [{k}, 4096]]");
    let (pattern, _) = found(&dims(1004), "[[1024, 1], [4096, 1]]");
    assert_ne!(pattern, "misaligned");
    let (pattern, model) = found(&dims(1000), "[[1001, 1], [4096, 1]]");
    assert_eq!(pattern, "misaligned");
    assert!(
        model.starts_with("let the rows of A begin a multiple of 8"),
        "{model}"
    );
    // In a batch it is the length of a sequence.
    let args = format!(
        r#""Input Dims": [[96, 3137, 64], [96, 64, 3137]], "Input type": ["{BF16}", "{BF16}"]"#
    );
    let calls = Calls::new().call("aten::bmm", &args, "Cijk_MT16x16x32", 100_000);
    let model = calls.outcome("gemm").findings[0].model.clone();
    assert!(model.contains("length of the sequence"), "{model}");
}

/// 4096³ in single precision, 137 GFLOP: at the 15.7 TFLOPS of a V100 8.75 ms, so 10 ms are 87.5 % of
/// the roof; its matrix units do 125 TFLOPS in FP16.
#[test]
fn a_model_in_32_bits_gains_from_16_though_all_of_it_is() {
    let args = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]"#;
    let calls = Calls::new().calls(20, "aten::mm", args, "volta_sgemm_128x128_nn", 10_000);
    let outcome = calls.outcome_on("V100-16GB", "gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.title, "Products in 32 bits");
    assert_eq!(finding.model, "run it in FP16 (autocast).");
    // 200 ms at the same distance from 125 TFLOPS: 25.1 ms.
    let impact = finding.impact.unwrap();
    assert!(
        (174_800_000..174_900_000).contains(&impact.high_ns),
        "{impact:?}"
    );
    // Doubles are so on purpose.
    let double = args.replace("float", "double");
    let calls = Calls::new().calls(20, "aten::mm", &double, "dgemm_128x64", 20_000);
    let outcome = calls.outcome_on("H100", "gemm");
    assert!(!outcome.rows[0].class.contains("32-bit"));
}

/// 2·8192³ operations in 3 ms are 366 TFLOPS: 224 % of what MI300X has in FP32, 56 % of its XF32.
#[test]
fn what_runs_in_tf32_is_judged_by_it() {
    let args = r#""Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["float", "float"]"#;
    let percent = |gpu: &str, kernel: &str, us: u32| {
        let outcome = Calls::new()
            .call("aten::mm", args, kernel, us)
            .outcome_on(gpu, "gemm");
        outcome.rows[0].efficiency_percent.unwrap().round()
    };
    let near = |found: f64, expected: f64| (found - expected).abs() < 0.5;
    assert!(near(
        percent("MI300X", "Cijk_Ailk_Bljk_S_MX_B_MT256x256x32", 3_000),
        56.0
    ));
    assert!(near(
        percent("MI300X", "Cijk_Ailk_Bljk_S_B_MT256x256x32", 12_000),
        56.0
    ));
    // 733 of the 1 100 TFLOPS of a B200.
    assert!(near(
        percent(
            "B200",
            "cutlass3x_sm100_tensorop_tf32_tf32_f32_256x128x32",
            1_500
        ),
        67.0
    ));
}

/// 4 µs each: they are no bottlenecks by their efficiency, and no kernel takes less than 2 µs.
#[test]
fn short_products_are_told_by_their_number() {
    let args =
        format!(r#""Input Dims": [[64, 256], [256, 256]], "Input type": ["{BF16}", "{BF16}"]"#);
    let outcome = Calls::new()
        .calls(
            1_500,
            "aten::mm",
            &args,
            "nvjet_tst_64x8_64x16_1x2_h_bz_NNN",
            4,
        )
        .outcome_on("H100", "gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "many_small_products");
    assert_eq!(finding.impact.unwrap().high_ns, 3_000_000);
}

/// 300 tiles for 304 compute units leave next to none without work; 144 for 132 leave a round of 12.
#[test]
fn tiles_are_few_only_where_units_have_none() {
    let kernel = "Cijk_Alik_Bljk_BBS_BH_MT64x32x64_SK0";
    let dims = "[[788, 768], [768, 768]]";
    assert_eq!(
        patterns("aten::mm", dims, BF16, kernel),
        ["compute_bound_gap"]
    );
    let dims = "[[2176, 8192], [8192, 2048]]";
    let (model, _) = advice(
        "H100",
        "aten::mm",
        dims,
        BF16,
        "nvjet_tst_128x256_64x4_1x2_h_bz_NNN",
    );
    assert!(
        model.starts_with("the last of 2 rounds has 12 tiles for 132 compute units: "),
        "{model}"
    );
}

/// A low-rank adapter reads 512 kB and writes 128 MiB.
#[test]
fn what_writes_most_is_not_told_to_read_less() {
    let model = |op: &str, dims: &str| advice("H100", op, dims, BF16, "gemm").0;
    let adapter = model("aten::mm", "[[8192, 16], [16, 8192]]");
    assert!(
        adapter.starts_with("most of what it moves is the result"),
        "{adapter}"
    );
    let scores = model("aten::bmm", "[[512, 1024, 64], [512, 64, 1024]]");
    assert!(!scores.contains("narrower"), "{scores}");
    // Few rows: more of them help, and narrower weights.
    let tokens = model("aten::mm", "[[32, 8192], [8192, 8192]]");
    assert_eq!(
        tokens,
        "more rows in one product (larger batches, several tokens at once) make the short side \
         grow; where it reads weights, 8 or 4 bits halve or quarter what is read."
    );
}

/// The table does not know how many units a GB200 has; the trace does: 32 tiles for 152.
#[test]
fn compute_units_come_from_the_trace() {
    let pattern = |devices: &str| {
        let timetable = Timetable::new()
            .op("aten::mm", 0..10)
            .args(&format!(
                r#""Input Dims": [[1024, 8192], [8192, 1024]], "Input type": ["{BF16}", "{BF16}"]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "nvjet_tst_128x256_64x4_1x2_h_bz_NNN", 100..60_100);
        let device = format!(r#"{{"deviceProperties": {devices}, "#);
        let json = timetable.json().replacen('{', &device, 1);
        let profile = Profile::new(import(json.as_bytes()).unwrap());
        let report = Report::new(&profile, &options_on("GB200"));
        report.analyses.findings.ranked[0].finding.pattern
    };
    let device = r#"[{"id": 0, "name": "NVIDIA GB200", "numSms": 152}]"#;
    assert_eq!(pattern(device), "few_output_tiles");
    // Another GPU's units say nothing of this one.
    let device = device.replace("GB200", "B200");
    assert_eq!(pattern(&device), "compute_bound_gap");
}

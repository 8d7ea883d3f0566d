//! What advice names, by GPU, type and sizes.

use super::*;

#[test]
fn fp32_among_16_bit_gemms_saves_what_the_narrow_units_give() {
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
fn a_gemv_in_a_batch_has_no_weights() {
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
    // In FP32: 16 bits come first, and TF32 where it does not run.
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
    // A GEMM with weights.
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

/// Complex numbers have no units of 16 bits: they are no wide precision among narrow ones.
#[test]
fn complex_gemms_are_not_to_be_narrowed() {
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
    assert!(model.contains("quantization pays"), "{model}");
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
    assert_eq!(outcome.rows[0].class, "matrix × vector, quantized");
    let model = &outcome.findings[0].model;
    assert!(
        model.starts_with("batch more requests or tokens into one GEMM:"),
        "{model}"
    );
}

/// What is misaligned, and what to pad it to.
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
    // Rows of 1 004 numbers that start 1 024 apart are aligned; 1 001 apart they are not.
    let dims = |k: u64| format!("[[4096, {k}], [{k}, 4096]]");
    let (pattern, _) = found(&dims(1004), "[[1024, 1], [4096, 1]]");
    assert_ne!(pattern, "misaligned");
    let (pattern, model) = found(&dims(1000), "[[1001, 1], [4096, 1]]");
    assert_eq!(pattern, "misaligned");
    assert!(
        model.contains("the rows of A") && model.contains("multiple of 8"),
        "{model}"
    );
    // In a batch it is the length of a sequence.
    let args = format!(
        r#""Input Dims": [[96, 3137, 64], [96, 64, 3137]], "Input type": ["{BF16}", "{BF16}"]"#
    );
    let calls = Calls::new().call("aten::bmm", &args, "Cijk_MT16x16x32", 100_000);
    let model = calls.outcome("gemm").findings[0].model.clone();
    assert!(model.contains("sequence length"), "{model}");
}

/// 4096³ in FP32, 137 GFLOP: at the 15.7 TFLOPS of a V100 8.75 ms, so 10 ms are 87.5 % of
/// the roofline; its matrix units do 125 TFLOPS in FP16.
#[test]
fn a_model_in_fp32_gains_from_16_bits_though_all_of_it_is() {
    let args = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]"#;
    let calls = Calls::new().calls(20, "aten::mm", args, "volta_sgemm_128x128_nn", 10_000);
    let outcome = calls.outcome_on("V100-16GB", "gemm");
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "wide_precision");
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
    assert!(outcome.rows[0].class != "FP32");
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
    assert!(tokens.contains("larger batches"), "{tokens}");
    assert!(tokens.contains("8 or 4 bits"), "{tokens}");
}

//! Advice by GPU, type and sizes.

use super::*;
use crate::findings::Finding;
use crate::hardware::{Precision, find};

/// The advice about the model for one GEMM of 100 ms, from the only finding.
fn model(gpu: &str, op: &str, args: &str, kernel: &str) -> String {
    let [finding]: [Finding; 1] = slow(gpu, op, args, kernel).findings.try_into().unwrap();
    finding.model
}

const SQUARE: &str = "4096x4096*2";
const SQUARE_FP32: &str = "4096x4096:float*2";
const DECODE: &str = "64x4096, 4096x4096";

#[test]
fn fp32_among_16_bit_gemms_saves_what_the_narrow_units_give() {
    let kernel = "Cijk_MT256x256x32";
    let calls = Calls::new().call("aten::mm", SQUARE, kernel, 3000);
    let calls = calls.call("aten::mm", SQUARE_FP32, kernel, 2000);
    let outcome = calls.outcome("gemm");
    let impact = found(&outcome, "wide_precision").impact.unwrap();
    // Of FP32 only the peak is known: 2 ms become 2 ms · 163.4 / 1307.4, both peaks.
    let basis = options_on("MI300X").basis;
    let gpu = find("MI300X").unwrap();
    let times = gpu.times_the_rate(Precision::Bf16, Precision::Fp32, basis);
    assert!((times.unwrap() - 8.0).abs() < 0.01, "{times:?}");
    let left = 2e6 / times.unwrap();
    let saved = impact.high_ns as f64;
    assert!((saved - (2e6 - left)).abs() < 2.0, "{impact:?}");
    // TF32 at 80 % of its peak: in 16 bits it would take half of the time at the same share of the peak, but no kernel
    // exceeds the 708 TFLOPS that are achievable.
    let tf32 = "Cijk_Ailk_Bljk_S_MX_B_MT256x256x32";
    let calls = Calls::new().call("aten::mm", SQUARE_FP32, tf32, 263);
    let impact = found(&calls.outcome("gemm"), "wide_precision").impact;
    let left_ns = 263_000 - impact.unwrap().high_ns;
    assert!((194_000..195_000).contains(&left_ns), "{left_ns}");
}

/// FP32 layers of 24 sizes, each 2.6 % of the time of GEMMs: together they are two fifths of it.
#[test]
fn a_cause_counts_for_all_sizes_together() {
    let among = |dtype: &str| {
        let calls = Calls::new().call("aten::mm", SQUARE, "Cijk_MT256x256x32", 3_000);
        let calls = (0..24).fold(calls, |calls, nth| {
            let k = 4_096 + 128 * nth;
            let args = format!("1024x{k}:{dtype}, {k}x1024:{dtype}");
            calls.call("aten::mm", &args, "Cijk_MT256x256x32", 130)
        });
        calls.outcome("gemm")
    };
    let outcome = among("float");
    let single = found(&outcome, "wide_precision");
    assert_eq!((single.operations.len(), single.time_ns), (24, 3_120_000));
    assert!(!patterns(&among("c10::BFloat16")).contains(&"wide_precision"));
}

#[test]
fn a_gemv_in_a_batch_has_no_weights() {
    let model = |op, args| model("MI300X", op, args, "gemvx");
    assert_contains(&model("aten::mm", "1x4096, 4096x4096"), &["weights"]);
    // One query for each of 32 heads, and the keys of 4 096 positions.
    let cached = model("aten::bmm", "32x1x128, 32x128x4096");
    assert_contains(&cached, &["cache"]);
    assert_contains_none(&cached, &["weights"]);
}

#[test]
fn narrower_types_are_those_that_the_gpu_has() {
    #[rustfmt::skip]
    let cases = [
        ("H100", SQUARE, "gemm", "narrower types (FP8, INT8) where the accuracy allows, or sparsity where weights are sparse"),
        ("A100-80GB", SQUARE, "gemm", "narrower types (INT8) where the accuracy allows, or sparsity where weights are sparse"),
        ("MI210", SQUARE, "Cijk_MT128x128x32", "narrower types (INT8) where the accuracy allows"),
        // In FP32: 16 bits come first, and TF32 if it is not used yet.
        ("A100-80GB", SQUARE_FP32, "ampere_sgemm_128x64_nn", "run it in BF16 or FP16 (autocast), or allow TF32 where the accuracy suffices (`torch.set_float32_matmul_precision(\"high\")`)"),
        ("A100-80GB", SQUARE_FP32, "cutlass_80_tensorop_s1688gemm_128x128", "run it in BF16 or FP16 (autocast)"),
        ("V100-32GB", SQUARE_FP32, "volta_sgemm_128x64_nn", "run it in FP16 (autocast)"),
    ];
    for (gpu, args, kernel, expected) in cases {
        let model = model(gpu, "aten::mm", args, kernel);
        let types = model.split("; ").next().unwrap();
        assert_eq!(types.trim_end_matches('.'), expected, "{gpu} {args}");
    }
}

#[test]
fn activations_are_not_taken_for_weights() {
    #[rustfmt::skip]
    let cases = [
        ("aten::bmm", "96x1024x1024, 96x1024x64", "fuse it with what follows it (in attention, a fused attention kernel does); keep its operands in a narrower type (FP8, INT8)."),
        // A GEMM with weights.
        ("aten::mm", DECODE, "larger batches reuse each weight more often; weights in 8 or 4 bits halve or quarter what is read; fuse the epilogue."),
    ];
    for (op, args, expected) in cases {
        assert_eq!(model("MI300X", op, args, "gemm"), expected);
    }
}

/// Complex numbers have no 16-bit units: they do not count as wide precision among narrow types.
#[test]
fn complex_gemms_are_not_to_be_narrowed() {
    let complex = "64x512x512:c10::complex<float>*2";
    let outcome = Calls::new()
        .calls(40, "aten::mm", "8192x8192*2", "gemm", 2_000)
        .call("aten::bmm", complex, "cutlass_80_simt_cgemm", 50_000)
        .outcome("gemm");
    let finding = only(&outcome, "compute_bound_gap");
    assert_contains(&finding.issue, &["aten::bmm"]);
    // TF32 is for real numbers alone there.
    let expected = "larger batches help";
    assert!(finding.model.starts_with(expected), "{}", finding.model);
}

/// Decoding with narrow weights: the advice neither questions them nor suggests what is already used.
#[test]
fn what_is_in_use_is_not_advised() {
    let scaled = |rows: u32, n: u32| {
        let args = format!("{rows}x{n}:c10::Float8_e4m3fn, {n}x{n}:c10::Float8_e4m3fn");
        model("MI300X", "sgl_kernel::fp8_scaled_mm", &args, "gemm")
    };
    assert_contains(&scaled(64, 4096), &["larger batches reuse each weight"]);
    assert_contains(&scaled(8192, 8192), &["granularities of scales"]);
    // Half of the weights are already zero.
    let args = "8192x4096, 8192x512:short int, 8192x8192";
    let outcome = slow("H100", "aten::_sparse_semi_structured_mm", args, "gemm");
    assert_contains_none(&outcome.findings[0].model, &["sparsity"]);
    // Already four bits.
    let args = "1x4096, 8388608x1:unsigned char, =[4096, 4096], 262144:float, 16:float, =64";
    let outcome = slow("H100", "bitsandbytes::gemv_4bit", args, "kgemm_4bit");
    assert_eq!(outcome.rows[0].class, "matrix × vector, quantized");
    let model = &outcome.findings[0].model;
    assert_contains(
        model,
        &["batch more vectors (requests, tokens, output columns) into one GEMM:"],
    );
}

/// What is misaligned, and what to pad it to.
#[test]
fn padding_names_the_size() {
    let found = |op: &str, args: &str| {
        let outcome = slow("MI300X", op, args, "Cijk_MT16x16x32");
        let finding = outcome.findings.first().expect("a finding");
        (finding.pattern, finding.model.clone())
    };
    #[rustfmt::skip]
    let cases = [
        // A vocabulary: also skinny, but padding comes first.
        ("aten::mm", "141x512@512x1, 512x30522@1x512", "pad N (30 522) to 30 528, the next multiple of 8"),
        // Rows of 1 000 elements with a pitch of 1 001.
        ("aten::mm", "4096x1000@1001x1, 1000x4096@4096x1", "make the row stride of A a multiple of 8"),
        // In a batch it is a sequence length.
        ("aten::bmm", "96x3137x64, 96x64x3137", "sequence length"),
    ];
    for (op, args, expected) in cases {
        let (pattern, model) = found(op, args);
        assert_eq!(pattern, "misaligned", "{args}");
        assert_contains(&model, &[expected]);
    }
    // Rows of 1 004 elements with a pitch of 1 024 are aligned.
    let (pattern, _) = found("aten::mm", "4096x1004@1024x1, 1004x4096@4096x1");
    assert_ne!(pattern, "misaligned");
}

/// 4096³ in FP32, 137 GFLOP: 8.75 ms at the 15.7 TFLOPS of a V100, so 10 ms is 87.5 % of the roofline; its matrix units
/// reach 125 TFLOPS in FP16.
#[test]
fn a_model_in_fp32_gains_from_16_bits_though_all_of_it_is() {
    let outcome = |gpu: &str, args: &str, us: u32| {
        let calls = Calls::new().calls(20, "aten::mm", args, "gemm_128x128_nn", us);
        calls.outcome_on(gpu, "gemm")
    };
    let single = outcome("V100-16GB", SQUARE_FP32, 10_000);
    let finding = only(&single, "wide_precision");
    assert_eq!(finding.model, "run it in FP16 (autocast).");
    // 200 ms with the same efficiency at 125 TFLOPS: 25.1 ms.
    let saved_ns = finding.impact.unwrap().high_ns;
    assert!((174_800_000..174_900_000).contains(&saved_ns), "{saved_ns}");
    // Doubles are used intentionally.
    let double = outcome("H100", "4096x4096:double*2", 20_000);
    assert!(double.rows[0].class != "FP32");
}

/// 2·8192³ operations in 3 ms are 366 TFLOPS: 224 % of the FP32 rate of MI300X, 56 % of its XF32 rate.
#[test]
fn what_runs_in_tf32_is_judged_by_it() {
    #[rustfmt::skip]
    let cases = [
        ("MI300X", "Cijk_Ailk_Bljk_S_MX_B_MT256x256x32", 3_000, 56.0),
        ("MI300X", "Cijk_Ailk_Bljk_S_B_MT256x256x32", 12_000, 56.0),
        // 733 of the 1 100 TFLOPS of a B200.
        ("B200", "cutlass3x_sm100_tensorop_tf32_tf32_f32_256x128x32", 1_500, 67.0),
    ];
    for (gpu, kernel, us, expected) in cases {
        let calls = Calls::new().call("aten::mm", "8192x8192:float*2", kernel, us);
        let percent = calls.outcome_on(gpu, "gemm").rows[0].efficiency_percent;
        assert!((percent.unwrap() - expected).abs() < 1.0, "{percent:?}");
    }
}

/// A low-rank adapter reads 512 kB and writes 128 MiB.
#[test]
fn what_writes_most_is_not_advised_to_read_less() {
    let model = |op, args| model("H100", op, args, "gemm");
    let adapter = model("aten::mm", "8192x16, 16x8192");
    assert_contains(&adapter, &["most of what it moves is the result"]);
    let scores = model("aten::bmm", "512x1024x64, 512x64x1024");
    assert_contains_none(&scores, &["narrower"]);
    // Few rows: more rows help, and narrower weights.
    let tokens = model("aten::mm", "32x8192, 8192x8192");
    assert_contains(&tokens, &["larger batches", "8 or 4 bits"]);
}

/// FP64 has 1/64 of the rate of FP32 on a gaming GPU; on one for computing it is what was asked for.
#[test]
fn fp64_is_named_on_a_gpu_that_is_not_made_for_it() {
    let keys = |gpu: &str, us: u32| {
        let calls = Calls::new().call("aten::mm", "2048x2048:double*2", "ampere_dgemm", us);
        patterns(&calls.outcome_on(gpu, "gemm")).concat()
    };
    assert_eq!(keys("RTX-4090", 16_600), "wide_precision");
    assert_eq!(keys("A100-80GB", 1_100), "");
}

/// At 80 % of the memory bandwidth one vector has nothing to gain but a narrower type.
#[test]
fn a_fast_gemv_in_fp32_is_about_its_type() {
    let keys = |us: u32| {
        let args = "8192x8192:float, 8192:float";
        let calls = Calls::new().call("aten::mv", args, "gemv2T", us);
        patterns(&calls.outcome_on("H100", "gemm")).concat()
    };
    assert_eq!(keys(400), "gemv");
    assert_eq!(keys(100), "wide_precision");
}

use super::super::samples::{Calls, only, patterns, says};

/// 2·4096³ operations at the 65 TFLOPS of a T4 in FP16: 2.11 ms of 30.
#[test]
fn bf16_on_a_gpu_without_it_is_told_to_be_fp16() {
    let calls = Calls::new().call("aten::mm", "4096x4096*2", "gemmSN_NN_kernel", 30_000);
    let outcome = calls.outcome_on("T4", "gemm");
    let finding = only(&outcome, "no_units_for_type");
    says(&finding.model, &["FP16"]);
    let saved_ns = finding.impact.unwrap().high_ns;
    assert!((27_880_000..27_890_000).contains(&saved_ns), "{saved_ns}");
    // With such units it is a GEMM like any other.
    let outcome = calls.outcome_on("A10", "gemm");
    assert_eq!(patterns(&outcome), ["compute_bound_gap"]);
}

#[test]
fn attention_and_convolutions_are_told_as_well() {
    let convolution = "32x64x56x56, 64x64x3x3, _, =[1, 1]*3, =False, =[0, 0], =1";
    #[rustfmt::skip]
    let cases = [
        ("aten::_scaled_dot_product_flash_attention", "2x16x2048x64*3, =0.0, =False", "flash_fwd", "V100-32GB", "sdpa_fwd"),
        ("aten::convolution", convolution, "implicit_convolve_sgemm", "T4", "convolution"),
    ];
    for (op, args, kernel, gpu, key) in cases {
        let outcome = Calls::new()
            .call(op, args, kernel, 30_000)
            .outcome_on(gpu, key);
        assert_eq!(patterns(&outcome), ["no_units_for_type"], "{op}");
    }
}

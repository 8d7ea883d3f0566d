use super::super::samples::{Calls, found, patterns};

/// 2·4096³ operations at the 65 TFLOPS that a T4 has in FP16: 2.11 ms of 30.
#[test]
fn bf16_on_a_gpu_without_it_is_told_to_be_fp16() {
    let args = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    let calls = Calls::new().call("aten::mm", args, "gemmSN_NN_kernel", 30_000);
    let outcome = calls.outcome_on("T4", "gemm");
    assert_eq!(patterns(&outcome), ["no_units_for_type"]);
    let finding = found(&outcome, "no_units_for_type");
    assert!(finding.model.contains("FP16"), "{}", finding.model);
    let impact = finding.impact.unwrap();
    assert!(
        (27_880_000..27_890_000).contains(&impact.high_ns),
        "{impact:?}"
    );
    // With such units it is a GEMM like others.
    let outcome = calls.outcome_on("A10", "gemm");
    assert_eq!(patterns(&outcome), ["compute_bound_gap"]);
}

#[test]
fn attention_and_convolutions_are_told_as_well() {
    let qkv = "[2, 16, 2048, 64]";
    let bf16 = r#""c10::BFloat16""#;
    let attention = format!(
        r#""Input Dims": [{qkv}, {qkv}, {qkv}, [], []], "Input type": [{bf16}, {bf16}, {bf16}, "", ""], "Concrete Inputs": ["", "", "", "0.0", "False"]"#
    );
    let convolution = r#""Input Dims": [[32, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]"#;
    #[rustfmt::skip]
    let cases = [
        ("aten::_scaled_dot_product_flash_attention", attention.as_str(), "flash_fwd", "V100-32GB", "sdpa_fwd"),
        ("aten::convolution", convolution, "implicit_convolve_sgemm", "T4", "convolution"),
    ];
    for (op, args, kernel, gpu, key) in cases {
        let outcome = Calls::new()
            .call(op, args, kernel, 30_000)
            .outcome_on(gpu, key);
        assert_eq!(patterns(&outcome), ["no_units_for_type"], "{op}");
    }
}

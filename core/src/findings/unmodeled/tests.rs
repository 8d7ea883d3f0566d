use super::super::samples::{Calls, assert_contains, only, patterns};

/// 2·4096³ operations at the 65 TFLOPS of a T4 in FP16: 2.11 ms of 30.
#[test]
fn bf16_on_a_gpu_without_it_is_advised_to_be_fp16() {
    let calls = Calls::new().call("aten::mm", "4096x4096*2", "gemmSN_NN_kernel", 30_000);
    let outcome = calls.outcome_on("T4", "gemm");
    let finding = only(&outcome, "no_units_for_type");
    assert_contains(&finding.model, &["FP16"]);
    let saved_ns = finding.impact.unwrap().high_ns;
    assert!((27_880_000..27_890_000).contains(&saved_ns), "{saved_ns}");
    // With such units it is a GEMM like any other.
    let outcome = calls.outcome_on("A10", "gemm");
    assert_eq!(patterns(&outcome), ["compute_bound_gap"]);
}

#[test]
fn attention_and_convolutions_are_reported_as_well() {
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

#[test]
fn names_of_which_the_same_is_said_share_a_finding() {
    let names = [
        "triton_poi_fused_0",
        "triton_poi_fused_1",
        "triton_red_fused_2",
    ];
    let calls = names.iter().fold(Calls::new(), |calls, name| {
        calls.call(name, "", name, 30_000)
    });
    let outcome = calls.outcome("triton");
    let finding = only(&outcome, "unmodeled_significant");
    assert_contains(&finding.title, &["`triton_poi_fused_0` and 2 more"]);
    assert_contains(&finding.issue, &["take 90.0 ms"]);
    assert_eq!(finding.operations.len(), 3);
}

#[test]
fn factorizations_are_no_gemms() {
    let eigh = "2048x2048, =L, =True";
    let calls = Calls::new().call("aten::_linalg_eigh", eigh, "magma_sgemm_kernel", 30_000);
    let outcome = calls.outcome("gemm");
    let finding = only(&outcome, "unmodeled_significant");
    assert_contains(&finding.issue, &["of this matrix factorization"]);
    assert_contains(&finding.model, &["preferred_linalg_library"]);
    assert_eq!(finding.impact, None);
}

#[test]
fn a_kernel_in_few_workgroups_leaves_most_of_the_gpu_idle() {
    let kernel_in = |workgroups: u32| {
        let grid = format!(r#""grid": [{workgroups}, 1, 1], "block": [256, 1, 1]"#);
        let calls = Calls::new().call("my::op", "64x64", "my_kernel", 30_000);
        calls.with(|table| table.args(&grid)).outcome("other")
    };
    let outcome = kernel_in(16);
    let finding = only(&outcome, "few_workgroups");
    assert_eq!(
        finding.title,
        "`my::op` in 16 workgroups on 304 compute units"
    );
    assert_eq!(finding.impact, None);
    assert_eq!(patterns(&kernel_in(304)), ["unmodeled_significant"]);
    // A fill takes nearly all of the time.
    let loss_in = |fill_us: f64| {
        let grid = r#""grid": [1, 1, 1], "block": [256, 1, 1]"#;
        let fill = "vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>";
        let kernels = [
            (fill, fill_us),
            ("nll_loss_backward_reduce_cuda_kernel_2d", 2_000.0),
        ];
        let calls = Calls::new().kernels("aten::nll_loss_backward", "", &kernels);
        calls.with(|table| table.args(grid)).outcome("reduce")
    };
    assert_eq!(patterns(&loss_in(100.0)), ["few_workgroups"]);
    assert_eq!(patterns(&loss_in(28_000.0)), ["unmodeled_significant"]);
}

/// Without shapes, the name of the kernel tells: 67 of 989.4 TFLOPS on an H100.
#[test]
fn the_name_of_a_kernel_can_say_that_it_is_on_vector_units() {
    let of = |op: &str, kernel: &str| {
        let calls = Calls::new().call(op, "", kernel, 30_000);
        calls.outcome_on("H100", "gemm")
    };
    let outcome = of("aten::mm", "ampere_sgemm_128x64_nn");
    let finding = only(&outcome, "fp32_on_vector_units");
    let saved_us = finding.impact.unwrap().high_ns / 1000;
    assert!((27_900..28_000).contains(&saved_us), "{saved_us}");
    assert_contains(&finding.model, &["BF16", "set_float32_matmul_precision"]);
    let tf32 = of("aten::mm", "cutlass_80_tensorop_s1688gemm_128x128");
    assert_eq!(patterns(&tf32), ["unmodeled_significant"]);
}

/// 4·4·32·8 192²·128 operations take 4.44 ms at the 989.4 TFLOPS of an H100, if all blocks are computed.
#[test]
fn a_block_mask_leaves_the_flops_unknown() {
    let masked = |us: u32| {
        let (q, kv) = ("4x32x8192x128", "4x32x8192x128*2");
        let mask = "1x1x64:int, 1x1x64x64:int";
        let args = format!("{q}, {kv}, 4x32x8192:float, {mask}, {q}");
        let name = "triton_tem_fused_flex_attention_0";
        let calls = Calls::new().call(name, &args, name, us);
        calls.outcome_on("H100", "triton")
    };
    // At most 30 %, whatever the mask skips; 100 % saves 70 % of the time.
    let outcome = masked(14_800);
    let finding = only(&outcome, "masked_attention");
    assert_contains(&finding.issue, &["with all of them it would be at 30.0 %"]);
    let saved_us = finding.impact.unwrap().high_ns / 1000;
    assert!((10_340..10_370).contains(&saved_us), "{saved_us}");
    // With half of the blocks this is 50 %, with a tenth 10 %.
    let outcome = masked(4_440);
    let finding = only(&outcome, "unmodeled_significant");
    assert_contains(&finding.issue, &["how many blocks its mask keeps"]);
    assert_eq!(finding.impact, None);
}

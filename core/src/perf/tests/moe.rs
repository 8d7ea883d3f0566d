//! Mixtures of experts.

use super::{check, counted};
use crate::perf::ComputeSpec;
use crate::perf::Param;

#[test]
fn packed_weights_take_the_bytes_they_have() {
    // As unpacked ones, 2 × 3 and 8 × 12 for each expert, whose bytes are halves: 2 to a byte, 8 to
    // four. Both ends, and three matrices of one expert.
    let name = "vllm::inplace_fused_experts";
    let work = |shapes: &str| counted(name, shapes, &[]).unwrap().work;
    let bytes = "1x8:c10::Half, 4x24x4:unsigned char, 4x8x6:unsigned char, 1x1:float, 1x1:int";
    let words = "1x8:c10::Half, 4x16x1:int, 4x8x1:int, 1x1:float, 1x1:int";
    // 3 products of 2·8·12, and 8 results weighted; 3 · 96 halves of a byte.
    let two = work(bytes);
    assert_eq!((two.flops, two.bytes), (584.0, Some(32.0 + 144.0)));
    // 3 products of 2·8·8; 3 · 64 halves of a byte.
    let eight = work(words);
    assert_eq!((eight.flops, eight.bytes), (392.0, Some(32.0 + 96.0)));
    for work in [two, eight] {
        let spec = work.compute.map(ComputeSpec::label);
        assert_eq!(spec.as_deref(), Some("matrix_fp16"));
    }
    // A pair of four bits is a type of its own: half a byte, multiplied as it is.
    let pairs =
        "1x8:c10::Half, 4x24x4:c10::Float4_e2m1fn_x2, 4x8x6:c10::Float4_e2m1fn_x2, 1x1, 1x1";
    let pairs = work(pairs);
    assert_eq!((pairs.flops, pairs.bytes), (two.flops, two.bytes));
    let spec = pairs.compute.map(ComputeSpec::label);
    assert_eq!(spec.as_deref(), Some("matrix_fp4"));
}

#[test]
fn packed_weights_of_one_product() {
    // Three rows of 8, one expert each of four: 2·3·8·5; ends of 3·(8 + 5), and of 4·(1 − (3/4)³)
    // experts 5 · 8 weights of half a byte.
    let name = "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel";
    let shapes = "3x8, 4x5x4:unsigned char, , , , , , , 3x1:int";
    let experts = 4.0 - 27.0 / 16.0;
    check(name, shapes, &[], 240.0, 78.0 + experts * 20.0);
    let params = counted(name, shapes, &[]).unwrap().params;
    assert!(params.contains(&("K", Param::Int(4.0))));
}

#[test]
fn mixtures_of_experts() {
    // One token of 2 chooses one of 4 experts: three products of 2 × 3, and its result weighted.
    // Both ends, and three matrices of one expert.
    check(
        "pseudo_op::moe_aiter_fused_1stage",
        "1x2, 4x6x2, 4x2x3, 1x1",
        &[],
        38.0,
        2.0 * (4.0 + 18.0),
    );
    check(
        "aiter::moe_cktile2stages_gemm1_ck",
        "1x2, 4x6x2, 4x2x3, 1x1",
        &[],
        24.0,
        2.0 * (2.0 + 12.0 + 3.0),
    );
    check(
        "aiter::moe_cktile2stages_gemm2_ck",
        "1x2, 4x6x2, 4x2x3, 1x1",
        &[],
        12.0,
        2.0 * (3.0 + 6.0 + 2.0),
    );
    check("MoEDispatch", "8x4", &[], 0.0, 64.0);
}

/// The token and matrices have a byte each, results two.
#[test]
fn results_of_narrow_tokens_are_wide() {
    let fp8 = |shape: &str| format!("{shape}:c10::Float8_e4m3fnuz");
    let (x, w1, w2) = (fp8("1x2"), fp8("4x6x2"), fp8("4x2x3"));
    let stage_1 = format!("{x}, {w1}, {w2}, , , , 1x1x3, ");
    let values = ["", "", "", "1"];
    check(
        "aiter::ck_moe_stage1",
        &stage_1,
        &values,
        24.0,
        2.0 + 12.0 + 6.0,
    );
    let stage_2 = format!("{}, {w1}, {w2}, , , , 1x2, ", fp8("1x1x3"));
    check(
        "aiter::ck_moe_stage2",
        &stage_2,
        &values,
        12.0,
        3.0 + 6.0 + 4.0,
    );
    let fused = format!("1x2, {x}, {w1}, {w2}, , , , , ");
    let values = ["", "", "", "", "1"];
    check("aiter::fmoe_g1u1", &fused, &values, 38.0, 2.0 + 18.0 + 4.0);
}

#[test]
fn experts_that_other_gpus_hold_are_no_work() {
    // A token of 2 chooses 2 of 4 experts, of which 2 are held: one choice, on average of one of
    // them. Three products of 2 × 3, and its result weighted.
    let name = "vllm::inplace_fused_experts";
    let held = |experts: u32| {
        format!("1x2, {experts}x6x2, {experts}x2x3, 1x2:float, 1x2:int, , , , , , , , ")
    };
    let values = |all: &'static str| {
        [
            "silu", "False", "False", "False", "False", "False", "False", all,
        ]
    };
    check(name, &held(2), &values("4"), 38.0, 2.0 * 22.0);
    // Both of two: 6 products, and 2·2 − 1 operations for each of 2 results.
    for all in ["2", "-1"] {
        check(name, &held(2), &values(all), 78.0, 2.0 * (4.0 + 36.0));
    }
    // Two of one: how many there are is not told.
    assert!(counted(name, &held(1), &values("-1")).is_none());
    check(name, &held(1), &values("4"), 18.0, 2.0 * (4.0 + 9.0));
}

#[test]
fn many_tokens_choose_no_more_experts_than_there_are() {
    for tokens in [2047_u32, 2048] {
        let shapes = format!("{tokens}x2, 2x6x2, 2x2x3, {tokens}x8:float, {tokens}x8:int, ");
        assert!(counted("vllm::outplace_fused_experts", &shapes, &[]).is_none());
        let work = counted("vllm::outplace_fused_experts", &shapes, &["256"])
            .unwrap()
            .work;
        let all = 2.0 * (2.0 * 2.0 * f64::from(tokens) + 36.0);
        assert!(
            work.bytes.is_some_and(|bytes| (bytes - all).abs() < 1e-6),
            "{work:?}"
        );
    }
}

#[test]
fn experts_of_serving_engines() {
    // As one fused kernel, whose weights stand before the ids.
    let shapes = "1x2, 4x6x2, 4x2x3, 1x1:float, 1x1:int";
    check("vllm::rocm_aiter_fused_moe", shapes, &[], 38.0, 2.0 * 22.0);
    check(
        "sglang::outplace_fused_experts",
        shapes,
        &[],
        38.0,
        2.0 * 22.0,
    );
    // Two results of two experts added up.
    check("_moe_C::moe_sum", "2x2x4, 2x4", &[], 8.0, 48.0);
    let shapes = "2x2:float, 2x2:int, 2x2:int, 2x8:float";
    check(
        "_moe_C::topk_softmax",
        shapes,
        &[],
        16.0,
        4.0 * (4.0 + 4.0 + 4.0 + 16.0),
    );
}

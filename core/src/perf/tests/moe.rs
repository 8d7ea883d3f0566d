//! Mixtures of experts.

use super::{check, counted};
use crate::perf::Param;

#[test]
fn packed_weights_take_the_bytes_they_have() {
    check(
        "
        # As unpacked ones, 2 × 3 and 8 × 12 for each expert, whose bytes are halves: 2 to a byte, 8 to
        # four. Both ends, and three matrices of one expert.
        # 3 products of 2·8·12, and 8 results weighted; 3 · 96 halves of a byte.
        vllm::inplace_fused_experts(1x8:c10::Half, 4x24x4:unsigned char, 4x8x6:unsigned char, 1x1:float, 1x1:int) -> 584 | 32 + 144 | matrix_fp16
        # 3 products of 2·8·8; 3 · 64 halves of a byte.
        vllm::inplace_fused_experts(1x8:c10::Half, 4x16x1:int, 4x8x1:int, 1x1:float, 1x1:int) -> 392 | 32 + 96 | matrix_fp16
        # A pair of four bits is a type of its own: half a byte, multiplied as it is.
        vllm::inplace_fused_experts(1x8:c10::Half, 4x24x4:c10::Float4_e2m1fn_x2, 4x8x6:c10::Float4_e2m1fn_x2, 1x1, 1x1) -> 584 | 32 + 144 | matrix_fp4
        ",
    );
}

#[test]
fn packed_weights_of_one_product() {
    check(
        "
        # Three rows of 8, one expert each of four: 2·3·8·5; ends of 3·(8 + 5), and of 4·(1 − (3/4)³)
        # experts 5 · 8 weights of half a byte.
        sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel(3x8, 4x5x4:unsigned char, _*6, 3x1:int) -> 240 | 78 + (4 - 27/16)*20
        ",
    );
    let call = "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel(3x8, 4x5x4:unsigned char, _*6, 3x1:int)";
    let params = counted(call).unwrap().params;
    assert!(params.contains(&("K", Param::Int(4.0))));
}

#[test]
fn mixtures_of_experts() {
    check(
        "
        # One token of 2 chooses one of 4 experts: three products of 2 × 3, and its result weighted.
        # Both ends, and three matrices of one expert.
        pseudo_op::moe_aiter_fused_1stage(1x2, 4x6x2, 4x2x3, 1x1) -> 38 | 2*(4 + 18)
        aiter::moe_cktile2stages_gemm1_ck(1x2, 4x6x2, 4x2x3, 1x1) -> 24 | 2*(2 + 12 + 3)
        aiter::moe_cktile2stages_gemm2_ck(1x2, 4x6x2, 4x2x3, 1x1) -> 12 | 2*(3 + 6 + 2)
        MoEDispatch(8x4) -> 0 | 64
        ",
    );
}

/// The token and matrices have a byte each, results two.
#[test]
fn results_of_narrow_tokens_are_wide() {
    check(
        "
        aiter::ck_moe_stage1(1x2:c10::Float8_e4m3fnuz, 4x6x2:c10::Float8_e4m3fnuz, 4x2x3:c10::Float8_e4m3fnuz, _*3, 1x1x3, =1) -> 24 | 2 + 12 + 6
        aiter::ck_moe_stage2(1x1x3:c10::Float8_e4m3fnuz, 4x6x2:c10::Float8_e4m3fnuz, 4x2x3:c10::Float8_e4m3fnuz, _*3, 1x2, =1) -> 12 | 3 + 6 + 4
        aiter::fmoe_g1u1(1x2, 1x2:c10::Float8_e4m3fnuz, 4x6x2:c10::Float8_e4m3fnuz, 4x2x3:c10::Float8_e4m3fnuz, _*4, =1) -> 38 | 2 + 18 + 4
        ",
    );
}

#[test]
fn experts_that_other_gpus_hold_are_no_work() {
    check(
        "
        # A token of 2 chooses 2 of 4 experts, of which 2 are held: one choice, on average of one of
        # them. Three products of 2 × 3, and its result weighted.
        vllm::inplace_fused_experts(1x2, 2x6x2, 2x2x3, 1x2:float, 1x2:int, =silu, =False*6, =4) -> 38 | 2*22
        # Both of two: 6 products, and 2·2 − 1 operations for each of 2 results.
        vllm::inplace_fused_experts(1x2, 2x6x2, 2x2x3, 1x2:float, 1x2:int, =silu, =False*6, =2) -> 78 | 2*(4 + 36)
        vllm::inplace_fused_experts(1x2, 2x6x2, 2x2x3, 1x2:float, 1x2:int, =silu, =False*6, =-1) -> 78 | 2*(4 + 36)
        # Two of one: how many there are is not told.
        vllm::inplace_fused_experts(1x2, 1x6x2, 1x2x3, 1x2:float, 1x2:int, =silu, =False*6, =-1) -> none
        vllm::inplace_fused_experts(1x2, 1x6x2, 1x2x3, 1x2:float, 1x2:int, =silu, =False*6, =4) -> 18 | 2*(4 + 9)
        ",
    );
}

#[test]
fn many_tokens_choose_no_more_experts_than_there_are() {
    for tokens in [2047_u32, 2048] {
        let call = |all: &str| {
            let ids = format!("{tokens}x8:float, {tokens}x8:int");
            counted(&format!(
                "vllm::outplace_fused_experts({tokens}x2, 2x6x2, 2x2x3, {ids}, {all})"
            ))
        };
        assert!(call("_").is_none());
        let bytes = call("=256").and_then(|modelled| modelled.work.bytes);
        let all = 2.0 * (2.0 * 2.0 * f64::from(tokens) + 36.0);
        assert!(
            bytes.is_some_and(|bytes| (bytes - all).abs() < 1e-6),
            "{bytes:?}"
        );
    }
}

#[test]
fn experts_of_serving_engines() {
    check(
        "
        # As one fused kernel, whose weights stand before the ids.
        vllm::rocm_aiter_fused_moe(1x2, 4x6x2, 4x2x3, 1x1:float, 1x1:int) -> 38 | 2*22
        sglang::outplace_fused_experts(1x2, 4x6x2, 4x2x3, 1x1:float, 1x1:int) -> 38 | 2*22
        # Two results of two experts added up.
        _moe_C::moe_sum(2x2x4, 2x4) -> 8 | 48
        _moe_C::topk_softmax(2x2:float, 2x2:int, 2x2:int, 2x8:float) -> 16 | 4*(4 + 4 + 4 + 16)
        ",
    );
}

//! Mixtures of experts.

use super::check;

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

use super::super::samples::{Calls, assert_contains, found, only, patterns};
use super::rules::EVENLY;
use super::*;
use crate::perf::model_config::parse;
use crate::profile::graphs::shapes::ShapeSources;
use crate::report::Report;
use crate::testing::options_on;
use std::sync::Arc;

/// Routed tokens of eight experts.
const LOGITS: &str = "16x8@8x1:float";
const TOKENS: &str = "16x4096@4096x1";

fn fused(us: u32) -> Calls {
    fused_of(16, us)
}

/// `fmoe_g1u1(out, x, w1, w2, …, k)` for tokens with hidden size 4 096, 8 experts with inner size 14 336, two for each
/// token.
fn fused_of(n_tokens: u32, us: u32) -> Calls {
    let weights = "8x28672x4096@117440512x4096x1, 8x4096x14336@58720256x14336x1";
    let args = format!("{n_tokens}x4096@4096x1*2, {weights}, _*4, =2");
    Calls::new().call("aiter::fmoe_g1u1", &args, "fmoe_kernel", us)
}

#[test]
fn memory_bound_experts_want_more_tokens() {
    // Of 8 experts 8 · (1 − (6/8)^16) = 7.92 are chosen: 7.92 · 3 · 4 096 · 14 336 weights of two bytes are 2.79 GB,
    // 526 µs at 5 300 GB/s. 2 000 µs are 26 % of roofline.
    let outcome = fused(2000).outcome("moe");
    let finding = only(&outcome, "memory_bound_gap");
    let percent = finding.efficiency_percent.unwrap();
    assert!((percent - 26.3).abs() < 0.1, "{percent}");
    assert!(finding.model.contains("batch more tokens"));
    assert_contains(
        &finding.issue,
        &["; 16 tokens with 2 of 8 experts each: 4.00 tokens for an expert on average."],
    );
    assert!(finding.reasoning.iter().any(|sentence| sentence == EVENLY));
    assert!(outcome.note_texts().any(|note| note == EVENLY));
    // 75 %.
    assert_eq!(patterns(&fused(700).outcome("moe")), [""; 0]);
}

#[test]
fn separate_products_could_be_one() {
    let first = Calls::new().call("my::moe_gemm1", TOKENS, "moe_gemm", 500);
    let both = first.call("my::moe_gemm2", TOKENS, "moe_gemm", 500);
    let outcome = both.outcome("moe");
    assert_eq!(patterns(&outcome), ["unfused_experts"]);
    for key in ["unfused_count", "missing_perf_model_count"] {
        assert_eq!(outcome.get(key), Some(&Value::Count(2)), "{key}");
    }
}

/// Up and down projections of 7.92 of 8 experts: 1.86 and 0.93 GB, 351 and 175 µs at 5 300 GB/s.
#[test]
fn one_expert_gemm_is_held_to_the_rate_of_the_other() {
    let args = "16x4096@4096x1, 8x28672x4096@117440512x4096x1, 8x4096x14336@58720256x14336x1, 16x2@2x1:float";
    let both = |up_us, down_us| {
        Calls::new()
            .call(
                "aiter::moe_cktile2stages_gemm1_ck",
                args,
                "moe_gemm1",
                up_us,
            )
            .call(
                "aiter::moe_cktile2stages_gemm2_ck",
                args,
                "moe_gemm2",
                down_us,
            )
            .outcome("moe")
    };
    // The first at 4.14 TB/s, the second at 1.86: at the rate of the first it would take 225 µs.
    let outcome = both(450, 500);
    let finding = found(&outcome, "slower_expert_gemm");
    let saved_us = finding.impact.unwrap().high_ns / 1000;
    assert!((274..=276).contains(&saved_us), "{saved_us}");
    let rates = ["reaches 1.86 TB/s", "experts reaches 4.14 TB/s"];
    assert_contains(&finding.issue, &rates);
    // Half of the time for half of the bytes is not slower; the data between both is negligible.
    assert_eq!(patterns(&both(450, 240)), [""; 0]);
    // 29 % of the memory bandwidth in both.
    assert_eq!(patterns(&both(1200, 600)), ["expert_weights_gap"]);
}

/// 8 192 tokens with 6 of 64 experts: 2·8 192·6·2 048·2 816 operations up and half of that down take 801 and 400 µs at
/// 708 TFLOPS.
#[test]
fn the_slower_gemm_of_a_fused_operation_is_named() {
    let args = "8192x2048, 64x2816x2048, 64x2048x1408, 8192x6:float, 8192x6:int";
    let both = |up_us: u32, down_us: u32| {
        let kernels = [
            ("fused_moe_kernel", up_us),
            ("void vllm::act_and_mul_kernel<c10::BFloat16>", 20),
            ("fused_moe_kernel", down_us),
        ];
        let calls = Calls::new().kernels("vllm::outplace_fused_experts", args, &kernels);
        calls.outcome("moe")
    };
    // For half of the work the second takes 3 000 µs, where 650 would do.
    let outcome = both(1300, 3000);
    let finding = only(&outcome, "slower_expert_gemm");
    assert_contains(
        &finding.issue,
        &["Its GEMM2 (down) takes 3.00 ms, 4.62 times as long"],
    );
    let saved_us = finding.impact.unwrap().high_ns / 1000;
    assert_eq!(saved_us, 2350);
    let outcome = both(6000, 650);
    let finding = only(&outcome, "slower_expert_gemm");
    assert_contains(&finding.issue, &["Its GEMM1 (gate-up) takes 6.00 ms"]);
    // Both at 61 % of roofline, and both at 15 %.
    assert_eq!(patterns(&both(1300, 650)), [""; 0]);
    assert_eq!(patterns(&both(5300, 2650)), ["compute_bound_gap"]);
    // One is slower, but the other is slow as well.
    assert_eq!(patterns(&both(5300, 5300)), ["compute_bound_gap"]);
}

/// Up and down projections of experts with 4 096 × 14 336, in a model with another inner size.
#[test]
fn weights_padded_beyond_the_model_are_reported() {
    let args = "16x4096@4096x1, 8x28672x4096@117440512x4096x1, 8x4096x14336@58720256x14336x1, 16x2@2x1:float";
    let up = "aiter::moe_cktile2stages_gemm1_ck";
    let calls = Calls::new().call(up, args, "moe_gemm1", 450);
    let with = |inner: u32| {
        let config = format!(
            r#"{{"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 4096,
            "intermediate_size": {inner}, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
            "num_experts_per_tok": 2, "torch_dtype": "bfloat16"}}"#
        );
        let config = parse(&config).unwrap_or_else(|error| panic!("{error}"));
        let sources = ShapeSources {
            config: Some(Arc::new(config)),
            ..ShapeSources::default()
        };
        let profile = calls.profile().with_sources(sources);
        let report = Report::new(&profile, &options_on("MI300X"));
        let outcome = report.analyses.outcome("moe").unwrap().clone();
        let mut findings = outcome.findings.iter();
        let padded = findings.find(|one| one.pattern == "padded_expert_weights");
        padded.map(|one| one.impact.unwrap().high_ns / 1_000)
    };
    // A twelfth of the weights, of 450 µs.
    assert_eq!(with(13_141), Some(37));
    // No padding; negligible padding; experts split over two GPUs.
    for inner in [14_336, 14_300, 28_672, 7_168] {
        assert_eq!(with(inner), None, "{inner}");
    }
}

#[test]
fn routing_counts_from_a_fifth_on() {
    let routing = |us| {
        let calls = fused(700).call("my::moe_topk_gating", LOGITS, "topkGatingSoftmax", us);
        patterns(&calls.outcome("moe"))
    };
    // 200 of 900 µs is 22 %, 150 of 850 µs 18 %.
    assert_eq!(routing(200), ["routing_overhead"]);
    assert_eq!(routing(150), [""; 0]);
}

/// Expert GEMMs recorded as plain GEMMs: the total that routing is a part of is unknown.
#[test]
fn routing_alone_is_no_share_of_a_layer() {
    let alone = Calls::new().call("my::moe_topk_gating", LOGITS, "my_kernel", 300);
    assert_eq!(patterns(&alone.outcome("moe")), ["unmodeled_significant"]);
    // 64 · 8 elements take hardly any time.
    let slow = "64x8@8x1:float, 64x8@8x1:int*2, 64x128@128x1:float";
    let slow = Calls::new().call("_moe_C::topk_softmax", slow, "topkGatingSoftmax", 300);
    assert_eq!(patterns(&slow.outcome("moe")), ["slow_routing"]);
}

#[test]
fn fused_routing_is_not_advised_where_it_runs() {
    let advice = |name: &str| {
        let calls = fused(700).call(name, LOGITS, "my_kernel", 300);
        let outcome = calls.outcome("moe");
        let finding = found(&outcome, "routing_overhead");
        (finding.model.clone(), finding.kernel.clone())
    };
    let (model, kernel) = advice("my::moe_topk");
    assert!(model.starts_with("use fused routing"), "{model}");
    // 300 µs is not short.
    assert!(!kernel.contains("short"), "{kernel}");
    let (model, _) = advice("my::moe_fused_gate_topk");
    assert!(!model.contains("use fused routing"), "{model}");
}

#[test]
fn experts_of_unknown_work_are_worth_a_rule_of_thumb() {
    let calls = Calls::new().call("my::fused_moe", TOKENS, "fused_moe_kernel", 1000);
    let outcome = calls.outcome("moe");
    assert_eq!(patterns(&outcome), ["unmodeled_significant"]);
    assert_eq!(patterns(&calls.outcome_without_gpu("moe")), [""; 0]);
}

/// One token with hidden size 4 096, one of 8 experts: 3 · 4 096 · 14 336 weights of half a byte are 88 MB, 16.6 µs at
/// 5 300 GB/s. The GPU has no FP4, so the GEMMs are BF16.
#[test]
fn four_bit_weights_are_multiplied_in_the_type_of_the_tokens_where_the_gpu_has_no_fp4() {
    let weights = "8x28672x2048:c10::Float4_e2m1fn_x2, 8x4096x7168:c10::Float4_e2m1fn_x2";
    let args = format!("1x4096:c10::BFloat16, {weights}, 1x1:float, 1x1:int");
    let name = "vllm::inplace_fused_experts";
    let outcome = Calls::new()
        .call(name, &args, "fused_moe_kernel", 100)
        .outcome("moe");
    let percent = outcome.rows[0].efficiency_percent.unwrap();
    assert!((percent - 16.6).abs() < 0.2, "{percent}");
}

#[test]
fn without_experts_there_is_no_data() {
    let outcome = Calls::new().call("aten::mm", "", "gemm", 10).outcome("moe");
    assert_eq!(outcome.status, Status::NoData);
}

/// 4 096 tokens with 8 of 16 experts: 2 048 for an expert fill the tiles.
#[test]
fn experts_with_many_tokens_need_no_larger_batch() {
    let of = |tokens: u32| {
        let args = format!("{tokens}x4096, 16x28672x4096, 16x4096x14336, {tokens}x8:float");
        let name = "vllm::rocm_aiter_fused_moe";
        let calls = Calls::new().call(name, &args, "aiter_fused_moe_kernel_bf16", 100_000);
        found(&calls.outcome("moe"), "compute_bound_gap").clone()
    };
    let many = of(4_096);
    assert_contains(
        &many.issue,
        &["; 4 096 tokens with 8 of 16 experts each: 2 048 tokens for an expert on average."],
    );
    assert_contains(&many.model, &["tuned for this GPU"]);
    assert_contains(&of(768).model, &["larger batches of tokens"]);
}

#[test]
fn compute_bound_experts_want_types_that_the_gpu_has() {
    // 8 192 · 2 · 3 matrix-vector multiplications of 4 096 × 14 336, 5.77 TFLOP: 8.2 ms at 708 TFLOPS.
    let calls = fused_of(8192, 100_000);
    let model = |gpu: &str| {
        let outcome = calls.outcome_on(gpu, "moe");
        found(&outcome, "compute_bound_gap").model.clone()
    };
    for (gpu, types) in [("MI300X", "(FP8, INT8)"), ("MI210", "(INT8)")] {
        let (model, types) = (model(gpu), format!("narrower types {types}"));
        assert!(model.contains(&types), "{model}");
    }
}

/// 512 tokens, two of 8 experts each: 128 tokens for an expert, in tiles of 512 rows or of 128.
#[test]
fn tiles_that_the_tokens_of_an_expert_do_not_fill_are_named() {
    let causes = |kernel: &str| {
        let weights = "8x28672x4096@117440512x4096x1, 8x4096x14336@58720256x14336x1";
        let args = format!("512x4096@4096x1*2, {weights}, _*4, =2");
        let outcome = Calls::new()
            .call("aiter::fmoe_g1u1", &args, kernel, 3_000)
            .outcome("moe");
        outcome.findings[0].causes.clone()
    };
    let padded = "tokens of an expert 128 computed as 512";
    assert_contains(&causes("fmoe_bf16_g1u1_1tg_512x64"), &[padded]);
    assert!(!causes("fmoe_bf16_g1u1_1tg_128x64").contains("computed as"));
}

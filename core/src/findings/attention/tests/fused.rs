//! Attention in one kernel, and the copies around it.

use super::*;

#[test]
fn efficiency_is_measured_by_the_band_of_its_length() {
    // 8 · 16 · 4096² = 2 147 483 648 scores of 256 operations each take 776.5 µs at 708 TFLOPS.
    let usual = flash(LONG, 776.5 / 0.6);
    assert!((usual.efficiency_percent().unwrap() - 60.0).abs() < 0.01);
    assert_eq!(verdict(&usual), "as usual");
    assert_eq!(patterns(&usual), [""; 0]);
    let below = flash(LONG, 776.5 / 0.4);
    assert_eq!(verdict(&below), "below");
    let finding = only(&below, "below_usual_efficiency");
    assert_eq!(finding.impact.unwrap().estimate, Estimate::Usual);
    // From 40 % to 50, 60 and 70 % of roofline: 1 − 40/50, 1 − 40/60, 1 − 40/70 of 1 941 µs.
    let saved_ns = |percent: f64| 776.5e3 / 0.4 * (1.0 - 40.0 / percent);
    saves(finding, saved_ns, [50.0, 60.0, 70.0]);
}

#[test]
fn short_sequences_are_no_bottleneck_unless_far_below() {
    // 64 · 16 · 512² = 268 435 456 scores, 256 operations each, 97.06 µs at 708 TFLOPS; memory: 4 · 64 · 16 · 512 · 64
    // elements of 2 bytes at 5.3 TB/s take 50.7 µs.
    let at = |share: f64| flash("64x16x512x64*3", 97.06 / share);
    assert_eq!(verdict(&at(0.06)), "as usual");
    assert!(at(0.06).findings.is_empty());
    let far_below = at(0.03);
    let finding = only(&far_below, "short_sequences");
    assert_contains(&finding.issue, &["at 3.0 %"]);
}

/// Kernels by GPU; a GPU without flash kernels or BF16 gets no advice to use them.
#[test]
fn uncommon_heads_and_types_are_named() {
    let (half, single) = ("8x16x4096x64:c10::Half*3", "8x16x4096x64:float*3");
    #[rustfmt::skip]
    let cases = [
        ("MI300X", FLASH, "8x16x4096x80*3", 4_000, "head_dimension", "head dimension of 128"),
        ("MI300X", EFFICIENT, half, 9_000, "not_flash", "no flash kernel"),
        ("MI300X", EFFICIENT, single, 9_000, "wide_precision", "run it in BF16 or FP16"),
        ("A100-80GB", EFFICIENT, half, 90_000, "not_flash", "no flash kernel"),
        ("V100-32GB", EFFICIENT, half, 90_000, "below_usual_efficiency", "fastest attention kernel"),
        ("V100-32GB", EFFICIENT, single, 90_000, "wide_precision", "run it in FP16 (autocast)"),
    ];
    for (gpu, op, qkv, us, pattern, model) in cases {
        let calls = call(op, &args(qkv), "attn_fwd", us);
        let outcome = calls.outcome_on(gpu, "sdpa_fwd");
        assert_eq!(patterns(&outcome), [pattern], "{gpu} {op}");
        assert_contains(&outcome.findings[0].model, &[model]);
        let is_efficient = outcome.rows[0].class.starts_with("memory-efficient");
        assert_eq!(is_efficient, op == EFFICIENT);
    }
}

/// 72 of 128 computed: much of the time even of attention that is as fast as usual.
#[test]
fn a_padded_head_dimension_matters_within_the_band() {
    let of = |head: u32| {
        let calls = call(
            FLASH,
            &args(&format!("8x16x4096x{head}*3")),
            "attn_fwd",
            1_600.0,
        );
        calls.outcome("sdpa_fwd")
    };
    let outcome = of(72);
    assert_eq!(verdict(&outcome), "as usual");
    only(&outcome, "head_dimension");
    assert_eq!(patterns(&of(128)), [""; 0]);
}

/// Two heads with 4 096 queries are 128 blocks of 64; the kernel does not contain its block size.
#[test]
fn few_heads_leave_units_without_work() {
    let outcome = flash("1x2x4096x128*3", 420.0);
    let finding = only(&outcome, "partly_filled_gpu");
    assert_eq!(finding.title, "128 workgroups for 304 compute units");
    assert_contains(
        &finding.causes,
        &["128 workgroups for 304 compute units, unless keys"],
    );
    // 176 of 304 units have no work.
    assert!(finding.impact.unwrap().high_ns <= 420_000 * 176 / 304 + 1);
    // 256 blocks leave a sixth of the units without work, which is little of a gap of three quarters.
    let others = flash("1x4x4096x128*3", 194.0);
    only(&others, "below_usual_efficiency");
    let decode = flash("1x32x1x128, 1x32x32768x128*2", 1_000.0);
    assert_contains(
        &only(&decode, "decode").causes,
        &["32 workgroups for 304 compute units"],
    );
}

#[test]
fn decoding_is_judged_by_the_memory() {
    // 2 · 32 · 8 · 8192 · 128 elements of 2 bytes are 1.07 GB: 203 µs at 5.3 TB/s.
    let slow = flash(DECODE, 1000.0);
    assert_eq!(patterns(&slow), ["decode"]);
    assert_eq!(slow.rows[0].class, "flash, decode, GQA 4:1");
    assert_eq!(verdict(&slow), "by the memory bandwidth");
    assert!(flash(DECODE, 300.0).findings.is_empty());
}

/// Cross attention to 77 tokens moves 171 MB, mostly queries and results: 32.2 µs at 5.3 TB/s.
#[test]
fn few_keys_are_judged_by_the_memory() {
    let cross = |percent: f64| flash("16x10x4096x64, 16x10x77x64*2", 32.2 / percent * 100.0);
    let slow = cross(12.0);
    let finding = only(&slow, "few_keys");
    assert_contains(&finding.issue, &["4096 queries attend to 77 keys"]);
    assert_eq!(band(&slow, "expected"), "25–60 %");
    // At 25 to 60 % of roofline 52 to 80 % of the time are saved.
    let impact = finding.impact.unwrap();
    let share = |ns: i64| (ns as f64 / 268_333.0 * 100.0).round();
    assert_eq!((share(impact.low_ns), share(impact.high_ns)), (52.0, 80.0));
    assert_eq!(patterns(&cross(40.0)), [""; 0]);
}

#[test]
fn copies_right_around_it_are_worth_what_they_take() {
    let cast = "8x16x4096x64:float, 8x16x4096x64, _:Scalar";
    let copy = "8x16x4096x64*2, _:Scalar";
    let outcome = Calls::new()
        .call("aten::copy_", cast, "copy", 100)
        .call("aten::copy_", copy, "copy", 100)
        .call("aten::copy_", copy, "copy", 110)
        .call(FLASH, &args(LONG), "attn_fwd", 1000)
        .call("aten::copy_", copy, "copy", 120)
        .call("aten::copy_", copy, "copy", 170)
        .outcome_without_gpu("sdpa_fwd");
    let finding = only(&outcome, "contiguous_copies");
    // Two before (the cast is not counted) and one after: 100 + 110 + 120 µs.
    assert_eq!(finding.impact, Some(Impact::measured(330_000)));
    assert_eq!(outcome.get("contiguous_copies"), Some(&Value::Ns(330_000)));
}

/// Four query heads share a key head, which is copied for each of them.
#[test]
fn key_heads_need_not_be_repeated() {
    let repeat = "8x4x4x4096x64, 8x4x4x4096x64@1048576x262144x0x64x1, _:Scalar";
    let outcome = Calls::new()
        .calls(2, "aten::copy_", repeat, "copy", 100)
        .call(FLASH, &args(LONG), "attn_fwd", 1000)
        .call("aten::copy_", "8x16x4096x64*2, _:Scalar", "copy", 150)
        .outcome_without_gpu("sdpa_fwd");
    assert_eq!(
        patterns(&outcome),
        ["repeated_key_heads", "contiguous_copies"]
    );
    let finding = &outcome.findings[0];
    assert_eq!(finding.impact, Some(Impact::measured(200_000)));
    assert_contains(&finding.model, &["`enable_gqa=True`"]);
}

#[test]
fn a_backward_pass_is_expected_to_be_less_efficient() {
    let args = "8x4096x16x64*4, _*4, =0.0, _, =False";
    let at = |us: f64| {
        let kernel = "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel";
        call("flash_attn::_flash_attn_backward", args, kernel, us).outcome("sdpa_bwd")
    };
    // Five GEMMs of 2 147 483 648 scores and a head_dim of 64 take 1 941 µs at 708 TFLOPS; 75 % of 50–70 % is 37.5–52.5
    // %.
    let usual = at(1941.0 / 0.4);
    assert!((usual.efficiency_percent().unwrap() - 40.0).abs() < 0.1);
    assert_eq!(band(&usual, "expected"), "38–52 %");
    assert_eq!(verdict(&usual), "as usual");
    let below = at(1941.0 / 0.3);
    let finding = only(&below, "below_usual_efficiency");
    assert!(finding.title.ends_with("(backward)"));
}

#[test]
fn packed_sequences_go_by_their_mean_length() {
    let args = "8192x32x128, 8192x8x128*2, 9:int*2, =1024*2, =0.0, _, =True";
    let op = "flash_attn::_flash_attn_varlen_forward";
    let outcome = call(op, args, "flash_fwd_kernel", 1000).outcome("sdpa_fwd");
    assert_eq!(
        band(&outcome, "sizes"),
        "1×32×8192×128, 8 key heads, causal, 8 sequences"
    );
    // 8192 queries of 8 sequences: 1024 each.
    assert_eq!(band(&outcome, "expected"), "20–40 %");
    assert_eq!(outcome.rows[0].class, "flash, causal, GQA 4:1");
}

#[test]
fn a_kernel_that_pads_says_so_by_its_name() {
    let args = args("8x16x4096x80*3");
    let kernel = "void flash_fwd_kernel<Flash_fwd_kernel_traits<96, 64, 64, 4>>";
    let outcome = call(FLASH, &args, kernel, 9000).outcome("sdpa_fwd");
    // 16 of 96 is padding.
    let sentence = "up to 96: 16.7 % of its arithmetic is on padding";
    assert_contains(&outcome.findings[0].reasoning.concat(), &[sentence]);
}

/// Sixteen sequences of 512 in a batch of one: rated by their own length, and already packed.
#[test]
fn packed_sequences_in_a_batch_of_one() {
    let args = "1x8192x16x128*3, _, 17:int*2, =512*2, =0., =0, =False, =0.088";
    let op = "aten::_efficient_attention_forward";
    let calls = call(op, args, "fmha_cutlassF_bf16", 60_000);
    let outcome = calls.outcome_on("H100", "sdpa_fwd");
    assert_eq!(band(&outcome, "sizes"), "1×16×8192×128, 16 sequences");
    let finding = &outcome.findings[0];
    assert_eq!(finding.pattern, "not_flash");
    assert_contains_none(&finding.model, &["packed sequences replace"]);
}

/// A decoding kernel whose name shows that the keys are already split.
#[test]
fn split_keys_are_not_advised() {
    for (kernel, expected) in [
        ("flash_fwd_kernel", "the keys should be split"),
        ("flash_fwd_splitkv_kernel", "the keys are split"),
    ] {
        let calls = call(FLASH, &args(DECODE), kernel, 60_000);
        let outcome = calls.outcome_on("H100", "sdpa_fwd");
        assert_contains(&outcome.findings[0].kernel, &[expected]);
    }
}

/// FlashAttention-2 uses the matrix instructions of the generation before Hopper.
#[test]
fn the_flash_kernel_of_the_generation_before_is_named() {
    let second = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>";
    for (gpu, kernel, is_named) in [
        ("H100", second, true),
        ("A100-80GB", second, false),
        ("H100", "flash::FlashAttnFwdSm90", false),
    ] {
        let calls = call(FLASH, &args(LONG), kernel, 6_000);
        let outcome = calls.outcome_on(gpu, "sdpa_fwd");
        let finding = only(&outcome, "below_usual_efficiency");
        assert_eq!(finding.model.contains("CUDNN_ATTENTION"), is_named);
    }
}

/// What rules out a flash kernel is named where the call shows it: a mask, or a large head dimension.
#[test]
fn why_no_flash_kernel_runs_is_named() {
    let of = |args: &str| {
        let calls = call(
            EFFICIENT,
            args,
            "fmha_cutlassF_bf16_aligned_64x64_rf_sm80",
            90_000,
        );
        let outcome = calls.outcome_on("A100-80GB", "sdpa_fwd");
        only(&outcome, "not_flash").model.clone()
    };
    let rest = "=False, =0.0, =False";
    let qkv = "4x16x4096x64:c10::Half*3";
    let masked = of(&format!("{qkv}, 4x16x4096x4096:c10::Half, {rest}"));
    assert_contains(
        &masked,
        &["the mask in memory (4×16×4096×4096) rules out a flash kernel"],
    );
    let wide = of(&format!("1x1x16384x512:c10::Half*3, _, {rest}"));
    assert_contains(&wide, &["up to 256, not for 512"]);
    let plain = of(&format!("{qkv}, _, {rest}"));
    assert_contains(&plain, &["find out why no flash kernel is chosen"]);
}

/// Keys and values are copied before each of two attentions: the copy after the first is no result of it.
#[test]
fn repeated_heads_belong_to_the_next_attention() {
    let repeat = "8x4x4x4096x64, 8x4x4x4096x64@1048576x262144x0x64x1, _:Scalar";
    let layer = |calls: Calls, _| {
        let calls = calls.calls(2, "aten::copy_", repeat, "copy", 100);
        calls.call(FLASH, &args(LONG), "attn_fwd", 1000)
    };
    let outcome = (0..2)
        .fold(Calls::new(), layer)
        .outcome_without_gpu("sdpa_fwd");
    let finding = only(&outcome, "repeated_key_heads");
    assert_eq!(finding.impact, Some(Impact::measured(400_000)));
}

/// On AMD GPUs the framework has a second library of flash kernels besides those written in Triton.
#[test]
fn the_other_flash_library_is_advised() {
    let model = |gpu: &str, kernel: &str| {
        let calls = call(FLASH, &args(LONG), kernel, 9_000);
        calls.outcome_on(gpu, "sdpa_fwd").findings[0].model.clone()
    };
    assert_contains(
        &model("MI300X", "attn_fwd.kd"),
        &["preferred_rocm_fa_library"],
    );
    assert_contains_none(
        &model("MI300X", "fmha_fwd_hd64_fp16"),
        &["preferred_rocm_fa_library"],
    );
    assert_contains_none(
        &model("A100-80GB", "attn_fwd"),
        &["preferred_rocm_fa_library"],
    );
}

/// A random number for each score costs time of its own.
#[test]
fn dropout_is_named() {
    let of = |dropout: &str| {
        let args = format!("{LONG}, ={dropout}, =False");
        let calls = call(FLASH, &args, "flash_fwd_kernel", 776.5 / 0.4);
        only(&calls.outcome("sdpa_fwd"), "below_usual_efficiency").clone()
    };
    let with = of("0.1");
    assert_contains(
        &with.causes,
        &["dropout of 10 %: each score takes a random number"],
    );
    assert_contains(&with.model, &["leave out dropout"]);
    let without = of("0.0");
    assert_contains_none(&without.causes, &["dropout"]);
    assert_contains_none(&without.model, &["dropout"]);
}

/// The same of its backward pass, which has it after the lengths of packed sequences.
#[test]
fn dropout_of_a_backward_pass_is_named() {
    let of = |dropout: &str| {
        let q = "4x16x4096x128";
        let args = format!("{q}*5, 4x16x4096:float, _*2, =4096, =4096, ={dropout}, =False");
        let op = "aten::_scaled_dot_product_flash_attention_backward";
        let calls = call(op, &args, "flash_bwd_kernel", 9_000.0);
        only(&calls.outcome("sdpa_bwd"), "below_usual_efficiency").clone()
    };
    assert_contains(&of("0.1").causes, &["dropout of 10 %"]);
    assert_contains(&of("0.1").model, &["leave out dropout"]);
    assert_contains_none(&of("0.0").model, &["dropout"]);
}

/// The framework's unfused path, where the operator itself launches its kernels.
#[test]
fn the_math_path_is_no_fused_kernel() {
    let args = "4x16x2048x64*3, _:Scalar, =0., =False";
    let op = "aten::_scaled_dot_product_attention_math";
    let outcome = Calls::new()
        .call(op, args, "softmax", 900)
        .outcome("sdpa_fwd");
    let finding = only(&outcome, "not_flash");
    assert_eq!(finding.title, "Attention without a fused kernel");
    assert_contains(&finding.issue, &["write all scores to memory"]);
}

/// 512 rows of 64 positions, in states of 128 × 128: 24.6 GFLOP and 0.5 GB, 100 µs at 5.3 TB/s.
#[test]
fn linear_attention_is_compared_with_what_it_moves() {
    let linear = |us: u32| {
        let args = "4x4096x8x128*3, 4x4096x8:float, 4x4096x8";
        let kernel = "chunk_gated_delta_rule_fwd_kernel_h_blockdim64";
        let calls = Calls::new().call("ChunkGatedDeltaRuleFunction", args, kernel, us);
        calls.outcome("sdpa_fwd")
    };
    let slow = linear(2_000);
    let finding = only(&slow, "other_attention");
    assert_eq!(finding.title, "Linear attention at a low % of roofline");
    assert_eq!(patterns(&linear(150)), [""; 0]);
}

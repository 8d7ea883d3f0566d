//! Attention in one kernel, and the copies around it.

use super::*;

#[test]
fn efficiency_is_measured_by_the_band_of_its_length() {
    // 8 · 16 · 4096² = 2 147 483 648 scores of 256 operations each take 776.5 µs at 708 TFLOPS.
    let at = |us: f64| flash([8, 16, 4096, 64], us);
    let usual = at(776.5 / 0.6);
    assert!((usual.efficiency_percent().unwrap() - 60.0).abs() < 0.01);
    assert_eq!(verdict(&usual), "as usual");
    assert_eq!(patterns(&usual), [""; 0]);
    let below = at(776.5 / 0.4);
    assert_eq!(verdict(&below), "below");
    assert_eq!(patterns(&below), ["below_usual_efficiency"]);
    // From 40 % to 50, 60 and 70 % of the roof: 1 − 40/50, 1 − 40/60, 1 − 40/70 of 1 941 µs.
    let impact = below.findings[0].impact.unwrap();
    assert_eq!(impact.estimate, Estimate::Usual);
    for (won, percent) in [
        (impact.low_ns, 50.0),
        (impact.mid_ns, 60.0),
        (impact.high_ns, 70.0),
    ] {
        let expected = 776.5e3 / 0.4 * (1.0 - 40.0 / percent);
        assert!((won as f64 - expected).abs() < 100.0, "{impact:?}");
    }
}

#[test]
fn short_sequences_are_no_bottleneck_unless_far_below() {
    // 64 · 16 · 512² = 268 435 456 scores, 256 operations each, 97.06 µs at 708 TFLOPS; memory:
    // 4 · 64 · 16 · 512 · 64 elements of 2 bytes at 5.3 TB/s are 50.7 µs.
    let at = |share: f64| flash([64, 16, 512, 64], 97.06 / share);
    assert_eq!(verdict(&at(0.06)), "as usual");
    assert!(at(0.06).findings.is_empty());
    let far_below = at(0.03);
    assert_eq!(patterns(&far_below), ["short_sequences"]);
    assert!(far_below.findings[0].issue.contains("at 3.0 %"));
}

#[test]
fn uncommon_heads_and_types_are_named() {
    assert_eq!(
        patterns(&flash([8, 16, 4096, 80], 4000.0)),
        ["head_dimension"]
    );
    let dims = "[[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64], [], []]";
    let efficient = "aten::_scaled_dot_product_efficient_attention";
    let half = fused(efficient, dims, "c10::Half", 9000.0);
    assert_eq!(patterns(&half), ["not_flash"]);
    let float = fused(efficient, dims, "float", 9000.0);
    assert_eq!(patterns(&float), ["wide_precision"]);
    assert!(float.rows[0].class.starts_with("memory-efficient"));
}

#[test]
fn decoding_is_judged_by_the_memory() {
    let dims = "[[32, 32, 1, 128], [32, 8, 8192, 128], [32, 8, 8192, 128], [], []]";
    let op = "aten::_scaled_dot_product_flash_attention";
    // 2 · 32 · 8 · 8192 · 128 elements of 2 bytes are 1.07 GB: 203 µs at 5.3 TB/s.
    let slow = fused(op, dims, "c10::BFloat16", 1000.0);
    assert_eq!(patterns(&slow), ["decode"]);
    assert_eq!(slow.rows[0].class, "flash, decode, GQA 4:1");
    assert_eq!(verdict(&slow), "by the memory bandwidth");
    let fast = fused(op, dims, "c10::BFloat16", 300.0);
    assert!(fast.findings.is_empty());
}

#[test]
fn copies_right_around_it_are_worth_what_they_take() {
    let copy = r#""Input Dims": [[8, 16, 4096, 64], [8, 16, 4096, 64], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"]"#;
    let cast = copy.replacen("c10::BFloat16", "float", 1);
    let attention = r#""Input Dims": [[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", ""]"#;
    let profile = Timetable::new()
        .op("aten::copy_", 0..2)
        .args(&cast)
        .launch(1, 1..2)
        .op("aten::copy_", 2..4)
        .args(copy)
        .launch(2, 3..4)
        .op("aten::copy_", 4..6)
        .args(copy)
        .launch(3, 5..6)
        .op("aten::_scaled_dot_product_flash_attention", 6..8)
        .args(attention)
        .launch(4, 7..8)
        .op("aten::copy_", 8..10)
        .args(copy)
        .launch(5, 9..10)
        .op("aten::copy_", 10..12)
        .args(copy)
        .launch(6, 11..12)
        .kernel(1, "copy", 100..200)
        .kernel(2, "copy", 200..300)
        .kernel(3, "copy", 300..410)
        .kernel(4, "attn_fwd", 410..1410)
        .kernel(5, "copy", 1410..1530)
        .kernel(6, "copy", 1530..1700)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &ReportOptions::default());
    assert_eq!(patterns(&outcome), ["contiguous_copies"]);
    // Two before (the cast is none) and one after: 100 + 110 + 120 µs.
    assert_eq!(outcome.findings[0].impact, Some(Impact::measured(330_000)));
    assert_eq!(outcome.get("contiguous_copies"), Some(&Value::Ns(330_000)));
}

#[test]
fn a_backward_pass_is_expected_to_be_less_efficient() {
    let half = "c10::BFloat16";
    let dims = "[8, 4096, 16, 64]";
    let at = |us: f64| {
        let profile = Timetable::new()
            .op("flash_attn::_flash_attn_backward", 0..10)
            .args(&format!(
                r#""Input Dims": [{dims}, {dims}, {dims}, {dims}], "Input type": ["{half}", "{half}", "{half}", "{half}"], "Concrete Inputs": ["", "", "", "", "", "", "", "", "0.0", "", "False"]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", 100.0..100.0 + us)
            .profile();
        outcome_of("sdpa_bwd", &profile, &options_on("MI300X"))
    };
    // Five GEMMs of 2 147 483 648 scores and a width of 64 take 1 941 µs at 708 TFLOPS; 75 % of
    // 50–70 % are 37.5–52.5 %.
    let usual = at(1941.0 / 0.4);
    assert!((usual.efficiency_percent().unwrap() - 40.0).abs() < 0.1);
    assert_eq!(usual.tables[0].rows[0][6].text(), "38–52 %");
    assert_eq!(verdict(&usual), "as usual");
    let below = at(1941.0 / 0.3);
    assert_eq!(patterns(&below), ["below_usual_efficiency"]);
    assert!(below.findings[0].title.ends_with("(backward)"));
}

#[test]
fn packed_sequences_go_by_their_mean_length() {
    let half = "c10::BFloat16";
    let profile = Timetable::new()
        .op("flash_attn::_flash_attn_varlen_forward", 0..10)
        .args(&format!(
            r#""Input Dims": [[8192, 32, 128], [8192, 8, 128], [8192, 8, 128], [9], [9]], "Input type": ["{half}", "{half}", "{half}", "int", "int"], "Concrete Inputs": ["", "", "", "", "", "1024", "1024", "0.0", "", "True"]"#
        ))
        .launch(1, 1..2)
        .kernel(1, "flash_fwd_kernel", 100..1100)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    let row = &outcome.tables[0].rows[0];
    assert_eq!(row[1].text(), "1×32×8192×128, 8 sequences");
    // 8192 queries of 8 sequences: 1024 each.
    assert_eq!(row[6].text(), "20–40 %");
    assert_eq!(outcome.rows[0].class, "flash, causal, GQA 4:1");
}

#[test]
fn a_kernel_that_pads_says_so_by_its_name() {
    let half = "c10::BFloat16";
    let dims = "[8, 16, 4096, 80]";
    let profile = Timetable::new()
        .op("aten::_scaled_dot_product_flash_attention", 0..10)
        .args(&format!(
            r#""Input Dims": [{dims}, {dims}, {dims}, [], []], "Input type": ["{half}", "{half}", "{half}", "", ""], "Concrete Inputs": ["", "", "", "0.0", "False"]"#
        ))
        .launch(1, 1..2)
        .kernel(1, "void flash_fwd_kernel<Flash_fwd_kernel_traits<96, 64, 64, 4>>", 100..9100)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    // 16 of 96 are padding.
    let says = |text: &str| {
        let mut sentences = outcome.findings[0].reasoning.iter();
        sentences.any(|sentence| sentence.contains(text))
    };
    assert!(says("up to 96: 16.7 % of its arithmetic is on padding"));
}

#[test]
fn a_gpu_without_flash_kernels_is_not_asked_for_one() {
    let dims = "[[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64], [], []]";
    let found = |gpu: &str, dtype: &str| {
        let profile = Timetable::new()
            .op("aten::_scaled_dot_product_efficient_attention", 0..10)
            .args(&format!(
                r#""Input Dims": {dims}, "Input type": ["{dtype}", "{dtype}", "{dtype}", "", "", "", ""], "Concrete Inputs": ["", "", "", "0.0", "False", "", ""]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "fmha_cutlassF", 100..90_100)
            .profile();
        let outcome = outcome_of("sdpa_fwd", &profile, &options_on(gpu));
        let finding = outcome.findings[0].clone();
        (finding.pattern, finding.model)
    };
    assert_eq!(found("A100-80GB", "c10::Half").0, "not_flash");
    assert_eq!(found("V100-32GB", "c10::Half").0, "below_usual_efficiency");
    // Nor for BF16, which it does not have.
    let (pattern, model) = found("V100-32GB", "float");
    assert_eq!(pattern, "wide_precision");
    assert!(model.starts_with("run it in FP16 (autocast)"), "{model}");
}

/// Sixteen sequences of 512 in a batch of one: measured by their own length, and packed already.
#[test]
fn packed_sequences_in_a_batch_of_one() {
    let q = "[1, 8192, 16, 128]";
    let args = format!(
        r#""Input Dims": [{q}, {q}, {q}, [], [17], [17], [], [], [], [], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "int", "int", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "", "", "", "512", "512", "0.", "0", "False", "0.088"]"#
    );
    let name = "aten::_efficient_attention_forward";
    let of = |us: u32| Calls::new().call(name, &args, "fmha_cutlassF_bf16", us);
    let outcome = of(60_000).outcome_on("H100", "sdpa_fwd");
    let sizes = outcome.tables[0].rows[0][1].text();
    assert_eq!(sizes, "1×16×8192×128, 16 sequences");
    let finding = &outcome.findings[0];
    assert_eq!(finding.pattern, "not_flash");
    assert!(
        !finding.model.contains("packed sequences replace"),
        "{}",
        finding.model
    );
}

/// A decoding kernel whose name says that the keys are split: there is nothing to split.
#[test]
fn split_keys_are_not_advised() {
    let dims = "[[32, 32, 1, 128], [32, 8, 8192, 128], [32, 8, 8192, 128], [], []]";
    let args = format!(
        r#""Input Dims": {dims}, "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "0.", "False"]"#
    );
    let name = "aten::_scaled_dot_product_flash_attention";
    let kernel = |kernel: &str| {
        let calls = Calls::new().call(name, &args, kernel, 60_000);
        let outcome = calls.outcome_on("H100", "sdpa_fwd");
        outcome.findings[0].kernel.clone()
    };
    assert!(kernel("flash_fwd_kernel").starts_with("the keys should be split"));
    assert!(kernel("flash_fwd_splitkv_kernel").starts_with("the keys are split"));
}

/// FlashAttention-2 has the matrix instructions of the generation before Hopper.
#[test]
fn the_flash_kernel_of_the_generation_before_is_named() {
    let model = |gpu: &str, kernel: &str| {
        let args = r#""Input Dims": [[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", ""], "Concrete Inputs": ["", "", "", "0.0", "False"]"#;
        let outcome = Calls::new()
            .call(
                "aten::_scaled_dot_product_flash_attention",
                args,
                kernel,
                6_000,
            )
            .outcome_on(gpu, "sdpa_fwd");
        assert_eq!(patterns(&outcome), ["below_usual_efficiency"]);
        outcome.findings[0].model.clone()
    };
    let second = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>";
    assert!(model("H100", second).contains("CUDNN_ATTENTION"));
    assert!(!model("A100-80GB", second).contains("CUDNN_ATTENTION"));
    assert!(!model("H100", "flash::FlashAttnFwdSm90").contains("CUDNN_ATTENTION"));
}

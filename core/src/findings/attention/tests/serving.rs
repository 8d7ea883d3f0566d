//! Attention of serving engines.

use super::*;

#[test]
fn the_workload_of_a_serving_engine() {
    let annotation = r#"{"ph": "X", "cat": "user_annotation", "name": "execute_1_context_1(sq96sk96sqsq9216sqsk9216)_generation_4(sq4sk400sqsq4sqsk400)", "pid": 100, "tid": 1, "ts": 0, "dur": 50}"#;
    let served = |write_us: u32, attend_us: u32| {
        Timetable::new()
            .raw(annotation)
            .op("vllm::unified_attention_with_output", 1..10)
            .args(r#""Input Dims": [[100, 32, 128], [100, 8, 128], [100, 8, 128], [100, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#)
            .launch(1, 1..2)
            .launch(2, 3..4)
            .kernel(1, "void vllm::reshape_and_cache_flash_kernel<bf16>", 100..100 + write_us)
            .kernel(2, "kernel_unified_attention_2d", 120..120 + attend_us)
            .profile()
    };
    let profile = served(20, 80);
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("MI300X"));
    assert_eq!(outcome.get("total_ctx_tokens"), Some(&Value::Count(96)));
    assert_eq!(outcome.get("total_gen_tokens"), Some(&Value::Count(4)));
    assert_eq!(
        outcome.get("profile_type"),
        Some(&Value::Quoted("prefill_heavy".to_owned()))
    );
    // 20 of 100 µs write the cache.
    assert_eq!(
        outcome.get("avg_reshape_cache"),
        Some(&Value::Percent(20.0))
    );
    assert!(patterns(&outcome).contains(&"cache_writes"));
    // What is as short as its launch has few tokens to write.
    let short = outcome_of("sdpa_fwd", &served(9, 20), &options_on("MI300X"));
    assert!(!patterns(&short).contains(&"cache_writes"));
}

/// 256 requests decode over pages of a cache: how long they are is not in the trace.
#[test]
fn attention_over_pages_of_unknown_length_is_called_that() {
    let pages = "[5000, 16, 8, 128]";
    let profile = Timetable::new()
        .op("_C_cache_ops::reshape_and_cache_flash", 0..10)
        .args(&format!(
            r#""Input Dims": [[256, 8, 128], [256, 8, 128], {pages}, {pages}, [256]], "Input type": ["{0}", "{0}", "{0}", "{0}", "long int"]"#,
            "c10::BFloat16"
        ))
        .launch(1, 1..2)
        .op("_vllm_fa3_C::fwd", 10..20)
        .args(&format!(
            r#""Input Dims": [[256, 32, 128], {pages}, {pages}], "Input type": ["{0}", "{0}", "{0}"]"#,
            "c10::BFloat16"
        ))
        .launch(2, 11..12)
        .kernel(1, "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", 100..104)
        .kernel(2, "void cutlass::device_kernel<flash::enable_sm90<>>", 104..60_104)
        .profile();
    let outcome = outcome_of("sdpa_fwd", &profile, &options_on("H100"));
    assert_eq!(patterns(&outcome), ["unmodelled_significant"]);
    let finding = &outcome.findings[0];
    assert!(finding.issue.contains("cache"), "{}", finding.issue);
    assert_eq!(finding.impact, None);
    assert_eq!(
        outcome.get("flash_attention_detected"),
        Some(&Value::Flag(true))
    );
    // What writes the cache has a slot for each token, which are no sequences.
    let sizes: Vec<String> = outcome.tables[0]
        .rows
        .iter()
        .map(|row| row[1].text())
        .collect();
    assert!(
        sizes.iter().all(|sizes| !sizes.contains("255 sequences")),
        "{sizes:?}"
    );
}

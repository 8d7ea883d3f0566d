//! Attention of serving engines.

use super::*;

#[test]
fn the_workload_of_a_serving_engine() {
    let step = "execute_1_context_1(sq96sk96sqsq9216sqsk9216)_generation_4(sq4sk400sqsq4sqsk400)";
    let args = "100x32x128, 100x8x128*2, 100x4096";
    let served = |write_us: u32, attend_us: u32| {
        let kernels = [
            ("void vllm::reshape_and_cache_flash_kernel<bf16>", write_us),
            ("kernel_unified_attention_2d", attend_us),
        ];
        let op = "vllm::unified_attention_with_output";
        let calls = Calls::new().with(|timetable| timetable.annotation(step, 0..50));
        let calls = calls.kernels(op, args, &kernels);
        calls.outcome("sdpa_fwd")
    };
    let outcome = served(20, 80);
    let cases = [
        ("total_ctx_tokens", Value::Count(96)),
        ("total_gen_tokens", Value::Count(4)),
        ("profile_type", Value::Quoted("prefill_heavy".to_owned())),
        // 20 of 100 µs write the cache.
        ("avg_reshape_cache", Value::Percent(20.0)),
    ];
    for (key, expected) in cases {
        assert_eq!(outcome.get(key), Some(&expected), "{key}");
    }
    assert!(patterns(&outcome).contains(&"cache_writes"));
    // A kernel that is as short as its launch has few tokens to write.
    assert!(!patterns(&served(9, 20)).contains(&"cache_writes"));
}

/// 256 requests decode over pages of a cache; their lengths are not in the trace.
#[test]
fn attention_over_pages_of_unknown_length_is_called_that() {
    let write = "256x8x128*2, 5000x16x8x128*2, 256:long int";
    let attend = "256x32x128, 5000x16x8x128*2";
    let writes = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>";
    let attends = "void cutlass::device_kernel<flash::enable_sm90<>>";
    let outcome = Calls::new()
        .call("_C_cache_ops::reshape_and_cache_flash", write, writes, 4)
        .call("_vllm_fa3_C::fwd", attend, attends, 60_000)
        .outcome_on("H100", "sdpa_fwd");
    let finding = only(&outcome, "unmodeled_significant");
    assert_contains(&finding.issue, &["cache"]);
    assert_eq!(finding.impact, None);
    let is_fused = outcome.get("flash_attention_detected");
    assert_eq!(is_fused, Some(&Value::Flag(true)));
    // Cache writes have a slot for each token; these are not sequences.
    for row in &outcome.tables[0].rows {
        assert_contains_none(&row[1].text(), &["255 sequences"]);
    }
}

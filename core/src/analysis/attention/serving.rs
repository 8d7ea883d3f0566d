//! Attention of serving engines: the requests that are served, and the cache that is written.

use super::super::Input;
use super::super::compute::{Draft, finding, time_and_share};
use super::super::finding::Finding;
use super::super::outcome::{Outcome, Row};
use super::super::value::Value;
use super::Seen;
use super::kind::Kind;
use crate::format;
use crate::perf::batch_tokens;
use crate::trace::Category;

/// The time of kernels that write the cache, and of all kernels, of the rows that serve.
fn cache_time(input: &Input, seen: &[Seen]) -> (i64, i64) {
    let strings = &input.profile.trace.strings;
    let (mut cache_ns, mut all_ns) = (0_i64, 0_i64);
    let serving = seen
        .iter()
        .filter(|one| matches!(one.kind, Kind::Paged | Kind::Cache));
    for (name, _, ns) in serving.flat_map(|one| one.operation.kernels(input.profile)) {
        all_ns = all_ns.saturating_add(ns);
        if Kind::of_name(strings.get(name)) == Some(Kind::Cache) {
            cache_ns = cache_ns.saturating_add(ns);
        }
    }
    (cache_ns, all_ns)
}

/// What kinds of requests are served, and how much of the attention writes the cache.
pub(super) fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    let (cache_ns, all_ns) = cache_time(input, seen);
    let share = (all_ns > 0).then(|| cache_ns as f64 / all_ns as f64 * 100.0);
    outcome.fact(
        "avg_reshape_cache",
        "Writing the cache",
        Value::percent(share),
    );
    let Some((context, generation)) = tokens(input) else {
        return;
    };
    let ratio = context / (context + generation);
    let profile = match ratio {
        ratio if ratio > 0.8 => "prefill_heavy",
        ratio if ratio < 0.2 => "decode_heavy",
        _ => "mixed",
    };
    outcome.fact(
        "total_ctx_tokens",
        "Tokens read in",
        Value::Count(context as u64),
    );
    outcome.fact(
        "total_gen_tokens",
        "Tokens generated",
        Value::Count(generation as u64),
    );
    outcome.fact("ctx_ratio", "Share read in", Value::Number(ratio));
    outcome.fact(
        "profile_type",
        "Workload",
        Value::Quoted(profile.to_owned()),
    );
}

/// Tokens of all steps whose annotations count them: read in, and generated. Annotations of the
/// host, or, where there are none, of the GPU.
fn tokens(input: &Input) -> Option<(f64, f64)> {
    let trace = &input.profile.trace;
    [Category::UserAnnotation, Category::GpuUserAnnotation]
        .into_iter()
        .find_map(|category| {
            let of_category = trace
                .events
                .ids()
                .filter(|event| trace.events.category(*event) == category);
            let counts = of_category
                .filter_map(|event| batch_tokens(trace.strings.get(trace.events.name(event))));
            let (context, generation) =
                counts.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            (context + generation > 0.0).then_some((context, generation))
        })
}

/// Writing keys and values to the cache, where it takes a good part of the attention.
pub(super) fn cache_writes(input: &Input, seen: &[Seen]) -> Option<Finding> {
    let thresholds = &input.options.thresholds;
    let (cache_ns, all_ns) = cache_time(input, seen);
    let share = (all_ns > 0).then(|| cache_ns as f64 / all_ns as f64 * 100.0)?;
    let of_total = input
        .total_ns()
        .map(|all| cache_ns as f64 / all as f64 * 100.0)?;
    let has_paged = seen.iter().any(|one| one.kind == Kind::Paged);
    if !has_paged
        || share <= thresholds.sdpa_cache_percent
        || of_total < thresholds.gate_percent_of_total
    {
        return None;
    }
    let rows: Vec<&Row> = seen
        .iter()
        .filter(|one| one.kind == Kind::Cache)
        .map(|one| one.row)
        .collect();
    let with_cache: Vec<&Row> = match rows.is_empty() {
        false => rows,
        true => seen
            .iter()
            .filter(|one| one.kind == Kind::Paged)
            .map(|one| one.row)
            .collect(),
    };
    let mut found = finding(
        input,
        &with_cache,
        true,
        Draft {
            pattern: "cache_writes",
            title: "Writing the cache takes a good part of the attention".to_owned(),
            issue: format!(
                "Writing keys and values to the cache takes {}, {} of the attention.",
                time_and_share(cache_ns, input),
                format::percent(share)
            ),
            model: "try other block sizes of the cache (16, 32, 64 tokens).".to_owned(),
            kernel: "it moves each key and value once: compare its bandwidth with the best element-wise operation of this trace, or write the cache from the kernel that makes the keys."
                .to_owned(),
            reasoning: vec![
                "How much another block size saves cannot be told from this trace.".to_owned(),
            ],
            tables: Vec::new(),
        },
    )?;
    found.time_ns = cache_ns;
    found.impact = None;
    found.savings = Vec::new();
    Some(found)
}

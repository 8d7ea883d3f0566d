//! Attention of serving engines: the requests that are served, and the cache that is written.

use super::super::Input;
use super::super::compute::{Draft, finding, time_and_share};
use super::super::finding::Finding;
use super::super::outcome::{Outcome, Row};
use super::Seen;
use super::kind::Kind;
use crate::base::format;
use crate::base::value::Value;
use crate::perf::batch_tokens;
use crate::trace::Category;

/// Kernels that write the cache beside all that serve.
#[derive(Debug, Clone, Copy, Default)]
struct CacheTime {
    n_writes: u64,
    cache_ns: i64,
    all_ns: i64,
}

/// The kernels of the rows that serve.
fn cache_time(input: &Input, seen: &[Seen]) -> CacheTime {
    let strings = &input.profile.trace.strings;
    let mut time = CacheTime::default();
    let serving = seen
        .iter()
        .filter(|one| matches!(one.kind, Kind::Paged | Kind::Cache));
    for (name, n, ns) in serving.flat_map(|one| one.operation.kernels(input.profile)) {
        time.all_ns = time.all_ns.saturating_add(ns);
        if Kind::of_name(strings.get(name)) == Some(Kind::Cache) {
            time.n_writes += n;
            time.cache_ns = time.cache_ns.saturating_add(ns);
        }
    }
    time
}

/// What kinds of requests are served, and how much of the attention writes the cache.
pub(super) fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    let CacheTime {
        cache_ns, all_ns, ..
    } = cache_time(input, seen);
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

/// Writing keys and values to the cache, where it takes a good part of the attention. Writes that
/// take about as long as their launch have few tokens to write, and are none of its cost.
pub(super) fn cache_writes(input: &Input, seen: &[Seen]) -> Option<Finding> {
    let thresholds = &input.options.thresholds;
    let CacheTime {
        n_writes,
        cache_ns,
        all_ns,
    } = cache_time(input, seen);
    let share = (all_ns > 0).then(|| cache_ns as f64 / all_ns as f64 * 100.0)?;
    let mean_us = cache_ns as f64 / 1e3 / n_writes.max(1) as f64;
    let of_total = input
        .total_ns()
        .map(|all| cache_ns as f64 / all as f64 * 100.0)?;
    let has_paged = seen.iter().any(|one| one.kind == Kind::Paged);
    if !has_paged
        || share <= thresholds.sdpa_cache_percent
        || mean_us < thresholds.short_kernel_us
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
            model: "write the cache from the kernel that rotates the keys, where the serving engine has such a fused one.".to_owned(),
            kernel: "it moves each key and value once: compare its bandwidth with the best element-wise operation of this trace."
                .to_owned(),
            reasoning: vec![
                "Fused, each key and value is read once less; it is written all the same.".to_owned(),
            ],
            tables: Vec::new(),
        },
    )?;
    found.time_ns = cache_ns;
    found.impact = None;
    found.savings = Vec::new();
    Some(found)
}

//! Attention of serving engines: the requests that are served, and writes to the KV cache.

use super::Observed;
use crate::findings::prelude::*;
use crate::names::attention::AttentionKernel;
use crate::profile::serving::served_tokens;

/// Kernels that write the KV cache, compared with all serving kernels.
pub(super) struct CacheWrites<'a> {
    /// The operations that write it; if the writes are no operations of their own, the attention around them.
    pub(super) operations: Vec<&'a Observed<'a>>,
    pub(super) cache_ns: i64,
    has_paged: bool,
    n_writes: u64,
    all_ns: i64,
}

impl<'a> CacheWrites<'a> {
    pub(super) fn of(input: &Input, observed: &'a [Observed<'a>]) -> CacheWrites<'a> {
        let of = |kernel: AttentionKernel| -> Vec<&'a Observed<'a>> {
            observed.iter().filter(|one| one.kernel == kernel).collect()
        };
        let (cache, paged) = (of(AttentionKernel::Cache), of(AttentionKernel::Paged));
        let kernels = cache.iter().chain(&paged);
        let kernels = kernels.flat_map(|one| one.operation.kernels(input.profile));
        let kernels: Vec<_> = kernels.collect();
        let is_write = |name| {
            let name = input.profile.trace.strings.get(name);
            AttentionKernel::of_name(name) == Some(AttentionKernel::Cache)
        };
        let writes = kernels.iter().filter(|(name, ..)| is_write(*name));
        CacheWrites {
            has_paged: !paged.is_empty(),
            n_writes: writes.clone().map(|(_, n, _)| *n).sum(),
            cache_ns: sum(writes.map(|(.., ns)| *ns)),
            all_ns: sum(kernels.iter().map(|(.., ns)| *ns)),
            operations: if cache.is_empty() { paged } else { cache },
        }
    }

    /// Their share of the time of serving kernels.
    pub(super) fn percent(&self) -> Option<f64> {
        percent_of(self.cache_ns, self.all_ns)
    }

    /// Whether they take a significant part of the attention, and longer than their launch.
    pub(super) fn are_costly(&self, input: &Input) -> bool {
        let thresholds = &input.options.thresholds;
        let mean_us = self.cache_ns as f64 / 1e3 / self.n_writes.max(1) as f64;
        let of_total = input
            .total_ns()
            .and_then(|all| percent_of(self.cache_ns, all));
        let share = self.percent();
        self.has_paged
            && mean_us >= thresholds.short_kernel_us
            && share.is_some_and(|share| share > thresholds.sdpa_cache_percent)
            && of_total.is_some_and(|share| share >= thresholds.gate_percent_of_total)
    }
}

/// Which kinds of requests are served, and the share of attention spent on writing the cache.
pub(super) fn facts(input: &Input, outcome: &mut Outcome, writes: &CacheWrites) {
    let share = Value::percent(writes.percent());
    outcome.fact("avg_reshape_cache", "Writing the KV cache", share);
    let Some((context, generation)) = served_tokens(&input.profile.trace) else {
        return;
    };
    let ratio = context / (context + generation);
    let workload = match ratio {
        ratio if ratio > 0.8 => "prefill_heavy",
        ratio if ratio < 0.2 => "decode_heavy",
        _ => "mixed",
    };
    let tokens = |n: f64| Value::Count(n as u64);
    outcome.fact("total_ctx_tokens", "Prefill tokens", tokens(context));
    outcome.fact("total_gen_tokens", "Decode tokens", tokens(generation));
    outcome.fact("ctx_ratio", "Prefill share", Value::Number(ratio));
    let workload = Value::Quoted(workload.to_owned());
    outcome.fact("profile_type", "Workload", workload);
}

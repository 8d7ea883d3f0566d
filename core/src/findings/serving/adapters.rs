//! Low-rank adapters (LoRA) that run as kernels of their own beside each GEMM of the model.

use super::{Issue, Kind, Source};
use crate::base::tally::tallied;
use crate::findings::prelude::*;
use crate::names::is_adapter;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::operations::kinds::gemm::is_of_adapter;
use crate::trace::ByName;

/// Adapters below this share of the run are not reported.
const LEAST_PERCENT: f64 = 1.0;

pub(super) fn issues(source: &Source) -> Vec<Issue> {
    issue(source).into_iter().collect()
}

fn issue(source: &Source) -> Option<Issue> {
    let (input, profile) = (source.input, source.input.profile);
    let mut is_adapter = ByName::new(is_adapter);
    let computing = profile
        .gpu
        .all()
        .filter(|work| work.class == GpuClass::Computation);
    let adapters: Vec<_> = computing
        .filter(|work| is_adapter.of(&profile.trace, work.event))
        .collect();
    let times = adapters.iter().map(|work| (work.name, work.span.length()));
    let ns = sum(times.clone().map(|(_, ns)| ns));
    percent_of(ns, input.total_ns()?).filter(|percent| *percent >= LEAST_PERCENT)?;
    let rows = tallied(times)
        .into_iter()
        .map(|(name, n, ns)| (source.name(name), n, ns));
    let table = source.kernels_table("adapter_kernels", "Kernels of adapters", rows.collect());
    let words = vec![("kernels", format::counted(adapters.len() as u64, "kernel"))];
    // At the roofline an adapter takes next to nothing but its launches.
    let operations = input.operations();
    let operations = operations.filter(|(_, operation, _)| is_of_adapter(profile, operation));
    let operations: Vec<(usize, i64)> = operations
        .map(|(at, operation, _)| (at, operation.kernel_ns))
        .collect();
    let slow_ns = sum(operations
        .iter()
        .map(|(at, _)| beyond_roofline_ns(input, *at)));
    let slow_ns = slow_ns.min(ns);
    let impact = Impact {
        low_ns: slow_ns,
        mid_ns: i64::midpoint(slow_ns, ns),
        ..Impact::possible(ns)
    };
    let at = operations.iter().map(|(at, _)| *at).collect();
    let issue = Issue::new(Kind::Adapters, ns).saving(impact, operations);
    Some(Issue {
        operations: at,
        events: adapters.iter().take(10).map(|work| work.event).collect(),
        words,
        tables: vec![table],
        ..issue
    })
}

/// How much longer an operation takes than at the roofline; nothing without a roofline, or below the time of a launch.
fn beyond_roofline_ns(input: &Input, at: usize) -> i64 {
    /// A kernel takes about as long, however little it does.
    const LAUNCH_NS: i64 = 2_000;
    let (operation, evaluation) = (input.operation(at), input.evaluation(at));
    let n = operation.n_calls() as i64;
    let roofline_ns = evaluation
        .plausible()
        .map(|one| (operation.kernel_ns as f64 * one.percent_of_roofline / 100.0).round() as i64);
    roofline_ns.map_or(0, |ns| {
        let least_ns = ns.max(LAUNCH_NS.saturating_mul(n));
        operation.kernel_ns.saturating_sub(least_ns).max(0)
    })
}

//! Low-rank adapters (LoRA) that run as kernels of their own beside each GEMM of the model.

use super::{Issue, Kind, Source};
use crate::base::tally::tallied;
use crate::findings::prelude::*;
use crate::names::is_adapter;
use crate::profile::gpu::timeline::GpuClass;
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
    let issue = Issue::new(Kind::Adapters, ns).saving(Impact::possible(ns), []);
    Some(Issue {
        events: adapters.iter().take(10).map(|work| work.event).collect(),
        words,
        tables: vec![table],
        ..issue
    })
}

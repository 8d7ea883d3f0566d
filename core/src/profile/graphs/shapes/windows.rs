//! Sliding-window attention, with the window size from the model's configuration.

use super::known::KnownModel;
use super::{Estimate, Source};
use crate::names::batch;
use crate::perf::estimate::{self, PagedSizes};
use crate::perf::model_config::Role;
use crate::perf::{Modeled, Work};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::perf_rows::PerfRow;

/// Adds estimates to sliding-window attention, from the window size.
pub(super) fn add(profile: &Profile, known: &KnownModel, operations: &mut [Operation]) {
    let model = known.config.language();
    let Some(window) = model.and_then(|model| Some(model.window.as_ref()?.size)) else {
        return;
    };
    for operation in operations.iter_mut().filter(|one| one.sees_window) {
        operation.estimate = estimate(profile, operation, window);
    }
}

fn estimate(profile: &Profile, operation: &Operation, window: u64) -> Option<Estimate> {
    let recorded = operation.modeled.as_ref()?;
    let size = |name| recorded.size_of(name);
    let sizes = PagedSizes {
        heads: size("H_Q")?,
        kv_heads: size("H_KV")?,
        d_qk: size("d_h_qk")?,
        d_v: size("d_h_v")?,
        is_latent: false,
        window: Some(window),
        cache_bytes: None,
    };
    let dtype = operation.arguments(profile)?.dtype(0).to_owned();
    let of_call = |call: &PerfRow| {
        let first = call.work.first().and_then(|id| profile.gpu.get(*id));
        let launched = first.map(|work| work.span);
        let trace = &profile.trace;
        let annotation = profile.batches().around(trace, call.event, launched)?;
        estimate::attention(&batch::parse(trace.strings.get(annotation))?, sizes, &dtype)
    };
    let all: Option<Vec<Modeled>> = operation.calls.iter().map(of_call).collect();
    let (all, n) = (all?, operation.calls.len().max(1) as f64);
    let work = Work {
        flops: all.iter().map(|one| one.work.flops).sum::<f64>() / n,
        bytes: all
            .iter()
            .map(|one| one.work.bytes)
            .sum::<Option<f64>>()
            .map(|sum| sum / n),
        ..all.first()?.work
    };
    Some(Estimate {
        role: Role::WindowedAttention,
        source: Source::Config,
        modeled: Modeled {
            work,
            ..all.first()?.clone()
        },
        is_least: false,
    })
}

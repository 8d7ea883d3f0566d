//! Assigns estimates to operations of replayed kernels: kernels with the same name but several roles or sizes become
//! separate operations.

use std::collections::BTreeMap;

use super::{Estimate, Estimates};
use crate::base::sort::Arrange;
use crate::perf::{Modeled, Param, Work};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::perf_rows::PerfRow;

/// The similar calls of an operation: the first estimate, and total FLOPs and bytes.
struct Alike {
    estimate: Option<Estimate>,
    calls: Vec<PerfRow>,
    flops: f64,
    bytes: Option<f64>,
}

/// Moves calls with a different role or size than most out of their operation.
pub(crate) fn split(
    profile: &Profile,
    operations: &mut [Operation],
    estimates: &Estimates,
) -> Vec<Operation> {
    let mut parts = Vec::new();
    if estimates.is_empty() {
        return parts;
    }
    for operation in operations {
        let is_estimated = |call: &PerfRow| estimates.of(first(call)?).is_some().then_some(());
        if operation.modeled.is_some()
            || operation.is_tuning()
            || !operation
                .calls
                .iter()
                .any(|one| is_estimated(one).is_some())
        {
            continue;
        }
        let calls = std::mem::take(&mut operation.calls);
        let mut groups = groups(calls, estimates);
        // The group with the most time keeps the original position.
        groups.arrange_by_key(|group| {
            let ns: i64 = group.calls.iter().map(|call| call.kernel_ns).sum();
            std::cmp::Reverse(ns)
        });
        for (at, group) in groups.into_iter().enumerate() {
            let mut part = Operation {
                estimate: group
                    .estimate
                    .map(|estimate| mean(estimate, &group.calls, group.flops, group.bytes)),
                calls: group.calls,
                times_us: Vec::new(),
                modeled: None,
                is_part: at > 0,
                trials: Vec::new(),
                ..*operation
            };
            part.measure(profile);
            match at {
                0 => *operation = part,
                _ => parts.push(part),
            }
        }
    }
    parts
}

fn first(call: &PerfRow) -> Option<crate::profile::launch::GpuId> {
    match call.work[..] {
        [id] => Some(id),
        _ => None,
    }
}

fn groups(calls: Vec<PerfRow>, estimates: &Estimates) -> Vec<Alike> {
    let mut by_sizes: BTreeMap<Vec<u64>, Alike> = BTreeMap::new();
    for call in calls {
        let found = first(&call).and_then(|id| estimates.of(id));
        let key = found.map_or_else(Vec::new, |(estimate, _)| sizes(estimate));
        let group = by_sizes.entry(key).or_insert_with(|| Alike {
            estimate: found.map(|(estimate, _)| estimate.clone()),
            calls: Vec::new(),
            flops: 0.0,
            bytes: Some(0.0),
        });
        if let Some((Estimate { modeled, .. }, share)) = found {
            group.flops += modeled.work.flops * share;
            let bytes = modeled.work.bytes.map(|bytes| bytes * share);
            group.bytes = group.bytes.zip(bytes).map(|(sum, bytes)| sum + bytes);
        }
        group.calls.push(call);
    }
    by_sizes.into_values().collect()
}

/// What calls of one operation have in common: role, source, and sizes; for attention, excluding the number of keys,
/// which varies by step.
fn sizes(estimate: &Estimate) -> Vec<u64> {
    let Modeled { work, params, .. } = &estimate.modeled;
    let sizes = params.iter().filter_map(|(_, param)| match param {
        Param::Int(size) => Some(*size as u64),
        _ => None,
    });
    let mut key = vec![estimate.role as u64, estimate.source as u64];
    key.extend(sizes);
    // Without sizes, the bytes distinguish them.
    let bytes = work.bytes.filter(|_| params.is_empty());
    key.extend(bytes.map(|bytes| bytes as u64));
    key
}

fn mean(estimate: Estimate, calls: &[PerfRow], flops: f64, bytes: Option<f64>) -> Estimate {
    let n = calls.len().max(1) as f64;
    let work = Work {
        flops: flops / n,
        bytes: bytes.map(|bytes| bytes / n),
        ..estimate.modeled.work
    };
    Estimate {
        modeled: Modeled {
            work,
            ..estimate.modeled
        },
        ..estimate
    }
}

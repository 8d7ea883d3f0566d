//! What a step of a serving engine has to read, weights and the KV cache, and the least time that takes.

use super::PhaseFigures;
use crate::base::format;
use crate::base::interval::sum;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::report::{Judged, ReportOptions};

/// Of less of the time with a known work nothing is said, in percent.
const LEAST_KNOWN_PERCENT: f64 = 90.0;

/// The least time of a step at the memory bandwidth, and the bytes of its GEMMs, experts and attention
/// that ask for it; `None` for steps of several phases, and where the work is not known.
pub(super) fn facts(
    profile: &Profile,
    options: &ReportOptions,
    judged: &[Judged],
    phases: &[PhaseFigures],
) -> Option<[(String, String); 2]> {
    let [phase] = phases else { return None };
    phase.kv_tokens?;
    let gbps = options.gpu.as_deref()?.mem_bw_gbps;
    let all = profile.operations().iter().zip(judged);
    let all = all.filter(|(one, judged)| one.family.computes() && !judged.is_over_link);
    let all: Vec<(&Operation, &Judged)> = all.collect();
    let bytes_of = |(one, judged): &(&Operation, &Judged)| {
        let bytes = judged.work?.bytes.filter(|_| !judged.is_anomaly)?;
        Some(bytes * one.n_calls() as f64)
    };
    let ns = |known: bool| {
        let of_it = all.iter().filter(|one| !known || bytes_of(one).is_some());
        sum(of_it.map(|(one, _)| one.kernel_ns)) as f64
    };
    if ns(true) < ns(false) * LEAST_KNOWN_PERCENT / 100.0 {
        return None;
    }
    let per_step = |is: &dyn Fn(Family) -> bool| {
        let of_it = all.iter().filter(|(one, _)| is(one.family));
        of_it.filter_map(bytes_of).sum::<f64>() / phase.n_steps.max(1) as f64
    };
    let weights = per_step(&|family| matches!(family, Family::Gemm | Family::Moe));
    let cache = per_step(&|family| family == Family::Attention);
    let (bytes, text) = (weights + cache, |bytes: f64| format::bytes(bytes as u64));
    let least_ns = bytes / gbps;
    let percent = least_ns / phase.step_ns.max(1) as f64 * 100.0;
    let floor = format!(
        "{}, {} of the step",
        format::time_ns(least_ns as i64),
        format::percent(percent)
    );
    let traffic = format!(
        "at least {} per step ({} in GEMMs and experts, {} in attention with its KV cache), at {}",
        text(bytes),
        text(weights),
        text(cache),
        format::bandwidth_gbps(gbps)
    );
    let facts = [("Memory floor", floor), ("Memory traffic", traffic)];
    Some(facts.map(|(label, value)| (label.to_owned(), value)))
}

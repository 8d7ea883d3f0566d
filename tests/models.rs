//! How much of the GPU time of real traces has plausible FLOPs and bytes from the built-in models.

use dormer_core::assess::Evaluation;
use dormer_core::hardware;
use dormer_core::profile::Profile;
use dormer_core::profile::operations::Operation;
use dormer_core::trace::Category;

use crate::support::opened::{profile, report};
use crate::support::shared;

/// The percentage of each trace that the models must cover.
const LEAST_PERCENT: f64 = 95.0;

/// Time in nanoseconds, by what is known about it.
#[derive(Debug, Default)]
struct Shares {
    /// All operations except memory copies; collectives are not operations.
    all: i64,
    /// With bytes, and at most 110 % of the trace's own GPU's roofline.
    counted: i64,
    /// With bytes, but faster: small enough for a cache, or counted wrong.
    too_fast: i64,
}

#[test]
fn models_count_nearly_all_time() {
    let Some(shared) = shared::folder() else {
        return;
    };
    let mut low = Vec::new();
    for name in shared::traces(&shared) {
        let profile = profile(shared::trace(&shared, &name));
        if !profile.has_gpu_events() || !has_shapes(&profile) {
            continue;
        }
        let report = report(&profile);
        let mut shares = Shares::default();
        let all = report.operations(&profile);
        for (operation, evaluation) in all.filter(|(operation, _)| !operation.is_unattributed()) {
            add(&mut shares, &profile, operation, evaluation);
        }
        let percent = |part: i64| part as f64 * 100.0 / shares.all as f64;
        let (counted, too_fast) = (percent(shares.counted), percent(shares.too_fast));
        let gpu = hardware::detect(&profile.trace.devices);
        let gpu = gpu.map_or("unknown GPU", |gpu| &gpu.name);
        eprintln!(
            "{name} ({gpu}): {counted:.1} % counted, {too_fast:.2} % above 110 % of its roofline"
        );
        if counted < LEAST_PERCENT {
            low.push(format!("{name}: {counted:.1} %"));
        }
    }
    assert!(low.is_empty(), "{low:?}");
}

fn add(shares: &mut Shares, profile: &Profile, operation: &Operation, evaluation: &Evaluation) {
    let is_copy = operation.work().all(|id| {
        let work = profile.gpu.get(id);
        let category = work.map(|work| profile.trace.events.category(work.event));
        matches!(category, Some(Category::GpuMemcpy | Category::GpuMemset))
    });
    if is_copy {
        return;
    }
    shares.all += operation.kernel_ns;
    let has_bytes = evaluation
        .work
        .and_then(|work| work.bytes)
        .is_some_and(|bytes| bytes > 0.0);
    let percent = evaluation
        .achieved
        .map(|achieved| achieved.percent_of_roofline);
    match has_bytes {
        true if evaluation.is_anomaly => {
            shares.too_fast += operation.kernel_ns;
            eprintln!(
                "  {:.0} % of the roof: {}, {} ns",
                percent.unwrap_or_default(),
                operation.name(profile),
                operation.kernel_ns / operation.calls.len().max(1) as i64,
            );
        }
        true => shares.counted += operation.kernel_ns,
        false if operation.kernel_ns > 0 => eprintln!(
            "  no model: {}, {} ns in all",
            operation.name(profile),
            operation.kernel_ns
        ),
        false => {}
    }
}

/// Whether shapes were recorded.
fn has_shapes(profile: &Profile) -> bool {
    profile
        .operations()
        .iter()
        .any(|operation| !operation.dims(profile).is_empty())
}

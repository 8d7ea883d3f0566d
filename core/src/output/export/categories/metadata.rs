//! What an analysis was made with: the hardware, its rates, how busy it was, how the time splits.

use serde_json::{Value as Json, json};

use super::pretty;
use crate::findings::Outcome;
use crate::output::json::findings::{ms, run};
use crate::output::json::shared::window;
use crate::profile::Profile;
use crate::report::Report;

pub(super) fn metadata(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    let options = &report.options;
    let gpu = options.gpu.as_deref();
    let rates = gpu.map(|gpu| {
        use crate::hardware::Precision::{Bf16, Fp4, Fp8, Fp16, Fp32, Fp64, Int8, Tf32};
        let matrix = [Fp64, Fp32, Tf32, Fp16, Bf16, Fp8, Fp4, Int8].map(|precision| {
            let figure = gpu.matrix_rate(precision, options.basis);
            let name = format!("matrix_{}", precision.label().to_ascii_lowercase());
            (
                name,
                figure.map(
                    |figure| json!({ "tflops": figure.tflops, "basis": figure.basis.label() }),
                ),
            )
        });
        let vector = [Fp64, Fp32, Fp16, Bf16].map(|precision| {
            let figure = gpu.vector_rate(precision, options.basis);
            let name = format!("vector_{}", precision.label().to_ascii_lowercase());
            (
                name,
                figure.map(
                    |figure| json!({ "tflops": figure.tflops, "basis": figure.basis.label() }),
                ),
            )
        });
        let known = matrix.into_iter().chain(vector);
        let known = known.filter_map(|(name, figure)| Some((name, figure?)));
        Json::Object(known.collect())
    });
    pretty(&json!({
        "platform": platform(report),
        "category": outcome.kind.key,
        "category_name": outcome.kind.title,
        "peak_hbm_bw_tbs": gpu.map(|gpu| gpu.mem_bw_gbps / 1e3),
        "memory_gb": gpu.and_then(|gpu| gpu.memory_gb),
        "rates": rates,
        "gpu_utilization": run(report),
        "time_breakdown": {
            "gpu_kernel_time_ms": time_of(outcome, Time::Kernels),
            "idle_time_ms": time_of(outcome, Time::Idle),
            "exposed_time_ms": time_of(outcome, Time::Exposed),
            "cpu_duration_ms": ms(host_ns(profile, outcome)),
        },
        "trace": {
            "events": profile.trace.n_events_read,
            "text_bytes": profile.text_bytes,
            "window": window(profile.window.as_ref()),
        },
    }))
}

/// What the time of an analysis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// Durations of kernels.
    Kernels,
    /// In which the GPU does nothing.
    Idle,
    /// Of communication and copies that nothing hides.
    Exposed,
}

/// The time of an analysis in milliseconds, where it is of this kind.
pub(super) fn time_of(outcome: &Outcome, kind: Time) -> Option<f64> {
    let own = match outcome.kind.key {
        "cpu_idle" => Time::Idle,
        "multi_kernel" => Time::Exposed,
        _ => Time::Kernels,
    };
    (own == kind).then(|| ms(outcome.time_ns))
}

pub(super) fn platform(report: &Report) -> Option<String> {
    let hardware = &report.overview.hardware;
    let chosen = hardware.gpu.as_ref().map(|gpu| gpu.name.to_string());
    chosen.or_else(|| hardware.recorded_on.clone())
}

/// Time of the calls of an analysis on the host.
pub(super) fn host_ns(profile: &Profile, outcome: &Outcome) -> i64 {
    let events = &profile.trace.events;
    let operations = outcome
        .rows
        .iter()
        .filter_map(|row| profile.operations().get(row.operation))
        .filter(|operation| operation.is_linked);
    let calls = operations.flat_map(|operation| &operation.calls);
    crate::base::interval::sum(calls.filter_map(|call| events.dur_ns(call.event)))
}

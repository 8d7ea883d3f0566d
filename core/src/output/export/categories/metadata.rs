//! The context of an analysis: the hardware, its rates, how busy it was, and how the time splits.

use serde_json::{Map, Value as Json, json};

use super::pretty;
use crate::base::interval::sum;
use crate::base::sort::Gather;
use crate::findings::Outcome;
use crate::hardware::GpuSpec;
use crate::hardware::Precision::{Bf16, Fp4, Fp8, Fp16, Fp32, Fp64, Int8, Tf32};
use crate::output::json::findings::{ms, run};
use crate::output::json::shared::window;
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};

pub(super) fn metadata(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    let options = &report.options;
    let gpu = options.gpu.as_deref();
    pretty(&json!({
        "platform": platform(report),
        "category": outcome.kind.key,
        "category_name": outcome.kind.title,
        "peak_hbm_bw_tbs": gpu.map(|gpu| gpu.mem_bw_gbps / 1e3),
        "memory_gb": gpu.and_then(|gpu| gpu.memory_gb),
        "rates": gpu.map(|gpu| rates(gpu, options)),
        "gpu_utilization": run(report),
        "time_breakdown": times(profile, outcome),
        "trace": {
            "events": profile.trace.n_events_read,
            "text_bytes": profile.recording.text_bytes,
            "window": window(profile.window.as_ref()),
        },
    }))
}

/// The rates of the GPU for each precision that it supports.
fn rates(gpu: &GpuSpec, options: &ReportOptions) -> Map<String, Json> {
    let basis = options.basis;
    let matrix = [Fp64, Fp32, Tf32, Fp16, Bf16, Fp8, Fp4, Int8];
    let matrix = matrix.map(|one| ("matrix", one, gpu.matrix_rate(one, basis)));
    let vector = [Fp64, Fp32, Fp16, Bf16].map(|one| ("vector", one, gpu.vector_rate(one, basis)));
    let rates = matrix.into_iter().chain(vector);
    let known = rates.filter_map(|(unit, precision, figure)| {
        let figure = figure?;
        let name = format!("{unit}_{}", precision.label().to_ascii_lowercase());
        let basis = figure.basis.label();
        Some((name, json!({ "tflops": figure.tflops, "basis": basis })))
    });
    known.gather()
}

/// The time of an analysis under the key of its kind: kernel durations, GPU idle time, or exposed communication and
/// copies; plus the CPU time of its calls.
pub(super) fn times(profile: &Profile, outcome: &Outcome) -> Map<String, Json> {
    let own = match outcome.kind.key {
        "cpu_idle" => "idle_time_ms",
        "multi_kernel" => "exposed_time_ms",
        _ => "gpu_kernel_time_ms",
    };
    let kinds = ["gpu_kernel_time_ms", "idle_time_ms", "exposed_time_ms"];
    let times = kinds.map(|kind| (kind, (kind == own).then(|| ms(outcome.time_ns))));
    let cpu = ("cpu_duration_ms", Some(ms(cpu_ns(profile, outcome))));
    let times = times.into_iter().chain([cpu]);
    times.map(|(key, ms)| (key.to_owned(), json!(ms))).gather()
}

pub(super) fn platform(report: &Report) -> Option<String> {
    let hardware = &report.overview.hardware;
    let chosen = hardware.gpu.as_ref().map(|gpu| gpu.name.to_string());
    chosen.or_else(|| hardware.recorded_on.clone())
}

fn cpu_ns(profile: &Profile, outcome: &Outcome) -> i64 {
    let rows = outcome.rows.iter();
    let operations = rows.filter_map(|row| profile.operations().get(row.operation));
    let linked = operations.filter(|operation| operation.is_linked);
    let calls = linked.flat_map(|operation| &operation.calls);
    sum(calls.filter_map(|call| profile.trace.events.dur_ns(call.event)))
}

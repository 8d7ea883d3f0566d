//! The file `cpu_idle_metrics.json`.

use serde_json::{Map, Value as Json, json};

use crate::assess::idle::cause::IdleCause;
use crate::assess::idle::{BINS, Idle};
use crate::base::sort::Gather;
use crate::base::value::rounded;
use crate::findings::Input;
use crate::findings::cpu_idle::patterns;
use crate::findings::engine::pattern;
use crate::names::cpu_activity::CpuActivity;
use crate::output::json::{list, ms, us};
use crate::profile::launch::GpuId;

/// Maximum functions listed.
const MAX_ROWS: usize = 100;

/// The metrics: idle time, its causes, kernels.
pub(crate) fn metrics(input: &Input) -> Option<Json> {
    let idle = Idle::once(input)?;
    let timeline = &idle.timeline;
    Some(json!({
        "category": "cpu_idle",
        "analysis_tier": "system",
        "status": "OK",
        "idle_flagged": idle.is_flagged(),
        "severity": idle.severity().label(),
        "target_idle_percent": idle.thresholds.idle_target_percent,
        "potential_speedup": idle.potential_speedup().map(|times| rounded(times, 4)),
        "gpu_utilization": {
            "total_time_ms": ms(timeline.total_ns()),
            "idle_time_ms": ms(timeline.idle_ns),
            "idle_time_percent": rounded(idle.idle_percent(), 4),
            "computation_percent": rounded(idle.percent(timeline.computation_ns), 4),
            "communication_percent": rounded(idle.percent(timeline.exposed_comm_ns), 4),
            "memcpy_percent": rounded(idle.percent(timeline.exposed_memcpy_ns), 4),
        },
        "kernel_analysis": kernel_analysis(&idle),
        "gap_analysis": gap_analysis(input, &idle),
        "patterns_detected": pattern::json(&patterns(input, &idle)),
        "impact_estimates": [],
    }))
}

fn kernel_analysis(idle: &Idle) -> Json {
    let kernels = &idle.kernels;
    let families = kernels.families.iter();
    let by_category: Map<String, Json> = families
        .map(|(family, tally)| (family.label().to_owned(), json!(tally.count)))
        .gather();
    json!({
        "short_kernel_count": kernels.n_short,
        "total_kernel_count": kernels.kernels.count,
        "avg_kernel_time_us": kernels.kernels.mean_ns().map(us),
        "kernel_count_by_category": by_category,
    })
}

fn gap_analysis(input: &Input, idle: &Idle) -> Json {
    let by_cause: Map<String, Json> = idle
        .by_time()
        .into_iter()
        .map(|(cause, gaps)| {
            let value = json!({
                "count": gaps.all.count,
                "idle_time_ms": ms(gaps.all.ns),
                "percent_of_total": rounded(idle.percent(gaps.all.ns), 4),
                "longest_us": us(gaps.longest_ns),
            });
            (cause.key().to_owned(), value)
        })
        .gather();
    let histogram = BINS.iter().zip(&idle.histogram).map(|((from_ns, _), tally)| {
        json!({ "from_us": us(*from_ns), "count": tally.count, "idle_time_ms": ms(tally.ns) })
    });
    json!({
        "gap_count": idle.gaps.count,
        "avg_inter_kernel_gap_us": idle.gaps.mean_ns().map(us),
        "sync_point_count": idle.of(IdleCause::Synchronization).count,
        "by_cause": by_cause,
        "by_code": by_code(input, idle),
        "late_launch_idle_ms": ms(idle.code.all.ns),
        "known_code_idle_ms": ms(idle.code.known_ns),
        "histogram": histogram.collect::<Json>(),
        "top_gaps": longest_gaps(input, idle),
    })
}

fn longest_gaps(input: &Input, idle: &Idle) -> Json {
    let profile = input.profile;
    let trace = &profile.trace;
    let name = |event| trace.strings.get(trace.events.name(event));
    let work = |id: Option<GpuId>| id.and_then(|id| profile.gpu.get(id));
    list(&idle.longest, |gap| {
        let (before, after) = (work(gap.gap.before), work(gap.gap.after));
        json!({
            "start_us": us(idle.start_ns(gap)),
            "length_us": us(gap.gap.span.length()),
            "cause": gap.cause.key(),
            "before": before.map(|work| name(work.event)),
            "before_stream": before.and_then(|work| work.stream),
            "after": after.map(|work| name(work.event)),
            "after_stream": after.and_then(|work| work.stream),
            "after_uid": after.map(|work| trace.events.uid(work.event)),
            "launch_call": gap.launch.map(name),
            "launch_after_us": gap.launch_after_ns.map(us),
            "waited_in": gap.waited_in.map(name),
        })
    })
}

/// What ran while the GPU was idle, by function.
fn by_code(input: &Input, idle: &Idle) -> Json {
    let by_code = idle.code.rows.iter().take(MAX_ROWS).map(|row| {
        json!({
            "function": row.place.function,
            "file": row.place.file,
            "module": row.place.module,
            "library": row.place.library,
            "activity": row.activity.map(CpuActivity::key),
            "is_cold_start": row.is_one_off,
            "count": row.all.count,
            "idle_time_ms": ms(row.all.ns),
            "percent_of_total": rounded(idle.percent(row.all.ns), 4),
            "longest_us": us(row.longest_ns),
            "uid": input.profile.trace.events.uid(row.event),
        })
    });
    by_code.collect()
}

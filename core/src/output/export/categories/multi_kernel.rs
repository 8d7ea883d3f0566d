//! The files `multi_kernel_metrics.json` and `multi_kernel_data.json`.

use serde_json::{Map, Value as Json, json};

use crate::base::sort::Gather;
use crate::base::value::rounded;
use crate::findings::Input;
use crate::findings::engine::pattern;
use crate::findings::multi_kernel::{Facts, patterns};
use crate::output::json::{list, ms, round, us};
use crate::profile::gpu::timeline::GpuTimeline;
use crate::trace::Trace;

/// The metrics: copies by direction, blocking communication, overlap, patterns.
pub(super) fn metrics(input: &Input) -> Option<Json> {
    let facts = Facts::new(input)?;
    let timeline = &facts.timeline;
    let (blocking, overlap) = (facts.blocking(), facts.overlap());
    Some(json!({
        "category": "multi_kernel",
        "analysis_tier": "system",
        "status": "OK",
        "is_training": facts.is_training,
        "memcpy_assessment": memcpy(&facts),
        "nccl_blocking_assessment": {
            "severity": blocking.severity.label(),
            "flagged": blocking.is_flagged,
            "exposed_comm_time_ms": ms(timeline.exposed_comm_ns),
            "total_comm_time_ms": ms(timeline.comm_ns),
            "exposed_comm_percent": rounded(blocking.percent, 4),
            "potential_savings_ms": ms(facts.hideable.exposed_comm_ns),
        },
        "overlap_assessment": {
            "severity": overlap.label(),
            "flagged": overlap.is_flagged,
            "status": match overlap.severity {
                Some(_) => "ok",
                None => "insufficient",
            },
            "overlap_ratio": overlap.percent.map(|percent| rounded(percent / 100.0, 6)),
            "target_ratio": facts.thresholds.overlap_target_percent / 100.0,
            "exposed_comm_time_ms": ms(timeline.exposed_comm_ns),
            "total_comm_time_ms": ms(timeline.comm_ns),
            "potential_savings_ms": ms(facts.to_target_ns()),
        },
        "patterns_detected": pattern::json(&patterns(input, &facts)),
        "cross_validation": cross_validation(&facts.own, timeline),
    }))
}

fn memcpy(facts: &Facts) -> Json {
    let by_direction = facts.assessed.iter().map(|assessed| {
        let copies = &assessed.copies;
        let value = json!({
            "count": copies.count,
            "total_time_ms": ms(copies.time_ns),
            "percent_of_total": rounded(assessed.percent, 4),
            "exposed_time_ms": ms(copies.exposed_ns),
            "avg_bytes": copies.avg_bytes(),
            "total_bytes": copies.total_bytes(),
            "bandwidth_gbps": round(copies.gbps(), 3),
            "severity_by_time": assessed.by_time.label(),
            "severity_by_count": assessed.by_count.label(),
            "severity": assessed.severity().label(),
            "material": assessed.is_material,
            "flagged": assessed.is_flagged,
        });
        (assessed.direction.label().to_owned(), value)
    });
    json!({
        "severity": facts.worst_copies().label(),
        "flagged": facts.assessed.iter().any(|assessed| assessed.is_flagged),
        "total_count": facts.copies.count(),
        "total_time_ms": ms(facts.copies.time_ns()),
        "exposed_memcpy_time_ms": ms(facts.timeline.exposed_memcpy_ns),
        "by_direction": by_direction.gather::<Map<String, Json>>(),
    })
}

/// The same times, once from the spans that the analysis counts and once from the timeline. Both use the same
/// population, so they are equal; the file states it.
fn cross_validation(own: &GpuTimeline, timeline: &GpuTimeline) -> Json {
    /// Relative difference from which two times count as different, in percent.
    const TOLERANCE_PERCENT: f64 = 2.0;
    type Read = fn(&GpuTimeline) -> i64;
    let parts: [(&str, Read); 4] = [
        ("computation_time", |whole| whole.computation_ns),
        ("exposed_comm_time", |whole| whole.exposed_comm_ns),
        ("exposed_memcpy_time", |whole| whole.exposed_memcpy_ns),
        ("total_time", GpuTimeline::total_ns),
    ];
    list(&parts, |(metric, read)| {
        let (own_ns, timeline_ns) = (read(own), read(timeline));
        let diff_ns = own_ns.saturating_sub(timeline_ns).saturating_abs();
        let percent = match timeline_ns {
            0 if diff_ns == 0 => 0.0,
            0 => 100.0,
            _ => diff_ns as f64 * 100.0 / timeline_ns as f64,
        };
        json!({
            "metric": metric,
            "mk_ms": ms(own_ns),
            "tl_ms": ms(timeline_ns),
            "diff_ms": ms(diff_ns),
            "diff_pct": rounded(percent, 4),
            "status": if percent > TOLERANCE_PERCENT { "WARN" } else { "OK" },
        })
    })
}

/// The data: copies, collectives and their overlap.
pub(super) fn data(input: &Input) -> Option<Json> {
    let facts = Facts::new(input)?;
    Some(json!({
        "memcpy_summary": copies(&facts),
        "nccl_summary": collectives(&facts, &input.profile.trace),
        "overlap_analysis": overlap(&facts),
    }))
}

fn copies(facts: &Facts) -> Json {
    let by_direction = facts.copies.directions.iter().map(|(direction, copies)| {
        let value = json!({
            "count": copies.count,
            "total_time_us": us(copies.time_ns),
            "avg_time_us": us(copies.avg_ns()),
            "max_time_us": us(copies.max_ns),
            "total_bytes": copies.total_bytes(),
            "avg_bytes": copies.avg_bytes(),
        });
        (direction.label().to_owned(), value)
    });
    json!({
        "total_count": facts.copies.count(),
        "total_time_us": us(facts.copies.time_ns()),
        "by_direction": by_direction.gather::<Map<String, Json>>(),
    })
}

fn collectives(facts: &Facts, trace: &Trace) -> Json {
    let collectives = &facts.collectives;
    let top_ops = list(&collectives.longest, |longest| {
        json!({
            "name": trace.strings.get(trace.events.name(longest.event)),
            "duration_us": us(longest.length_ns),
            "stream": longest.stream,
        })
    });
    let by_type = list(&collectives.groups, |group| {
        json!({
            "type": group.key.kind.label(),
            "dtype": group.key.dtype,
            "group_size": group.key.group_size,
            "message_bytes": group.message_bytes(),
            "message_source": group.key.source.map(|source| source.label()),
            "count": group.count,
            "total_time_us": us(group.time_ns),
            "exposed_time_us": us(group.exposed_ns),
            "algorithm_bandwidth_gbps": round(group.algorithm_bandwidth(), 3),
            "bus_bandwidth_gbps": round(group.bus_bandwidth(), 3),
        })
    });
    let n_collectives = i64::try_from(collectives.count).unwrap_or(i64::MAX);
    json!({
        "total_count": collectives.count,
        "total_time_us": us(collectives.time_ns),
        "avg_time_us": (n_collectives > 0).then(|| us(collectives.time_ns / n_collectives)),
        "max_time_us": us(collectives.max_ns),
        "top_ops": top_ops,
        "by_type": by_type,
    })
}

fn overlap(facts: &Facts) -> Json {
    let timeline = &facts.timeline;
    let ratio = |exposed_ns: i64, all_ns: i64| {
        let hidden_ns = all_ns.saturating_sub(exposed_ns);
        (all_ns > 0).then(|| rounded(hidden_ns as f64 / all_ns as f64, 6))
    };
    json!({
        "total_time_us": us(timeline.total_ns()),
        "computation_time_us": us(timeline.computation_ns),
        "total_comm_time_us": us(timeline.comm_ns),
        "exposed_comm_time_us": us(timeline.exposed_comm_ns),
        "total_memcpy_time_us": us(timeline.memcpy_ns),
        "exposed_memcpy_time_us": us(timeline.exposed_memcpy_ns),
        "comm_overlap_ratio": ratio(timeline.exposed_comm_ns, timeline.comm_ns),
        "memcpy_overlap_ratio": ratio(timeline.exposed_memcpy_ns, timeline.memcpy_ns),
        "comm_percent_of_total": rounded(facts.percent(timeline.exposed_comm_ns), 4),
        "memcpy_percent_of_total": rounded(facts.percent(timeline.exposed_memcpy_ns), 4),
    })
}

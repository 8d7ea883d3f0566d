//! The code behind idle time: how much of it is named in real traces, and whether planted causes are found with their
//! size.

use std::collections::BTreeMap;
use std::fmt::Write;

use dormer_core::base::format;
use dormer_core::base::interval::percent_of;
use dormer_core::base::value::Value;
use dormer_core::findings::{Finding, Outcome};
use dormer_core::report::Report;
use serde_json::{Value as Json, json};

use crate::support::container::gunzip;
use crate::support::opened::{profile, report};
use crate::support::page::assert_table;
use crate::support::shared;

/// The percentage of idle time caused by the CPU that must be named if Python frames were recorded.
const LEAST_PERCENT: f64 = 80.0;

fn outcome(report: &Report) -> &Outcome {
    report.analyses.outcome("cpu_idle").unwrap()
}

fn ns(outcome: &Outcome, key: &str) -> i64 {
    match outcome.get(key) {
        Some(Value::Ns(ns)) => *ns,
        _ => 0,
    }
}

/// The table of `docs/diagnosis.md`.
#[test]
fn idle_time_is_named() {
    let Some(shared) = shared::folder() else {
        return;
    };
    let mut rows = "| trace | idle, % of run | caused by the CPU | named | the function with most of it |\n| --- | ---: | ---: | ---: | --- |\n".to_owned();
    let mut low = Vec::new();
    for name in shared::traces(&shared) {
        let profile = profile(shared::trace(&shared, &name));
        if !profile.has_gpu_events() {
            continue;
        }
        let report = report(&profile);
        let outcome = outcome(&report);
        let (by_cpu_ns, total_ns) = (
            ns(outcome, "cpu_caused_idle_time"),
            ns(outcome, "total_time"),
        );
        let named = match outcome.get("explained_by_code") {
            Some(Value::Percent(percent)) => Some(*percent),
            _ => None,
        };
        let idle = percent_of(ns(outcome, "idle_time"), total_ns).unwrap_or_default();
        let mut tables = outcome.tables.iter();
        let by_code = tables.find(|table| table.key == "idle_by_code");
        let first = by_code.and_then(|table| table.rows.first());
        let first = first.map_or_else(String::new, |row| {
            let cells = row.iter().take(2).filter(|cell| cell.is_known());
            let cells: Vec<String> = cells.map(Value::text).collect();
            format!("`{}`", cells.join(" in "))
        });
        let _ = writeln!(
            rows,
            "| {name} | {} | {} | {} | {first} |",
            format::percent(idle),
            format::time_ns(by_cpu_ns),
            named.map_or_else(|| "–".to_owned(), format::percent),
        );
        if profile.has_python_frames() && named.is_some_and(|named| named < LEAST_PERCENT) {
            low.push(format!("{name}: {named:?}"));
        }
    }
    assert!(low.is_empty(), "{low:?}");
    assert_table("idle_time_is_named", &rows);
}

/// The duration of a planted cause, in µs.
const PLANTED_US: f64 = 5_000.0;

/// The same trace, in which a thread is busy with something else for long before a launch in the middle. Everything
/// after it is delayed, and everything around it takes longer.
fn with_planted(trace: &Json, category: &str, names: &[&str]) -> String {
    let mut trace = trace.clone();
    let events = trace["traceEvents"].as_array_mut().unwrap();
    let is_launch = |event: &&Json| {
        let name = event["name"].as_str().unwrap_or_default();
        event["cat"] == "cuda_runtime" && name.ends_with("LaunchKernel")
    };
    let mut launches: Vec<(f64, Json, Json)> = events
        .iter()
        .filter(is_launch)
        .map(|event| {
            let ts = event["ts"].as_f64().unwrap();
            (ts, event["pid"].clone(), event["tid"].clone())
        })
        .collect();
    launches.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (at, pid, tid) = launches[launches.len() / 2].clone();
    // What was launched before runs unchanged.
    let calls = events.iter().filter(|event| {
        let category = event["cat"].as_str().unwrap_or_default();
        category.ends_with("_runtime") || category.ends_with("_driver")
    });
    let launched_at: BTreeMap<u64, f64> = calls
        .filter_map(|call| Some((call["args"]["correlation"].as_u64()?, call["ts"].as_f64()?)))
        .collect();
    for event in events.iter_mut() {
        let Some(start) = event["ts"].as_f64() else {
            continue;
        };
        let duration = event["dur"].as_f64();
        let is_gpu = ["kernel", "gpu_memcpy", "gpu_memset"]
            .iter()
            .any(|category| event["cat"] == *category);
        let launch = event["args"]["correlation"].as_u64();
        let launch = launch.and_then(|id| launched_at.get(&id).copied());
        let begins = if is_gpu {
            launch.unwrap_or(start)
        } else {
            start
        };
        if begins >= at {
            event["ts"] = json!(start + PLANTED_US);
        } else if let Some(duration) = duration
            && start + duration > at
            && !is_gpu
        {
            event["dur"] = json!(duration + PLANTED_US);
        }
    }
    let (pid, tid) = match category {
        "overhead" => (json!(-1), json!(0)),
        _ => (pid, tid),
    };
    for (depth, name) in names.iter().enumerate() {
        let inset = depth as f64;
        events.push(json!({
            "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
            "ts": at + inset, "dur": PLANTED_US - 2.0 * inset, "args": {},
        }));
    }
    trace.to_string()
}

fn time_of(findings: &[Finding], pattern: &str) -> i64 {
    let found = findings.iter().find(|found| found.pattern == pattern);
    found.map_or(0, |found| found.time_ns)
}

#[test]
fn planted_causes_are_found_with_their_size() {
    let Some(shared) = shared::folder() else {
        return;
    };
    let frame = "python_function";
    #[rustfmt::skip]
    let cases: &[(&str, &[&str], &str, &str)] = &[
        (frame, &["torch/utils/data/dataloader.py(701): __next__", "my/image_processing_x.py(301): resize", "scipy/ndimage/_interpolation.py(700): zoom"], "data_loading", "`resize` in `image_processing_x.py:301` (scipy)"),
        (frame, &["inspect.py(3346): signature"], "reflection", "`signature` in `inspect.py:3346`"),
        (frame, &["<built-in function collect>"], "garbage_collection", "`collect`"),
        (frame, &["<built-in method acquire of _thread.lock object at 0x7f>"], "waiting", "`_thread.lock.acquire`"),
        (frame, &["logging/__init__.py(1467): info"], "logging", "`info`"),
        (frame, &["torch/serialization.py(943): save"], "checkpointing", "`save`"),
        (frame, &["my/schedule.py(12): next_request"], "cpu_function", "`next_request` in `schedule.py:12`"),
        ("cuda_runtime", &["cudaMalloc"], "memory_allocation", "`cudaMalloc`"),
        ("cuda_runtime", &["hipHostMalloc"], "memory_allocation", "`hipHostMalloc`"),
        ("cpu_op", &["TorchDynamo Cache Lookup"], "guards", "`TorchDynamo Cache Lookup`"),
        ("overhead", &["Lazy Function Loading"], "start_up", "Cold start"),
        (frame, &["torch/_dynamo/convert_frame.py(666): _compile"], "start_up", "Cold start"),
    ];
    for name in ["h100_bert", "mi300_vit"] {
        let text = gunzip(&shared::trace(&shared, name));
        let trace: Json = serde_json::from_slice(&text).unwrap();
        let before = profile(&text);
        let before = outcome(&report(&before)).findings.clone();
        for (category, names, pattern, title) in cases {
            let planted = profile(with_planted(&trace, category, names));
            let report = report(&planted);
            let findings = &outcome(&report).findings;
            let what = format!("{name}: {names:?}");
            let found = findings.iter().find(|found| found.pattern == *pattern);
            let found = found.unwrap_or_else(|| panic!("{what} in {findings:#?}"));
            assert!(found.title.contains(title), "{what}: {}", found.title);
            let grew_us = (found.time_ns - time_of(&before, pattern)) as f64 / 1e3;
            let off = (grew_us - PLANTED_US).abs() / PLANTED_US;
            assert!(off <= 0.05, "{what}: {grew_us} µs");
            assert_eq!(found.impact.is_some(), *pattern != "start_up", "{what}");
        }
    }
}

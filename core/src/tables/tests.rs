//! A trace in, its tables out.

use super::*;
use crate::import::import;
use crate::report::ReportOptions;
use crate::report::sheet::Cell;
use crate::sample;
use crate::testing::{Timetable, options_on};

fn source() -> Source {
    Source {
        uri: Some("runs/rank3.json".to_owned()),
        file_bytes: Some(1234),
        sha256: Some("0123456789abcdef".repeat(4)),
        tags: vec![("build".to_owned(), "b07".to_owned())],
        ingested_ns: 5,
        ..Source::default()
    }
}

fn tables(profile: &Profile, options: &ReportOptions) -> (Report, Tables) {
    let report = Report::new(profile, options);
    let recorded = RecordingInfo::new(&profile.trace, "runs/rank3.json", false);
    let tables = Tables::of_trace(
        &source(),
        Analyzed {
            recorded: &recorded,
            profile,
            report: &report,
            findings: (profile, &report),
        },
    );
    (report, tables)
}

fn sample() -> (Profile, Report, Tables) {
    let profile = Profile::new(import(sample::TRACE.as_bytes()).unwrap());
    let (report, tables) = tables(&profile, &options_on("H100"));
    (profile, report, tables)
}

fn total(values: &[Option<i64>]) -> i64 {
    values.iter().flatten().sum()
}

/// The sum of a column of a sheet, in nanoseconds, for a column in microseconds.
fn of_sheet(sheet: &crate::report::sheet::Sheet, label: &str) -> i64 {
    let at = sheet.column(label).unwrap();
    let cells = sheet.rows.iter().map(|row| match row[at] {
        Cell::Float(us) => (us * 1e3).round() as i64,
        _ => 0,
    });
    cells.sum()
}

#[test]
fn sums_are_those_of_the_sheets() {
    let (profile, report, tables) = sample();
    let ops = tables.table(OPS).unwrap();
    let sheet = report.sheet(&profile, "unified_perf_summary").unwrap();
    assert_eq!(
        total(ops.i64s("kernel_ns")),
        of_sheet(sheet, "Kernel Time (µs)_sum")
    );
    let kernels = tables.table(KERNELS).unwrap();
    let sheet = report.sheet(&profile, "kernel_summary").unwrap();
    assert_eq!(
        total(kernels.i64s("total_ns")),
        of_sheet(sheet, "Kernel duration (µs)_sum")
    );
    let runs = tables.table(RUNS).unwrap();
    let whole = report.timelines.whole.unwrap();
    assert_eq!(runs.i64s("total_ns"), [Some(whole.total_ns())]);
    assert_eq!(runs.i64s("idle_ns"), [Some(whole.idle_ns)]);
    assert_eq!(runs.strs("gpu_id"), [Some("H100".to_owned())]);
    assert_eq!(runs.strs("status"), [Some("ok".to_owned())]);
    let findings = tables.table(FINDINGS).unwrap();
    assert_eq!(findings.len(), report.analyses.findings.ranked.len());
    assert!(!findings.is_empty());
}

#[test]
fn keys_distinguish_rows_and_findings_name_operations() {
    let (.., tables) = sample();
    let unique = |values: &[Option<u64>]| {
        let mut keys: Vec<Option<u64>> = values.to_vec();
        keys.sort_unstable();
        keys.dedup();
        keys.len() == values.len() && !keys.contains(&None)
    };
    let ops = tables.table(OPS).unwrap().u64s("op_key");
    assert!(unique(ops));
    assert!(unique(tables.table(KERNELS).unwrap().u64s("kernel_key")));
    let named = tables.table(FINDINGS).unwrap().lists("op_keys");
    let mut named = named.iter().flatten().flatten();
    assert!(named.all(|key| ops.contains(&Some(*key))));
}

#[test]
fn parts_of_a_step_add_up_to_its_time() {
    let (.., tables) = sample();
    let steps = tables.table(STEPS).unwrap();
    assert_eq!(steps.len(), 3);
    assert_eq!(steps.i32s("step"), [Some(0), Some(1), Some(2)]);
    let parts = [
        "compute_ns",
        "exposed_comm_ns",
        "exposed_copy_ns",
        "idle_ns",
    ];
    for at in 0..3 {
        let sum: i64 = parts.iter().filter_map(|name| steps.i64s(name)[at]).sum();
        assert_eq!(steps.i64s("duration_ns")[at], Some(sum));
    }
    let collectives = tables.table(COLLECTIVES).unwrap();
    assert!(!collectives.is_empty());
}

#[test]
fn a_trace_without_a_gpu_has_no_zeros_for_it() {
    let profile = Timetable::new()
        .annotation("ProfilerStep#7", 0..100)
        .op("aten::mm", 10..60)
        .profile();
    let (_, tables) = tables(&profile, &ReportOptions::default());
    let runs = tables.table(RUNS).unwrap();
    for name in ["total_ns", "busy_ns", "idle_ns", "unattributed_ns"] {
        assert_eq!(runs.i64s(name), [None], "{name}");
    }
    assert_eq!(runs.i32s("rank"), [Some(3)]);
    assert_eq!(runs.i64s("start"), [None]);
    assert_eq!(runs.i32s("date"), [None]);
    let steps = tables.table(STEPS).unwrap();
    assert_eq!(steps.strs("name"), [Some("ProfilerStep#7".to_owned())]);
    assert_eq!(steps.i64s("duration_ns"), [Some(100_000)]);
    assert_eq!(steps.i64s("idle_ns"), [None]);
    let kinds = tables.table(WARNINGS).unwrap();
    assert!(
        kinds
            .strs("kind")
            .contains(&Some("no_gpu_events".to_owned()))
    );
}

#[test]
fn a_cut_trace_is_partial_and_no_trace_is_rejected() {
    let cut = sample::TRACE.as_bytes();
    let profile = Profile::new(import(&cut[..cut.len() / 2]).unwrap());
    let (_, tables) = tables(&profile, &ReportOptions::default());
    let runs = tables.table(RUNS).unwrap();
    assert_eq!(runs.strs("status"), [Some("partial".to_owned())]);
    assert_eq!(runs.strs("reason_kind"), [Some("cut".to_owned())]);
    let cases: [(&[u8], &str); 5] = [
        (b"", "empty"),
        (b"<!DOCTYPE html><html>", "web_page"),
        (b"{\"a\": 1}", "no_trace_events"),
        (b"hello", "not_json"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "broken_gzip"),
    ];
    for (bytes, kind) in cases {
        let error = import(bytes).unwrap_err();
        let tables = Tables::of_failure(&source(), &Failed::from(&error));
        let runs = tables.table(RUNS).unwrap();
        assert_eq!(runs.strs("status"), [Some("rejected".to_owned())]);
        assert_eq!(runs.strs("reason_kind"), [Some(kind.to_owned())]);
        assert_eq!(runs.strs("reason"), [Some(error.to_string())]);
        assert_eq!(runs.strs("run_id"), [Some("0123456789abcdef".to_owned())]);
        assert_eq!(runs.maps("tags")[0].as_deref(), Some(&source().tags[..]));
        let others = tables.all.iter().skip(1);
        assert!(others.map(Table::len).all(|rows| rows == 0));
    }
}

#[test]
fn a_start_is_a_day_wherever_it_comes_from() {
    let of = |json: &str| {
        let trace = import(json.as_bytes()).unwrap().trace;
        RecordingInfo::new(&trace, "a.json", false).start_ns
    };
    let event = |us: &str| {
        format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": {us}, "dur": 3}}"#
        )
    };
    let with = |base: &str, us: &str| of(&format!("{{{base}\"traceEvents\": [{}]}}", event(us)));
    let base = "\"baseTimeNanoseconds\": 1751410836000000000, ";
    assert_eq!(with(base, "2.5"), Some(1_751_410_836_000_002_500));
    assert_eq!(
        with("", "1751410836000002.5"),
        Some(1_751_410_836_000_002_500)
    );
    assert_eq!(with("", "2.5"), None);
    // 1 July 2025, 23:00:36 UTC.
    assert_eq!(day_of(1_751_410_836_000_002_500), 20_270);
    assert_eq!(day_of(-1), -1);
}

/// Recordings that start 9.1 and 8.9 s after the base time, on either side of a boundary of tens of seconds; the
/// all-reduce of both ends at 12 s.
#[test]
fn ranks_of_a_job_have_one_id_whenever_they_start_to_record() {
    let id = |rank: u32, start_us: u64, comms: bool| {
        let group = r#""pg_name": "0", "pg_desc": "default_pg""#;
        let kernel = r#", {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0,
            "tid": 7, "ts": 11999000, "dur": 1000, "args": {"stream": 7, "Collective name": "allreduce", "dtype": "Float",
            "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "Process Group Name": "0",
            "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]"}}"#;
        let json = format!(
            r#"{{"distributedInfo": {{"rank": {rank}, "world_size": 2, "pg_config": [{{{group}, "ranks": [0, 1]}}]}},
            "baseTimeNanoseconds": 1751410836000000000, "traceEvents": [{{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1,
            "tid": 1, "ts": {start_us}, "dur": 3}}{}]}}"#,
            if comms { kernel } else { "" }
        );
        let profile = Profile::new(import(json.as_bytes()).unwrap());
        let tables = tables(&profile, &ReportOptions::default()).1;
        tables.table(RUNS).unwrap().strs("job_id")[0].clone()
    };
    let first = id(0, 9_100_000, true);
    assert!(first.is_some());
    assert_eq!(first, id(1, 8_900_000, true));
    // Without a collective the start is used.
    assert_ne!(id(0, 9_100_000, false), id(1, 8_900_000, false));
}

#[test]
fn choices_change_the_hash_and_nothing_else_does() {
    let of = |options: &ReportOptions, is_redacted| {
        options_hash(&options_text(options, is_redacted, &[]))
    };
    let plain = of(&ReportOptions::default(), false);
    assert_eq!(plain, of(&ReportOptions::default(), false));
    assert_eq!(plain.len(), 16);
    assert_ne!(plain, of(&options_on("H100"), false));
    assert_ne!(plain, of(&ReportOptions::default(), true));
}

#[test]
fn every_column_says_what_it_is() {
    for kind in TABLES {
        assert_eq!(kind.columns[0].name(), "run_id");
        assert_eq!(kind.columns[1].name(), "date");
        for (at, field) in kind.columns.iter().enumerate() {
            let place = format!("{}.{}", kind.name, field.name());
            assert!(
                field.doc.ends_with('.') && !field.doc.contains('|'),
                "{place}"
            );
            let rest = &kind.columns[at + 1..];
            assert!(
                rest.iter().all(|other| other.name() != field.name()),
                "{place}"
            );
        }
    }
}

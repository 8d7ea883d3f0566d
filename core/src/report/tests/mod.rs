//! Each sheet on a trace small enough to check by hand, as CSV.

mod kernels;
mod operators;

use super::sheet::Column;
use super::sheets::{Parts, SHEETS};
use super::{Report, ReportOptions};
use crate::assess::Thresholds;
use crate::import::warning::WarningKind;
use crate::output::export::csv::csv;
use crate::profile::Profile;
use crate::testing::Timetable;

fn check(profile: &Profile, sheet: &str, expected: &[&str]) {
    check_with(profile, ReportOptions::default(), sheet, expected);
}

fn check_with(profile: &Profile, options: ReportOptions, sheet: &str, expected: &[&str]) {
    assert_eq!(lines(profile, &options, sheet, &[]), expected);
}

/// Some columns of a sheet; without their names.
fn check_columns(profile: &Profile, sheet: &str, columns: &[&str], expected: &[&str]) {
    let lines = lines(profile, &ReportOptions::default(), sheet, columns);
    assert_eq!(lines[1..], *expected);
}

/// A sheet as the lines of a CSV file, with the named columns, or all columns if none are named.
fn lines(profile: &Profile, options: &ReportOptions, sheet: &str, columns: &[&str]) -> Vec<String> {
    let report = Report::new(profile, options);
    let Some(sheet) = report.sheet(profile, sheet) else {
        return Vec::new();
    };
    let mut sheet = sheet.clone();
    if !columns.is_empty() {
        let named = columns.iter().map(|label| sheet.column(label).unwrap());
        let named: Vec<usize> = named.collect();
        sheet.columns = named.iter().map(|at| sheet.columns[*at].clone()).collect();
        for row in &mut sheet.rows {
            *row = named.iter().map(|at| row[*at].clone()).collect();
        }
    }
    let text = String::from_utf8(csv(&sheet)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn names(profile: &Profile) -> Vec<&'static str> {
    let report = Report::new(profile, &ReportOptions::default());
    let sheets = report.sheets(profile).into_iter();
    sheets.map(|sheet| sheet.name).collect()
}

/// Two operators with shapes, two streams, a copy, a collective, and a kernel launched before the recording.
fn step() -> Timetable {
    let shapes = |dims: &str, strides: &str, concrete: &str| {
        format!(
            r#""Input Dims": {dims}, "Input type": ["float", ""], "Input Strides": {strides}, "Concrete Inputs": {concrete}"#
        )
    };
    Timetable::new()
        .op("aten::mm", 0..20)
        .args(&shapes("[[2, 3], [3, 4]]", "[[3, 1], [4, 1]]", r#"["", ""]"#))
        .launched("gemm", 5..10, 100..120)
        .op("aten::add", 20..40)
        .args(&shapes("[[2, 4], []]", "[[4, 1], []]", r#"["", "1"]"#))
        .launched("add", 25..30, 120..122)
        .op("record_param_comms", 40..60)
        .launch(3, 45..50)
        .runtime("cudaMemcpyAsync", 4, 60..65)
        .raw(r#"{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 4, "pid": 100, "tid": 1, "ts": 60}"#)
        .copy(4, "Memcpy DtoH", 140..150)
        .kernel(9, "warm-up", 160..164)
        .stream(20)
        .kernel(3, "ncclDevKernel_AllReduce", 110..130)
}

#[test]
fn gpu_work_that_nothing_launched_is_shown_all_the_same() {
    let profile = Timetable::new()
        .op("aten::mm", 0..1)
        .kernel(1, "gemm", 30..40)
        .profile();
    assert_eq!(profile.warnings.count(WarningKind::NothingLinked), 1);
    let report = Report::new(&profile, &ReportOptions::default());
    assert_eq!(report.timelines.whole.unwrap().total_ns(), 10_000);
}

#[test]
fn unlinked_work_is_counted() {
    let profile = step().profile();
    assert_eq!(profile.warnings.count(WarningKind::UnlinkedGpuWork), 1);
    assert_eq!(profile.warnings.count(WarningKind::NothingLinked), 0);
}

#[test]
fn an_empty_trace_has_no_sheets() {
    assert_eq!(names(&Timetable::new().profile()), [] as [&str; 0]);
}

#[test]
fn sheets_are_named_once_and_rows_are_as_long_as_columns() {
    let profile = step().profile();
    let report = Report::new(&profile, &ReportOptions::default());
    for sheet in report.sheets(&profile) {
        for row in &sheet.rows {
            assert_eq!(row.len(), sheet.columns.len(), "{}", sheet.name);
        }
    }
    let mut kinds: Vec<_> = SHEETS.iter().map(|kind| kind.name).collect();
    let place = |name| kinds.iter().position(|kind| *kind == name);
    let places: Vec<_> = report
        .sheets(&profile)
        .iter()
        .map(|sheet| place(sheet.name))
        .collect();
    assert!(places.is_sorted() && !places.contains(&None), "{places:?}");
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), SHEETS.len());
}

#[test]
fn impossible_times_do_not_overflow() {
    let far = r#""dur": 80000000000, "args": {"correlation": 1, "stream": 7}"#;
    let event = |category: &str, ts: &str| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "x", "pid": 0, "tid": 7, "ts": {ts}, {far}}}"#
        )
    };
    let mut timetable = Timetable::new();
    for ts in ["9223372036854775", "-9223372036854775", "0"] {
        for category in ["cpu_op", "cuda_runtime", "kernel"] {
            timetable = timetable.raw(&event(category, ts));
        }
    }
    let report = Report::new(&timetable.profile(), &ReportOptions::default());
    assert_eq!(report.timelines.whole.unwrap().total_ns(), i64::MAX);
}

/// The columns of sheets match those listed in `docs/columns.md`.
#[test]
fn every_sheet_has_columns_of_its_kind_in_their_order() {
    let trace = crate::sample::TRACE.as_bytes();
    let profile = Profile::new(crate::import::import(trace).unwrap());
    for options in [ReportOptions::default(), crate::testing::options_on("H100")] {
        for sheet in Report::new(&profile, &options).sheets(&profile) {
            let kind = SHEETS.iter().find(|kind| kind.name == sheet.name).unwrap();
            let known = (kind.columns)(&Parts::ALL);
            let fixed = |columns: &[Column]| -> Vec<&'static str> {
                let labels = columns.iter().map(|column| column.label);
                labels
                    .filter(|label| !label.starts_with("param: "))
                    .collect()
            };
            let (has, can_have) = (fixed(&sheet.columns), fixed(&known));
            let mut rest = can_have.iter();
            for label in &has {
                assert!(rest.any(|known| known == label), "{}: {label}", sheet.name);
            }
            for column in &sheet.columns {
                assert!(known.contains(column), "{}: {}", sheet.name, column.label);
            }
        }
    }
}

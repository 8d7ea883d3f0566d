//! Real traces with replaced names give the same results.

use dormer_core::output::{kineto, redact::redact};
use dormer_core::report::sheet::{Cell, Sheet};
use dormer_core::sample;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::support::opened::{profile, report};
use crate::support::shared;

/// Columns whose text comes from Dormer or the reference, not from the trace.
const LABELS: &[&str] = &[
    "type",
    "op category",
    "Parent op category",
    "Dormer category",
    "Dormer category by",
    "Roofline Bound",
    "Compute Spec",
];

#[test]
fn redacted_traces_have_the_same_times_categories_and_tables() {
    let mut n_cells = 0;
    for (name, bytes) in shared::with_sample() {
        // Large traces take long in a debug build, and show nothing that small ones do not.
        if bytes.len() > 2_000_000 {
            continue;
        }
        let plain = profile(&bytes);
        let redacted = redact(&plain);
        let profiles = [plain, redacted];
        let reports = profiles.each_ref().map(report);
        let [plain, redacted] = &reports;
        let [a, b] = [0, 1].map(|at| reports[at].sheets(&profiles[at]));
        let names =
            |sheets: &[&Sheet]| -> Vec<&str> { sheets.iter().map(|sheet| sheet.name).collect() };
        assert_eq!(names(&a), names(&b), "{name}");
        for (a, b) in a.into_iter().zip(b) {
            n_cells += assert_same(&name, a, b);
        }
        assert_eq!(plain.overview.split, redacted.overview.split, "{name}");
    }
    assert!(n_cells > 1000, "{n_cells}");
}

#[test]
fn a_trace_that_is_written_again_says_the_same() {
    for (name, bytes) in shared::with_sample() {
        if bytes.len() > 2_000_000 {
            continue;
        }
        let plain = profile(&bytes);
        let redacted = redact(&plain);
        for (kind, before) in [("plain", plain), ("redacted", redacted)] {
            let again = profile(kineto::gzipped(&before.trace).unwrap());
            let reports = [&before, &again].map(report);
            let [a, b] = [(&reports[0], &before), (&reports[1], &again)];
            let [a, b] = [a, b].map(|(report, profile)| report.sheets(profile));
            assert_eq!(a.len(), b.len(), "{name}, {kind}");
            for (a, b) in a.into_iter().zip(b) {
                assert_eq!(a, b, "{name}, {kind}");
            }
            let [a, b] = reports.map(|report| report.overview.headline);
            assert_eq!(a, b, "{name}, {kind}");
        }
    }
}

/// Hides a secret in a text: as a prefix, inside template arguments, as a path, or alone.
fn hide(secret: &str, text: &str, how: usize) -> String {
    match how % 4 {
        0 => format!("{secret}::{text}"),
        1 => format!("void at::native::elementwise_kernel<4, {secret}::{text}<float>>"),
        2 => format!("/home/{secret}/{text}.py(7): {secret}_main"),
        _ => secret.to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Wherever a custom name occurs in a trace, no part of it is in the output.
    #[test]
    fn no_name_gets_through(
        secret in "qz[a-z]{6}",
        places in prop::collection::vec((any::<Index>(), 0_usize..4), 1..60),
    ) {
        let mut trace: Value = serde_json::from_str(sample::TRACE).unwrap();
        let events = trace["traceEvents"].as_array_mut().unwrap();
        for (at, how) in places {
            let event = at.index(events.len());
            let event = &mut events[event];
            let name = event["name"].as_str().unwrap_or_default();
            event["name"] = hide(&secret, name, how).into();
            let args = event["args"].as_object_mut();
            let texts = args.into_iter().flat_map(serde_json::Map::values_mut);
            for text in texts.filter(|value| value.is_string()) {
                *text = hide(&secret, text.as_str().unwrap(), how).into();
            }
        }
        let redacted = redact(&profile(trace.to_string()));
        for (_, text) in redacted.trace.strings.iter() {
            prop_assert!(!text.contains(&secret), "{}", text);
        }
    }
}

/// Compares all cells except those with text from the trace; returns their number.
fn assert_same(trace: &str, a: &Sheet, b: &Sheet) -> usize {
    let place = format!("{trace}: {}", a.name);
    assert_eq!(a.columns, b.columns, "{place}");
    assert_eq!(a.rows.len(), b.rows.len(), "{place}");
    let mut n_cells = 0;
    for (row, (one, other)) in a.rows.iter().zip(&b.rows).enumerate() {
        for (column, (one, other)) in a.columns.iter().zip(one.iter().zip(other)) {
            let is_text = matches!((one, other), (Cell::Text(_), Cell::Text(_)));
            // The library is determined from the kernel's name.
            if is_text && !LABELS.contains(&column.label) || column.label == "library" {
                continue;
            }
            n_cells += 1;
            assert_eq!(one, other, "{place}, row {row}: {}", column.label);
        }
    }
    n_cells
}

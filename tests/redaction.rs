//! Real traces without their names say the same.

use dormer_core::import::import;
use dormer_core::profile::Profile;
use dormer_core::redact::redact;
use dormer_core::report::sheet::{Cell, Sheet};
use dormer_core::report::{Report, ReportOptions};

use crate::support::shared;

/// Columns whose words are Dormer's or the reference's, and not the trace's.
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
        // Large ones take long in a debug build, and show nothing that small ones do not.
        if bytes.len() > 2_000_000 {
            continue;
        }
        let imported = import(&bytes).unwrap();
        let redacted = Profile::new(redact(&imported));
        let plain = Profile::new(imported);
        let report = |profile: &Profile| {
            let options = ReportOptions {
                gpu: dormer_core::gpu::detect(&profile.trace.devices).map(Into::into),
                ..ReportOptions::default()
            };
            Report::new(profile, &options)
        };
        let (plain, redacted) = (report(&plain), report(&redacted));
        let names = |report: &Report| -> Vec<&str> {
            report.sheets.iter().map(|sheet| sheet.name).collect()
        };
        assert_eq!(names(&plain), names(&redacted), "{name}");
        for (a, b) in plain.sheets.iter().zip(&redacted.sheets) {
            n_cells += assert_same(&name, a, b);
        }
        assert_eq!(plain.overview.split, redacted.overview.split, "{name}");
    }
    assert!(n_cells > 1000, "{n_cells}");
}

/// Compares all cells but those with texts of the trace; says how many.
fn assert_same(trace: &str, a: &Sheet, b: &Sheet) -> usize {
    let place = format!("{trace}: {}", a.name);
    assert_eq!(a.columns, b.columns, "{place}");
    assert_eq!(a.rows.len(), b.rows.len(), "{place}");
    let mut n_cells = 0;
    for (row, (one, other)) in a.rows.iter().zip(&b.rows).enumerate() {
        for (column, (one, other)) in a.columns.iter().zip(one.iter().zip(other)) {
            let is_text = matches!((one, other), (Cell::Text(_), Cell::Text(_)));
            // Whose a kernel is, its name told.
            if is_text && !LABELS.contains(&column.label) || column.label == "library" {
                continue;
            }
            n_cells += 1;
            assert_eq!(one, other, "{place}, row {row}: {}", column.label);
        }
    }
    n_cells
}

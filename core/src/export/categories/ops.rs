//! The rows of an analysis as a table.

use crate::analysis::Outcome;
use crate::export::csv;
use crate::profile::Profile;
use crate::report::Report;
use crate::report::sheet::{Cell, Sheet};

/// The rows of `unified_perf_summary` that belong to an analysis, or the operations by name where
/// there is no such sheet.
pub(super) fn ops(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    // Rows of the sheet are the linked operations in their order.
    let linked: Vec<usize> = profile
        .operations()
        .iter()
        .enumerate()
        .filter(|(_, operation)| operation.is_linked)
        .map(|(at, _)| at)
        .collect();
    let sheet = report.sheet("unified_perf_summary");
    if let Some(sheet) = sheet.filter(|sheet| sheet.rows.len() == linked.len()) {
        let rows = outcome.rows.iter().filter_map(|row| {
            let at = linked.binary_search(&row.operation).ok()?;
            sheet.rows.get(at).cloned()
        });
        return csv::csv(&Sheet {
            name: sheet.name,
            columns: sheet.columns.clone(),
            rows: rows.collect(),
        });
    }
    csv::csv(&by_name(profile, outcome))
}

fn by_name(profile: &Profile, outcome: &Outcome) -> Sheet {
    use crate::report::sheet::{Column, Unit};
    let column = |label, unit, doc| Column { label, unit, doc };
    let rows = outcome.rows.iter().filter_map(|row| {
        let operation = profile.operations().get(row.operation)?;
        Some(vec![
            Cell::Text(operation.name(profile)),
            Cell::Int(row.n_calls as i64),
            Cell::Float(row.time_ns as f64 / 1e3),
        ])
    });
    Sheet {
        name: "ops",
        columns: vec![
            column("name", Unit::Text, "The kernel."),
            column("operation_count", Unit::Count, "How often it ran."),
            column("Kernel Time (µs)_sum", Unit::Us, "Sum of its durations."),
        ],
        rows: rows.collect(),
    }
}

//! The rows of an analysis as a table.

use crate::findings::{Outcome, Row};
use crate::output::export::csv;
use crate::profile::Profile;
use crate::report::Report;
use crate::report::columns::{int, us};
use crate::report::sheet::{Cell, Column, Sheet, Unit};

/// The rows of `unified_perf_summary` that belong to an analysis, or the operations by name if there is no such sheet.
/// GPU activity that no operator launched has no row in the sheet; its row has only the name, the count and the time.
pub(super) fn ops(profile: &Profile, report: &Report, outcome: &Outcome) -> Vec<u8> {
    // Rows of the sheet are the linked operations in their order, without those only visible in a window.
    let operations = profile.operations();
    let linked = (0..operations.len()).filter(|at| operations[*at].has_own_row());
    let linked: Vec<usize> = linked.collect();
    let sheet = report.sheet(profile, "unified_perf_summary");
    if let Some(sheet) = sheet.filter(|sheet| sheet.rows.len() == linked.len()) {
        let unlinked = |row: &Row| -> Option<Vec<Cell>> {
            let cells = cells(profile, row)?;
            let columns = sheet.columns.iter().map(|column| {
                let at = COLUMNS.iter().position(|one| one.label == column.label);
                at.map_or(Cell::Empty, |at| cells[at].clone())
            });
            Some(columns.collect())
        };
        let rows = outcome.rows.iter();
        let rows = rows.filter_map(|row| match linked.binary_search(&row.operation) {
            Ok(at) => sheet.rows.get(at).cloned(),
            Err(_) => unlinked(row),
        });
        return csv::csv(&Sheet {
            name: sheet.name,
            columns: sheet.columns.clone(),
            rows: rows.collect(),
        });
    }
    csv::csv(&by_name(profile, outcome))
}

#[rustfmt::skip]
const COLUMNS: [Column; 3] = [
    Column { label: "name", unit: Unit::Text, doc: "The kernel." },
    Column { label: "operation_count", unit: Unit::Count, doc: "How often it ran." },
    Column { label: "Kernel Time (µs)_sum", unit: Unit::Us, doc: "Sum of its durations." },
];

fn cells(profile: &Profile, row: &Row) -> Option<[Cell; 3]> {
    let operation = profile.operations().get(row.operation)?;
    Some([
        Cell::Text(operation.name(profile)),
        int(row.n_calls),
        us(row.time_ns),
    ])
}

fn by_name(profile: &Profile, outcome: &Outcome) -> Sheet {
    let rows = outcome.rows.iter();
    let rows = rows.filter_map(|row| Some(cells(profile, row)?.to_vec()));
    Sheet {
        name: "ops",
        columns: COLUMNS.to_vec(),
        rows: rows.collect(),
    }
}

//! Workbooks: the comparison, and the tables of each trace as a report of its own has them.

use super::Input;
use crate::output::export::Listed;
use crate::output::export::xlsx::workbook;

const COMPARISON: &str = "comparison.xlsx";
const REFERENCE: &str = "reference_perf_report.xlsx";
const TARGET: &str = "target_perf_report.xlsx";

/// Those that have sheets: a workbook without any is none.
pub(super) fn list(input: &Input) -> Vec<Listed> {
    let n_sheets = |side: &super::Side| side.report.sheets(side.profile).len();
    let all = [
        (
            COMPARISON,
            "All compared tables as one workbook",
            input.sheets().len(),
        ),
        (
            REFERENCE,
            "All tables of the reference as one workbook",
            n_sheets(&input.reference),
        ),
        (
            TARGET,
            "All tables of the target as one workbook",
            n_sheets(&input.target),
        ),
    ];
    all.into_iter()
        .filter(|(_, _, n_sheets)| *n_sheets > 0)
        .map(|(path, title, _)| Listed {
            path: path.to_owned(),
            title,
        })
        .collect()
}

/// The writer refuses only what its limits rule out.
pub(super) fn write(input: &Input, path: &str) -> Option<Vec<u8>> {
    let written = match path {
        COMPARISON => workbook(input.sheets()),
        REFERENCE => workbook(input.reference.report.sheets(input.reference.profile)),
        TARGET => workbook(input.target.report.sheets(input.target.profile)),
        _ => return None,
    };
    written.ok()
}

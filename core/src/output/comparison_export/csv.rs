//! The compared sheets as CSV files.

use super::Input;
use crate::compare::sheets::{ComparisonSheet, title};
use crate::output::export::Listed;
use crate::output::export::csv::csv;

/// One file for each sheet.
pub(super) fn list(input: &Input) -> Vec<Listed> {
    let listed = |sheet: &ComparisonSheet| Listed {
        path: path(sheet),
        title: title(&sheet.name),
    };
    input.sheets().iter().map(listed).collect()
}

pub(super) fn write(input: &Input, wanted: &str) -> Option<Vec<u8>> {
    let mut sheets = input.sheets().iter();
    sheets.find(|sheet| path(sheet) == wanted).map(csv)
}

fn path(sheet: &ComparisonSheet) -> String {
    format!("comparison_csvs/{}.csv", sheet.name)
}

//! Tables in `docs/` that tests measure.

use std::path::Path;

/// Compares the table after a mark in `docs/diagnosis.md` with the measured one. With `UPDATE=1` in the environment,
/// the table is updated instead.
pub(crate) fn assert_table(mark: &str, rows: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/diagnosis.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mark = format!("{mark} -->\n");
    let (before, rest) = page.split_once(&mark).unwrap();
    let (found, after) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("UPDATE").is_some() {
        let page = format!("{before}{mark}{rows}<!-- end -->{after}");
        std::fs::write(&path, page).unwrap();
        return;
    }
    assert_eq!(found, rows, "docs/diagnosis.md is out of date");
}

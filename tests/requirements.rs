//! The page that says where each requirement is met is held to the source tree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// How many there are.
const N_REQUIREMENTS: usize = 83;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A row of the page: number, requirement, where, shown by.
struct Row {
    number: usize,
    text: String,
    places: Vec<String>,
    tests: Vec<String>,
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    let parts = cell.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

fn rows() -> Vec<Row> {
    let page = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, text, places, tests] = cells[..] else {
            return None;
        };
        Some(Row {
            number: number.parse().ok()?,
            text: text.to_owned(),
            places: quoted(places),
            tests: quoted(tests),
        })
    };
    page.lines().filter_map(row).collect()
}

/// The names of all tests in the folders of a workspace member.
fn tests_below(folder: &Path, names: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let text = || fs::read_to_string(&path).unwrap();
        match path.extension().and_then(OsStr::to_str) {
            _ if path.is_dir() => tests_below(&path, names),
            Some("rs") => names.extend(tests_in(&text()).map(str::to_owned)),
            // Cases of formulas, under headings.
            Some("txt") => names.extend(text().lines().filter_map(heading)),
            _ => {}
        }
    }
}

fn heading(line: &str) -> Option<String> {
    line.strip_prefix("## ").map(str::to_owned)
}

/// The functions behind `#[test]`, whatever stands in between.
fn tests_in(source: &str) -> impl Iterator<Item = &str> {
    source.split("#[test]").skip(1).filter_map(|rest| {
        let (_, name) = rest.split_once("fn ")?;
        name.split_once('(').map(|(name, _)| name)
    })
}

#[test]
fn every_requirement_stands_once_and_in_order() {
    let numbers: Vec<usize> = rows().iter().map(|row| row.number).collect();
    let expected: Vec<usize> = (1..=N_REQUIREMENTS).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn every_requirement_leads_to_what_is_there() {
    let mut known = BTreeSet::new();
    for folder in ["core/src", "app/src", "cli", "tests"] {
        tests_below(&root().join(folder), &mut known);
    }
    let mut missing = Vec::new();
    for row in rows() {
        let number = row.number;
        if row.text.is_empty() || row.places.is_empty() || row.tests.is_empty() {
            missing.push(format!("{number}: a cell is empty"));
        }
        let places = row
            .places
            .iter()
            .filter(|place| !root().join(place).exists());
        missing.extend(places.map(|place| format!("{number}: no {place}")));
        let tests = row.tests.iter().filter(|test| !known.contains(*test));
        missing.extend(tests.map(|test| format!("{number}: no test {test}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn tests_are_read_off_their_marks() {
    let source = "#[test]\n#[ignore]\nfn a() {}\nfn b() {}\n#[test]\nasync fn c() {}";
    let names: Vec<&str> = tests_in(source).collect();
    assert_eq!(names, ["a", "c"]);
}

//! The page that says where each requirement is met must match the source tree.

use std::collections::BTreeSet;
use std::fs;

use crate::support::source;

/// The number of requirements.
const N_REQUIREMENTS: usize = 83;

/// A row of the page: number, requirement, where, shown by.
struct Row {
    number: usize,
    text: String,
    places: Vec<String>,
    tests: Vec<String>,
}

/// The texts in backticks.
fn quoted(cell: &str) -> Vec<String> {
    let parts = cell.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

fn rows() -> Vec<Row> {
    let page = fs::read_to_string(source::path("docs/requirements.md")).unwrap();
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

/// The names of all tests, and the headings of formula cases.
fn known() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in ["core/src", "app/src", "cli", "tests"] {
        for (_, text) in source::files(folder, "rs") {
            names.extend(tests_in(&text).map(str::to_owned));
        }
    }
    for (_, text) in source::files("core/src/perf/tests", "txt") {
        let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        names.extend(headings.map(str::to_owned));
    }
    names
}

/// The functions after `#[test]`, whatever is in between.
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
    let known = known();
    let mut missing = Vec::new();
    for row in rows() {
        let number = row.number;
        if row.text.is_empty() || row.places.is_empty() || row.tests.is_empty() {
            missing.push(format!("{number}: a cell is empty"));
        }
        let places = row
            .places
            .iter()
            .filter(|place| !source::path(place).exists());
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

//! Every fact has a single value: compares the tables of all documents of a trace.
//!
//! A fact is a number in a column, in a row identified by its leading text. If two tables identify their rows by the
//! same columns, the same row has the same value in both, to the printed digit.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use dormer_core::output::export::{Artifact, Input, Source};
use dormer_core::report::SheetEvents;
use dormer_core::{Profile, Report, ReportOptions};
use serde_json::Value;

use crate::support::opened::{profile, report};
use crate::support::{csv, shared};

/// Columns that position a row in its own table and do not identify it.
const PLACES: &[&str] = &["Rank", "Stream", "% of Category"];

/// Tables about one operation or one finding: their rows refer only to that one.
const ABOUT_ONE: &[&str] = &["Step", "Calls", "Kernel"];

/// What a number refers to: the document's section if only that is meant, the headings and the text that identify the
/// row, the column, and the unit.
type Label = (String, Vec<String>, String, &'static str);

struct Table {
    section: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// All files about the sample and each shared trace, on the GPU it was recorded on.
static FILES: LazyLock<Vec<(String, Vec<Artifact>)>> = LazyLock::new(|| {
    let files = |(name, trace): (String, Vec<u8>)| {
        let profile = profile(trace);
        let files = Input::new(&profile, &report_of_all(&profile)).artifacts();
        (name, files)
    };
    shared::with_sample().into_iter().map(files).collect()
});

fn files() -> &'static [(String, Vec<Artifact>)] {
    // Each test reports by itself that it checks less without the shared traces.
    shared::folder_for_more();
    &FILES
}

/// With all GPU events, so that its sheets count the same as everything else.
fn report_of_all(profile: &Profile) -> Report {
    let options = ReportOptions {
        sheet_events: SheetEvents::All,
        ..report(profile).options
    };
    Report::new(profile, &options)
}

#[test]
fn no_label_has_two_values() {
    let mut contradictions = Vec::new();
    for (name, files) in files() {
        let mut facts: BTreeMap<Label, Vec<(String, Vec<Quantity>)>> = BTreeMap::new();
        for file in files {
            if !file.path.ends_with(".md") {
                continue;
            }
            for table in tables(text(file)) {
                for (label, values) in facts_of(&table) {
                    let place = format!("{} of {}", table.section, file.path);
                    facts.entry(label).or_default().push((place, values));
                }
            }
        }
        assert!(facts.len() > 20, "{name}: {} facts", facts.len());
        for (label, said) in &facts {
            let most = said.iter().max_by_key(|(_, values)| values.len());
            let Some((place, most)) = most else { continue };
            let differs = said.iter().find(|(_, few)| !are_among(few, most));
            if let Some((other, few)) = differs {
                contradictions.push(format!(
                    "{name}: {label:?}:\n    {most:.3?} in {place}\n    {few:.3?} in {other}"
                ));
            }
        }
    }
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
}

/// "2.77 ms (8.7 % of compute)", "6.84 ms, 19.6 % of the run": the percentage is the share of that time.
#[test]
fn a_share_beside_a_time_is_the_share_of_it() {
    let mut wrong = Vec::new();
    let mut n_shares = 0;
    for (name, files) in files() {
        let findings = files.iter().find(|file| file.path == "findings.json");
        let findings: Value = serde_json::from_slice(&findings.unwrap().bytes).unwrap();
        let whole_us = |key: &str| Some(findings["run"][key].as_f64()? * 1e3);
        let wholes = [
            (" of compute", whole_us("computation_time_ms")),
            (" of the run", whole_us("total_time_ms")),
        ];
        // Without GPU activity, there is nothing to have a share of.
        let wholes = wholes.map(|(basis, whole)| Some((basis, whole?)));
        let wholes: Vec<(&str, f64)> = wholes.into_iter().flatten().collect();
        for file in files.iter().filter(|file| file.path.ends_with(".md")) {
            for &(basis, whole_us) in &wholes {
                for (sentence, time, share) in shares(text(file), basis) {
                    n_shares += 1;
                    let percent = 100.0 / whole_us;
                    let time = Quantity {
                        value: time.value * percent,
                        // The whole has four digits.
                        half: (time.half + time.value * 0.0005) * percent,
                        unit: "%",
                    };
                    if !time.equals(&share) {
                        wrong.push(format!("{name}: {sentence}: {:.2} %", time.value));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_shares > 0);
}

/// The figures of an analysis are the same in `findings.json` and in its own file.
#[test]
fn documents_in_json_hold_the_same_figures() {
    for (name, files) in files() {
        let json = |path: &str| -> Option<Value> {
            let file = files.iter().find(|file| file.path == path)?;
            Some(serde_json::from_slice(&file.bytes).unwrap())
        };
        let findings = json("findings.json").unwrap();
        for analysis in findings["analyses"].as_array().unwrap() {
            let key = analysis["key"].as_str().unwrap();
            let metrics = json(&format!("category_data/{key}_metrics.json"));
            let metrics = metrics.unwrap_or_else(|| panic!("{name}: no metrics of {key}"));
            for (figure, value) in analysis["figures"].as_object().unwrap() {
                let scalars = found(&metrics, figure).into_iter();
                for said in scalars.filter(|said| !said.is_array() && !said.is_object()) {
                    assert!(
                        are_equal(said, value),
                        "{name}: {figure} of {key}: {said}, {value}"
                    );
                }
            }
        }
        let timeline = files
            .iter()
            .find(|file| file.path.ends_with("gpu_timeline.csv"));
        let rows = timeline.map_or_else(Vec::new, |timeline| csv::rows(text(timeline)));
        // With recomputation, the sheet splits the time into two runs.
        let is_whole = |row: &&Vec<String>| row.len() == 3;
        for row in rows.iter().skip(1).filter(is_whole) {
            let Some(ms) = findings["run"].get(format!("{}_ms", row[0])) else {
                continue;
            };
            let of_sheet: f64 = row[1].parse().unwrap();
            assert!(
                (ms.as_f64().unwrap() - of_sheet).abs() <= 0.0005,
                "{name}: {row:?} and {ms}"
            );
        }
    }
}

fn text(file: &Artifact) -> &str {
    std::str::from_utf8(&file.bytes).unwrap()
}

/// Whether two values are equal if one of them may be rounded to four digits, or two decimals.
fn are_equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= (0.0005 * a.abs().max(b.abs())).max(0.005),
        _ => a == b,
    }
}

/// The values of a key in an object and in its groups.
fn found<'v>(metrics: &'v Value, key: &str) -> Vec<&'v Value> {
    let groups = metrics
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.values());
    let all = std::iter::once(metrics).chain(groups);
    all.filter_map(|group| group.get(key)).collect()
}

/// A printed number: its value in the smallest unit of its kind, and half of its last digit.
#[derive(Clone)]
struct Quantity {
    value: f64,
    half: f64,
    unit: &'static str,
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.value, self.unit)
    }
}

impl Quantity {
    fn parse(cell: &str) -> Option<Quantity> {
        let cell = plain(cell);
        let end = cell.find(|c: char| c.is_alphabetic() || c == '%' || c == '(');
        let (digits, unit) = cell.split_at(end.unwrap_or(cell.len()));
        let below = digits.starts_with('<');
        let digits: String = digits
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '<')
            .collect();
        let value: f64 = digits.parse().ok()?;
        let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
        let half = 0.5 * 10_f64.powi(-i32::try_from(places).ok()?);
        let half = if below { value } else { half };
        let (scale, unit) = match unit.split_whitespace().next().unwrap_or_default() {
            "ns" => (1e-3, "µs"),
            "µs" => (1.0, "µs"),
            "ms" => (1e3, "µs"),
            "s" => (1e6, "µs"),
            "%" => (1.0, "%"),
            "GB/s" => (1.0, "GB/s"),
            "TB/s" => (1e3, "GB/s"),
            "" => (1.0, ""),
            _ => return None,
        };
        Some(Quantity {
            value: value * scale,
            half: half * scale,
            unit,
        })
    }

    /// Whether both may be the same number, rounded.
    fn equals(&self, other: &Quantity) -> bool {
        (self.value - other.value).abs() <= (self.half + other.half) * 1.001
    }
}

/// Whether each of `few` is in `most`, without using one twice.
fn are_among(few: &[Quantity], most: &[Quantity]) -> bool {
    let mut left = most.to_vec();
    few.iter().all(|one| {
        let at = left.iter().position(|other| one.equals(other));
        at.map(|at| left.swap_remove(at)).is_some()
    })
}

/// Text without Markdown formatting and thin spaces.
fn plain(cell: &str) -> String {
    let text = cell.replace(['\u{202f}', '\u{a0}'], " ");
    let text: String = text
        .chars()
        .filter(|c| !matches!(c, '`' | '\\' | '*'))
        .collect();
    text.trim().to_owned()
}

/// Markdown's tables, each with its heading.
fn tables(markdown: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut section = String::new();
    let mut is_inside = false;
    for line in markdown.lines() {
        let Some(row) = line.strip_prefix('|') else {
            is_inside = false;
            if let Some(heading) = line.strip_prefix('#') {
                section = plain(heading.trim_start_matches('#'));
            }
            continue;
        };
        let row = row.trim_end().trim_end_matches('|').replace("\\|", "¦");
        let cells: Vec<String> = row.split('|').map(plain).collect();
        match tables.last_mut() {
            Some(table) if is_inside => {
                let is_rule = cells.iter().all(|cell| cell.starts_with(['-', ':']));
                if !is_rule {
                    table.rows.push(cells);
                }
            }
            _ => tables.push(Table {
                section: section.clone(),
                header: cells,
                rows: Vec::new(),
            }),
        }
        is_inside = true;
    }
    tables
}

/// The numbers of a table; the values of rows with the same name together.
fn facts_of(table: &Table) -> BTreeMap<Label, Vec<Quantity>> {
    let mut facts: BTreeMap<Label, Vec<Quantity>> = BTreeMap::new();
    let is_about_one = ABOUT_ONE.contains(&table.header[0].as_str());
    // "P3 Title", "1. Title" and "System P3: Title" are the same finding.
    let is_number = |word: &&str| *word == "System" || word.contains(|c: char| c.is_ascii_digit());
    let title: Vec<&str> = table.section.split(' ').skip_while(is_number).collect();
    let scope = match is_about_one {
        true => format!("{}: {}", title.join(" "), table.header.join(", ")),
        false => String::new(),
    };
    for row in &table.rows {
        let cells = || {
            table
                .header
                .iter()
                .zip(row)
                .filter(|(header, _)| !PLACES.contains(&header.as_str()))
        };
        let is_name = |(_, cell): &(&String, &String)| Quantity::parse(cell).is_none();
        let names = cells().take_while(is_name);
        let names: Vec<String> = names
            .flat_map(|(header, cell)| [header.clone(), cell.clone()])
            .collect();
        if names.is_empty() {
            continue;
        }
        for (header, cell) in cells().skip_while(is_name) {
            if let Some(quantity) = Quantity::parse(cell) {
                let label = (scope.clone(), names.clone(), header.clone(), quantity.unit);
                facts.entry(label).or_default().push(quantity);
            }
        }
    }
    facts
}

/// Each time with its share of a whole: `TIME (PERCENT of …` or `TIME, PERCENT of …`.
fn shares(markdown: &str, basis: &str) -> Vec<(String, Quantity, Quantity)> {
    let text = markdown.replace(['\u{202f}', '\\'], "");
    let found = text.match_indices(basis).filter_map(|(at, _)| {
        let before = &text[..at];
        let start = before.rfind([',', '('])?;
        let share = Quantity::parse(&before[start + 1..])?;
        let words: Vec<&str> = before[..start]
            .rsplit([' ', '\n'])
            .filter(|word| !word.is_empty())
            .take(2)
            .collect();
        let [unit, value] = words[..] else {
            return None;
        };
        let time = Quantity::parse(&format!("{value} {unit}"))?;
        let is_share = share.unit == "%" && time.unit == "µs";
        let sentence = format!("{value} {unit}, {}{basis}", &before[start + 1..]);
        is_share.then_some((sentence, time, share))
    });
    found.collect()
}

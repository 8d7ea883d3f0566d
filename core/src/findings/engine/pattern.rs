//! Patterns in the figures of the whole pipeline, in the form shared by both of its analyses.

use serde_json::{Value as Json, json};

use super::outcome::Outcome;
use crate::base::value::{CellColumn, Table, Value, rounded};
use crate::findings::Severity;

#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
    /// One sentence with the figures.
    pub(crate) description: String,
    pub(crate) recommendation: &'static str,
    /// An upper bound for the saving; `None` if the pattern alone does not give one.
    pub(crate) recoverable_ns: Option<i64>,
}

pub(crate) fn add(outcome: &mut Outcome, patterns: &[Pattern]) {
    let keys: Vec<&str> = patterns.iter().map(|pattern| pattern.key).collect();
    let value = match keys.is_empty() {
        true => Value::Empty,
        false => Value::Quoted(keys.join(", ")),
    };
    outcome.fact("patterns_detected", "Patterns", value);
    if !patterns.is_empty() {
        outcome.tables.push(table(patterns));
    }
}

fn table(patterns: &[Pattern]) -> Table {
    let most = |pattern: &Pattern| Value::ns(pattern.recoverable_ns);
    let columns: &[CellColumn<&Pattern>] = &[
        ("pattern", "Pattern", &|one| text(one.name)),
        ("severity", "Severity", &|one| text(one.severity.label())),
        ("evidence", "Evidence", &|one| text(&one.description)),
        ("recoverable_time", "Can save up to", &|one| most(one)),
    ];
    Table::of("patterns_detected", "Detected patterns", patterns, columns)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Their form in metrics files.
pub(crate) fn json(patterns: &[Pattern]) -> Json {
    let one = |pattern: &Pattern| {
        json!({
            "pattern": pattern.key,
            "name": pattern.name,
            "severity": pattern.severity.label(),
            "description": pattern.description,
            "recommendation": pattern.recommendation,
            "recoverable_ms": pattern.recoverable_ns.map(|ns| rounded(ns as f64 / 1e6, 6)),
        })
    };
    patterns.iter().map(one).collect()
}

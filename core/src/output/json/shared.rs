//! Records of several files.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::record;
use crate::assess::Thresholds;
use crate::base::value::{Table as Cells, Value, rounded};
use crate::findings::{Fact, Replay as Offer};
use crate::profile::window::WindowOf;

record! {
    /// A part of the trace that is analyzed alone, in microseconds after the trace begins.
    Window(of: &WindowOf) {
        /// Its name; null: a range of time.
        step: Option<String> = of.window.step.clone(),
        /// Where it starts.
        start_us: f64 = us_after(of, of.window.span.start_ns),
        /// Where it ends.
        end_us: f64 = us_after(of, of.window.span.end_ns),
    }

    /// What to change.
    Action(in_model: &str, in_kernel: &str) {
        /// In the model, or in how it is run.
        model: String = in_model.to_owned(),
        /// In the kernel.
        kernel: String = in_kernel.to_owned(),
    }

    /// A reproducer.
    Replay(offer: &Offer) {
        /// It is recommended; else it is offered.
        recommended: bool = offer.is_recommended,
        /// Why.
        reason: String = offer.reason.clone(),
    }

    /// A table of an analysis.
    Table(table: &Cells) {
        /// Its name.
        key: &'static str = table.key,
        /// Its title.
        title: String = table.title.clone(),
        /// Its rows, each a map from the key of the column, which ends in its unit.
        rows: Vec<Json> = table.rows.iter().map(|row| cells(table, row)).collect(),
    }
}

fn us_after(of: &WindowOf, ns: i64) -> f64 {
    rounded(ns.saturating_sub(of.recorded.start_ns) as f64 / 1e3, 3)
}

fn cells(table: &Cells, row: &[Value]) -> Json {
    let cells = table.columns.iter().zip(row);
    let cells = cells.map(|(column, value)| keyed(column.key, value));
    Json::Object(cells.collect())
}

/// A value with its key, which ends in its unit.
fn keyed(key: &str, value: &Value) -> (String, Json) {
    (format!("{key}{}", value.suffix()), value.json())
}

/// Figures as a map.
pub(crate) fn facts(facts: &[Fact]) -> Map<String, Json> {
    let facts = facts.iter();
    facts.map(|fact| keyed(fact.key, &fact.value)).collect()
}

/// Every threshold by its key.
pub(crate) fn thresholds(thresholds: &Thresholds) -> BTreeMap<&'static str, f64> {
    let all = Thresholds::ALL.iter();
    all.map(|threshold| (threshold.key, (threshold.get)(thresholds)))
        .collect()
}

/// A part of the trace as a value; null for all of it.
pub(crate) fn window(of: Option<&WindowOf>) -> Json {
    super::value(of.map(Window::new))
}

//! Records that several files share.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{list, record};
use crate::assess::Thresholds;
use crate::base::sort::Gather;
use crate::base::value::{Table as Cells, Value, rounded};
use crate::findings::{Fact, Replay as Offer};
use crate::profile::window::WindowOf;

record! {
    /// A part of the trace that is analyzed alone, in microseconds after the trace begins.
    Window(of: &WindowOf) {
        step: "Its name; null: a range of time, or one GPU." = of.window.step,
        gpu: "The one GPU that is analyzed, as the trace numbers it; null: all." = of.window.device,
        start_us: "Where it starts." = us_after(of, of.window.span.start_ns),
        end_us: "Where it ends." = us_after(of, of.window.span.end_ns),
    }

    /// What to change.
    Action(model: &str, kernel: &str) {
        model: "In the model, or in how it is run." = model,
        kernel: "In the kernel." = kernel,
    }

    /// A reproducer.
    Replay(offer: &Offer) {
        recommended: "It is recommended; else it is offered." = offer.is_recommended,
        reason: "Why." = offer.reason,
    }

    /// A table of an analysis.
    Table(table: &Cells) {
        key: "Its name." = table.key,
        title: "Its title." = table.title,
        rows: "Its rows, each a map from the key of the column, which ends in its unit." = list(&table.rows, |row| cells(table, row)),
    }
}

fn us_after(of: &WindowOf, ns: i64) -> f64 {
    rounded(ns.saturating_sub(of.recorded.start_ns) as f64 / 1e3, 3)
}

fn cells(table: &Cells, row: &[Value]) -> Json {
    let cells = table.columns.iter().zip(row);
    let cells = cells.map(|(column, value)| keyed(column.key, value));
    Json::Object(cells.gather())
}

/// A value with its key, which ends in its unit.
fn keyed(key: &str, value: &Value) -> (String, Json) {
    (format!("{key}{}", value.suffix()), value.json())
}

pub(crate) fn facts(facts: &[Fact]) -> Map<String, Json> {
    let facts = facts.iter();
    facts.map(|fact| keyed(fact.key, &fact.value)).gather()
}

pub(crate) fn thresholds(thresholds: &Thresholds) -> BTreeMap<&'static str, f64> {
    let all = Thresholds::ALL.iter();
    all.map(|threshold| (threshold.key, (threshold.get)(thresholds)))
        .gather()
}

/// A part of the trace as a value; null for all of it.
pub(crate) fn window(of: Option<&WindowOf>) -> Json {
    super::value(of.map(Window::of))
}

//! `findings.json`: what to do, for programs.
//!
//! ```text
//! format      1; it changes when a key changes its meaning or goes
//! title       the report's title
//! model       name, architecture, scale, precision: each with value (null: unknown) and evidence
//! hardware    GPU, basis, the figures that were used
//! run         total, computation, communication, copies and idle time, in ms and percent
//! window      the part of the trace that is analysed alone: step (null: a range of time), start_us and
//!             end_us after the trace begins; null: all of it
//! findings    in order: number, analysis, tier, pattern, priority, confidence (null where nothing is
//!             left to guess), title, issue, action (model and
//!             kernel), time_ms, efficiency_percent, impact (low, middle, high in ms and percent of
//!             the run, and what it is estimated from; null: a trace cannot tell), overlaps (numbers of
//!             findings about some of the same operations), replay, operations (uid, name, calls,
//!             time), tables
//! together    what following all of them saves
//! n_small     findings that are too small to be listed
//! analyses    of each: status (OK, NO_DATA, ERROR), error, time, share of compute, figures
//! thresholds  every line that a judgement was drawn by
//! ```
//!
//! Times are in milliseconds and shares in percent; an unknown is `null`. Keys of figures and of cells
//! of tables end in their unit (`_ms`, `_percent`, `_bytes`, `_gbps`, `_tflops`), be the value known or
//! not.

use serde_json::{Map, Value as Json, json};

use super::report::window;
use crate::assess::Thresholds;
use crate::base::interval::percent_of;
use crate::base::value::Table;
use crate::base::value::rounded;
use crate::findings::{Confidence, Fact, Impact, Outcome, RankedFinding, Status};
use crate::profile::Profile;
use crate::profile::model_info::{Inferred, ModelInfo};
use crate::report::Report;

/// The version of the document.
const FORMAT: u32 = 1;

/// What to do, as a JSON value.
pub fn findings(profile: &Profile, report: &Report) -> Json {
    let ranked = &report.analyses.findings;
    let total_ns = report.overview.total_ns;
    json!({
        "format": FORMAT,
        "title": crate::output::title::of_trace(profile, report),
        "model": model(profile.model_info()),
        "hardware": hardware(report),
        "run": run(report),
        "window": window(profile.window.as_ref()),
        "findings": ranked
            .ranked
            .iter()
            .map(|one| finding(profile, report, one))
            .collect::<Vec<Json>>(),
        "together": ranked.together.map(|all| impact(&all, total_ns)),
        "n_small": ranked.n_small,
        "analyses": report
            .analyses
            .outcomes
            .iter()
            .map(|outcome| analysis(report, outcome))
            .collect::<Vec<Json>>(),
        "thresholds": thresholds(&report.options.thresholds),
    })
}

fn model(info: &ModelInfo) -> Json {
    let answer = |answer: &Inferred| json!({ "value": answer.value, "evidence": answer.evidence });
    json!({
        "model": answer(&info.model),
        "architecture": answer(&info.architecture),
        "scale": answer(&info.scale),
        "precision": answer(&info.precision),
    })
}

fn hardware(report: &Report) -> Json {
    let hardware = &report.overview.hardware;
    let figures = hardware.figures.iter().map(|figure| {
        json!({
            "label": figure.label,
            "value": figure.value,
            "basis": figure.basis.map(|basis| basis.label()),
        })
    });
    json!({
        "gpu": hardware.gpu.as_ref().map(|gpu| gpu.name.as_ref()),
        "recorded_on": hardware.recorded_on,
        "basis": hardware.basis,
        "figures": figures.collect::<Vec<Json>>(),
    })
}

/// The split of the run.
pub(crate) fn run(report: &Report) -> Json {
    let Some(whole) = &report.timelines.whole else {
        return Json::Null;
    };
    let total = whole.total_ns();
    let percent = |ns: i64| (total > 0).then(|| rounded(ns as f64 / total as f64 * 100.0, 2));
    json!({
        "total_time_ms": ms(total),
        "computation_time_ms": ms(whole.computation_ns),
        "computation_time_percent": percent(whole.computation_ns),
        "exposed_comm_time_ms": ms(whole.exposed_comm_ns),
        "exposed_comm_time_percent": percent(whole.exposed_comm_ns),
        "exposed_memcpy_time_ms": ms(whole.exposed_memcpy_ns),
        "exposed_memcpy_time_percent": percent(whole.exposed_memcpy_ns),
        "idle_time_ms": ms(whole.idle_ns),
        "idle_time_percent": percent(whole.idle_ns),
    })
}

/// Nanoseconds as milliseconds with three decimals.
pub(crate) fn ms(ns: i64) -> f64 {
    rounded(ns as f64 / 1e6, 3)
}

fn impact(impact: &Impact, total_ns: Option<i64>) -> Json {
    let percent = |ns: i64| {
        let total_ns = total_ns.filter(|total_ns| *total_ns > 0)?;
        Some(rounded(ns as f64 / total_ns as f64 * 100.0, 2))
    };
    json!({
        "low_ms": ms(impact.low_ns),
        "mid_ms": ms(impact.mid_ns),
        "high_ms": ms(impact.high_ns),
        "low_percent": percent(impact.low_ns),
        "mid_percent": percent(impact.mid_ns),
        "high_percent": percent(impact.high_ns),
        "estimate": impact.estimate.key(),
    })
}

/// One finding.
pub(crate) fn finding(profile: &Profile, report: &Report, ranked: &RankedFinding) -> Json {
    let found = &ranked.finding;
    let operations = found.operations.iter().filter_map(|at| {
        let operation = profile.operations().get(*at)?;
        Some(json!({
            "uid": operation.uid(),
            "name": operation.name(profile),
            "calls": operation.n_calls(),
            "time_ms": ms(operation.kernel_ns),
        }))
    });
    let uids = found
        .events
        .iter()
        .map(|event| profile.trace.events.uid(*event));
    json!({
        "number": ranked.number,
        "analysis": ranked.analysis.key,
        "tier": ranked.analysis.tier.key(),
        "pattern": found.pattern,
        "priority": found.priority.label(),
        "confidence": found.confidence.map(Confidence::label),
        "title": found.title,
        "issue": found.issue,
        "action": { "model": found.model, "kernel": found.kernel },
        "reasoning": found.reasoning,
        "time_ms": ms(found.time_ns),
        "efficiency_percent": found.efficiency_percent.map(|percent| rounded(percent, 2)),
        "impact": found.impact.map(|one| impact(&one, report.overview.total_ns)),
        "overlaps": ranked.overlaps,
        "replay": found.replay.as_ref().map(|replay| json!({
            "recommended": replay.is_recommended,
            "reason": replay.reason,
        })),
        "operations": operations.collect::<Vec<Json>>(),
        "events": uids.collect::<Vec<u32>>(),
        "tables": found.tables.iter().map(table).collect::<Vec<Json>>(),
    })
}

/// A table as its rows, each a map from the column's key.
pub(crate) fn table(table: &Table) -> Json {
    let row = |row: &Vec<crate::base::value::Value>| {
        let cells = table.columns.iter().zip(row);
        let cells = cells
            .map(|(column, value)| (format!("{}{}", column.key, value.suffix()), value.json()));
        Json::Object(cells.collect::<Map<String, Json>>())
    };
    json!({
        "key": table.key,
        "title": table.title,
        "rows": table.rows.iter().map(row).collect::<Vec<Json>>(),
    })
}

/// Figures as a map.
pub(crate) fn facts(facts: &[Fact]) -> Json {
    let facts = facts.iter().map(|fact| {
        (
            format!("{}{}", fact.key, fact.value.suffix()),
            fact.value.json(),
        )
    });
    Json::Object(facts.collect())
}

fn analysis(report: &Report, outcome: &Outcome) -> Json {
    let error = match &outcome.status {
        Status::Error(why) => Some(why),
        _ => None,
    };
    json!({
        "key": outcome.kind.key,
        "title": outcome.kind.title,
        "tier": outcome.kind.tier.key(),
        "status": outcome.status.key(),
        "error": error,
        "time_ms": ms(outcome.time_ns),
        "percent_of_compute": percent_of_compute(report, outcome),
        "average_efficiency_percent": outcome.efficiency_percent().map(|percent| rounded(percent, 2)),
        "efficiency_known_percent": outcome.known_percent().map(|percent| rounded(percent, 2)),
        "figures": facts(&outcome.facts),
        "notes": outcome.notes,
    })
}

/// Share of the kernel time of all that computes.
pub(crate) fn percent_of_compute(report: &Report, outcome: &Outcome) -> Option<f64> {
    let compute_ns = report.timelines.compute_ns()?;
    percent_of(outcome.time_ns, compute_ns).map(|percent| rounded(percent, 2))
}

fn thresholds(thresholds: &Thresholds) -> Json {
    let values = Thresholds::ALL
        .iter()
        .map(|threshold| (threshold.key.to_owned(), json!((threshold.get)(thresholds))));
    Json::Object(values.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Timetable, options_on};

    #[test]
    fn a_finding_is_written_with_its_numbers_and_its_evidence() {
        let profile = Timetable::new()
            .op("aten::bmm", 0..10)
            .args(r#""Input Dims": [[37632, 8, 64], [37632, 64, 8]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
            .launch(1, 1..2)
            .kernel(1, "Cijk_MT16x16x32", 100..10_100)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let json = findings(&profile, &report);
        let finding = &json["findings"][0];
        assert_eq!(finding["number"], 1);
        assert_eq!(finding["pattern"], "tiny_batched");
        assert_eq!(finding["time_ms"], 10.0);
        // 81.9 MB at 5.3 TB/s take 15.45 µs of 10 ms.
        assert_eq!(finding["efficiency_percent"], 0.15);
        assert_eq!(finding["impact"]["high_ms"], 9.985);
        assert_eq!(finding["operations"][0]["name"], "aten::bmm");
        assert_eq!(finding["replay"]["recommended"], true);
        assert_eq!(json["run"]["computation_time_percent"], 100.0);
        assert_eq!(json["analyses"][0]["status"], "OK");
        assert_eq!(json["model"]["model"]["value"], Json::Null);
    }
}

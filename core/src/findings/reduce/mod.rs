//! Work along an axis: softmax, sums, extremes, pooling, losses, sorting, scans.

mod axis;
mod kind;
mod rules;
#[cfg(test)]
mod tests;

use super::compute::{Gate, add_bandwidth, impact_of_gap, is_bottleneck, outcome_by};
use super::finding::Impact;
use super::memory_bound::{is_launch_scale, launch_scale_note, n_calls, time_ns, unmodelled};
use super::outcome::{Outcome, Row, Status};
use super::rule::{self, RuleDoc};
use super::{AnalysisKind, Input};
use crate::base::format;
use crate::base::value::Value;
use crate::names::Family;
use crate::profile::operations::Operation;
use axis::Axis;
use kind::Kind;

/// A reduction, and what its name and arguments show.
struct Seen<'a> {
    row: &'a Row,
    kind: Kind,
    axis: Option<Axis>,
    /// Whether it is a softmax as attention has it, not that of a loss.
    may_be_attention: bool,
    /// Whether it picks one of its elements, so that there is nothing to sum up.
    chooses: bool,
}

impl Seen<'_> {
    /// What it saves at the efficiency that such kernels usually reach; at the roofline where that
    /// is not known.
    fn impact(&self) -> Option<Impact> {
        let row = self.row;
        match self.kind {
            kind if kind.takes_passes() => Some(Impact::heuristic(row.time_ns)),
            kind if kind.is_plain() => Impact::of_usual(row, rules::USUAL_PERCENT),
            _ => impact_of_gap(row),
        }
    }
}

/// What can be found.
pub(super) fn docs() -> Vec<RuleDoc> {
    rules::RULES.iter().map(rule::Rule::doc).collect()
}

fn gate(input: &Input) -> Gate {
    Gate {
        time_ms: input.options.thresholds.reduce_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let kind_of = |operation: &Operation| Kind::of(operation.short_name(input.profile));
    let mut outcome = outcome_by(input, kind, |operation| kind_of(operation).label());
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .map(|row| {
            let operation = input.operation(row.operation);
            let name = operation.short_name(input.profile);
            Seen {
                row,
                kind: Kind::of(name),
                axis: Axis::of(input, operation),
                may_be_attention: may_be_attention(name),
                chooses: chooses(name),
            }
        })
        .collect();
    facts(input, &mut outcome, &seen);
    let gate = gate(input);
    let candidates = seen
        .iter()
        .filter(|seen| is_bottleneck(input, seen.row, &gate) && !is_launch_scale(input, seen.row));
    outcome.findings = rule::find(input, rules::RULES, candidates.collect());
    let all: Vec<&Row> = rows.iter().collect();
    outcome
        .findings
        .extend(unmodelled(input, &all, &gate, "reduction"));
    outcome.notes.extend(launch_scale_note(input, &rows));
    Ok(outcome)
}

/// Attention takes the softmax itself; its logarithm belongs to a loss.
fn may_be_attention(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has = |word: &str| name.contains(word);
    has("softmax") && !has("log_softmax") && !has("logsoftmax")
}

/// Whether a reduction picks one of its elements.
fn chooses(name: &str) -> bool {
    let name = name.rsplit("::").next().unwrap_or(name);
    let word = name.split('_').next().unwrap_or(name);
    let words = [
        "argmax", "argmin", "max", "min", "amax", "amin", "any", "all",
    ];
    words.contains(&word)
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    let softmax: Vec<&Row> = seen
        .iter()
        .filter(|seen| seen.kind == Kind::Softmax)
        .map(|seen| seen.row)
        .collect();
    let sorting: Vec<&Row> = seen
        .iter()
        .filter(|seen| seen.kind.takes_passes())
        .map(|seen| seen.row)
        .collect();
    outcome.fact(
        "softmax_count",
        "Softmax operations",
        Value::Count(softmax.len() as u64),
    );
    outcome.fact("softmax", "Time in softmax", Value::Ns(time_ns(&softmax)));
    outcome.fact(
        "sorting",
        "Time in sorting, selecting and compacting",
        Value::Ns(time_ns(&sorting)),
    );
    add_bandwidth(input, outcome);
    let strings = &input.profile.trace.strings;
    let has_batched = input.operations().any(|(_, operation, _)| {
        operation.family == Family::Gemm
            && ["bmm", "matmul"]
                .iter()
                .any(|word| strings.get(operation.key.name).contains(word))
    });
    let scores: Vec<&Row> = seen
        .iter()
        .filter(|seen| seen.may_be_attention)
        .map(|seen| seen.row)
        .collect();
    if has_batched && !scores.is_empty() {
        outcome.notes.push(format!(
            "Softmax runs on its own ({}, {}) in a trace with batched matrix products: a sign of \
             attention that is not fused. Whether it is, the analysis of attention says.",
            format::counted(n_calls(&scores), "call"),
            format::time_ns(time_ns(&scores))
        ));
    }
}

//! Kernels that `torch.compile` generated. Their names say which operators they merged.

mod rules;
#[cfg(test)]
mod tests;

use super::compute::{Gate, add_bandwidth, is_bottleneck, outcome_by};
use super::in_use::is_in_graph;
use super::memory_bound::{gbps, is_launch_scale, short_name, unmodelled};
use super::outcome::{Outcome, Row, Status};
use super::rule::{self, RuleDoc};
use super::{AnalysisKind, Input};
use crate::base::value::{Table, Value};
use crate::hardware::roofline::Bound;
use crate::names::LoopKind;
use crate::perf::fused_ops;
use crate::profile::operations::Operation;

/// A generated kernel, and what its name tells.
struct Seen<'a> {
    row: &'a Row,
    operation: &'a Operation,
    kind: LoopKind,
    /// The operators that it merges.
    ops: Vec<&'a str>,
    /// Whether its calls are about as short as their launch.
    is_short: bool,
    /// Whether other short kernels run in GPU graphs.
    are_others_replayed: bool,
}

/// What can be found.
pub(super) fn docs() -> Vec<RuleDoc> {
    rules::RULES.iter().map(rule::Rule::doc).collect()
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let name = |operation: &Operation| operation.short_name(input.profile);
    let mut outcome = outcome_by(input, kind, |operation| {
        LoopKind::of(name(operation)).label()
    });
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let rows = outcome.rows.clone();
    let mut seen: Vec<Seen> = rows
        .iter()
        .filter_map(|row| {
            let operation = input.profile.operations().get(row.operation)?;
            let name = operation.short_name(input.profile);
            Some(Seen {
                row,
                operation,
                kind: LoopKind::of(name),
                ops: fused_ops(name),
                is_short: is_launch_scale(input, row),
                are_others_replayed: false,
            })
        })
        .collect();
    add_facts(input, &mut outcome, &seen);
    outcome.tables.push(table(input, &seen));
    seen.retain(|seen| !seen.row.is_anomaly);
    // Graphs launch kernels as cheaply as can be: where those are short, there is little data.
    let is_replayed = |seen: &Seen| seen.is_short && is_in_graph(input.profile, seen.operation);
    let are_replayed = seen.iter().any(is_replayed);
    seen.retain(|seen| !is_replayed(seen));
    for seen in &mut seen {
        seen.are_others_replayed = are_replayed;
    }
    let gate = Gate {
        time_ms: input.options.thresholds.triton_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    let candidates = seen
        .iter()
        .filter(|seen| seen.is_short || is_bottleneck(input, seen.row, &gate));
    outcome.findings = rule::find(input, rules::RULES, candidates.collect());
    let long = seen.iter().filter(|seen| !seen.is_short);
    let long: Vec<&Row> = long.map(|seen| seen.row).collect();
    let unknown = unmodelled(input, &long, &gate, "generated kernel");
    outcome.findings.extend(unknown);
    Ok(outcome)
}

fn add_facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    let loops = [
        (LoopKind::Pointwise, "pointwise_count", "Pointwise kernels"),
        (LoopKind::Reduction, "reduction_count", "Reductions"),
        (
            LoopKind::Persistent,
            "persistent_count",
            "Persistent reductions",
        ),
        (LoopKind::Template, "template_count", "GEMM templates"),
        (LoopKind::Other, "other_count", "Other kernels"),
    ];
    let count = |is: &dyn Fn(&Seen) -> bool| {
        Value::Count(seen.iter().filter(|seen| is(seen)).count() as u64)
    };
    for (kind, key, label) in loops {
        outcome.fact(key, label, count(&|seen| seen.kind == kind));
    }
    let bounds = [
        (Bound::Compute, "compute_bound_count", "Compute-bound"),
        (Bound::Memory, "memory_bound_count", "Memory-bound"),
    ];
    for (bound, key, label) in bounds {
        outcome.fact(key, label, count(&|seen| seen.row.bound == Some(bound)));
    }
    add_bandwidth(input, outcome);
}

/// The longest kernels with what they merged.
fn table(input: &Input, seen: &[Seen]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 15;
    let mut table = Table::new(
        "fusions",
        "What the longest kernels merge",
        &[
            ("kernel", "Kernel"),
            ("kind", "Kind"),
            ("fused", "Merged operators"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("bandwidth", "Bandwidth"),
            ("efficiency", "% roofline"),
        ],
    );
    let row = |seen: &Seen| {
        vec![
            Value::Quoted(short_name(input, seen.operation)),
            Value::Text(seen.kind.label().to_owned()),
            match seen.ops.is_empty() {
                true => Value::Empty,
                false => Value::Quoted(seen.ops.join(", ")),
            },
            Value::Count(seen.row.n_calls),
            Value::Ns(seen.row.time_ns),
            gbps(input, seen.row).map_or(Value::NO_GBPS, Value::GbPerS),
            Value::percent(seen.row.efficiency_percent),
        ]
    };
    table.rows = seen.iter().take(MAX_ROWS).map(row).collect();
    table
}

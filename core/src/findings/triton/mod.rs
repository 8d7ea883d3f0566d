//! Kernels that `torch.compile` generated. Their names say which operators they merged.

mod rules;
#[cfg(test)]
mod tests;

use super::compute::gbps;
use crate::findings::prelude::*;
use crate::hardware::roofline::Bound;
use crate::names::LoopKind;
use crate::perf::fused_ops;

struct Seen<'a> {
    row: &'a Row,
    kind: LoopKind,
    ops: Vec<&'a str>,
    is_short: bool,
    /// Whether other short kernels run in GPU graphs.
    are_others_replayed: bool,
}

pub(super) const DOCS: Docs = || rule::docs(rules::RULES);

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    // Graphs launch kernels as cheaply as can be: where those are short, there is little data.
    let is_replayed = |row: &&Row| {
        is_launch_scale(input, row)
            && input.operation(row.operation).is_replayed(input.profile)
            && !row.is_anomaly
    };
    let are_others_replayed = rows.iter().any(|row| is_replayed(&row));
    let seen: Vec<Seen> = rows
        .iter()
        .map(|row| {
            let name = input.operation(row.operation).short_name(input.profile);
            Seen {
                row,
                kind: LoopKind::of(name),
                ops: fused_ops(name),
                is_short: is_launch_scale(input, row),
                are_others_replayed,
            }
        })
        .collect();
    add_facts(input, outcome, &seen);
    outcome.tables.push(table(input, &seen));
    let gate = Gate::of(input, input.options.thresholds.triton_gate_ms);
    let known = || {
        let seen = seen.iter().filter(|seen| !seen.row.is_anomaly);
        seen.filter(|seen| !is_replayed(&seen.row))
    };
    let candidates = known().filter(|seen| seen.is_short || is_bottleneck(input, seen.row, &gate));
    outcome.findings = rule::find(input, rules::RULES, candidates.collect());
    let long = known().filter(|seen| !seen.is_short);
    let long: Vec<&Row> = long.map(|seen| seen.row).collect();
    let unknown = unmodelled(input, long, &gate, "generated kernel");
    outcome.findings.extend(unknown);
}

fn add_facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    use LoopKind::{Other, Persistent, Pointwise, Reduction, Template};
    #[rustfmt::skip]
    outcome.counts(seen, &[
        ("pointwise_count", "Pointwise kernels", &|seen| seen.kind == Pointwise),
        ("reduction_count", "Reductions", &|seen| seen.kind == Reduction),
        ("persistent_count", "Persistent reductions", &|seen| seen.kind == Persistent),
        ("template_count", "GEMM templates", &|seen| seen.kind == Template),
        ("other_count", "Other kernels", &|seen| seen.kind == Other),
        ("compute_bound_count", "Compute-bound", &|seen| seen.row.bound == Some(Bound::Compute)),
        ("memory_bound_count", "Memory-bound", &|seen| seen.row.bound == Some(Bound::Memory)),
    ]);
    outcome.fact("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input));
}

fn table(input: &Input, seen: &[Seen]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 15;
    let operation = |seen: &Seen| short_name(input, input.operation(seen.row.operation));
    let merged = |seen: &Seen| match seen.ops.is_empty() {
        true => Value::Empty,
        false => Value::Quoted(seen.ops.join(", ")),
    };
    #[rustfmt::skip]
    let columns: &[CellColumn<&Seen>] = &[
        ("kernel", "Kernel", &|seen| Value::Quoted(operation(seen))),
        ("kind", "Kind", &|seen| Value::Text(seen.kind.label().to_owned())),
        ("fused", "Merged operators", &|seen| merged(seen)),
        ("calls", "Calls", &|seen| Value::Count(seen.row.n_calls)),
        ("time", "Time", &|seen| Value::Ns(seen.row.time_ns)),
        ("bandwidth", "Bandwidth", &|seen| Value::gbps(gbps(input, seen.row))),
        ("efficiency", "% roofline", &|seen| Value::percent(seen.row.efficiency_percent)),
    ];
    let longest = seen.iter().take(MAX_ROWS);
    let title = "What the longest kernels merge";
    Table::of("fusions", title, longest, columns)
}

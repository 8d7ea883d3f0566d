//! MoE layers: choosing experts, sorting tokens by them, and grouped GEMMs.
//!
//! How many tokens each expert got is not in a trace. Where a GPU holds all experts FLOPs are exact
//! all the same, as each token goes to the same number of experts; of experts spread over several
//! GPUs they are the share that comes with even choices, as the bytes of weights are everywhere.

mod padding;
mod roles;
mod rules;
#[cfg(test)]
mod tests;

use crate::findings::prelude::*;
use crate::hardware::roofline::Bound;
use crate::names::moe::MoeRole;

pub(super) use roles::role;

struct Seen<'a> {
    row: &'a Row,
    name: &'a str,
    role: MoeRole,
    /// Whether the trace tells the GEMMs of the experts, of which routing is a part.
    are_gemms_told: bool,
    /// Far from the roofline, for long.
    is_slow: bool,
    /// Bytes in a nanosecond of the other expert GEMM, where both are bound by memory and it is far
    /// ahead.
    sibling: Option<f64>,
    /// Nearly all that it moves is weights of experts: what lies between both GEMMs is next to nothing.
    reads_weights: bool,
    /// An operator launched it: of kernels in graphs nothing tells what an operator could do instead.
    is_of_operator: bool,
}

impl Seen<'_> {
    fn is_around(&self) -> bool {
        self.role.is_around()
    }
}

pub(super) const DOCS: Docs = || [rule::docs(rules::RULES), rule::docs(padding::RULES)].concat();

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let gate = Gate::of(input, input.options.thresholds.moe_gate_ms);
    let role_of = |row: &Row| role(input.profile, input.operation(row.operation));
    let are_gemms_told = !rows.iter().all(|row| role_of(row).is_around());
    let seen = rows.iter().map(|row| Seen {
        row,
        name: input.operation(row.operation).short_name(input.profile),
        role: role_of(row),
        are_gemms_told,
        is_slow: is_bottleneck(input, row, &gate) && !is_launch_scale(input, row),
        sibling: sibling(input, rows, row),
        reads_weights: reads_weights(input, row),
        is_of_operator: !input.operation(row.operation).is_kernel(),
    });
    let seen: Vec<Seen> = seen.collect();
    add_facts(input, outcome, &seen);
    outcome.tables.push(roles::table(input, rows));
    let candidates = seen.iter().filter(|seen| !seen.row.is_anomaly);
    outcome.findings = rule::find(input, rules::RULES, candidates.collect());
    // Apart from the rate at which they are read.
    let padded = padding::padded(input, rows);
    let padded = rule::find(input, padding::RULES, padded.iter().collect());
    outcome.findings.extend(padded);
    let (what, of_unknown): (_, fn(&Seen) -> bool) = match are_gemms_told {
        true => ("MoE kernel", |seen| seen.role == MoeRole::Fused),
        false => ("routing or sorting", |seen| seen.is_around()),
    };
    let of_unknown = seen.iter().filter(|seen| of_unknown(seen));
    let of_unknown: Vec<&Row> = of_unknown.map(|seen| seen.row).collect();
    let unknown = unmodelled(input, of_unknown, &gate, what);
    outcome.findings.extend(unknown);
    if rows.iter().any(|row| row.efficiency_percent.is_some()) {
        outcome.notes.push(rules::EVENLY.to_owned());
    }
    outcome.notes.push(
        "How many tokens each expert got, and how well the routing spreads them, is not in a trace."
            .to_owned(),
    );
}

/// Whether what the other GEMM of the experts writes or reads is a small part of what one moves.
fn reads_weights(input: &Input, row: &Row) -> bool {
    const LEAST_PERCENT: f64 = 10.0;
    /// Of a number between both.
    const BYTES: f64 = 2.0;
    let between = || {
        let modelled = input.operation(row.operation).modelled.as_ref()?;
        let size = |wanted: &str| Some(modelled.param(wanted)?.size()? as f64);
        let numbers = size("M")? * size("topk")? * size("N")?;
        let all = input.judged(row.operation).work?.bytes?;
        Some(numbers * BYTES / all * 100.0)
    };
    between().is_some_and(|percent| percent < LEAST_PERCENT)
}

/// Bytes of a memory-bound row, and how many it moves in a nanosecond.
fn bytes_and_rate(input: &Input, row: &Row) -> Option<(f64, f64)> {
    let judged = input.judged(row.operation);
    let is_bound_by_memory = judged.roof.is_some_and(|roof| roof.bound == Bound::Memory);
    let bytes = judged.work?.bytes? * row.n_calls as f64;
    let is_told = is_bound_by_memory && !row.is_anomaly && row.time_ns > 0;
    is_told.then(|| (bytes, bytes / row.time_ns as f64))
}

/// The rate of the other GEMM of the same experts, where it is so many times as high.
fn sibling(input: &Input, rows: &[Row], row: &Row) -> Option<f64> {
    const FAR_AHEAD: f64 = 1.5;
    let role_of = |row: &Row| role(input.profile, input.operation(row.operation));
    let is_gemm = role_of(row).is_gemm();
    let (_, rate) = bytes_and_rate(input, row).filter(|_| is_gemm)?;
    let beside = rows
        .iter()
        .filter(|other| other.n_calls == row.n_calls && role_of(other).is_gemm());
    let rates = beside.filter_map(|other| Some(bytes_and_rate(input, other)?.1));
    let fastest = rates.fold(0.0, f64::max);
    (fastest > rate * FAR_AHEAD).then_some(fastest)
}

/// What a row saves at the rate of its sibling.
fn behind_sibling_ns(input: &Input, seen: &Seen) -> Option<i64> {
    let (bytes, _) = bytes_and_rate(input, seen.row)?;
    Some(seen.row.time_ns - (bytes / seen.sibling?).round() as i64)
}

fn add_facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    use MoeRole::{Combine, Fused, Router, Sort, TopK};
    #[rustfmt::skip]
    outcome.counts(seen, &[
        ("fused_count", "Fused MoE operations", &|seen| seen.role == Fused),
        ("unfused_count", "Separate expert GEMMs", &|seen| seen.role.is_gemm()),
        ("routing_count", "Routing operations", &|seen| matches!(seen.role, Router | TopK)),
        ("sorting_count", "Operations that sort tokens", &|seen| matches!(seen.role, Sort | Combine)),
    ]);
    let around = seen.iter().filter(|seen| seen.is_around());
    let around: Vec<&Row> = around.map(|seen| seen.row).collect();
    let time = Value::Ns(time_ns(&around));
    outcome.fact("routing_and_sorting", "Time in routing and sorting", time);
    let has_no_model = |seen: &Seen| input.judged(seen.row.operation).work.is_none();
    let label = "Operations with no FLOP/byte model";
    outcome.counts(seen, &[("missing_perf_model_count", label, &has_no_model)]);
    outcome.fact("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input));
}

//! MoE layers: routing, sorting tokens by expert, and grouped GEMMs.
//!
//! How many tokens each expert got is not in a trace. If a GPU holds all experts, FLOPs are exact nevertheless, because
//! each token goes to the same number of experts; if experts are spread over several GPUs, they are the share for
//! evenly distributed choices, as are the bytes of weights in any case.

mod halves;
mod padding;
mod roles;
mod rules;
#[cfg(test)]
mod tests;

use crate::findings::prelude::*;
use crate::hardware::roofline::Bound;
use crate::names::moe::MoeRole;

use halves::SlowerHalf;

pub(super) use roles::role;

struct Observed<'a> {
    row: &'a Row,
    name: &'a str,
    role: MoeRole,
    /// Whether the trace shows the expert GEMMs that the routing belongs to.
    has_expert_gemms: bool,
    /// It takes long and is at a low % of roofline.
    is_slow: bool,
    /// Bytes per nanosecond of the other expert GEMM, if both are memory-bound and it is much faster.
    sibling: Option<f64>,
    /// For both GEMMs in one operation: the one that is far slower, if at the rate of the other it would no longer be
    /// slow.
    slower_half: Option<SlowerHalf>,
    /// Nearly all that it reads is expert weights: the data between both GEMMs is negligible.
    reads_weights: bool,
    /// Whether an operator launched it. For kernels in graphs, the operator that could be replaced is unknown.
    is_of_operator: bool,
}

impl Observed<'_> {
    fn is_around(&self) -> bool {
        self.role.is_around()
    }
}

pub(super) const DOCS: Docs = || [rule::docs(rules::RULES), rule::docs(padding::RULES)].concat();

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let gate = Gate::of(input, input.options.thresholds.moe_gate_ms);
    let role_of = |row: &Row| role(input.profile, input.operation(row.operation));
    let has_expert_gemms = !rows.iter().all(|row| role_of(row).is_around());
    let observed = rows.iter().map(|row| Observed {
        row,
        name: input.operation(row.operation).short_name(input.profile),
        role: role_of(row),
        has_expert_gemms,
        is_slow: is_bottleneck(input, row, &gate) && !is_launch_scale(input, row),
        sibling: sibling(input, rows, row),
        slower_half: slower_half(input, row, &gate),
        reads_weights: reads_weights(input, row),
        is_of_operator: !input.operation(row.operation).is_kernel(),
    });
    let observed: Vec<Observed> = observed.collect();
    add_facts(input, outcome, &observed);
    outcome.tables.push(roles::table(input, rows));
    let candidates = observed.iter().filter(|observed| !observed.row.is_anomaly);
    outcome.findings = rule::find(input, rules::RULES, candidates.collect());
    // Separate from the findings about how fast they are read.
    let padded = padding::padded(input, rows);
    let padded = rule::find(input, padding::RULES, padded.iter().collect());
    outcome.findings.extend(padded);
    let (what, of_unknown): (_, fn(&Observed) -> bool) = match has_expert_gemms {
        true => ("MoE kernel", |observed| observed.role == MoeRole::Fused),
        false => ("routing or sorting", |observed| observed.is_around()),
    };
    let of_unknown = observed.iter().filter(|observed| of_unknown(observed));
    let of_unknown: Vec<&Row> = of_unknown.map(|observed| observed.row).collect();
    let unknown = unmodeled(input, of_unknown, &gate, what);
    outcome.findings.extend(unknown);
    if rows.iter().any(|row| row.efficiency_percent.is_some()) {
        outcome.note(rules::EVENLY.to_owned());
    }
    outcome.note(
        "How many tokens each expert got, and how well the routing spreads them, is not in a trace."
            .to_owned(),
    );
}

/// Whether the data between the two expert GEMMs is a small part of what this one moves.
fn reads_weights(input: &Input, row: &Row) -> bool {
    const LEAST_PERCENT: f64 = 10.0;
    /// Of one element between both.
    const BYTES: f64 = 2.0;
    let between = || {
        let modeled = input.operation(row.operation).modeled.as_ref()?;
        let size = |wanted: &str| Some(modeled.param(wanted)?.size()? as f64);
        let numbers = size("M")? * size("topk")? * size("N")?;
        let all = input.evaluation(row.operation).work?.bytes?;
        Some(numbers * BYTES / all * 100.0)
    };
    between().is_some_and(|percent| percent < LEAST_PERCENT)
}

/// The bytes of a memory-bound row, and how many it moves per nanosecond.
fn bytes_and_rate(input: &Input, row: &Row) -> Option<(f64, f64)> {
    let evaluation = input.evaluation(row.operation);
    let is_bound_by_memory = evaluation
        .roofline
        .is_some_and(|roofline| roofline.bound == Bound::Memory);
    let bytes = evaluation.work?.bytes? * row.n_calls as f64;
    let has_rate = is_bound_by_memory && !row.is_anomaly && row.time_ns > 0;
    has_rate.then(|| (bytes, bytes / row.time_ns as f64))
}

/// The rate of the other GEMM of the same experts, if it is higher by a large factor.
fn sibling(input: &Input, rows: &[Row], row: &Row) -> Option<f64> {
    const FAR_AHEAD: f64 = 1.5;
    let role_of = |row: &Row| role(input.profile, input.operation(row.operation));
    let is_gemm = role_of(row).is_gemm();
    let (_, rate) = bytes_and_rate(input, row).filter(|_| is_gemm)?;
    let gemms = rows
        .iter()
        .filter(|other| other.n_calls == row.n_calls && role_of(other).is_gemm());
    let rates = gemms.filter_map(|other| Some(bytes_and_rate(input, other)?.1));
    let fastest = rates.fold(0.0, f64::max);
    (fastest > rate * FAR_AHEAD).then_some(fastest)
}

/// The slower one of two GEMMs of one operation, if it alone makes the operation slow.
fn slower_half(input: &Input, row: &Row, gate: &Gate) -> Option<SlowerHalf> {
    let operation = input.operation(row.operation);
    let is_fused = role(input.profile, operation) == MoeRole::Fused && !row.is_anomaly;
    let half = SlowerHalf::of(input, operation).filter(|_| is_fused)?;
    let left_ns = row.time_ns.saturating_sub(half.beyond_ns()).max(1);
    let then = |percent: f64| percent * row.time_ns as f64 / left_ns as f64;
    let is_enough = row
        .efficiency_percent
        .is_none_or(|percent| then(percent) >= gate.efficiency_percent);
    is_enough.then_some(half)
}

/// What a row saves at the rate of its sibling.
fn behind_sibling_ns(input: &Input, observed: &Observed) -> Option<i64> {
    let (bytes, _) = bytes_and_rate(input, observed.row)?;
    Some(observed.row.time_ns - (bytes / observed.sibling?).round() as i64)
}

fn add_facts(input: &Input, outcome: &mut Outcome, observed: &[Observed]) {
    use MoeRole::{Combine, Fused, Router, Sort, TopK};
    #[rustfmt::skip]
    outcome.counts(observed, &[
        ("fused_count", "Fused MoE operations", &|observed| observed.role == Fused),
        ("unfused_count", "Separate expert GEMMs", &|observed| observed.role.is_gemm()),
        ("routing_count", "Routing operations", &|observed| matches!(observed.role, Router | TopK)),
        ("sorting_count", "Operations that sort tokens", &|observed| matches!(observed.role, Sort | Combine)),
    ]);
    let around = observed.iter().filter(|observed| observed.is_around());
    let around: Vec<&Row> = around.map(|observed| observed.row).collect();
    let time = Value::Ns(time_ns(&around));
    outcome.fact("routing_and_sorting", "Time in routing and sorting", time);
    let has_no_model =
        |observed: &Observed| input.evaluation(observed.row.operation).work.is_none();
    let label = "Operations with no FLOP/byte model";
    outcome.counts(
        observed,
        &[("missing_perf_model_count", label, &has_no_model)],
    );
    outcome.fact("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input));
}

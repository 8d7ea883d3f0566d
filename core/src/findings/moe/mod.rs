//! MoE layers: choosing experts, sorting tokens by them, and grouped GEMMs.
//!
//! How many tokens each expert got is not in a trace. Where a GPU holds all experts FLOPs are exact
//! all the same, as each token goes to the same number of experts; of experts spread over several
//! GPUs they are the share that comes with even choices, as the bytes of weights are everywhere.

mod rules;
#[cfg(test)]
mod tests;

use crate::findings::prelude::*;
use crate::hardware::roofline::Bound;
use crate::names::moe::MoePart;
use crate::perf::model_config::Role;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::routers::Routers;
use crate::profile::shapes::Estimate;

struct Seen<'a> {
    row: &'a Row,
    name: &'a str,
    part: MoePart,
    /// Whether the trace tells the GEMMs of the experts, of which routing is a part.
    are_gemms_told: bool,
    /// Far from the roofline, for long.
    is_slow: bool,
    /// Bytes in a nanosecond of the other expert GEMM, where both are bound by memory and it is far
    /// ahead.
    sibling: Option<f64>,
}

impl Seen<'_> {
    fn is_around(&self) -> bool {
        is_around(self.part)
    }
}

fn is_around(part: MoePart) -> bool {
    use MoePart::{Preparation, Routing, Sorting};
    matches!(part, Routing | Sorting | Preparation)
}

pub(super) const DOCS: Docs = || rule::docs(rules::RULES);

pub(super) fn part(profile: &Profile, operation: &Operation) -> MoePart {
    let is_one_of_two =
        |estimate: &Estimate| matches!(estimate.role, Role::ExpertsUp | Role::ExpertsDown);
    if operation.estimate.as_ref().is_some_and(is_one_of_two) {
        return MoePart::Unfused;
    }
    match Routers::of(profile).have(operation.work()) {
        true => MoePart::Routing,
        false => MoePart::of(operation.short_name(profile), operation.key.label),
    }
}

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let gate = Gate::of(input, input.options.thresholds.moe_gate_ms);
    let part_of = |row: &Row| part(input.profile, input.operation(row.operation));
    let are_gemms_told = !rows.iter().all(|row| is_around(part_of(row)));
    let seen = rows.iter().map(|row| Seen {
        row,
        name: input.operation(row.operation).short_name(input.profile),
        part: part_of(row),
        are_gemms_told,
        is_slow: is_bottleneck(input, row, &gate) && !is_launch_scale(input, row),
        sibling: sibling(input, rows, row),
    });
    let seen: Vec<Seen> = seen.collect();
    add_facts(input, outcome, &seen);
    let candidates = seen.iter().filter(|seen| !seen.row.is_anomaly);
    outcome.findings = rule::find(input, rules::RULES, candidates.collect());
    let (what, of_unknown): (_, fn(&Seen) -> bool) = match are_gemms_told {
        true => ("MoE kernel", |seen| seen.part == MoePart::Fused),
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
    let part_of = |row: &Row| part(input.profile, input.operation(row.operation));
    let is_gemm = part_of(row) == MoePart::Unfused;
    let (_, rate) = bytes_and_rate(input, row).filter(|_| is_gemm)?;
    let beside = rows
        .iter()
        .filter(|other| other.n_calls == row.n_calls && part_of(other) == MoePart::Unfused);
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
    use MoePart::{Fused, Routing, Sorting, Unfused};
    #[rustfmt::skip]
    outcome.counts(seen, &[
        ("fused_count", "Fused MoE operations", &|seen| seen.part == Fused),
        ("unfused_count", "Separate expert GEMMs", &|seen| seen.part == Unfused),
        ("routing_count", "Routing operations", &|seen| seen.part == Routing),
        ("sorting_count", "Operations that sort tokens", &|seen| seen.part == Sorting),
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

//! Kernel fusion: chains of small operators that one kernel could do.
//!
//! ```text
//! GPU activity by stream ─steps→ what takes and gives what ─chains→ candidates ─rules→ findings
//! ```
//!
//! The time of a candidate is the sum of the measured times, each kernel once. The time of a single kernel is projected
//! from the bytes that enter and leave the chain and from its arithmetic:
//!
//! ```text
//! memory = bytes in and out / bandwidth        arithmetic = Σ flops / peak
//! fused  = longer + 15 % of the shorter        (85 % of the shorter hides behind the longer)
//! saving = measured − fused / 0.75, 0.875, 1   (a fused kernel reaches that share of roofline)
//! ```
//!
//! A kernel takes at least as long as the shortest kernel of the trace. Without shapes or a GPU, a known formula saves
//! the time of all steps but the longest.
//!
//! A trace does not record which tensors are the same: shapes, order and location only suggest it, and the findings say
//! so. Chains around softmax belong to the analysis of attention.

mod chains;
mod rules;
mod saving;
mod scopes;
mod steps;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::gemm::widening;
use crate::findings::engine::run_time;
use crate::findings::fusion::scopes::Scopes;
use crate::findings::prelude::*;
use crate::names::fusion::ChainKind;
use crate::profile::cpu::autograd::Autograd;
use crate::profile::operations::streams::stream_calls;
use crate::trace::EventId;
use chains::{Chain, chains};
use saving::Projection;
use steps::{ChainStep, StepRole, operators};

/// Chains of the same operators in the same class of module, or in the gradients of one.
struct Candidate {
    kind: ChainKind,
    class: Option<String>,
    /// In the backward pass, the module of the forward call.
    gradient_of: Option<String>,
    confidence: Confidence,
    /// Whether all instances follow a batch norm.
    follows_batch_norm: bool,
    /// Whether something else runs between its steps.
    is_interrupted: bool,
    /// Whether no shapes say that its steps belong together.
    is_by_order: bool,
    n_instances: u64,
    n_kernels: u64,
    time_ns: i64,
    /// Its share of the run time.
    run_ns: i64,
    /// What it saves of the run time; `None` without a GPU or without models.
    impact: Option<Impact>,
    names: Vec<String>,
    /// For each step, its operation in the first instance and its total time.
    members: Vec<(usize, i64)>,
    first: Vec<EventId>,
    /// For each operation, its time in chains.
    operations: BTreeMap<usize, i64>,
}

pub(super) const DOCS: Docs = || rule::docs(rules::RULES);

/// Chains that take or save less than this are not reported.
pub(super) fn least_ns(input: &Input) -> f64 {
    let total_ns = input.total_ns().unwrap_or(0) as f64;
    total_ns * input.options.thresholds.fusion_percent_of_total / 100.0
}

pub(super) fn run(input: &Input, _: &[Row], outcome: &mut Outcome) {
    let is_linked = input
        .operations()
        .any(|(_, operation, _)| operation.is_linked);
    if input.total_ns().is_none() || !is_linked {
        return;
    }
    outcome.status = Status::Done;
    let operators = operators(input);
    let role = |at: usize| operators.get(at).map(|one| one.role);
    let all = input.operations();
    let fusable = all.filter(|(at, ..)| role(*at) == Some(StepRole::Fusable));
    let fusable_ns = sum(fusable.map(|(_, operation, _)| operation.kernel_ns));
    let mut candidates = Vec::new();
    // Finding modules builds the tree of Python frames, so it is skipped if nothing can come of it.
    if fusable_ns as f64 >= least_ns(input) {
        let counting = input.operations().map(|(at, operation, _)| (at, operation));
        let steps = stream_calls(input.profile, counting);
        let mut scopes = Scopes::new(input.profile);
        let max_kernels = input.options.thresholds.fusion_max_kernels.max(0.0) as usize;
        let steps = steps.iter().map(|step| {
            let step = step.as_ref()?;
            let operator = operators.get(step.operation)?;
            Some(ChainStep { step, operator })
        });
        let steps: Vec<_> = steps.collect();
        let chains = chains(&steps, &mut scopes, max_kernels);
        candidates = of_chains(input, &steps, &scopes, &chains);
        if !scopes.has_frames() {
            let (what, told_by) = match steps.iter().flatten().any(|one| one.operator.has_shapes) {
                true => ("No Python frames", "order and shapes alone say"),
                false => ("No shapes and no Python frames", "order alone says"),
            };
            let note = format!("{what} were recorded, so {told_by} what belongs together.");
            outcome.note(note);
        }
    }
    // A chain that only widens weights is a part of the finding about them.
    let is_chain = |one: &Candidate| one.kind == ChainKind::Elementwise;
    if candidates.iter().any(is_chain) {
        let widening = widening(input);
        let widens = |one: &Candidate| one.operations.keys().all(|at| widening.contains(at));
        candidates.retain(|one| !is_chain(one) || !widens(one));
    }
    let all: Vec<&Candidate> = candidates.iter().collect();
    let estimated = all.iter().filter_map(|one| one.impact);
    let n_estimated = estimated.clone().count() as u64;
    outcome.time_ns = sum(all.iter().map(|one| one.time_ns));
    #[rustfmt::skip]
    outcome.facts([
        ("candidate_count", "Candidates", Value::Count(all.len() as u64)),
        ("estimated_count", "Candidates with an estimate", Value::Count(n_estimated)),
        ("time_involved", "Time of their kernels", Value::Ns(outcome.time_ns)),
    ]);
    if n_estimated > 0 {
        let saving = Value::Ns(sum(estimated.map(|impact| impact.mid_ns)));
        outcome.fact("saving", "What fusing them would save", saving);
    }
    outcome.tables.extend(rules::candidate_table(&all));
    outcome.findings = rule::find(input, rules::RULES, all);
}

/// What chains of one candidate have in common: the kind, the module or autograd step with the module whose gradient it
/// computes, and the operators.
type ChainKey<'a> = (ChainKind, [Option<&'a str>; 2], Vec<&'a str>);

/// Candidates, largest saving first.
fn of_chains(
    input: &Input,
    steps: &[Option<ChainStep>],
    scopes: &Scopes,
    chains: &[Chain],
) -> Vec<Candidate> {
    let projection = Projection::new(input);
    let step = |at: &usize| *steps.get(*at)?;
    let autograd = Autograd::new(&input.profile.trace);
    let mut index: BTreeMap<ChainKey, Candidate> = BTreeMap::new();
    for chain in chains {
        let members: Vec<ChainStep> = chain.members.iter().filter_map(step).collect();
        let names = members.iter().map(|one| one.operator.name.as_str());
        let names: Vec<&str> = names.collect();
        let class = scopes.name(chain.scope);
        let gradient_of = scopes.gradient_of(chain.scope, &autograd);
        let anchor = chain.anchor.as_ref().and_then(step);
        let follows_batch_norm = anchor.is_some_and(|one| one.operator.name.contains("batch_norm"));
        let candidate = index
            .entry((chain.kind, [class, gradient_of], names.clone()))
            .or_insert_with(|| Candidate {
                kind: chain.kind,
                class: class.map(str::to_owned),
                gradient_of: gradient_of.map(str::to_owned),
                confidence: confidence(chain, class),
                follows_batch_norm,
                is_interrupted: false,
                is_by_order: false,
                n_instances: 0,
                n_kernels: 0,
                time_ns: 0,
                run_ns: 0,
                impact: None,
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                members: members.iter().map(|one| (one.step.operation, 0)).collect(),
                first: members.iter().map(|one| one.step.event).collect(),
                operations: BTreeMap::new(),
            });
        candidate.n_instances += 1;
        candidate.follows_batch_norm &= follows_batch_norm;
        candidate.is_by_order |= chain.is_by_order;
        let mut pairs = chain.members.iter().zip(chain.members.iter().skip(1));
        candidate.is_interrupted |= pairs.any(|(one, next)| one + 1 != *next);
        for (ChainStep { step, .. }, member) in members.iter().zip(&mut candidate.members) {
            candidate.n_kernels += step.n_kernels as u64;
            candidate.time_ns = candidate.time_ns.saturating_add(step.ns);
            member.1 = member.1.saturating_add(step.ns);
            let ns = candidate.operations.entry(step.operation).or_default();
            *ns = ns.saturating_add(step.ns);
        }
        let impacts = candidate.impact.into_iter();
        let impacts = impacts.chain(projection.saving(chain.kind, anchor, &members));
        candidate.impact = impacts.reduce(Impact::plus);
    }
    let mut candidates: Vec<Candidate> = index.into_values().collect();
    for one in &mut candidates {
        let parts = one.operations.iter();
        one.run_ns = sum(parts.map(|(at, ns)| run_time::of_operation(input, *at, *ns)));
        let impact = one.impact;
        one.impact = impact.map(|impact| impact.part(one.run_ns, one.time_ns));
    }
    // Stable sort: equal candidates stay in the order of their keys.
    candidates.arrange_by_key(|one| {
        let mid_ns = one.impact.map_or(0, |impact| impact.mid_ns);
        (Reverse(mid_ns), Reverse(one.time_ns))
    });
    candidates
}

/// How certain it is that a chain in a module of this class is of its kind.
fn confidence(chain: &Chain, class: Option<&str>) -> Confidence {
    let by_name = class.is_some_and(|class| chain.kind.is_named(class));
    let by_operators = chain.kind != ChainKind::Elementwise;
    match (by_name && !chain.is_by_order, by_operators) {
        (true, true) => Confidence::High,
        (false, false) => Confidence::Low,
        _ => Confidence::Medium,
    }
}

//! Kernel fusion: chains of small operators that one kernel could do.
//!
//! ```text
//! GPU work by stream ─steps→ what takes and gives what ─chains→ evidence ─groups→ a finding a pattern
//! ```
//!
//! The time of a group is the sum of what was measured, each kernel once. What one kernel would
//! take instead is projected from the bytes that enter and leave the chain and from its arithmetic:
//!
//! ```text
//! memory = bytes in and out / bandwidth        arithmetic = Σ flops / peak
//! fused  = longer + 15 % of the shorter        (85 % of the shorter hides behind the longer)
//! saving = measured − fused / 0.75, 0.875, 1   (a fused kernel reaches that share of its roof)
//! ```
//!
//! A kernel of its own takes no less than the shortest of the trace does.
//!
//! Which tensors are the same is not in a trace: shapes, order and place speak for it, and that is
//! said. Chains around softmax belong to the analysis of attention.

mod chains;
mod finding;
mod pattern;
mod saving;
mod scopes;
mod shapes;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::finding::{Confidence, Impact};
use super::outcome::{Outcome, Status};
use super::{AnalysisKind, Input, run_time};
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::base::value::Value;
use chains::{Chain, chains};
use finding::{candidate_table, findings};
use pattern::Pattern;
use saving::{least_kernel_ns, saving};
use scopes::Scopes;
use steps::{Kind, Step, StepKind, kinds, steps};

/// Chains of the same operators in the same class of module.
#[derive(Debug, Clone)]
struct Group {
    pattern: Pattern,
    class: Option<String>,
    confidence: Confidence,
    /// Whether all stand behind a batch norm.
    is_behind_batch_norm: bool,
    n_instances: u64,
    n_kernels: u64,
    time_ns: i64,
    /// What that is of the time of the run.
    run_ns: i64,
    /// What it saves of the run; `None` without a GPU or without models.
    impact: Option<Impact>,
    /// By step: its operation in the first instance, and its time in all.
    members: Vec<(usize, i64)>,
    /// The calls of the first instance.
    first: Vec<crate::trace::EventId>,
    /// By operation: the time in chains.
    operations: BTreeMap<usize, i64>,
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let Some(total_ns) = input.total_ns() else {
        return Ok(Outcome::new(kind, Status::NoData));
    };
    if !input
        .operations()
        .any(|(_, operation, _)| operation.is_linked)
    {
        return Ok(Outcome::new(kind, Status::NoData));
    }
    let thresholds = &input.options.thresholds;
    let least_ns = total_ns as f64 * thresholds.fusion_percent_of_total / 100.0;
    let mut outcome = Outcome::new(kind, Status::Done);
    let kinds = kinds(input);
    let fusable = input.operations().filter(|(at, ..)| {
        kinds
            .get(*at)
            .is_some_and(|kind| kind.kind == Kind::Fusable)
    });
    let fusable_ns = sum(fusable.map(|(_, operation, _)| operation.kernel_ns));
    let mut groups = Vec::new();
    // Looking for modules builds the tree with Python frames: not where nothing can come of it.
    if fusable_ns as f64 >= least_ns {
        let steps = steps(input);
        let mut scopes = Scopes::new(input.profile);
        let max_kernels = thresholds.fusion_max_kernels.max(0.0) as usize;
        let chains = chains(&steps, &kinds, &mut scopes, max_kernels);
        groups = grouped(input, &steps, &kinds, &scopes, &chains);
        if !scopes.has_frames() {
            outcome.notes.push(
                "No Python frames were recorded, so that order and shapes alone say what belongs together."
                    .to_owned(),
            );
        }
    }
    let saving = groups.iter().filter_map(|group| group.impact);
    let saving_ns = sum(saving.map(|impact| impact.mid_ns));
    outcome.time_ns = sum(groups.iter().map(|group| group.time_ns));
    let count = |n: usize| Value::Count(n as u64);
    outcome.fact("candidate_count", "Candidates", count(groups.len()));
    let n_estimated = groups.iter().filter(|group| group.impact.is_some()).count();
    outcome.fact(
        "estimated_count",
        "Candidates with an estimate",
        count(n_estimated),
    );
    outcome.fact(
        "time_involved",
        "Time of their kernels",
        Value::Ns(outcome.time_ns),
    );
    if n_estimated > 0 {
        outcome.fact(
            "saving",
            "What fusing them would save",
            Value::Ns(saving_ns),
        );
    }
    outcome.tables.extend(candidate_table(&groups));
    outcome.findings = findings(input, &groups, &kinds, least_ns);
    Ok(outcome)
}

fn grouped(
    input: &Input,
    steps: &[Option<Step>],
    kinds: &[StepKind],
    scopes: &Scopes,
    chains: &[Chain],
) -> Vec<Group> {
    let is_training = input.is_training();
    let least_ns = least_kernel_ns(input);
    let mut index: BTreeMap<(Pattern, Option<&str>, Vec<&str>), Group> = BTreeMap::new();
    for chain in chains {
        let members: Vec<&Step> = chain
            .members
            .iter()
            .filter_map(|at| steps.get(*at)?.as_ref())
            .collect();
        let of = |step: &&Step| kinds.get(step.operation).map(|kind| kind.name.as_str());
        let names: Vec<&str> = members.iter().filter_map(of).collect();
        let class = scopes.name(chain.scope);
        let anchor = chain.anchor.and_then(|at| steps.get(at)?.as_ref());
        let anchored_to = anchor.and_then(|step| kinds.get(step.operation));
        let is_behind_batch_norm = anchored_to.is_some_and(|kind| kind.kind == Kind::BatchNorm);
        let group = index
            .entry((chain.pattern, class, names))
            .or_insert_with(|| Group {
                pattern: chain.pattern,
                class: class.map(str::to_owned),
                confidence: chain.pattern.confidence(class),
                is_behind_batch_norm,
                n_instances: 0,
                n_kernels: 0,
                time_ns: 0,
                run_ns: 0,
                impact: None,
                members: members.iter().map(|step| (step.operation, 0)).collect(),
                first: members.iter().map(|step| step.event).collect(),
                operations: BTreeMap::new(),
            });
        group.n_instances += 1;
        group.is_behind_batch_norm &= is_behind_batch_norm;
        for (step, member) in members.iter().zip(&mut group.members) {
            group.n_kernels += step.n_kernels as u64;
            group.time_ns = group.time_ns.saturating_add(step.ns);
            member.1 = member.1.saturating_add(step.ns);
            let ns = group.operations.entry(step.operation).or_default();
            *ns = ns.saturating_add(step.ns);
        }
        let impact = saving(
            input,
            kinds,
            chain.pattern,
            anchor,
            &members,
            is_training,
            least_ns,
        );
        group.impact = match (group.impact, impact) {
            (Some(all), Some(impact)) => Some(all.plus(impact)),
            (all, impact) => all.or(impact),
        };
    }
    let mut groups: Vec<Group> = index.into_values().collect();
    for group in &mut groups {
        let parts = group.operations.iter();
        group.run_ns = parts.fold(0, |all, (&operation, &ns)| {
            all.saturating_add(run_time::of_operation(input, operation, ns))
        });
        let impact = group.impact;
        group.impact = impact.map(|impact| impact.part(group.run_ns, group.time_ns));
    }
    // Stable: equals stay in the order of their keys.
    groups.arrange_by_key(|group| {
        let mid = group.impact.map_or(0, |impact| impact.mid_ns);
        (std::cmp::Reverse(mid), std::cmp::Reverse(group.time_ns))
    });
    groups
}

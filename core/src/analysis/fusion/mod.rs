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
//! Which tensors are the same is not in a trace: shapes, order and place speak for it, and that is
//! said. Chains around softmax belong to the analysis of attention.

mod chains;
mod pattern;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::finding::{Confidence, Estimate, Finding, Impact, Priority};
use super::outcome::{Outcome, Status};
use super::value::{Table, Value};
use super::{AnalysisKind, Input, compute};
use crate::format;
use chains::{Chain, chains};
use pattern::Pattern;
use steps::{Kind, Scopes, Shape, Step, StepKind, can_be, kinds, steps};

/// The part of the shorter of arithmetic and memory traffic that does not hide behind the longer.
const NOT_HIDDEN: f64 = 0.15;
/// A short chain is estimated when this share of it has a model …
const MODELLED_OF_FEW: f64 = 0.5;
/// … and one of at least this many steps …
const MANY: usize = 5;
/// … when this share has.
const MODELLED_OF_MANY: f64 = 0.75;
/// Candidates that a table names.
const MAX_CANDIDATES: usize = 12;

/// Chains of the same operators in the same class of module.
#[derive(Debug, Clone)]
struct Group {
    pattern: Pattern,
    class: Option<String>,
    confidence: Confidence,
    n_instances: u64,
    n_kernels: u64,
    time_ns: i64,
    /// What it saves; `None` without a GPU or without models.
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
    let fusable_ns: i64 = input
        .operations()
        .filter(|(at, ..)| {
            kinds
                .get(*at)
                .is_some_and(|kind| kind.kind == Kind::Fusable)
        })
        .map(|(_, operation, _)| operation.kernel_ns)
        .sum();
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
    let saving_ns: i64 = saving.map(|impact| impact.mid_ns).sum();
    outcome.time_ns = groups.iter().map(|group| group.time_ns).sum();
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
        let group = index
            .entry((chain.pattern, class, names))
            .or_insert_with(|| Group {
                pattern: chain.pattern,
                class: class.map(str::to_owned),
                confidence: chain.pattern.confidence(class),
                n_instances: 0,
                n_kernels: 0,
                time_ns: 0,
                impact: None,
                members: members.iter().map(|step| (step.operation, 0)).collect(),
                first: members.iter().map(|step| step.event).collect(),
                operations: BTreeMap::new(),
            });
        group.n_instances += 1;
        for (step, member) in members.iter().zip(&mut group.members) {
            group.n_kernels += step.n_kernels as u64;
            group.time_ns = group.time_ns.saturating_add(step.ns);
            member.1 = member.1.saturating_add(step.ns);
            let ns = group.operations.entry(step.operation).or_default();
            *ns = ns.saturating_add(step.ns);
        }
        let matrix = chain.matrix.and_then(|at| steps.get(at)?.as_ref());
        let impact = saving(input, kinds, chain.pattern, matrix, &members);
        group.impact = match (group.impact, impact) {
            (Some(all), Some(impact)) => Some(all.plus(impact)),
            (all, impact) => all.or(impact),
        };
    }
    let mut groups: Vec<Group> = index.into_values().collect();
    // Stable: equals stay in the order of their keys.
    groups.sort_by_key(|group| {
        let mid = group.impact.map_or(0, |impact| impact.mid_ns);
        (std::cmp::Reverse(mid), std::cmp::Reverse(group.time_ns))
    });
    groups
}

/// What one instance saves.
fn saving(
    input: &Input,
    kinds: &[StepKind],
    pattern: Pattern,
    matrix: Option<&Step>,
    members: &[&Step],
) -> Option<Impact> {
    let gpu = input.gpu()?;
    let known: Vec<(&&Step, &StepKind)> = members
        .iter()
        .filter_map(|step| Some((step, kinds.get(step.operation)?)))
        .collect();
    let modelled = known.iter().filter(|(_, kind)| kind.compute_us.is_some());
    let share = modelled.clone().count() as f64 / members.len().max(1) as f64;
    let needed = match members.len() < MANY {
        true => MODELLED_OF_FEW,
        false => MODELLED_OF_MANY,
    };
    if share < needed {
        return None;
    }
    let measured_ns: i64 = modelled.clone().map(|(step, _)| step.ns).sum();
    let compute_us: f64 = modelled.filter_map(|(_, kind)| kind.compute_us).sum();
    let of_matrix = matrix.and_then(|step| kinds.get(step.operation)?.gives.as_ref());
    let bytes = outer_bytes(pattern, of_matrix, &known);
    let memory_us = bytes / gpu.mem_bw_gbps / 1e3;
    let fused_us = memory_us.max(compute_us) + NOT_HIDDEN * memory_us.min(compute_us);
    let won = |share: f64| {
        let left_ns = (fused_us * 1e3 / share).round() as i64;
        measured_ns.saturating_sub(left_ns).max(0)
    };
    Some(Impact {
        low_ns: won(0.75),
        mid_ns: won(0.875),
        high_ns: won(1.0),
        estimate: Estimate::Roofline,
    })
}

/// The bytes that enter and leave a chain. What a step takes comes from the chain as far as
/// earlier steps gave as many tensors of that shape.
fn outer_bytes(pattern: Pattern, of_matrix: Option<&Shape>, known: &[(&&Step, &StepKind)]) -> f64 {
    let mut given: Vec<&Shape> = of_matrix.into_iter().collect();
    let mut bytes = 0.0;
    for (position, (_, kind)) in known.iter().enumerate() {
        let mut left: Vec<&Shape> = given.clone();
        let mut taken_inside = false;
        let mut outside = 0.0;
        for taken in &kind.takes {
            match left.iter().position(|given| can_be(given, taken)) {
                // The gate of an activation is a product of its own.
                Some(at) if pattern != Pattern::SwiGlu || !taken_inside => {
                    left.swap_remove(at);
                    taken_inside = true;
                }
                _ => outside += taken.bytes,
            }
        }
        // A step that takes nothing from the chain reads again what the chain has read.
        if taken_inside || position == 0 {
            bytes += outside;
        }
        given.extend(kind.gives.as_ref());
        let is_kept = pattern == Pattern::ResidualNorm && kind.name == "add";
        if is_kept {
            bytes += kind.gives.as_ref().map_or(0.0, |shape| shape.bytes);
        }
    }
    // The matrix product writes its result anyway.
    let result = known.last().and_then(|(_, kind)| kind.gives.as_ref());
    match of_matrix {
        Some(_) => bytes,
        None => bytes + result.map_or(0.0, |shape| shape.bytes),
    }
}

fn candidate_table(groups: &[Group]) -> Option<Table> {
    let mut table = Table::new(
        "candidates",
        "Chains that one kernel could do",
        &[
            ("pattern", "Pattern"),
            ("module", "Module"),
            ("steps", "Steps"),
            ("instances", "Instances"),
            ("kernels", "Kernels"),
            ("time", "Time"),
            ("saving", "Saving"),
            ("confidence", "Confidence"),
        ],
    );
    let rows = groups.iter().take(MAX_CANDIDATES).map(|group| {
        vec![
            Value::Text(group.pattern.label().to_owned()),
            group.class.clone().map_or(Value::Empty, Value::Quoted),
            Value::Count(group.members.len() as u64),
            Value::Count(group.n_instances),
            Value::Count(group.n_kernels),
            Value::Ns(group.time_ns),
            group
                .impact
                .map_or(Value::Empty, |impact| Value::Ns(impact.mid_ns)),
            Value::Text(group.confidence.label().to_owned()),
        ]
    });
    table.rows.extend(rows);
    (!table.rows.is_empty()).then_some(table)
}

/// A finding for each pattern that is worth one.
fn findings(input: &Input, groups: &[Group], kinds: &[StepKind], least_ns: f64) -> Vec<Finding> {
    let mut by_pattern: BTreeMap<Pattern, Vec<&Group>> = BTreeMap::new();
    for group in groups {
        by_pattern.entry(group.pattern).or_default().push(group);
    }
    let found = by_pattern.into_iter();
    found
        .filter_map(|(pattern, groups)| finding(input, pattern, &groups, kinds, least_ns))
        .collect()
}

fn finding(
    input: &Input,
    pattern: Pattern,
    groups: &[&Group],
    kinds: &[StepKind],
    least_ns: f64,
) -> Option<Finding> {
    let largest = *groups.first()?;
    let thresholds = &input.options.thresholds;
    let time_ns: i64 = groups.iter().map(|group| group.time_ns).sum();
    let impacts = groups.iter().filter_map(|group| group.impact);
    let impact = impacts.reduce(Impact::plus);
    let is_small = impact.is_some_and(|impact| {
        let high = impact.high_ns as f64;
        high < least_ns || high < thresholds.fusion_least_ms * 1e6
    });
    if (time_ns as f64) < least_ns || is_small || (impact.is_none() && input.gpu().is_some()) {
        return None;
    }
    let (savings, operations) = shares(groups);
    let n_kernels: u64 = groups.iter().map(|group| group.n_kernels).sum();
    let n_instances: u64 = groups.iter().map(|group| group.n_instances).sum();
    let place = match &largest.class {
        Some(class) => format!("`{}`", quotable(class)),
        None => "the code without recorded modules".to_owned(),
    };
    let others = match groups.len() {
        1 => String::new(),
        n => format!(" and {} other places", n - 1),
    };
    let worth = impact.map_or(String::new(), |impact| {
        format!(
            "; fused they would take {} less",
            format::time_ns(impact.mid_ns)
        )
    });
    let share = input
        .computation_ns()
        .map(|all| time_ns as f64 / all as f64 * 100.0);
    Some(Finding {
        pattern: pattern.key(),
        priority: match largest.confidence {
            Confidence::Low => Priority::Low,
            _ => pattern::priority(share, thresholds.high_percent_of_compute),
        },
        confidence: Some(largest.confidence),
        title: format!("{} in {} kernels", pattern.label(), largest.members.len()),
        issue: format!(
            "{} kernels in {} instances of the same steps, in {place}{others}, take {}{worth}.",
            format::count(n_kernels),
            format::count(n_instances),
            compute::time_and_share(time_ns, input),
        ),
        model: pattern.model().to_owned(),
        kernel: pattern.kernel().to_owned(),
        reasoning: reasoning(pattern, largest, kinds),
        operations,
        events: largest.first.clone(),
        time_ns,
        efficiency_percent: None,
        impact,
        savings,
        replay: None,
        tables: vec![kernel_table(input, largest, kinds)]
            .into_iter()
            .chain(candidate_table(
                &groups
                    .iter()
                    .map(|group| (*group).clone())
                    .collect::<Vec<_>>(),
            ))
            .collect(),
    })
}

/// How much of the saving comes from which operation, by its share of the time of its group; and
/// the operations, the longest first.
fn shares(groups: &[&Group]) -> (Vec<(usize, i64)>, Vec<usize>) {
    let mut saved: BTreeMap<usize, i64> = BTreeMap::new();
    let mut times: BTreeMap<usize, i64> = BTreeMap::new();
    for group in groups {
        for (&operation, &ns) in &group.operations {
            let all = times.entry(operation).or_default();
            *all = all.saturating_add(ns);
            let Some(impact) = group.impact else { continue };
            let share = ns as f64 / group.time_ns.max(1) as f64;
            let part = (impact.mid_ns as f64 * share).floor() as i64;
            let all = saved.entry(operation).or_default();
            *all = all.saturating_add(part);
        }
    }
    let mut operations: Vec<(usize, i64)> = times.into_iter().collect();
    operations.sort_by_key(|&(operation, ns)| (std::cmp::Reverse(ns), operation));
    let operations = operations.into_iter().map(|(operation, _)| operation);
    (saved.into_iter().collect(), operations.collect())
}

fn reasoning(pattern: Pattern, group: &Group, kinds: &[StepKind]) -> Vec<String> {
    let names = group.members.iter().filter_map(|(at, _)| kinds.get(*at));
    let names: Vec<String> = names
        .map(|kind| format!("`{}`", quotable(&kind.name)))
        .collect();
    let mut sentences = vec![format!(
        "The steps {} follow one another on one stream, and each takes a shape that one before it gives.",
        names.join(", ")
    )];
    if pattern == Pattern::SwiGlu {
        sentences.push(
            "A matrix product may run between them; its result is what the activation is multiplied with."
                .to_owned(),
        );
    }
    sentences.push(
        "Which tensors are the same is not in a trace: shapes, order and place speak for it."
            .to_owned(),
    );
    sentences.push(format!(
        "Confidence is {}: {}.",
        group.confidence.label(),
        pattern::why(group.confidence)
    ));
    if group.impact.is_some() {
        sentences.push(
            "The saving is what was measured less what one kernel would need to read the inputs, compute, and write the result."
                .to_owned(),
        );
    }
    sentences
}

fn kernel_table(input: &Input, group: &Group, kinds: &[StepKind]) -> Table {
    let mut table = Table::new(
        "kernels",
        format!(
            "The steps, all {} instances",
            format::count(group.n_instances)
        ),
        &[
            ("kernel", "Kernel"),
            ("type", "Type"),
            ("duration", "Duration"),
            ("perf_model", "Perf model"),
        ],
    );
    let profile = input.profile;
    let rows = group.members.iter().map(|&(at, ns)| {
        let operation = profile.operations().get(at);
        let kernels = operation.map(|operation| operation.kernels(profile));
        let longest = kernels.and_then(|kernels| kernels.first().copied());
        let kernel = longest.map(|(name, ..)| profile.trace.strings.get(name));
        let has_model = operation.is_some_and(|operation| operation.modelled.is_some());
        vec![
            kernel.map_or(Value::Empty, |name| {
                Value::Quoted(format::middle_ellipsis(name, 100))
            }),
            kinds
                .get(at)
                .map_or(Value::Empty, |kind| Value::Quoted(kind.name.clone())),
            Value::Ns(ns),
            Value::Flag(has_model),
        ]
    });
    table.rows.extend(rows);
    table
}

/// A name of the trace for a place between backticks.
fn quotable(name: &str) -> String {
    format::middle_ellipsis(&name.replace('`', "'"), 60)
}

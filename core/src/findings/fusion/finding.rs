//! The findings of chains: their words, their tables, what is saved of which operation.

use crate::findings::finding::Effect;
use std::collections::BTreeMap;

use super::super::finding::{Confidence, Finding, Impact, Priority};
use super::super::{Input, compute, run_time};
use super::Group;
use super::pattern::{self, Pattern};
use super::steps::StepKind;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::base::value::{Table, Value};

/// Candidates that a table names.
const MAX_CANDIDATES: usize = 12;

pub(super) fn candidate_table(groups: &[Group]) -> Option<Table> {
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
                .map_or(Value::NO_NS, |impact| Value::Ns(impact.mid_ns)),
            Value::Text(group.confidence.label().to_owned()),
        ]
    });
    table.rows.extend(rows);
    (!table.rows.is_empty()).then_some(table)
}

/// A finding for each pattern that is worth one.
pub(super) fn findings(
    input: &Input,
    groups: &[Group],
    kinds: &[StepKind],
    least_ns: f64,
) -> Vec<Finding> {
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
    let time_ns = sum(groups.iter().map(|group| group.time_ns));
    let impacts = groups.iter().filter_map(|group| group.impact);
    let impact = impacts.reduce(Impact::plus);
    let is_small = impact.is_some_and(|impact| {
        let high = impact.high_ns as f64;
        high < least_ns || high < thresholds.fusion_least_ms * 1e6
    });
    if (time_ns as f64) < least_ns || is_small || (impact.is_none() && input.gpu().is_some()) {
        return None;
    }
    let run_ns: i64 = groups.iter().map(|group| group.run_ns).sum();
    let (savings, operations) = shares(input, groups);
    let n_kernels: u64 = groups.iter().map(|group| group.n_kernels).sum();
    let n_instances: u64 = groups.iter().map(|group| group.n_instances).sum();
    let place = match &largest.class {
        Some(class) => format!("`{}`", quotable(class)),
        None => "the code without recorded modules".to_owned(),
    };
    let others = match groups.len() {
        1 => String::new(),
        n => format!(" and {}", format::counted(n as u64 - 1, "other place")),
    };
    let worth = impact.map_or(String::new(), |impact| {
        let what = if run_ns < time_ns { "the run" } else { "they" };
        format!(
            "; fused {what} would take {} less",
            format::time_ns(impact.mid_ns)
        )
    });
    // The product or norm itself is none of them.
    let behind = if pattern.is_epilogue() {
        " behind it"
    } else {
        ""
    };
    let share = input
        .computation_ns()
        .map(|all| time_ns as f64 / all as f64 * 100.0);
    let mut found = Finding {
        pattern: pattern.key(),
        priority: match largest.confidence {
            Confidence::Low => Priority::Low,
            _ => pattern::priority(share, thresholds.high_percent_of_compute),
        },
        confidence: Some(largest.confidence),
        title: format!(
            "{} in {} kernels",
            pattern.label(),
            largest.members.len() + usize::from(pattern.is_epilogue())
        ),
        issue: format!(
            "{}{behind} in {} of the same steps, in {place}{others}, {} {}{worth}.",
            format::counted(n_kernels, "kernel"),
            format::counted(n_instances, "instance"),
            if n_kernels == 1 { "takes" } else { "take" },
            compute::time_and_share(time_ns, input),
        ),
        model: pattern
            .model(&names(largest, kinds), largest.is_behind_batch_norm)
            .to_owned(),
        kernel: pattern.kernel().to_owned(),
        reasoning: reasoning(pattern, largest, kinds),
        operations,
        events: largest.first.clone(),
        time_ns,
        efficiency_percent: None,
        impact,
        savings,
        effect: Effect::KernelTime,
        apart: Vec::new(),
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
    };
    run_time::say(&mut found, run_ns);
    Some(found)
}

/// How much of the saving comes from which operation, by its share of the time of the run that its
/// group has; and the operations, the longest first.
fn shares(input: &Input, groups: &[&Group]) -> (Vec<(usize, i64)>, Vec<usize>) {
    let mut saved: BTreeMap<usize, i64> = BTreeMap::new();
    let mut times: BTreeMap<usize, i64> = BTreeMap::new();
    for group in groups {
        for (&operation, &ns) in &group.operations {
            let all = times.entry(operation).or_default();
            *all = all.saturating_add(ns);
            let Some(impact) = group.impact else { continue };
            let run_ns = run_time::of_operation(input, operation, ns);
            let share = run_ns as f64 / group.run_ns.max(1) as f64;
            let part = (impact.mid_ns as f64 * share).floor() as i64;
            let all = saved.entry(operation).or_default();
            *all = all.saturating_add(part);
        }
    }
    let mut operations: Vec<(usize, i64)> = times.into_iter().collect();
    operations.arrange_by_key(|&(operation, ns)| (std::cmp::Reverse(ns), operation));
    let operations = operations.into_iter().map(|(operation, _)| operation);
    (saved.into_iter().collect(), operations.collect())
}

/// The operators of a group, in order.
fn names<'a>(group: &Group, kinds: &'a [StepKind]) -> Vec<&'a str> {
    let kinds = group.members.iter().filter_map(|(at, _)| kinds.get(*at));
    kinds.map(|kind| kind.name.as_str()).collect()
}

fn reasoning(pattern: Pattern, group: &Group, kinds: &[StepKind]) -> Vec<String> {
    let names: Vec<String> = names(group, kinds)
        .into_iter()
        .map(|name| format!("`{}`", quotable(name)))
        .collect();
    let behind = match pattern {
        Pattern::GemmEpilogue => " right behind a matrix product",
        Pattern::NormEpilogue => " right behind a normalisation",
        _ => "",
    };
    let mut sentences = vec![match names.as_slice() {
        [one] => format!(
            "The step {one} follows{behind} on one stream, and takes the shape that it gives."
        ),
        _ => format!(
            "The steps {} follow one another{behind} on one stream, and each takes a shape that one before it gives.",
            names.join(", ")
        ),
    }];
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
        match group.n_instances {
            1 => "The steps of the one instance".to_owned(),
            n => format!("The steps, all {} instances", format::count(n)),
        },
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

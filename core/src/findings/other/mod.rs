//! What no other analysis looks at: look-ups and writes by index, recurrent layers, and the rest.
//!
//! Traffic between GPUs and memory copies belong to the pipeline as a whole; here they are only
//! counted.

mod class;
#[cfg(test)]
mod tests;

use super::compute::{Draft, Gate, by_gap, finding, is_bottleneck, is_wide, outcome};
use super::finding::{Finding, Impact};
use super::in_use::is_launched_by_graph;
use super::memory_bound::{
    NOT_SHOWN, are_large, called_from, is_launch_scale, operations_table, subject_and_time,
    time_ns, unmodelled,
};
use super::narrower::instead_of_32_bits;
use super::outcome::{Outcome, Row, Status};
use super::{ANALYSES, AnalysisKind, Input, Tier};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::base::value::Value;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::kernels::GpuEvents;
use crate::profile::operations::Operation;

pub(super) use class::Class;

/// Every operation that computes and that no other analysis of its tier covers.
pub(super) fn covers(profile: &Profile, operation: &Operation) -> bool {
    let is_computing = !matches!(operation.family, Family::MemoryCopy | Family::Communication);
    let is_taken = || {
        ANALYSES
            .iter()
            .filter(|kind| kind.tier == Tier::Compute && kind.key != "other")
            .any(|kind| (kind.covers)(profile, operation))
    };
    is_computing && !is_taken()
}

/// Whether an operation is looked at here whatever its family: what an index names, and recurrent
/// layers.
pub(super) fn claims(profile: &Profile, operation: &Operation) -> bool {
    Class::of(profile, operation) != Class::Miscellaneous
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    let class = |row: &Row| {
        let operation = input.profile.operations().get(row.operation);
        operation.map_or(Class::Miscellaneous, |operation| {
            Class::of(input.profile, operation)
        })
    };
    for row in &mut outcome.rows {
        row.class = class(row).label().to_owned();
    }
    let rows = outcome.rows.clone();
    let seen: Vec<(Class, &Row)> = rows.iter().map(|row| (class(row), row)).collect();
    facts(input, &mut outcome, &seen);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let gate = Gate {
        time_ms: input.options.thresholds.other_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    outcome.findings = findings(input, &seen, &gate);
    Ok(outcome)
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[(Class, &Row)]) {
    let count = |class: Class| {
        let rows = seen.iter().filter(|(known, _)| *known == class);
        Value::Count(rows.count() as u64)
    };
    outcome.fact("look_up_count", "Look-ups by index", count(Class::LookUp));
    outcome.fact("scatter_count", "Writes by index", count(Class::Scatter));
    outcome.fact(
        "recurrent_count",
        "Recurrent layers",
        count(Class::Recurrent),
    );
    outcome.fact(
        "miscellaneous_count",
        "Other operations",
        count(Class::Miscellaneous),
    );
    let (n_collectives, collectives_ns) = collectives(input);
    outcome.fact(
        "communication_count",
        "Kernels of collective communication (not analysed here)",
        Value::Count(n_collectives),
    );
    outcome.fact("communication", "Time in them", Value::Ns(collectives_ns));
    let of_graphs = input.operations().flat_map(|(_, operation, _)| {
        let work = operation.work();
        work.filter(|id| is_launched_by_graph(input.profile, *id))
    });
    let of_graphs: Vec<i64> = of_graphs
        .filter_map(|id| input.profile.gpu.get(id))
        .map(|work| work.span.length())
        .collect();
    let n = of_graphs.len() as u64;
    let ns = sum(of_graphs);
    outcome.fact(
        "graph_count",
        "Kernels launched as part of GPU graphs",
        Value::Count(n),
    );
    outcome.fact("graph", "Time in them", Value::Ns(ns));
    if n > 0 {
        outcome.notes.push(format!(
            "{} ({}) ran as part of GPU graphs: a graph launch records no operators, so their \
             shapes and their work are not known, and only their names tell what they are.",
            format::counted(n, "kernel"),
            format::time_ns(ns)
        ));
    }
}

/// Kernels of traffic between GPUs, and their time.
fn collectives(input: &Input) -> (u64, i64) {
    let events = input.profile.gpu_events(input.options.gpu_events);
    let by_name = input
        .profile
        .gpu
        .iter()
        .filter(|(_, work)| work.is_collective)
        .filter(|(_, work)| events == GpuEvents::All || work.launched_by.is_some())
        .map(|(_, work)| (1, work.span.length()));
    let by_operator = input
        .operations()
        .filter(|(_, operation, _)| operation.family == Family::Communication)
        .map(|(_, operation, _)| (operation.n_calls(), operation.kernel_ns));
    by_name
        .chain(by_operator)
        .fold((0, 0), |(n, all_ns): (u64, i64), (calls, ns)| {
            (n.saturating_add(calls), all_ns.saturating_add(ns))
        })
}

fn findings(input: &Input, seen: &[(Class, &Row)], gate: &Gate) -> Vec<Finding> {
    let long: Vec<(Class, &Row)> = seen
        .iter()
        .filter(|(_, row)| !row.is_anomaly && !is_launch_scale(input, row))
        .copied()
        .collect();
    let mut findings = Vec::new();
    let mut indexed: Vec<&Row> = of(&long, Class::LookUp);
    indexed.extend(of(&long, Class::Scatter));
    indexed.arrange_by_key(|row| (std::cmp::Reverse(row.time_ns), row.operation));
    let (sorted, indexed): (Vec<&Row>, Vec<&Row>) = indexed
        .into_iter()
        .partition(|row| sorting_ns(input, row) > 0);
    let (sorted, summed): (Vec<&Row>, Vec<&Row>) = sorted
        .into_iter()
        .partition(|row| sorting_ns(input, row) as f64 >= SORTING_SHARE * row.time_ns as f64);
    if are_large(input, &sorted, gate) {
        findings.extend(sorted_gradients(input, &sorted));
    }
    let slow: Vec<&Row> = summed
        .iter()
        .copied()
        .filter(|row| is_bottleneck(input, row, gate))
        .collect();
    for (_, _, rows) in by_gap(&slow) {
        findings.extend(summed_gradients(input, &rows));
    }
    let slow: Vec<&Row> = indexed
        .iter()
        .copied()
        .filter(|row| is_bottleneck(input, row, gate))
        .collect();
    let (writes, look_ups): (Vec<&Row>, Vec<&Row>) = slow
        .into_iter()
        .partition(|row| row.class == Class::Scatter.label());
    for (_, _, rows) in by_gap(&look_ups) {
        findings.extend(looked_up(input, &rows));
    }
    for (_, _, rows) in by_gap(&writes) {
        findings.extend(scattered(input, &rows));
    }
    let (recurrent, others) = (of(&long, Class::Recurrent), of(&long, Class::Miscellaneous));
    for rows in [&recurrent, &others] {
        let slow = rows.iter().copied();
        let slow: Vec<&Row> = slow.filter(|row| is_bottleneck(input, row, gate)).collect();
        for (bound, _, rows) in by_gap(&slow) {
            let what = match bound {
                Some(crate::hardware::roofline::Bound::Compute) => "compute_bound_gap",
                _ => "memory_bound_gap",
            };
            findings.extend(gap(input, what, &rows));
        }
    }
    let mut rest = recurrent;
    rest.extend(others);
    rest.extend(indexed);
    rest.extend(summed);
    rest.arrange_by_key(|row| (std::cmp::Reverse(row.time_ns), row.operation));
    findings.extend(unmodelled(input, &rest, gate, "operation"));
    findings
}

fn of<'a>(rows: &[(Class, &'a Row)], class: Class) -> Vec<&'a Row> {
    let rows = rows.iter().filter(|(known, _)| *known == class);
    rows.map(|(_, row)| *row).collect()
}

/// Sorting indices is what costs from this share of a gradient's time on.
const SORTING_SHARE: f64 = 0.25;

/// Time in kernels that sort the indices of a look-up.
fn sorting_ns(input: &Input, row: &Row) -> i64 {
    let Some(operation) = input.profile.operations().get(row.operation) else {
        return 0;
    };
    let strings = &input.profile.trace.strings;
    let kernels = operation.kernels(input.profile).into_iter();
    sum(kernels
        .filter(|(name, ..)| {
            let name = strings.get(*name).to_ascii_lowercase();
            ["sort", "krn_partial", "radix"]
                .iter()
                .any(|word| name.contains(word))
        })
        .map(|(.., ns)| ns))
}

/// Gradients of look-ups that spend much of their time sorting indices, so that equal ones are added
/// in a fixed order: at most that time is saved.
fn sorted_gradients(input: &Input, rows: &[&Row]) -> Option<Finding> {
    let sorting = sum(rows.iter().map(|row| sorting_ns(input, row)));
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(format!(
        "Kernels that sort take {} of it: the gradients of equal indices are then added in one \
         order each time. The other way is to add them as they come, with atomic operations.",
        format::time_ns(sorting)
    ));
    reasoning.push(
        "How often indices repeat is not recorded; it decides which way is faster.".to_owned(),
    );
    let mut found = finding(
        input,
        rows,
        true,
        Draft {
            pattern: "sorted_accumulation",
            title: "Gradients of look-ups that sort their indices".to_owned(),
            issue: format!(
                "{}, {} of it in sorting indices ({}).",
                subject_and_time(input, rows),
                format::percent(sorting as f64 / time_ns(rows).max(1) as f64 * 100.0),
                format::time_ns(sorting)
            ),
            model: "for embeddings sparse gradients or a fused embedding operation; for `index_put` with `accumulate` a `scatter_add` where the order of additions need not be fixed.".to_owned(),
            kernel: "compare with a kernel that adds with atomic operations for these indices, with the reproducer.".to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )?;
    if found.impact.is_some() {
        found.impact = Some(Impact::at_most(sorting));
        found.savings = rows
            .iter()
            .map(|row| {
                (
                    row.operation,
                    Impact::at_most(sorting_ns(input, row)).mid_ns,
                )
            })
            .collect();
    }
    Some(found)
}

/// What differs between findings about writes by index.
struct ByIndex<'a> {
    pattern: &'static str,
    title: &'a str,
    /// What is done, the end of a sentence.
    does: &'a str,
    /// What happens to rows of one index, in the middle of a sentence.
    repeated: &'a str,
    model: &'a str,
    kernel: &'a str,
}

/// Gradients of look-ups whose sums are slow, not the sorting before them.
fn summed_gradients(input: &Input, rows: &[&Row]) -> Option<Finding> {
    written_by_index(
        input,
        rows,
        ByIndex {
            pattern: "slow_look_up_gradient",
            title: "Gradients of look-ups far from the memory bandwidth",
            does: "it adds up the rows of equal indices",
            repeated: "rows of one index are added one after another",
            model: "for embeddings sparse gradients or a fused embedding operation, which touch the rows in use alone.",
            kernel: "compare with a kernel that adds with atomic operations for these indices, with the reproducer.",
        },
    )
}

/// Rows written to where an index says, or added up there.
fn scattered(input: &Input, rows: &[&Row]) -> Option<Finding> {
    written_by_index(
        input,
        rows,
        ByIndex {
            pattern: "slow_scatter",
            title: "Writes by index far from the memory bandwidth",
            does: "it writes to where an index says",
            repeated: "what goes to one place is added one after another",
            model: "where many rows go to one place, sort them by it once (compressed sparse rows) and sum up each segment; a mask or a slice needs no index.",
            kernel: "compare with a kernel that sums up sorted segments for these indices, with the reproducer.",
        },
    )
}

fn written_by_index(input: &Input, rows: &[&Row], words: ByIndex) -> Option<Finding> {
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(format!(
        "How often indices repeat is not recorded: {}, so that a few frequent ones hold the others up.",
        words.repeated
    ));
    reasoning.push(NOT_SHOWN.to_owned());
    finding(
        input,
        rows,
        true,
        Draft {
            pattern: words.pattern,
            title: words.title.to_owned(),
            issue: format!("{}; {}.", subject_and_time(input, rows), words.does),
            model: words.model.to_owned(),
            kernel: words.kernel.to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )
}

fn looked_up(input: &Input, rows: &[&Row]) -> Option<Finding> {
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(
        "Which rows are asked for is not recorded, so how scattered they are is not known."
            .to_owned(),
    );
    reasoning.push(NOT_SHOWN.to_owned());
    finding(
        input,
        rows,
        true,
        Draft {
            pattern: "slow_look_up",
            title: "Look-ups by index far from the memory bandwidth".to_owned(),
            issue: format!("{}; it moves rows that an index names.", subject_and_time(input, rows)),
            model: "look up once and keep the result, or merge neighbouring look-ups into one; a slice or a view needs no index.".to_owned(),
            kernel: "the memory bounds it: compare with the best element-wise operation of this trace; wide rows should come near it.".to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )
}

fn gap(input: &Input, pattern: &'static str, rows: &[&Row]) -> Option<Finding> {
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(NOT_SHOWN.to_owned());
    let is_recurrent = |row: &&Row| row.class == Class::Recurrent.label();
    let (title, model) = match rows.iter().all(is_recurrent) {
        true => (
            "Recurrent layers far from the roof",
            of_recurrent(input, rows),
        ),
        false => (
            "Other operations far from the roof",
            "see whether a fused or library operation does the same work for these shapes."
                .to_owned(),
        ),
    };
    finding(
        input,
        rows,
        false,
        Draft {
            pattern,
            title: title.to_owned(),
            issue: format!("{}.", subject_and_time(input, rows)),
            model,
            kernel: "have the kernel looked at with the reproducer.".to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )
}

/// The library's operator is in use: the type is left, and how much a step of the sequence has to do.
fn of_recurrent(input: &Input, rows: &[&Row]) -> String {
    let batch = "larger batches: the steps of a sequence follow one another, and each has the rows of a batch alone";
    let is_wide = rows.iter().any(|row| {
        let judged = input.judged.get(row.operation);
        let spec = judged.and_then(|judged| judged.work?.compute);
        spec.is_some_and(is_wide)
    });
    match is_wide {
        true => format!("{}; {batch}.", instead_of_32_bits(input, rows)),
        false => format!("{batch}."),
    }
}

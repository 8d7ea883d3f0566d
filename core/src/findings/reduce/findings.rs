//! What is found of reductions.

use super::super::Input;
use super::super::compute::{Draft, Gate, by_gap, finding, is_bottleneck};
use super::super::finding::{Finding, Impact};
use super::super::memory_bound::{
    NOT_SHOWN, are_large, called_from, is_launch_scale, operations_table, subject_and_time,
};
use super::super::outcome::Row;
use super::Seen;
use super::kind::{Advice, Kind};
use crate::base::format;

/// What the name and the arguments of a reduction show. The first that fits names a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Strided,
    FewResults,
    Softmax,
    Sorting,
    Selection,
    Compaction,
}

const PATTERNS: [Pattern; 6] = [
    Pattern::Strided,
    Pattern::FewResults,
    Pattern::Softmax,
    Pattern::Sorting,
    Pattern::Selection,
    Pattern::Compaction,
];

/// What reductions and softmax usually reach, in percent of the roof.
const USUAL_PERCENT: (f64, f64) = (50.0, 70.0);

impl Seen<'_> {
    fn has(&self, input: &Input, pattern: Pattern) -> bool {
        match pattern {
            Pattern::Softmax => self.kind == Kind::Softmax,
            Pattern::Sorting => self.kind == Kind::Sorting,
            Pattern::Selection => self.kind == Kind::Selection,
            Pattern::Compaction => self.kind == Kind::Compaction,
            Pattern::Strided => self.axis.is_some_and(|axis| axis.is_strided == Some(true)),
            Pattern::FewResults => {
                let ratio = input.options.thresholds.reduce_ratio;
                let units = input.n_units();
                self.axis.zip(units).is_some_and(|(axis, units)| {
                    axis.results < f64::from(units) && axis.elements >= ratio * axis.results
                })
            }
        }
    }
}

pub(super) fn findings(input: &Input, seen: &[Seen], gate: &Gate) -> Vec<Finding> {
    let mut left: Vec<&Seen> = seen
        .iter()
        .filter(|seen| is_bottleneck(input, seen.row, gate) && !is_launch_scale(input, seen.row))
        .collect();
    let mut findings = Vec::new();
    for pattern in PATTERNS {
        let (with, without): (Vec<&Seen>, Vec<&Seen>) =
            left.iter().partition(|seen| seen.has(input, pattern));
        left = without;
        findings.extend(named(input, pattern, &with));
    }
    let mut by_advice: Vec<(Advice, Vec<&Seen>)> = Vec::new();
    for seen in left {
        let advice = seen.kind.advice();
        match by_advice.iter_mut().find(|(known, _)| *known == advice) {
            Some((_, all)) => all.push(seen),
            None => by_advice.push((advice, vec![seen])),
        }
    }
    for (advice, seen) in by_advice {
        findings.extend(gaps(input, advice, &seen, gate));
    }
    findings
}

/// Reductions of no pattern, by what bounds them and how far they are from it.
fn gaps(input: &Input, advice: Advice, seen: &[&Seen], gate: &Gate) -> Vec<Finding> {
    let rows: Vec<&Row> = seen.iter().map(|seen| seen.row).collect();
    let is_plain = seen.iter().all(|seen| seen.kind.is_plain());
    let mut findings = Vec::new();
    for (_, _, rows) in by_gap(&rows) {
        if !are_large(input, &rows, gate) {
            continue;
        }
        let found = finding(
            input,
            &rows,
            false,
            Draft {
                pattern: "memory_bound_gap",
                title: advice.title.to_owned(),
                issue: format!("{}.", subject_and_time(input, &rows)),
                model: advice.model.to_owned(),
                kernel: advice.kernel.to_owned(),
                reasoning: reasoning(input, &rows, None),
                tables: vec![operations_table(input, &rows)],
            },
        );
        findings.extend(found.map(|found| match is_plain {
            true => worth(found, &rows, usual),
            false => found,
        }));
    }
    findings
}

/// Whether a reduction picks one of its elements, so that there is nothing to sum up.
fn chooses(input: &Input, seen: &Seen) -> bool {
    let operation = input.profile.operations().get(seen.row.operation);
    let name = operation.map_or("", |operation| operation.short_name(input.profile));
    let name = name.rsplit("::").next().unwrap_or(name);
    let word = name.split('_').next().unwrap_or(name);
    [
        "argmax", "argmin", "max", "min", "amax", "amin", "any", "all",
    ]
    .contains(&word)
}

fn named(input: &Input, pattern: Pattern, seen: &[&Seen]) -> Option<Finding> {
    let first = seen.first()?;
    let rows: Vec<&Row> = seen.iter().map(|seen| seen.row).collect();
    let figures = subject_and_time(input, &rows);
    let (key, title, issue, model, kernel) = match pattern {
        Pattern::Strided => (
            "strided_reduction",
            "Reductions across the order of memory",
            format!("{figures}; it reduces a dimension that is not the innermost one in memory."),
            "reduce the innermost dimension where the model is free to choose, or create the tensor in the layout that is reduced.",
            "have a kernel for this layout (several columns at a time) compared with this one.",
        ),
        Pattern::FewResults => (
            "few_results",
            "Reductions with fewer results than compute units",
            format!(
                "{figures}; {} for {} elements.",
                format::counted(first.axis.map_or(0, |axis| axis.results as u64), "result"),
                format::count(first.axis.map_or(0, |axis| axis.elements as u64))
            ),
            match chooses(input, first) {
                true => "reduce several tensors, or more rows, in one call.",
                false => {
                    "reduce several tensors in one call, or sum up where the values are produced."
                }
            },
            "a reduction in two stages spreads few results over the whole GPU: check that this one does.",
        ),
        Pattern::Softmax => (
            "softmax_below_bandwidth",
            "Softmax far from the memory bandwidth",
            format!("{figures}."),
            match seen.iter().any(|seen| seen.may_be_attention) {
                true => {
                    "where it belongs to attention, `torch.nn.functional.scaled_dot_product_attention` never writes its input to memory; elsewhere fuse it with the scaling and masking before it."
                }
                false => {
                    "fuse it with the loss that reads it and the product before it (`torch.compile`, or a fused cross entropy)."
                }
            },
            first.kind.advice().kernel,
        ),
        Pattern::Sorting => (
            "sorting",
            "Sorting",
            format!("{figures}; sorting reads its keys several times."),
            "where an order of all is not needed ask for the largest k (`topk`), sort once and keep the result, or use a fused sampling operation.",
            "compare it with other sorts for these sizes.",
        ),
        Pattern::Selection => (
            "selection",
            "Selecting the largest values",
            format!("{figures}; a selection reads its values several times."),
            "select among fewer values where a part of them is enough, or take an operation that selects inside of what follows (sampling, the routing of experts).",
            "compare it with other selections for this length of rows: short rows are sorted fastest, long ones split over several blocks.",
        ),
        Pattern::Compaction => (
            "compaction",
            "Results as large as the values say",
            format!(
                "{figures}; all values are looked through before it is known how large the result is."
            ),
            "where a mask is enough keep all places (`torch.where`, a product with the mask), and keep a result that is asked for again: the host waits to learn how large it is.",
            "compare it with other implementations for these sizes.",
        ),
    };
    let found = finding(
        input,
        &rows,
        true,
        Draft {
            pattern: key,
            title: title.to_owned(),
            issue,
            model: model.to_owned(),
            kernel: kernel.to_owned(),
            reasoning: reasoning(input, &rows, Some(pattern)),
            tables: vec![operations_table(input, &rows)],
        },
    )?;
    let has = |is: fn(Kind) -> bool| seen.iter().all(|seen| is(seen.kind));
    Some(if has(Kind::takes_passes) {
        worth(found, &rows, |row| Some(Impact::heuristic(row.time_ns)))
    } else if has(Kind::is_plain) {
        worth(found, &rows, usual)
    } else {
        found
    })
}

/// What a row wins at the efficiency that such kernels usually reach.
fn usual(row: &Row) -> Option<Impact> {
    let roof_ns = row.time_ns as f64 * row.efficiency_percent? / 100.0;
    let (low, high) = USUAL_PERCENT;
    Some(Impact::of_band(row.time_ns, roof_ns, low, high))
}

/// A finding that is worth what its rows are.
fn worth(mut found: Finding, rows: &[&Row], of: impl Fn(&Row) -> Option<Impact>) -> Finding {
    let impacts: Vec<(usize, Impact)> = rows
        .iter()
        .filter_map(|row| Some((row.operation, of(row)?)))
        .collect();
    found.impact = impacts
        .iter()
        .map(|(_, impact)| *impact)
        .reduce(Impact::plus);
    found.savings = impacts
        .into_iter()
        .map(|(operation, impact)| (operation, impact.mid_ns))
        .collect();
    found
}

fn reasoning(input: &Input, rows: &[&Row], pattern: Option<Pattern>) -> Vec<String> {
    let mut sentences: Vec<String> = called_from(input, rows).into_iter().collect();
    match pattern {
        Some(Pattern::FewResults) => sentences.push(
            "How the kernel splits its input over the GPU is not recorded; its shapes say that the \
             results alone cannot keep all compute units busy."
                .to_owned(),
        ),
        Some(Pattern::Sorting | Pattern::Selection | Pattern::Compaction) => sentences.push(
            "Its efficiency is that of reading and writing once, which it cannot reach: how many \
             passes it takes hangs on the algorithm and the values, so that the saving is a rule \
             of thumb."
                .to_owned(),
        ),
        _ => {}
    }
    sentences.push(NOT_SHOWN.to_owned());
    sentences
}

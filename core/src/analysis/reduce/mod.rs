//! Work along an axis: softmax, sums, extremes, pooling, losses, sorting.

mod axis;
#[cfg(test)]
mod tests;

use super::compute::{Draft, Gate, by_gap, finding, is_bottleneck, outcome};
use super::finding::Finding;
use super::memory_bound::{
    NOT_SHOWN, are_large, called_from, is_launch_scale, launch_scale_note, n_calls,
    operations_table, subject_and_time, time_ns, unmodelled,
};
use super::outcome::{Outcome, Row, Status};
use super::value::Value;
use super::{AnalysisKind, Input};
use crate::category::Family;
use crate::format;
use axis::Axis;

/// Kinds of reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Softmax,
    Loss,
    Pooling,
    Sorting,
    Scan,
    Mean,
    Sum,
    Extreme,
    Norm,
    Other,
}

impl Kind {
    /// By the name of the operator, or of the kernel that stands for itself; the first that fits.
    fn of(name: &str) -> Kind {
        const WORDS: &[(&str, Kind)] = &[
            ("softmax", Kind::Softmax),
            ("logsumexp", Kind::Softmax),
            ("loss", Kind::Loss),
            ("cross_entropy", Kind::Loss),
            ("crossentropy", Kind::Loss),
            ("pool", Kind::Pooling),
            ("topk", Kind::Sorting),
            ("top_k", Kind::Sorting),
            ("sort", Kind::Sorting),
            ("kthvalue", Kind::Sorting),
            ("unique", Kind::Sorting),
            ("nonzero", Kind::Sorting),
            ("cumsum", Kind::Scan),
            ("cumprod", Kind::Scan),
            ("scan", Kind::Scan),
            ("mean", Kind::Mean),
            ("var", Kind::Mean),
            ("std", Kind::Mean),
            ("norm", Kind::Norm),
            ("sum", Kind::Sum),
            ("max", Kind::Extreme),
            ("min", Kind::Extreme),
        ];
        let name = name.to_ascii_lowercase();
        let word = WORDS.iter().find(|(word, _)| name.contains(word));
        word.map_or(Kind::Other, |(_, kind)| *kind)
    }

    /// For people.
    fn label(self) -> &'static str {
        match self {
            Kind::Softmax => "softmax",
            Kind::Loss => "loss",
            Kind::Pooling => "pooling",
            Kind::Sorting => "sorting",
            Kind::Scan => "running sum",
            Kind::Mean => "mean or variance",
            Kind::Sum => "sum",
            Kind::Extreme => "maximum or minimum",
            Kind::Norm => "vector norm",
            Kind::Other => "other",
        }
    }
}

/// What the arguments of a reduction show. The first that fits names a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Softmax,
    Sorting,
    Strided,
    FewResults,
}

struct Seen<'a> {
    row: &'a Row,
    kind: Kind,
    axis: Option<Axis>,
    /// Whether it is a softmax as attention has it, not that of a loss.
    may_be_attention: bool,
}

impl Seen<'_> {
    fn has(&self, input: &Input, pattern: Pattern) -> bool {
        match pattern {
            Pattern::Softmax => self.kind == Kind::Softmax,
            Pattern::Sorting => self.kind == Kind::Sorting,
            Pattern::Strided => self.axis.is_some_and(|axis| axis.is_strided == Some(true)),
            Pattern::FewResults => {
                let ratio = input.options.thresholds.reduce_ratio;
                let units = input.gpu().and_then(|gpu| gpu.n_sms);
                self.axis.zip(units).is_some_and(|(axis, units)| {
                    axis.results < f64::from(units) && axis.elements >= ratio * axis.results
                })
            }
        }
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    for row in &mut outcome.rows {
        let operation = input.profile.operations().get(row.operation);
        let name = operation.map_or("", |operation| operation.short_name(input.profile));
        row.class = Kind::of(name).label().to_owned();
    }
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .filter_map(|row| {
            let operation = input.profile.operations().get(row.operation)?;
            let name = operation.short_name(input.profile);
            Some(Seen {
                row,
                kind: Kind::of(name),
                axis: Axis::of(input, operation),
                may_be_attention: may_be_attention(name),
            })
        })
        .collect();
    facts(input, &mut outcome, &seen);
    let gate = Gate {
        time_ms: input.options.thresholds.reduce_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    outcome.findings = findings(input, &seen, &gate);
    let all: Vec<&Row> = rows.iter().collect();
    outcome
        .findings
        .extend(unmodelled(input, &all, &gate, "reduction"));
    outcome.notes.extend(launch_scale_note(input, &rows));
    Ok(outcome)
}

/// Attention takes the softmax itself; its logarithm belongs to a loss.
fn may_be_attention(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has = |word: &str| name.contains(word);
    has("softmax") && !has("log_softmax") && !has("logsoftmax")
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    let softmax: Vec<&Row> = seen
        .iter()
        .filter(|seen| seen.kind == Kind::Softmax)
        .map(|seen| seen.row)
        .collect();
    let sorting: Vec<&Row> = seen
        .iter()
        .filter(|seen| seen.kind == Kind::Sorting)
        .map(|seen| seen.row)
        .collect();
    let bandwidth = input.gpu().map(|gpu| gpu.mem_bw_gbps);
    outcome.fact(
        "softmax_count",
        "Softmax operations",
        Value::Count(softmax.len() as u64),
    );
    outcome.fact("softmax", "Time in softmax", Value::Ns(time_ns(&softmax)));
    outcome.fact("sorting", "Time in sorting", Value::Ns(time_ns(&sorting)));
    outcome.fact(
        "peak_hbm_bw",
        "Memory bandwidth",
        bandwidth.map_or(Value::NO_GBPS, Value::GbPerS),
    );
    let strings = &input.profile.trace.strings;
    let has_batched = input.operations().any(|(_, operation, _)| {
        operation.family == Family::Gemm
            && ["bmm", "matmul"]
                .iter()
                .any(|word| strings.get(operation.key.name).contains(word))
    });
    let scores: Vec<&Row> = seen
        .iter()
        .filter(|seen| seen.may_be_attention)
        .map(|seen| seen.row)
        .collect();
    if has_batched && !scores.is_empty() {
        outcome.notes.push(format!(
            "Softmax runs on its own ({}, {}) in a trace with batched matrix products: a sign of \
             attention that is not fused. Whether it is, the analysis of attention says.",
            format::counted(n_calls(&scores), "call"),
            format::time_ns(time_ns(&scores))
        ));
    }
}

fn findings(input: &Input, seen: &[Seen], gate: &Gate) -> Vec<Finding> {
    const NAMED: [Pattern; 4] = [
        Pattern::Strided,
        Pattern::FewResults,
        Pattern::Softmax,
        Pattern::Sorting,
    ];
    let mut left: Vec<&Seen> = seen
        .iter()
        .filter(|seen| is_bottleneck(input, seen.row, gate) && !is_launch_scale(input, seen.row))
        .collect();
    let mut findings = Vec::new();
    for pattern in NAMED {
        let (with, without): (Vec<&Seen>, Vec<&Seen>) =
            left.iter().partition(|seen| seen.has(input, pattern));
        left = without;
        findings.extend(named(input, pattern, &with));
    }
    let rows: Vec<&Row> = left.iter().map(|seen| seen.row).collect();
    for (_, _, rows) in by_gap(&rows) {
        if !are_large(input, &rows, gate) {
            continue;
        }
        findings.extend(finding(
            input,
            &rows,
            false,
            Draft {
                pattern: "memory_bound_gap",
                title: "Reductions far from the memory bandwidth".to_owned(),
                issue: format!("{}.", subject_and_time(input, &rows)),
                model: "fuse it with what produces its input (`torch.compile`): the input is then reduced while it is written.".to_owned(),
                kernel: "reductions usually reach 50 to 70 % of the memory bandwidth: have the split of these shapes over the GPU looked at with the reproducer.".to_owned(),
                reasoning: reasoning(input, &rows, None),
                tables: vec![operations_table(input, &rows)],
            },
        ));
    }
    findings
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
            "reduce several tensors in one call, or sum up where the values are produced.",
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
            "softmax usually reaches 50 to 70 % of the memory bandwidth: have this row length compared in other implementations with the reproducer.",
        ),
        Pattern::Sorting => (
            "sorting",
            "Sorting",
            format!("{figures}; sorting reads its keys several times."),
            "ask for the largest k (`topk`) instead of an order of all, sort once and keep the result, or use a fused sampling operation.",
            "compare it with other sorts for these sizes; one pass over the memory is not its roof.",
        ),
    };
    finding(
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
    )
}

fn reasoning(input: &Input, rows: &[&Row], pattern: Option<Pattern>) -> Vec<String> {
    let mut sentences: Vec<String> = called_from(input, rows).into_iter().collect();
    match pattern {
        Some(Pattern::FewResults) => sentences.push(
            "How the kernel splits its input over the GPU is not recorded; its shapes say that the \
             results alone cannot keep all compute units busy."
                .to_owned(),
        ),
        Some(Pattern::Sorting) => sentences.push(
            "Its efficiency is that of reading and writing once: what a sort needs beyond, its \
             arguments do not tell."
                .to_owned(),
        ),
        _ => {}
    }
    sentences.push(NOT_SHOWN.to_owned());
    sentences
}

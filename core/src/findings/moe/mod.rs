//! Mixtures of experts: choosing experts, sorting tokens by them, and their products.
//!
//! How many tokens each expert got is not in a trace. Where a GPU holds all experts operations are
//! exact all the same, as each token goes to the same number of experts; of experts spread over
//! several GPUs they are the share that comes with even choices, as the bytes of weights are
//! everywhere.

#[cfg(test)]
mod tests;

use super::compute::{
    Draft, Gate, at_efficiency, by_gap, efficiency, finding, is_bottleneck, outcome, time_and_share,
};
use super::finding::Finding;
use super::memory_bound::{
    NOT_SHOWN, are_large, called_from, is_launch_scale, n_calls, operations_table, subject,
    subject_and_time, time_ns, unmodelled,
};
use super::narrower::less_arithmetic;
use super::outcome::{Outcome, Row, Status};
use super::{AnalysisKind, Input};
use crate::base::format;
use crate::base::value::Value;
use crate::hardware::Precision;
use crate::hardware::roofline::Bound;
use crate::profile::operations::Operation;

/// Parts of a layer of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Chooses experts: gate, router.
    Routing,
    /// Sorts, aligns, gathers and adds up tokens.
    Sorting,
    /// The first or second product of experts in a kernel of its own.
    Unfused,
    /// All of the experts in one operation.
    Fused,
}

impl Part {
    /// By name and label.
    fn of(name: &str, label: &str) -> Part {
        const WORDS: &[(&str, Part)] = &[
            ("gemm1", Part::Unfused),
            ("gemm2", Part::Unfused),
            ("stage1", Part::Unfused),
            ("stage2", Part::Unfused),
            ("_up", Part::Unfused),
            ("_down", Part::Unfused),
            ("gating", Part::Routing),
            ("gate_", Part::Routing),
            ("router", Part::Routing),
            ("routing", Part::Routing),
            ("topk", Part::Routing),
            ("top_k", Part::Routing),
            ("sort", Part::Sorting),
            ("align", Part::Sorting),
            ("permute", Part::Sorting),
            ("scatter", Part::Sorting),
            ("gather", Part::Sorting),
            ("expandinputrows", Part::Sorting),
            ("finalize", Part::Sorting),
            ("moe_sum", Part::Sorting),
            ("buildexpertmaps", Part::Sorting),
            ("computestrides", Part::Sorting),
            ("bitmatrix", Part::Sorting),
            ("writeback_idx", Part::Sorting),
            ("reorder_triton", Part::Sorting),
            ("src2dst", Part::Sorting),
            ("masked_m_", Part::Sorting),
            ("shuffleinputrows", Part::Sorting),
            ("problem_sizes", Part::Sorting),
        ];
        let lower = name.to_ascii_lowercase();
        let word = WORDS.iter().find(|(word, _)| lower.contains(word));
        match (label, word) {
            ("MoE_unfused", _) => Part::Unfused,
            ("MoE_fused", _) => Part::Fused,
            (_, Some((_, part))) => *part,
            ("MoE_aux", None) => Part::Sorting,
            (_, None) => Part::Fused,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Part::Routing => "routing",
            Part::Sorting => "sorting of tokens",
            Part::Unfused => "experts, unfused",
            Part::Fused => "experts, fused",
        }
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let part = |row: &Row| {
        let operation = input.profile.operations().get(row.operation)?;
        let name = operation.short_name(input.profile);
        Some(Part::of(name, operation.key.label))
    };
    for row in &mut outcome.rows {
        row.class = part(row).map_or("", Part::label).to_owned();
    }
    let rows = outcome.rows.clone();
    let parts: Vec<(Part, &Row)> = rows
        .iter()
        .filter_map(|row| Some((part(row)?, row)))
        .collect();
    let of = |wanted: &[Part]| -> Vec<&Row> {
        let parts = parts.iter().filter(|(part, _)| wanted.contains(part));
        parts.map(|(_, row)| *row).collect()
    };
    let around = of(&[Part::Routing, Part::Sorting]);
    facts(input, &mut outcome, &of);
    let gate = Gate {
        time_ms: input.options.thresholds.moe_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    let unfused = of(&[Part::Unfused]);
    outcome.findings.extend(two_kernels(input, &unfused, &gate));
    // Where the products of experts are told as products, of what routing is a part is not known.
    let experts = of(&[Part::Fused, Part::Unfused]);
    outcome.findings.extend(match experts.is_empty() {
        true => routing_alone(input, &around, &gate),
        false => routing(input, &around, &gate).into_iter().collect(),
    });
    outcome
        .findings
        .extend(gaps(input, &of(&[Part::Fused]), &gate));
    outcome.findings.extend(unmodelled(
        input,
        &of(&[Part::Fused]),
        &gate,
        "kernel of experts",
    ));
    if rows.iter().any(|row| row.efficiency_percent.is_some()) {
        outcome.notes.push(EVENLY.to_owned());
    }
    outcome.notes.push(
        "How many tokens each expert got, and how well the routing spreads them, is not in a trace."
            .to_owned(),
    );
    Ok(outcome)
}

/// What bytes of experts rest on.
const EVENLY: &str = "Bytes are an average: they are those of the experts that are chosen when \
                      tokens choose evenly. So are operations where experts are spread over several \
                      GPUs; where one holds all of them they are exact.";

fn facts<'a>(input: &Input, outcome: &mut Outcome, of: &impl Fn(&[Part]) -> Vec<&'a Row>) {
    let count = |part: Part| Value::Count(of(&[part]).len() as u64);
    let without_model = outcome.rows.iter().filter(|row| {
        let judged = input.judged.get(row.operation);
        judged.is_none_or(|judged| judged.work.is_none())
    });
    let without_model = Value::Count(without_model.count() as u64);
    let around = time_ns(&of(&[Part::Routing, Part::Sorting]));
    outcome.fact("fused_count", "Fused experts", count(Part::Fused));
    outcome.fact(
        "unfused_count",
        "Experts in separate products",
        count(Part::Unfused),
    );
    outcome.fact("routing_count", "Routing operations", count(Part::Routing));
    outcome.fact(
        "sorting_count",
        "Operations that sort tokens",
        count(Part::Sorting),
    );
    outcome.fact(
        "routing_and_sorting",
        "Time in routing and sorting",
        Value::Ns(around),
    );
    outcome.fact(
        "missing_perf_model_count",
        "Operations of unknown work",
        without_model,
    );
    let bandwidth = input.gpu().map(|gpu| gpu.mem_bw_gbps);
    outcome.fact(
        "peak_hbm_bw",
        "Memory bandwidth",
        bandwidth.map_or(Value::NO_GBPS, Value::GbPerS),
    );
}

/// Experts whose two products are kernels of their own.
fn two_kernels(input: &Input, rows: &[&Row], gate: &Gate) -> Option<Finding> {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| !row.is_anomaly).collect();
    if !are_large(input, &rows, gate) {
        return None;
    }
    let mut reasoning: Vec<String> = called_from(input, &rows).into_iter().collect();
    reasoning.push(
        "The first product writes what the second reads; a fused kernel keeps it on the chip."
            .to_owned(),
    );
    reasoning.push(EVENLY.to_owned());
    finding(
        input,
        &rows,
        true,
        Draft {
            pattern: "unfused_experts",
            title: "Experts in separate products".to_owned(),
            issue: format!("{}; its products are kernels of their own.", subject_and_time(input, &rows)),
            model: "use a fused operation for the experts, where the serving engine or library has one for these types.".to_owned(),
            kernel: "tune tiles of both products for these numbers of tokens with the reproducer.".to_owned(),
            reasoning,
            tables: vec![operations_table(input, &rows)],
        },
    )
}

/// Routing and sorting that take a good part of the layer.
fn routing(input: &Input, rows: &[&Row], gate: &Gate) -> Option<Finding> {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| !row.is_anomaly).collect();
    let share: f64 = rows.iter().map(|row| row.percent_of_category).sum();
    if share <= input.options.thresholds.moe_routing_percent || !are_large(input, &rows, gate) {
        return None;
    }
    let mut reasoning: Vec<String> = called_from(input, &rows).into_iter().collect();
    reasoning.push(format!(
        "It is {} in {}; which of it the model needs, a trace does not show.",
        format::counted(rows.len() as u64, "operation"),
        format::counted(n_calls(&rows), "call")
    ));
    finding(
        input,
        &rows,
        true,
        Draft {
            pattern: "routing_overhead",
            title: "Routing and sorting of tokens".to_owned(),
            issue: format!(
                "Choosing experts and sorting tokens takes {}{}, {} of the time of the experts' layers; the longest is {}.",
                time_and_share(time_ns(&rows), input),
                at_efficiency(efficiency(&rows)),
                format::percent(share),
                subject(input, rows.get(..1).unwrap_or_default())
            ),
            model: match is_fused_routing(input, &rows) {
                true => "larger batches of tokens: kernels that choose experts in one step run already.",
                false => "use fused routing (softmax, top-k and sorting in one kernel), and larger batches of tokens.",
            }
            .to_owned(),
            kernel: match rows.iter().all(|row| is_launch_scale(input, row)) {
                true => "these kernels are short; merging them counts for more than tuning them.",
                false => "have the longest of these kernels compared with other implementations for these numbers of tokens and experts, with the reproducer.",
            }
            .to_owned(),
            reasoning,
            tables: vec![operations_table(input, &rows)],
        },
    )
}

/// Whether softmax, bias or groups and the choice of experts are one kernel for most of the time of
/// what chooses them.
fn is_fused_routing(input: &Input, rows: &[&Row]) -> bool {
    const WORDS: &[&str] = &[
        "fused",
        "topk_softmax",
        "topkgating",
        "topk_gating",
        "grouped_topk",
    ];
    let name = |row: &Row| {
        let operation = input.profile.operations().get(row.operation);
        operation.map(|operation| operation.short_name(input.profile).to_ascii_lowercase())
    };
    let is_fused =
        |row: &Row| name(row).is_some_and(|name| WORDS.iter().any(|word| name.contains(word)));
    let chooses = |row: &&Row| row.class == Part::Routing.label();
    let choosing: Vec<&Row> = rows.iter().copied().filter(chooses).collect();
    let fused: Vec<&Row> = choosing
        .iter()
        .copied()
        .filter(|row| is_fused(row))
        .collect();
    time_ns(&fused) > time_ns(&choosing) / 2
}

/// Routing and sorting by themselves: what is far from the roof, and what nothing is known of.
fn routing_alone(input: &Input, rows: &[&Row], gate: &Gate) -> Vec<Finding> {
    let mut findings = unmodelled(input, rows, gate, "routing or sorting");
    findings.extend(slow_routing(input, rows, gate));
    findings
}

fn slow_routing(input: &Input, rows: &[&Row], gate: &Gate) -> Option<Finding> {
    let rows: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| is_bottleneck(input, row, gate) && !is_launch_scale(input, row))
        .collect();
    let mut reasoning: Vec<String> = called_from(input, &rows).into_iter().collect();
    reasoning.push(NOT_SHOWN.to_owned());
    finding(
        input,
        &rows,
        false,
        Draft {
            pattern: "slow_routing",
            title: "Routing and sorting of tokens far from the roof".to_owned(),
            issue: format!("{}.", subject_and_time(input, &rows)),
            model: "choose experts for larger batches of tokens at once.".to_owned(),
            kernel: "have it compared with other implementations for these numbers of tokens and experts, with the reproducer.".to_owned(),
            reasoning,
            tables: vec![operations_table(input, &rows)],
        },
    )
}

/// Fused experts that are far from the roof.
fn gaps(input: &Input, rows: &[&Row], gate: &Gate) -> Vec<Finding> {
    let slow: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| is_bottleneck(input, row, gate) && !is_launch_scale(input, row))
        .collect();
    by_gap(&slow)
        .into_iter()
        .filter_map(|(bound, _, rows)| gap(input, bound, &rows))
        .collect()
}

fn gap(input: &Input, bound: Option<Bound>, rows: &[&Row]) -> Option<Finding> {
    let are_narrow = rows.iter().any(|row| is_narrow(input, row));
    let (pattern, title, model, kernel) = match bound {
        Some(Bound::Compute) => (
            "compute_bound_gap",
            "Compute-bound experts far from the roof",
            match less_arithmetic(input, rows).filter(|_| !are_narrow) {
                Some(narrower) => format!("{narrower}, and larger batches of tokens."),
                None => "larger batches of tokens, so that the last tile of each expert is full."
                    .to_owned(),
            },
            "tune tile sizes for these numbers of tokens for each expert with the reproducer.",
        ),
        _ => (
            "memory_bound_gap",
            "Memory-bound experts far from the roof",
            "batch more tokens: each weight that is read then serves more of them.".to_owned(),
            "have the fused kernel for these numbers of tokens looked at with the reproducer.",
        ),
    };
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(EVENLY.to_owned());
    finding(
        input,
        rows,
        false,
        Draft {
            pattern,
            title: title.to_owned(),
            issue: format!("{}.", subject_and_time(input, rows)),
            model,
            kernel: kernel.to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )
}

/// Whether the products are in eight bits or fewer already.
fn is_narrow(input: &Input, row: &Row) -> bool {
    let judged = input.judged.get(row.operation);
    let spec = judged.and_then(|judged| judged.work?.compute);
    let by_type = spec.is_some_and(|spec| {
        use Precision::{Fp4, Fp6, Fp8, Int8};
        matches!(spec.precision, Fp4 | Fp6 | Fp8 | Int8)
    });
    let name = |operation: &Operation| operation.short_name(input.profile).to_ascii_lowercase();
    let operation = input.profile.operations().get(row.operation);
    let by_name = operation.map(name).is_some_and(|name| {
        ["fp8", "fp4", "int8", "int4", "mxfp", "w4a", "w8a8"]
            .iter()
            .any(|word| name.contains(word))
    });
    by_type || by_name
}

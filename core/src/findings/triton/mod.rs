//! Kernels that `torch.compile` generated. Their names say which operators they merged.

#[cfg(test)]
mod tests;

use super::compute::{
    Draft, Gate, at_efficiency, by_gap, efficiency, finding, is_bottleneck, outcome, time_and_share,
};
use super::finding::Finding;
use super::in_use::InGraphs;
use super::memory_bound::{
    called_from, gbps, is_launch_scale, n_calls, operations_table, short_name, small_kernels,
    subject_and_time, time_ns, unmodelled,
};
use super::outcome::{Outcome, Row, Status};
use super::{AnalysisKind, Input};
use crate::base::format;
use crate::base::value::{Table, Value};
use crate::hardware::roofline::Bound;
use crate::perf::fused_ops;

/// What kind of loop a kernel is, by the beginning of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    Pointwise,
    Reduction,
    Persistent,
    Template,
    Other,
}

impl Loop {
    const ALL: [(Loop, &'static str, &'static str); 5] = [
        (Loop::Pointwise, "pointwise_count", "Pointwise kernels"),
        (Loop::Reduction, "reduction_count", "Reductions"),
        (
            Loop::Persistent,
            "persistent_count",
            "Persistent reductions",
        ),
        (Loop::Template, "template_count", "Templates of products"),
        (Loop::Other, "other_count", "Other kernels"),
    ];

    fn of(name: &str) -> Loop {
        const STARTS: &[(&str, Loop)] = &[
            ("triton_poi_", Loop::Pointwise),
            ("triton_for_", Loop::Pointwise),
            ("triton_red_", Loop::Reduction),
            ("triton_spl_", Loop::Reduction),
            ("triton_per_", Loop::Persistent),
            ("triton_tem_", Loop::Template),
            ("triton_mm", Loop::Template),
        ];
        let start = STARTS.iter().find(|(start, _)| name.starts_with(start));
        start.map_or(Loop::Other, |(_, kind)| *kind)
    }

    fn label(self) -> &'static str {
        match self {
            Loop::Pointwise => "pointwise",
            Loop::Reduction => "reduction",
            Loop::Persistent => "persistent reduction",
            Loop::Template => "template",
            Loop::Other => "other",
        }
    }
}

struct Seen<'a> {
    row: &'a Row,
    name: &'a str,
    kind: Loop,
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    for row in &mut outcome.rows {
        let operation = input.profile.operations().get(row.operation);
        let name = operation.map_or("", |operation| operation.short_name(input.profile));
        row.class = Loop::of(name).label().to_owned();
    }
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .filter_map(|row| {
            let operation = input.profile.operations().get(row.operation)?;
            let name = operation.short_name(input.profile);
            Some(Seen {
                row,
                name,
                kind: Loop::of(name),
            })
        })
        .collect();
    facts(input, &mut outcome, &seen);
    outcome.tables.push(table(input, &seen));
    outcome.findings = findings(input, &seen);
    Ok(outcome)
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    for (kind, key, label) in Loop::ALL {
        let n = seen.iter().filter(|seen| seen.kind == kind).count();
        outcome.fact(key, label, Value::Count(n as u64));
    }
    let bound_by = |bound| {
        let rows = seen.iter().filter(|seen| seen.row.bound == Some(bound));
        Value::Count(rows.count() as u64)
    };
    outcome.fact(
        "compute_bound_count",
        "Bound by arithmetic",
        bound_by(Bound::Compute),
    );
    outcome.fact(
        "memory_bound_count",
        "Bound by the memory",
        bound_by(Bound::Memory),
    );
    let bandwidth = input.gpu().map(|gpu| gpu.mem_bw_gbps);
    outcome.fact(
        "peak_hbm_bw",
        "Memory bandwidth",
        bandwidth.map_or(Value::NO_GBPS, Value::GbPerS),
    );
}

/// The longest kernels with what they merged.
fn table(input: &Input, seen: &[Seen]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 15;
    let mut table = Table::new(
        "fusions",
        "What the longest kernels merge",
        &[
            ("kernel", "Kernel"),
            ("kind", "Kind"),
            ("fused", "Merged operators"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("bandwidth", "Bandwidth"),
            ("efficiency", "Of the roof"),
        ],
    );
    table.rows = seen
        .iter()
        .take(MAX_ROWS)
        .filter_map(|seen| {
            let operation = input.profile.operations().get(seen.row.operation)?;
            let ops = fused_ops(seen.name);
            Some(vec![
                Value::Quoted(short_name(input, operation)),
                Value::Text(seen.kind.label().to_owned()),
                match ops.is_empty() {
                    true => Value::Empty,
                    false => Value::Quoted(ops.join(", ")),
                },
                Value::Count(seen.row.n_calls),
                Value::Ns(seen.row.time_ns),
                gbps(input, seen.row).map_or(Value::NO_GBPS, Value::GbPerS),
                Value::percent(seen.row.efficiency_percent),
            ])
        })
        .collect();
    table
}

/// "It merges `add`, `mean` and `rsqrt`."
fn merged(seen: &Seen) -> Option<String> {
    /// More names make a sentence unreadable.
    const MAX_OPS: usize = 8;
    let ops = fused_ops(seen.name);
    let n_more = ops.len().saturating_sub(MAX_OPS);
    let mut names: Vec<String> = ops
        .iter()
        .take(MAX_OPS)
        .map(|op| format!("`{op}`"))
        .collect();
    if n_more > 0 {
        names.push(format!("{n_more} more"));
    }
    let last = names.pop()?;
    Some(match names.is_empty() {
        true => format!("The longest holds {last} alone."),
        false => format!("The longest merges {} and {last}.", names.join(", ")),
    })
}

fn findings(input: &Input, seen: &[Seen]) -> Vec<Finding> {
    let thresholds = &input.options.thresholds;
    let gate = Gate {
        time_ms: thresholds.triton_gate_ms,
        efficiency_percent: thresholds.gate_efficiency_percent,
    };
    let mut findings = Vec::new();
    let (short, long): (Vec<&Seen>, Vec<&Seen>) = seen
        .iter()
        .filter(|seen| !seen.row.is_anomaly)
        .partition(|seen| is_launch_scale(input, seen.row));
    findings.extend(narrow(input, &short));
    let bottlenecks: Vec<&Seen> = long
        .iter()
        .copied()
        .filter(|seen| is_bottleneck(input, seen.row, &gate))
        .collect();
    let (reductions, others): (Vec<&Seen>, Vec<&Seen>) =
        bottlenecks.into_iter().partition(|seen| {
            let is_slow = seen
                .row
                .efficiency_percent
                .is_some_and(|percent| percent < thresholds.triton_slow_percent);
            is_slow && matches!(seen.kind, Loop::Reduction | Loop::Persistent)
        });
    findings.extend(slow(
        input,
        &reductions,
        "slow_reduction_fusion",
        "Generated norms and reductions that read slowly",
        "write the reduction along the innermost dimension, or let `torch.compile` choose among more variants (`mode=\"max-autotune\"`).",
        "below 30 % of the roof compare the block sizes and the number of warps of a generated reduction; `TORCHINDUCTOR_BENCHMARK_KERNEL=1` makes generated kernels programs that measure themselves.",
    ));
    let rows: Vec<&Row> = others.iter().map(|seen| seen.row).collect();
    for (_, _, rows) in by_gap(&rows) {
        let group: Vec<&Seen> = others
            .iter()
            .copied()
            .filter(|seen| rows.iter().any(|row| row.operation == seen.row.operation))
            .collect();
        findings.extend(slow(
            input,
            &group,
            "memory_bound_gap",
            "Generated kernels far from the roof",
            "recompile with `mode=\"max-autotune\"`; make inputs contiguous, so that the generated loops read memory in order.",
            "compare block sizes and number of warps for these sizes; `TORCHINDUCTOR_BENCHMARK_KERNEL=1` makes generated kernels programs that measure themselves.",
        ));
    }
    let rows: Vec<&Row> = long.iter().map(|seen| seen.row).collect();
    findings.extend(unmodelled(input, &rows, &gate, "generated kernel"));
    findings
}

fn slow(
    input: &Input,
    seen: &[&Seen],
    pattern: &'static str,
    title: &str,
    model: &str,
    kernel: &str,
) -> Option<Finding> {
    let rows: Vec<&Row> = seen.iter().map(|seen| seen.row).collect();
    let mut reasoning: Vec<String> = called_from(input, &rows).into_iter().collect();
    reasoning.extend(seen.first().and_then(|seen| merged(seen)));
    reasoning
        .push("A trace does not show why a kernel is slow: a hardware profiler does.".to_owned());
    finding(
        input,
        &rows,
        pattern == "slow_reduction_fusion",
        Draft {
            pattern,
            title: title.to_owned(),
            issue: format!("{}.", subject_and_time(input, &rows)),
            model: model.to_owned(),
            kernel: kernel.to_owned(),
            reasoning,
            tables: vec![operations_table(input, &rows)],
        },
    )
}

/// Many short kernels. Those of GPU graphs are launched as cheaply as can be: where they are short,
/// there is little data.
fn narrow(input: &Input, seen: &[&Seen]) -> Option<Finding> {
    /// A kernel that merges more operators is a whole norm or activation.
    const FEW_OPS: usize = 2;
    let is_in_graph = |seen: &&&Seen| InGraphs::of(input, &[seen.row]) == InGraphs::All;
    let (replayed, seen): (Vec<&Seen>, Vec<&Seen>) = seen.iter().partition(is_in_graph);
    let rows: Vec<&Row> = seen.iter().map(|seen| seen.row).collect();
    let mut reasoning: Vec<String> = called_from(input, &rows).into_iter().collect();
    reasoning.extend(seen.first().and_then(|seen| merged(seen)));
    let merge_little = seen
        .iter()
        .all(|seen| fused_ops(seen.name).len() <= FEW_OPS);
    small_kernels(
        input,
        &rows,
        Draft {
            pattern: "narrow_fusions",
            title: "Many short generated kernels".to_owned(),
            issue: format!(
                "{} of {} take {}{}{}.",
                format::counted(n_calls(&rows), "call"),
                format::counted(rows.len() as u64, "generated kernel"),
                time_and_share(time_ns(&rows), input),
                at_efficiency(efficiency(&rows)),
                if merge_little { ": each merges little" } else { "" }
            ),
            model: match replayed.is_empty() {
                true => "look for graph breaks that keep `torch.compile` from merging across them, and replay the kernels as GPU graphs (`mode=\"reduce-overhead\"`).",
                false => "look for graph breaks that keep `torch.compile` from merging across them, and replay as GPU graphs also these kernels, which are launched one by one.",
            }
            .to_owned(),
            kernel: "nothing to tune in kernels about as short as their launch; their number is the cost.".to_owned(),
            reasoning,
            tables: vec![operations_table(input, &rows)],
        },
    )
}

//! What is found of element-wise operations.

use super::super::Input;
use super::super::compute::{
    Draft, Gate, at_efficiency, by_gap, efficiency, finding, is_bottleneck, time_and_share,
};
use super::super::finding::{Finding, Priority};
use super::super::in_use::{InGraphs, has_convolutions};
use super::super::memory_bound::{
    NOT_SHOWN, are_large, arguments, called_from, is_launch_scale, n_calls, operations_table,
    removable, small_kernels, subject, subject_and_time, time_ns, unmodelled,
};
use super::super::narrower::sixteen_bit;
use super::super::outcome::Row;
use super::super::run_time::are_held;
use super::bandwidth::Baseline;
use super::group::could_be_dense;
use super::{Group, optimizer};
use crate::base::format;
use crate::perf::{element_bytes, is_integer_type};

/// A row with its group.
type Grouped<'a> = (Group, &'a Row);

pub(super) fn findings(input: &Input, baseline: &Baseline, rows: &[(Group, &Row)]) -> Vec<Finding> {
    let gate = Gate {
        time_ms: input.options.thresholds.elementwise_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    let mut findings = Vec::new();
    let (short, long): (Vec<Grouped>, Vec<Grouped>) = rows
        .iter()
        .filter(|(_, row)| !row.is_anomaly)
        .partition(|(group, row)| match group {
            Group::Optimizer => optimizer::has_short_kernels(input, row),
            _ => is_launch_scale(input, row),
        });
    let of = |group: Group| -> Vec<&Row> {
        let rows = long.iter().filter(|(known, _)| *known == group);
        rows.map(|(_, row)| *row).collect()
    };
    let (both, layout): (Vec<&Row>, Vec<&Row>) = of(Group::Layout)
        .into_iter()
        .partition(|row| copied_types(input, row).is_some_and(|[to, from]| to != from));
    if are_large(input, &layout, &gate) {
        findings.extend(layout_copies(input, &layout));
    }
    if are_large(input, &both, &gate) {
        findings.extend(layout_and_type(input, &both));
    }
    let (whole, casts): (Vec<&Row>, Vec<&Row>) = of(Group::Cast).into_iter().partition(|row| {
        let types = copied_types(input, row);
        types.is_some_and(|types| types.into_iter().any(is_integer_type))
    });
    if are_large(input, &casts, &gate) {
        findings.extend(conversions(input, &casts));
    }
    if are_large(input, &whole, &gate) {
        findings.extend(conversions_of_numbers(input, &whole));
    }
    let others: Vec<(Group, &Row)> = long
        .iter()
        .filter(|(group, _)| !matches!(group, Group::Layout | Group::Cast))
        .copied()
        .collect();
    let (lists, plain): (Vec<Grouped>, Vec<Grouped>) = others
        .iter()
        .partition(|(group, _)| *group == Group::Optimizer);
    findings.extend(gaps(input, baseline, &plain, &gate));
    let single: Vec<&Row> = plain.iter().map(|(_, row)| *row).collect();
    findings.extend(optimizer::large_one_by_one(input, &single, &gate));
    let others: Vec<&Row> = others.iter().map(|(_, row)| *row).collect();
    findings.extend(unmodelled(input, &others, &gate, "element-wise operation"));
    let (short_lists, short): (Vec<Grouped>, Vec<Grouped>) = short
        .iter()
        .partition(|(group, _)| *group == Group::Optimizer);
    findings.extend(optimizer::lists(input, &lists, &short_lists, &gate));
    let (steps, short): (Vec<&Row>, Vec<&Row>) = optimizer::split_steps(input, &short);
    findings.extend(optimizer::one_by_one(input, &steps));
    findings.extend(short_kernels(input, &short));
    findings
}

/// The types of target and source of a copy.
fn copied_types<'a>(input: &Input<'a>, row: &Row) -> Option<[&'a str; 2]> {
    let operation = input.profile.operations().get(row.operation)?;
    let arguments = arguments(input, operation)?;
    Some([arguments.tensor(0)?.dtype, arguments.tensor(1)?.dtype])
}

fn layout_copies(input: &Input, rows: &[&Row]) -> Option<Finding> {
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(
        "The strides of source and target order their dimensions differently: each element is \
         moved, none is computed."
            .to_owned(),
    );
    reasoning.push(
        "What needs the new order is not recorded; the next operation that reads the result tells."
            .to_owned(),
    );
    removable(
        input,
        rows,
        Draft {
            pattern: "layout_copies",
            title: "Copies into another layout".to_owned(),
            issue: format!(
                "{} only {} the order of dimensions in memory: {}{}.",
                subject(input, rows),
                if rows.len() == 1 { "changes" } else { "change" },
                time_and_share(time_ns(rows), input),
                at_efficiency(efficiency(rows))
            ),
            model: format!(
                "drop `contiguous()` and `permute` where the consumer takes strides, or keep one layout{} from end to end.",
                if has_convolutions(input) {
                    " (for convolutions channels-last)"
                } else {
                    ""
                }
            ),
            kernel:
                "where the copy must stay, have a tiled transpose kernel compared with this one."
                    .to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )
}

/// Copies that change both: a conversion in one order is as fast as the memory, so the rest of their
/// time is the price of the order.
fn layout_and_type(input: &Input, rows: &[&Row]) -> Option<Finding> {
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(
        "The saving is what they take beyond a conversion in one order at the roof; where the type \
         stays as well, the copy is not needed at all."
            .to_owned(),
    );
    finding(
        input,
        rows,
        true,
        Draft {
            pattern: "layout_and_type_copies",
            title: "Copies into another layout and type".to_owned(),
            issue: format!(
                "{} {} the order of dimensions in memory and the type at once: {}{}.",
                subject(input, rows),
                if rows.len() == 1 { "changes" } else { "change" },
                time_and_share(time_ns(rows), input),
                at_efficiency(efficiency(rows))
            ),
            model: "keep one layout from end to end, and the type that the consumer wants from the first: `contiguous()` and `permute` are not needed where the consumer takes strides.".to_owned(),
            kernel: "have a tiled transpose kernel that converts as it writes compared with this one."
                .to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )
}

/// Whole numbers and flags that become fractions, or the other way: no setting of the model's type
/// spares that.
fn conversions_of_numbers(input: &Input, rows: &[&Row]) -> Option<Finding> {
    let is_widened = rows.iter().all(|row| {
        let sizes = copied_types(input, row).map(|types| types.map(element_bytes));
        sizes.is_some_and(|[to, from]| to > from)
    });
    let model = match is_widened {
        true => {
            "leave the data narrow and convert where it is used: with `torch.compile` the operation behind it reads the narrow type itself. What is used several times is converted once and kept."
        }
        false => {
            "let `torch.compile` merge the conversion with its neighbours, or keep the result where the same elements are converted again."
        }
    };
    let kernel =
        "let the consumer read the type as it is; the conversion then costs nothing of its own.";
    let title = "Conversions of whole numbers or flags";
    conversion(input, rows, title, model.to_owned(), kernel)
}

fn conversions(input: &Input, rows: &[&Row]) -> Option<Finding> {
    let model = format!(
        "keep tensors in the type that their consumer wants (weights in {}, autocast around whole blocks), or let `torch.compile` merge the conversion with its neighbours.",
        sixteen_bit(input)
    );
    let kernel =
        "let the producer write the wanted type; the conversion then costs nothing of its own.";
    conversion(input, rows, "Conversions between types", model, kernel)
}

/// What all conversions have in common.
fn conversion(
    input: &Input,
    rows: &[&Row],
    title: &str,
    model: String,
    kernel: &str,
) -> Option<Finding> {
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(
        "Source and target differ in type alone; the same elements are read and written again."
            .to_owned(),
    );
    removable(
        input,
        rows,
        Draft {
            pattern: "type_conversions",
            title: title.to_owned(),
            issue: format!(
                "{} only {} elements to another type: {}{}.",
                subject(input, rows),
                if rows.len() == 1 {
                    "converts"
                } else {
                    "convert"
                },
                time_and_share(time_ns(rows), input),
                at_efficiency(efficiency(rows))
            ),
            model,
            kernel: kernel.to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )
}

/// Whether operands are of several types, or do not lie densely.
fn is_uneven(input: &Input, row: &Row) -> bool {
    let operation = input.profile.operations().get(row.operation);
    let arguments = operation.and_then(|operation| arguments(input, operation));
    arguments.is_none_or(|arguments| could_be_dense(&arguments))
}

/// Large and far from the roof: slow kernels apart from those that fusion helps most, and plain
/// operations apart from both when even they are slow.
fn gaps(input: &Input, baseline: &Baseline, rows: &[(Group, &Row)], gate: &Gate) -> Vec<Finding> {
    let thresholds = &input.options.thresholds;
    let bottlenecks: Vec<(Group, &Row)> = rows
        .iter()
        .filter(|(_, row)| is_bottleneck(input, row, gate))
        .copied()
        .collect();
    let is_slow = |gbps: Option<f64>| {
        let percent = gbps.and_then(|gbps| baseline.percent(gbps));
        percent.is_some_and(|percent| percent < thresholds.baseline_slow_percent)
    };
    // What some plain operations of the trace reach, others could.
    let is_baseline_slow =
        is_slow(baseline.mean_gbps) && is_slow(baseline.demonstrated.map(|one| one.gbps));
    let (plain, others): (Vec<Grouped>, Vec<Grouped>) = bottlenecks
        .into_iter()
        .partition(|(group, _)| is_baseline_slow && *group == Group::Baseline);
    let (uneven, others): (Vec<Grouped>, Vec<Grouped>) = others
        .into_iter()
        .partition(|(group, _)| *group == Group::Uneven);
    let uneven: Vec<&Row> = uneven.into_iter().map(|(_, row)| row).collect();
    let plain: Vec<&Row> = plain.into_iter().map(|(_, row)| row).collect();
    let others: Vec<&Row> = others.into_iter().map(|(_, row)| row).collect();
    let mut findings = Vec::new();
    findings.extend(finding(
        input,
        &plain,
        true,
        Draft {
            pattern: "slow_baseline",
            title: "Even plain copies and sums are slow".to_owned(),
            issue: format!("{}, though it does nothing but read and write.", subject_and_time(input, &plain)),
            model: "larger tensors, or fusion with neighbours, where the shapes allow.".to_owned(),
            kernel: "check clocks, power limit and what else uses the memory, then the kernel: nothing simpler exists to compare with.".to_owned(),
            reasoning: reasoning(input, baseline, &plain),
            tables: vec![operations_table(input, &plain)],
        },
    ));
    findings.extend(finding(
        input,
        &uneven,
        true,
        Draft {
            pattern: "uneven_operands",
            title: "Sums and products of stretched or reordered operands".to_owned(),
            issue: format!("{}; an operand is stretched to the shape of the result, or lies in another order.", subject_and_time(input, &uneven)),
            model: "bring the operand into the order of the others once, where it is made, or let `torch.compile` write one kernel for the chain.".to_owned(),
            kernel: "operands that differ are read element by element: try a kernel that reads them in tiles.".to_owned(),
            reasoning: reasoning(input, baseline, &uneven),
            tables: vec![operations_table(input, &uneven)],
        },
    ));
    for (_, _, rows) in by_gap(&others) {
        let is_slow =
            efficiency(&rows).is_some_and(|percent| percent < thresholds.elementwise_slow_percent);
        let (pattern, title, model, kernel) = match is_slow {
            true => (
                "slow_elementwise_kernel",
                "Element-wise kernels far below the memory bandwidth",
                match rows.iter().any(|row| is_uneven(input, row)) {
                    true => {
                        "make operands contiguous and of one type, or let `torch.compile` write one kernel for the chain."
                    }
                    false => "let `torch.compile` write one kernel for the chain.",
                },
                "an element-wise kernel should come near the bandwidth: compare it with the fastest one of this trace, and try wider loads.",
            ),
            false => (
                "memory_bound_gap",
                "Element-wise operations that fusion would spare",
                "fuse it with its producer or consumer (`torch.compile`, or a fused operation): fusing usually halves what is read and written.",
                "compare it with the fastest element-wise kernel of this trace.",
            ),
        };
        findings.extend(finding(
            input,
            &rows,
            false,
            Draft {
                pattern,
                title: title.to_owned(),
                issue: format!("{}.", subject_and_time(input, &rows)),
                model: model.to_owned(),
                kernel: kernel.to_owned(),
                reasoning: reasoning(input, baseline, &rows),
                tables: vec![operations_table(input, &rows)],
            },
        ));
    }
    findings
}

fn reasoning(input: &Input, baseline: &Baseline, rows: &[&Row]) -> Vec<String> {
    let mut sentences: Vec<String> = called_from(input, rows).into_iter().collect();
    if let Some(best) = baseline.demonstrated {
        let share = baseline
            .percent(best.gbps)
            .map_or(String::new(), |percent| {
                format!(
                    " ({} of what the memory gives at most)",
                    format::percent(percent)
                )
            });
        sentences.push(format!(
            "Large simple operations of this trace reach {}{share}.",
            format::bandwidth_gbps(best.gbps)
        ));
    }
    sentences.push(NOT_SHOWN.to_owned());
    sentences
}

fn short_kernels(input: &Input, rows: &[&Row]) -> Option<Finding> {
    // Graphs launch their kernels as cheaply as can be. Those of the framework could be merged; those
    // of serving engines are what was merged.
    let could_be_merged = |row: &&&Row| {
        let operation = input.profile.operations().get(row.operation);
        let name = operation.map_or("", |operation| operation.short_name(input.profile));
        name.contains("at::native") || InGraphs::of(input, &[row]) == InGraphs::None
    };
    let rows: Vec<&Row> = rows.iter().filter(could_be_merged).copied().collect();
    let rows = rows.as_slice();
    let in_graphs = InGraphs::of(input, rows);
    let mut found = small_kernels(
        input,
        rows,
        Draft {
            pattern: "many_small_kernels",
            title: "Many short element-wise kernels".to_owned(),
            issue: format!(
                "{} of element-wise operations take {} each on average: {}{}.",
                format::counted(n_calls(rows), "call"),
                format::time_ns(time_ns(rows) / i64::try_from(n_calls(rows).max(1)).unwrap_or(i64::MAX)),
                time_and_share(time_ns(rows), input),
                at_efficiency(efficiency(rows))
            ),
            model: match in_graphs {
                InGraphs::None if are_held(input, rows.iter().map(|row| row.operation)) => "merge neighbours into fewer kernels (`torch.compile`, operations on lists of tensors, larger batches), or replay them as one GPU graph.",
                InGraphs::Some => "merge neighbours into fewer kernels (`torch.compile`, operations on lists of tensors, larger batches), or replay as GPU graphs also those that are launched one by one.",
                // A graph only makes launches cheap, and these come in time.
                InGraphs::None | InGraphs::All => "merge neighbours into fewer kernels (`torch.compile`, operations on lists of tensors, larger batches).",
            }
            .to_owned(),
            kernel: "nothing to tune in kernels about as short as their launch; their number is the cost.".to_owned(),
            reasoning: {
                let mut sentences: Vec<String> = called_from(input, rows).into_iter().collect();
                sentences.push(match in_graphs {
                    InGraphs::All => "They run as part of GPU graphs, which launch them as cheaply as can be: they are short because there is little data.",
                    _ => "What is won at most is all that their work would not take at the roof; how much of it is launching, a trace does not show.",
                }.to_owned());
                sentences
            },
            tables: vec![operations_table(input, rows)],
        },
    )?;
    if in_graphs == InGraphs::All {
        found.priority = Priority::Low;
    }
    Some(found)
}

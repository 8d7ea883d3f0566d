//! What is found of optimizers: steps that treat one parameter after another, steps in list kernels of
//! which each does a part, and lists that are far from the roof.

use super::super::Input;
use super::super::compute::{
    Draft, Gate, at_efficiency, by_gap, efficiency, finding, is_bottleneck, time_and_share,
};
use super::super::finding::{Finding, Impact};
use super::super::memory_bound::{
    NOT_SHOWN, are_large, called_from, n_calls, operations_table, small_kernels, small_kernels_of,
    subject, subject_and_time, time_ns,
};
use super::super::outcome::Row;
use super::Group;
use crate::base::format;
use crate::base::sort::Arrange;
use crate::names::host_calls::FUSED_OPTIMIZERS;
use crate::trace::{Category, EventId, TrackId};

/// Operators that a step of an optimizer consists of when it treats one parameter after another.
const STEP_OPS: &[&str] = &[
    "aten::add_",
    "aten::mul_",
    "aten::mul",
    "aten::add",
    "aten::addcmul_",
    "aten::addcdiv_",
    "aten::addcdiv",
    "aten::lerp_",
    "aten::sqrt",
    "aten::div",
    "aten::div_",
    "aten::copy_",
    "aten::maximum",
    "aten::sub_",
    "aten::square",
    "aten::pow",
];

/// What only optimizers call, parameter by parameter.
const TELLING: &[&str] = &["aten::addcmul_", "aten::addcdiv_", "aten::addcdiv"];

/// Parts of a step of Adam on lists.
const ADAM_LISTS: &[&str] = &[
    "aten::_foreach_add",
    "aten::_foreach_add_",
    "aten::_foreach_addcdiv_",
    "aten::_foreach_addcmul_",
    "aten::_foreach_div_",
    "aten::_foreach_lerp_",
    "aten::_foreach_mul_",
    "aten::_foreach_sqrt",
    "aten::_foreach_sqrt_",
    "aten::_foreach_sub",
];

/// Short kernels of optimizer steps that treat one parameter after another, and the others. Told
/// by the range around the call that PyTorch names "Optimizer.step#…"; without any such range in
/// training by operators that nothing else uses.
pub(super) fn split_steps<'a>(
    input: &Input,
    rows: &[(Group, &'a Row)],
) -> (Vec<&'a Row>, Vec<&'a Row>) {
    let rows = rows.iter().map(|(_, row)| *row);
    let (candidates, mut others): (Vec<&Row>, Vec<&Row>) =
        rows.partition(|row| STEP_OPS.contains(&name(input, row)));
    let ranges = match candidates.is_empty() {
        true => Vec::new(),
        false => step_ranges(input),
    };
    let is_training = !candidates.is_empty() && input.is_training();
    let is_step = |row: &&Row| match ranges.is_empty() {
        true => is_training && TELLING.contains(&name(input, row)),
        false => is_within(input, row, &ranges),
    };
    let (steps, rest): (Vec<&Row>, Vec<&Row>) = candidates.into_iter().partition(is_step);
    others.extend(rest);
    others.arrange_by_key(|row| (std::cmp::Reverse(row.time_ns), row.operation));
    (steps, others)
}

/// A step of an optimizer: its name, track, start and end.
#[derive(Debug, Clone, Copy)]
struct Step<'a> {
    name: &'a str,
    track: TrackId,
    start_ns: i64,
    end_ns: i64,
}

impl<'a> Step<'a> {
    /// Its class: "AdamW" of "AdamW.step".
    fn optimizer(&self) -> &'a str {
        self.name.split('.').next().unwrap_or_default()
    }
}

/// The ranges that PyTorch writes around steps.
fn step_ranges<'a>(input: &Input<'a>) -> Vec<Step<'a>> {
    let (events, strings) = (&input.profile.trace.events, &input.profile.trace.strings);
    let is_range = |event: &EventId| {
        let category = events.category(*event);
        matches!(category, Category::UserAnnotation | Category::CpuOp)
    };
    events
        .ids()
        .filter(is_range)
        .filter_map(|event| {
            Some(Step {
                name: strings
                    .get(events.name(event))
                    .strip_prefix("Optimizer.step#")?,
                track: events.track(event),
                start_ns: events.ts_ns(event),
                end_ns: events.end_ns(event),
            })
        })
        .collect()
}

/// Whether the first call of a row is in one of some steps.
fn is_within(input: &Input, row: &Row, steps: &[Step]) -> bool {
    let events = &input.profile.trace.events;
    let operation = input.profile.operations().get(row.operation);
    let first = operation.and_then(|operation| operation.first());
    first.is_some_and(|call| {
        let (at, track) = (events.ts_ns(call.event), events.track(call.event));
        let mut steps = steps.iter();
        steps.any(|step| step.track == track && (step.start_ns..step.end_ns).contains(&at))
    })
}

fn name<'a>(input: &Input<'a>, row: &Row) -> &'a str {
    let operation = input.profile.operations().get(row.operation);
    operation.map_or("", |operation| {
        input.profile.trace.strings.get(operation.key.name)
    })
}

/// Steps that treat one parameter after another.
pub(super) fn one_by_one(input: &Input, rows: &[&Row]) -> Option<Finding> {
    small_kernels(
        input,
        rows,
        Draft {
            pattern: "optimizer_not_fused",
            title: "An optimizer that steps one parameter after another".to_owned(),
            issue: format!(
                "{} of a few microseconds update parameters one by one: {}{}.",
                format::counted(n_calls(rows), "call"),
                time_and_share(time_ns(rows), input),
                at_efficiency(efficiency(rows))
            ),
            model: together(&step_ranges(input)).to_owned(),
            kernel: "nothing to tune in kernels this short; their number is the cost.".to_owned(),
            reasoning: vec![format!(
                "The longest is {}.",
                subject(input, rows.get(..1).unwrap_or_default())
            )],
            tables: vec![operations_table(input, rows)],
        },
    )
}

/// How the parameters of an optimizer are stepped together: not all of them have an option for it.
fn together(steps: &[Step]) -> &'static str {
    const LISTS: &[&str] = &[
        "ASGD", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
    ];
    let all_in = |known: &[&str]| {
        let mut names = steps.iter().map(Step::optimizer);
        names.all(|name| known.contains(&name))
    };
    if all_in(FUSED_OPTIMIZERS) {
        "construct the optimizer with `fused=True`, or `foreach=True`: one kernel then updates many parameters."
    } else if all_in(LISTS) {
        "construct the optimizer with `foreach=True`: one kernel then updates many parameters."
    } else {
        "step on lists of parameters (`torch._foreach_add_` and its like), or compile the step with `torch.compile`: one kernel then updates many parameters."
    }
}

/// Whether the kernels of a row are so short that launching them takes about as long. A call on a
/// list launches a kernel for as many tensors as fit, and may be long all the same.
pub(super) fn has_short_kernels(input: &Input, row: &Row) -> bool {
    let mean_us = row.time_ns as f64 / 1e3 / n_kernels(input, &[row]).max(1) as f64;
    mean_us < input.options.thresholds.short_kernel_us
}

fn n_kernels(input: &Input, rows: &[&Row]) -> u64 {
    let operations = rows
        .iter()
        .filter_map(|row| input.profile.operations().get(row.operation));
    operations
        .map(|operation| operation.work().count() as u64)
        .sum()
}

/// Operations on lists of tensors: long ones, and those of short kernels.
pub(super) fn lists(
    input: &Input,
    long: &[(Group, &Row)],
    short: &[(Group, &Row)],
    gate: &Gate,
) -> Vec<Finding> {
    let all: Vec<&Row> = long.iter().chain(short).map(|(_, row)| *row).collect();
    let parts = adam_in_parts(input, &all, gate, &ADAM_ON_LISTS);
    let is_left = |row: &&Row| {
        let taken = parts.as_ref().map(|found| &found.operations);
        taken.is_none_or(|taken| !taken.contains(&row.operation))
    };
    let left = |rows: &[(Group, &'_ Row)]| -> Vec<usize> {
        let rows = rows.iter().map(|(_, row)| *row);
        rows.filter(is_left).map(|row| row.operation).collect()
    };
    let (long, short) = (left(long), left(short));
    let of = |operations: &[usize]| -> Vec<&Row> {
        let rows = all.iter().copied();
        rows.filter(|row| operations.contains(&row.operation))
            .collect()
    };
    let mut findings = gaps(input, &of(&long), gate);
    findings.extend(short_lists(input, &of(&short)));
    findings.extend(parts);
    findings
}

/// A way in which a step of Adam is several kernels.
struct AdamInParts {
    title: &'static str,
    /// Whether an operator in the range of a step is a part of it.
    is_part: fn(&str) -> bool,
    /// Whether one is where no ranges tell.
    is_telling: fn(&str) -> bool,
    /// The last part.
    last: &'static str,
}

const ADAM_ON_LISTS: AdamInParts = AdamInParts {
    title: "Adam in list kernels that each do a part of the step",
    is_part: |name| name.starts_with("aten::_foreach_"),
    is_telling: |name| ADAM_LISTS.contains(&name),
    last: "aten::_foreach_addcdiv_",
};

const ADAM_ONE_BY_ONE: AdamInParts = AdamInParts {
    title: "Adam in operations that each do a part of the step of one parameter",
    is_part: |name| STEP_OPS.contains(&name),
    is_telling: |_| false,
    last: "aten::addcdiv_",
};

/// Steps of Adam that treat one parameter after another, of parameters too large for
/// [`one_by_one`].
pub(super) fn large_one_by_one(input: &Input, rows: &[&Row], gate: &Gate) -> Option<Finding> {
    adam_in_parts(input, rows, gate, &ADAM_ONE_BY_ONE)
}

/// Steps of Adam or AdamW in kernels of which each does a part of the step: a fused step reads and
/// writes each parameter and each moment once. Told by the ranges around steps, without any by the
/// operations that Adam alone has together.
fn adam_in_parts(input: &Input, rows: &[&Row], gate: &Gate, way: &AdamInParts) -> Option<Finding> {
    /// Of the roof; what fusing saves beyond is little.
    const MOST_PERCENT: f64 = 75.0;
    /// Passes over all parameters of a fused step, and of its last part.
    const FUSED_PASSES: f64 = 7.0;
    const LAST_PASSES: f64 = 4.0;
    let gpu = input.gpu()?;
    let steps = step_ranges(input);
    let is_adam = |step: &Step| matches!(step.optimizer(), "Adam" | "AdamW");
    let of_adam: Vec<Step> = steps.iter().copied().filter(is_adam).collect();
    let parts: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| match steps.is_empty() {
            true => (way.is_telling)(name(input, row)),
            false => (way.is_part)(name(input, row)) && is_within(input, row, &of_adam),
        })
        .collect();
    let has = |wanted: &str| parts.iter().any(|row| name(input, row) == wanted);
    let is_told = !steps.is_empty() || has("aten::_foreach_lerp_");
    // Of the last part the models know how large all parameters are together.
    let last_bytes: Option<f64> = parts
        .iter()
        .filter(|row| name(input, row) == way.last)
        .map(|row| {
            let work = input.judged.get(row.operation)?.work?;
            Some(work.bytes? * row.n_calls as f64)
        })
        .sum();
    let last_bytes = last_bytes.filter(|bytes| *bytes > 0.0)?;
    let roof_ns = last_bytes / LAST_PASSES * FUSED_PASSES / gpu.mem_bw_gbps;
    let percent = roof_ns / time_ns(&parts).max(1) as f64 * 100.0;
    if !is_told || percent > MOST_PERCENT || !are_large(input, &parts, gate) {
        return None;
    }
    let mut reasoning: Vec<String> = called_from(input, &parts).into_iter().collect();
    reasoning.push(format!(
        "A fused step reads parameters, gradients and both moments, and writes all but the \
         gradients: {FUSED_PASSES:.0} passes over what `{}` passes over {LAST_PASSES:.0} times, \
         {} at the roof.",
        way.last,
        format::time_ns(roof_ns.round() as i64)
    ));
    let mut found = finding(
        input,
        &parts,
        true,
        Draft {
            pattern: "optimizer_in_parts",
            title: way.title.to_owned(),
            issue: format!("{}.", subject_and_time(input, &parts)),
            model: "construct the optimizer with `fused=True`: one kernel then does the whole step, and reads and writes everything once.".to_owned(),
            kernel: "nothing to tune: the number of passes is the cost.".to_owned(),
            reasoning,
            tables: vec![operations_table(input, &parts)],
        },
    )?;
    let impact = Impact::of_efficiency(found.time_ns, percent);
    let share = impact.mid_ns as f64 / found.time_ns.max(1) as f64;
    found.impact = Some(impact);
    found.savings = parts
        .iter()
        .map(|row| (row.operation, (row.time_ns as f64 * share).round() as i64))
        .collect();
    found.replay = None;
    Some(found)
}

/// Lists far from the roof: fused steps apart from other operations.
fn gaps(input: &Input, rows: &[&Row], gate: &Gate) -> Vec<Finding> {
    let slow = rows
        .iter()
        .copied()
        .filter(|row| is_bottleneck(input, row, gate));
    let (fused, parts): (Vec<&Row>, Vec<&Row>) =
        slow.partition(|row| name(input, row).contains("_fused_"));
    let words = [
        (
            fused,
            "A fused optimizer far from the memory bandwidth",
            "its step is one kernel already, so nothing is left to fuse: fewer bytes are what remains (states in fewer bits, or shared out over the GPUs that train).",
        ),
        (
            parts,
            "Operations on lists of tensors far from the memory bandwidth",
            "where they are a step of Adam, AdamW or SGD construct the optimizer with `fused=True`, which passes over everything once; elsewhere do what follows one another in one pass.",
        ),
    ];
    let mut findings = Vec::new();
    for (rows, title, model) in words {
        for (_, _, rows) in by_gap(&rows) {
            let mut reasoning: Vec<String> = called_from(input, &rows).into_iter().collect();
            reasoning.push(NOT_SHOWN.to_owned());
            findings.extend(finding(
                input,
                &rows,
                false,
                Draft {
                    pattern: "slow_tensor_lists",
                    title: title.to_owned(),
                    issue: format!("{}.", subject_and_time(input, &rows)),
                    model: model.to_owned(),
                    kernel: "a kernel on a list should come near the bandwidth: compare it with one tensor of the same size; many small tensors leave its blocks short of work.".to_owned(),
                    reasoning,
                    tables: vec![operations_table(input, &rows)],
                },
            ));
        }
    }
    findings
}

/// What short kernels on lists can be worth.
const SHORT: &str = "What is won at most is all that their work would not take at the roof; how much of it is launching, a trace does not show.";

/// Many short kernels on lists: the tensors are small, and many.
fn short_lists(input: &Input, rows: &[&Row]) -> Option<Finding> {
    let n = n_kernels(input, rows);
    let mean_ns = time_ns(rows) / i64::try_from(n.max(1)).unwrap_or(i64::MAX);
    small_kernels_of(
        input,
        rows,
        n,
        Draft {
            pattern: "many_small_list_kernels",
            title: "Many short kernels on lists of tensors".to_owned(),
            issue: format!(
                "{} of {} on lists of tensors take {} each on average: {}{}.",
                format::counted(n, "kernel"),
                format::counted(n_calls(rows), "operation"),
                format::time_ns(mean_ns),
                time_and_share(time_ns(rows), input),
                at_efficiency(efficiency(rows))
            ),
            model: "a kernel takes as many tensors as its arguments have room for: keep small parameters in a few flat tensors, or step in one pass over all (`fused=True` where the optimizer has it).".to_owned(),
            kernel: "nothing to tune in kernels about as short as their launch; their number is the cost.".to_owned(),
            reasoning: std::iter::once(SHORT.to_owned())
                .chain(called_from(input, rows))
                .collect(),
            tables: vec![operations_table(input, rows)],
        },
    )
}

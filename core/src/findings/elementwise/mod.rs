//! Element-wise operations: the available memory bandwidth, and where it is not reached.

mod adam;
mod base;
pub(super) mod baseline;
mod conversions;
pub(super) mod dropout;
mod lists;
mod masks;
mod rules;
mod slices;
#[cfg(test)]
mod tests;

use super::unfused_attention;
use crate::base::map::Set;
use crate::findings::elementwise::baseline::Baseline;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::elementwise::{ElementwiseKind, Movement};
use crate::names::optimizer::{STEP_OPS, STEP_OPS_ALONE};
use crate::names::words;
use crate::perf::{OpInput, is_integer_type, product};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::elementwise::{fills_new_memory, has_double, is_fill_alone};
use crate::profile::operations::kinds::optimizer::{OptimizerStep, ZeroGrad};
use adam::FusedStep;
use masks::{Masks, OfMasks};

/// Whether some rows run as part of GPU graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InGraphs {
    None,
    Some,
    All,
}

impl InGraphs {
    fn of(input: &Input, rows: &[&Row]) -> InGraphs {
        let is_in_graph = |row: &&&Row| input.operation(row.operation).is_replayed(input.profile);
        match rows.iter().filter(is_in_graph).count() {
            0 => InGraphs::None,
            n if n == rows.len() => InGraphs::All,
            _ => InGraphs::Some,
        }
    }
}

struct Observed<'a> {
    row: &'a Row,
    operation: &'a Operation,
    name: &'a str,
    kind: ElementwiseKind,
    /// The target and source types of a copy.
    types: Option<[&'a str; 2]>,
    is_short: bool,
    is_bottleneck: bool,
    /// What the simplest operations of the trace reach.
    baseline: &'a Baseline,
    steps: &'a [OptimizerStep],
    /// The time of its calls that set gradients to zero.
    zero_grad_ns: i64,
    /// The time of its calls that set buffers of gradients to zero.
    zero_buffer_ns: i64,
    /// The time of its calls that fill or add whole tensors for the gradients of slices.
    slice_gradients_ns: i64,
    /// Its elements are as many, in rows as long, as those that a log-softmax reads: logits, or their gradients.
    is_of_logits: bool,
    /// It fills a tensor, and not as part of another operator.
    is_fill: bool,
    /// It fills tensors as they are allocated.
    fills_new: bool,
    /// How it moves elements, if it does nothing else.
    movement: Option<Movement>,
    /// Its calls that are part of making a mask.
    masks: OfMasks,
    /// The time in which a concatenation copies an input that has nearly all of its elements.
    copied_ns: i64,
    /// It reads or writes FP64, and other work of the trace is narrower.
    is_double: bool,
    /// Its largest input comes first: a concatenation that appends, as to a cache, and is not a fixed prefix.
    appends: bool,
    /// Set if it is a part of an Adam step that a fused step would do in one kernel.
    fused: Option<FusedStep>,
}

/// Operators that set gradients to zero: one after another, or all at once.
const ZEROING_OPS: &[&str] = &["aten::fill_", "aten::zero_", "aten::_foreach_zero_"];

impl<'a> Observed<'a> {
    fn new(
        input: &Input<'a>,
        baseline: &'a Baseline,
        steps: &'a [OptimizerStep],
        logits: &Set<(u64, i64)>,
        row: &'a Row,
    ) -> Observed<'a> {
        let operation = input.operation(row.operation);
        let kind = ElementwiseKind::of(input.profile, operation);
        let arguments = operation.arguments(input.profile);
        let types = arguments
            .as_ref()
            .and_then(|copy| Some([copy.tensor(0)?.dtype, copy.tensor(1)?.dtype]));
        // A call on a list launches one kernel for as many tensors as fit, and may be long even with short kernels.
        let mean_us = row.time_ns as f64 / 1e3 / operation.work().count().max(1) as f64;
        let profile = input.profile;
        let name = profile.trace.strings.get(operation.key.name);
        let [zero_grad_ns, zero_buffer_ns] = match ZEROING_OPS.contains(&name) {
            true => profile
                .once(|| ZeroGrad::all(profile))
                .times_of(profile, operation),
            false => [0; 2],
        };
        Observed {
            row,
            operation,
            name,
            kind,
            types,
            is_short: match kind {
                ElementwiseKind::Optimizer => mean_us < input.options.thresholds.short_kernel_us,
                _ => is_launch_scale(input, row) || is_negligible(input, row),
            },
            is_bottleneck: is_bottleneck(input, row, &gate(input)),
            baseline,
            steps,
            zero_grad_ns,
            zero_buffer_ns,
            slice_gradients_ns: slices::slice_gradients_ns(profile, operation, name),
            is_of_logits: size(profile, operation).is_some_and(|size| logits.contains(&size)),
            is_fill: is_fill_alone(profile, operation),
            fills_new: fills_new_memory(profile, operation),
            movement: Movement::of(profile, operation),
            masks: Masks::of(input).get(row.operation),
            copied_ns: match name {
                "aten::cat" => (row.time_ns as f64 * copied_share(arguments.as_ref())) as i64,
                _ => 0,
            },
            is_double: has_double(input.profile, operation) && has_narrower(input),
            appends: appends(arguments.as_ref()),
            fused: None,
        }
    }

    fn n_kernels(&self) -> u64 {
        self.operation.work().count() as u64
    }

    fn is_long(&self, kind: ElementwiseKind) -> bool {
        self.kind == kind && !self.is_short
    }

    fn moves(&self, how: Movement) -> bool {
        self.movement == Some(how) && !self.is_short
    }

    /// It copies to another order of dimensions or another type.
    fn is_copy(&self) -> bool {
        matches!(self.kind, ElementwiseKind::Layout | ElementwiseKind::Cast)
    }

    /// It copies to another order of dimensions and keeps the type.
    fn keeps_type(&self) -> bool {
        self.types.is_none_or(|[to, from]| to == from)
    }

    fn converts_integers(&self) -> bool {
        self.types
            .is_some_and(|types| types.into_iter().any(is_integer_type))
    }

    /// A part of an optimizer step on one parameter after another: identified by the range around it, or in training by
    /// operators that nothing else uses.
    fn is_in_step(&self, input: &Input) -> bool {
        STEP_OPS.contains(&self.name)
            && match self.steps {
                [] => STEP_OPS_ALONE.contains(&self.name) && input.profile.is_training(),
                steps => OptimizerStep::of(steps, input.profile, self.operation).is_some(),
            }
    }

    /// In graphs only kernels of the framework; those of serving engines are already merged.
    fn could_be_merged(&self, input: &Input) -> bool {
        let name = self.operation.short_name(input.profile);
        name.contains("at::native") || InGraphs::of(input, &[self.row]) == InGraphs::None
    }
}

/// A few calls beside other work, on so little data that the memory bandwidth could move it in less time than a launch
/// takes: no more is known of them than that they are short.
fn is_negligible(input: &Input, row: &Row) -> bool {
    const MOST_CALLS: u64 = 10;
    const MOST_OF_COMPUTE: f64 = 75.0;
    const LAUNCH_US: f64 = 2.0;
    /// In units of what counts as a short kernel.
    const MOST_TIMES_SHORT: f64 = 5.0;
    let roofline = input.evaluation(row.operation).roofline;
    let each_us = row.time_ns as f64 / 1e3 / row.n_calls.max(1) as f64;
    row.n_calls <= MOST_CALLS
        && row
            .percent_of_compute
            .is_some_and(|percent| percent < MOST_OF_COMPUTE)
        && roofline.is_some_and(|roofline| roofline.time_us < LAUNCH_US)
        && each_us < input.options.thresholds.short_kernel_us * MOST_TIMES_SHORT
}

/// Whether a good part of the computation has floating-point tensors, but none of FP64.
struct Narrower(bool);

fn has_narrower(input: &Input) -> bool {
    /// Of the computation, in percent.
    const LEAST_PERCENT: f64 = 10.0;
    let profile = input.profile;
    let found = profile.once(|| {
        let narrower = input.operations().filter(|(_, operation, _)| {
            let tensors = operation.tensors(profile);
            let mut floating = tensors.iter().filter(|one| !is_integer_type(one.dtype));
            floating.next().is_some() && !has_double(profile, operation)
        });
        let ns = sum(narrower.map(|(_, operation, _)| operation.kernel_ns));
        let share = input.percent_of_compute(ns);
        Narrower(share.is_some_and(|share| share >= LEAST_PERCENT))
    });
    found.0
}

/// Whether the largest input of a concatenation is the first one.
fn appends(arguments: Option<&OpInput>) -> bool {
    let tensors = arguments.and_then(|arguments| arguments.tensor_list(0));
    let sizes: Vec<f64> = tensors.into_iter().flatten().map(product).collect();
    let first = sizes.first().copied();
    first.is_some_and(|first| sizes.iter().all(|size| *size <= first))
}

/// The sizes of what the log-softmax of losses reads.
fn logits(input: &Input) -> Set<(u64, i64)> {
    let profile = input.profile;
    let all = input.operations();
    all.filter(|(_, operation, _)| operation.short_name(profile).contains("log_softmax"))
        .filter_map(|(_, operation, _)| size(profile, operation))
        .collect()
}

/// The number of elements of its first tensor, and the length of a row.
fn size(profile: &Profile, operation: &Operation) -> Option<(u64, i64)> {
    let shape = operation.tensors(profile).first()?.shape;
    Some((product(shape) as u64, *shape.last()?))
}

/// The share of a concatenation that its largest input has, from 0 to 1; 0 if no input is much larger than the others.
fn copied_share(arguments: Option<&OpInput>) -> f64 {
    /// The rest is new: a step of a sequence, a token.
    const LEAST: f64 = 0.9;
    let tensors = arguments.and_then(|arguments| arguments.tensor_list(0));
    let sizes: Vec<f64> = tensors.into_iter().flatten().map(product).collect();
    let share = sizes.iter().copied().fold(0.0, f64::max) / sizes.iter().sum::<f64>();
    match sizes.len() > 1 && share >= LEAST {
        true => share,
        false => 0.0,
    }
}

pub(super) const DOCS: Docs = || [rules::RULES, adam::RULES].map(rule::docs).concat();

fn gate(input: &Input) -> Gate {
    Gate::of(input, input.options.thresholds.elementwise_gate_ms)
}

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let baseline = Baseline::of(input);
    let steps = input.profile.once(|| OptimizerStep::all(input.profile));
    let logits = logits(input);
    let look = |row| Observed::new(input, &baseline, &steps, &logits, row);
    let mut observed: Vec<Observed> = rows.iter().map(look).collect();
    facts(input, outcome, &baseline, &observed);
    outcome.tables.push(table(&observed));
    observed.retain(|observed| !observed.row.is_anomaly);
    // Conversions that a fused attention replaces are part of that finding.
    let replaced = unfused_attention::replaced(input);
    observed.retain(|observed| {
        observed.kind != ElementwiseKind::Cast || !replaced.contains(&observed.row.operation)
    });
    adam::find_fused_steps(input, &mut observed);
    let is_list = |observed: &&Observed| observed.kind == ElementwiseKind::Optimizer;
    let (parts, mut single): (Vec<&Observed>, Vec<&Observed>) = observed
        .iter()
        .partition(|observed| is_list(observed) && observed.fused.is_some());
    // Short parts of a step belong to the finding about all of it.
    single.retain(|observed| !observed.is_short || observed.fused.is_none());
    let is_large_part = |observed: &&Observed| !is_list(observed) && observed.fused.is_some();
    let large_parts = observed.iter().filter(is_large_part).collect();
    let found = rule::find(input, rules::RULES, single);
    let is_found = |observed: &Observed| {
        let mut operations = found.iter().flat_map(|one| &one.operations);
        operations.any(|at| *at == observed.row.operation)
    };
    let others = observed
        .iter()
        .filter(|one| !one.is_short && !one.is_copy() && !is_found(one) && one.fused.is_none());
    let others: Vec<&Row> = others.map(|observed| observed.row).collect();
    outcome.findings = [
        found,
        rule::find(input, adam::RULES, parts),
        rule::find(input, adam::RULES, large_parts),
        unmodeled(input, others, &gate(input), "element-wise operation"),
    ]
    .concat();
    notes(input, outcome, &baseline);
}

fn facts(input: &Input, outcome: &mut Outcome, baseline: &Baseline, observed: &[Observed]) {
    baseline.facts(outcome);
    #[rustfmt::skip]
    outcome.facts([
        ("baseline_operation_count", "Large simple operations", Value::Count(baseline.n_large)),
        ("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input)),
    ]);
    for kind in ElementwiseKind::ALL {
        let (key, label) = (kind.key(), kind.count_label());
        outcome.counts(observed, &[(key, label, &|observed| observed.kind == kind)]);
    }
}

fn notes(input: &Input, outcome: &mut Outcome, baseline: &Baseline) {
    let (n, ns) = device_copies(input);
    outcome.fact("device_copy_count", "Device copies", Value::Count(n));
    outcome.fact("device_copy", "Time in device copies", Value::Ns(ns));
    if n > 0 {
        let (copies, are) = match n {
            1 => ("copy", "is a memory copy"),
            _ => ("copies", "are memory copies"),
        };
        let (n, time) = (format::count(n), format::time_ns(ns));
        outcome.note(format!(
            "{n} device {copies} by the copy engine ({time}) {are} and not counted here."
        ));
    }
    if baseline.demonstrated.is_none() {
        outcome.note(format!(
            "No large addition, multiplication, copy or fill (at least {} MiB and {} µs a call) shows the achievable memory bandwidth, so there is no baseline.",
            input.options.thresholds.baseline_mib, input.options.thresholds.baseline_us
        ));
    }
    outcome.note("A trace cannot tell the launch of a kernel from its waiting for the memory: short kernels look slower than they are.".to_owned());
}

/// The number and time of copies on the device that are not done by kernels.
fn device_copies(input: &Input) -> (u64, i64) {
    let strings = &input.profile.trace.strings;
    let is_device_copy =
        |name: &str| words::holds(name, &["dtod", "device -> device", "devicetodevice"]);
    let copies = input
        .operations()
        .filter(|(_, operation, _)| operation.family == Family::MemoryCopy)
        .flat_map(|(_, operation, _)| operation.kernels(input.profile))
        .filter(|(name, ..)| is_device_copy(strings.get(*name)));
    let (counts, times): (Vec<u64>, Vec<i64>) = copies.map(|(_, n, ns)| (n, ns)).unzip();
    (counts.into_iter().fold(0, u64::saturating_add), sum(times))
}

fn table(observed: &[Observed]) -> Table {
    let of_kind = |kind: ElementwiseKind| -> (ElementwiseKind, Vec<&Row>) {
        let of_kind = observed.iter().filter(|observed| observed.kind == kind);
        (kind, of_kind.map(|observed| observed.row).collect())
    };
    let kinds = ElementwiseKind::ALL.into_iter().map(of_kind);
    #[rustfmt::skip]
    let columns: &[CellColumn<(ElementwiseKind, Vec<&Row>)>] = &[
        ("kind", "Kind", &|(kind, _)| Value::Text(kind.label().to_owned())),
        ("operations", "Operations", &|(_, rows)| Value::Count(rows.len() as u64)),
        ("calls", "Calls", &|(_, rows)| Value::Count(n_calls(rows))),
        ("time", "Time", &|(_, rows)| Value::Ns(time_ns(rows))),
        ("share", "Share", &|(_, rows)| Value::Percent(rows.iter().map(|row| row.percent_of_category).sum())),
        ("efficiency", "% roofline", &|(_, rows)| Value::percent(efficiency(rows))),
    ];
    let kinds = kinds.filter(|(_, rows)| !rows.is_empty());
    Table::of("groups", "By kind", kinds, columns)
}

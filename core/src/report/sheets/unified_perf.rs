//! Sheet `unified_perf_summary`: each piece of GPU time once, with the work done in it.

use super::{Parts, SHARES, Shares, SheetInput, call_key, call_stacks, kernel_details};
use crate::assess::evaluation::Evaluation;
use crate::assess::rates::{rates, roofline_percents};
use crate::base::interval::sum;
use crate::base::stats::Stats;
use crate::base::value::mib;
use crate::hardware::roofline::{Roofline, roofline};
use crate::perf::{Modeled, Work, python_dict};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::operations::perf_rows::PerfRow;
use crate::profile::operations::{Operation, with_parts};
use crate::report::columns::{float, int};
use crate::report::labels;
use crate::report::sheet::{Cell, Column, Unit, column};

#[rustfmt::skip]
const CALLS: [Column; 5] = [
    column("ex_UID", Unit::Number, "The first such call: its position in the events of the trace; kernels that stand for themselves are numbered after the last event."),
    column("operation_count", Unit::Count, "Calls with these arguments."),
    column("total_duration_us", Unit::Us, "Time of the calls on the CPU, sum."),
    column("mean_duration_us", Unit::Us, "Time of a call on the CPU, mean."),
    column("std_duration_us", Unit::Us, "Time of a call on the CPU, sample standard deviation; empty for a single call."),
];

#[rustfmt::skip]
const WORK: [Column; 4] = [
    column("GFLOPS", Unit::Number, "Floating-point operations of one call, in units of 10⁹."),
    column("Data Moved (MB)", Unit::Number, "Bytes to and from memory of one call, each operand once, in units of 1024² bytes."),
    column("FLOPS/Byte", Unit::Number, "Arithmetic intensity: FLOPs per byte."),
    column("Compute Spec", Unit::Text, "The units that do the operations, and their precision."),
];

const BOUND: Column = column(
    "Roofline Bound",
    Unit::Text,
    "Whether it is compute-bound or memory-bound on the chosen GPU.",
);

#[rustfmt::skip]
const RATES: [Column; 7] = [
    column("TB/s_mean", Unit::Number, "Bytes moved a second, in units of 10¹², mean over the calls."),
    column("TB/s_std", Unit::Number, "Bytes moved a second, in units of 10¹², sample standard deviation."),
    column("TFLOPS/s_mean", Unit::Number, "Operations a second, in units of 10¹², mean over the calls."),
    column("TFLOPS/s_std", Unit::Number, "Operations a second, in units of 10¹², sample standard deviation."),
    column("Kernel Time (µs)_mean", Unit::Us, "Time during which kernels of a call run, mean."),
    column("Kernel Time (µs)_std", Unit::Us, "Kernel time, sample standard deviation; empty for a single call."),
    column("Kernel Time (µs)_sum", Unit::Us, "Kernel time, sum over the calls."),
];

#[rustfmt::skip]
const EXTREMES: [Column; 9] = [
    column("duration_us_median", Unit::Us, "Time of a call on the CPU, median."),
    column("duration_us_min", Unit::Us, "Time of a call on the CPU, shortest."),
    column("duration_us_max", Unit::Us, "Time of a call on the CPU, longest."),
    column("TB/s_median", Unit::Number, "Bytes moved a second, in units of 10¹², median."),
    column("TB/s_min", Unit::Number, "Bytes moved a second, in units of 10¹², least."),
    column("TB/s_max", Unit::Number, "Bytes moved a second, in units of 10¹², most."),
    column("TFLOPS/s_median", Unit::Number, "Operations a second, in units of 10¹², median."),
    column("TFLOPS/s_min", Unit::Number, "Operations a second, in units of 10¹², least."),
    column("TFLOPS/s_max", Unit::Number, "Operations a second, in units of 10¹², most."),
];

#[rustfmt::skip]
const ROOF: [Column; 8] = [
    column("Roofline Time (µs)_first", Unit::Us, "The least time that the chosen GPU needs for one call."),
    column("Pct Roofline_mean", Unit::Percent, "The least time that the chosen GPU needs over the kernel time, mean over the calls."),
    column("Pct Roofline_median", Unit::Percent, "The least time over the kernel time, median over the calls."),
    column("Pct Roofline_std", Unit::Percent, "The least time over the kernel time, sample standard deviation over the calls."),
    column("Pct Roofline_min", Unit::Percent, "The least time over the kernel time, least of the calls."),
    column("Pct Roofline_max", Unit::Percent, "The least time over the kernel time, most of the calls."),
    column("Pct Roofline", Unit::Percent, "The least time over the kernel time, of all calls together: what the page and the reports show."),
    column("Roofline Basis", Unit::Text, "Whether the figure of the GPU that the roofline follows from is a peak or an achievable one."),
];

#[rustfmt::skip]
const KERNEL_TIME: [Column; 3] = [
    column("Kernel Time (µs)_median", Unit::Us, "Kernel time of a call, median."),
    column("Kernel Time (µs)_min", Unit::Us, "Kernel time of a call, shortest."),
    column("Kernel Time (µs)_max", Unit::Us, "Kernel time of a call, longest."),
];

#[rustfmt::skip]
const MODEL: [Column; 2] = [
    column("perf_params", Unit::Text, "What the model read from the arguments."),
    column("has_perf_model", Unit::Flag, "True where a model gives FLOPs and bytes of a call."),
];

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let counted = || {
        let operations = profile.operations().iter().zip(input.evaluations);
        operations.filter(|(operation, _)| has_row(profile, operation))
    };
    let all = profile.operations().iter();
    let linked = all.filter(|operation| profile.has_cpu_ops() && operation.is_linked);
    let mut shares = Shares::of(sum(linked.map(|operation| operation.kernel_ns)));
    let mut cells = Vec::new();
    for (operation, evaluation) in counted() {
        let operation = &*with_parts(profile, operation);
        // The sheet contains what was recorded.
        let evaluation = match operation.estimate {
            Some(_) => &Evaluation::default(),
            None => evaluation,
        };
        let Some(mut row) = row(input, operation, evaluation) else {
            continue;
        };
        if input.parts.python {
            row.extend(call_stacks::cells(profile, operation));
        }
        row.extend(shares.next(operation.kernel_ns));
        let [_, library] = input.labels.cells(operation.work());
        row.push(Cell::Text(operation.family.label().to_owned()));
        row.push(library);
        cells.push(row);
    }
    cells
}

/// Whether an operation is in the sheet: traces without operators have no rows, and GPU activity that no operator
/// launched is left out.
pub fn has_row(profile: &Profile, operation: &Operation) -> bool {
    profile.has_cpu_ops() && operation.has_own_row()
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let has_gpu = parts.gpu;
    let mut columns = call_key::columns(parts);
    columns.extend(CALLS);
    columns.extend(WORK);
    columns.extend(has_gpu.then_some(BOUND));
    columns.extend(RATES);
    columns.extend(EXTREMES);
    columns.extend(ROOF.into_iter().filter(|_| has_gpu));
    columns.extend(KERNEL_TIME);
    columns.extend([kernel_details::SUMMARY, kernel_details::TRUNCATED]);
    columns.extend(MODEL);
    columns.extend(call_stacks::COLUMNS.into_iter().filter(|_| parts.python));
    columns.extend(SHARES);
    columns.extend(labels::COLUMNS);
    columns
}

/// All cells of a row except its shares.
fn row(input: &SheetInput, operation: &Operation, evaluation: &Evaluation) -> Option<Vec<Cell>> {
    let profile = input.profile;
    let first = operation.first()?;
    let calls = &operation.calls;
    let cpu = calls.iter();
    let cpu = cpu.filter_map(|call| profile.trace.events.dur_ns(call.event));
    let cpu = Stats::of_ns(&cpu.collect::<Vec<i64>>());
    let kernels = calls.iter().map(|call| call.kernel_ns);
    let kernels = Stats::of_ns(&kernels.collect::<Vec<i64>>());
    let modeled = operation.modeled.as_ref();
    let work = evaluation
        .work
        .map(|work| modeled.map_or(work, |of| of.in_sheets(work)));
    let bandwidth = rates(&operation.times_us, work.and_then(|work| work.bytes));
    let arithmetic = rates(&operation.times_us, work.map(|work| work.flops));
    let gpu = input.options.gpu.as_deref();
    let roofline = match modeled.and_then(|of| of.their_bytes) {
        Some(_) => (work.as_ref().zip(gpu))
            .and_then(|(work, gpu)| roofline(work, gpu, input.options.basis)),
        None => evaluation.roofline,
    };
    let roofline = roofline.as_ref();

    let mut cells = call_key::cells(profile, &operation.key);
    cells.extend(calls_cells(profile, first, calls.len(), cpu));
    cells.extend(work_cells(work.as_ref()));
    if input.parts.gpu {
        cells.push(bound_cell(roofline));
    }
    for rate in [bandwidth, arithmetic, kernels] {
        let [mean, _, std, ..] = spread(rate);
        cells.extend([mean, std]);
    }
    cells.push(total(kernels));
    for stats in [cpu, bandwidth, arithmetic] {
        cells.extend(extremes(stats));
    }
    if input.parts.gpu {
        let time_us = roofline.map(|roofline| roofline.time_us);
        let percents = time_us.and_then(|us| roofline_percents(&operation.times_us, us));
        let achieved = evaluation.achieved;
        cells.push(float(time_us));
        cells.extend(spread(percents));
        cells.push(float(achieved.map(|achieved| achieved.percent_of_roofline)));
        cells.push(basis_cell(roofline));
    }
    cells.extend(extremes(kernels));
    let launched: Vec<&[GpuId]> = calls.iter().map(|call| &call.work[..]).collect();
    cells.extend(kernel_details::cells(profile, &launched));
    cells.extend(model_cells(first, evaluation.work.is_some(), modeled));
    Some(cells)
}

/// The cells of [`CALLS`]; `cpu` are the times of the calls on the CPU.
fn calls_cells(
    profile: &Profile,
    first: &PerfRow,
    n_calls: usize,
    cpu: Option<Stats>,
) -> [Cell; 5] {
    let [mean, _, std, ..] = spread(cpu);
    let sum = match profile.trace.captured.is_part(first.event) {
        // TraceLens writes this for operators that it inserted.
        true => Cell::Float(0.0),
        false => total(cpu),
    };
    [int(first.uid), int(n_calls), sum, mean, std]
}

pub(super) fn work_cells(work: Option<&Work>) -> [Cell; 4] {
    [
        float(work.map(|work| work.flops / 1e9)),
        float(work.and_then(|work| work.bytes).map(mib)),
        float(work.and_then(Work::flops_per_byte)),
        work.and_then(|work| work.compute)
            .map_or(Cell::Empty, |spec| Cell::Text(spec.label())),
    ]
}

/// What bounds a roofline.
pub(super) fn bound_cell(roofline: Option<&Roofline>) -> Cell {
    roofline.map_or(Cell::Empty, |roofline| {
        Cell::Text(roofline.bound.label().to_owned())
    })
}

/// The basis (peak or achievable) of the figure that a roofline is computed from.
pub(super) fn basis_cell(roofline: Option<&Roofline>) -> Cell {
    roofline.map_or(Cell::Empty, |roofline| {
        Cell::Text(roofline.basis.label().to_owned())
    })
}

fn model_cells(first: &PerfRow, has_work: bool, modeled: Option<&Modeled>) -> [Cell; 2] {
    let is_reference = first
        .binding
        .is_some_and(|binding| binding.model.is_reference);
    let params = modeled.filter(|modeled| !modeled.params.is_empty());
    [
        params.map_or(Cell::Empty, |modeled| {
            Cell::Text(python_dict(&modeled.params))
        }),
        Cell::Flag(is_reference || has_work),
    ]
}

/// Average, median, deviation, minimum, maximum.
pub(super) fn spread(stats: Option<Stats>) -> [Cell; 5] {
    let Some(stats) = stats else {
        return [const { Cell::Empty }; 5];
    };
    [
        Cell::Float(stats.mean),
        Cell::Float(stats.median),
        float(stats.std),
        Cell::Float(stats.min),
        Cell::Float(stats.max),
    ]
}

/// Median, minimum, maximum.
fn extremes(stats: Option<Stats>) -> [Cell; 3] {
    let [_, median, _, min, max] = spread(stats);
    [median, min, max]
}

pub(super) fn total(stats: Option<Stats>) -> Cell {
    float(stats.map(|stats| stats.sum))
}

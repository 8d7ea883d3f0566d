//! Sheets `short_kernel_histogram` and `short_kernels_summary`: kernels so short that launching them costs as much as
//! running them.

use super::{Parts, SheetInput};
use crate::base::group::grouped;
use crate::base::sort::Arrange;
use crate::profile::gpu::kernels::GpuWork;
use crate::report::columns::{percent, us};
use crate::report::python;
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::trace::{Category, Dims, OpArgs, StringId};

/// Upper limit on the number of bins requested.
const MAX_BINS: usize = 10_000;

#[rustfmt::skip]
pub(super) const HISTOGRAM_COLUMNS: [Column; 3] = [
    column("bin_start", Unit::Us, "Shortest duration of the bin."),
    column("bin_end", Unit::Us, "End of the bin; it belongs to the next one, except the last."),
    column("count", Unit::Count, "Kernels in the bin."),
];

#[rustfmt::skip]
const SUMMARY_COLUMNS: [Column; 9] = [
    column("Parent cpu_op", Unit::Text, "The operator nearest above the launch."),
    column("Input dims", Unit::Text, "Shapes of its arguments."),
    column("Input strides", Unit::Text, "Strides of its arguments."),
    column("Concrete Inputs", Unit::Text, "Values of its non-tensor arguments."),
    column("Kernel name", Unit::Text, "The kernel."),
    column("Short Kernel duration (µs) sum", Unit::Us, "Sum of its short durations."),
    column("Short Kernel count", Unit::Count, "How often it was short."),
    column("Short Kernel duration (µs) mean", Unit::Us, "Mean of its short durations."),
    column("Short Kernel duration (µs) percent of total time", Unit::Percent, "Share of the total time of the GPU timeline."),
];

/// The columns that identify the operator; missing in a trace without operators.
const OP_COLUMNS: usize = 4;

pub(super) fn summary_columns(parts: &Parts) -> Vec<Column> {
    let skipped = if parts.cpu_ops { 0 } else { OP_COLUMNS };
    SUMMARY_COLUMNS.into_iter().skip(skipped).collect()
}

/// What distinguishes rows besides the kernel name.
type OpKey<'a> = (StringId, &'a [Dims], &'a [Dims], &'a [StringId]);

pub(super) fn histogram(input: &SheetInput) -> Vec<Vec<Cell>> {
    let durations_us: Vec<f64> = short_kernels(input)
        .map(|(_, dur_ns)| dur_ns as f64 / 1e3)
        .collect();
    let bins = bins(
        &durations_us,
        (input.options.thresholds.short_kernel_bins as usize).min(MAX_BINS),
    );
    let cells = |(start, end, count)| vec![Cell::Float(start), Cell::Float(end), Cell::Int(count)];
    bins.into_iter().map(cells).collect()
}

pub(super) fn summary(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let trace = &profile.trace;
    let short = short_kernels(input);
    let short = short.map(|(work, dur_ns)| ((op_key(input, work), work.name), dur_ns));
    let counted = short.filter(|((op, _), _)| op.is_some() || !profile.has_cpu_ops());
    let mut groups = grouped(counted, |(sum_ns, count): &mut (i64, i64), dur_ns| {
        *sum_ns = sum_ns.saturating_add(dur_ns);
        *count += 1;
    });
    groups.arrange_by_key(|&(_, (sum_ns, count))| (std::cmp::Reverse(sum_ns), count));
    let text = |id| trace.strings.get(id).to_owned();
    groups
        .into_iter()
        .map(|((op, name), (sum_ns, count))| {
            let op = op.map(|(op, dims, strides, concrete)| {
                [
                    text(op),
                    python::TUPLE.of_dims(dims, &trace.args),
                    python::TUPLE.of_dims(strides, &trace.args),
                    python::TUPLE.of_strings(concrete, &trace.strings),
                ]
            });
            let mut row: Vec<Cell> = op.into_iter().flatten().map(Cell::Text).collect();
            row.extend([
                Cell::Text(text(name)),
                us(sum_ns),
                Cell::Int(count),
                Cell::Float(sum_ns as f64 / count as f64 / 1e3),
                percent(sum_ns, input.sheet_timelines().total_ns()),
            ]);
            row
        })
        .collect()
}

/// Short kernels with their durations, in file order.
fn short_kernels<'a>(input: &'a SheetInput) -> impl Iterator<Item = (&'a GpuWork, i64)> {
    let limit_ns = (input.options.thresholds.short_kernel_us * 1e3) as i64;
    input.profile.gpu.iter().filter_map(move |(_, work)| {
        let dur_ns = input.profile.trace.events.dur_ns(work.event)?;
        (work.category == Category::Kernel && dur_ns < limit_ns).then_some((work, dur_ns))
    })
}

/// The operator above a kernel's launch and its arguments. `None` if any part is unknown: TraceLens leaves such kernels
/// out.
fn op_key<'a>(input: &SheetInput<'a>, work: &GpuWork) -> Option<OpKey<'a>> {
    let trace = &input.profile.trace;
    let event = input.profile.tree.event(work.parent_op?)?;
    let OpArgs {
        dims,
        strides,
        concrete,
        ..
    } = trace.args.get(trace.events.op_args(event)?)?;
    Some((
        trace.events.name(event),
        dims.as_deref()?,
        strides.as_deref()?,
        concrete.as_deref()?,
    ))
}

/// Equal bins from the smallest to the largest value, each with its start, its end and its count; empty without values
/// or bins. Same algorithm as `numpy.histogram`: edges from `linspace`; a value's bin by division, corrected by one if
/// it disagrees with the edges, which are rounded separately.
fn bins(values: &[f64], n_bins: usize) -> Vec<(f64, f64, i64)> {
    let range = values
        .iter()
        .map(|&value| (value, value))
        .reduce(|(min, max), (value, _)| (min.min(value), max.max(value)));
    let Some((mut first, mut last)) = range.filter(|_| n_bins > 0) else {
        return Vec::new();
    };
    if first >= last {
        // One distinct value: a bin around it.
        first -= 0.5;
        last += 0.5;
    }
    let step = (last - first) / n_bins as f64;
    let mut edges: Vec<f64> = (0..=n_bins).map(|bin| bin as f64 * step + first).collect();
    edges[n_bins] = last;
    let mut counts = vec![0; n_bins];
    for value in values {
        // Never negative, and casting too large a value saturates.
        let mut bin = ((value - first) / (last - first) * n_bins as f64) as usize;
        bin = bin.min(n_bins - 1);
        if *value < edges[bin] {
            bin = bin.saturating_sub(1);
        } else if bin + 1 < n_bins && *value >= edges[bin + 1] {
            bin += 1;
        }
        counts[bin] += 1;
    }
    let bins = edges.windows(2).zip(counts);
    bins.map(|(edge, count)| (edge[0], edge[1], count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_those_of_numpy() {
        let cases: [(&[f64], usize, &[i64]); 4] = [
            // A value on an edge belongs to the bin that starts there.
            (&[1.0, 2.0, 3.0, 4.0, 5.0], 4, &[1, 1, 1, 2]),
            // 3 * 0.1 is just above 0.3, so 0.3 is in the third bin, and 6 * 0.1 is just above 0.6.
            (&[0.0, 0.3, 0.6, 1.0], 10, &[1, 0, 1, 0, 0, 1, 0, 0, 0, 1]),
            (&[], 4, &[]),
            (&[1.0], 0, &[]),
        ];
        for (values, n_bins, expected) in cases {
            let counts = bins(values, n_bins).into_iter().map(|(.., count)| count);
            assert_eq!(counts.collect::<Vec<_>>(), expected, "{values:?}");
        }
        let edges = bins(&[0.0, 1.0], 10);
        assert!(edges[3].0 > 0.3 && edges[9].1 >= 1.0);
        // One distinct value has a bin around it.
        assert_eq!(bins(&[3.0, 3.0], 2), [(2.5, 3.0, 0), (3.0, 3.5, 2)]);
    }
}

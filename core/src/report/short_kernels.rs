//! Sheets `short_kernel_histogram` and `short_kernels_summary`: kernels so short that launching
//! them costs as much as running them.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::sheet::{Cell, Column, Sheet, Unit, column};
use super::{Parts, SheetInput, percent, python, us};
use crate::base::sort::Arrange;
use crate::profile::kernels::GpuWork;
use crate::trace::{Category, Dims, OpArgs, StringId};

/// However many bins are asked for, a histogram of more says no more.
const MAX_BINS: usize = 10_000;

#[rustfmt::skip]
const HISTOGRAM_COLUMNS: [Column; 3] = [
    column("bin_start", Unit::Us, "Shortest duration of the bin."),
    column("bin_end", Unit::Us, "End of the bin; it belongs to the next one, except the last."),
    column("count", Unit::Count, "Kernels in the bin."),
];

#[rustfmt::skip]
const SUMMARY_COLUMNS: [Column; 9] = [
    column("Parent cpu_op", Unit::Text, "The operator nearest above the launch."),
    column("Input dims", Unit::Text, "Shapes of its arguments."),
    column("Input strides", Unit::Text, "Strides of its arguments."),
    column("Concrete Inputs", Unit::Text, "Values of its arguments that are no tensors."),
    column("Kernel name", Unit::Text, "The kernel."),
    column("Short Kernel duration (µs) sum", Unit::Us, "Sum of its short durations."),
    column("Short Kernel count", Unit::Count, "How often it was short."),
    column("Short Kernel duration (µs) mean", Unit::Us, "Mean of its short durations."),
    column("Short Kernel duration (µs) percent of total time", Unit::Percent, "Share of the total time of the GPU timeline."),
];

/// The columns that say which operator: a trace without operators lacks them.
const OP_COLUMNS: usize = 4;

/// The columns of the histogram; the same in every trace.
pub(super) fn histogram_columns(_: &Parts) -> Vec<Column> {
    HISTOGRAM_COLUMNS.to_vec()
}

/// The columns of the summary.
pub(super) fn summary_columns(parts: &Parts) -> Vec<Column> {
    let skipped = if parts.host_ops { 0 } else { OP_COLUMNS };
    SUMMARY_COLUMNS.into_iter().skip(skipped).collect()
}

/// What distinguishes rows, beside the kernel's name.
type OpKey<'a> = (StringId, &'a [Dims], &'a [Dims], &'a [StringId]);

pub(super) fn histogram(input: &SheetInput) -> Option<Sheet> {
    let durations_us: Vec<f64> = short_kernels(input)
        .map(|(_, dur_ns)| dur_ns as f64 / 1e3)
        .collect();
    let bins = bins(
        &durations_us,
        (input.options.thresholds.short_kernel_bins as usize).min(MAX_BINS),
    )?;
    Some(Sheet {
        name: "short_kernel_histogram",
        columns: histogram_columns(&input.parts),
        rows: bins
            .into_iter()
            .map(|bin| {
                vec![
                    Cell::Float(bin.start),
                    Cell::Float(bin.end),
                    Cell::Int(bin.count),
                ]
            })
            .collect(),
    })
}

pub(super) fn summary(input: &SheetInput) -> Option<Sheet> {
    let profile = input.profile;
    let trace = &profile.trace;
    let has_host_ops = profile.has_host_ops();
    let mut index: HashMap<(Option<OpKey>, StringId), usize, FxBuildHasher> = HashMap::default();
    let mut groups: Vec<(Option<OpKey>, StringId, i64, i64)> = Vec::new();
    for (work, dur_ns) in short_kernels(input) {
        let op = op_key(input, work);
        if has_host_ops && op.is_none() {
            continue;
        }
        let row = *index.entry((op, work.name)).or_insert(groups.len());
        if row == groups.len() {
            groups.push((op, work.name, 0, 0));
        }
        let (_, _, sum_ns, count) = &mut groups[row];
        *sum_ns = i64::saturating_add(*sum_ns, dur_ns);
        *count += 1;
    }
    groups.arrange_by_key(|&(_, _, sum_ns, count)| (std::cmp::Reverse(sum_ns), count));
    let text = |id| trace.strings.get(id).to_owned();
    let rows: Vec<Vec<Cell>> = groups
        .into_iter()
        .map(|(op, name, sum_ns, count)| {
            let op = op.map(|(op, dims, strides, concrete)| {
                [
                    text(op),
                    python::tuple_of_dims(dims, &trace.args),
                    python::tuple_of_dims(strides, &trace.args),
                    python::tuple_of_strings(concrete, &trace.strings),
                ]
            });
            let mut row: Vec<Cell> = op.into_iter().flatten().map(Cell::Text).collect();
            row.extend([
                Cell::Text(text(name)),
                us(sum_ns),
                Cell::Int(count),
                Cell::Float(sum_ns as f64 / count as f64 / 1e3),
                percent(sum_ns, input.timelines.total_ns()),
            ]);
            row
        })
        .collect();
    (!rows.is_empty()).then(|| Sheet {
        name: "short_kernels_summary",
        columns: summary_columns(&input.parts),
        rows,
    })
}

/// Short kernels with their durations, in file order.
fn short_kernels<'a>(input: &'a SheetInput) -> impl Iterator<Item = (&'a GpuWork, i64)> {
    let limit_ns = (input.options.thresholds.short_kernel_us * 1e3) as i64;
    input.profile.gpu.iter().filter_map(move |(_, work)| {
        let dur_ns = input.profile.trace.events.dur_ns(work.event)?;
        (work.category == Category::Kernel && dur_ns < limit_ns).then_some((work, dur_ns))
    })
}

/// The operator above a kernel's launch and its arguments. `None` when any part is unknown: the
/// reference leaves such kernels out.
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

/// One bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bin {
    start: f64,
    end: f64,
    count: i64,
}

/// Equal bins from the smallest to the largest value, as `numpy.histogram` makes them: edges by
/// `linspace`; a value's bin by division, then moved by one where the edges, which are rounded
/// apart from it, say so.
fn bins(values: &[f64], n_bins: usize) -> Option<Vec<Bin>> {
    let (mut first, mut last) = values
        .iter()
        .map(|&value| (value, value))
        .reduce(|(min, max), (value, _)| (min.min(value), max.max(value)))?;
    if first >= last {
        // One distinct value: a bin around it.
        first -= 0.5;
        last += 0.5;
    }
    if n_bins == 0 {
        return None;
    }
    let step = (last - first) / n_bins as f64;
    let mut edges: Vec<f64> = (0..=n_bins).map(|bin| bin as f64 * step + first).collect();
    edges[n_bins] = last;
    let mut counts = vec![0; n_bins];
    for value in values {
        // Never negative, and a cast of what is too large saturates.
        let mut bin = ((value - first) / (last - first) * n_bins as f64) as usize;
        bin = bin.min(n_bins - 1);
        if *value < edges[bin] {
            bin = bin.saturating_sub(1);
        } else if bin + 1 < n_bins && *value >= edges[bin + 1] {
            bin += 1;
        }
        counts[bin] += 1;
    }
    Some(
        edges
            .windows(2)
            .zip(counts)
            .map(|(edge, count)| Bin {
                start: edge[0],
                end: edge[1],
                count,
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[f64], n_bins: usize) -> Vec<i64> {
        let bins = bins(values, n_bins).unwrap_or_default();
        bins.iter().map(|bin| bin.count).collect()
    }

    #[test]
    fn a_value_on_an_edge_belongs_to_the_bin_that_starts_there() {
        assert_eq!(counts(&[1.0, 2.0, 3.0, 4.0, 5.0], 4), [1, 1, 1, 2]);
    }

    #[test]
    fn edges_are_rounded_like_numpy() {
        // numpy.histogram([0.0, 0.3, 0.6, 1.0], 10): 3 * 0.1 is just above 0.3, so 0.3 lies in
        // the third bin, and 6 * 0.1 is just above 0.6.
        assert_eq!(
            counts(&[0.0, 0.3, 0.6, 1.0], 10),
            [1, 0, 1, 0, 0, 1, 0, 0, 0, 1]
        );
        let edges = bins(&[0.0, 1.0], 10).unwrap();
        assert!(edges[3].start > 0.3 && edges[9].end >= 1.0);
    }

    #[test]
    fn one_distinct_value_gets_a_bin_around_it() {
        let bins = bins(&[3.0, 3.0], 2).unwrap();
        assert_eq!(
            bins,
            [
                Bin {
                    start: 2.5,
                    end: 3.0,
                    count: 0
                },
                Bin {
                    start: 3.0,
                    end: 3.5,
                    count: 2
                },
            ]
        );
    }

    #[test]
    fn nothing_has_no_bins() {
        assert_eq!(bins(&[], 4), None);
        assert_eq!(bins(&[1.0], 0), None);
    }
}

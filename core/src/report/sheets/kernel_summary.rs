//! Sheet `kernel_summary`: kernels by operator, name and stream, linked or not.

use super::{Parts, SheetInput};
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::names::op_category;
use crate::profile::Profile;
use crate::profile::kernels::GpuWork;
use crate::profile::tree::NodeId;
use crate::report::columns::{percent, us};
use crate::report::labels;
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::trace::{Category, StringId};

#[rustfmt::skip]
const COLUMNS: [Column; 11] = [
    column("Parent op category", Unit::Text, "TraceLens's category of the operator; graph or runtime for launches outside operators."),
    column("Parent cpu_op", Unit::Text, "The operator nearest above the launch, or the launching call; empty where it is unknown."),
    column("Kernel name", Unit::Text, "The kernel."),
    column("Kernel stream", Unit::Text, "The stream it ran on."),
    column("Kernel duration (µs)_sum", Unit::Us, "Sum of its durations."),
    column("Kernel duration (µs)_count", Unit::Count, "How often it ran."),
    column("Kernel duration (µs)_mean", Unit::Us, "Mean duration."),
    column("Kernel duration (µs)_min", Unit::Us, "Shortest duration."),
    column("Kernel duration (µs)_max", Unit::Us, "Longest duration."),
    column("Percent of kernels time (%)", Unit::Percent, "Share of the sum of all kernel durations."),
    column("Percent of total time (%)", Unit::Percent, "Share of the total time of the GPU timeline."),
];

/// Position of the column that is missing in a trace without operators.
const PARENT_OP: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    /// `None` if the launch is unknown.
    category: Option<&'static str>,
    parent: Option<StringId>,
    name: StringId,
    stream: Option<i64>,
}

#[derive(Debug, Default)]
struct Durations {
    sum_ns: i64,
    count: i64,
    /// Shortest and longest; `None` if every duration is unknown.
    range_ns: Option<(i64, i64)>,
    /// The cells under [`labels::OF_KERNEL`], from the first run.
    label: Option<[Cell; 3]>,
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let has_cpu_ops = profile.has_cpu_ops();
    let mut groups = group(input);
    groups.arrange_by_largest(|(_, durations)| durations.sum_ns);
    let kernels_ns = sum(groups.iter().map(|(_, durations)| durations.sum_ns));
    let total_ns = input.sheet_timelines().total_ns();
    groups
        .iter()
        .map(|(key, durations)| {
            let text = |id| Cell::Text(profile.trace.strings.get(id).to_owned());
            let known = |ns: Option<i64>| ns.map_or(Cell::Empty, us);
            let mean_us = durations.sum_ns as f64 / durations.count as f64 / 1e3;
            let mut row = vec![
                key.category
                    .map_or(Cell::Empty, |label| Cell::Text(label.to_owned())),
                key.parent.map_or(Cell::Empty, text),
                text(key.name),
                key.stream.map_or(Cell::Empty, Cell::Int),
                known(durations.range_ns.map(|_| durations.sum_ns)),
                Cell::Int(durations.count),
                durations
                    .range_ns
                    .map_or(Cell::Empty, |_| Cell::Float(mean_us)),
                known(durations.range_ns.map(|range| range.0)),
                known(durations.range_ns.map(|range| range.1)),
                percent(durations.sum_ns, Some(kernels_ns)),
                percent(durations.sum_ns, total_ns),
            ];
            row.extend(durations.label.clone().into_iter().flatten());
            if !has_cpu_ops {
                row.remove(PARENT_OP);
            }
            row
        })
        .collect()
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let mut columns = [&COLUMNS[..], &labels::OF_KERNEL].concat();
    if !parts.cpu_ops {
        columns.remove(PARENT_OP);
    }
    columns
}

/// A kernel under its operator, on all streams.
#[derive(Debug, Clone)]
pub(crate) struct KernelTotal {
    /// The operator nearest above the launch, or the launching call.
    pub(crate) parent: Option<StringId>,
    pub(crate) name: StringId,
    pub(crate) count: i64,
    pub(crate) sum_ns: i64,
    /// Shortest and longest; `None` if every duration is unknown.
    pub(crate) range_ns: Option<(i64, i64)>,
    /// The cells under [`labels::OF_KERNEL`], from the first run.
    pub(crate) label: [Cell; 3],
}

/// The rows of the sheet, merged over streams, longest first.
pub(crate) fn totals(input: &SheetInput) -> Vec<KernelTotal> {
    let rows = group(input).into_iter();
    let keyed = rows.map(|(key, durations)| ((key.parent, key.name), durations));
    let all = grouped(keyed, |all: &mut Durations, one: Durations| {
        all.sum_ns = all.sum_ns.saturating_add(one.sum_ns);
        all.count = all.count.saturating_add(one.count);
        all.range_ns = match (all.range_ns, one.range_ns) {
            (Some((min, max)), Some((least, most))) => Some((min.min(least), max.max(most))),
            (known, other) => known.or(other),
        };
        all.label = all.label.take().or(one.label);
    });
    let totals = all.into_iter().map(|((parent, name), of)| KernelTotal {
        parent,
        name,
        count: of.count,
        sum_ns: of.sum_ns,
        range_ns: of.range_ns,
        label: of.label.unwrap_or([const { Cell::Empty }; 3]),
    });
    totals.arranged_by_largest(|total| total.sum_ns)
}

/// Kernels by key, in order of first appearance.
fn group(input: &SheetInput) -> Vec<(Key, Durations)> {
    let profile = input.profile;
    let labels = profile.ops.iter().map(|(_, op)| (op.node, op.category));
    let labels = labels.collect();
    let kernels = profile.gpu.iter();
    let kernels = kernels.filter(|(_, work)| work.category == Category::Kernel);
    let keyed = kernels.map(|(id, work)| {
        let (parent, category) = parent(profile, &labels, work);
        let key = Key {
            category,
            parent: parent.filter(|_| profile.has_cpu_ops()),
            name: work.name,
            stream: work.stream,
        };
        (key, (id, work))
    });
    grouped(keyed, |durations: &mut Durations, (id, work)| {
        let label = || input.labels.kernel_cells(id, work);
        durations.label.get_or_insert_with(label);
        durations.count += 1;
        if let Some(dur_ns) = profile.trace.events.dur_ns(work.event) {
            durations.sum_ns = durations.sum_ns.saturating_add(dur_ns);
            durations.range_ns = Some(match durations.range_ns {
                None => (dur_ns, dur_ns),
                Some((min, max)) => (min.min(dur_ns), max.max(dur_ns)),
            });
        }
    })
}

/// Name and label of the operator above a launch, or of the launching call. Operators that own kernels have their
/// labels from the op table.
fn parent(
    profile: &Profile,
    labels: &Map<NodeId, &'static str>,
    work: &GpuWork,
) -> (Option<StringId>, Option<&'static str>) {
    let text = |name| profile.trace.strings.get(name);
    if let Some(op) = work.parent_op {
        let event = profile.tree.event(op);
        let name = event.map(|event| profile.trace.events.name(event));
        let label = labels.get(&op).copied();
        let label = label.or_else(|| name.map(|name| op_category(text(name), None)));
        return (name, label);
    }
    let Some(call) = work.launched_by else {
        return (None, None);
    };
    let name = profile.trace.events.name(call);
    let lower = text(name).to_ascii_lowercase();
    let is_graph = lower.contains("cudagraph") || lower.contains("graphlaunch");
    (Some(name), Some(if is_graph { "graph" } else { "runtime" }))
}

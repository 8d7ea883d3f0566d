//! Sheet `kernel_summary`: kernels by operator, name and stream, linked or not.

use super::{Parts, SheetInput};
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::names::op_category;
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::profile::gpu::kernels::GpuWork;
use crate::report::columns::{Col, cells, columns, described, float, int, known, percent, text};
use crate::report::labels;
use crate::report::sheet::{Cell, Column};
use crate::trace::{Category, StringId};

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

/// A row with what its cells need.
struct Row<'a> {
    profile: &'a Profile,
    key: &'a Key,
    runs: &'a Durations,
    kernels_ns: i64,
    total_ns: Option<i64>,
}

impl Row<'_> {
    fn name(&self, name: Option<StringId>) -> Cell {
        name.map_or(Cell::Empty, |name| {
            text(self.profile.trace.strings.get(name))
        })
    }

    /// A figure, where any duration is known.
    fn known(&self, figure: impl Fn(&Durations, (i64, i64)) -> f64) -> Cell {
        float(
            self.runs
                .range_ns
                .map(|range| figure(self.runs, range) / 1e3),
        )
    }
}

fn own_columns<'a>(parts: &Parts) -> Vec<Col<Row<'a>>> {
    let mut columns = columns![Row<'_>:
        "Parent op category", Text, |of| text(of.key.category.unwrap_or_default()), "TraceLens's category of the operator; graph or runtime for launches outside operators.";
        "Parent cpu_op", Text, |of| of.name(of.key.parent), "The operator nearest above the launch, or the launching call; empty where it is unknown.";
        "Kernel name", Text, |of| of.name(Some(of.key.name)), "The kernel.";
        "Kernel stream", Text, |of| known(of.key.stream), "The stream it ran on.";
        "Kernel duration (µs)_sum", Us, |of| of.known(|of, _| of.sum_ns as f64), "Sum of its durations.";
        "Kernel duration (µs)_count", Count, |of| int(of.runs.count), "How often it ran.";
        "Kernel duration (µs)_mean", Us, |of| of.known(|of, _| of.sum_ns as f64 / of.count as f64), "Mean duration.";
        "Kernel duration (µs)_min", Us, |of| of.known(|_, (min, _)| min as f64), "Shortest duration.";
        "Kernel duration (µs)_max", Us, |of| of.known(|_, (_, max)| max as f64), "Longest duration.";
        "Percent of kernels time (%)", Percent, |of| percent(of.runs.sum_ns, Some(of.kernels_ns)), "Share of the sum of all kernel durations.";
        "Percent of total time (%)", Percent, |of| percent(of.runs.sum_ns, of.total_ns), "Share of the total time of the GPU timeline.";
    ];
    if !parts.cpu_ops {
        columns.remove(PARENT_OP);
    }
    columns
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    [described(own_columns(parts)), labels::OF_KERNEL.to_vec()].concat()
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let mut groups = group(input);
    groups.arrange_by_largest(|(_, durations)| durations.sum_ns);
    let kernels_ns = sum(groups.iter().map(|(_, durations)| durations.sum_ns));
    let total_ns = input.sheet_timelines().total_ns();
    let columns = own_columns(&input.parts);
    let rows = groups.iter().map(|(key, runs)| {
        let row = Row {
            profile: input.profile,
            key,
            runs,
            kernels_ns,
            total_ns,
        };
        let mut cells = cells(&columns, &row);
        cells.extend(runs.label.clone().into_iter().flatten());
        cells
    });
    rows.collect()
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

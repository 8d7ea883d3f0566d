//! Sheets `diff_stats` and `diff_stats_unique_args_summary`: the GPU activity of each side where the call trees differ.

use super::ComparisonSheet;
use super::join::Value;
use crate::base::group::grouped;
use crate::base::sort::Arrange;
use crate::compare::tree::{PlaceWork, TreeDiff};
use crate::compare::{Pair, Side, Which};
use crate::names::MODULE;
use crate::names::normalized::normal;
use crate::profile::launch::GpuId;
use crate::report::args_cells;
use crate::report::sheet::{Cell, Column, Sheet, Unit, column};
use crate::trace::EventId;

const STATS: (&str, &str) = ("diff_stats", "Kernels where the call trees differ");
const SUMMARY: (&str, &str) = (
    "diff_stats_unique_args_summary",
    "Kernels where the call trees differ, by operator and arguments",
);

#[rustfmt::skip]
const COLUMNS: [Column; 15] = [
    column("name", Unit::Text, "The kernel, copy or fill."),
    column("cpu_op_name", Unit::Text, "The operator nearest above its launch; empty where there is none."),
    column("cpu_op_uid", Unit::Number, "That call: its position in the events of its trace."),
    column("source", Unit::Text, "Whose it is: trace1 is the reference, trace2 the target."),
    column("Input Dims", Unit::Text, "Shapes of the operator's arguments."),
    column("Input Strides", Unit::Text, "Strides of its arguments."),
    column("Input type", Unit::Text, "Types of its arguments."),
    column("Concrete Inputs", Unit::Text, "Values of its non-tensor arguments."),
    column("kernel_time", Unit::Us, "Its duration."),
    column("busy_time", Unit::Us, "Time in which anything runs that its side alone has at this place."),
    column("lowest_common_ancestor_name", Unit::Text, "The nearest call around it that both sides make, without line numbers and addresses."),
    column("lowest_common_ancestor_id", Unit::Number, "That call: its number among those of both trees."),
    column("gpu_op_uid", Unit::Number, "Its position in the events of its trace."),
    column("nn_module_stack", Unit::Text, "The modules around its launch, outermost first."),
    column("nn_module_parent", Unit::Text, "The innermost of them."),
];

/// Columns that are specific to a row; all other columns are keys of the summary.
const OWN: [&str; 5] = [
    "cpu_op_uid",
    "kernel_time",
    "busy_time",
    "lowest_common_ancestor_id",
    "gpu_op_uid",
];

fn is_key(column: &Column) -> bool {
    !OWN.contains(&column.label)
}

#[rustfmt::skip]
const SUMS: [Column; 4] = [
    column("busy_time", Unit::Us, "Time in which anything runs that its side alone has at such a place, mean."),
    column("kernel_time_sum", Unit::Us, "Durations, summed."),
    column("kernel_time_mean", Unit::Us, "Mean duration."),
    column("operation_count", Unit::Count, "How often."),
];

pub(super) fn title(name: &str) -> Option<&'static str> {
    let sheet = [STATS, SUMMARY].into_iter().find(|sheet| sheet.0 == name);
    sheet.map(|(_, title)| title)
}

/// Both sheets and their columns.
#[cfg(test)]
pub(super) fn described() -> [(&'static str, &'static str, Vec<Column>); 2] {
    [
        (STATS.0, STATS.1, COLUMNS.to_vec()),
        (SUMMARY.0, SUMMARY.1, summary_columns()),
    ]
}

fn summary_columns() -> Vec<Column> {
    COLUMNS.into_iter().filter(is_key).chain(SUMS).collect()
}

/// Both sheets; without rows if the trees are equal.
pub(super) fn sheets(sides: Pair<Side>, tree: &TreeDiff) -> [ComparisonSheet; 2] {
    let places = tree.places.iter();
    let mut rows = Vec::new();
    for place in places.flat_map(|place| &place.occurrences) {
        for which in Which::ALL {
            let side = sides.get(which);
            let work = place.work.get(which).iter();
            rows.extend(work.filter_map(|id| row(side, tree, place, which, *id)));
        }
    }
    let stats = sheet(STATS.0, &COLUMNS, rows);
    let summary = summary(&stats);
    [stats, summary]
}

pub(super) fn sheet(name: &str, columns: &[Column], rows: Vec<Vec<Cell>>) -> ComparisonSheet {
    Sheet {
        name: name.to_owned(),
        columns: columns.iter().map(Column::owned).collect(),
        rows,
    }
}

/// The cells under [`COLUMNS`].
fn row(
    side: &Side,
    tree: &TreeDiff,
    place: &PlaceWork,
    which: Which,
    id: GpuId,
) -> Option<Vec<Cell>> {
    let profile = side.profile;
    let work = profile.gpu.get(id)?;
    let (events, strings) = (&profile.trace.events, &profile.trace.strings);
    let op = work.parent_op.and_then(|node| profile.tree.event(node));
    let text = |id| Cell::Text(strings.get(id).to_owned());
    let uid = |event| Cell::Int(i64::from(events.uid(event)));
    let us = |ns: i64| Cell::Float(ns as f64 / 1e3);
    let [dims, types, strides, concrete] =
        args_cells(profile, op.and_then(|op| events.op_args(op)));
    let modules = modules(side, tree, work.launched_by);
    Some(vec![
        text(work.name),
        op.map_or(Cell::Empty, |op| text(events.name(op))),
        op.map_or(Cell::Empty, uid),
        Cell::Text(source(which).to_owned()),
        dims,
        strides,
        types,
        concrete,
        events.dur_ns(work.event).map_or(Cell::Empty, us),
        us(*place.busy_ns.get(which)),
        Cell::Text(tree.name(place.common).to_owned()),
        Cell::Int(i64::from(place.common.0)),
        uid(work.event),
        match modules.is_empty() {
            true => Cell::Empty,
            false => Cell::Text(modules.join(";")),
        },
        modules
            .last()
            .map_or(Cell::Empty, |module| Cell::Text(module.clone())),
    ])
}

/// The names that TraceLens gives the two traces.
fn source(which: Which) -> &'static str {
    match which {
        Which::Reference => "trace1",
        Which::Target => "trace2",
    }
}

/// The modules around a call, outermost first, without the numbers of instances.
fn modules(side: &Side, tree: &TreeDiff, call: Option<EventId>) -> Vec<String> {
    let trace = &side.profile.trace;
    let calls = tree.call_tree(side.profile);
    let names = call.into_iter();
    let names = names.flat_map(|call| calls.names_around(trace, call));
    let modules = names.filter(|name| name.starts_with(MODULE));
    let mut modules: Vec<String> = modules.map(|name| normal(name).into_owned()).collect();
    modules.reverse();
    modules
}

/// Rows with equal keys merged, longest first.
fn summary(stats: &ComparisonSheet) -> ComparisonSheet {
    let columns = COLUMNS.iter().enumerate();
    let keys = columns.filter(|(_, column)| is_key(column));
    let keys: Vec<usize> = keys.map(|(at, _)| at).collect();
    let number = |row: &[Cell], label: &str| match stats.column(label).and_then(|at| row.get(at)) {
        Some(Cell::Float(number)) => *number,
        _ => 0.0,
    };
    let keyed = stats.rows.iter().map(|row| {
        let key = keys.iter().filter_map(|at| row.get(*at)).map(Value::of);
        (key.collect::<Vec<Value>>(), row)
    });
    let groups = grouped(keyed, Vec::push).into_iter();
    let mut groups: Vec<(Vec<&Vec<Cell>>, f64)> = groups
        .map(|(_, rows)| {
            let time = rows.iter().map(|row| number(row, "kernel_time")).sum();
            (rows, time)
        })
        .collect();
    // Stable sort: ties keep the order of the places.
    groups.arrange_by(|(_, a), (_, b)| b.total_cmp(a));
    let rows = groups.into_iter().map(|(rows, time)| {
        let first = rows.first().into_iter();
        let cells = first.flat_map(|row| keys.iter().filter_map(|at| row.get(*at).cloned()));
        let busy: f64 = rows.iter().map(|row| number(row, "busy_time")).sum();
        let mean = |sum: f64| Cell::Float(sum / rows.len() as f64);
        let count = Cell::Int(rows.len() as i64);
        let sums = [mean(busy), Cell::Float(time), mean(time), count];
        cells.chain(sums).collect()
    });
    let rows = rows.collect();
    sheet(SUMMARY.0, &summary_columns(), rows)
}

//! Sheet `ops_summary`: operators that launch GPU activity, by name.

use super::sheet::{Cell, Column, Sheet, Unit};
use super::{IS_RECOMPUTE, Parts, SHARES, Shares, SheetInput, labels, ms, python, us};

const COLUMNS: [Column; 7] = [
    Column {
        label: "name",
        unit: Unit::Text,
        doc: "The operator, or the runtime call where a launch has no operator around it.",
    },
    Column {
        label: "total_direct_kernel_time_sum",
        unit: Unit::Us,
        doc: "Time during which kernels that it launched itself run, summed over its calls.",
    },
    Column {
        label: "total_subtree_kernel_time_sum",
        unit: Unit::Us,
        doc: "Time during which kernels launched by it or below it run, summed over its calls.",
    },
    Column {
        label: "total_direct_kernel_time_ms",
        unit: Unit::Ms,
        doc: "Direct kernel time in milliseconds.",
    },
    Column {
        label: "total_subtree_kernel_time_ms",
        unit: Unit::Ms,
        doc: "Subtree kernel time in milliseconds.",
    },
    Column {
        label: "Count",
        unit: Unit::Count,
        doc: "Calls that launched GPU activity.",
    },
    Column {
        label: "Categories",
        unit: Unit::Text,
        doc: "The reference's categories of its calls.",
    },
];

pub(super) fn sheet(input: &SheetInput) -> Option<Sheet> {
    let profile = input.profile;
    if !profile.has_host_ops() {
        return None;
    }
    let has_recompute = profile.recompute.is_some();
    let mut shares = Shares::of(profile.ops.direct_ns());
    let rows = profile.ops.groups().iter().map(|group| {
        let mut row = vec![
            Cell::Text(profile.trace.strings.get(group.name).to_owned()),
            us(group.direct_ns),
            us(group.subtree_ns),
            ms(group.direct_ns),
            ms(group.subtree_ns),
            Cell::Int(group.n_calls() as i64),
            Cell::Text(python::list(group.categories.iter().copied())),
        ];
        row.extend(shares.next(group.direct_ns));
        let calls = profile.ops.calls(group).iter();
        let ops = calls.filter_map(|id| profile.ops.get(*id));
        let work = ops.flat_map(|op| profile.ops.kernels(op).iter().copied());
        row.extend(input.labels.cells(work));
        if has_recompute {
            row.insert(1, Cell::Flag(group.is_recompute));
        }
        row
    });
    Some(Sheet {
        name: "ops_summary",
        columns: columns(&input.parts),
        rows: rows.collect(),
    })
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let mut columns = [&COLUMNS[..], &SHARES, &labels::COLUMNS].concat();
    if parts.recompute {
        columns.insert(1, IS_RECOMPUTE);
    }
    columns
}

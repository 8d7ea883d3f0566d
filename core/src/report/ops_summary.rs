//! Sheet `ops_summary`: operators that launch GPU activity, by name.

use super::sheet::{Cell, Column, Unit, column};
use super::{IS_RECOMPUTE, Parts, SHARES, Shares, SheetInput, labels, ms, python, us};

#[rustfmt::skip]
const COLUMNS: [Column; 7] = [
    column("name", Unit::Text, "The operator, or the runtime call where a launch has no operator around it."),
    column("total_direct_kernel_time_sum", Unit::Us, "Time during which kernels that it launched itself run, summed over its calls."),
    column("total_subtree_kernel_time_sum", Unit::Us, "Time during which kernels launched by it or below it run, summed over its calls."),
    column("total_direct_kernel_time_ms", Unit::Ms, "Direct kernel time in milliseconds."),
    column("total_subtree_kernel_time_ms", Unit::Ms, "Subtree kernel time in milliseconds."),
    column("Count", Unit::Count, "Calls that launched GPU activity."),
    column("Categories", Unit::Text, "The reference's categories of its calls."),
];

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    if !profile.has_host_ops() {
        return Vec::new();
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
    rows.collect()
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let mut columns = [&COLUMNS[..], &SHARES, &labels::COLUMNS].concat();
    if parts.recompute {
        columns.insert(1, IS_RECOMPUTE);
    }
    columns
}

//! Sheet `ops_summary`: operators that launch GPU work, by name.

use super::sheet::{Cell, Column, Sheet, Unit};
use super::{IS_RECOMPUTE, SheetInput, ms, percent, python, us};

const COLUMNS: [Column; 9] = [
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
        doc: "The same for all that was launched below it.",
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
        doc: "Calls that launched GPU work.",
    },
    Column {
        label: "Categories",
        unit: Unit::Text,
        doc: "The reference's categories of its calls.",
    },
    Column {
        label: "Percentage (%)",
        unit: Unit::Percent,
        doc: "Share of the direct kernel time of all operators.",
    },
    Column {
        label: "Cumulative Percentage (%)",
        unit: Unit::Percent,
        doc: "Share of this row and all above it.",
    },
];

pub(super) fn sheet(input: &SheetInput) -> Option<Sheet> {
    let profile = input.profile;
    if !profile.has_host_ops() {
        return None;
    }
    let has_recompute = profile.recompute.is_some();
    let mut columns = COLUMNS.to_vec();
    if has_recompute {
        columns.insert(1, IS_RECOMPUTE);
    }
    let all_ns = profile.ops.direct_ns();
    let mut so_far_ns = 0;
    let rows = profile.ops.groups().iter().map(|group| {
        so_far_ns = i64::saturating_add(so_far_ns, group.direct_ns);
        let mut row = vec![
            Cell::Text(profile.trace.strings.get(group.name).to_owned()),
            us(group.direct_ns),
            us(group.subtree_ns),
            ms(group.direct_ns),
            ms(group.subtree_ns),
            Cell::Int(group.n_calls() as i64),
            Cell::Text(python::list(group.categories.iter().copied())),
            percent(group.direct_ns, Some(all_ns)),
            percent(so_far_ns, Some(all_ns)),
        ];
        if has_recompute {
            row.insert(1, Cell::Flag(group.is_recompute));
        }
        row
    });
    Some(Sheet {
        name: "ops_summary",
        columns,
        rows: rows.collect(),
    })
}

//! Sheet `cpu_ops_summary`: operators by the time they take on the CPU.

use super::sheet::{Cell, Column, Sheet, Unit};
use super::{Parts, SheetInput, ms, percent};
use crate::base::interval::sum;

const COLUMNS: [Column; 5] = [
    Column {
        label: "name",
        unit: Unit::Text,
        doc: "The operator.",
    },
    Column {
        label: "Count",
        unit: Unit::Count,
        doc: "Its calls.",
    },
    Column {
        label: "total_cpu_time_ms",
        unit: Unit::Ms,
        doc: "Host time inside its calls; calls inside calls of the same operator count once.",
    },
    Column {
        label: "self_cpu_time_ms",
        unit: Unit::Ms,
        doc: "Host time inside its calls and in no operator called from there.",
    },
    Column {
        label: "Percentage (%)",
        unit: Unit::Percent,
        doc: "Share of the self time of all operators.",
    },
];

/// The columns; the same in every trace.
pub(super) fn columns(_: &Parts) -> Vec<Column> {
    COLUMNS.to_vec()
}

pub(super) fn sheet(input: &SheetInput) -> Option<Sheet> {
    let profile = input.profile;
    let all_ns = sum(profile.host_ops.iter().map(|op| op.self_ns));
    let rows = profile.host_ops.iter().map(|op| {
        vec![
            Cell::Text(profile.trace.strings.get(op.name).to_owned()),
            Cell::Int(op.n_calls as i64),
            ms(op.total_ns),
            ms(op.self_ns),
            percent(op.self_ns, Some(all_ns)),
        ]
    });
    profile.has_host_ops().then(|| Sheet {
        name: "cpu_ops_summary",
        columns: columns(&input.parts),
        rows: rows.collect(),
    })
}

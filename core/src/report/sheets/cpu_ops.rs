//! Sheet `cpu_ops_summary`: operators by the time they take on the CPU.

use super::SheetInput;
use crate::profile::cpu_ops::CpuOp;
use crate::report::columns::{ms, percent};
use crate::report::sheet::{Cell, Column, Unit, column};

#[rustfmt::skip]
pub(super) const COLUMNS: [Column; 5] = [
    column("name", Unit::Text, "The operator."),
    column("Count", Unit::Count, "Its calls."),
    column("total_cpu_time_ms", Unit::Ms, "CPU time inside its calls; calls inside calls of the same operator count once."),
    column("self_cpu_time_ms", Unit::Ms, "CPU time inside its calls, without the operators they call."),
    column("Percentage (%)", Unit::Percent, "Share of the self time of all operators."),
];

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let all_ns = profile.cpu_self_ns();
    let ops = profile.cpu_ops.iter();
    let row = |op: &CpuOp| {
        vec![
            Cell::Text(profile.trace.strings.get(op.name).to_owned()),
            Cell::Int(op.n_calls as i64),
            ms(op.total_ns),
            ms(op.self_ns),
            percent(op.self_ns, Some(all_ns)),
        ]
    };
    ops.filter(|_| profile.has_cpu_ops()).map(row).collect()
}

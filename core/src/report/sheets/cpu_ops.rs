//! Sheet `cpu_ops_summary`: operators by the time they take on the CPU.

use super::SheetInput;
use crate::profile::cpu::ops::CpuOp;
use crate::report::columns::{self, Col, columns, int, ms, percent, text};
use crate::report::sheet::Cell;

/// An operator with what its cells need.
pub(super) struct Row<'a> {
    name: &'a str,
    op: &'a CpuOp,
    all_ns: i64,
}

pub(super) fn columns<'a>() -> Vec<Col<Row<'a>>> {
    columns![Row<'_>:
        "name", Text, |of| text(of.name), "The operator.";
        "Count", Count, |of| int(of.op.n_calls), "Its calls.";
        "total_cpu_time_ms", Ms, |of| ms(of.op.total_ns), "CPU time inside its calls; calls inside calls of the same operator count once.";
        "self_cpu_time_ms", Ms, |of| ms(of.op.self_ns), "CPU time inside its calls, without the operators they call.";
        "Percentage (%)", Percent, |of| percent(of.op.self_ns, Some(of.all_ns)), "Share of the self time of all operators.";
    ]
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let all_ns = profile.cpu_self_ns();
    let ops = profile.cpu_ops.iter().filter(|_| profile.has_cpu_ops());
    let rows = ops.map(|op| Row {
        name: profile.trace.strings.get(op.name),
        op,
        all_ns,
    });
    columns::rows(&columns(), rows)
}

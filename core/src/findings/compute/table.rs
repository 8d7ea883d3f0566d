//! Operations as a table of evidence.

use super::words::{shapes, short_name};
use crate::base::value::{CellColumn, Table, Value};
use crate::findings::Input;
use crate::findings::narrower::matrix_rate_16_bit;
use crate::findings::outcome::Row;

/// Some operations as a table, the longest first.
pub fn operations_table(input: &Input, rows: &[&Row]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 10;
    let name = |at: usize| Value::Quoted(short_name(input, input.operation(at)));
    let shapes = |at: usize| match shapes(input, input.operation(at)) {
        none if none.is_empty() => Value::Empty,
        shapes => Value::Text(shapes),
    };
    #[rustfmt::skip]
    let columns: &[CellColumn<&Row>] = &[
        ("operation", "Operation", &|row| name(row.operation)),
        ("type", "Type", &|row| Value::Text(row.class.clone())),
        ("shapes", "Shapes", &|row| shapes(row.operation)),
        ("calls", "Calls", &|row| Value::Count(row.n_calls)),
        ("time", "Time", &|row| Value::Ns(row.time_ns)),
        ("bandwidth", "Bandwidth", &|row| Value::gbps(gbps(input, row))),
        ("efficiency", "% roofline", &|row| Value::percent(row.efficiency_percent)),
    ];
    let longest = rows.iter().copied().take(MAX_ROWS);
    Table::of("operations", "Operations", longest, columns)
}

/// The bandwidth that the calls of a row reach; `None` where their bytes are not known.
pub fn gbps(input: &Input, row: &Row) -> Option<f64> {
    let rate = input.judged(row.operation).tb_per_s?;
    Some(rate * 1e3)
}

/// The memory bandwidth of the GPU.
pub fn memory_bandwidth(input: &Input) -> Value {
    Value::gbps(input.gpu().map(|gpu| gpu.mem_bw_gbps))
}

/// The rate of its matrix units in 16 bits.
pub fn matrix_rate(input: &Input) -> Value {
    let rate = matrix_rate_16_bit(input);
    rate.map_or(Value::NO_TFLOPS, |(_, figure)| Value::Tflops(figure.tflops))
}

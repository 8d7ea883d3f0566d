//! Operations as a table of evidence.

use super::words::{shapes, short_name};
use crate::base::value::{Table, Value};
use crate::findings::Input;
use crate::findings::outcome::Row;

/// Some operations as a table, the longest first.
pub fn operations_table(input: &Input, rows: &[&Row]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 10;
    let mut table = Table::new(
        "operations",
        "Operations",
        &[
            ("operation", "Operation"),
            ("type", "Type"),
            ("shapes", "Shapes"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("bandwidth", "Bandwidth"),
            ("efficiency", "% roofline"),
        ],
    );
    table.rows = rows
        .iter()
        .take(MAX_ROWS)
        .map(|row| {
            let operation = input.operation(row.operation);
            let shapes = shapes(input, operation);
            vec![
                Value::Quoted(short_name(input, operation)),
                Value::Text(row.class.clone()),
                match shapes.is_empty() {
                    true => Value::Empty,
                    false => Value::Text(shapes),
                },
                Value::Count(row.n_calls),
                Value::Ns(row.time_ns),
                gbps(input, row).map_or(Value::NO_GBPS, Value::GbPerS),
                Value::percent(row.efficiency_percent),
            ]
        })
        .collect();
    table
}

/// The bandwidth that the calls of a row reach; `None` where their bytes are not known.
pub fn gbps(input: &Input, row: &Row) -> Option<f64> {
    let rate = input.judged(row.operation).tb_per_s?;
    Some(rate * 1e3)
}

/// The memory bandwidth of the GPU.
pub fn memory_bandwidth(input: &Input) -> Value {
    let bandwidth = input.gpu().map(|gpu| gpu.mem_bw_gbps);
    bandwidth.map_or(Value::NO_GBPS, Value::GbPerS)
}

//! What the analyses of work that the memory bounds share: many small kernels, operations that no
//! model counts, and distance from the roof that no pattern explains.

use super::Input;
use super::compute::{Draft, Gate, at_efficiency, efficiency, finding, shapes, time_and_share};
use super::finding::{Finding, Impact};
use super::in_use::is_in_graph;
use super::no_units::{emulated, missing_units};
use super::origin::Origin;
use super::outcome::Row;
use super::unknown::{self, Unknown};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::profile::operations::Operation;

/// Whether rows are together large enough to be looked at: see [`is_large`].
pub(super) fn are_large(input: &Input, rows: &[&Row], gate: &Gate) -> bool {
    let thresholds = &input.options.thresholds;
    let is_long = sum(rows.iter().map(|row| row.time_ns)) as f64 / 1e6 > gate.time_ms;
    let of_category: f64 = rows.iter().map(|row| row.percent_of_category).sum();
    let of_total: f64 = rows.iter().filter_map(|row| row.percent_of_total).sum();
    is_long
        || (of_category > thresholds.gate_percent_of_category
            && of_total >= thresholds.gate_percent_of_total)
}

/// Whether the calls of a row are so short that launching them takes about as long.
pub(crate) fn is_launch_scale(input: &Input, row: &Row) -> bool {
    let mean_us = row.time_ns as f64 / 1e3 / row.n_calls.max(1) as f64;
    mean_us < input.options.thresholds.short_kernel_us
}

/// The name of an operation in a sentence.
pub(super) fn short_name(input: &Input, operation: &Operation) -> String {
    let name = format::kernel_name(operation.short_name(input.profile));
    format::middle_ellipsis(&name, 60)
}

/// "`aten::mul` (96 × 3137 bf16) and 2 more" of some rows.
pub(super) fn subject(input: &Input, rows: &[&Row]) -> String {
    let first = rows.first().and_then(|row| {
        let operation = input.profile.operations().get(row.operation)?;
        let name = short_name(input, operation);
        let shapes = shapes(input, operation);
        Some(match shapes.is_empty() {
            true => format!("`{name}`"),
            false => format!("`{name}` ({shapes})"),
        })
    });
    let more = match rows.len().saturating_sub(1) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", first.unwrap_or_default())
}

/// Where the first of some rows is called from, as a sentence; `None` where nothing tells.
pub(super) fn called_from(input: &Input, rows: &[&Row]) -> Option<String> {
    let operation = input.profile.operations().get(rows.first()?.operation)?;
    let origin = Origin::of(input, operation);
    let path = origin.path()?;
    let it = match rows.len() {
        1 => "It is",
        _ => "The longest is",
    };
    Some(match origin.role {
        Some(role) => format!("{it} called from {} (`{path}`).", role.label()),
        None => format!("{it} called from `{path}`."),
    })
}

/// "`aten::mul` (96 × 3137 bf16) and 2 more: 3.41 ms (12.3 % of compute) at 18.2 % of the roof".
pub(super) fn subject_and_time(input: &Input, rows: &[&Row]) -> String {
    format!(
        "{}: {}{}",
        subject(input, rows),
        time_and_share(time_ns(rows), input),
        at_efficiency(efficiency(rows))
    )
}

/// The time of some rows.
pub(super) fn time_ns(rows: &[&Row]) -> i64 {
    sum(rows.iter().map(|row| row.time_ns))
}

/// The calls of some rows.
pub(super) fn n_calls(rows: &[&Row]) -> u64 {
    rows.iter()
        .fold(0, |all: u64, row| all.saturating_add(row.n_calls))
}

/// Said of every kernel that is slow for no visible reason.
pub(super) const NOT_SHOWN: &str =
    "A trace does not show why a kernel is slow: a reproducer under a hardware profiler does.";

/// Operations whose efficiency says little because they are about as short as their launch.
pub(super) fn launch_scale_note(input: &Input, rows: &[Row]) -> Option<String> {
    let short: Vec<&Row> = rows
        .iter()
        .filter(|row| is_launch_scale(input, row))
        .collect();
    (!short.is_empty()).then(|| {
        format!(
            "Calls of {} ({}) take less than {}, about as long as launching them: their efficiency \
             says little and is not held against them.",
            match short.len() {
                1 => "1 operation".to_owned(),
                n => format!("{n} operations"),
            },
            format::time_ns(time_ns(&short)),
            format::time_us(input.options.thresholds.short_kernel_us)
        )
    })
}

/// Some operations as a table, the longest first.
pub(super) fn operations_table(input: &Input, rows: &[&Row]) -> Table {
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
            ("efficiency", "Of the roof"),
        ],
    );
    table.rows = rows
        .iter()
        .take(MAX_ROWS)
        .filter_map(|row| {
            let operation = input.profile.operations().get(row.operation)?;
            let shapes = shapes(input, operation);
            Some(vec![
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
            ])
        })
        .collect();
    table
}

/// The memory bandwidth of the GPU.
pub(super) fn memory_bandwidth(input: &Input) -> Value {
    let bandwidth = input.gpu().map(|gpu| gpu.mem_bw_gbps);
    bandwidth.map_or(Value::NO_GBPS, Value::GbPerS)
}

/// The bandwidth that the calls of a row reach; `None` where their bytes are not known.
pub(super) fn gbps(input: &Input, row: &Row) -> Option<f64> {
    let judged = input.judged.get(row.operation)?;
    judged.tb_per_s.map(|rate| rate * 1e3)
}

/// Fewer calls than this are not many, whatever their share.
const MIN_SMALL_CALLS: u64 = 100;

/// Whether so many kernels that are about as short as launching them are many.
pub(super) fn are_many(input: &Input, rows: &[&Row], n_kernels: u64) -> bool {
    let thresholds = &input.options.thresholds;
    let share: f64 = rows.iter().filter_map(|row| row.percent_of_compute).sum();
    let of_total: f64 = rows.iter().filter_map(|row| row.percent_of_total).sum();
    let are_many = n_kernels as f64 >= thresholds.small_kernels_calls
        || (n_kernels >= MIN_SMALL_CALLS && share > thresholds.small_kernels_percent_of_compute);
    are_many && of_total >= thresholds.gate_percent_of_total
}

/// What short kernels take beyond their work at roofline, which a larger kernel could save; `None`
/// for nothing, and where their work is unknown.
pub(super) fn beyond_roofline_ns(row: &Row) -> Option<i64> {
    let percent = row.efficiency_percent.filter(|_| !row.is_anomaly)?;
    let ns = (row.time_ns as f64 * (1.0 - percent / 100.0).clamp(0.0, 1.0)).round() as i64;
    (ns > 0).then_some(ns)
}

/// A finding about many such kernels; `None` for few.
pub(super) fn small_kernels(input: &Input, rows: &[&Row], draft: Draft) -> Option<Finding> {
    if !are_many(input, rows, n_calls(rows)) {
        return None;
    }
    let saved = rows
        .iter()
        .filter_map(|row| Some((row.operation, beyond_roofline_ns(row)?)));
    let saved: Vec<(usize, i64)> = saved.collect();
    let saved_ns = sum(saved.iter().map(|(_, ns)| *ns));
    let mut found = finding(input, rows, true, draft)?;
    found.impact = (saved_ns > 0).then(|| Impact::at_most(saved_ns));
    found.savings = saved
        .into_iter()
        .map(|(operation, ns)| (operation, Impact::at_most(ns).mid_ns))
        .collect();
    found.replay = None;
    Some(found)
}

/// Findings about large rows whose work no model counts, one for each operator. `what` is the kind
/// of work in the middle of a sentence. Kernels of GPU graphs have a
/// [finding of their own](super::graphs).
pub(super) fn unmodelled(input: &Input, rows: &[&Row], gate: &Gate, what: &str) -> Vec<Finding> {
    let no_model = format!("no model counts how much work this {what} is");
    unmodelled_since(input, rows, gate, |rows| {
        unknown::of(input, rows, &no_model)
    })
}

/// The same with what tells why.
pub(super) fn unmodelled_since(
    input: &Input,
    rows: &[&Row],
    gate: &Gate,
    why: impl Fn(&[&Row]) -> Unknown,
) -> Vec<Finding> {
    if input.gpu().is_none() {
        return Vec::new();
    }
    let mut by_name: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some(operation) = input.profile.operations().get(row.operation) else {
            continue;
        };
        if row.efficiency_percent.is_some()
            || is_launch_scale(input, row)
            || is_in_graph(input.profile, operation)
        {
            continue;
        }
        let name = short_name(input, operation);
        match by_name.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => by_name.push((name, vec![row])),
        }
    }
    by_name.retain(|(_, rows)| are_large(input, rows, gate));
    by_name
        .into_iter()
        .filter_map(|(name, rows)| {
            let missing = rows.first().and_then(|row| missing_units(input, row));
            match missing.filter(|_| rows.iter().all(|row| missing_units(input, row) == missing)) {
                Some(precision) => emulated(input, &name, &rows, precision),
                None => unknown_operator(input, &name, &rows, why(&rows)),
            }
        })
        .collect()
}

fn unknown_operator(input: &Input, name: &str, rows: &[&Row], unknown: Unknown) -> Option<Finding> {
    let Unknown {
        why,
        model,
        kernel,
        may_win,
    } = unknown;
    let mut reasoning: Vec<String> = called_from(input, rows).into_iter().collect();
    reasoning.push(format!(
        "Nothing in the trace tells how much work it is, so its efficiency is unknown{}.",
        if may_win {
            " and the saving a rule of thumb"
        } else {
            ""
        }
    ));
    let mut found = finding(
        input,
        rows,
        false,
        Draft {
            pattern: "unmodelled_significant",
            title: format!("`{name}`: how much work it is, is not known"),
            issue: format!(
                "`{name}` takes {} in {}, and {why}.",
                time_and_share(time_ns(rows), input),
                format::counted(n_calls(rows), "call")
            ),
            model: model.to_owned(),
            kernel: kernel.to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )?;
    if !may_win {
        found.impact = None;
        found.savings = Vec::new();
    }
    Some(found)
}

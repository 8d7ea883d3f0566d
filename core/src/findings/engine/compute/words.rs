//! Texts and tables about operations: name, shapes, time and share, efficiency, call site.

use crate::base::format;
use crate::base::value::{CellColumn, Table, Value};
use crate::findings::Input;
use crate::findings::engine::narrower::matrix_rate_16_bit;
use crate::findings::engine::outcome::Row;
use crate::profile::operations::Operation;
use crate::profile::operations::origin::Origin;
use crate::trace::Dims;

/// "3.41 ms (12.3 % of compute)".
pub fn time_and_share(row_ns: i64, input: &Input) -> String {
    let time = format::time_ns(row_ns);
    match input.percent_of_compute(row_ns) {
        Some(share) => format!("{time} ({} of compute)", format::percent(share)),
        None => time,
    }
}

/// " at 18.2 % of roofline"; empty where unknown.
pub fn at_efficiency(efficiency: Option<f64>) -> String {
    let percent = efficiency.map(format::percent);
    percent.map_or(String::new(), |percent| {
        format!(" at {percent} of roofline")
    })
}

/// The name of an operation in a sentence.
pub fn short_name(input: &Input, operation: &Operation) -> String {
    let name = format::kernel_name(operation.short_name(input.profile));
    format::middle_ellipsis(&name, 60)
}

/// "`aten::mul` (96 × 3137 bf16) and 2 more", for some rows.
pub fn subject(input: &Input, rows: &[&Row]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let operation = input.operation(first.operation);
    let name = short_name(input, operation);
    let shapes = match shapes(input, operation) {
        none if none.is_empty() => none,
        shapes => format!(" ({shapes})"),
    };
    let more = match rows.len() - 1 {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("`{name}`{shapes}{more}")
}

/// A sentence about where the first of some rows is called from; `None` where unknown.
pub fn called_from(input: &Input, rows: &[&Row]) -> Option<String> {
    let origin = Origin::of(input.profile, input.operation(rows.first()?.operation));
    let path = origin.path()?;
    let it = if rows.len() == 1 { "It" } else { "The longest" };
    Some(match origin.role {
        Some(role) => format!("{it} is called from {} (`{path}`).", role.label()),
        None => format!("{it} is called from `{path}`."),
    })
}

/// Added for every kernel that is slow for no visible reason.
pub const NOT_SHOWN: &str =
    "A trace does not show why a kernel is slow: a reproducer under a hardware profiler does.";

/// "8944×1024, 1024×2816 bf16", or "3 of 4×16×1024×64 bf16": the shapes of an operation. For kernels of GPU graphs,
/// shapes inferred from the model, "QKV projection: 32×5120×2880, from config", or nothing: the call that launches a
/// graph only has the tensors of the whole graph.
pub fn shapes(input: &Input, operation: &Operation) -> String {
    /// Further operands are only counted.
    const MAX_SHAPES: usize = 3;
    if let Some(estimate) = &operation.estimate {
        return format!("{}: {}", estimate.role.label(), estimate.sizes());
    }
    let args = operation.args(input.profile);
    let Some(args) = args.filter(|_| !operation.is_in_graph(input.profile)) else {
        return String::new();
    };
    let trace = &input.profile.trace;
    let dims = args.dims.as_deref().unwrap_or_default();
    let types = args.types.as_deref().unwrap_or_default();
    let dtype = |at: usize| format::dtype(trace.strings.get(*types.get(at)?));
    let first_type = (0..dims.len()).find_map(dtype);
    let mut shapes: Vec<(String, Option<&str>)> = Vec::new();
    for (at, dims) in dims.iter().enumerate() {
        let dtype = dtype(at);
        for shape in dims.shapes() {
            let sizes = trace.args.shape(*shape);
            if !sizes.is_empty() && (dtype.is_some() || matches!(dims, Dims::Many(_))) {
                shapes.push((format::shape(sizes), dtype));
            }
        }
    }
    let n_all = shapes.len();
    let mut shapes = counted_alike(shapes);
    shapes.truncate(MAX_SHAPES);
    let n_more = n_all - shapes.iter().map(|(_, _, n)| n).sum::<usize>();
    // A conversion is identified by its two types.
    let one_type = shapes.windows(2).all(|two| two[0].1 == two[1].1);
    let texts = shapes.into_iter().map(|(shape, dtype, n)| {
        let shape = match n {
            1 => shape,
            n => format!("{n} of {shape}"),
        };
        match dtype {
            Some(dtype) if !one_type => format!("{shape} {dtype}"),
            _ => shape,
        }
    });
    let mut text = texts.collect::<Vec<String>>().join(", ");
    if n_more > 0 {
        text.push_str(&format!(" and {n_more} more"));
    }
    if let Some(dtype) = first_type.filter(|_| one_type) {
        text.push_str(&format!(" {dtype}"));
    }
    text.trim_start().to_owned()
}

/// Shapes with their types, and how many of these follow each other where that are three or more.
fn counted_alike<T: PartialEq>(shapes: Vec<(String, T)>) -> Vec<(String, T, usize)> {
    const LEAST: usize = 3;
    let mut found: Vec<(String, T, usize)> = Vec::new();
    let mut rest = shapes.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut alike = vec![first];
        while let Some(next) = rest.next_if(|next| alike.first() == Some(next)) {
            alike.push(next);
        }
        let n = alike.len();
        match n >= LEAST {
            true => found.extend(alike.pop().map(|(shape, dtype)| (shape, dtype, n))),
            false => found.extend(alike.into_iter().map(|(shape, dtype)| (shape, dtype, 1))),
        }
    }
    found
}

/// Removes what needs a reproducer from advice texts.
pub fn without_reproducer(text: &str) -> String {
    const PHRASES: &[(&str, &str)] = &[
        (", with the reproducer", ""),
        (" with the reproducer", ""),
        (
            "a reproducer under a hardware profiler",
            "a hardware profiler",
        ),
    ];
    PHRASES
        .iter()
        .fold(text.to_owned(), |text, (phrase, instead)| {
            text.replace(phrase, instead)
        })
}

/// A table of some operations, longest first.
pub fn operations_table(input: &Input, rows: &[&Row]) -> Table {
    /// Further rows are in the sheets.
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

/// The bandwidth that the calls of a row reach; `None` where their bytes are unknown.
pub fn gbps(input: &Input, row: &Row) -> Option<f64> {
    let rate = input.evaluation(row.operation).tb_per_s?;
    Some(rate * 1e3)
}

/// The memory bandwidth of the GPU.
pub fn memory_bandwidth(input: &Input) -> Value {
    Value::gbps(input.gpu().map(|gpu| gpu.mem_bw_gbps))
}

/// The rate of its matrix units for 16-bit types.
pub fn matrix_rate(input: &Input) -> Value {
    let rate = matrix_rate_16_bit(input);
    rate.map_or(Value::NO_TFLOPS, |(_, figure)| Value::Tflops(figure.tflops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_equal_shapes_are_counted() {
        let of = |shapes: &[&str]| {
            let typed = shapes.iter().map(|shape| ((*shape).to_owned(), ()));
            let counted = counted_alike(typed.collect());
            let texts = counted
                .into_iter()
                .map(|(shape, (), n)| format!("{n} {shape}"));
            texts.collect::<Vec<String>>().join(", ")
        };
        assert_eq!(of(&["2×8", "2×8", "2×8", "2"]), "3 2×8, 1 2");
        assert_eq!(of(&["8×8", "8×8", "2"]), "1 8×8, 1 8×8, 1 2");
    }

    #[test]
    fn what_cannot_be_called_has_no_reproducer() {
        #[rustfmt::skip]
        let cases = [
            ("tune tile sizes for these shapes with the reproducer, and check the choice.", "tune tile sizes for these shapes, and check the choice."),
            ("have it compared for these shapes, with the reproducer.", "have it compared for these shapes."),
            ("use more of the GPU: try them with the reproducer.", "use more of the GPU: try them."),
            ("measure it with a reproducer under a hardware profiler.", "measure it with a hardware profiler."),
            (NOT_SHOWN, "A trace does not show why a kernel is slow: a hardware profiler does."),
        ];
        for (with, without) in cases {
            assert_eq!(without_reproducer(with), without);
        }
    }
}

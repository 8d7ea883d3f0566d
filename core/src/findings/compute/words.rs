//! An operation in words: its time and share, its efficiency, its shapes.

use crate::base::format;
use crate::findings::Input;
use crate::findings::in_use::is_in_graph;
use crate::profile::operations::Operation;
use crate::trace::{Dims, ShapeId};

/// "3.41 ms (12.3 % of compute)".
pub fn time_and_share(row_ns: i64, input: &Input) -> String {
    let time = format::time_ns(row_ns);
    match input.computation_ns() {
        Some(all) => {
            let share = format::percent(row_ns as f64 / all as f64 * 100.0);
            format!("{time} ({share} of compute)")
        }
        None => time,
    }
}

/// "at 18.2 % of its roof"; empty where that is not known.
pub fn at_efficiency(efficiency: Option<f64>) -> String {
    efficiency.map_or(String::new(), |percent| {
        format!(" at {} of the roof", format::percent(percent))
    })
}

/// The shapes of the tensors of an operation and their type: "8944 × 1024, 1024 × 2816 bf16". Empty
/// for kernels of GPU graphs: what stands above a graph takes the tensors of all of it.
pub fn shapes(input: &Input, operation: &Operation) -> String {
    /// More operands than this are counted.
    const MAX_SHAPES: usize = 3;
    let args = operation.args(input.profile);
    let Some(args) = args.filter(|_| !is_in_graph(input.profile, operation)) else {
        return String::new();
    };
    let trace = &input.profile.trace;
    let dims = args.dims.as_deref().unwrap_or_default();
    let types = args.types.as_deref().unwrap_or_default();
    let mut shapes: Vec<(String, Option<&str>)> = Vec::new();
    let mut first_type = None;
    for (at, dims) in dims.iter().enumerate() {
        let dtype = types
            .get(at)
            .and_then(|dtype| format::dtype(trace.strings.get(*dtype)));
        let tensors: &[ShapeId] = match dims {
            Dims::One(shape) => std::slice::from_ref(shape),
            Dims::Many(shapes) => shapes,
        };
        for shape in tensors {
            let sizes = trace.args.shape(*shape);
            if !sizes.is_empty() && (dtype.is_some() || matches!(dims, Dims::Many(_))) {
                shapes.push((format::shape(sizes), dtype));
            }
        }
        if first_type.is_none() {
            first_type = dtype;
        }
    }
    let n_more = shapes.len().saturating_sub(MAX_SHAPES);
    shapes.truncate(MAX_SHAPES);
    // A conversion is told by its two types.
    let one_type = shapes.windows(2).all(|two| two[0].1 == two[1].1);
    let texts: Vec<String> = shapes
        .into_iter()
        .map(|(shape, dtype)| match dtype.filter(|_| !one_type) {
            Some(dtype) => format!("{shape} {dtype}"),
            None => shape,
        })
        .collect();
    let mut text = texts.join(", ");
    if n_more > 0 {
        text.push_str(&format!(" and {n_more} more"));
    }
    if let Some(dtype) = first_type.filter(|_| one_type) {
        text.push_str(&format!(" {dtype}"));
    }
    text.trim_start().to_owned()
}

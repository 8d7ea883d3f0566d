//! The arguments of a call, one by one.

use crate::base::format;
use crate::base::value::cell_columns;
use crate::report::fact_table::CellKind::{Name, Number, Text};
use crate::report::fact_table::{FactRow, FactTable};
use crate::trace::{Dims, OpArgs, StringId, Trace};

/// The arguments of a call, in order: the type ("bf16", or the profiler's spelling, as in "Scalar"), shape and strides
/// (one after the other for a list), and value.
pub(super) fn table(trace: &Trace, args: &OpArgs) -> Option<FactTable> {
    let dims = args.dims.as_deref().unwrap_or_default();
    let types = args.types.as_deref().unwrap_or_default();
    let strides = args.strides.as_deref().unwrap_or_default();
    let concrete = args.concrete.as_deref().unwrap_or_default();
    let n = dims.len().max(types.len()).max(concrete.len());
    let text = |ids: &[StringId], at: usize| {
        let id = ids.get(at);
        id.map_or("", |id| trace.strings.get(*id)).to_owned()
    };
    let dtype = |at: usize| {
        let kind = text(types, at);
        format::dtype(&kind).map(str::to_owned).ok_or(kind)
    };
    let listed = |strides: &[i64]| format::joined(strides.iter(), ", ");
    let shape = |at: usize, dims: &Dims| sizes(trace, dims, dtype(at).is_ok(), &format::shape);
    FactTable::of(
        "Arguments",
        0..n,
        cell_columns![
            "Argument", Number, |at| format::count(*at as u64 + 1);
            "Type", Text, |at| dtype(*at).unwrap_or_else(|kind| kind);
            "Shape", Text, |at| dims.get(*at).map_or(String::new(), |dims| shape(*at, dims));
            "Strides", Text, |at| strides.get(*at).map_or(String::new(), |strides| sizes(trace, strides, false, &listed));
            "Value", Name, |at| text(concrete, *at);
        ],
        |_| FactRow::default(),
    )
}

/// Shapes or strides as text. A tensor without dimensions is a scalar; anything else without dimensions is empty.
fn sizes(trace: &Trace, dims: &Dims, is_tensor: bool, text: &dyn Fn(&[i64]) -> String) -> String {
    match dims {
        Dims::One(id) => {
            let sizes = trace.args.shape(*id);
            match sizes.is_empty() && !is_tensor {
                true => String::new(),
                false => text(sizes),
            }
        }
        Dims::Many(ids) => format::joined(ids.iter().map(|id| text(trace.args.shape(*id))), "; "),
    }
}

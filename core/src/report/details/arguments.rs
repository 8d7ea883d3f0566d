//! What a call was given, argument by argument.

use crate::base::format;
use crate::trace::{Dims, OpArgs, Trace};

/// One argument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// What it is: "bf16", or as the profiler spells it, "Scalar".
    pub kind: String,
    /// Its shape, those of a list one after the other; empty for what is no tensor.
    pub shape: String,
    /// Its strides; empty where they were not recorded.
    pub strides: String,
    /// Its value; empty for tensors.
    pub value: String,
}

/// The arguments of a call, in order.
pub fn arguments(trace: &Trace, args: &OpArgs) -> Vec<Argument> {
    let dims = args.dims.as_deref().unwrap_or_default();
    let types = args.types.as_deref().unwrap_or_default();
    let strides = args.strides.as_deref().unwrap_or_default();
    let concrete = args.concrete.as_deref().unwrap_or_default();
    let n = dims.len().max(types.len()).max(concrete.len());
    let text = |ids: &[crate::trace::StringId], at: usize| {
        ids.get(at)
            .map_or("", |id| trace.strings.get(*id))
            .to_owned()
    };
    (0..n)
        .map(|at| {
            let kind = text(types, at);
            let is_tensor = format::dtype(&kind).is_some();
            Argument {
                shape: dims.get(at).map_or(String::new(), |dims| {
                    sizes(trace, dims, is_tensor, &format::shape)
                }),
                strides: strides.get(at).map_or(String::new(), |strides| {
                    sizes(trace, strides, false, &|strides| {
                        let strides: Vec<String> = strides.iter().map(i64::to_string).collect();
                        strides.join(", ")
                    })
                }),
                value: text(concrete, at),
                kind: match format::dtype(&kind) {
                    Some(short) => short.to_owned(),
                    None => kind,
                },
            }
        })
        .collect()
}

/// Shapes or strides as text. Without dimensions, a tensor is a scalar and anything else nothing.
fn sizes(trace: &Trace, dims: &Dims, is_tensor: bool, text: &dyn Fn(&[i64]) -> String) -> String {
    match dims {
        Dims::One(id) => {
            let sizes = trace.args.shape(*id);
            match sizes.is_empty() && !is_tensor {
                true => String::new(),
                false => text(sizes),
            }
        }
        Dims::Many(ids) => {
            let each: Vec<String> = ids.iter().map(|id| text(trace.args.shape(*id))).collect();
            each.join("; ")
        }
    }
}

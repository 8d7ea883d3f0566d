//! One case for each formula, small enough to check by hand; a file for each family.

mod attention;
mod cache;
mod conv;
mod elementwise;
mod fft;
mod gemm;
mod index;
mod linalg;
mod mhc;
mod moe;
mod norm;
mod optimizer;
mod pooling;
mod reduce;
mod resample;
mod rnn;
mod scaled_gemm;
mod serving;
mod serving_gemm;
mod shard;
mod softmax;
mod ssm;
mod template;
mod triton;

use super::{Modelled, OpInput, model, table};
use crate::names::known_ops;
use crate::trace::{OpArgsText, TraceBuilder};

/// A call: name, shapes, types and values as JSON.
fn modelled(name: &str, dims: &str, types: &str, values: &str) -> Option<Modelled> {
    let kernels: &[&str] = &["CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4, 128, 1>"];
    call(name, [dims, types, "", values], kernels)
}

fn call(
    name: &str,
    [dims, types, strides, concrete]: [&str; 4],
    kernels: &[&str],
) -> Option<Modelled> {
    let mut builder = TraceBuilder::default();
    let args = OpArgsText {
        dims,
        types,
        strides,
        concrete,
    };
    let id = builder.op_args(args);
    let trace = builder.finish();
    let input = OpInput {
        kernels,
        ..OpInput::new(&trace, name, trace.args.get(id)?)
    };
    (model(name)?.forward)(&input)
}

const HALF: &str = "c10::BFloat16";

/// Checks operations and bytes of a call. Shapes: `2x3, 3x4:float`; tensors are bf16 unless a type
/// follows, `[2x3 4]` is a list of tensors, `():float` a tensor of one element; an empty one stands
/// for an argument that is no tensor, whose value is given.
#[track_caller]
fn check(name: &str, shapes: &str, values: &[&str], flops: f64, bytes: f64) {
    let found = counted(name, shapes, values).map(|modelled| modelled.work);
    let found = found.map(|work| (work.flops, work.bytes));
    assert_eq!(found, Some((flops, Some(bytes))), "{name}");
}

/// What the model of an op says about a call, written as in [`check`].
fn counted(name: &str, shapes: &str, values: &[&str]) -> Option<Modelled> {
    let sizes = |shape: &str| format!("[{}]", shape.replace('x', ","));
    let mut rest = values.iter();
    let (mut dims, mut types, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for shape in shapes.split(", ") {
        let (shape, dtype) = shape.split_once(':').unwrap_or((shape, HALF));
        let list = shape.strip_prefix('[').and_then(|s| s.strip_suffix(']'));
        let (dim, dtype, value) = match (list, shape) {
            (Some(list), _) => {
                let tensors: Vec<String> = list.split(' ').map(sizes).collect();
                (format!("[{}]", tensors.join(",")), "TensorList", "")
            }
            (None, "") => {
                let value = rest.next().copied().unwrap_or_default();
                ("[]".to_owned(), "Scalar", value)
            }
            (None, "()") => ("[]".to_owned(), dtype, ""),
            (None, shape) => (sizes(shape), dtype, ""),
        };
        dims.push(dim);
        types.push(dtype);
        all.push(value);
    }
    all.extend(rest);
    let json = |texts: &[&str]| serde_json::to_string(texts).unwrap();
    modelled(
        name,
        &format!("[{}]", dims.join(",")),
        &json(&types),
        &json(&all),
    )
}

#[test]
fn the_table_is_sorted_and_has_what_the_reference_has() {
    for table in table::TABLES {
        for pair in table.windows(2) {
            assert!(pair[0].op < pair[1].op, "{}", pair[1].op);
        }
    }
    let mut names: Vec<&str> = table::models().map(|model| model.op).collect();
    names.sort_unstable();
    for pair in names.windows(2) {
        assert!(pair[0] < pair[1], "{} stands twice", pair[1]);
    }
    for model in table::models() {
        let known = known_ops().any(|op| op.name == model.op && op.modelled);
        assert_eq!(known, model.is_reference, "{}", model.op);
    }
    let n_modelled = known_ops().filter(|op| op.modelled).count();
    let n_reference = table::models().filter(|model| model.is_reference).count();
    assert_eq!(n_modelled, n_reference);
}

#[test]
fn what_is_not_recorded_has_no_work() {
    for dims in ["", "[]", "[[]]", "[[[2],[3]]]", "[[-1,-2],[3]]"] {
        for model in table::models().chain(table::PREFIX_MODELS) {
            let found = modelled(model.op, dims, "[]", "[]");
            let bytes = found.and_then(|modelled| modelled.work.bytes);
            assert!(bytes.is_none_or(|bytes| bytes >= 0.0), "{}", model.op);
        }
    }
    assert_eq!(modelled("aten::mm", "[[2,3]]", "[]", "[]"), None);
}

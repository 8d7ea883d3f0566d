//! A recorded operation as a call that can be run again.

use serde_json::{Value, json};

use super::arguments::{RecordedArguments, Tensor, Unknown};
use super::fill::{guessed_bound, init, packed_starts, plain_init};
use super::reason::{Reason, operator};
use crate::names::signatures::{Kind, Param, Schema, guessed_type, is_tensor_type, overloads};
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// An operator and the arguments to call it with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// "aten::addmm".
    pub(crate) op: String,
    /// Which overload; `None` if the runner has to determine it.
    pub(crate) overload: Option<&'static str>,
    pub(crate) positional: Vec<Value>,
    pub(crate) keywords: Vec<Value>,
    /// Assumptions that were made, as whole sentences.
    pub(crate) notes: Vec<String>,
}

impl Call {
    fn new(op: &str, overload: Option<&'static str>) -> Call {
        Call {
            op: op.to_owned(),
            overload,
            positional: Vec::new(),
            keywords: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Whether an operation can be run again on its own: its operator can be called by name, and everything it needs was
/// recorded.
pub(crate) fn is_callable(profile: &Profile, operation: &Operation) -> bool {
    call(profile, operation, None).is_ok()
}

/// The call of an operation. `common_dtype` replaces types that were not recorded.
pub(crate) fn call(
    profile: &Profile,
    operation: &Operation,
    common_dtype: Option<&str>,
) -> Result<Call, Reason> {
    if !operation.is_linked {
        return Err(Reason::KernelOnly);
    }
    let op = profile.trace.strings.get(operation.key.name);
    let name = operator(op).map_err(|reason| match (reason, operation.key.kernel) {
        (Reason::NoOperator, Some(_)) => Reason::KernelOnly,
        (reason, _) => reason,
    })?;
    let recorded = operation
        .arguments(profile)
        .and_then(RecordedArguments::new)
        .ok_or(Reason::NoArguments)?;
    let known = match op.strip_prefix("aten::") {
        Some(_) => overloads(name),
        None => Vec::new(),
    };
    let mut first_unknown = None;
    // An older or newer PyTorch may have recorded fewer or more arguments than the table lists.
    for may_miss in [false, true] {
        for schema in &known {
            match by_schema(&recorded, op, schema, may_miss, common_dtype) {
                Ok(call) => return Ok(call),
                Err(Unknown::OtherType) => {}
                Err(unknown) => first_unknown = first_unknown.or(Some(unknown)),
            }
        }
    }
    match first_unknown {
        Some(Unknown::List) => Err(Reason::TensorList),
        Some(Unknown::Value(name)) => Err(Reason::Value(Some(name))),
        Some(Unknown::Shape) => Err(Reason::Shape),
        _ => by_guess(&recorded, op, common_dtype),
    }
}

fn by_schema(
    recorded: &RecordedArguments,
    op: &str,
    schema: &Schema,
    may_miss: bool,
    common_dtype: Option<&str>,
) -> Result<Call, Unknown> {
    let (n, n_params) = (recorded.len(), schema.params.len());
    let may_be_left_out = |param: &Param| param.default.is_some() || param.is_optional;
    let is_right_length = match may_miss {
        false => n == n_params,
        true => {
            let rest = schema.params.get(n..).unwrap_or_default();
            n != n_params
                && rest.iter().all(may_be_left_out)
                && (n_params..n).all(|at| recorded.type_at(at).is_empty())
        }
    };
    if !is_right_length {
        return Err(Unknown::OtherType);
    }
    let values: Vec<Value> = schema
        .params
        .iter()
        .take(n)
        .enumerate()
        .map(|(at, param)| recorded.fits(at, param))
        .collect::<Result<_, _>>()?;
    let mut call = Call::new(op, Some(schema.overload));
    for (at, (param, value)) in schema.params.iter().zip(values).enumerate() {
        let written = match (param.kind, param.is_list, recorded.type_at(at)) {
            (_, _, "") => value,
            (Kind::Tensor, false, _) => {
                let tensors = recorded.tensors_at(at).ok_or(Unknown::Shape)?;
                let tensor = tensors.first().ok_or(Unknown::Shape)?;
                let init = init(op, schema, at, tensor, recorded);
                json_tensor(tensor, init, common_dtype)
            }
            (Kind::Tensor, true, _) => {
                json_list(&recorded.list_at(at)?, &mut call.notes, common_dtype)
            }
            _ => value,
        };
        let is_unrecorded_text = param.kind == Kind::Str && !written.is_null();
        if is_unrecorded_text || recorded.is_without_value(at) {
            call.notes.push(format!(
                "The value of {} was not recorded; its default {written} is used.",
                param.name
            ));
        }
        let argument = argument(param.name, &param.type_name(), written);
        match param.is_keyword {
            true => call.keywords.push(argument),
            false => call.positional.push(argument),
        }
    }
    Ok(call)
}

/// Whether elements of this type can be indices.
fn is_whole(dtype: &str) -> bool {
    matches!(dtype, "int" | "long int" | "long")
}

/// An operator that is not in the table: the runner asks PyTorch for its signature.
fn by_guess(
    recorded: &RecordedArguments,
    op: &str,
    common_dtype: Option<&str>,
) -> Result<Call, Reason> {
    let mut call = Call::new(op, None);
    if !op.starts_with("aten::") {
        call.notes.push(
            "No operator of PyTorch itself: name the module that registers it with --import."
                .to_owned(),
        );
    }
    let (mut is_absent, mut points_nowhere) = (false, false);
    for at in 0..recorded.len() {
        let of_type = recorded.type_at(at);
        let value = match of_type {
            "GenericList" | "OptionalTensorList" => return Err(Reason::TensorList),
            "TensorList" => {
                let tensors = recorded.list_at(at).map_err(|unknown| match unknown {
                    Unknown::Shape => Reason::Shape,
                    _ => Reason::TensorList,
                })?;
                json_list(&tensors, &mut call.notes, common_dtype)
            }
            _ if is_tensor_type(of_type) => {
                let tensors = recorded.tensors_at(at).ok_or(Reason::Shape)?;
                let tensor = tensors.first().ok_or(Reason::Shape)?;
                let starts = packed_starts(op, at, recorded);
                let bound = guessed_bound(op, recorded);
                points_nowhere |= starts.is_none() && bound.is_none() && is_whole(of_type);
                let init = starts.unwrap_or_else(|| plain_init(tensor, bound.unwrap_or(1)));
                json_tensor(tensor, init, common_dtype)
            }
            "" => {
                is_absent = true;
                Value::Null
            }
            _ => recorded.guess(at).ok_or(Reason::Value(None))?,
        };
        let guessed = guessed_type(of_type, recorded.value_at(at));
        call.positional
            .push(argument(&format!("arg{at}"), guessed, value));
    }
    if points_nowhere {
        call.notes.push(
            "Integer tensors are filled with 0: their values were not recorded, so other data may be read than in the trace."
                .to_owned(),
        );
    }
    if is_absent {
        call.notes.push(
            "Arguments without a recorded value are left out; strings are recorded like that, too."
                .to_owned(),
        );
    }
    Ok(call)
}

fn argument(name: &str, of_type: &str, value: Value) -> Value {
    json!({ "arg_name": name, "arg_type": of_type, "value": value })
}

/// A list of tensors, each filled according to its type. Lists have no recorded types; tensors without dimensions are
/// step counters, which are FP32 whatever the type of the parameters.
fn json_list(tensors: &[Tensor], notes: &mut Vec<String>, common_dtype: Option<&str>) -> Value {
    if tensors.iter().any(|tensor| !tensor.shape.is_empty()) {
        let dtype = common_dtype.unwrap_or("float");
        notes.push(format!(
            "Data types in tensor lists are not recorded; {dtype}, the most common one in the trace, is used."
        ));
    }
    let write = |tensor: &Tensor| {
        if tensor.shape.is_empty() {
            return json_tensor(tensor, json!({ "init": "uniform" }), Some("float"));
        }
        let typed = Tensor {
            dtype: common_dtype,
            ..*tensor
        };
        json_tensor(tensor, plain_init(&typed, 8), common_dtype)
    };
    Value::Array(tensors.iter().map(write).collect())
}

/// A tensor as JSON; the object `init` says how to fill it and is merged in.
fn json_tensor(tensor: &Tensor, init: Value, common_dtype: Option<&str>) -> Value {
    let dtype = tensor.dtype.or(common_dtype).unwrap_or("float");
    let mut value = json!({
        "shape": tensor.shape,
        "dtype": dtype,
        "strides": tensor.strides,
    });
    if let (Value::Object(value), Value::Object(init)) = (&mut value, init) {
        value.extend(init);
    }
    value
}

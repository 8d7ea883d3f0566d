//! An argument as the profiler recorded it.

use serde_json::{Value, json};

use crate::names::signatures::{Kind, Param, is_tensor_type};
use crate::perf::OpInput;
use crate::trace::{Dims, list_items};

/// Why an argument cannot be reconstructed from what was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Its type differs from the signature: another overload was called.
    OtherType,
    /// A list of tensors without shapes.
    List,
    /// The value of this argument was not recorded.
    Value(&'static str),
    /// A size or stride that no tensor can have.
    Shape,
}

/// The arguments of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedArguments<'a>(OpInput<'a>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tensor<'a> {
    pub(crate) shape: &'a [i64],
    /// `None` if not recorded; the tensor is then assumed to be dense.
    pub(crate) strides: Option<&'a [i64]>,
    /// In the profiler's notation; `None` in a list, where types are not recorded.
    pub(crate) dtype: Option<&'a str>,
}

impl<'a> RecordedArguments<'a> {
    /// `None` if shapes or types were not recorded.
    pub(crate) fn new(input: OpInput<'a>) -> Option<RecordedArguments<'a>> {
        let has_tensors = input.args.types.is_some() && input.args.dims.is_some();
        has_tensors.then_some(RecordedArguments(input))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.args.types.as_ref().map_or(0, |types| types.len())
    }

    pub(crate) fn type_at(&self, at: usize) -> &'a str {
        self.0.dtype(at)
    }

    pub(crate) fn value_at(&self, at: usize) -> &'a str {
        self.0.value(at)
    }

    /// The tensor or tensor list at an argument position.
    pub(crate) fn tensors_at(&self, at: usize) -> Option<Vec<Tensor<'a>>> {
        let OpInput { trace, args, .. } = self.0;
        let recorded = self.type_at(at);
        let shapes = args.dims.as_deref()?.get(at)?.shapes();
        let strides = args.strides.as_deref().and_then(|all| all.get(at));
        let strides = strides
            .map(Dims::shapes)
            .filter(|all| all.len() == shapes.len());
        let dtype = is_tensor_type(recorded).then_some(recorded);
        let tensors = shapes.iter().enumerate().map(|(at, shape)| {
            let shape = trace.args.shape(*shape);
            let strides = strides.and_then(|all| all.get(at));
            Tensor {
                shape,
                strides: strides
                    .map(|strides| trace.args.shape(*strides))
                    .filter(|strides| strides.len() == shape.len()),
                dtype,
            }
        });
        let tensors: Vec<Tensor> = tensors.collect();
        let is_possible = tensors.iter().all(|tensor| {
            let sizes = tensor.shape.iter().chain(tensor.strides.unwrap_or(&[]));
            sizes.copied().all(|size| size >= 0)
        });
        is_possible.then_some(tensors)
    }

    /// The value of a non-tensor argument, converted as the signature requires. Tensors become `null`.
    pub(crate) fn fits(&self, at: usize, param: &Param) -> Result<Value, Unknown> {
        let text = self.value_at(at).trim();
        match self.type_at(at) {
            "" => absent(param),
            "Scalar" | "ScalarList" if param.kind == Kind::Tensor => Err(Unknown::OtherType),
            "Scalar" if !param.is_list => match text.is_empty() {
                true => unrecorded(param),
                false => number(text, param.kind).ok_or(Unknown::OtherType),
            },
            "ScalarList" if param.is_list => match text.is_empty() {
                true => unrecorded(param),
                false => list(text, param.kind).ok_or(Unknown::OtherType),
            },
            "TensorList" if param.is_list && param.kind == Kind::Tensor => {
                self.list_at(at).map(|_| Value::Null)
            }
            "GenericList" | "OptionalTensorList" if param.is_list => Err(Unknown::List),
            recorded if is_tensor_type(recorded) => {
                let is_tensor = param.kind == Kind::Tensor && !param.is_list;
                is_tensor.then_some(Value::Null).ok_or(Unknown::OtherType)
            }
            _ => Err(Unknown::OtherType),
        }
    }

    /// The tensors of a list. A list without shapes is recorded like a number: it is empty if other lists of the call
    /// have shapes, otherwise unknown.
    pub(crate) fn list_at(&self, at: usize) -> Result<Vec<Tensor<'a>>, Unknown> {
        let tensors = self.tensors_at(at).ok_or(Unknown::Shape)?;
        // A one-element list is recorded like a tensor.
        let is_known = |tensors: &[Tensor]| {
            tensors.len() > 1 || tensors.iter().any(|one| !one.shape.is_empty())
        };
        if is_known(&tensors) {
            return Ok(tensors);
        }
        let has_others = (0..self.len()).any(|other| {
            let tensors = || self.tensors_at(other);
            self.type_at(other) == "TensorList" && tensors().is_some_and(|all| is_known(&all))
        });
        let dims = self.0.args.dims.as_deref();
        match (has_others, dims.and_then(|dims| dims.get(at))) {
            (true, Some(Dims::One(_))) => Ok(Vec::new()),
            (true, Some(Dims::Many(_))) => Ok(tensors),
            _ => Err(Unknown::List),
        }
    }

    /// Whether an argument is a number, a flag or a list of them without a recorded value.
    pub(crate) fn is_without_value(&self, at: usize) -> bool {
        matches!(self.type_at(at), "Scalar" | "ScalarList") && self.value_at(at).trim().is_empty()
    }

    /// The value of a non-tensor argument for an operator that is not in the table; `None` if it was not recorded.
    pub(crate) fn guess(&self, at: usize) -> Option<Value> {
        let text = self.value_at(at).trim();
        match self.type_at(at) {
            "Scalar" => number(text, Kind::Number),
            "ScalarList" => list(text, Kind::Number),
            _ => Some(Value::Null),
        }
    }
}

/// The value of an argument for which nothing was recorded: an absent tensor or value, or a string.
fn absent(param: &Param) -> Result<Value, Unknown> {
    if param.kind == Kind::Tensor && param.is_list {
        return Err(Unknown::List);
    }
    match (param.kind, param.default) {
        (Kind::Str, Some(default)) => python(default).ok_or(Unknown::Value(param.name)),
        (Kind::Str, None) => Err(Unknown::Value(param.name)),
        // PyTorch turns `None` into an undefined tensor.
        _ if param.is_optional || param.is_sequence_starts() => match param.default {
            Some(default) => python(default).ok_or(Unknown::Value(param.name)),
            None => Ok(Value::Null),
        },
        // A number would have been recorded as such, whatever its default, so this is a string.
        _ => Err(Unknown::OtherType),
    }
}

/// The value of a number, a flag or a list of them that was recorded without a value, as PyTorch 2.0 and older always
/// do. Factors and small constants do not change the time of an operator, nor do these flags; dimensions, sizes and
/// masks do.
fn unrecorded(param: &Param) -> Result<Value, Unknown> {
    const WITHOUT_EFFECT: [&str; 2] = ["keepdim", "non_blocking"];
    let is_harmless = matches!(param.kind, Kind::Number | Kind::Float) && !param.is_list
        || WITHOUT_EFFECT.contains(&param.name);
    let default = param.default.filter(|_| is_harmless);
    default
        .and_then(python)
        .filter(|value| !value.is_null())
        .ok_or(Unknown::Value(param.name))
}

/// A default value in Python syntax.
fn python(text: &str) -> Option<Value> {
    match text {
        "None" => Some(Value::Null),
        _ if text.starts_with('[') => list(text, Kind::Number),
        _ if text.starts_with('"') => Some(json!(text.trim_matches('"'))),
        _ => number(text, Kind::Number),
    }
}

fn number(text: &str, kind: Kind) -> Option<Value> {
    let flag = || match text {
        "True" | "true" => Some(json!(true)),
        "False" | "false" => Some(json!(false)),
        _ => None,
    };
    let whole = || text.parse::<i64>().ok().map(|number| json!(number));
    // JSON has no infinity: it is written as a string, which Python can parse.
    let real = || {
        let number: f64 = text.parse().ok()?;
        Some(match number.is_finite() {
            true => json!(number),
            false => json!(number.to_string()),
        })
    };
    match kind {
        Kind::Bool => flag(),
        Kind::Int | Kind::Dtype | Kind::Layout | Kind::MemoryFormat => whole(),
        Kind::Float => real(),
        Kind::Number => flag().or_else(whole).or_else(real),
        Kind::Tensor | Kind::Str | Kind::Device | Kind::Generator => None,
    }
}

fn list(text: &str, kind: Kind) -> Option<Value> {
    let items = list_items(text)?.into_iter().map(|item| number(item, kind));
    items.collect::<Option<Vec<Value>>>().map(Value::Array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_their_type_says() {
        let cases = [
            ("True", Kind::Bool, Some(json!(true))),
            ("1", Kind::Bool, None),
            ("-1", Kind::Int, Some(json!(-1))),
            ("0.5", Kind::Int, None),
            ("1", Kind::Float, Some(json!(1.0))),
            ("0.", Kind::Float, Some(json!(0.0))),
            ("-inf", Kind::Number, Some(json!("-inf"))),
            ("2", Kind::Number, Some(json!(2))),
            ("__import__('os')", Kind::Number, None),
        ];
        for (text, kind, expected) in cases {
            assert_eq!(number(text, kind), expected, "{text}");
        }
        assert_eq!(list("[1, 2]", Kind::Int), Some(json!([1, 2])));
        assert_eq!(
            list("[True, False]", Kind::Bool),
            Some(json!([true, false]))
        );
        assert_eq!(list("[]", Kind::Int), Some(json!([])));
        assert_eq!(list("[1, x]", Kind::Int), None);
        assert_eq!(python("\"none\""), Some(json!("none")));
        assert_eq!(python("[1,1]"), Some(json!([1, 1])));
    }
}

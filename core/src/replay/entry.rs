//! One operation as something that can be run again.

use serde_json::{Value, json};

use super::recorded::{Recorded, Tensor, Unknown, is_tensor_type};
use super::schema::{Kind, Param, Schema, guessed_type, overloads};
use crate::launch::is_graph_launch;
use crate::operations::Operation;
use crate::profile::Profile;

/// Why an operation cannot be run again from what a trace holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The call of a kernel is not known.
    KernelOnly,
    /// A kernel that a compiler generated.
    Generated,
    /// A recorded graph of kernels.
    Graph,
    /// A step of automatic differentiation.
    Autograd,
    /// It needs other ranks.
    Collective,
    /// No operator that can be called by name.
    NoOperator,
    /// Arguments were not recorded.
    NoArguments,
    /// A list of tensors without shapes.
    TensorList,
    /// A text or another value that is not recorded: that of the argument of this name, where it has
    /// one.
    Value(Option<&'static str>),
    /// A shape or stride that no tensor has.
    Shape,
}

impl Reason {
    /// Half a sentence for people.
    pub fn label(self) -> String {
        let words = match self {
            Reason::Value(Some(name)) => return format!("the value of {name} is not recorded"),
            Reason::KernelOnly => "a kernel whose operator is not known",
            Reason::Generated => "a kernel that a compiler generated: its source is not in a trace",
            Reason::Graph => "a recorded graph of kernels: what it holds is not in a trace",
            Reason::Autograd => "a step of automatic differentiation, no operator by itself",
            Reason::Collective => "communication: it needs the other ranks",
            Reason::NoOperator => "no operator that can be called by its name",
            Reason::NoArguments => {
                "its arguments were not recorded; profile with record_shapes=True"
            }
            Reason::TensorList => "it takes a list of tensors whose shapes were not recorded",
            Reason::Value(None) => "it takes a text or another value that is not recorded",
            Reason::Shape => "a shape or stride was recorded that no tensor has",
        };
        words.to_owned()
    }
}

/// An operator and the arguments to call it with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// "aten::addmm".
    pub(super) op: String,
    /// Which overload; `None` where the runner has to find out.
    pub(super) overload: Option<&'static str>,
    pub(super) positional: Vec<Value>,
    pub(super) keywords: Vec<Value>,
    /// What had to be assumed, in whole sentences.
    pub(super) notes: Vec<String>,
}

/// Kernels that `torch.compile` and its kind name.
const GENERATED: [&str; 3] = ["triton_", "triton::", "inductor::"];
/// Namespaces of collectives.
const COLLECTIVE: [&str; 5] = ["c10d", "_c10d_functional", "_dtensor", "nccl", "rccl"];

/// Whether there is something to call at all: an operator that is known by its name, with arguments.
/// What is generated, recorded as a graph or known as a kernel alone cannot be run by itself.
pub fn is_callable(profile: &Profile, operation: &Operation) -> bool {
    let reason = call(profile, operation, None).err();
    !matches!(
        reason,
        Some(
            Reason::KernelOnly
                | Reason::Generated
                | Reason::Graph
                | Reason::Autograd
                | Reason::Collective
                | Reason::NoOperator
                | Reason::NoArguments
        )
    )
}

/// The call of an operation. `common_dtype` stands in for types that were not recorded.
pub(super) fn call(
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
        .args(profile)
        .and_then(|args| Recorded::new(&profile.trace, args))
        .ok_or(Reason::NoArguments)?;
    let known = match op.strip_prefix("aten::") {
        Some(_) => overloads(name),
        None => Vec::new(),
    };
    let mut first_unknown = None;
    for n_missing in [Missing::None, Missing::Some] {
        for schema in &known {
            match by_schema(&recorded, op, schema, n_missing, common_dtype) {
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

/// The name of an operator without its namespace, where it can be called by its name.
fn operator(op: &str) -> Result<&str, Reason> {
    if is_graph_launch(op) {
        return Err(Reason::Graph);
    }
    if GENERATED.iter().any(|prefix| op.starts_with(prefix)) {
        return Err(Reason::Generated);
    }
    if op.starts_with("torch::autograd") || op.starts_with("autograd::") {
        return Err(Reason::Autograd);
    }
    if op == "record_param_comms" {
        return Err(Reason::Collective);
    }
    let is_word = |word: &str| {
        let mut letters = word.bytes();
        !word.is_empty() && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
    };
    match op.split_once("::") {
        Some((namespace, name)) if is_word(namespace) && is_word(name) => {
            match COLLECTIVE.contains(&namespace) {
                true => Err(Reason::Collective),
                false => Ok(name),
            }
        }
        None if op
            .trim_end_matches(|digit: char| digit.is_ascii_digit())
            .ends_with("Backward") =>
        {
            Err(Reason::Autograd)
        }
        _ => Err(Reason::NoOperator),
    }
}

/// Whether an older or newer PyTorch may have recorded fewer or more arguments than the table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    None,
    Some,
}

fn by_schema(
    recorded: &Recorded,
    op: &str,
    schema: &Schema,
    missing: Missing,
    common_dtype: Option<&str>,
) -> Result<Call, Unknown> {
    let (n, n_params) = (recorded.len(), schema.params.len());
    let may_be_left_out = |param: &Param| param.default.is_some() || param.is_optional;
    let is_right_length = match missing {
        Missing::None => n == n_params,
        Missing::Some => {
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
    let mut call = Call {
        op: op.to_owned(),
        overload: Some(schema.overload),
        positional: Vec::new(),
        keywords: Vec::new(),
        notes: Vec::new(),
    };
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
                let tensors = recorded.list_at(at)?;
                json_list(&tensors, &mut call.notes, common_dtype)
            }
            _ => value,
        };
        let is_unrecorded_text = param.kind == Kind::Str && !written.is_null();
        if is_unrecorded_text || recorded.is_without_value(at) {
            call.notes.push(format!(
                "The value of {} is not recorded: its default {written} is taken.",
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

/// An operator that is not in the table: the runner asks PyTorch for its signature.
fn by_guess(recorded: &Recorded, op: &str, common_dtype: Option<&str>) -> Result<Call, Reason> {
    let mut call = Call {
        op: op.to_owned(),
        overload: None,
        positional: Vec::new(),
        keywords: Vec::new(),
        notes: Vec::new(),
    };
    if !op.starts_with("aten::") {
        call.notes.push(
            "No operator of PyTorch itself: name the module that registers it with --import."
                .to_owned(),
        );
    }
    let mut is_absent = false;
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
                let init = starts.unwrap_or_else(|| plain_init(tensor, 1));
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
    if is_absent {
        call.notes.push(
            "Arguments of which nothing is recorded are taken as absent: texts are recorded like that, too."
                .to_owned(),
        );
    }
    Ok(call)
}

fn argument(name: &str, of_type: &str, value: Value) -> Value {
    json!({ "arg_name": name, "arg_type": of_type, "value": value })
}

fn note_dtype(notes: &mut Vec<String>, common_dtype: Option<&str>) {
    let dtype = common_dtype.unwrap_or("float");
    notes.push(format!(
        "Element types in lists are not recorded: {dtype}, the commonest of the trace, is taken."
    ));
}

/// A list of tensors, each filled as its type wants it. Their types are not recorded; those without
/// dimensions count steps, in single precision whatever the parameters are.
fn json_list(tensors: &[Tensor], notes: &mut Vec<String>, common_dtype: Option<&str>) -> Value {
    if tensors.iter().any(|tensor| !tensor.shape.is_empty()) {
        note_dtype(notes, common_dtype);
    }
    let write = |tensor: &Tensor| {
        let is_counter = tensor.shape.is_empty();
        let dtype = if is_counter {
            Some("float")
        } else {
            common_dtype
        };
        let init = match is_counter {
            true => json!({ "init": "uniform" }),
            false => plain_init(&Tensor { dtype, ..*tensor }, 8),
        };
        json_tensor(tensor, init, dtype)
    };
    Value::Array(tensors.iter().map(write).collect())
}

/// `init` says how the tensor is filled: an object that is merged in.
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

/// How a tensor of a known operator is filled.
fn init(op: &str, schema: &Schema, at: usize, tensor: &Tensor, recorded: &Recorded) -> Value {
    /// Arguments that are divided by, or whose root is taken.
    const POSITIVE: [&str; 10] = [
        "running_var",
        "save_var",
        "save_invstd",
        "invstd",
        "rstd",
        "var",
        "logsumexp",
        "scale_a",
        "scale_b",
        "scales",
    ];
    /// Operators that are defined for positive numbers alone.
    const ROOTS: [&str; 12] = [
        "log",
        "log2",
        "sqrt",
        "rsqrt",
        "log1p",
        "div",
        "div_",
        "reciprocal",
        "erfinv",
        "pow",
        "multinomial",
        "addcdiv_",
    ];
    let Some(param) = schema.params.get(at) else {
        return plain_init(tensor, 1);
    };
    let name = op.strip_prefix("aten::").unwrap_or(op);
    let is_written_only = (matches!(name, "fill_" | "zero_" | "copy_") && at == 0)
        || (param.name == "out" && param.is_keyword)
        || param.name == "grad_input";
    if is_written_only {
        return json!({ "init": null });
    }
    if param.is_sequence_starts() {
        let of = if param.name.ends_with("_q") {
            "query"
        } else {
            "key"
        };
        let of = schema.params.iter().position(|param| param.name == of);
        let tokens = of.and_then(|at| packed_tokens(at, recorded));
        return json!({ "init": "cumulative", "high": tokens.unwrap_or(0) });
    }
    if param.is_group_ends() {
        let size = grouped_size(recorded).unwrap_or(0);
        return json!({ "init": "group_ends", "high": size });
    }
    let is_probability = name.starts_with("bernoulli") || name.starts_with("binary_cross_entropy");
    let is_positive = POSITIVE.contains(&param.name) || ROOTS.contains(&name);
    match tensor.dtype {
        Some(dtype) if is_real(dtype) && is_probability && !name.contains("logits") => {
            json!({ "init": "probability" })
        }
        Some(dtype) if is_real(dtype) && is_positive => json!({ "init": "uniform" }),
        _ => plain_init(tensor, index_bound(name, param, recorded).unwrap_or(8)),
    }
}

/// Positions of packed sequences together: T × H × d, in some libraries 1 × T × H × d.
fn packed_tokens(at: usize, recorded: &Recorded) -> Option<i64> {
    match recorded.tensors_at(at)?.first()?.shape {
        [tokens, _, _] | [1, tokens, _, _] => Some(*tokens),
        _ => None,
    }
}

/// Where packed sequences begin, among the arguments of an attention whose signature is not known: of
/// the lists of whole numbers behind Q, K and V the first is that of the queries, the second that of the
/// keys.
fn packed_starts(op: &str, at: usize, recorded: &Recorded) -> Option<Value> {
    let op = op.to_ascii_lowercase();
    let is_attention = ["attn", "attention", "_fa2_", "_fa3_", "mha"]
        .iter()
        .any(|word| op.contains(word));
    let is_packed = |at: &usize| packed_tokens(*at, recorded).is_some();
    let operands: Vec<usize> = (0..recorded.len()).filter(is_packed).collect();
    let is_starts = |at: &usize| {
        let tensors = recorded.tensors_at(*at).unwrap_or_default();
        recorded.type_at(*at) == "int"
            && matches!(tensors.as_slice(), [one] if matches!(one.shape, [n] if *n > 1))
    };
    let starts: Vec<usize> = (0..recorded.len()).filter(is_starts).take(2).collect();
    let which = starts.iter().position(|starts| *starts == at)?;
    // As many sequences of keys as of queries; other lists hold lengths.
    let n_starts = |at: &usize| Some(recorded.tensors_at(*at)?.first()?.shape);
    if n_starts(starts.first()?) != n_starts(&at) {
        return None;
    }
    // Before the queries of a backward pass stands the gradient of their result.
    let is_backward = op.contains("bwd") || op.contains("backward");
    let operand = operands.get(which + usize::from(is_backward))?;
    let tokens = packed_tokens(*operand, recorded).filter(|_| is_attention)?;
    Some(json!({ "init": "cumulative", "high": tokens }))
}

/// What the groups of a grouped product share: the rows of A, the columns of B, or the sum.
fn grouped_size(recorded: &Recorded) -> Option<i64> {
    let shape = |at: usize| Some(recorded.tensors_at(at)?.first()?.shape);
    match (shape(0)?, shape(1)?) {
        ([rows, _], [_, _, _]) => Some(*rows),
        ([_, _, _], [_, columns]) => Some(*columns),
        ([_, sum], [_, _]) => Some(*sum),
        _ => None,
    }
}

fn plain_init(tensor: &Tensor, high: i64) -> Value {
    match tensor.dtype {
        Some("bool") => json!({ "init": "bernoulli" }),
        Some(dtype) if !is_real(dtype) => json!({ "init": "randint", "high": high.max(1) }),
        _ => json!({ "init": "normal" }),
    }
}

fn is_real(dtype: &str) -> bool {
    dtype.starts_with("c10::") || matches!(dtype, "float" | "double")
}

/// Indices are below this: those of an operator must lie within what it looks up.
fn index_bound(op: &str, param: &Param, recorded: &Recorded) -> Option<i64> {
    let sizes = |at: usize| Some(recorded.tensors_at(at)?.first()?.shape);
    let along = |shape: &[i64], at: usize| {
        let dim: i64 = recorded.value_at(at).parse().ok()?;
        let dim = if dim < 0 {
            dim + shape.len() as i64
        } else {
            dim
        };
        shape.get(usize::try_from(dim).ok()?).copied()
    };
    match (op, param.name) {
        ("embedding", "indices") => sizes(0)?.first().copied(),
        ("embedding_dense_backward", "indices") => recorded.value_at(2).parse().ok(),
        ("index_select" | "gather" | "index_add" | "index_add_", "index") => along(sizes(0)?, 1),
        ("scatter" | "scatter_" | "scatter_add" | "scatter_add_", "index") => along(sizes(0)?, 1),
        ("max_pool2d_with_indices_backward", "indices") => {
            let [.., height, width] = sizes(1)? else {
                return None;
            };
            height.checked_mul(*width)
        }
        ("cross_entropy_loss" | "nll_loss" | "nll_loss_forward", "target") => {
            let logits = sizes(0)?;
            logits.get(1).or(logits.first()).copied()
        }
        ("nll_loss_backward", "target") => {
            let logits = sizes(1)?;
            logits.get(1).or(logits.first()).copied()
        }
        ("repeat_interleave", "repeats") => Some(2),
        _ => None,
    }
}

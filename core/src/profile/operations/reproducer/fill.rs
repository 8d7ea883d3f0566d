//! How to fill a tensor: with values that its operator is defined for, and with indices within bounds.

use serde_json::{Value, json};

use super::arguments::{RecordedArguments, Tensor};
use crate::names::attention::is_backward;
use crate::names::signatures::{Param, Schema};
use crate::names::words::holds;
use crate::profile::operations::dataflow::from_start;

/// How to fill a tensor of a known operator.
pub(crate) fn init(
    op: &str,
    schema: &Schema,
    at: usize,
    tensor: &Tensor,
    recorded: &RecordedArguments,
) -> Value {
    /// Arguments used as a divisor or under a root.
    #[rustfmt::skip]
    const POSITIVE: [&str; 10] = [
        "running_var", "save_var", "save_invstd", "invstd", "rstd", "var", "logsumexp", "scale_a",
        "scale_b", "scales",
    ];
    /// Operators that are defined only for positive numbers.
    #[rustfmt::skip]
    const ROOTS: [&str; 12] = [
        "log", "log2", "sqrt", "rsqrt", "log1p", "div", "div_", "reciprocal", "erfinv", "pow",
        "multinomial", "addcdiv_",
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
    if name == "_embedding_bag" && param.name == "offsets" {
        // Where each bag starts among the indices.
        let indices = recorded.tensors_at(1).unwrap_or_default();
        let n = indices.first().and_then(|indices| indices.shape.first());
        return json!({ "init": "cumulative", "high": n.copied().unwrap_or(0) });
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

pub(crate) fn plain_init(tensor: &Tensor, high: i64) -> Value {
    match tensor.dtype {
        Some("bool") => json!({ "init": "bernoulli" }),
        Some(dtype) if !is_real(dtype) => json!({ "init": "randint", "high": high.max(1) }),
        _ => json!({ "init": "normal" }),
    }
}

fn is_real(dtype: &str) -> bool {
    dtype.starts_with("c10::") || matches!(dtype, "float" | "double")
}

/// Operators whose `index` refers to the dimension given as an argument.
#[rustfmt::skip]
const ALONG: &[&str] = &[
    "index_select", "gather", "index_add", "index_copy", "index_fill", "index_reduce", "scatter",
    "scatter_add",
];

/// Exclusive upper bound for the indices of an operator.
fn index_bound(op: &str, param: &Param, recorded: &RecordedArguments) -> Option<i64> {
    let sizes = |at: usize| Some(recorded.tensors_at(at)?.first()?.shape);
    let along = |shape: &[i64], at: usize| {
        let dim = from_start(recorded.value_at(at), shape.len())?;
        shape.get(dim).copied()
    };
    let classes = |logits: &[i64]| logits.get(1).or(logits.first()).copied();
    match (op, param.name) {
        ("embedding", "indices") => sizes(0)?.first().copied(),
        ("embedding_dense_backward", "indices") => recorded.value_at(2).parse().ok(),
        ("embedding_bag" | "_embedding_bag", "indices") => sizes(0)?.first().copied(),
        ("_embedding_bag_dense_backward", "indices") => recorded.value_at(5).parse().ok(),
        ("_embedding_bag_dense_backward", "offset2bag") => sizes(0)?.first().copied(),
        (op, "index") if ALONG.contains(&op.trim_end_matches('_')) => along(sizes(0)?, 1),
        ("take", "index") => sizes(0)?.iter().copied().reduce(i64::saturating_mul),
        ("take_along_dim", "indices") => along(sizes(0)?, 2),
        ("max_pool2d_with_indices_backward", "indices") => {
            let [.., height, width] = sizes(1)? else {
                return None;
            };
            height.checked_mul(*width)
        }
        ("cross_entropy_loss" | "nll_loss" | "nll_loss_forward", "target") => classes(sizes(0)?),
        ("nll_loss_backward", "target") => classes(sizes(1)?),
        ("repeat_interleave", "repeats") => Some(2),
        _ => None,
    }
}

/// Start offsets of packed sequences, for an attention with unknown signature: of the integer lists after Q, K and V,
/// the first belongs to the queries and the second to the keys.
pub(crate) fn packed_starts(op: &str, at: usize, recorded: &RecordedArguments) -> Option<Value> {
    let is_attention = holds(op, &["attn", "attention", "_fa2_", "_fa3_", "mha"]);
    let is_packed = |at: &usize| packed_tokens(*at, recorded).is_some();
    let operands: Vec<usize> = (0..recorded.len()).filter(is_packed).collect();
    let is_starts = |at: &usize| {
        let tensors = recorded.tensors_at(*at).unwrap_or_default();
        recorded.type_at(*at) == "int"
            && matches!(tensors.as_slice(), [one] if matches!(one.shape, [n] if *n > 1))
    };
    let starts: Vec<usize> = (0..recorded.len()).filter(is_starts).take(2).collect();
    let which = starts.iter().position(|starts| *starts == at)?;
    // Keys have as many sequences as queries; other lists hold lengths.
    let n_starts = |at: &usize| Some(recorded.tensors_at(*at)?.first()?.shape);
    if n_starts(starts.first()?) != n_starts(&at) {
        return None;
    }
    // In a backward pass, the gradient of the result precedes the queries.
    let operand = operands.get(which + usize::from(is_backward(op)))?;
    let tokens = packed_tokens(*operand, recorded).filter(|_| is_attention)?;
    Some(json!({ "init": "cumulative", "high": tokens }))
}

/// Exclusive upper bound for the integers of an operator with unknown signature, if its name implies what they index:
/// experts, each with its own matrix, or slots of a paged cache.
pub(crate) fn guessed_bound(op: &str, recorded: &RecordedArguments) -> Option<i64> {
    let mut shapes =
        (0..recorded.len()).filter_map(|at| Some(recorded.tensors_at(at)?.first()?.shape));
    if holds(op, &["experts", "fused_moe"]) {
        return shapes.find_map(|shape| match shape {
            [experts, _, _] => Some(*experts),
            _ => None,
        });
    }
    if holds(op, &["reshape_and_cache_flash"]) {
        return shapes.find_map(|shape| match shape {
            [blocks, block, _, _] => blocks.checked_mul(*block),
            _ => None,
        });
    }
    None
}

/// Total positions of packed sequences: T × H × d, in some libraries 1 × T × H × d.
fn packed_tokens(at: usize, recorded: &RecordedArguments) -> Option<i64> {
    match recorded.tensors_at(at)?.first()?.shape {
        [tokens, _, _] | [1, tokens, _, _] => Some(*tokens),
        _ => None,
    }
}

/// The dimension that the groups of a grouped GEMM divide: the rows of A, the columns of B, or K.
fn grouped_size(recorded: &RecordedArguments) -> Option<i64> {
    let shape = |at: usize| Some(recorded.tensors_at(at)?.first()?.shape);
    match (shape(0)?, shape(1)?) {
        ([rows, _], [_, _, _]) => Some(*rows),
        ([_, _, _], [_, columns]) => Some(*columns),
        ([_, sum], [_, _]) => Some(*sum),
        _ => None,
    }
}

//! Chains of operators that could be fused into one kernel, by the names of operators and modules.

use std::ops::Range;

use ChainKind::*;

use super::words::holds;
use crate::base::labels::labeled;

/// Element-wise operators, without `aten::` and a trailing underscore.
#[rustfmt::skip]
pub(crate) const ELEMENTWISE: &[&str] = &[
    "add", "sub", "rsub", "mul", "div", "pow", "square", "neg", "abs", "exp", "log", "sqrt",
    "rsqrt", "reciprocal", "sigmoid", "tanh", "silu", "gelu", "relu", "mish", "hardswish",
    "leaky_relu", "elu", "softplus", "erf", "clamp", "clamp_min", "copy", "cat", "where",
    "masked_fill", "sin", "cos", "addcmul", "addcdiv", "lerp", "native_dropout", "dropout",
    "maximum", "minimum", "threshold_backward", "silu_backward", "hardtanh", "hardsigmoid",
    "bernoulli",
];

/// Operators that reduce some dimensions.
pub(crate) const REDUCTIONS: &[&str] = &["mean", "sum", "amax", "var", "std", "norm"];

/// Fused norms that normalize each row separately.
#[rustfmt::skip]
pub(crate) const ROW_NORMS: &[&str] = &[
    "layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm",
];

/// Fused norms that need statistics of a whole batch or group.
#[rustfmt::skip]
pub(crate) const BATCH_NORMS: &[&str] = &[
    "batch_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm",
    "_batch_norm_impl_index", "group_norm", "native_group_norm", "instance_norm",
];

/// Activation functions. `relu` runs as `clamp_min`.
#[rustfmt::skip]
pub(crate) const ACTIVATIONS: &[&str] = &[
    "clamp_min", "hardtanh", "hardsigmoid", "silu", "gelu", "relu", "sigmoid", "tanh", "mish",
    "hardswish", "leaky_relu", "elu",
];

/// Modules that only contain others: adjacent operators in them may be unrelated.
#[rustfmt::skip]
const CONTAINERS: &[&str] = &[
    "sequential", "modulelist", "moduledict", "block", "model", "encoder", "decoder", "stage",
    "stack",
];

/// Whether the result of an activation is multiplied later on; a factor before it is no gate.
fn is_gate(ops: &[&str], activation: &str) -> bool {
    let mut from = ops.iter().skip_while(|op| **op != activation);
    from.any(|op| *op == "mul")
}

/// Whether operators compute `x / 2 · (1 + erf(x / √2))`, or `tanh` of a polynomial in place of `erf`: one is added to
/// the function's result, and that is multiplied with the input.
fn is_gelu(ops: &[&str]) -> bool {
    let function = ops.iter().position(|op| matches!(*op, "tanh" | "erf"));
    let Some((before, after)) = function.map(|at| ops.split_at(at)) else {
        return false;
    };
    let is_scaled = before.iter().any(|op| matches!(*op, "mul" | "div"));
    is_scaled && after.contains(&"add") && after.contains(&"mul")
}

/// Where the operators of an RMS or layer norm are in a chain that goes on before or after them.
pub(crate) fn norm_within(ops: &[&str]) -> Option<Range<usize>> {
    let is = |at: usize, names: &[&str]| ops.get(at).is_some_and(|op| names.contains(op));
    let root = ops.iter().position(|op| *op == "rsqrt")?;
    let mut start = ops.get(..root)?.iter().position(|op| *op == "mean")?;
    let before = |at: usize, names: &[&str]| at > 0 && is(at - 1, names);
    // The mean of the squares, or the mean that a layer norm subtracts.
    let subtracts = ops.get(start..root)?.contains(&"sub");
    if !subtracts && before(start, &["pow", "square", "mul"]) {
        start -= 1;
    }
    // The norm computes in FP32.
    if before(start, &["copy"]) {
        start -= 1;
    }
    // The inverse root and the weight are multiplied in; a layer norm also adds a bias.
    let (mut end, mut n_factors) = (root + 1, 0);
    while n_factors < 2 && is(end, &["mul", "copy"]) {
        n_factors += usize::from(is(end, &["mul"]));
        end += 1;
    }
    end += usize::from(subtracts && is(end, &["add"]));
    end += usize::from(is(end, &["copy"]));
    Some(start..end)
}

/// Whether an operator is a fused norm.
pub(crate) fn is_norm(name: &str) -> bool {
    ROW_NORMS.contains(&name) || BATCH_NORMS.contains(&name)
}

/// Whether a module of this class is only a container.
pub(crate) fn is_container(class: &str) -> bool {
    class.to_ascii_lowercase().ends_with("layer") || holds(class, CONTAINERS)
}

labeled! {
    /// What a chain of operators computes.
    pub(crate) enum ChainKind {
        RmsNorm => "RMS normalization",
        LayerNorm => "Layer normalization",
        Rope => "Rotary embedding",
        Dropout => "Dropout",
        GatedActivation => "Gated activation",
        Gelu => "GELU",
        GemmEpilogue => "GEMM or convolution epilogue",
        NormEpilogue => "Normalization epilogue",
        ResidualNorm => "Residual addition and normalization",
        BiasActivation => "Addition and activation",
        Elementwise => "Chain of element-wise operators",
    }
}

impl ChainKind {
    /// Classifies the operators of a chain, in order, regardless of what precedes them.
    pub(crate) fn of(ops: &[&str], ends_in_norm: bool) -> ChainKind {
        let has = |op: &str| ops.contains(&op);
        let has_power = has("pow") || has("square") || has("var") || has("mul");
        if has("neg") && has("cat") && has("mul") && has("add") {
            Rope
        } else if has("rsqrt") && has("mean") && has_power && has("sub") {
            LayerNorm
        } else if has("rsqrt") && has("mean") && has_power {
            RmsNorm
        } else if has("bernoulli") && has("mul") {
            Dropout
        } else if ["silu", "gelu", "sigmoid"]
            .iter()
            .any(|act| is_gate(ops, act))
        {
            GatedActivation
        } else if is_gelu(ops) {
            Gelu
        } else if ends_in_norm {
            ResidualNorm
        } else if ops.len() == 2 && has("add") && ops.iter().any(|op| ACTIVATIONS.contains(op)) {
            BiasActivation
        } else {
            Elementwise
        }
    }

    /// Whether the name of a module matches this kind.
    pub(crate) fn is_named(self, class: &str) -> bool {
        #[rustfmt::skip]
        let words: &[&str] = match self {
            RmsNorm | LayerNorm | NormEpilogue | ResidualNorm => &["norm"],
            Rope => &["rotary", "rope", "attention", "attn"],
            GatedActivation => &["silu", "glu", "mlp", "feedforward", "ffn"],
            Dropout => &["drop"],
            Gelu => &["gelu"],
            GemmEpilogue => &["linear", "mlp", "conv", "feedforward", "intermediate", "output", "ffn"],
            BiasActivation => &["activation", "relu", "gelu", "silu", "mlp"],
            Elementwise => &[],
        };
        holds(class, words)
    }

    /// Whether it is an epilogue of a GEMM, convolution or norm that is not part of the chain.
    pub(crate) fn is_epilogue(self) -> bool {
        matches!(self, GemmEpilogue | NormEpilogue)
    }

    /// Whether its operators implement a known formula, so that it is known which input is read more than once.
    pub(crate) fn is_formula(self) -> bool {
        matches!(self, RmsNorm | LayerNorm | Rope | Gelu | Dropout)
    }
}

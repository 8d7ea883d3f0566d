//! What a chain of operators is called, and how sure that is.

use super::super::finding::{Confidence, Priority};

/// A chain that one kernel could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Pattern {
    RmsNorm,
    LayerNorm,
    Rope,
    SwiGlu,
    Gelu,
    GemmEpilogue,
    NormEpilogue,
    ResidualNorm,
    BiasActivation,
    Elementwise,
}

/// What a confidence rests on.
pub(super) fn why(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "both the name of the module and the operators say so",
        Confidence::Medium => "one of the name of the module and the operators says so",
        Confidence::Low => "neither a name nor a known set of operators says so",
    }
}

/// What a network computes of each element between its layers. `relu` runs as `clamp_min`.
pub(super) const ACTIVATIONS: [&str; 12] = [
    "clamp_min",
    "hardtanh",
    "hardsigmoid",
    "silu",
    "gelu",
    "relu",
    "sigmoid",
    "tanh",
    "mish",
    "hardswish",
    "leaky_relu",
    "elu",
];

impl Pattern {
    /// By the operators, in order, whatever stands before them.
    pub(super) fn of(ops: &[&str], ends_in_norm: bool) -> Pattern {
        let has = |op: &str| ops.contains(&op);
        let has_power = has("pow") || has("square") || has("var") || has("mul");
        if has("neg") && has("cat") && has("mul") && has("add") {
            Pattern::Rope
        } else if has("rsqrt") && has("mean") && has_power && has("sub") {
            Pattern::LayerNorm
        } else if has("rsqrt") && has("mean") && has_power {
            Pattern::RmsNorm
        } else if (has("silu") || has("gelu") || has("sigmoid")) && has("mul") {
            Pattern::SwiGlu
        } else if (has("tanh") || has("erf")) && has("mul") && has("add") {
            Pattern::Gelu
        } else if ends_in_norm {
            Pattern::ResidualNorm
        } else if ops.len() == 2 && has("add") && ops.iter().any(|op| ACTIVATIONS.contains(op)) {
            Pattern::BiasActivation
        } else {
            Pattern::Elementwise
        }
    }

    /// As files write it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Pattern::RmsNorm => "rms_norm",
            Pattern::LayerNorm => "layer_norm",
            Pattern::Rope => "rope",
            Pattern::SwiGlu => "gated_activation",
            Pattern::Gelu => "gelu",
            Pattern::GemmEpilogue => "gemm_epilogue",
            Pattern::NormEpilogue => "norm_epilogue",
            Pattern::ResidualNorm => "residual_norm",
            Pattern::BiasActivation => "bias_activation",
            Pattern::Elementwise => "elementwise_chain",
        }
    }

    /// For people.
    pub(super) fn label(self) -> &'static str {
        match self {
            Pattern::RmsNorm => "RMS normalisation",
            Pattern::LayerNorm => "Layer normalisation",
            Pattern::Rope => "Rotary embedding",
            Pattern::SwiGlu => "Gated activation",
            Pattern::Gelu => "GELU",
            Pattern::GemmEpilogue => "Matrix product with what follows it",
            Pattern::NormEpilogue => "Normalization with what follows it",
            Pattern::ResidualNorm => "Residual addition and normalisation",
            Pattern::BiasActivation => "Addition and activation",
            Pattern::Elementwise => "Chain of element-wise operators",
        }
    }

    /// What to change in the model, where these are the operators.
    pub(super) fn model(self, ops: &[&str], is_behind_batch_norm: bool) -> &'static str {
        match self {
            Pattern::RmsNorm => {
                "Call `torch.nn.functional.rms_norm` or compile the module with `torch.compile`, so that one kernel reads the input once and writes the result."
            }
            Pattern::LayerNorm => {
                "Call `torch.nn.functional.layer_norm` in place of the separate steps, or compile the module with `torch.compile`."
            }
            Pattern::Rope => {
                "Use a fused rotary embedding, or compile the function that applies it with `torch.compile`."
            }
            Pattern::SwiGlu => {
                "Fuse the activation with the product of the gate, with a fused operator or `torch.compile`."
            }
            // The exact function; the other is an approximation of it.
            Pattern::Gelu if ops.contains(&"erf") => {
                "Call `torch.nn.functional.gelu` in place of its parts."
            }
            Pattern::Gelu => {
                "Call `torch.nn.functional.gelu` with `approximate=\"tanh\"` in place of its parts."
            }
            Pattern::GemmEpilogue => {
                "Compile the module with `torch.compile` and tuned matrix products, or call an operator that takes bias and activation along."
            }
            Pattern::NormEpilogue if is_behind_batch_norm => {
                "Use a normalisation that takes activation and residual along, or compile the module with `torch.compile`; in evaluation a batch norm can be folded into the convolution before it."
            }
            Pattern::NormEpilogue if ops.starts_with(&["mul", "add"]) => {
                "Use a normalisation that takes scale and shift along, or compile the module with `torch.compile`."
            }
            Pattern::NormEpilogue => {
                "Use a normalisation that takes activation and residual along, or compile the module with `torch.compile`."
            }
            Pattern::ResidualNorm => {
                "Use a normalisation that takes the residual along, or compile the block with `torch.compile`."
            }
            Pattern::BiasActivation | Pattern::Elementwise => {
                "Compile the code around these operators with `torch.compile`, which makes one kernel of them."
            }
        }
    }

    /// What to ask of a kernel.
    pub(super) fn kernel(self) -> &'static str {
        match self {
            Pattern::GemmEpilogue => {
                "Offer the element-wise steps as an epilogue of the matrix product, so that its result is not written and read again."
            }
            Pattern::NormEpilogue => {
                "Offer activation and residual addition as the end of the normalisation, so that its result is not written and read again."
            }
            _ => {
                "Provide one kernel for the chain that keeps intermediate results on chip and touches memory for inputs and result alone."
            }
        }
    }

    /// Whether the name of a module says the same.
    pub(super) fn is_named(self, class: &str) -> bool {
        let words: &[&str] = match self {
            Pattern::RmsNorm | Pattern::ResidualNorm | Pattern::NormEpilogue => &["norm"],
            Pattern::LayerNorm => &["layernorm", "layer_norm", "norm"],
            Pattern::Rope => &["rotary", "rope", "attention", "attn"],
            Pattern::SwiGlu => &["silu", "swiglu", "glu", "mlp", "feedforward", "ffn"],
            Pattern::Gelu => &["gelu"],
            Pattern::GemmEpilogue => &[
                "linear",
                "mlp",
                "conv",
                "feedforward",
                "intermediate",
                "output",
                "ffn",
            ],
            Pattern::BiasActivation => &["activation", "relu", "gelu", "silu", "mlp"],
            Pattern::Elementwise => &[],
        };
        let class = class.to_ascii_lowercase();
        words.iter().any(|word| class.contains(word))
    }

    /// Whether it is the end of a product or norm, which is no member of it.
    pub(super) fn is_epilogue(self) -> bool {
        matches!(self, Pattern::GemmEpilogue | Pattern::NormEpilogue)
    }

    /// Whether its operators are those of a formula, so that it is known which input is read again.
    pub(super) fn is_formula(self) -> bool {
        matches!(
            self,
            Pattern::RmsNorm | Pattern::LayerNorm | Pattern::Rope | Pattern::Gelu
        )
    }

    /// How sure it is in a module of this class.
    pub(super) fn confidence(self, class: Option<&str>) -> Confidence {
        let by_name = class.is_some_and(|class| self.is_named(class));
        let by_operators = self != Pattern::Elementwise;
        match (by_name, by_operators) {
            (true, true) => Confidence::High,
            (false, false) => Confidence::Low,
            _ => Confidence::Medium,
        }
    }
}

/// By the share of the computation that a chain takes.
pub(super) fn priority(share: Option<f64>, high_percent: f64) -> Priority {
    match share {
        Some(share) if share > high_percent => Priority::High,
        _ => Priority::Medium,
    }
}

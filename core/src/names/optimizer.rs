//! Optimizers: the operators and ranges of their steps, and where gradients are set to zero.

/// Operators of a step that updates one parameter at a time.
#[rustfmt::skip]
pub(crate) const STEP_OPS: &[&str] = &[
    "aten::add_", "aten::mul_", "aten::mul", "aten::add", "aten::addcmul_", "aten::addcdiv_",
    "aten::addcdiv", "aten::lerp_", "aten::sqrt", "aten::div", "aten::div_", "aten::copy_",
    "aten::maximum", "aten::sub_", "aten::square", "aten::pow",
];

/// Operators that only optimizers call for single parameters.
pub(crate) const STEP_OPS_ALONE: &[&str] = &["aten::addcmul_", "aten::addcdiv_", "aten::addcdiv"];

/// Operators of an Adam step on lists of tensors.
#[rustfmt::skip]
pub(crate) const ADAM_LIST_OPS: &[&str] = &[
    "aten::_foreach_add", "aten::_foreach_add_", "aten::_foreach_addcdiv_",
    "aten::_foreach_addcmul_", "aten::_foreach_div_", "aten::_foreach_lerp_", "aten::_foreach_mul_",
    "aten::_foreach_sqrt", "aten::_foreach_sqrt_", "aten::_foreach_sub",
];

/// How often an operator of an Adam step on lists of tensors passes over the parameters; `None` for others.
pub(crate) fn list_passes(name: &str) -> Option<f64> {
    Some(
        match name.strip_prefix("aten::_foreach_")?.trim_end_matches('_') {
            "mul" | "sqrt" | "div" | "add" | "neg" | "reciprocal" => 2.0,
            "lerp" | "addcmul" | "sub" | "maximum" => 3.0,
            "addcdiv" => 4.0,
            _ => return None,
        },
    )
}

/// PyTorch optimizers that update lists of tensors but have no fused step.
pub(crate) const LIST_OPTIMIZERS: &[&str] = &[
    "ASGD", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
];

/// Whether an operator is the step of an optimizer on all its parameters at once.
pub(crate) fn is_fused_step(name: &str) -> bool {
    const STEPS: &[&str] = &["_fused_adam", "_fused_adagrad", "_fused_sgd"];
    let name = name.strip_prefix("aten::").unwrap_or_default();
    STEPS.iter().any(|step| name.starts_with(step))
}

/// PyTorch optimizers that support `fused=True`, one kernel for all parameters.
pub(crate) const FUSED_OPTIMIZERS: &[&str] = &["Adagrad", "Adam", "AdamW", "SGD"];

/// The prefix of PyTorch's range around an optimizer's work: `Optimizer.step#Adam.step`.
pub(crate) const OPTIMIZER_RANGE: &str = "Optimizer.";

/// The class of an optimizer in the name of the range around its step.
pub(crate) fn optimizer_of_step(range: &str) -> Option<&str> {
    range.strip_prefix("Optimizer.step#")?.strip_suffix(".step")
}

/// Whether gradients are set to zero inside: a range of an optimizer or of the user, or a Python function, with the
/// word `zero_grad` in its name. A file of that name does not count.
pub(crate) fn is_zero_grad(name: &str) -> bool {
    let function = name.rsplit(": ").next().unwrap_or(name);
    let mut words = function.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.any(|word| word == "zero_grad")
}

/// Whether a Python function or range sets buffers of gradients to zero: it is named after that, and it or its file
/// after gradients. In [`is_zero_grad`] gradients can be `None` instead.
pub(crate) fn is_gradient_buffer_reset(name: &str) -> bool {
    const GRADIENTS: &[&str] = &["grad", "grads", "gradient", "gradients"];
    let file = name.rsplit('/').next().unwrap_or(name);
    let function = file.rsplit(": ").next().unwrap_or(file);
    let has = |text: &str, wanted: &[&str]| {
        let mut words = text.split(|letter: char| !letter.is_alphanumeric());
        words.any(|word| wanted.contains(&word))
    };
    !is_zero_grad(name) && has(function, &["zero", "reset"]) && has(file, GRADIENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_gradients_are_set_to_zero() {
        let cases = [
            ("megatron/ddp.py(80): zero_grad_buffer", true),
            ("megatron/param_and_grad_buffer.py(700): reset", true),
            ("Optimizer.zero_grad#SGD.zero_grad", false),
            (
                "megatron/param_and_grad_buffer.py(90): finish_grad_sync",
                false,
            ),
            ("torch/autograd/function.py(20): zero_state", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_gradient_buffer_reset(name), expected, "{name}");
        }
    }

    #[test]
    fn gradients_are_set_to_zero() {
        let cases = [
            ("Optimizer.zero_grad#SGD.zero_grad", true),
            ("torch/optim/optimizer.py(900): zero_grad", true),
            ("zero_grad", true),
            ("step 3: zero_grad(set_to_none=False)", true),
            ("tools/zero_grad.py(12): train", false),
            // A buffer shared by all gradients stays allocated.
            ("megatron/ddp.py(80): zero_grad_buffer", false),
            ("Optimizer.step#SGD.step", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_zero_grad(name), expected, "{name}");
        }
    }
}

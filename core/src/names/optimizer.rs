//! Operators of optimizer steps.

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

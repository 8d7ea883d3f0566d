//! Operators of optimizer steps.

/// What a step consists of that treats one parameter after another.
#[rustfmt::skip]
pub(crate) const STEP_OPS: &[&str] = &[
    "aten::add_", "aten::mul_", "aten::mul", "aten::add", "aten::addcmul_", "aten::addcdiv_",
    "aten::addcdiv", "aten::lerp_", "aten::sqrt", "aten::div", "aten::div_", "aten::copy_",
    "aten::maximum", "aten::sub_", "aten::square", "aten::pow",
];

/// What only optimizers call, parameter by parameter.
pub(crate) const STEP_OPS_ALONE: &[&str] = &["aten::addcmul_", "aten::addcdiv_", "aten::addcdiv"];

/// Parts of a step of Adam on lists of tensors.
#[rustfmt::skip]
pub(crate) const ADAM_LIST_OPS: &[&str] = &[
    "aten::_foreach_add", "aten::_foreach_add_", "aten::_foreach_addcdiv_",
    "aten::_foreach_addcmul_", "aten::_foreach_div_", "aten::_foreach_lerp_", "aten::_foreach_mul_",
    "aten::_foreach_sqrt", "aten::_foreach_sqrt_", "aten::_foreach_sub",
];

/// Optimizers of PyTorch that step on lists of tensors, yet have no fused step.
pub(crate) const LIST_OPTIMIZERS: &[&str] = &[
    "ASGD", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
];

//! PyTorch's ops on lists of tensors: optimizers and their parts.

use super::{Row, ours};
use crate::perf::models::optimizer;

#[rustfmt::skip]
pub(super) const ATEN_LISTS: &[Row] = &[
    ours(|call| optimizer::list(call, 2.0, 2.0), "aten::_amp_foreach_non_finite_check_and_unscale_"),
    ours(optimizer::foreach_unary, "
        aten::_foreach_abs aten::_foreach_abs_ aten::_foreach_clamp_max aten::_foreach_clamp_max_
        aten::_foreach_clamp_min aten::_foreach_clamp_min_ aten::_foreach_exp aten::_foreach_exp_
        aten::_foreach_log aten::_foreach_log_ aten::_foreach_neg aten::_foreach_neg_ aten::_foreach_pow
        aten::_foreach_pow_ aten::_foreach_reciprocal aten::_foreach_reciprocal_ aten::_foreach_rsqrt
        aten::_foreach_rsqrt_ aten::_foreach_sigmoid aten::_foreach_sign aten::_foreach_sign_
        aten::_foreach_sqrt aten::_foreach_sqrt_ aten::_foreach_tanh"),
    ours(optimizer::foreach_binary, "
        aten::_foreach_add aten::_foreach_add_ aten::_foreach_div aten::_foreach_div_
        aten::_foreach_lerp aten::_foreach_lerp_ aten::_foreach_maximum aten::_foreach_maximum_
        aten::_foreach_minimum aten::_foreach_minimum_ aten::_foreach_mul aten::_foreach_mul_
        aten::_foreach_sub aten::_foreach_sub_"),
    ours(|call| optimizer::list(call, 3.0, 4.0), "
        aten::_foreach_addcdiv aten::_foreach_addcdiv_ aten::_foreach_addcmul aten::_foreach_addcmul_"),
    ours(optimizer::foreach_copy, "aten::_foreach_copy_"),
    ours(|call| optimizer::list(call, 2.0, 1.0), "aten::_foreach_max aten::_foreach_norm"),
    ours(|call| optimizer::list(call, 0.0, 1.0), "aten::_foreach_zero_"),
    ours(|call| optimizer::list(call, 5.0, 5.0), "aten::_fused_adagrad_"),
    ours(optimizer::adam, "aten::_fused_adam_ aten::_fused_adamw_"),
    ours(optimizer::sgd, "aten::_fused_sgd_"),
];

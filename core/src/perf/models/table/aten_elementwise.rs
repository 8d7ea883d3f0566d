//! PyTorch's element-wise ops and fills.

use super::{Row, ours, reference};
use crate::perf::SheetFamily::*;
use crate::perf::models::elementwise;

#[rustfmt::skip]
pub(super) const ATEN_ELEMENTWISE: &[Row] = &[
    ours(elementwise::pointwise, "
        aten::__and__ aten::__lshift__ aten::__or__ aten::__rshift__ aten::__xor__
        aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams aten::_masked_scale
        aten::_prelu_kernel aten::_prelu_kernel_backward aten::_standard_gamma aten::acos aten::acos_
        aten::acosh aten::acosh_ aten::addcdiv aten::addcmul aten::asin aten::asin_ aten::asinh
        aten::atan aten::atan2 aten::atan_ aten::atanh aten::atanh_ aten::bernoulli
        aten::binary_cross_entropy_backward aten::binomial aten::bitwise_and aten::bitwise_left_shift
        aten::bitwise_not aten::bitwise_or aten::bitwise_right_shift aten::bitwise_xor aten::ceil
        aten::celu aten::clamp aten::clip aten::conj_physical aten::copysign aten::cos aten::cosh
        aten::cosh_ aten::deg2rad aten::dequantize aten::digamma aten::elu aten::elu_backward aten::erf
        aten::erfc aten::erfinv aten::exp aten::exp2 aten::exp2_ aten::expm1
        aten::fake_quantize_per_channel_affine aten::fake_quantize_per_channel_affine_cachemask
        aten::fake_quantize_per_tensor_affine aten::fake_quantize_per_tensor_affine_cachemask
        aten::fake_quantize_per_tensor_affine_cachemask_backward aten::fix aten::floor
        aten::floor_divide aten::fmax aten::fmin aten::fmod aten::frac aten::gcd aten::gelu
        aten::gelu_backward aten::hardshrink aten::hardshrink_backward aten::hardsigmoid
        aten::hardsigmoid_backward aten::hardswish aten::hardswish_backward aten::hardtanh
        aten::hardtanh_backward aten::heaviside aten::huber_loss_backward aten::hypot aten::i0
        aten::igamma aten::igammac aten::imag aten::kl_div aten::l1_loss_backward aten::lcm aten::ldexp
        aten::leaky_relu aten::leaky_relu_backward aten::lerp aten::lgamma aten::log aten::log10
        aten::log1p aten::log2 aten::log_sigmoid aten::log_sigmoid_backward aten::log_sigmoid_forward aten::logaddexp
        aten::logaddexp2 aten::logit aten::logit_backward aten::masked_fill aten::maximum aten::minimum
        aten::mish aten::mish_backward aten::mse_loss_backward aten::mvlgamma aten::nan_to_num
        aten::native_dropout_backward aten::nextafter aten::normal aten::poisson aten::polygamma
        aten::positive aten::rad2deg
        aten::real aten::reciprocal aten::relu aten::relu6 aten::remainder aten::round aten::rrelu
        aten::rrelu_with_noise aten::rsub aten::selu aten::sgn aten::sign aten::silu_backward aten::sin
        aten::sinc aten::sinh aten::sinh_ aten::smooth_l1_loss_backward aten::soft_margin_loss
        aten::softplus aten::softplus_backward aten::softshrink aten::softshrink_backward
        aten::special_bessel_j0 aten::special_entr aten::special_erfcx aten::special_i0e
        aten::special_i1 aten::special_log_ndtr aten::special_ndtri aten::special_xlog1py
        aten::special_zeta aten::sqrt aten::square aten::sub aten::tan aten::tan_ aten::tanh
        aten::tanh_backward aten::threshold aten::true_divide aten::trunc aten::where aten::xlogy"),
    ours(elementwise::in_place, "
        aten::__iand__ aten::__ior__ aten::abs_ aten::addcdiv_ aten::addcmul_ aten::bitwise_and_
        aten::bitwise_not_ aten::bitwise_or_ aten::bitwise_xor_ aten::ceil_ aten::celu_ aten::clamp_
        aten::clip_ aten::copysign_ aten::cos_ aten::digamma_ aten::elu_ aten::eq_ aten::erf_
        aten::erfc_ aten::erfinv_ aten::exp_ aten::expm1_ aten::fix_ aten::floor_ aten::floor_divide_
        aten::fmod_ aten::frac_ aten::ge_ aten::gelu_ aten::gt_ aten::hardshrink_ aten::hardsigmoid_
        aten::hardswish_ aten::hardtanh_ aten::le_ aten::leaky_relu_ aten::lerp_ aten::lgamma_
        aten::log10_ aten::log1p_ aten::log2_ aten::log_ aten::logical_and_ aten::logical_not_
        aten::logical_or_ aten::logical_xor_ aten::lt_ aten::masked_fill_ aten::masked_scatter_
        aten::mish_ aten::nan_to_num_ aten::ne_ aten::neg_ aten::pow_ aten::reciprocal_ aten::relu6_
        aten::relu_ aten::remainder_ aten::round_ aten::rrelu_ aten::rsqrt_ aten::selu_ aten::sgn_
        aten::sigmoid_ aten::sign_ aten::silu_ aten::sin_ aten::sinc_ aten::sqrt_ aten::square_
        aten::sub_ aten::tanh_ aten::threshold_ aten::trunc_ aten::xlogy_"),
    // One weight for each channel, or for all of them, beside the operand.
    ours(elementwise::in_place, "aten::prelu"),
    ours(elementwise::cast, "aten::_to_copy aten::to"),
    ours(|call| elementwise::made(call, 1), "
        aten::ones aten::rand aten::randn aten::zeros"),
    ours(|call| elementwise::made(call, 2), "aten::full"),
    ours(elementwise::dropout, "aten::_fused_dropout aten::dropout aten::native_dropout"),
    ours(elementwise::operands, "aten::_thnn_fused_gru_cell"),
    ours(elementwise::magnitude, "aten::abs aten::angle"),
    reference(BinaryElementwise, elementwise::binary, "
        aten::add aten::add_ aten::div aten::div_ aten::mul aten::mul_ aten::sigmoid_backward
        aten::threshold_backward"),
    ours(elementwise::arange, "aten::arange"),
    ours(elementwise::fill, "
        aten::bernoulli_ aten::cauchy_ aten::exponential_ aten::eye aten::fill aten::fill_
        aten::full_like aten::geometric_ aten::log_normal_ aten::normal_ aten::ones_like
        aten::rand_like aten::randn_like aten::random_ aten::randperm aten::uniform_ aten::zero
        aten::zero_ aten::zeros_like"),
    reference(UnaryElementwise, elementwise::unary, "
        aten::clamp_max aten::clamp_max_ aten::clamp_min aten::clamp_min_ aten::copy aten::copy_
        aten::neg aten::pow aten::rsqrt aten::sigmoid aten::silu"),
    ours(elementwise::to_complex, "aten::complex aten::polar"),
    ours(|call| elementwise::mapped(call, |_| Some(1.0)), "
        aten::eq aten::ge aten::gt aten::isfinite aten::isinf aten::isnan aten::isneginf aten::isposinf
        aten::isreal aten::le aten::logical_and aten::logical_not aten::logical_or aten::logical_xor
        aten::lt aten::ne aten::quantize_per_channel aten::quantize_per_tensor aten::signbit"),
    ours(elementwise::glu, "aten::glu"),
    ours(elementwise::glu_backward, "aten::glu_backward"),
    reference(UnaryElementwise, elementwise::replication_pad, "
        aten::replication_pad1d aten::replication_pad2d aten::replication_pad3d"),
    reference(UnaryElementwise, elementwise::upsample, "
        aten::upsample_nearest1d aten::upsample_nearest2d aten::upsample_nearest3d"),
];

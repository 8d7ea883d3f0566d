//! Convolutions by name: their pass, and the purpose of their kernels.

use super::words::holds;
use crate::base::labels::labeled;

labeled! {
    /// The pass of a convolution.
    pub(crate) enum Pass {
        Forward => "forward",
        Backward => "backward",
        /// Only the kernel's name is known, and both passes run such kernels.
        Unknown => "unknown",
    }
}

impl Pass {
    /// From the name of an operator, or of a kernel without an operator.
    pub(crate) fn of(name: &str, is_kernel: bool) -> Pass {
        if holds(name, &["backward", "bwd", "dgrad", "wgrad", "wrw"]) {
            Pass::Backward
        } else if is_kernel && !holds(name, &["forward", "fwd", "fprop"]) {
            Pass::Unknown
        } else {
            Pass::Forward
        }
    }
}

/// What a kernel of a convolution computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConvolutionPass {
    /// The result.
    Forward,
    /// The gradient of the input.
    Data,
    /// The gradient of the filter.
    Filter,
}

impl ConvolutionPass {
    /// From its name; by default forward.
    pub(crate) fn of_kernel(kernel: &str) -> ConvolutionPass {
        if holds(kernel, &["wgrad", "wrw", "bwd_weight", "backward_filter"]) {
            ConvolutionPass::Filter
        } else if holds(kernel, &["dgrad", "bwd", "backward"]) {
            ConvolutionPass::Data
        } else {
            ConvolutionPass::Forward
        }
    }
}

/// Whether a kernel changes the layout of a convolution's tensor. A transposed convolution does not.
pub(crate) fn is_layout_change(kernel: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "batched_transpose", "transpose_nchw", "transpose_cnhw", "transpose_nhwc", "nchw2nhwc",
        "nhwc2nchw", "nchw2cnhw", "cnhw2nchw", "nchwtonhwc", "nhwctonchw", "ncdhw2ndhwc",
        "ndhwc2ncdhw", "nchwtofoldednhwc", "foldednhwctonchw", "tensortransform", "tensor_transform",
        "gen_reorder", "generic_reorder", "simple_reorder", "custom_reorder", "gpu_reorder",
    ];
    holds(kernel, WORDS)
}

/// Whether a kernel computes with Winograd's transforms, which take fewer multiplications than the sums themselves.
pub(crate) fn is_winograd(kernel: &str) -> bool {
    holds(kernel, &["winograd", "sp3asmconv"])
}

/// Whether the name of a kernel says that it is a fallback.
pub(crate) fn is_fallback(kernel: &str) -> bool {
    const WORDS: &[&str] = &[
        "naive_conv",
        "im2col",
        "im2d2col",
        "im3d2col",
        "col2im",
        "vol2col",
        "col2vol",
        "slow_conv",
        "ref_convolution",
    ];
    holds(kernel, WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_that_change_layouts() {
        #[rustfmt::skip]
        let cases = [
            ("batched_transpose_32x32_half", true),
            ("void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16>", true),
            ("transpose_NCHW2CNHW_V2_2D_WG_off64", true),
            ("gen_reorder", true),
            ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32", false),
            ("void conv_transpose2d<float>", false),
        ];
        for (kernel, expected) in cases {
            assert_eq!(is_layout_change(kernel), expected, "{kernel}");
        }
    }
}

//! Helper kernels that an operator launches in addition to its main kernel.

use super::words::{Words, classify, holds};
use crate::base::labels::labeled;
use crate::trace::Category;

labeled! {
    /// The purpose of a helper kernel.
    pub enum HelperKind {
        /// A transpose, or a change of the channel order.
        LayoutChange => "layout change" as "layout_change",
        /// Copies patches of an image into a matrix, or adds such a matrix to an image.
        Patches => "im2col kernel" as "im2col",
        /// Sums the parts of a split-K GEMM.
        SplitSum => "split-K reduction" as "split_k_reduction",
        /// Fills a workspace or a result, mostly with zeros.
        Fill => "workspace fill" as "fill",
        /// Converts to another type.
        Cast => "cast" as "cast",
        /// Computes scales, or converts to a low-precision type.
        Quantization => "quantization" as "quantization",
        /// Copies elements unchanged.
        Copy => "copy kernel" as "copy",
        /// A norm that its operator runs before a GEMM.
        Norm => "norm kernel" as "norm",
        /// Adds a bias, multiplies by a scalar, applies an activation.
        Elementwise => "element-wise kernel" as "elementwise",
    }
}

#[rustfmt::skip]
const WORDS: &Words<HelperKind> = &[
    (HelperKind::SplitSum, &["postgsu", "splitkreduce", "splitk_reduce", "split_k_reduce", "reduce_splitk"]),
    (HelperKind::Quantization, &["cast_transpose"]),
    (HelperKind::LayoutChange, &[
        "batched_transpose", "transpose_nchw", "transpose_cnhw", "transpose_nhwc", "nchw2nhwc", "nhwc2nchw",
        "nchw2cnhw", "cnhw2nchw", "nchwtonhwc", "nhwctonchw", "ncdhw2ndhwc", "ndhwc2ncdhw",
        "nchwtofoldednhwc", "foldednhwctonchw", "tensortransform", "tensor_transform", "transpose_kernel",
        "transpose_readwrite", "transposekernel", "gen_reorder", "generic_reorder", "simple_reorder",
        "custom_reorder", "gpu_reorder",
    ]),
    (HelperKind::Patches, &["im2col", "im2d2col", "im3d2col", "col2im", "vol2col", "col2vol"]),
    (HelperKind::Fill, &["memset", "fillfunctor", "fillbuffer", "subtensoropwithscalar", "zerokernel", "zero_kernel", "fill_kernel"]),
    (HelperKind::Cast, &[
        "withcasttensor", "bfloat16_copy_kernel", "float16_copy_kernel", "float32_copy_kernel",
        "float8_copy_kernel", "loadwithcast", "cast_kernel", "castkernel", "convert_kernel",
    ]),
    (HelperKind::Quantization, &["quantize", "_quant_kernel", "quant_per", "scaled_quant", "per_token_group_quant"]),
    (HelperKind::Copy, &["copy_kernel", "copybuffer", "catarraybatchedcopy", "memcpy"]),
    (HelperKind::Elementwise, &["elementwise_kernel", "optensor", "op_tensor", "epilogue::impl::globalkernel"]),
];

/// Parts of names of kernels that do the work of their operator, although they have the template of an element-wise one.
const OWN_WORK: &[&str] = &["index_elementwise", "scatter_gather", "groupnorm"];

impl HelperKind {
    /// From category and name; `None` if it may be the main kernel.
    pub(crate) fn of(category: Category, kernel: &str) -> Option<HelperKind> {
        match category {
            Category::GpuMemset => Some(HelperKind::Fill),
            Category::GpuMemcpy => Some(HelperKind::Copy),
            _ => classify(WORDS, kernel).filter(|_| !holds(kernel, OWN_WORK)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_kernel_is_there_for() {
        #[rustfmt::skip]
        let cases = [
            ("batched_transpose_32x32_half", Some(HelperKind::LayoutChange)),
            ("void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16>", Some(HelperKind::LayoutChange)),
            ("Im2d2Col_v2", Some(HelperKind::Patches)),
            ("Im3d2Col.kd", Some(HelperKind::Patches)),
            ("void cublasLt::splitKreduce_kernel<32, 16, int, float>", Some(HelperKind::SplitSum)),
            ("Cijk_SS_BiasS_HA_PostGSU4_VW4", Some(HelperKind::SplitSum)),
            ("SubTensorOpWithScalar1d", Some(HelperKind::Fill)),
            ("__amd_rocclr_fillBufferAligned.kd", Some(HelperKind::Fill)),
            ("SubTensorOpWithCastTensor1d", Some(HelperKind::Cast)),
            ("void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16tofloat32_copy_kernel_cuda", Some(HelperKind::Cast)),
            ("void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda", Some(HelperKind::Copy)),
            ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>", Some(HelperKind::Elementwise)),
            ("void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel", None),
            ("void at::native::elementwise_kernel<128, 4, at::native::GroupNormKernelImplInternal<float>", None),
            ("Cijk_Alik_Bljk_BBS_BH_MT256x224x64", None),
            ("void conv_transpose2d<float>", None),
        ];
        for (kernel, kind) in cases {
            assert_eq!(HelperKind::of(Category::Kernel, kernel), kind, "{kernel}");
        }
        assert_eq!(
            HelperKind::of(Category::GpuMemset, "Memset (Device)"),
            Some(HelperKind::Fill)
        );
    }
}

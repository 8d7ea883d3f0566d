//! PyTorch's other ops.

use super::{Row, ours, reference};
use crate::perf::SheetFamily::*;
use crate::perf::models::attention::ATEN_FLASH;
use crate::perf::models::{
    attention, conv, elementwise, fft, gemm, index, linalg, loss, norm, pool, reduce, resample,
    rnn, shard, softmax, sort,
};
use crate::perf::unlisted;

#[rustfmt::skip]
pub(super) const ATEN: &[Row] = &[
    ours(|call| unlisted(attention::aten::CUDNN_FORWARD.forward(call)), "aten::_cudnn_attention_forward"),
    ours(|call| attention::aten::EFFICIENT_BACKWARD.backward(call), "aten::_efficient_attention_backward"),
    ours(attention::aten::efficient_forward, "aten::_efficient_attention_forward"),
    ours(|call| unlisted(attention::aten::FLASH_BACKWARD.backward(call)), "aten::_flash_attention_backward"),
    ours(|call| unlisted(attention::aten::FLASH_FORWARD.forward(call)), "aten::_flash_attention_forward"),
    reference(Sdpa, attention::aten::scaled_other, "
        aten::_scaled_dot_product_cudnn_attention aten::_scaled_dot_product_efficient_attention").backward(attention::aten::scaled_other_bwd, Some("SDPA_bwd")),
    ours(|call| unlisted(attention::aten::SCALED_CUDNN_BACKWARD.backward(call)), "aten::_scaled_dot_product_cudnn_attention_backward"),
    ours(attention::aten::scaled_efficient_backward, "aten::_scaled_dot_product_efficient_attention_backward"),
    reference(Sdpa, |call| ATEN_FLASH.forward(call), "aten::_scaled_dot_product_flash_attention").backward(|call| ATEN_FLASH.backward(call), Some("SDPA_bwd")),
    ours(|call| unlisted(attention::aten::SCALED_FLASH_BACKWARD.backward(call)), "aten::_scaled_dot_product_flash_attention_backward"),
    ours(|call| unlisted(attention::aten::OVERRIDEABLE.forward(call)), "
        aten::_scaled_dot_product_attention_math aten::_scaled_dot_product_fused_attention_overrideable
        aten::scaled_dot_product_attention"),

    reference(Conv, |call| conv::convolution(call)?.forward(), "aten::convolution").backward(|call| conv::convolution(call)?.backward(), Some("CONV_bwd")),
    reference(Conv, conv::convolution_backward, "aten::convolution_backward").backward_label("CONV_bwd"),
    ours(|call| unlisted(conv::of_call(call)), "
        aten::_conv_depthwise2d aten::_convolution aten::_slow_conv2d_forward aten::conv1d aten::conv2d
        aten::conv3d aten::conv_depthwise3d aten::conv_transpose1d aten::conv_transpose2d
        aten::conv_transpose3d aten::convolution_overrideable aten::cudnn_convolution
        aten::cudnn_convolution_transpose aten::miopen_convolution aten::miopen_convolution_transpose
        aten::miopen_depthwise_convolution aten::slow_conv_dilated2d aten::slow_conv_dilated3d
        aten::slow_conv_transpose2d aten::slow_conv_transpose3d"),
    ours(conv::with_relu, "
        aten::cudnn_convolution_add_relu aten::cudnn_convolution_relu aten::miopen_convolution_add_relu
        aten::miopen_convolution_relu"),

    ours(elementwise::pad_backward, "
        aten::reflection_pad1d_backward aten::reflection_pad2d_backward aten::reflection_pad3d_backward
        aten::replication_pad1d_backward aten::replication_pad2d_backward
        aten::replication_pad3d_backward"),

    ours(|call| fft::complex(call, &call.integers(1)?), "aten::_fft_c2c"),
    ours(fft::to_real, "aten::_fft_c2r"),
    ours(|call| fft::from_real(call, &call.integers(1)?, call.flag_or(3, true)?), "aten::_fft_r2c"),
    ours(|call| fft::complex(call, &fft::dims(call)?), "
        aten::fft_fft aten::fft_fft2 aten::fft_fftn aten::fft_ifft aten::fft_ifft2 aten::fft_ifftn"),
    ours(|call| fft::from_real(call, &fft::dims(call)?, true), "
        aten::fft_rfft aten::fft_rfft2 aten::fft_rfftn"),

    ours(|call| gemm::mm(call, 1), "aten::_addmm_activation aten::addmm_"),
    ours(gemm::distances, "aten::_cdist_forward"),
    ours(gemm::grouped_mm, "
        aten::_grouped_mm aten::_scaled_grouped_mm aten::_scaled_grouped_mm_v2").gemm_sizes(gemm::sizes::of_groups),
    ours(gemm::int_mm, "aten::_int_mm").gemm_sizes(gemm::sizes::of_two),
    ours(gemm::half_sparse, "aten::_sparse_semi_structured_mm"),
    ours(gemm::addbmm, "aten::addbmm aten::addbmm_"),
    reference(Gemm, |call| gemm::mm(call, 1), "aten::addmm"),
    ours(|call| gemm::with_vector(call, 1), "aten::addmv aten::addmv_").gemm_sizes(|call| gemm::sizes::of_vector(call, 1)),
    ours(gemm::addr, "aten::addr aten::addr_"),
    reference(Gemm, |call| gemm::bmm(call, 1), "aten::baddbmm"),
    ours(|call| gemm::bmm(call, 1), "aten::baddbmm_"),
    reference(Gemm, |call| gemm::bmm(call, 0), "aten::bmm"),
    ours(gemm::dot, "aten::dot aten::vdot"),
    ours(gemm::linear, "aten::linear").gemm_sizes(gemm::sizes::of_rows),
    ours(gemm::linear_backward, "aten::linear_backward"),
    ours(gemm::matmul, "aten::matmul").gemm_sizes(gemm::sizes::of_matmul),
    reference(Gemm, |call| gemm::mm(call, 0), "aten::mm"),
    ours(|call| gemm::with_vector(call, 0), "aten::mv").gemm_sizes(|call| gemm::sizes::of_vector(call, 0)),

    ours(index::read_only, "
        aten::_assert_async aten::_is_all_true aten::_is_any_true aten::_local_scalar_dense
        aten::_unique2 aten::bincount aten::count_nonzero aten::equal aten::histc aten::is_nonzero
        aten::masked_select aten::median aten::mode aten::multinomial aten::nanmedian aten::nonzero
        aten::nonzero_static aten::unique aten::unique_consecutive aten::unique_dim"),
    ours(index::embedding_bag, "aten::_embedding_bag aten::_embedding_bag_forward_only aten::embedding_bag"),
    ours(index::embedding_bag_backward, "aten::_embedding_bag_dense_backward"),
    ours(index::index_put, "aten::_index_put_impl_ aten::index_put aten::index_put_"),
    ours(index::search, "aten::bucketize aten::searchsorted"),
    ours(index::cat, "aten::cat aten::concat aten::concatenate aten::hstack aten::stack aten::vstack"),
    ours(index::constant_pad, "
        aten::constant_pad_nd aten::pad aten::reflection_pad1d aten::reflection_pad2d aten::reflection_pad3d"),
    // The views among them have kernels only where a trace names the kernel after its caller.
    ours(index::copy, "
        aten::clone aten::contiguous aten::diag_embed aten::flatten aten::flip aten::native_channel_shuffle
        aten::permute aten::pixel_shuffle aten::pixel_unshuffle aten::reshape aten::roll aten::rot90
        aten::transpose"),
    ours(index::embedding, "aten::embedding"),
    ours(index::embedding_backward, "aten::embedding_backward aten::embedding_dense_backward"),
    ours(|call| index::gather(call, 2), "aten::gather"),
    ours(index::index, "aten::index"),
    ours(|call| index::index_copy(call, 3.0), "aten::index_add aten::index_add_ aten::index_reduce aten::index_reduce_"),
    ours(|call| index::index_copy(call, 2.0), "aten::index_copy aten::index_copy_"),
    ours(index::index_fill, "aten::index_fill aten::index_fill_"),
    ours(index::index_select, "aten::index_select"),
    ours(index::repeat, "aten::repeat aten::tile"),
    ours(index::repeat_each, "aten::repeat_interleave"),
    ours(|call| index::scatter(call, 1.0), "aten::scatter aten::scatter_"),
    ours(|call| index::scatter(call, 2.0), "
        aten::scatter_add aten::scatter_add_ aten::scatter_reduce aten::scatter_reduce_"),
    ours(|call| index::gather(call, 1), "aten::take aten::take_along_dim"),
    ours(index::triangle, "aten::tril aten::tril_ aten::triu aten::triu_"),

    ours(|call| linalg::factorised(call, |_, n| n * n * n / 3.0), "aten::cholesky aten::linalg_cholesky_ex"),
    ours(|call| linalg::factorised(call, |_, n| 2.0 * n * n * n), "aten::linalg_inv_ex"),
    ours(|call| linalg::factorised(call, |_, n| 2.0 * n * n * n / 3.0), "aten::linalg_lu_factor_ex"),
    ours(|call| linalg::factorised(call, |m, n| 2.0 * n * n * (m - n / 3.0).max(0.0)), "aten::linalg_qr"),
    ours(linalg::triangular, "aten::linalg_solve_triangular aten::triangular_solve"),

    ours(|call| unlisted(loss::cross_entropy(call)), "aten::cross_entropy_loss"),
    ours(loss::ctc, "aten::_ctc_loss aten::_cudnn_ctc_loss"),
    ours(loss::ctc_backward, "aten::_ctc_loss_backward"),
    ours(loss::mse, "
        aten::binary_cross_entropy aten::binary_cross_entropy_with_logits aten::huber_loss aten::l1_loss
        aten::mse_loss aten::multi_margin_loss aten::multilabel_margin_loss_forward aten::smooth_l1_loss"),
    ours(loss::nll_backward, "aten::nll_loss2d_backward aten::nll_loss_backward"),
    ours(loss::nll, "
        aten::nll_loss aten::nll_loss2d aten::nll_loss2d_forward aten::nll_loss_forward aten::nll_loss_nd"),

    reference(Normalization, norm::rms_norm, "aten::_fused_rms_norm").backward(norm::rms_norm_bwd, Some("NORM_bwd")),
    ours(|call| unlisted(norm::rms_norm(call)), "aten::rms_norm"),
    reference(Normalization, norm::rms_norm_backward, "
        aten::_fused_rms_norm_backward aten::cudnn_rms_norm_backward aten::miopen_rms_norm_backward
        aten::native_rms_norm_backward aten::rms_norm_backward").backward_label("NORM_bwd"),
    ours(|call| unlisted(norm::batch_norm(call)?.forward()), "aten::_native_batch_norm_legit"),
    ours(|call| norm::weight_norm(call, 0, [4.0, 2.0]), "aten::_weight_norm_interface"),
    ours(|call| norm::weight_norm(call, 1, [6.0, 3.0]), "aten::_weight_norm_interface_backward"),
    reference(Normalization, |call| norm::batch_norm(call)?.forward(), "
        aten::batch_norm aten::cudnn_batch_norm aten::cudnn_instance_norm aten::instance_norm
        aten::miopen_batch_norm aten::miopen_instance_norm aten::native_batch_norm
        aten::native_instance_norm").backward(|call| norm::batch_norm(call)?.backward(), Some("NORM_bwd")),
    reference(Normalization, norm::native_batch_norm_backward, "
        aten::batch_norm_backward aten::cudnn_instance_norm_backward aten::instance_norm_backward
        aten::miopen_instance_norm_backward aten::native_batch_norm_backward
        aten::native_instance_norm_backward").backward_label("NORM_bwd"),
    ours(|call| norm::batch_elements(call, 1, 5.0), "aten::batch_norm_backward_elemt"),
    ours(norm::batch_backward_reduce, "aten::batch_norm_backward_reduce"),
    ours(|call| norm::batch_elements(call, 0, 2.0), "aten::batch_norm_elemt"),
    ours(norm::batch_statistics, "aten::batch_norm_stats"),
    reference(Normalization, norm::vendor_batch_norm_backward, "
        aten::cudnn_batch_norm_backward aten::miopen_batch_norm_backward").backward_label("NORM_bwd"),
    reference(Normalization, |call| norm::group_norm(call)?.forward(), "
        aten::cudnn_group_norm aten::group_norm aten::miopen_group_norm aten::native_group_norm").backward(|call| norm::group_norm(call)?.backward(), Some("NORM_bwd")),
    reference(Normalization, norm::native_group_norm_backward, "
        aten::cudnn_group_norm_backward aten::group_norm_backward aten::miopen_group_norm_backward
        aten::native_group_norm_backward").backward_label("NORM_bwd"),
    reference(Normalization, |call| norm::layer_norm(call)?.forward(), "
        aten::cudnn_layer_norm aten::layer_norm aten::miopen_layer_norm aten::native_layer_norm").backward(|call| norm::layer_norm(call)?.backward(), Some("NORM_bwd")),
    reference(Normalization, norm::native_layer_norm_backward, "
        aten::cudnn_layer_norm_backward aten::layer_norm_backward aten::miopen_layer_norm_backward
        aten::native_layer_norm_backward").backward_label("NORM_bwd"),

    ours(|call| pool::adaptive(call, 0.0), "
        aten::_adaptive_avg_pool2d aten::_adaptive_avg_pool3d aten::adaptive_avg_pool1d
        aten::adaptive_avg_pool2d aten::adaptive_avg_pool3d"),
    ours(pool::average_backward, "
        aten::_adaptive_avg_pool2d_backward aten::_adaptive_avg_pool3d_backward
        aten::adaptive_avg_pool3d_backward aten::avg_pool2d_backward aten::avg_pool3d_backward"),
    ours(|call| pool::adaptive(call, 8.0), "aten::adaptive_max_pool2d aten::adaptive_max_pool3d"),
    ours(pool::max_backward, "
        aten::adaptive_max_pool2d_backward aten::adaptive_max_pool3d_backward
        aten::max_pool2d_with_indices_backward aten::max_pool3d_with_indices_backward"),
    ours(|call| pool::windowed(call, None, 4, 0.0), "aten::avg_pool1d aten::avg_pool2d aten::avg_pool3d"),
    ours(|call| pool::windowed(call, Some(4), 5, 0.0), "aten::max_pool1d aten::max_pool2d aten::max_pool3d"),
    ours(|call| pool::windowed(call, Some(4), 5, 8.0), "
        aten::max_pool1d_with_indices aten::max_pool2d_with_indices aten::max_pool3d_with_indices"),

    ours(reduce::running_extreme, "aten::_cummax_helper aten::_cummin_helper"),
    ours(|call| unlisted(reduce::running(call)), "
        aten::_cumprod aten::_cumsum aten::_logcumsumexp aten::cumprod_ aten::cumsum_ aten::logcumsumexp"),
    ours(|call| reduce::to_size(call, 1.0), "aten::all aten::any"),
    reference(Reduce, reduce::by_dims, "
        aten::amax aten::amin aten::logsumexp aten::std aten::var").backward(reduce::by_dims, None),
    ours(reduce::by_dims, "aten::aminmax aten::std_mean aten::var_mean"),
    ours(|call| reduce::to_size(call, 8.0), "aten::argmax aten::argmin"),
    reference(Reduce, reduce::running, "aten::cumprod aten::cumsum").backward(reduce::running, None),
    reference(Reduce, reduce::norm, "aten::linalg_norm aten::norm").backward(reduce::norm, None),
    ours(reduce::norm, "aten::linalg_vector_norm"),
    reference(Reduce, reduce::extreme, "aten::max aten::min").backward(reduce::extreme, None),
    reference(Reduce, reduce::mean, "aten::mean").backward(reduce::mean, None),
    ours(reduce::sum, "aten::nansum aten::prod"),
    reference(Reduce, reduce::sum, "aten::sum").backward(reduce::sum, None),

    ours(|call| resample::resized(call, 4.0), "aten::_upsample_bicubic2d_aa aten::upsample_bicubic2d"),
    ours(|call| resample::resized_backward(call, 4.0), "aten::_upsample_bicubic2d_aa_backward aten::upsample_bicubic2d_backward"),
    ours(|call| resample::resized(call, 2.0), "
        aten::_upsample_bilinear2d_aa aten::upsample_bilinear2d aten::upsample_linear1d
        aten::upsample_trilinear3d"),
    ours(|call| resample::resized_backward(call, 2.0), "
        aten::_upsample_bilinear2d_aa_backward aten::upsample_bilinear2d_backward
        aten::upsample_linear1d_backward aten::upsample_trilinear3d_backward"),
    ours(|call| resample::resized(call, 1.0), "
        aten::_upsample_nearest_exact1d aten::_upsample_nearest_exact2d aten::_upsample_nearest_exact3d"),
    ours(|call| resample::resized_backward(call, 1.0), "
        aten::_upsample_nearest_exact1d_backward aten::_upsample_nearest_exact2d_backward
        aten::_upsample_nearest_exact3d_backward aten::upsample_nearest1d_backward
        aten::upsample_nearest2d_backward aten::upsample_nearest3d_backward"),
    ours(resample::col2im, "aten::col2im"),
    ours(resample::grid_sampler, "
        aten::cudnn_grid_sampler aten::grid_sampler aten::grid_sampler_2d aten::grid_sampler_3d"),
    ours(resample::grid_sampler_backward, "aten::grid_sampler_2d_backward aten::grid_sampler_3d_backward"),
    ours(resample::im2col, "aten::im2col"),

    ours(|call| rnn::recurrent(call, [6, 7, 9, 13], 1.0), "aten::_cudnn_rnn"),
    ours(|call| rnn::recurrent(call, [10, 11, 13, 17], 2.0), "aten::_cudnn_rnn_backward"),
    ours(rnn::lstm_cell, "aten::_thnn_fused_lstm_cell"),
    ours(|call| rnn::recurrent(call, [5, 6, 7, 11], 1.0), "aten::miopen_rnn"),
    ours(|call| rnn::recurrent(call, [10, 11, 12, 16], 2.0), "aten::miopen_rnn_backward"),

    reference(Gemm, gemm::scaled::scaled_mm, "aten::_scaled_mm"),
    ours(|call| unlisted(gemm::scaled::scaled_mm(call)), "aten::_scaled_mm_v2").gemm_sizes(gemm::sizes::of_two),

    ours(gemm::serving::weight_packed, "aten::_weight_int4pack_mm"),
    ours(gemm::serving::weight_packed, "aten::_weight_int8pack_mm").gemm_sizes(gemm::sizes::of_rows),

    ours(shard::chunk_cat, "aten::_chunk_cat"),
    ours(shard::split_copy, "aten::split_with_sizes_copy"),

    ours(softmax::forward, "aten::_log_softmax aten::_safe_softmax aten::_softmax aten::log_softmax aten::softmax"),
    ours(softmax::backward, "aten::_log_softmax_backward_data aten::_softmax_backward_data"),
    ours(softmax::scaled, "aten::_masked_softmax"),

    ours(sort::sort, "aten::argsort aten::msort aten::sort"),
    ours(|call| sort::selected(call, 1.0), "aten::kthvalue"),
    ours(|call| sort::selected(call, call.number(1)?), "aten::topk"),
];

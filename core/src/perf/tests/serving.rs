//! Kernels of serving engines.

use super::check;

#[test]
fn kernels_of_serving_engines() {
    check(
        "
        # 8 + 4 numbers are turned, read and written.
        sgl_kernel::rotary_embedding(2, 2x4, 2x2, =2, 9x2) -> 36 | 48
        sglang::store_cache(2x4, 2x4, 9x4, 9x4, 2) -> 0 | 64
        _C_custom_ar::all_reduce(=1, 2x4) -> 0 | 32
        # A row of 8 in groups of 4: a byte each, two scales of four.
        vllm::triton_per_token_group_quant_fp8(1x8, =4) -> 48 | 32
        # 8 results of two taps.
        DaoAILab::_causal_conv1d_fwd_cpp(1x2x4, 2x2, 2) -> 32 | 2*(16 + 4 + 2)
        # Two requests of 3 tokens each, all new: 2 · 2·4.5·(2 + 2); room for 7 keys, 6 in use.
        aiter::mha_batch_prefill(6x1x2, 99x1x2, 99x1x2, 3, 3, 7, =3, =3, =0., =1., =0., =False, =True) -> 72 | 2*4*12
        ",
    );
}

#[test]
fn packed_sequences_without_an_annotation() {
    check(
        "
        # Two requests of 3 tokens each: 2 · 2·9·(2 + 2), or half of it under a mask. Four tensors of
        # 12 elements.
        aiter::mha_varlen_fwd(6x1x2*3, 3, 3, =3, =3, =0, =0., =1., =0., =False, =False, _*2) -> 144 | 96
        aiter::mha_varlen_fwd(6x1x2*3, 3, 3, =3, =3, =0, =0., =1., =0., =False, =True, _*2) -> 72 | 96
        # A key for each query, its own: 2 · 2·3·(2 + 2).
        aiter::mha_varlen_fwd(6x1x2*3, 3, 3, =3, =3, =0, =0., =1., =0., =False, =True, =0, =0) -> 48 | 96
        # Before the shortest of the queries and a cap were arguments.
        aiter::mha_varlen_fwd(6x1x2*3, 3, 3, =3, =3, =0., =1., =False, =False, _*4) -> 144 | 96
        aiter::mha_varlen_fwd(6x1x2*3, 3, 3, =3, =3, _*8) -> 72 | 96
        ",
    );
}

#[test]
fn annotations_tell_how_long_requests_are() {
    check(
        "
        vllm::unified_attention_with_output(3x2x4:c10::Half, 3x1x4:c10::Half*2) -> none
        # Two new tokens of one request, one token of a request that has 5 keys.
        # 2·(4 + 4)·(2·4 − 4 + 2·5); new: 3·(2 + 1)·8, in the cache: 4·8 numbers.
        vllm::unified_attention_with_output(3x2x4:c10::Half, 3x1x4:c10::Half*2) in execute_3_context_1(sq2sk2sqsq4sqsk4)_generation_1(sq1sk5sqsq1sqsk5) -> 224 | 208
        ",
    );
}

#[test]
fn norms_of_serving_engines() {
    check(
        "
        # As `aiter::rmsnorm`: ten rows of 2·4 + 2, and 2·40; 2·40 + 4 elements.
        _C::rms_norm(10x4, 10x4, 4, =1e-6) -> 180 | 168
        # The residual in place: an addition each; 4·40 + 4 elements.
        _C::fused_add_rms_norm(10x4, 10x4, 4, =1e-6) -> 220 | 328
        FusedRMSNormAffineFunction(10x4, 4) -> 180 | 168
        # A byte for each result, two operations more.
        _C::rms_norm_static_fp8_quant(10x4:c10::Float8_e4m3fn, 10x4, 4, 1:float, =1e-6) -> 260 | 80 + 8 + 40
        ",
    );
}

#[test]
fn element_wise_kernels_of_serving_engines() {
    check(
        "
        _C::gelu_and_mul(2x5, 2x10) -> 80 | 60
        flashinfer::silu_and_mul(2x5, 2x10) -> 50 | 60
        _C::gelu_new(2x5, 2x5) -> 10 | 40
        # Half of each head of 2 turns: (8 + 4) / 2 numbers.
        _C::rotary_embedding(2:long int, 2x4, 2x2, =2, 9x1) -> 18 | 24
        sgl_kernel::apply_rope_pos_ids_cos_sin_cache(2x4, 2x2, 2x4, 2x2) -> 36 | 48
        aiter::rope_fwd_impl(2x4, 2x4) -> 24 | 32
        ",
    );
}

#[test]
fn quantisation_of_serving_engines() {
    check(
        "
        _C::dynamic_per_token_scaled_fp8_quant(2x8:c10::Float8_e4m3fn, 2x8, 2x1:float, _) -> 48 | 16 + 32 + 8
        # Half a byte each and a scale for 64.
        bitsandbytes::quantize_4bit(2x64, =64, =nf4) -> 384 | 256 + 64 + 8
        bitsandbytes::dequantize_4bit(64:unsigned char, 2:float, =64, =nf4, =[2, 64], =15) -> 128 | 64 + 8 + 256
        # 16 × 1 whole numbers hold 16 × 8 weights.
        _C::awq_dequantize(16x1:int, 1x8, 1x1:int) -> 256 | 64 + 16 + 4 + 256
        ",
    );
}

#[test]
fn generation_with_pages_needs_the_annotation() {
    check(
        "
        _C::paged_attention_v1(2x4x8:c10::Half*2, 99x1x8x16:c10::Half*2, =1) -> none
        # Ten scores in each of 4 heads: 4·16·20; two new tokens of (4 + 1)·16, eight cached keys of 16.
        _C::paged_attention_v1(2x4x8:c10::Half*2, 99x1x8x16:c10::Half*2, =1) in step[DECODE c_sq=0 g_sq=2 g_sqsq=2 g_sk=10 g_sqsk=10] -> 1280 | 2*(160 + 128)
        ",
    );
}

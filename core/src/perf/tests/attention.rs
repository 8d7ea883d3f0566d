//! Attention.

use super::{check, counted, without_values};
use crate::perf::Param;

#[test]
fn attention() {
    check(
        "
        # One head, 4 queries, 4 keys of 8: 2·16·(8 + 8); 4·4·8 elements.
        aten::_scaled_dot_product_flash_attention(1x1x4x8*3, =0., =False) -> 512 | 256
        aten::_scaled_dot_product_flash_attention(1x1x4x8*3, =0., =True) -> 256 | 256
        # Two query heads share a key head.
        aten::_scaled_dot_product_flash_attention(1x2x4x8, 1x1x4x8, 1x1x4x8, =0., =False) -> 1024 | 384
        # A bias of 16 elements is read.
        aten::_scaled_dot_product_efficient_attention(1x1x4x8*3, 1x1x4x4, =True, =0., =False) -> 512 | 288
        # Heads after positions. One query sees all five keys.
        FlashAttnFunc(1x1x1x8, 1x5x1x8, 1x5x1x8, =0., =1., =True) -> 160 | 192
        # Three queries of five keys: 3 + 4 + 5 scores.
        FlashAttnFunc(1x3x1x8, 1x5x1x8, 1x5x1x8, =0., =1., =True) -> 12*32 | 256
        # Packed: the longest sequence of 3, two more share 4: 2·16·(9 + 2·4).
        flash_attn::_flash_attn_varlen_forward(7x1x8*3, 4, 4, =3, =3, =0., =1., =False) -> 544 | 448
        ",
    );
}

#[test]
fn attention_backward() {
    check(
        "
        # Five products of 2·16·8; Q, K, V and their gradients, and dO: 7 · 32 elements.
        flash_attn::_flash_attn_backward(1x4x1x8*5, 1x1x4:float, 1x4x1x8*3, =0., =1., =False) -> 1280 | 448
        # A mask leaves half of the products. The scale is no flag.
        flash_attn::_flash_attn_backward(1x4x1x8*5, 1x1x4:float, 1x4x1x8*3, =0., =1., =True) -> 640 | 448
        # Two query heads share a key head: twice the products, and the gradients of 4 keys added.
        flash_attn::_flash_attn_backward(1x4x2x8*2, 1x4x1x8*2, 1x4x2x8, 1x2x4:float, 1x4x2x8, 1x4x1x8*2, =0., =1., =False) -> 2624 | 2*320
        # The reference takes dO for Q here.
        aiter::_flash_attn_backward(1x4x1x8*4, _*6, =0., =1., =False) -> 1280 | 448
        ",
    );
    // The reference's view reads other places, and takes a mask for granted.
    let call =
        "flash_attn::_flash_attn_backward(1x4x1x8*5, 1x1x4:float, 1x4x1x8*3, =0., =1., =False)";
    let params = counted(call).unwrap().params;
    assert!(params.contains(&("causal", Param::Flag(true))));
}

#[test]
fn attention_counts_the_true_size_of_elements() {
    check(
        "
        aten::_scaled_dot_product_flash_attention(1x1x4x8:float*3, =0., =False) -> 512 | 512
        aiter::mha_fwd(1x4x1x8:c10::Half*3) -> 512 | 256 | matrix_fp16
        ",
    );
}

#[test]
fn attention_below_what_the_reference_knows() {
    check(
        "
        # Positions before heads; the mask is a number.
        aten::_efficient_attention_forward(1x4x1x8*3, _*5, =0., =0, =False) -> 512 | 256
        aten::_efficient_attention_forward(1x4x1x8*3, _*5, =0., =1, =False) -> 256 | 256
        # dV, dP, dQ, dK and the scores anew: five products of 2·16·8; 7 · 32 elements.
        aten::_efficient_attention_backward(1x4x1x8*4, _*7, =0., _, _, =0, =False) -> 1280 | 448
        aten::_flash_attention_backward(1x4x1x8*4, _*4, =4, =4, =0., =False) -> 1280 | 448
        # Packed, as `_flash_attn_varlen_forward`.
        aten::_flash_attention_forward(7x1x8*3, 4, 4, =3, =3, =0., =False) -> 544 | 448
        FlashAttnVarlenFunc(7x1x8*3, 4, 4, =3, =3, =0., =1., =False) -> 544 | 448
        aten::_cudnn_attention_forward(1x1x4x8*3, _*3, =4, =4, =False, =0., =True) -> 256 | 256
        ",
    );
}

#[test]
fn attention_before_it_took_a_bias() {
    check(
        "
        # Whether sums are wanted, and whether there is a mask.
        aten::_scaled_dot_product_efficient_attention(1x1x4x8*3, =True, =False, _) -> 512 | 256
        aten::_scaled_dot_product_efficient_attention(1x1x4x8*3, =False, =True, _) -> 256 | 256
        # Dropout, and whether there is a mask.
        aten::_scaled_dot_product_cudnn_attention(1x1x4x8*3, =0., =True, =False) -> 256 | 256
        # The sums stand before the mask. Five products of 2·8·8; 7 · 32 elements.
        aten::_scaled_dot_product_efficient_attention_backward(1x1x4x8*5, 1x1x4:float, =True, =False) -> 640 | 448
        ",
    );
}

#[test]
fn windows_leave_the_keys_near_a_query() {
    check(
        "
        # Four queries see themselves and one key before: 4·2 − 1 scores.
        flash_attn::_flash_attn_forward(1x4x1x8*3, =0., =1., =True, =1, =0) -> 7*32 | 256
        flash_attn::_flash_attn_forward(1x4x1x8*3, =0., =1., =True, =-1, =-1) -> 256 | 256
        # On both sides, without a mask: one more for each but the last.
        flash_attn::_flash_attn_forward(1x4x1x8*3, =0., =1., =False, =1, =1) -> 10*32 | 256
        # The number behind the mask is no window where the function is recorded in place of the op.
        FlashAttnFunc(1x4x1x8*3, =0., =1., =False, =0) -> 512 | 256
        # Each of the packed sequences: three, two and two queries.
        flash_attn::_flash_attn_varlen_forward(7x1x8*3, 4, 4, =3, =3, =0., =1., =False, =0, =0) -> 7*32 | 448
        # Memory-efficient attention counts the key of the query too.
        aten::_efficient_attention_forward(1x4x1x8*3, _*3, =4, =4, =0., =1, =False, =1., _, =2) -> 7*32 | 256
        # Backward: five products of 2·7·8.
        flash_attn::_flash_attn_backward(1x4x1x8*5, 1x1x4:float, 1x4x1x8*3, =0., =1., =True, =1, =0) -> 560 | 448
        ",
    );
}

#[test]
fn sequences_in_a_batch_of_one() {
    check(
        "
        # The longest of 3, two more share 4: 2·16·(9 + 2·4), of a batch with 7 positions.
        aten::_efficient_attention_forward(1x7x1x8*3, _, 4:int, 4:int, =3, =3, =0., =0, =False) -> 544 | 448
        # Without the longest nothing is known.
        aten::_efficient_attention_forward(1x7x1x8*3, _, 4:int, 4:int, _, _, =0., =0, =False) -> none
        # A mask for each: 2·16·(9/2 + 2·4/2).
        aten::_efficient_attention_forward(1x7x1x8*3, _, 4:int, 4:int, =3, =3, =0., =1, =False) -> 272 | 448
        # Before the longest of the keys was told, and as xFormers has it.
        aten::_efficient_attention_forward(1x7x1x8*3, _, 4:int, 4:int, =3, =0., =0, =False) -> 544 | 448
        xformers::efficient_attention_forward_cutlass(1x7x1x8*3, _, 4:int, 4:int, =3, =0., =False, =0) -> 544 | 448
        # Padded keys, of which some are in use.
        xformers::efficient_attention_forward_cutlass(1x7x1x8*3, _, 4:int, 4:int, =3, =0., =False, =2, =1., 3:int) -> none
        # Five products of 2·8·(9 + 2·4), not two; 7 · 56 elements.
        aten::_efficient_attention_backward(1x7x1x8*4, _, 1x7x1x8, 4:int, 4:int, =3, =3, 1x1x7:float, =0., _, _, =0, =False) -> 1360 | 784
        aten::_cudnn_attention_forward(7x1x8*3, _, 4:int, 4:int, =3, =3, =False, =0., =False) -> 544 | 448
        ",
    );
}

#[test]
fn keys_of_a_cache_are_not_counted() {
    check(
        "
        # 24 arguments before the flag; eleven, or fourteen, before what tells of a cache.
        flash_attn_3::fwd(1x4x1x8*3, _*21, =True) -> 256 | 256
        flash_attn_3::fwd(2x1x1x8, 2x9x1x8*2, _*8, 2:int, _*12, =True) -> none
        flash_attn_3::fwd(2x1x1x8, 5x16x1x8*2, _*11, 2x3:int, _*9, =True) -> none
        # Packed, as `_flash_attn_varlen_forward`: the longest of 3, two more of 2.
        flash_attn_3::fwd(7x1x8*3, _*4, 4:int*2, _*3, =3*2, _*10, =False) -> 544 | 448
        ",
    );
}

#[test]
fn attention_of_libraries() {
    check(
        "
        FlashAttnQKVPackedFunc(1x4x3x1x8, =0., =1., =False) -> 512 | 256
        xformers::efficient_attention_forward_cutlass(1x4x1x8*3, _*3, =4, =0., =True, =2, =1.) -> 256 | 256
        # Positions before the batch: three queries, two samples, one head of 8, a causal mask.
        FusedAttnFunc(=True, 3x2x1x8*3, =sbhd_sbhd_sbhd, =causal) -> 2*2*4.5*16 | 2*4*48
        # vLLM, keys not in pages; in pages their lengths are not known.
        _vllm_fa2_C::varlen_fwd(7x1x8*4, 4, 4, _*4, =3, =3, =0., =1., =False, =False) -> 544 | 448
        _vllm_fa2_C::varlen_fwd(7x1x8, 9x16x1x8, 9x16x1x8, 7x1x8, 4, 4, _, _, 3x2, _, =3, =3, =0., =1., =False, =False) -> none
        ",
    );
}

/// Three queries of five keys: flash attention sees 3 + 4 + 5 of the scores, the others 1 + 2 + 3.
#[test]
fn each_library_begins_its_mask_in_its_own_corner() {
    check(
        "
        aten::_scaled_dot_product_flash_attention(1x1x3x8, 1x1x5x8, 1x1x5x8, =0., =True) -> 12*32 | 256
        aten::_flash_attention_forward(1x3x1x8, 1x5x1x8, 1x5x1x8, _, _, =3, =5, =0., =True) -> 12*32 | 256
        aten::_scaled_dot_product_efficient_attention(1x1x3x8, 1x1x5x8, 1x1x5x8, _, =False, =0., =True) -> 6*32 | 256
        aten::_scaled_dot_product_fused_attention_overrideable(1x1x3x8, 1x1x5x8, 1x1x5x8, _, =0., =True, =False) -> 6*32 | 256
        ",
    );
}

#[test]
fn a_mask_that_nothing_tells_of_leaves_the_work_unknown() {
    let flash = "aten::_scaled_dot_product_flash_attention(1x1x4x8:float*3, _*2)";
    assert_eq!(without_values(flash), None);
}

/// The third version has the scale where the second has dropout, and the mask behind it.
#[test]
fn both_forms_of_flash_attention_s_function() {
    check(
        "
        FlashAttnFunc(1x4x1x8*3, =0., =1., =True) -> 256 | 256
        FlashAttnFunc(1x4x1x8*3, =1., =True, _) -> 256 | 256
        FlashAttnFunc(1x4x1x8*3, =1., =False, _) -> 512 | 256
        # Packed: the longest sequence of 3, two more share 4: 2·16·(9 + 2·4), half of it under a mask.
        FlashAttnVarlenFunc(7x1x8*3, 4, 4, _, _, =3, =3, =1., =True) -> 272 | 448
        ",
    );
}

#[test]
fn backward_passes_of_libraries() {
    check(
        "
        # Five products of 2·16·8, half of them under a mask; 7 · 32 elements.
        flash_attn_3::bwd(1x4x1x8*5, 1x1x4:float, 1x4x1x8*3, _*6, =1., =True, =-1, =-1) -> 640 | 448
        xformers_flash::flash_bwd(=False, 1x4x1x8*5, 1x1x4:float, _, _, =4, =4, =0., =1., =False, =-1) -> 1280 | 448
        xformers::efficient_attention_backward_cutlass(1x4x1x8*4, _*3, =4, =4, 1x1x4:float, 1x4x1x8, =0., =0, =0, =1, =1., =1, _) -> 640 | 448
        # Packed: the longest sequence of 3, two more share 4.
        xformers_flash::flash_fwd(7x1x8*3, 4:int, 4:int, _, =3, =3, =0., =1., =False, =-1, =-1) -> 544 | 448
        ",
    );
}

/// A bias of 16 numbers is read; its gradient is written where it is asked for.
#[test]
fn the_gradient_of_a_bias() {
    check(
        "
        aten::_scaled_dot_product_efficient_attention_backward(1x1x4x8*4, 1x1x4x4, 1x1x4x8, 1x1x4:float, _, _, =0., =[True, True, True, False], =False) -> 1280 | 448 + 32
        aten::_scaled_dot_product_efficient_attention_backward(1x1x4x8*4, 1x1x4x4, 1x1x4x8, 1x1x4:float, _, _, =0., =[True, True, True, True], =False) -> 1280 | 448 + 64
        ",
    );
}

#[test]
fn results_of_eight_bits_and_repeated_keys() {
    check(
        "
        # Three operands of a byte, and a result of two.
        FlashAttnFunc(1x4x1x8:c10::Float8_e4m3fn*3, =0., =1., =False) -> 512 | 96 + 64
        # Four heads of keys are one in memory: 4·4·8 + 2·4·8 + 4·4·8 elements.
        aten::_scaled_dot_product_flash_attention(1x4x4x8@128x32x8x1:float, 1x4x4x8@32x0x8x1:float*2, =0., =False) -> 2048 | 4*(128 + 64 + 128)
        ",
    );
}

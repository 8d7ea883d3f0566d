//! Copies around the collectives of sharded parameters.

use super::check;

/// 2 · 3 + 4 gradients of two bytes into a buffer of 2 × 6 numbers of four.
#[test]
fn gradients_are_joined_in_the_type_of_the_buffer() {
    check(
        "
        aten::_chunk_cat([2x3 4], =0, =2, 2x6:float) by void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>(c10::BFloat16**) -> 0 | 10*2 + 12*4
        aten::_chunk_cat([2x3 4], =0, =2, 2x6:float) by my_kernel -> 0 | 10*4 + 12*4
        # Their sizes are not recorded: they fill the buffer.
        aten::_chunk_cat(_, =0, =2, 2x6:float) by void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>(c10::BFloat16**) -> 0 | 12*2 + 12*4
        ",
    );
}

#[test]
fn a_gathered_buffer_is_split_into_parameters() {
    check("aten::split_with_sizes_copy(2x6, _*3) -> 0 | 48");
}

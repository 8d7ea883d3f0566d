//! Copies around the collectives of sharded parameters.

use super::{call, check};

/// 2 · 3 + 4 gradients of two bytes into a buffer of 2 × 6 numbers of four.
#[test]
fn gradients_are_joined_in_the_type_of_the_buffer() {
    let bytes = |dims: &str, kernel: &str| {
        let types = r#"["TensorList", "Scalar", "Scalar", "float"]"#;
        let args = [dims, types, "", r#"["", "0", "2", ""]"#];
        call("aten::_chunk_cat", args, &[kernel])?.work.bytes
    };
    let listed = "[[[2, 3], [4]], [], [], [2, 6]]";
    let kernel =
        "void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>(c10::BFloat16**)";
    assert_eq!(bytes(listed, kernel), Some(10.0 * 2.0 + 12.0 * 4.0));
    assert_eq!(bytes(listed, "my_kernel"), Some(10.0 * 4.0 + 12.0 * 4.0));
    // Their sizes are not recorded: they fill the buffer.
    assert_eq!(
        bytes("[[], [], [], [2, 6]]", kernel),
        Some(12.0 * 2.0 + 12.0 * 4.0)
    );
}

#[test]
fn a_gathered_buffer_is_split_into_parameters() {
    check("aten::split_with_sizes_copy", "2x6, , , ", &[], 0.0, 48.0);
}

//! Products of inference and training libraries.

use super::{check, counted};
use crate::perf::Param;

#[test]
fn packed_weights_take_the_bytes_they_have() {
    check(
        "
        # 2·2·8·3 operations; 2 × 8 and 2 × 3 numbers of two bytes, and 3 × 4 bytes of weights.
        vllm::gemm_with_dynamic_quant(2x8, 3x4:unsigned char, 3x1:unsigned char, =False, =15) -> 96 | 32 + 12 + 12
        ",
    );
}

#[test]
fn pairs_of_four_bits_lie_along_k() {
    check(
        "
        # 2·2·4·6 operations; a byte for each pair, 8 results of two bytes.
        aten::_scaled_mm(2x3:c10::Float4_e2m1fn_x2, 3x4:c10::Float4_e2m1fn_x2, 1:float, 1:float, _*3) -> 96 | 6 + 12 + 16
        aten::_scaled_mm(2x3:c10::Float8_e4m3fn, 3x4:c10::Float8_e4m3fn, 1:float, 1:float, _*3) -> 48 | 34
        # A bias of four and results of four bytes; before PyTorch 2.5 both stood before the scales.
        aten::_scaled_mm(2x3:c10::Float8_e4m3fn, 3x4:c10::Float8_e4m3fn, 1:float, 1:float, 4, _, =6, =True) -> 48 + 8 | 18 + 32 + 8
        aten::_scaled_mm(2x3:c10::Float8_e4m3fn, 3x4:c10::Float8_e4m3fn, 4, =6, 1:float, 1:float, _, =True) -> 48 + 8 | 18 + 32 + 8
        aten::_scaled_mm_v2(2x3:c10::Float8_e4m3fn, 3x4:c10::Float8_e4m3fn, _*6, 4, =6) -> 48 + 8 | 18 + 32 + 8
        ",
    );
    // The reference's K counts bytes.
    let pairs = "aten::_scaled_mm(2x3:c10::Float4_e2m1fn_x2, 3x4:c10::Float4_e2m1fn_x2, 1:float, 1:float, _*3)";
    let params = counted(pairs).unwrap().params;
    assert!(params.contains(&("K", Param::Int(3.0))));
}

#[test]
fn products_of_libraries() {
    check(
        "
        # w is 4 × 3; results of two bytes.
        aiter::gemm_a16w16(2x3, 4x3, _, =15) -> 48 | 52
        aiter::gemm_a8w8_ck(2x3, 4x3, 2, 4) -> 48 | 52
        # Six bytes hold 2 × 6 numbers of four bits, 2·2·6·4 operations; 6 + 12 bytes of operands as
        # packed, a scale for each of 6 rows, 8 results of two bytes.
        aiter::gemm_a4w4(2x3, 4x3) -> 96 | 40
        # 5 rows go to 3 matrices of 2 × 4.
        primus_turbo::grouped_gemm(5x2, 3x2x4, 3) -> 80 | 2*(10 + 24 + 20)
        primus_turbo::grouped_gemm_variable_k(5x2, 5x4, 3) -> 80 | 2*(30 + 24)
        ",
    );
}

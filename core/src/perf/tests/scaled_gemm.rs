//! Products of inference and training libraries.

use super::{check, counted};
use crate::perf::Param;

#[test]
fn packed_weights_take_the_bytes_they_have() {
    // 2·2·8·3 operations; 2 × 8 and 2 × 3 numbers of two bytes, and 3 × 4 bytes of weights.
    let name = "vllm::gemm_with_dynamic_quant";
    let shapes = "2x8, 3x4:unsigned char, 3x1:unsigned char, , ";
    check(name, shapes, &["False", "15"], 96.0, 32.0 + 12.0 + 12.0);
}

#[test]
fn pairs_of_four_bits_lie_along_k() {
    let pair = "c10::Float4_e2m1fn_x2";
    let shapes = format!("2x3:{pair}, 3x4:{pair}, 1:float, 1:float, , , ");
    // 2·2·4·6 operations; a byte for each pair, 8 results of two bytes.
    check("aten::_scaled_mm", &shapes, &[], 96.0, 6.0 + 12.0 + 16.0);
    // The reference's K counts bytes.
    let params = counted("aten::_scaled_mm", &shapes, &[]).unwrap().params;
    assert!(params.contains(&("K", Param::Int(3.0))));
    let plain = "2x3:c10::Float8_e4m3fn, 3x4:c10::Float8_e4m3fn, 1:float, 1:float, , , ";
    check("aten::_scaled_mm", plain, &[], 48.0, 34.0);
    // A bias of four and results of four bytes; before PyTorch 2.5 both stood before the scales.
    let fp8 = "c10::Float8_e4m3fn";
    let biased = format!("2x3:{fp8}, 3x4:{fp8}, 1:float, 1:float, 4, , , ");
    let flops = 48.0 + 8.0;
    let bytes = 18.0 + 32.0 + 8.0;
    check(
        "aten::_scaled_mm",
        &biased,
        &["", "6", "True"],
        flops,
        bytes,
    );
    let older = format!("2x3:{fp8}, 3x4:{fp8}, 4, , 1:float, 1:float, , ");
    check("aten::_scaled_mm", &older, &["6", "", "True"], flops, bytes);
    let second = format!("2x3:{fp8}, 3x4:{fp8}, , , , , , , 4, ");
    let values = ["", "", "", "", "", "", "6"];
    check("aten::_scaled_mm_v2", &second, &values, flops, bytes);
}

#[test]
fn products_of_libraries() {
    // w is 4 × 3; results of two bytes.
    check(
        "aiter::gemm_a16w16",
        "2x3, 4x3, , ",
        &["", "15"],
        48.0,
        52.0,
    );
    check("aiter::gemm_a8w8_ck", "2x3, 4x3, 2, 4", &[], 48.0, 52.0);
    // Six bytes hold 2 × 6 numbers of four bits, 2·2·6·4 operations; 6 + 12 bytes of operands as
    // packed, a scale for each of 6 rows, 8 results of two bytes.
    check("aiter::gemm_a4w4", "2x3, 4x3", &[], 96.0, 40.0);
    // 5 rows go to 3 matrices of 2 × 4.
    check(
        "primus_turbo::grouped_gemm",
        "5x2, 3x2x4, 3",
        &[],
        80.0,
        2.0 * (10.0 + 24.0 + 20.0),
    );
    check(
        "primus_turbo::grouped_gemm_variable_k",
        "5x2, 5x4, 3",
        &[],
        80.0,
        2.0 * (30.0 + 24.0),
    );
}

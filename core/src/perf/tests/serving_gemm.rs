//! GEMM of serving engines.

use super::{check, counted};
use crate::perf::ComputeSpec;

#[test]
fn eight_and_four_bits() {
    let fp8 = "c10::Float8_e4m3fn";
    // 2 × 3 by 3 × 4: six and twelve bytes, eight results of two.
    let shapes = format!("2x4, 2x3:{fp8}, 3x4:{fp8}, 1:float, 1:float, ");
    check(
        "_C::cutlass_scaled_mm",
        &shapes,
        &[""],
        48.0,
        6.0 + 12.0 + 16.0,
    );
    let shapes = format!("2x3:{fp8}, 3x4:{fp8}, 1:float, 1:float");
    check("sgl_kernel::fp8_scaled_mm", &shapes, &[], 48.0, 34.0);
    let shapes = format!("1x2x3:{fp8}, 4x3:{fp8}, 2x1:float, 1x1:float");
    check("vllm::w8a8_block_fp8_matmul_func", &shapes, &[], 48.0, 34.0);
    let shapes = format!("5x2x3:{fp8}, 5x3x4:{fp8}, 5x2x4");
    check("sgl_kernel::bmm_fp8", &shapes, &[], 240.0, 5.0 * 34.0);
    // Bytes of A and B hold two numbers, 16 of K: 2·2·4·32; a scale for 16, results of two bytes.
    let shapes = "2x4, 2x16:unsigned char, 4x16:unsigned char, 2x2:unsigned char";
    check(
        "_C::cutlass_scaled_fp4_mm",
        shapes,
        &[],
        512.0,
        102.0 + 16.0,
    );
    let fp4 = counted("_C::cutlass_scaled_fp4_mm", shapes, &[]).unwrap();
    assert_eq!(
        fp4.work.compute.map(ComputeSpec::label).unwrap(),
        "matrix_fp4"
    );
}

#[test]
fn packed_weights() {
    // x of 2 × 16; weights of 16 × 8, eight to a whole number of four bytes; scales of 1 × 8.
    let name = "_C::gptq_gemm";
    let bytes = 64.0 + 64.0 + 16.0 + 32.0;
    check(
        name,
        "2x16, 2x8:int, 1x1:int, 1x8, 16:int",
        &[],
        512.0,
        bytes,
    );
    check(
        "_C::awq_gemm",
        "2x16, 16x1:int, 1x8, 1x1:int, ",
        &["8"],
        512.0,
        bytes + 4.0 - 4.0,
    );
    // Four-bit weights in tiles; scales and zeros of groups × N × 2.
    let shapes = "2x16, 1x1x32x4:int, , 1x8x2";
    check(
        "aten::_weight_int4pack_mm",
        shapes,
        &["16"],
        512.0,
        64.0 + 512.0 + 32.0 + 32.0,
    );
    let shapes = "2x16, 8x16:signed char, 8";
    check(
        "aten::_weight_int8pack_mm",
        shapes,
        &[],
        512.0,
        64.0 + 128.0 + 16.0 + 32.0,
    );
    let shapes = "1x16, 64x1:unsigned char, , 2:float, 16:float, ";
    let bytes = 32.0 + 64.0 + 8.0 + 64.0 + 16.0;
    check(
        "bitsandbytes::gemv_4bit",
        shapes,
        &["[8, 16]", "64"],
        256.0,
        bytes,
    );
}

#[test]
fn products_of_training_libraries() {
    // w of 4 × 3 first, x of 2 × 3; after a norm the other way round.
    check("_Linear", "4x3, 2x3, 4", &[], 48.0, 52.0);
    check("_LayerNormLinear", "2x3, 3, 3, 4x3", &[], 48.0, 52.0);
    check(
        "sgl_kernel::dsv3_router_gemm",
        "2x4, 2x3, 4x3",
        &[],
        48.0,
        52.0,
    );
    // Ten rows over three experts.
    check("GroupedGemm", "10x4, 3x4x5, 3", &[], 400.0, 300.0);
    // Five sorted rows: of four experts' matrices all are read, of eight only five.
    check(
        "_C::cutlass_moe_mm",
        "5x2, 5x3, 4x2x3",
        &[],
        60.0,
        2.0 * (10.0 + 15.0 + 24.0),
    );
    check(
        "_C::cutlass_moe_mm",
        "5x2, 5x3, 8x2x3",
        &[],
        60.0,
        2.0 * (10.0 + 15.0 + 30.0),
    );
}

#[test]
fn eight_bit_weights_lie_by_rows() {
    // Two rows of 3, 4 rows of weights: results of four bytes.
    let shapes = "2x3:signed char, 4x3:signed char";
    check(
        "bitsandbytes::int8_linear_matmul",
        shapes,
        &[],
        48.0,
        6.0 + 12.0 + 32.0,
    );
}

//! GEMM of serving engines.

use super::check;

#[test]
fn eight_and_four_bits() {
    check(
        "
        # 2 × 3 by 3 × 4: six and twelve bytes, eight results of two.
        _C::cutlass_scaled_mm(2x4, 2x3:c10::Float8_e4m3fn, 3x4:c10::Float8_e4m3fn, 1:float, 1:float, _) -> 48 | 6 + 12 + 16
        sgl_kernel::fp8_scaled_mm(2x3:c10::Float8_e4m3fn, 3x4:c10::Float8_e4m3fn, 1:float, 1:float) -> 48 | 34
        vllm::w8a8_block_fp8_matmul_func(1x2x3:c10::Float8_e4m3fn, 4x3:c10::Float8_e4m3fn, 2x1:float, 1x1:float) -> 48 | 34
        sgl_kernel::bmm_fp8(5x2x3:c10::Float8_e4m3fn, 5x3x4:c10::Float8_e4m3fn, 5x2x4) -> 240 | 5*34
        # Bytes of A and B hold two numbers, 16 of K: 2·2·4·32; a scale for 16, results of two bytes.
        _C::cutlass_scaled_fp4_mm(2x4, 2x16:unsigned char, 4x16:unsigned char, 2x2:unsigned char) -> 512 | 102 + 16 | matrix_fp4
        ",
    );
}

#[test]
fn packed_weights() {
    check(
        "
        # x of 2 × 16; weights of 16 × 8, eight to a whole number of four bytes; scales of 1 × 8.
        _C::gptq_gemm(2x16, 2x8:int, 1x1:int, 1x8, 16:int) -> 512 | 64 + 64 + 16 + 32
        _C::awq_gemm(2x16, 16x1:int, 1x8, 1x1:int, =8) -> 512 | (64 + 64 + 16 + 32) + 4 - 4
        # Four-bit weights in tiles; scales and zeros of groups × N × 2.
        aten::_weight_int4pack_mm(2x16, 1x1x32x4:int, =16, 1x8x2) -> 512 | 64 + 512 + 32 + 32
        aten::_weight_int8pack_mm(2x16, 8x16:signed char, 8) -> 512 | 64 + 128 + 16 + 32
        bitsandbytes::gemv_4bit(1x16, 64x1:unsigned char, =[8, 16], 2:float, 16:float, =64) -> 256 | 32 + 64 + 8 + 64 + 16
        ",
    );
}

#[test]
fn products_of_training_libraries() {
    check(
        "
        # w of 4 × 3 first, x of 2 × 3; after a norm the other way round.
        _Linear(4x3, 2x3, 4) -> 48 | 52
        _LayerNormLinear(2x3, 3, 3, 4x3) -> 48 | 52
        sgl_kernel::dsv3_router_gemm(2x4, 2x3, 4x3) -> 48 | 52
        # Ten rows over three experts.
        GroupedGemm(10x4, 3x4x5, 3) -> 400 | 300
        # Five sorted rows: of four experts' matrices all are read, of eight only five.
        _C::cutlass_moe_mm(5x2, 5x3, 4x2x3) -> 60 | 2*(10 + 15 + 24)
        _C::cutlass_moe_mm(5x2, 5x3, 8x2x3) -> 60 | 2*(10 + 15 + 30)
        ",
    );
}

#[test]
fn eight_bit_weights_lie_by_rows() {
    // Two rows of 3, 4 rows of weights: results of four bytes.
    check("bitsandbytes::int8_linear_matmul(2x3:signed char, 4x3:signed char) -> 48 | 6 + 12 + 32");
}

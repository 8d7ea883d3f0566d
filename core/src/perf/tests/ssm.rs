//! State-space models.

use super::check;

#[test]
fn scans() {
    check(
        "
        # u of 1 × 2 × 4 with three states each: eight operations for each of 24; operands and a result.
        SelectiveScanFn(1x2x4, 1x2x4, 2x3:float, 1x3x4, 1x3x4, 2:float, 1x2x4) -> 192 | (2*(4*8 + 24) + 4*(6 + 2))
        # One head of 2 over 4 steps in chunks of 2, three states: 2·4·2·3 + 2·4·2·2 + 4·4·3·2.
        MambaChunkScanCombinedFn(1x4x1x2, 1x4x1, 1:float, 1x4x1x3, 1x4x1x3, =2) -> 176 | (2*(2*8 + 4 + 24) + 4)
        # 8 results of two taps; gradients of both operands.
        DaoAILab::_causal_conv1d_bwd_cpp(1x2x4, 2x2, 2, 1x2x4) -> 64 | 2*(24 + 8)
        CausalConv1dFn(1x2x4, 2x2, 2) -> 32 | 2*(16 + 4 + 2)
        ",
    );
}

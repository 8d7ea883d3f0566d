//! State-space models.

use super::check;

#[test]
fn scans() {
    // u of 1 × 2 × 4 with three states each: eight operations for each of 24; operands and a result.
    let shapes = "1x2x4, 1x2x4, 2x3:float, 1x3x4, 1x3x4, 2:float, 1x2x4";
    let bytes = 2.0 * (4.0 * 8.0 + 24.0) + 4.0 * (6.0 + 2.0);
    check("SelectiveScanFn", shapes, &[], 192.0, bytes);
    // One head of 2 over 4 steps in chunks of 2, three states: 2·4·2·3 + 2·4·2·2 + 4·4·3·2.
    let shapes = "1x4x1x2, 1x4x1, 1:float, 1x4x1x3, 1x4x1x3, ";
    let bytes = 2.0 * (2.0 * 8.0 + 4.0 + 24.0) + 4.0;
    check("MambaChunkScanCombinedFn", shapes, &["2"], 176.0, bytes);
    // 8 results of two taps; gradients of both operands.
    let shapes = "1x2x4, 2x2, 2, 1x2x4";
    let name = "DaoAILab::_causal_conv1d_bwd_cpp";
    check(name, shapes, &[], 64.0, 2.0 * (24.0 + 8.0));
    check(
        "CausalConv1dFn",
        "1x2x4, 2x2, 2",
        &[],
        32.0,
        2.0 * (16.0 + 4.0 + 2.0),
    );
}

//! Kernels that `torch.compile` writes.

use super::{check, modelled};
use crate::perf::Unit;

#[test]
fn compiled_kernels() {
    // 8 points; mul 1, silu 4; two tensors.
    check(
        "triton_poi_fused_mul_silu_3",
        "2x4, 8, ",
        &["8"],
        40.0,
        32.0,
    );
    // The loops are 2 × 4; of the larger tensor only as many elements as points are read.
    check(
        "triton_poi_fused_add_0",
        "2x4, 100, , ",
        &["2", "4"],
        8.0,
        32.0,
    );
    // The bias and GELU of a product, in place: 8 elements read and written, 4 of the bias.
    check(
        "triton_poi_fused_addmm_gelu_2",
        "2x4, 4, ",
        &["8"],
        64.0,
        40.0,
    );
    // A size of a dynamic shape before the loops: 16 points are all there are.
    check(
        "triton_red_fused_mean_1",
        "4x4, 4, , , ",
        &["64", "4", "4"],
        16.0,
        40.0,
    );
    let single = modelled(
        "triton_poi_fused_add_0",
        "[[8],[]]",
        r#"["float","Scalar"]"#,
        r#"["","8"]"#,
    )
    .unwrap()
    .work;
    assert_eq!(single.bytes, Some(32.0));
    assert_eq!(single.compute.map(|spec| spec.unit), Some(Unit::Vector));
}

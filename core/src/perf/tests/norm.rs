//! Normalization.

use super::check;

#[test]
fn norms() {
    // n = 40, C = 4: 6·4 + 5·40; 2·40 + 6·4 elements.
    check("aten::layer_norm", "10x4, , 4, 4", &["[4]"], 224.0, 208.0);
    check(
        "aten::batch_norm",
        "10x4, 4, 4, 4, 4, ",
        &["True"],
        224.0,
        208.0,
    );
    // Statistics are given: 6·4 + 2·40; 2·40 + 4·4 elements.
    check(
        "aten::batch_norm",
        "10x4, 4, 4, 4, 4, ",
        &["False"],
        104.0,
        192.0,
    );
    // Ten rows of 2·4 + 2, and 2·40; 2·40 + 4 elements.
    check("aten::_fused_rms_norm", "10x4, , 4", &["[4]"], 180.0, 168.0);
    check("aiter::rmsnorm", "10x4, 10x4, 4, ", &["1e-6"], 180.0, 168.0);
    // The residual: an addition each, read and written.
    check(
        "aiter::add_rmsnorm",
        "10x4, 10x4, 10x4, 10x4, 4, ",
        &["1e-6"],
        220.0,
        328.0,
    );
    // 4·40 + 5·40; 3·40 + 4·4 elements.
    check(
        "aten::native_layer_norm_backward",
        "10x4, 10x4, , 10x1, 10x1, 4, 4, ",
        &["[4]", "[True, True, True]"],
        360.0,
        272.0,
    );
}

#[test]
fn batch_norm_counts_what_is_there() {
    // n = 40, C = 4, neither scale nor shift: 2·40 + 4·4 elements.
    check(
        "aten::batch_norm",
        "10x4, , , 4, 4, ",
        &["", "", "True"],
        224.0,
        192.0,
    );
    // Backward, with scale: 4·40 + 5·40; 3·40 + 4·4 elements.
    check(
        "aten::cudnn_batch_norm_backward",
        "10x4, 10x4, 4, 4, 4, 4, 4, , ",
        &["1e-5"],
        360.0,
        272.0,
    );
    // Neither scale nor its gradient: 3·40 + 4 elements.
    let values = ["", "", "", "", "", "True", "1e-5", "[True, False, False]"];
    check(
        "aten::native_batch_norm_backward",
        "10x4, 10x4, , , , , , , , ",
        &values,
        360.0,
        248.0,
    );
}

#[test]
fn norms_of_libraries() {
    check(
        "FusedLayerNormAffineFunction",
        "10x4, 4, 4",
        &[],
        224.0,
        208.0,
    );
    check(
        "aten::_native_batch_norm_legit",
        "10x4, 4, 4, 4, 4, ",
        &["True"],
        224.0,
        208.0,
    );
    // Synchronised batch norm in parts.
    check(
        "aten::batch_norm_stats",
        "10x4, ",
        &["1e-5"],
        120.0,
        80.0 + 32.0,
    );
    check(
        "aten::batch_norm_elemt",
        "10x4, 4, 4, 4, 4, ",
        &["1e-5"],
        80.0,
        160.0 + 32.0,
    );
    check(
        "aten::batch_norm_backward_reduce",
        "10x4, 10x4, 4, 4, 4",
        &[],
        160.0,
        160.0 + 64.0,
    );
    let shapes = "10x4, 10x4, 4, 4, 4, 4, 4";
    check(
        "aten::batch_norm_backward_elemt",
        shapes,
        &[],
        200.0,
        240.0 + 40.0,
    );
    check(
        "aten::_weight_norm_interface",
        "10x4, 10x1, ",
        &["0"],
        160.0,
        160.0 + 40.0,
    );
    let shapes = "10x4, 10x4, 10x1, 10x1, ";
    check(
        "aten::_weight_norm_interface_backward",
        shapes,
        &["0"],
        240.0,
        240.0 + 60.0,
    );
}

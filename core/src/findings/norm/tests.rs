use super::super::samples::{Calls, assert_contains, assert_contains_none, found, only, patterns};
use crate::findings::engine::finding::Impact;
use crate::findings::engine::outcome::Outcome;

const KERNEL: &str = "void at::native::batch_norm_kernel";
const ELEMENTWISE: &str = "void at::native::vectorized_elementwise_kernel<4>";

/// 51.4 million elements, 205.5 MB read and written, at 5 300 GB/s 38.8 µs.
const IMAGES: &str = "64x64x112x112@802816x12544x112x1";
const CHANNELS_LAST: &str = "64x64x112x112@802816x1x7168x64";

/// A batch norm of an input.
fn batch_norm(calls: Calls, x: &str, training: &str, us: u32) -> Calls {
    let args = format!("{x}, 64@1*4, ={training}");
    calls.call("aten::batch_norm", &args, KERNEL, us)
}

/// In-place additions: 1.2 GB in `us` microseconds.
fn addition(us: u32) -> Calls {
    Calls::new().call("aten::add_", "100000000@1:float*2", ELEMENTWISE, us)
}

/// A batch norm in training next to such additions.
fn with_additions(addition_us: u32, x: &str, us: u32) -> Outcome {
    batch_norm(addition(addition_us), x, "True", us).outcome("norm")
}

#[test]
fn batch_norm_is_compared_with_the_element_wise_baseline() {
    let cases: [(u32, u32, &[&str]); 5] = [
        // 12.9 % of roofline where additions reach 4 000 of 5 300 GB/s.
        (300, 300, &["norm_kernel_issue"]),
        // 24.2 %: 1 280 GB/s, and 1 930 GB/s of what it reads twice, are less than half of what additions reach.
        (160, 300, &["norm_below_baseline"]),
        // Additions at 1 200 GB/s are slow themselves.
        (300, 1000, &["memory_bound_gap"]),
        // 48.5 %.
        (80, 300, &[]),
        // 34.7 %, and 52 % of what it reads twice.
        (112, 300, &[]),
    ];
    for (us, addition_us, expected) in cases {
        let outcome = with_additions(addition_us, IMAGES, us);
        assert_eq!(patterns(&outcome), expected, "{us} µs");
    }
}

/// Statistics in one kernel, the result in another.
#[test]
fn a_norm_in_two_kernels_is_called_that() {
    let kernels = [
        ("RowwiseMomentsCUDAKernel", 90),
        ("LayerNormForwardCUDAKernel", 120),
    ];
    let args = "65536x1024:c10::Half, =[1024], 1024:c10::Half*2, =1e-05";
    let calls = Calls::new().kernels("aten::native_layer_norm", args, &kernels);
    let outcome = calls.outcome("norm");
    assert_eq!(
        only(&outcome, "norm_in_several_kernels").title,
        "Layer norm in 2 kernels"
    );
}

#[test]
fn both_rates_are_in_the_issue_and_in_the_table() {
    let outcome = with_additions(300, IMAGES, 300);
    let finding = found(&outcome, "norm_kernel_issue");
    // 205.5 MB in 300 µs.
    let rates = "the longest moves 685 GB/s where `aten::add_` moves 4.00 TB/s";
    assert_contains(&finding.issue, &[rates]);
    assert_eq!(finding.tables[0].key, "baseline_comparison");
    assert_eq!(finding.tables[0].rows[0][6].text(), "0.171");
    assert_eq!(finding.tables[1].rows[0][1].text(), "batch norm, training");
    assert_eq!(outcome.rows[0].class, "batch norm, training");
}

#[test]
fn without_large_operations_those_of_like_size_are_compared() {
    // 24 MB: 12 million BF16 elements, added in 6 µs (4 000 GB/s), below the size of a baseline.
    let calls = Calls::new().call("aten::add_", "4000000@1*2", "elementwise_kernel", 6);
    let x = "10x64x75x125@600000x9375x125x1";
    let outcome = batch_norm(calls, x, "True", 100).outcome("norm");
    let finding = found(&outcome, "norm_kernel_issue");
    // 24 MB in 100 µs: 240 GB/s.
    let rates = "the longest moves 240 GB/s where `aten::add_` moves 4.00 TB/s";
    assert_contains(&finding.issue, &[rates]);
    assert_contains(&finding.reasoning.concat(), &["moves about as much"]);
}

#[test]
fn the_channels_last_format_is_that_of_the_rank() {
    let model = |x| with_additions(300, x, 300).findings[0].model.clone();
    let flat = model(IMAGES);
    assert_contains(&flat, &["in `torch.channels_last`"]);
    let deep = model("4x64x16x112x112@12845056x200704x12544x112x1");
    assert_contains(&deep, &["in `torch.channels_last_3d`"]);
    assert_contains_none(&model(CHANNELS_LAST), &["channels_last"]);
}

#[test]
fn fixed_statistics_need_no_other_norm() {
    let model = |training| {
        let calls = batch_norm(Calls::new(), IMAGES, training, 300);
        calls.outcome("norm").findings[0].model.clone()
    };
    assert_contains(&model("False"), &["fold scale and shift"]);
    assert_contains_none(&model("True"), &["fold scale and shift"]);
}

#[test]
fn fixed_statistics_after_convolutions_can_be_folded() {
    let convolution = || {
        let args = format!("{IMAGES}, 64x64x1x1@64x1x1x1");
        Calls::new().call("aten::convolution", &args, "conv", 100)
    };
    let norm = |calls, training| {
        let calls = batch_norm(calls, IMAGES, training, 60);
        calls.outcome("norm")
    };
    let inference = norm(convolution(), "False");
    let finding = only(&inference, "foldable_batch_norm");
    assert_eq!(finding.impact, Some(Impact::at_most(60_000)));
    assert_eq!(inference.rows[0].class, "batch norm, inference");
    assert_eq!(patterns(&norm(convolution(), "True")), [""; 0]);
    assert_eq!(patterns(&norm(Calls::new(), "False")), [""; 0]);
}

#[test]
fn kernels_as_short_as_their_launch_are_no_finding() {
    let x = "8x64x7x7@3136x49x7x1";
    let calls = (0..50).fold(Calls::new(), |calls, _| batch_norm(calls, x, "True", 5));
    let outcome = calls.outcome("norm");
    assert_eq!(patterns(&outcome), [""; 0]);
    assert_contains(
        &outcome.note_texts().collect::<String>(),
        &["about as long as launching"],
    );
}

/// What runs before and after a layer norm on its stream, and the resulting advice.
#[test]
fn a_norm_is_merged_with_its_neighbors() {
    let model = |around: [&str; 3]| {
        let norm = "4096x4096@4096x1, =[4096]";
        let with_neighbor = |calls: Calls, op: &str| {
            let kernel = match op {
                "aten::mm" => "gemm",
                _ => ELEMENTWISE,
            };
            calls.call(op, "4096x4096@4096x1*2", kernel, 20)
        };
        let [before, after @ ..] = around;
        let calls = (0..3).fold(addition(300), |calls, _| {
            let calls = with_neighbor(calls, before);
            let calls = calls.call("aten::native_layer_norm", norm, "layer_norm", 300);
            after.into_iter().fold(calls, with_neighbor)
        });
        calls.outcome("norm").findings[0].model.clone()
    };
    #[rustfmt::skip]
    let cases = [
        (["aten::add", "aten::_to_copy", "aten::mm"], "merge it with `aten::add` before it and `aten::_to_copy` after it (a fused norm, or `torch.compile`)."),
        (["aten::mm", "aten::mul", "aten::mm"], "merge it with `aten::mul` after it (a fused norm, or `torch.compile`)."),
        (["aten::clone", "aten::mm", "_C::rotary_embedding"], "merge it with `aten::clone` before it (a fused norm, or `torch.compile`); fused kernels that normalize Q and K and apply RoPE exist."),
    ];
    for (around, expected) in cases {
        assert_eq!(model(around), expected);
    }
    assert_contains(&model(["aten::mm"; 3]), &["no element-wise operation"]);
}

/// 16.8 million FP16 elements, 67 MB, 12.7 µs at 5 300 GB/s; the copy before the norm takes most of the time.
#[test]
fn copies_inside_a_norm_are_its_cause() {
    let norm = |copy_us: u32| {
        const COPY: &str =
            "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda";
        let kernels = [(COPY, copy_us), ("RowwiseMomentsCUDAKernel", 16)];
        let args = "8x512x64x64:c10::Half, =32, 512:c10::Half*2, =1e-05, =True";
        let calls = Calls::new().kernels("aten::group_norm", args, &kernels);
        calls.outcome("norm")
    };
    let outcome = norm(100);
    let finding = only(&outcome, "helper_kernels");
    assert_eq!(finding.title, "Copies and casts beside group norms");
    assert_eq!(finding.impact, Some(Impact::measured(100_000)));
    assert_contains(&finding.model, &["channels-last"]);
    assert_contains(&finding.causes, &["1 copy kernel"]);
    assert_eq!(patterns(&norm(1)), [""; 0]);
}

/// The gradients of scale and shift, in two workgroups.
#[test]
fn a_norm_in_few_workgroups_is_called_that() {
    let backward = |workgroups: u32| {
        let args = "1048576x64*2, =[64], 1048576x1:float*2, 64*2, =[True, True, True]";
        let grid = format!(r#""grid": [{workgroups}, 1, 1], "block": [256, 1, 1]"#);
        let kernel = "GammaBetaBackwardCUDAKernelTemplate";
        let calls = Calls::new().call("aten::native_layer_norm_backward", args, kernel, 3_000);
        calls.with(|table| table.args(&grid)).outcome("norm")
    };
    let outcome = backward(2);
    let finding = only(&outcome, "few_workgroups");
    assert_eq!(
        finding.title,
        "Layer norm in 2 workgroups on 304 compute units"
    );
    assert_contains(&finding.model, &["sums over all rows"]);
    assert_eq!(patterns(&backward(4096)), ["memory_bound_gap"]);
}

#[test]
fn weights_are_not_normalized_again_at_inference() {
    let args = "512x512x11:float, 512x1x1:float, =0";
    let name = "aten::_weight_norm_interface";
    let forward = || {
        let model = Calls::new().call("aten::mm", "64x64*2", "gemm", 10);
        model.calls(100, name, args, "weight_norm", 200)
    };
    let outcome = forward().outcome("norm");
    let finding = only(&outcome, "weight_norm_at_inference");
    assert_contains(&finding.model, &["remove_parametrizations"]);
    assert_eq!(finding.impact.unwrap().high_ns, 100 * 200_000);
    let name = "autograd::engine::evaluate_function: WeightNormInterfaceBackward0";
    let training = forward().with(|table| table.op(name, 100_000..100_010));
    let outcome = training.outcome("norm");
    assert!(!patterns(&outcome).contains(&"weight_norm_at_inference"));
}

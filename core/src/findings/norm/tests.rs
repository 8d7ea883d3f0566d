use super::super::finding::Impact;
use super::super::samples::{Calls, found, patterns, tensors};

const KERNEL: &str = "void at::native::batch_norm_kernel";

/// Batch norm of 64 × 64 × 112 × 112 in BF16: 51.4 million elements, 205.5 MB read and written,
/// at 5 300 GB/s 38.8 µs.
fn batch_norm(calls: Calls, training: &str, strides: &str, us: u32) -> Calls {
    let channels = ("[64]", "c10::BFloat16", "[1]");
    let args = tensors(&[
        ("[64, 64, 112, 112]", "c10::BFloat16", strides),
        channels,
        channels,
        channels,
        channels,
        ("[]", "Scalar", "[]"),
    ]);
    let args = format!(r#"{args}, "Concrete Inputs": ["", "", "", "", "", "{training}"]"#);
    calls.call("aten::batch_norm", &args, KERNEL, us)
}

const CHANNELS_FIRST: &str = "[802816, 12544, 112, 1]";
const CHANNELS_LAST: &str = "[802816, 1, 7168, 64]";

/// Additions in place: 1.2 GB in so many microseconds.
fn addition(calls: Calls, us: u32) -> Calls {
    let args = tensors(&[
        ("[100000000]", "float", "[1]"),
        ("[100000000]", "float", "[1]"),
    ]);
    calls.call(
        "aten::add_",
        &args,
        "void at::native::vectorized_elementwise_kernel<4>",
        us,
    )
}

#[test]
fn batch_norm_is_compared_with_the_element_wise_baseline() {
    let case = |norm_us, addition_us| {
        let calls = addition(Calls::new(), addition_us);
        patterns(&batch_norm(calls, "True", CHANNELS_FIRST, norm_us).outcome("norm"))
    };
    // 12.9 % of roofline where additions reach 4 000 of 5 300 GB/s.
    assert_eq!(case(300, 300), ["norm_kernel_issue"]);
    // 25.8 %: 1 370 GB/s are a third of what additions reach.
    assert_eq!(case(150, 300), ["norm_below_baseline"]);
    // Additions at 1 200 GB/s are slow themselves.
    assert_eq!(case(300, 1000), ["memory_bound_gap"]);
    // 48.5 %.
    assert_eq!(case(80, 300), [""; 0]);
}

#[test]
fn both_rates_are_in_the_issue_and_in_the_table() {
    let calls = addition(Calls::new(), 300);
    let outcome = batch_norm(calls, "True", CHANNELS_FIRST, 300).outcome("norm");
    let finding = found(&outcome, "norm_kernel_issue");
    // 205.5 MB in 300 µs.
    assert!(
        finding
            .issue
            .ends_with("the longest moves 685 GB/s where `aten::add_` moves 4.00 TB/s."),
        "{}",
        finding.issue
    );
    assert_eq!(finding.tables[0].key, "baseline_comparison");
    assert_eq!(finding.tables[0].rows[0][6].text(), "0.171");
    assert_eq!(outcome.rows[0].class, "batch norm, training");
}

#[test]
fn without_large_operations_those_of_like_size_are_compared() {
    // 24 MB: 12 million BF16 elements, added in 6 µs (4 000 GB/s), below the size of a baseline.
    let small = ("[4000000]", "c10::BFloat16", "[1]");
    let channels = ("[64]", "c10::BFloat16", "[1]");
    let norm = tensors(&[
        (
            "[10, 64, 75, 125]",
            "c10::BFloat16",
            "[600000, 9375, 125, 1]",
        ),
        channels,
        channels,
        channels,
        channels,
    ]);
    let outcome = Calls::new()
        .call(
            "aten::add_",
            &tensors(&[small, small]),
            "elementwise_kernel",
            6,
        )
        .call("aten::batch_norm", &norm, KERNEL, 100)
        .outcome("norm");
    // 24 MB in 100 µs: 240 GB/s.
    let finding = found(&outcome, "norm_kernel_issue");
    assert!(
        finding
            .issue
            .ends_with("the longest moves 240 GB/s where `aten::add_` moves 4.00 TB/s."),
        "{}",
        finding.issue
    );
    assert!(
        finding
            .reasoning
            .iter()
            .any(|sentence| sentence.contains("moves about as much"))
    );
}

#[test]
fn channels_last_is_advised_where_channels_come_first() {
    let model = |strides| {
        let calls = addition(Calls::new(), 300);
        let outcome = batch_norm(calls, "True", strides, 300).outcome("norm");
        found(&outcome, "norm_kernel_issue")
            .model
            .contains("channels_last")
    };
    assert!(model(CHANNELS_FIRST));
    assert!(!model(CHANNELS_LAST));
}

#[test]
fn fixed_statistics_behind_convolutions_can_be_folded() {
    let convolution = |calls: Calls| {
        let args = tensors(&[
            ("[64, 64, 112, 112]", "c10::BFloat16", CHANNELS_FIRST),
            ("[64, 64, 1, 1]", "c10::BFloat16", "[64, 1, 1, 1]"),
        ]);
        calls.call("aten::convolution", &args, "conv", 100)
    };
    let inference = batch_norm(convolution(Calls::new()), "False", CHANNELS_FIRST, 60);
    let outcome = inference.outcome("norm");
    assert_eq!(patterns(&outcome), ["foldable_batch_norm"]);
    assert_eq!(outcome.rows[0].class, "batch norm, inference");
    assert_eq!(
        found(&outcome, "foldable_batch_norm").impact,
        Some(Impact::at_most(60_000))
    );
    let training = batch_norm(convolution(Calls::new()), "True", CHANNELS_FIRST, 60);
    assert_eq!(patterns(&training.outcome("norm")), [""; 0]);
    let alone = batch_norm(Calls::new(), "False", CHANNELS_FIRST, 60);
    assert_eq!(patterns(&alone.outcome("norm")), [""; 0]);
}

#[test]
fn kernels_as_short_as_their_launch_are_no_finding() {
    let channels = ("[64]", "c10::BFloat16", "[1]");
    let norm = tensors(&[
        ("[8, 64, 7, 7]", "c10::BFloat16", "[3136, 49, 7, 1]"),
        channels,
        channels,
    ]);
    let outcome = Calls::new()
        .calls(50, "aten::batch_norm", &norm, KERNEL, 5)
        .outcome("norm");
    assert_eq!(patterns(&outcome), [""; 0]);
    assert!(
        outcome
            .notes
            .iter()
            .any(|note| note.contains("about as long as launching"))
    );
}

#[test]
fn the_channels_last_format_is_that_of_the_rank() {
    let model = |shape: &str, strides: &str| {
        let channels = ("[64]", "c10::BFloat16", "[1]");
        let args = tensors(&[
            (shape, "c10::BFloat16", strides),
            channels,
            channels,
            channels,
            channels,
        ]);
        let calls = addition(Calls::new(), 300).call("aten::batch_norm", &args, KERNEL, 300);
        let outcome = calls.outcome("norm");
        outcome.findings[0].model.clone()
    };
    let flat = model("[64, 64, 112, 112]", CHANNELS_FIRST);
    assert!(flat.contains("in `torch.channels_last`"), "{flat}");
    let deep = model("[4, 64, 16, 112, 112]", "[12845056, 200704, 12544, 112, 1]");
    assert!(deep.contains("in `torch.channels_last_3d`"), "{deep}");
    let last = model("[64, 64, 112, 112]", CHANNELS_LAST);
    assert!(!last.contains("channels_last"), "{last}");
}

/// What runs before and after a layer norm on its stream, and what is said of it.
#[test]
fn a_norm_is_merged_with_its_neighbors() {
    let x = ("[4096, 4096]", "c10::BFloat16", "[4096, 1]");
    let model = |around: [&str; 3]| {
        let [before, after, next] = around;
        let kernel = |op: &str| match op {
            "aten::mm" => "gemm",
            _ => "void at::native::vectorized_elementwise_kernel<4>",
        };
        let width = tensors(&[x, ("[]", "ScalarList", "[]")]);
        let norm = format!(r#"{width}, "Concrete Inputs": ["", "[4096]"]"#);
        let mut calls = addition(Calls::new(), 300);
        for _ in 0..3 {
            calls = calls
                .call(before, &tensors(&[x, x]), kernel(before), 20)
                .call("aten::native_layer_norm", &norm, "layer_norm", 300)
                .call(after, &tensors(&[x, x]), kernel(after), 20)
                .call(next, &tensors(&[x, x]), kernel(next), 20);
        }
        calls.outcome("norm").findings[0].model.clone()
    };
    assert_eq!(
        model(["aten::add", "aten::_to_copy", "aten::mm"]),
        "merge it with `aten::add` before it and `aten::_to_copy` after it (a fused norm, or \
         `torch.compile`)."
    );
    assert_eq!(
        model(["aten::mm", "aten::mul", "aten::mm"]),
        "merge it with `aten::mul` after it (a fused norm, or `torch.compile`)."
    );
    let between = model(["aten::mm", "aten::mm", "aten::mm"]);
    assert!(
        between.starts_with("no element-wise operation"),
        "{between}"
    );
    let rotated = model(["aten::clone", "aten::mm", "_C::rotary_embedding"]);
    assert_eq!(
        rotated,
        "merge it with `aten::clone` before it (a fused norm, or `torch.compile`); fused \
         kernels that normalize Q and K and apply RoPE exist."
    );
}

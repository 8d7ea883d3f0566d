use super::*;
use crate::compare::testing::{H100, assert_contains, compared, run};
use crate::testing::Timetable;

/// The model advice for the only matched operation.
fn model(reference: &Timetable, target: &Timetable) -> String {
    let comparison = compared(reference, target, None);
    let [op] = &comparison.operations.matched[..] else {
        panic!("one operation");
    };
    advice(&comparison, op)[0].clone()
}

#[test]
fn channels_last_is_advised_where_the_target_does_without() {
    // A convolution whose input has these strides.
    let [last, apart] = ["[200704, 1, 3584, 64]", "[200704, 3136, 56, 1]"].map(|strides| {
        let none = "[], [], [], [], [], [], []";
        let args = format!(
            r#""Input Dims": [[8, 64, 56, 56], [64, 64, 3, 3], {none}], "Input type": ["float", "float", "", "", "", "", "", "", ""], "Input Strides": [{strides}, [576, 9, 3, 1], {none}]"#
        );
        run([("aten::convolution", args.as_str(), "implicit_gemm", 100)])
    });
    assert!(model(&last, &apart).starts_with("Use the channels-last layout on the target too"));
    assert!(model(&apart, &apart).starts_with("Try the channels-last layout"));
    let neither = "Let the library benchmark its algorithms on the target (`torch.backends.cudnn.benchmark = True`).";
    assert_eq!(model(&last, &last), neither);
    assert_eq!(model(&apart, &last), neither);
}

#[test]
fn pinned_memory_is_advised_for_copies_from_elsewhere() {
    for (direction, is_advised) in [
        ("HtoD (Pageable -> Device)", true),
        ("HtoD (Pinned -> Device)", false),
        ("DtoD (Device -> Device)", false),
    ] {
        let name = format!("Memcpy {direction}");
        let copy = Timetable::new().launch(1, 1..2).copy(1, &name, 100..200);
        assert_eq!(model(&copy, &copy).contains("pinned"), is_advised);
    }
}

const SQUARE: &str =
    r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]"#;
const QKV: &str = r#""Input Dims": [[8, 16, 2048, 64], [8, 16, 2048, 64], [8, 16, 2048, 64]], "Input type": ["c10::Half", "c10::Half", "c10::Half"]"#;

/// The advice on an H100 for the only matched operation: 200 µs on the reference, 500 on the target, each with an
/// operator and a kernel.
fn advised(args: &str, reference: [&str; 2], target: [&str; 2]) -> [String; 3] {
    let [reference, target] =
        [(reference, 200), (target, 500)].map(|([op, kernel], us)| run([(op, args, kernel, us)]));
    let comparison = compared(&reference, &target, H100);
    let gap = &comparison.gaps.ranked[0];
    [&gap.gap, &gap.model, &gap.kernel].map(String::clone)
}

#[test]
fn attention_on_contexts_of_unknown_length_may_read_longer_ones() {
    let attention = [
        "vllm::unified_attention_with_output",
        "flash_fwd_splitkv_kernel",
    ];
    let [_, model, _] = advised("", attention, attention);
    assert_contains(&model, "do not show how long the contexts are");
    let gemm = ["aten::mm", "gemm"];
    let [_, model, _] = advised(SQUARE, gemm, gemm);
    assert!(!model.contains("contexts"), "{model}");
}

#[test]
fn a_gemm_without_tf32_is_to_use_it_as_the_reference_does() {
    let tf32 = ["aten::mm", "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n"];
    let other_tf32 = ["aten::mm", "ampere_tf32_s1688gemm"];
    let sgemm = ["aten::mm", "ampere_sgemm_128x64_nn"];
    let [reference, target] =
        [(tf32, 200), (sgemm, 500)].map(|([op, kernel], us)| run([(op, SQUARE, kernel, us)]));
    let gap = &compared(&reference, &target, H100).gaps.ranked[0];
    assert_contains(
        &gap.title,
        "in full FP32, where the reference computes in TF32",
    );
    let [_, model, kernel] = advised(SQUARE, tf32, sgemm);
    assert_contains(&model, "torch.set_float32_matmul_precision");
    assert!(kernel.contains("TF32"), "{kernel}");
    // Both use TF32, so that is not the cause; the sizes suit any kernel.
    let [_, model, _] = advised(SQUARE, tf32, other_tf32);
    assert!(
        model.starts_with("Use `torch.compile` with `mode="),
        "{model}"
    );
    // On AMD GPUs TF32 has units, and a rate, of its own, and the library a switch.
    let xf32 = ["aten::mm", "Cijk_Ailk_Bljk_S_MX_B_MT256x256x32"];
    let fp32 = ["aten::mm", "Cijk_Ailk_Bljk_S_B_MT256x256x32"];
    for (of_reference, gpu) in [(xf32, "MI300X"), (tf32, "H100")] {
        let [reference, target] = [(of_reference, 300), (fp32, 1_000)]
            .map(|([op, kernel], us)| run([(op, SQUARE, kernel, us)]));
        let gap = &compared(&reference, &target, Some((gpu, "MI300X")))
            .gaps
            .ranked[0];
        assert_contains(&gap.title, "in full FP32");
        assert_contains(&gap.model, "HIPBLASLT_ALLOW_TF32=1");
    }
    let odd = SQUARE.replace("[4096, 4096]]", "[4096, 37]]");
    let [_, model, _] = advised(&odd, tf32, other_tf32);
    assert!(model.starts_with("Batch or pad"), "{model}");
}

#[test]
fn a_kernel_that_is_slower_on_the_same_work_is_no_matter_of_the_kernel() {
    let [_, model, kernel] = advised(SQUARE, ["aten::mm", "gemm"], ["aten::mm", "gemm"]);
    assert!(model.starts_with("Look at the machine before the model: clocks"));
    let words = "Both sides run the same kernel";
    assert!(kernel.starts_with(words), "{kernel}");
}

#[test]
fn the_attention_that_the_reference_calls_is_named() {
    let flash = ["aten::_scaled_dot_product_flash_attention", "flash_fwd"];
    let other = ["aten::_scaled_dot_product_cudnn_attention", "sdpa_fprop"];
    let [gap, model, _] = advised(QKV, other, flash);
    let words = "than the reference's 200 µs on `aten::_scaled_dot_product_cudnn_attention`";
    assert_contains(&gap, words);
    assert_eq!(
        model,
        "Choose the implementation that the reference calls, `aten::_scaled_dot_product_cudnn_attention`: `torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION)`."
    );
}

#[test]
fn the_machine_is_not_at_fault_where_others_are_as_fast() {
    const X: &str =
        r#""Input Dims": [[8192, 4096], [8192, 4096]], "Input type": ["float", "float"]"#;
    const ROWS: &str = r#""Input Dims": [[8192, 4096], [], []], "Input type": ["float", "Scalar", "Scalar"], "Concrete Inputs": ["", "-1", "False"]"#;
    let both = |us| {
        run([
            ("aten::add", X, "add", 400),
            ("aten::_softmax", ROWS, "softmax", us),
        ])
    };
    let comparison = compared(&both(200), &both(600), H100);
    assert_contains(
        &comparison.gaps.ranked[0].model,
        "Other operations take as long as on the reference",
    );
    // Nothing else tells.
    let alone = |us| run([("aten::_softmax", ROWS, "softmax", us)]);
    let comparison = compared(&alone(200), &alone(600), H100);
    assert_contains(&comparison.gaps.ranked[0].model, "Look at the machine");
}

#[test]
fn odd_sizes_are_the_cause_before_the_kernel_that_they_need() {
    let mm = |n: u32, kernel: &str, us| {
        let args = format!(
            r#""Input Dims": [[4096, 4096], [4096, {n}]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#
        );
        run([("aten::mm", args.as_str(), kernel, us)])
    };
    let odd = mm(4097, "cutlass_80_tensorop_bf16_s16816gemm_align1", 400);
    let comparison = compared(&mm(4096, "nvjet_hsh_128x256", 200), &odd, H100);
    let gap = &comparison.gaps.ranked[0];
    assert_eq!(gap.pattern, "irregular_sizes");
    assert_contains(
        &gap.model,
        "as on the reference (4096×4096, 4096×4096 bf16)",
    );
}

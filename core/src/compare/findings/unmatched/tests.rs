use crate::compare::Gap;
use crate::compare::testing::{H100, assert_contains, compared, run, savings};

type Calls<'a> = &'a [(&'a str, &'a str, &'a str, u32)];

fn only_gap(reference: Calls, target: Calls) -> Gap {
    let [reference, target] = [reference, target].map(|calls| run(calls.iter().copied()));
    let ranked = compared(&reference, &target, H100).gaps.ranked;
    let [gap] = &ranked[..] else {
        panic!("{ranked:#?}");
    };
    gap.clone()
}

const ONE: &str = r#""Input Dims": [[64, 64]], "Input type": ["float"]"#;

#[test]
fn only_kernels_that_the_other_trace_never_runs_are_named() {
    let both = ("aten::mm", ONE, "gemm", 100);
    let gap = only_gap(
        &[both, ("aten::relu", ONE, "shared", 10)],
        &[
            both,
            ("aten::gelu", ONE, "shared", 40),
            ("aten::tanh", ONE, "tanh_kernel", 30),
        ],
    );
    assert_eq!(gap.pattern, "no_partner");
    let said = gap.reasoning.join(" ");
    assert_contains(&said, "Kernels that only the target runs: `tanh_kernel`.");
    let others = "Kernels that only the reference runs";
    assert!(!said.contains(others), "{said}");
    // Two kernels instead of one.
    let model = &gap.model;
    assert!(model.contains("what is done in several"), "{model}");
    // 40 + 30 − 10 µs.
    assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(60_000));
}

#[test]
fn one_kernel_against_one_is_not_called_several() {
    let gap = only_gap(
        &[("my::old", ONE, "old", 100)],
        &[("my::new", ONE, "new", 200)],
    );
    assert!(!gap.model.contains("several"), "{}", gap.model);
}

/// One of four layers of the target is larger.
#[test]
fn calls_on_other_sizes_save_what_they_take_beyond_those_of_the_reference() {
    let square = |n: u32| {
        format!(r#""Input Dims": [[{n}, {n}], [{n}, {n}]], "Input type": ["float", "float"]"#)
    };
    let (small, large) = (square(512), square(1024));
    let layer = ("aten::mm", small.as_str(), "gemm", 100);
    let larger = ("aten::mm", large.as_str(), "gemm", 150);
    let others = [("aten::add", ONE, "add", 50), ("aten::mul", ONE, "mul", 50)];
    let gap = only_gap(
        &[[layer; 4].as_slice(), &others].concat(),
        &[&[layer, layer, layer, larger], others.as_slice()].concat(),
    );
    assert_eq!(gap.pattern, "other_sizes");
    assert_eq!(gap.title, "Calls on other sizes: `aten::mm`");
    assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(50_000));
}

#[test]
fn an_operator_that_the_reference_calls_too_is_named_with_its_sizes() {
    let square = |n: u32| {
        format!(r#""Input Dims": [[{n}, {n}], [{n}, {n}]], "Input type": ["float", "float"]"#)
    };
    let (small, large) = (square(512), square(1024));
    let both = ("aten::mm", small.as_str(), "gemm", 100);
    let more = ("aten::mm", large.as_str(), "gemm", 500);
    let gap = only_gap(&[both], &[both, more]);
    assert_eq!(
        gap.gap,
        "The target spends 500 µs in operations that the reference does not have, mainly `aten::mm` on 1024×1024, 1024×1024 fp32; the reference spends no time in operations that the target does not have."
    );
    let said = gap.reasoning.join(" ");
    assert!(!said.contains("what the other does in several"), "{said}");
}

#[test]
fn what_stands_beside_other_operations_is_named() {
    let both = ("aten::mm", ONE, "gemm", 100);
    for (op, args, key) in [
        (
            "aten::copy_",
            r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["c10::BFloat16", "float"]"#,
            "conversions",
        ),
        (
            "aten::copy_",
            r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]"#,
            "copies_within_gpu",
        ),
        (
            "aten::add",
            r#""Input Dims": [[64, 64], [64]], "Input type": ["float", "float"]"#,
            "unfused_bias",
        ),
    ] {
        let gap = only_gap(&[both], &[both, (op, args, "k", 50)]);
        assert_eq!(gap.pattern, key);
        assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(50_000));
    }
    // What the reference does in other kernels is not saved.
    let copy = (
        "aten::copy_",
        r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["c10::BFloat16", "float"]"#,
        "k",
        50,
    );
    let gap = only_gap(
        &[("my::fused", "", "f", 120)],
        &[copy, ("my::op", ONE, "g", 100)],
    );
    assert_eq!(gap.pattern, "no_partner");
    assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(30_000));
}

#[test]
fn activations_that_only_the_target_computes_again_are_named() {
    let forward = || {
        run([
            ("aten::mm", ONE, "gemm", 100),
            ("aten::gelu", ONE, "gelu", 50),
        ])
    };
    let again = |us: u32| {
        forward()
            .frame("torch/utils/checkpoint.py(400): recompute_fn", 5_000..5_090)
            .op("aten::mm", 5_010..5_050)
            .args(ONE)
            .launched("gemm", 5_011..5_012, 5_100..5_100 + us)
    };
    let gaps = compared(&forward(), &again(100), H100).gaps.ranked;
    let gap = gaps.iter().find(|gap| gap.pattern == "recomputation");
    let gap = gap.unwrap_or_else(|| panic!("{gaps:#?}"));
    assert_eq!(gap.title, "The target computes activations a second time");
    assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(100_000));
    assert_contains(&gap.model, "selective activation checkpointing");
    assert!(gaps.iter().all(|gap| gap.pattern != "no_partner"));
    // Both do.
    let both = compared(&again(100), &again(100), H100).gaps.ranked;
    assert!(both.is_empty(), "{both:#?}");
}

#[test]
fn an_optimizer_that_only_the_reference_fuses_is_named() {
    let both = ("aten::mm", ONE, "gemm", 100);
    let gap = only_gap(
        &[both, ("aten::_fused_adamw_", "", "fused_adam", 50)],
        &[
            both,
            ("aten::lerp_", ONE, "lerp", 60),
            ("aten::addcdiv_", ONE, "addcdiv", 60),
        ],
    );
    assert_contains(&gap.model, "`fused=True`");
    assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(70_000));
}

#[test]
fn what_the_reference_fuses_in_generated_kernels_is_one_finding() {
    let mm = ("aten::mm", ONE, "gemm", 1_000);
    let norm = ("aten::native_layer_norm", ONE, "layer_norm", 10);
    let gelu = ("aten::gelu", ONE, "gelu", 100);
    let fused = (
        "triton_red_fused_gelu_native_layer_norm_0",
        ONE,
        "triton_red_fused_gelu_native_layer_norm_0",
        60,
    );
    let step = |calls: &[(&str, &str, &str, u32)]| {
        run(calls.iter().copied()).annotation("ProfilerStep#7", 0..5_000)
    };
    // Both end with a norm outside of the compiled layers.
    let compiled = step(&[mm, fused, mm, fused, mm, norm]);
    let eager = step(&[mm, norm, gelu, mm, norm, gelu, mm, norm]);
    let ranked = compared(&compiled, &eager, H100).gaps.ranked;
    // Two norms of 10 µs and two GELUs of 100, in place of two kernels of 60.
    assert_eq!(savings(&ranked), [("lost_fusion", Some(100_000))]);
    assert_contains(&ranked[0].model, "`torch.compile`");
    assert!(compared(&eager, &compiled, H100).gaps.ranked.is_empty());
}

#[test]
fn a_fused_kernel_in_place_of_some_calls_is_no_further_work() {
    let both = ("aten::mm", ONE, "gemm", 100);
    let add = ("aten::add", ONE, "add", 50);
    let step = |calls: &[(&str, &str, &str, u32)]| {
        run(calls.iter().copied()).annotation("ProfilerStep#7", 0..500)
    };
    let reference = step(&[both, add, both, add]);
    let with = |us: u32| {
        step(&[
            both,
            add,
            both,
            ("triton_red_fused_add_0", ONE, "triton", us),
        ])
    };
    let saved = |us: u32| {
        let ranked = compared(&reference, &with(us), H100).gaps.ranked;
        ranked.first().map(|gap| gap.saving.unwrap().matching_ns)
    };
    assert_eq!(saved(40), None);
    assert_eq!(saved(70), Some(20_000));
    // Nor are calls in place of the fused kernel.
    let ranked = compared(&with(40), &reference, H100).gaps.ranked;
    assert_eq!(
        ranked[0].saving.map(|saving| saving.matching_ns),
        Some(10_000)
    );
    let ranked = compared(&with(70), &reference, H100).gaps.ranked;
    assert!(ranked.is_empty(), "{ranked:#?}");
}

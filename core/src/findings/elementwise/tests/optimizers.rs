//! Steps of optimizers, and operations on lists of tensors.

use super::*;

/// The same in an optimizer step.
fn in_step_of(optimizer: &str, calls: &Calls) -> Outcome {
    let range = format!("Optimizer.step#{optimizer}.step");
    let calls = calls.clone();
    let calls = calls.with(|timetable| timetable.annotation(&range, 0..100_000));
    calls.outcome("elementwise")
}

#[test]
fn an_optimizer_that_steps_one_by_one_is_known_by_its_range() {
    let steps = short("aten::mul_");
    let inside = in_step_of("AdamW", &steps);
    assert_eq!(patterns(&inside), ["optimizer_not_fused"]);
    let outside = steps.outcome("elementwise");
    assert_eq!(patterns(&outside), ["many_small_kernels"]);
    // Without a range, the operators of Adam decide, in training.
    let adam = short("aten::addcdiv_");
    let inference = adam.outcome("elementwise");
    assert_eq!(patterns(&inference), ["many_small_kernels"]);
    let backward = "autograd::engine::evaluate_function: MulBackward0";
    let training = adam.call(backward, "", KERNEL, 4).outcome("elementwise");
    assert_eq!(patterns(&training), ["optimizer_not_fused"]);
}

/// Not every optimizer has an option to update its parameters together.
#[test]
fn how_parameters_are_stepped_together_follows_the_optimizer() {
    for (optimizer, words) in [
        ("AdamW", "`fused=True`, or `foreach=True`"),
        ("RMSprop", "with `foreach=True`"),
        ("Lion", "compile the step"),
    ] {
        let outcome = in_step_of(optimizer, &short("aten::mul_"));
        assert_contains(&found(&outcome, "optimizer_not_fused").model, &[words]);
    }
}

/// Lists of `n` tensors of a million single-precision elements each.
fn lists(n_lists: usize, n: usize) -> String {
    format!("[{}]*{n_lists}", "1000000 ".repeat(n))
}

const LIST_KERNEL: &str = "multi_tensor_apply_kernel<TensorListMetadata<1>, UnaryOpFunctor<float>>";

/// The parts of an Adam step: how many tensors each takes, and how often it passes over them.
const PARTS: [(&str, usize, u32); 5] = [
    ("lerp_", 2, 3),
    ("mul_", 1, 2),
    ("addcmul_", 3, 4),
    ("sqrt", 1, 2),
    ("addcdiv_", 3, 4),
];

/// 100 million parameters: 400 MB, one pass over them takes 75.5 µs at 5 300 GB/s. Five operations make 15 passes, at
/// 75 % of roofline 1.5 ms; one kernel with 7 passes would take 528 µs at roofline.
#[test]
fn a_step_of_adam_in_list_kernels_is_worth_its_passes() {
    let calls = PARTS.iter().fold(Calls::new(), |calls, (part, n, passes)| {
        let op = format!("aten::_foreach_{part}");
        calls.call(&op, &lists(*n, 100), LIST_KERNEL, passes * 100)
    });
    // 1.5 ms minus 7 · 75.47 µs.
    let outcome = calls.outcome("elementwise");
    saves_at_most(&outcome, "optimizer_in_parts", 971_000..972_500);
    // Steps of another optimizer are not mistaken for Adam's.
    let other = in_step_of("RMSprop", &calls);
    let other = only(&other, "optimizer_in_parts");
    assert_eq!(other.title, "Steps of `RMSprop` in separate kernels");
    assert_contains_none(&other.model, &["fused=True"]);
}

/// A parameter of 268 MB, one pass over it takes 50.6 µs at 5 300 GB/s. Five operations make 15 passes, at 80 % of
/// roofline 945 µs; one kernel with 7 passes would take 354 µs at roofline.
#[test]
fn a_step_of_adam_on_a_large_parameter_is_worth_its_passes() {
    let calls = PARTS.iter().fold(Calls::new(), |calls, (part, n, passes)| {
        let args = format!("8192x8192@8192x1:float*{n}, _:Scalar");
        calls.call(&format!("aten::{part}"), &args, KERNEL, passes * 63)
    });
    // 945 µs minus 7 · 50.65 µs.
    let outcome = in_step_of("AdamW", &calls);
    saves_at_most(&outcome, "optimizer_in_parts", 590_000..591_000);
    let other = in_step_of("RMSprop", &calls);
    let title = &only(&other, "optimizer_in_parts").title;
    assert_eq!(title, "Steps of `RMSprop` in separate kernels");
    // Without ranges of the optimizer.
    assert_eq!(patterns(&calls.outcome("elementwise")), [""; 0]);
}

/// The recording starts within the first step, whose range is missing.
#[test]
fn a_step_of_which_a_half_is_recorded_is_one() {
    let step = |calls: Calls| {
        PARTS.iter().fold(calls, |calls, (part, n, passes)| {
            let args = format!("8192x8192@8192x1:float*{n}, _:Scalar");
            calls.call(&format!("aten::{part}"), &args, KERNEL, passes * 63)
        })
    };
    let with_range = |calls: Calls| {
        let start = calls.now_us();
        let calls = step(calls);
        let range = start..calls.now_us();
        calls.with(|table| table.annotation("Optimizer.step#AdamW.step", range))
    };
    let found = |calls: Calls| patterns(&calls.outcome("elementwise"));
    assert_eq!(
        found(with_range(step(Calls::new()))),
        ["optimizer_in_parts"]
    );
    // Of three of which one is a step of the optimizer, it is not said.
    let twice = step(step(Calls::new()));
    assert!(!found(with_range(twice)).contains(&"optimizer_in_parts"));
}

/// Lists of more than 30 tensors are recorded without sizes: 15 passes in 1.5 ms, of which a fused step makes 7.
#[test]
fn a_step_on_lists_without_sizes_is_worth_the_passes_that_it_makes() {
    let calls = |parts: &[(&str, usize, u32)]| {
        parts.iter().fold(Calls::new(), |calls, (part, _, passes)| {
            let op = format!("aten::_foreach_{part}");
            calls.call(&op, "_:TensorList", LIST_KERNEL, passes * 100)
        })
    };
    let outcome = in_step_of("AdamW", &calls(&PARTS));
    // The second moment reads the gradient once: 14 passes.
    saves_at_most(&outcome, "optimizer_in_parts", 745_000..755_000);
    let finding = only(&outcome, "optimizer_in_parts");
    assert_contains(&finding.reasoning.concat(), &["these kernels make 14"]);
    // A part that is not known could be anything.
    let unknown = [&PARTS[..], &[("tan", 1, 2)]].concat();
    let unknown = in_step_of("AdamW", &calls(&unknown));
    assert!(!patterns(&unknown).contains(&"optimizer_in_parts"));
}

/// Small parameters between large ones are stepped by the same advice; where most are small, launches are the cost.
#[test]
fn one_finding_is_about_all_parameters_of_a_step() {
    let step = |n_large: u32, n_small: u32| {
        let both = [
            ("8192x8192@8192x1", n_large, 63),
            ("64x64@64x1", n_small, 2),
        ];
        let calls = PARTS.iter().fold(Calls::new(), |calls, (part, n, passes)| {
            both.iter().fold(calls, |calls, (shape, n_calls, us)| {
                let args = format!("{shape}:float*{n}, _:Scalar");
                calls.calls(
                    *n_calls,
                    &format!("aten::{part}"),
                    &args,
                    KERNEL,
                    passes * us,
                )
            })
        });
        in_step_of("AdamW", &calls)
    };
    assert_eq!(patterns(&step(1, 20)), ["optimizer_in_parts"]);
    assert_eq!(patterns(&step(0, 100)), ["optimizer_not_fused"]);
}

/// Six kernels over a parameter of 100 million FP32 elements: 400 MB, so that 7 accesses take 528 µs at 5 300 GB/s.
#[test]
fn steps_of_other_optimizers_are_worth_their_passes() {
    let step = |ops: &[&str]| {
        let x = "100000000@1:float";
        let calls = ops.iter().fold(Calls::new(), |calls, op| {
            calls.call(op, &format!("{x}, =2"), KERNEL, 300)
        });
        in_step_of("Lion", &calls)
    };
    let ops = [
        "aten::mul_",
        "aten::add_",
        "aten::sign",
        "aten::pow",
        "aten::sqrt",
        "aten::div_",
    ];
    let outcome = step(&ops);
    let finding = found(&outcome, "optimizer_in_parts");
    assert_eq!(finding.title, "Steps of `Lion` in separate kernels");
    // 1.8 ms less 528 µs.
    let most_ns = finding.impact.unwrap().high_ns;
    assert!((1_270_000..1_273_000).contains(&most_ns), "{most_ns}");
    assert_contains(&finding.model, &["torch.compile(optimizer.step)"]);
    assert!(!patterns(&step(&ops[..2])).contains(&"optimizer_in_parts"));
}

/// A single kernel for all parameters has nothing left to fuse.
#[test]
fn a_slow_fused_optimizer_is_not_advised_to_fuse() {
    // Seven passes over 400 MB take 528 µs at roofline, 26 % of 2 ms.
    let calls = Calls::new().call("aten::_fused_adamw_", &lists(4, 100), LIST_KERNEL, 2000);
    let outcome = calls.outcome("elementwise");
    let finding = only(&outcome, "slow_tensor_lists");
    assert_contains(&finding.model, &["nothing is left to fuse"]);
}

/// A call on a long list launches many kernels, each of which is short.
#[test]
fn short_kernels_on_lists_are_counted_by_kernel() {
    let kernels = [(LIST_KERNEL, 4); 25];
    let calls = (0..20).fold(Calls::new(), |calls, _| {
        calls.kernels("aten::_foreach_mul_", &lists(1, 10), &kernels)
    });
    let outcome = calls.outcome("elementwise");
    let finding = only(&outcome, "many_small_list_kernels");
    assert_contains(&finding.issue, &["500 kernels", "4.00 µs each"]);
}

#[test]
fn gradients_clipped_one_by_one_are_told_by_what_calls_them() {
    let scaled = |function: &str| {
        let calls = |calls: Calls| calls.calls(200, "aten::mul_", &pair(1000), KERNEL, 4);
        let outcome = Calls::new().module(function, calls).outcome("elementwise");
        outcome.findings[0].clone()
    };
    let clipped = scaled("clip_grad_norm_");
    assert_eq!(clipped.pattern, "clipping_not_fused");
    assert_contains(&clipped.model, &["foreach=True"]);
    assert_eq!(scaled("Scale_0").pattern, "many_small_kernels");
}

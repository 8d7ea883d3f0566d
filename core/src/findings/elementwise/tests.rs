use super::super::finding::Impact;
use super::super::samples::{Calls, found, patterns, tensors};
use super::*;

const KERNEL: &str = "void at::native::vectorized_elementwise_kernel<4>";

/// Arguments of two equal tensors of `n` single-precision elements.
fn pair(n: u64) -> String {
    let dims = format!("[{n}]");
    tensors(&[(&dims, "float", "[1]"), (&dims, "float", "[1]")])
}

/// Additions in place of 100 million elements: 1.2 GB in 300 µs, 4 000 of 5 300 GB/s.
fn fast(calls: Calls) -> Calls {
    calls.call("aten::add_", &pair(100_000_000), KERNEL, 300)
}

#[test]
fn the_baseline_stands_beside_the_plain_mean() {
    // A small one: 12 MB in 100 µs, 120 GB/s.
    let outcome = fast(Calls::new())
        .call("aten::add_", &pair(1_000_000), KERNEL, 100)
        .outcome("elementwise");
    let gbps = |key: &str| match outcome.get(key) {
        Some(Value::GbPerS(gbps)) => gbps.round(),
        other => panic!("{key}: {other:?}"),
    };
    assert!((gbps("baseline_bandwidth") - 4000.0).abs() < 1.0);
    assert!((gbps("demonstrated_bandwidth") - 4000.0).abs() < 1.0);
    assert!((gbps("plain_mean_bandwidth") - 2060.0).abs() < 1.0);
    // 4 000 / 5 300.
    assert_eq!(
        outcome.get("baseline_efficiency").map(Value::text),
        Some("75.5 %".to_owned())
    );
}

#[test]
fn without_large_operations_no_baseline_is_invented() {
    let outcome = Calls::new()
        .call("aten::add_", &pair(1_000_000), KERNEL, 100)
        .outcome("elementwise");
    assert_eq!(outcome.get("baseline_bandwidth"), Some(&Value::NO_GBPS));
    assert_eq!(outcome.get("baseline_efficiency"), Some(&Value::NO_PERCENT));
    assert!(
        outcome
            .notes
            .iter()
            .any(|note| note.contains("no baseline"))
    );
}

#[test]
fn copies_that_only_change_the_layout_could_go() {
    // Heads and positions change places.
    let to = ("[8, 16, 4096, 64]", "c10::Half", "[4194304, 262144, 64, 1]");
    let from = ("[8, 16, 4096, 64]", "c10::Half", "[4194304, 64, 1024, 1]");
    let outcome = fast(Calls::new())
        .call("aten::copy_", &tensors(&[to, from]), KERNEL, 100)
        .outcome("elementwise");
    let finding = found(&outcome, "layout_copies");
    assert_eq!(finding.impact, Some(Impact::at_most(100_000)));
    assert_eq!(finding.savings, [(1, 87_500)]);
    // In one order it is no layout copy.
    let same = fast(Calls::new())
        .call("aten::copy_", &tensors(&[to, to]), KERNEL, 100)
        .outcome("elementwise");
    assert!(!patterns(&same).contains(&"layout_copies"));
}

#[test]
fn conversions_are_no_copies() {
    let dims = "[33554432]";
    let outcome = fast(Calls::new())
        .call(
            "aten::copy_",
            &tensors(&[(dims, "c10::BFloat16", "[1]"), (dims, "float", "[1]")]),
            KERNEL,
            100,
        )
        .outcome("elementwise");
    let finding = found(&outcome, "type_conversions");
    assert_eq!(finding.impact, Some(Impact::at_most(100_000)));
    assert_eq!(outcome.get("cast_count"), Some(&Value::Count(1)));
}

#[test]
fn slow_kernels_are_not_what_fusion_saves() {
    // 100 million elements: read and written 800 MB, at 5 300 GB/s 151 µs.
    let case = |us: u32| {
        let outcome = fast(Calls::new())
            .call(
                "aten::gelu",
                &tensors(&[("[100000000]", "float", "[1]")]),
                KERNEL,
                us,
            )
            .outcome("elementwise");
        patterns(&outcome)
    };
    // 15 %, 34 % and 50 % of roofline.
    assert_eq!(case(1000), ["slow_elementwise_kernel"]);
    assert_eq!(case(450), ["memory_bound_gap"]);
    assert_eq!(case(300), [""; 0]);
}

#[test]
fn a_slow_baseline_is_said() {
    // 1.2 GB in 1 ms are 1 200 of 5 300 GB/s.
    let outcome = Calls::new()
        .call("aten::add_", &pair(100_000_000), KERNEL, 1000)
        .outcome("elementwise");
    assert_eq!(patterns(&outcome), ["slow_baseline"]);
}

/// 201 million bytes each for 67 million numbers: 140 µs are 54 % of roofline, 600 µs 13 %.
#[test]
fn a_transposed_operand_is_no_slow_memory() {
    let (dims, half) = ("[8192, 8192]", "c10::BFloat16");
    let (rows, columns) = ((dims, half, "[8192, 1]"), (dims, half, "[1, 8192]"));
    let outcome = Calls::new()
        .calls(10, "aten::mul", &tensors(&[rows, rows]), KERNEL, 140)
        .calls(10, "aten::add", &tensors(&[rows, columns]), KERNEL, 600)
        .outcome("elementwise");
    assert_eq!(patterns(&outcome), ["uneven_operands"]);
    let finding = found(&outcome, "uneven_operands");
    assert!(!finding.kernel.contains("clocks"), "{}", finding.kernel);
    assert_eq!(
        outcome.get("baseline_operation_count"),
        Some(&Value::Count(1))
    );
}

/// One dense operand has nothing to be made contiguous.
#[test]
fn what_is_contiguous_is_not_advised_to_become_so() {
    let model = |strides: &str| {
        let args = tensors(&[("[8192, 8192]", "c10::BFloat16", strides)]);
        let outcome = fast(Calls::new())
            .call("aten::gelu", &args, KERNEL, 1000)
            .outcome("elementwise");
        found(&outcome, "slow_elementwise_kernel").model.clone()
    };
    assert!(model("[8192, 1]").starts_with("let `torch.compile`"));
    assert!(model("[16384, 1]").starts_with("make operands contiguous"));
}

#[test]
fn many_short_kernels_are_one_finding() {
    let many = |n| {
        Calls::new()
            .calls(n, "aten::mul", &pair(1000), KERNEL, 4)
            .outcome("elementwise")
    };
    let outcome = many(200);
    assert_eq!(patterns(&outcome), ["many_small_kernels"]);
    let finding = found(&outcome, "many_small_kernels");
    assert!(
        finding
            .issue
            .starts_with("200 calls of element-wise operations take 4.00 µs each"),
        "{}",
        finding.issue
    );
    // 12 kB take 2.3 ns of the 4 µs at roofline; the rest of 800 µs could be saved.
    let impact = finding.impact.unwrap();
    assert!((799_000..800_000).contains(&impact.high_ns), "{impact:?}");
    assert_eq!(patterns(&many(99)), [""; 0]);
}

#[test]
fn an_optimizer_that_steps_one_by_one_is_known_by_its_range() {
    let annotation = r#"{"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "pid": 100, "tid": 1, "ts": 0, "dur": 100000}"#;
    let steps = Calls::new().calls(200, "aten::mul_", &pair(1000), KERNEL, 4);
    let inside = steps.clone().with(|timetable| timetable.raw(annotation));
    assert_eq!(
        patterns(&inside.outcome("elementwise")),
        ["optimizer_not_fused"]
    );
    assert_eq!(
        patterns(&steps.outcome("elementwise")),
        ["many_small_kernels"]
    );
    // Without a range the operators of Adam tell, in training.
    let adam = Calls::new().calls(200, "aten::addcdiv_", &pair(1000), KERNEL, 4);
    assert_eq!(
        patterns(&adam.outcome("elementwise")),
        ["many_small_kernels"]
    );
    let training = adam.call(
        "autograd::engine::evaluate_function: MulBackward0",
        "",
        KERNEL,
        4,
    );
    let outcome = training.outcome("elementwise");
    assert_eq!(patterns(&outcome), ["optimizer_not_fused"]);
}

/// Lists of `n` tensors of a million single-precision elements each.
fn lists(n_lists: usize, n: usize) -> String {
    let list = format!("[{}]", vec!["[1000000]"; n].join(", "));
    format!(
        r#""Input Dims": [{}], "Input type": [{}]"#,
        vec![list; n_lists].join(", "),
        vec![r#""TensorList""#; n_lists].join(", ")
    )
}

const LIST_KERNEL: &str = "multi_tensor_apply_kernel<TensorListMetadata<1>, UnaryOpFunctor<float>>";

/// 100 million parameters: 400 MB, a pass over them 75.5 µs at 5 300 GB/s. Six operations make 16
/// passes, at 80 % of roofline 1.51 ms; one kernel of 7 passes would take 528 µs at roofline.
#[test]
fn a_step_of_adam_in_list_kernels_is_worth_its_passes() {
    let parts = [
        ("aten::_foreach_lerp_", 2, 3),
        ("aten::_foreach_mul_", 1, 2),
        ("aten::_foreach_addcmul_", 3, 4),
        ("aten::_foreach_sqrt", 1, 2),
        ("aten::_foreach_addcdiv_", 3, 4),
    ];
    let calls = parts.iter().fold(Calls::new(), |calls, (op, n, passes)| {
        calls.call(op, &lists(*n, 100), LIST_KERNEL, passes * 100)
    });
    let outcome = calls.outcome("elementwise");
    assert_eq!(patterns(&outcome), ["optimizer_in_parts"]);
    let impact = found(&outcome, "optimizer_in_parts").impact.unwrap();
    // 1.5 ms less 7 · 75.47 µs.
    assert!((971_000..972_500).contains(&impact.high_ns), "{impact:?}");
    // Steps of another optimizer are not taken for Adam's.
    let range = r#"{"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#RMSprop.step", "pid": 100, "tid": 1, "ts": 0, "dur": 100000}"#;
    let other = calls.with(|timetable| timetable.raw(range));
    assert_eq!(patterns(&other.outcome("elementwise")), [""; 0]);
}

/// A parameter of 268 MB, a pass over it 50.6 µs at 5 300 GB/s. Five operations make 15 passes, at
/// 80 % of roofline 945 µs; one kernel of 7 passes would take 354 µs at roofline.
#[test]
fn a_step_of_adam_on_a_large_parameter_is_worth_its_passes() {
    let parts = [
        ("aten::lerp_", 2, 3),
        ("aten::mul_", 1, 2),
        ("aten::addcmul_", 3, 4),
        ("aten::sqrt", 1, 2),
        ("aten::addcdiv_", 3, 4),
    ];
    let parameter = ("[8192, 8192]", "float", "[8192, 1]");
    let calls = parts.iter().fold(Calls::new(), |calls, (op, n, passes)| {
        let mut args = vec![parameter; *n];
        args.push(("[]", "Scalar", "[]"));
        calls.call(op, &tensors(&args), KERNEL, passes * 63)
    });
    let in_step_of = |optimizer: &str| {
        let range = format!(
            r#"{{"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#{optimizer}.step", "pid": 100, "tid": 1, "ts": 0, "dur": 100000}}"#
        );
        let calls = calls.clone().with(|timetable| timetable.raw(&range));
        calls.outcome("elementwise")
    };
    let outcome = in_step_of("AdamW");
    assert_eq!(patterns(&outcome), ["optimizer_in_parts"]);
    let impact = found(&outcome, "optimizer_in_parts").impact.unwrap();
    // 945 µs less 7 · 50.65 µs.
    assert!((590_000..591_000).contains(&impact.high_ns), "{impact:?}");
    for other in [in_step_of("RMSprop"), calls.outcome("elementwise")] {
        assert_eq!(patterns(&other), [""; 0]);
    }
}

/// Not every optimizer has an option that steps its parameters together.
#[test]
fn how_parameters_are_stepped_together_follows_the_optimizer() {
    let steps = Calls::new().calls(200, "aten::mul_", &pair(1000), KERNEL, 4);
    for (optimizer, words) in [
        ("AdamW", "`fused=True`, or `foreach=True`"),
        ("RMSprop", "with `foreach=True`"),
        ("Lion", "compile the step"),
    ] {
        let range = format!(
            r#"{{"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#{optimizer}.step", "pid": 100, "tid": 1, "ts": 0, "dur": 100000}}"#
        );
        let calls = steps.clone().with(|timetable| timetable.raw(&range));
        let outcome = calls.outcome("elementwise");
        let model = &found(&outcome, "optimizer_not_fused").model;
        assert!(model.contains(words), "{model}");
    }
}

/// One kernel of all parameters has nothing left to fuse.
#[test]
fn a_slow_fused_optimizer_is_not_advised_to_fuse() {
    // Seven passes over 400 MB are 528 µs at roofline, 26 % of 2 ms.
    let outcome = Calls::new()
        .call("aten::_fused_adamw_", &lists(4, 100), LIST_KERNEL, 2000)
        .outcome("elementwise");
    assert_eq!(patterns(&outcome), ["slow_tensor_lists"]);
    let model = &found(&outcome, "slow_tensor_lists").model;
    assert!(model.contains("nothing is left to fuse"), "{model}");
}

/// A call on a long list launches many kernels: each of them is short.
#[test]
fn short_kernels_on_lists_are_counted_by_kernel() {
    let kernels = [(LIST_KERNEL, 4); 25];
    let calls = (0..20).fold(Calls::new(), |calls, _| {
        calls.kernels("aten::_foreach_mul_", &lists(1, 10), &kernels)
    });
    let outcome = calls.outcome("elementwise");
    assert_eq!(patterns(&outcome), ["many_small_list_kernels"]);
    let issue = &found(&outcome, "many_small_list_kernels").issue;
    for part in ["500 kernels", "4.00 µs each"] {
        assert!(issue.contains(part), "{issue}");
    }
}

/// 33.6 million elements, four bytes read and two written: 201 MB, 38 µs at 5 300 GB/s. A conversion
/// in one order would take that, so the rest of 100 µs is the price of the order.
#[test]
fn a_copy_that_converts_as_well_is_more_than_a_layout_copy() {
    let to = ("[8, 16, 4096, 64]", "c10::Half", "[4194304, 262144, 64, 1]");
    let from = ("[8, 16, 4096, 64]", "float", "[4194304, 64, 1024, 1]");
    let outcome = fast(Calls::new())
        .call("aten::copy_", &tensors(&[to, from]), KERNEL, 100)
        .outcome("elementwise");
    let finding = found(&outcome, "layout_and_type_copies");
    let impact = finding.impact.unwrap();
    assert!((61_000..63_000).contains(&impact.high_ns), "{impact:?}");
    assert!(!patterns(&outcome).contains(&"layout_copies"));
}

#[test]
fn integers_are_not_taken_for_weights() {
    let args = tensors(&[
        ("[268435456]", "float", "[1]"),
        ("[268435456]", "unsigned char", "[1]"),
    ]);
    let outcome = fast(Calls::new())
        .call("aten::copy_", &args, KERNEL, 400)
        .outcome("elementwise");
    let model = &found(&outcome, "type_conversions").model;
    assert!(model.starts_with("leave the data narrow"), "{model}");
    assert!(!model.contains("autocast"), "{model}");
}

#[test]
fn without_a_gpu_nothing_is_said_of_efficiency() {
    let outcome = Calls::new()
        .call("aten::add_", &pair(100_000_000), KERNEL, 1000)
        .outcome_without_gpu("elementwise");
    assert_eq!(patterns(&outcome), [""; 0]);
    assert_eq!(outcome.get("baseline_efficiency"), Some(&Value::NO_PERCENT));
    // What the memory gave is measured all the same: 1.2 GB in 1 ms.
    assert_eq!(
        outcome.get("baseline_bandwidth").map(Value::text),
        Some("1.20 TB/s".to_owned())
    );
}

#[test]
fn copies_by_the_copy_engine_are_counted() {
    let outcome = fast(Calls::new())
        .call(
            "aten::copy_",
            &pair(1000),
            "Memcpy DtoD (Device -> Device)",
            20,
        )
        .outcome("elementwise");
    assert_eq!(outcome.get("device_copy_count"), Some(&Value::Count(1)));
    assert_eq!(outcome.get("device_copy"), Some(&Value::Ns(20_000)));
    assert_eq!(outcome.rows.len(), 1);
}

#[test]
fn kernels_of_gpu_graphs_are_not_to_be_replayed_as_graphs() {
    let model = |calls: &Calls| {
        let outcome = calls.outcome("elementwise");
        found(&outcome, "many_small_kernels").model.clone()
    };
    let launched = Calls::new().calls(200, "aten::mul", &pair(1000), KERNEL, 4);
    // They are launched in time: a graph would make nothing faster.
    assert!(!model(&launched).contains("replay"));
    // The next launch comes after all of them are over.
    let late = launched.clone().with(|timetable| {
        timetable
            .op("aten::sort", 1_000_900..1_000_910)
            .launch(9_000, 1_000_901..1_000_902)
            .kernel(9_000, "sort", 1_000_920..1_000_930)
    });
    assert!(model(&late).contains("replay them as one GPU graph"));
    let in_graph = model(&Calls::new().graph(KERNEL, 200, 4));
    assert!(!in_graph.contains("replay"), "{in_graph}");
    let both = model(&launched.graph(KERNEL, 200, 4));
    assert!(
        both.contains("also those that are launched one by one"),
        "{both}"
    );
}

#[test]
fn more_copies_are_counted_in_the_issue() {
    let copy = |calls: Calls, heads: u32| {
        let dims = format!("[8, {heads}, 4096, 64]");
        let first = format!("[{}, 262144, 64, 1]", heads * 262_144);
        let last = format!("[{}, 64, {}, 1]", heads * 262_144, heads * 64);
        let args = tensors(&[(&dims, "c10::Half", &first), (&dims, "c10::Half", &last)]);
        calls.call("aten::copy_", &args, KERNEL, 100)
    };
    let issue = |calls: Calls| {
        let outcome = calls.outcome("elementwise");
        found(&outcome, "layout_copies").issue.clone()
    };
    let one = copy(Calls::new(), 16);
    assert!(issue(one.clone()).contains("16 × 4096 × 64 fp16): "));
    let two = issue(copy(one, 32));
    assert!(two.contains(" and 1 more: "), "{two}");
}

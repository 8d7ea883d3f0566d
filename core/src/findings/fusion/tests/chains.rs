//! What is a chain, and what is not.

use super::*;

#[test]
fn each_pattern_is_seen() {
    let mm: Call = ("aten::mm", "1024x512:float, 512x4096:float", 100);
    let (silu, relu) = (unary("aten::silu"), unary("aten::relu"));
    let tanh = unary("aten::tanh");
    let cases: [(&str, &str, &[Call]); 8] = [
        ("LlamaRotary", "rope", &[MUL, HALF, HALVES, MUL, ADD]),
        ("GatedUnit", "gated_activation", &[silu, MUL]),
        ("Projection", "gemm_epilogue", &[mm, silu]),
        // A factor before the activation is no gate.
        ("Adapter", "gemm_epilogue", &[mm, MUL, ADD, silu]),
        // The second GEMM runs between the activation and the gate.
        ("LlamaMLP", "gated_activation", &[mm, silu, mm, MUL]),
        ("Shortcut", "bias_activation", &[ADD, relu]),
        ("Scaling", "elementwise_chain", &[MUL, ADD, EXP]),
        // GELU adds one to the result of `tanh`.
        ("Joiner", "elementwise_chain", &[ADD, tanh, MUL]),
    ];
    let sort: Call = ("aten::sort", X, 5);
    for (module, expected, calls) in cases {
        let mut all = Calls::new();
        for instance in 0..5 {
            all = all.module(&format!("{module}_{instance}"), |all| run(all, calls));
            // An unrelated call between the modules.
            all = run(all, &[sort]);
        }
        assert_eq!(patterns(&outcome(&all)), [expected], "{module}");
    }
}

/// Queries and keys are rotated in the same way, then copied: two chains, and three copies that are not part of one.
#[test]
fn repeated_steps_are_instances_and_copies_are_none() {
    let turned = [MUL, HALF, HALVES, MUL, ADD];
    let calls = [&turned[..], &turned, &[COPY, COPY, COPY]].concat();
    let outcome = module("LlamaAttention_0", &calls);
    let finding = only(&outcome, "rope");
    assert_eq!(finding.time_ns, 2 * 800_000);
    assert_contains(&finding.issue, &["10 kernels in 2 instances"]);
}

/// Without Python frames, only characteristic operators form a chain.
#[test]
fn without_frames_the_operators_have_to_say_it() {
    let found = outcome(&run(Calls::new(), &long_norm()));
    let finding = only(&found, "rms_norm");
    assert_contains(&finding.issue, &["instance of the same steps: "]);
    assert_contains(&finding.reasoning.concat(), &["medium"]);
    assert_eq!(found.notes.len(), 1);
    let chain = [ADD, EXP, unary("aten::sin")];
    assert_eq!(patterns(&outcome(&run(Calls::new(), &chain))), [""; 0]);
}

/// Between a GEMM, a residual addition and other steps, it is the operators of the norm that are one chain.
#[test]
fn without_frames_a_norm_ends_where_its_operators_do() {
    let mm: Call = ("aten::mm", "1024x512:float, 512x4096:float", 100);
    let alone = outcome(&run(Calls::new(), &long_norm()));
    for (before, after) in [
        (&[mm][..], &[mm][..]),
        (&[mm, ADD], &[mm]),
        (&[mm, ADD], &[ADD, EXP]),
    ] {
        let calls = [before, &long_norm(), after].concat();
        let found = outcome(&run(Calls::new(), &calls));
        assert_eq!(patterns(&found), ["rms_norm"]);
        assert_eq!(
            only(&found, "rms_norm").time_ns,
            only(&alone, "rms_norm").time_ns
        );
    }
}

/// Without shapes, the operators of a formula that follow one another are a chain; others may have nothing to do with
/// each other. It saves the time of all of them but the longest.
#[test]
fn without_shapes_only_a_formula_is_a_chain() {
    let without = |calls: &[Call]| {
        let calls = calls.iter().map(|(op, _, us)| (*op, "", *us));
        run(Calls::new(), &calls.collect::<Vec<Call>>())
    };
    let found = outcome(&without(&[&[MUL][..], &long_norm(), &[EXP]].concat()));
    let finding = only(&found, "rms_norm");
    assert_eq!(finding.impact, Some(Impact::measured(540_000)));
    assert_contains(
        &finding.reasoning.concat(),
        &[
            "their shapes were not recorded",
            "all steps but the longest",
        ],
    );
    assert_contains(&found.notes[0].text, &["order alone says"]);
    let rotated = outcome(&without(&[MUL, HALF, HALVES, MUL, ADD]));
    assert_eq!(patterns(&rotated), ["rope"]);
    assert_eq!(patterns(&outcome(&without(&[MUL, ADD, EXP]))), [""; 0]);
    // Nor is the activation after a GEMM its epilogue.
    let mm = ("aten::mm", "", 100);
    assert_eq!(
        patterns(&outcome(&without(&[mm, unary("aten::silu")]))),
        [""; 0]
    );
}

/// Without a GPU it is not known how long one kernel for all would take, but for a formula that the longest is enough.
#[test]
fn without_a_gpu_a_formula_saves_all_but_its_longest_step() {
    let calls = run(Calls::new(), &long_norm());
    let found = calls.outcome_without_gpu("kernel_fusion");
    let finding = only(&found, "rms_norm");
    assert_eq!(finding.impact, Some(Impact::measured(540_000)));
}

/// Outside of modules the program's own functions say what belongs together, but not the framework's, nor a whole file.
#[test]
fn a_function_outside_of_modules_can_hold_a_chain() {
    let chain = [MUL, ADD, EXP];
    let within = |outer: &str, inner: &str, range: &str| {
        let calls = Calls::new().function(outer, |calls| {
            calls.function(inner, |calls| run(calls, &chain))
        });
        outcome(&match range {
            "" => calls,
            range => calls.with(|timetable| timetable.annotation(range, 0..100_000)),
        })
    };
    let function = "kornia/augmentation/image.py(90): forward";
    let found = within("train.py(1): <module>", function, "");
    let finding = only(&found, "elementwise_chain");
    assert_contains(&finding.issue, &["in `image.py(90): forward`"]);
    let passed_on = within(function, "torch/_tensor.py(31): wrapped", "");
    assert_eq!(patterns(&passed_on), ["elementwise_chain"]);
    // What follows a GEMM there need not be its epilogue.
    let mm: Call = ("aten::mm", "1024x512:float, 512x4096:float", 100);
    let scanned = Calls::new().function(function, |calls| run(calls, &[mm, MUL]));
    assert_eq!(patterns(&outcome(&scanned)), [""; 0]);
    let optimizer = "torch/optim/adam.py(346): _single_tensor_adam";
    #[rustfmt::skip]
    let others = [
        ("a.py(1): <module>", "train.py(1): <module>", ""),
        ("train.py(9): step", optimizer, ""),
        ("train.py(9): step", "lion.py(20): update", "Optimizer.step#Lion.step"),
    ];
    for (outer, inner, range) in others {
        assert_eq!(patterns(&within(outer, inner, range)), [""; 0], "{inner}");
    }
}

#[test]
fn what_is_no_chain_is_not_called_one() {
    let other: Call = ("aten::exp", "333x77:float", 200);
    let softmax: Call = ("aten::_softmax", "1024x4096:float, =-1, =False", 200);
    let cat: Call = ("aten::cat", "[1x4096 1023x4096], =0", 200);
    let norm = unary("aten::layer_norm");
    let small: Call = ("aten::mm", "64x64:float*2", 100);
    let long_copy: Call = ("aten::copy_", TWO, 200);
    let cases: [(&str, &[Call]); 9] = [
        // A loop over equal calls.
        ("Loop_0", &[ADD, ADD, ADD, ADD, ADD]),
        // Unrelated shapes.
        ("Apart_0", &[EXP, other, EXP, other]),
        // Unfused attention belongs to another analysis.
        ("Attention_0", &[ADD, EXP, softmax]),
        // Already fused.
        ("Norm_0", &[norm, norm]),
        // A single step is not a chain.
        ("Single_0", &[EXP]),
        // Copies alone are a matter of layout.
        ("Copies_0", &[COPY, HALVES]),
        ("Mixed_0", &[EXP, long_copy, EXP]),
        ("Products_0", &[small]),
        // Class and patch tokens are concatenated before they are added, which no kernel does.
        ("Layer_0", &[cat, cat, ADD]),
    ];
    for (name, calls) in cases {
        assert_eq!(patterns(&module(name, calls)), [""; 0], "{name}");
    }
    // Outside all modules, although modules were recorded.
    let calls = Calls::new().module("Single_0", |calls| run(calls, &[other]));
    let calls = run(calls, &[ADD, EXP, ADD, EXP]);
    assert_eq!(patterns(&outcome(&calls)), [""; 0]);
}

/// Two tensors are quantized one after the other. The second one starts anew: its elements have another size than the
/// result of the first, and where it could be a slice of it, nothing comes back.
#[test]
fn what_follows_on_another_tensor_is_no_part_of_a_chain() {
    let first: [Call; 4] = [
        unary("aten::abs"),
        EXP,
        unary("aten::neg"),
        (
            "aten::copy_",
            "1024x4096:c10::Float8_e4m3fn, 1024x4096:float",
            200,
        ),
    ];
    for next in ["1024x4096", "512x4096:float"] {
        let second: [Call; 2] = [("aten::abs", next, 200), ("aten::max", next, 100)];
        let outcome = module("Linear_0", &[&first[..], &second].concat());
        let steps = "The steps `abs`, `exp`, `neg`, `copy` follow";
        assert_contains(&outcome.findings[0].reasoning.concat(), &[steps]);
    }
}

#[test]
fn a_copy_or_another_stream_breaks_a_chain() {
    let calls = Calls::new().module("Act_0", |calls| {
        let calls = run(calls, &[MUL]);
        let calls =
            calls.with(|timetable| timetable.copy(900, "Memcpy DtoH", 1_000_200..1_000_210));
        run(calls.on_gpu(0, 1_000_210.0), &[EXP])
    });
    assert_eq!(patterns(&outcome(&calls)), [""; 0]);
}

#[test]
fn the_exact_gelu_is_not_to_become_its_approximation() {
    let model = |function| {
        let calls = [unary("aten::div"), unary(function), ADD, MUL];
        let outcome = module("Activation_0", &calls);
        let finding = only(&outcome, "gelu");
        finding.model.clone()
    };
    let exact = "Call `torch.nn.functional.gelu` in place of its parts.";
    assert_eq!(model("aten::erf"), exact);
    assert_contains(&model("aten::tanh"), &["approximate=\"tanh\""]);
}

/// Flags are drawn and scaled, then multiplied with a tensor.
#[test]
fn dropout_by_hand_is_one_kernel() {
    let drawn: Call = ("aten::bernoulli_", "1024x4096:float, =0.9, _", 200);
    let scaled: Call = ("aten::div_", "1024x4096:float, =0.9", 200);
    assert_eq!(
        patterns(&module("Drop_0", &[drawn, scaled, MUL])),
        ["dropout"]
    );
    assert_eq!(patterns(&module("Noise_0", &[drawn])), [""; 0]);
}

/// A GEMM in FP32 has no epilogue in FP64.
#[test]
fn promoted_steps_are_no_epilogue() {
    let mm: Call = ("aten::mm", "1024x512:float, 512x4096:float", 100);
    let scaled = |dtype: &'static str| -> Outcome {
        let args: &'static str = match dtype {
            "double" => "1024x4096:float, 1024x4096:double",
            _ => TWO,
        };
        module(
            "Projection_0",
            &[mm, ("aten::mul", args, 200), unary("aten::exp")],
        )
    };
    assert_eq!(patterns(&scaled("float")), ["gemm_epilogue"]);
    assert!(!patterns(&scaled("double")).contains(&"gemm_epilogue"));
}

/// A reduction needs the results of other tiles, so it is no epilogue; what precedes it is.
#[test]
fn a_reduction_is_no_epilogue() {
    let mm: Call = ("aten::mm", "1024x512:float, 512x4096:float", 100);
    let amax: Call = ("aten::amax", X, 200);
    let epilogues = |calls: &[Call]| {
        let found = module("Projection_0", calls);
        let found: Vec<u64> = found
            .findings
            .iter()
            .filter(|one| one.pattern == "gemm_epilogue")
            .map(|one| one.operations.len() as u64)
            .collect();
        found
    };
    assert_eq!(epilogues(&[mm, unary("aten::silu")]), [1]);
    assert_eq!(epilogues(&[mm, unary("aten::silu"), amax]), [1]);
    assert_eq!(epilogues(&[mm, amax, unary("aten::silu")]), [0_u64; 0]);
}

/// A weight of INT8 that two kernels widen before each GEMM: a part of the finding about that, unless it costs little
/// beside the GEMM.
#[test]
fn what_widens_weights_is_no_chain_of_its_own() {
    let layer = |gemm: &'static str, us: u32| {
        let steps = [
            ("aten::copy_", "4096x4096, 4096x4096:signed char, _", 25),
            ("aten::mul", "4096x4096, 4096x1", 35),
            ("aten::mm", gemm, us),
        ];
        let calls = (0..8).fold(Calls::new(), |all, nth| {
            all.module(&format!("Int8Linear_{nth}"), |calls| run(calls, &steps))
        });
        patterns(&calls.outcome_on("H100", "kernel_fusion")).to_vec()
    };
    assert_eq!(layer("64x4096, 4096x4096", 20), [""; 0]);
    assert_eq!(layer("16384x4096, 4096x4096", 700), ["elementwise_chain"]);
}

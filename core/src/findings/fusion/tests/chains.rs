//! What is a chain, and what is none.

use super::*;

#[test]
fn each_pattern_is_seen() {
    let silu: Call = ("aten::silu", X, F, r#"[""]"#, 200);
    let mul: Call = ("aten::mul", TWO, FF, NO, 200);
    let add: Call = ("aten::add", TWO, FFN, NO3, 200);
    let mm: Call = ("aten::mm", "[[1024, 512], [512, 4096]]", FF, NO, 100);
    let half: Call = ("aten::neg", "[[1024, 2048]]", F, r#"[""]"#, 100);
    let halves: Call = (
        "aten::cat",
        "[[[1024, 2048], [1024, 2048]], []]",
        r#"["TensorList", "Scalar"]"#,
        r#"["", "1"]"#,
        100,
    );
    let cases: [(&str, &str, Vec<Call>); 6] = [
        ("LlamaRotary", "rope", vec![mul, half, halves, mul, add]),
        ("GatedUnit", "gated_activation", vec![silu, mul]),
        ("Projection", "gemm_epilogue", vec![mm, silu]),
        // The second product stands between the activation and the gate.
        ("LlamaMLP", "gated_activation", vec![mm, silu, mm, mul]),
        (
            "Shortcut",
            "bias_activation",
            vec![add, ("aten::relu", X, F, r#"[""]"#, 200)],
        ),
        (
            "Scaling",
            "elementwise_chain",
            vec![mul, add, ("aten::exp", X, F, r#"[""]"#, 200)],
        ),
    ];
    for (module, expected, calls) in cases {
        let mut all = Calls::new();
        for instance in 0..5 {
            all = all.module(&format!("{module}_{instance}"), &calls);
            // Something between the modules.
            all = all.calls(&[("aten::sort", X, F, r#"[""]"#, 5)]);
        }
        assert_eq!(patterns(&all.profile()), [expected], "{module}");
    }
}

/// Queries and keys are turned alike, then copied: two chains, and three copies that are none.
#[test]
fn repeated_steps_are_instances_and_copies_are_none() {
    let mul: Call = ("aten::mul", TWO, FF, NO, 200);
    let add: Call = ("aten::add", TWO, FFN, NO3, 200);
    let half: Call = ("aten::neg", "[[1024, 2048]]", F, r#"[""]"#, 100);
    let halves: Call = (
        "aten::cat",
        "[[[1024, 2048], [1024, 2048]], []]",
        r#"["TensorList", "Scalar"]"#,
        r#"["", "1"]"#,
        100,
    );
    let copy: Call = ("aten::copy_", TWO, FF, NO, 100);
    let turned = [mul, half, halves, mul, add];
    let mut calls = turned.to_vec();
    calls.extend(turned);
    calls.extend([copy, copy, copy]);
    let profile = Calls::new().module("LlamaAttention_0", &calls).profile();
    let outcome = outcome(&profile);
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "rope");
    assert_eq!(finding.time_ns, 2 * 800_000);
    assert!(
        finding.issue.contains("10 kernels in 2 instances"),
        "{}",
        finding.issue
    );
}

/// Without Python frames only operators that say what they are make a chain.
#[test]
fn without_frames_the_operators_have_to_say_it() {
    let norm: Vec<Call> = RMS_NORM
        .iter()
        .map(|call| (call.0, call.1, call.2, call.3, 10 * call.4))
        .collect();
    let profile = Calls::new().calls(&norm).profile();
    let found = outcome(&profile);
    assert_eq!(found.findings[0].pattern, "rms_norm");
    assert!(found.findings[0].issue.contains("without recorded modules"));
    assert!(
        found.findings[0]
            .reasoning
            .iter()
            .any(|one| one.contains("medium"))
    );
    assert_eq!(found.notes.len(), 1);
    let add: Call = ("aten::add", TWO, FFN, NO3, 200);
    let exp: Call = ("aten::exp", X, F, r#"[""]"#, 200);
    let profile = Calls::new()
        .calls(&[add, exp, ("aten::sin", X, F, r#"[""]"#, 200)])
        .profile();
    assert_eq!(patterns(&profile), [""; 0]);
}

#[test]
fn what_is_no_chain_is_not_called_one() {
    let add: Call = ("aten::add", TWO, FFN, NO3, 200);
    let exp: Call = ("aten::exp", X, F, r#"[""]"#, 200);
    let other: Call = ("aten::exp", "[[333, 77]]", F, r#"[""]"#, 200);
    let softmax: Call = (
        "aten::_softmax",
        "[[1024, 4096], [], []]",
        r#"["float", "Scalar", "Scalar"]"#,
        r#"["", "-1", "False"]"#,
        200,
    );
    let fused: Call = ("aten::layer_norm", X, F, r#"[""]"#, 200);
    let cases: [(&str, Vec<Call>); 7] = [
        // A loop over equal calls.
        ("Loop_0", vec![add, add, add, add, add]),
        // Shapes that have nothing to do with each other.
        ("Apart_0", vec![exp, other, exp, other]),
        // Unfused attention is another analysis's.
        ("Attention_0", vec![add, exp, softmax]),
        // Fused already.
        ("Norm_0", vec![fused, fused]),
        // One step is no chain.
        ("Single_0", vec![exp]),
        (
            // Copies alone are layout.
            "Copies_0",
            vec![
                ("aten::copy_", TWO, FF, NO, 100),
                (
                    "aten::cat",
                    "[[[1024, 2048], [1024, 2048]], []]",
                    r#"["TensorList", "Scalar"]"#,
                    r#"["", "1"]"#,
                    100,
                ),
            ],
        ),
        (
            "Products_0",
            vec![("aten::mm", "[[64, 64], [64, 64]]", FF, NO, 100)],
        ),
    ];
    for (module, calls) in cases {
        let profile = Calls::new().module(module, &calls).profile();
        assert_eq!(patterns(&profile), [""; 0], "{module}");
    }
    // Outside of every module, where modules were recorded.
    let profile = Calls::new()
        .module("Single_0", &[other])
        .calls(&[add, exp, add, exp])
        .profile();
    assert_eq!(patterns(&profile), [""; 0]);
}

#[test]
fn a_copy_or_another_stream_breaks_a_chain() {
    let profile = Timetable::new()
        .frame("nn.Module: Act_0", 0..100)
        .op("aten::mul", 1..9)
        .args(&format!(r#""Input Dims": {TWO}, "Input type": {FF}"#))
        .launch(1, 2..3)
        .op("aten::exp", 11..19)
        .args(&format!(r#""Input Dims": {X}, "Input type": {F}"#))
        .launch(2, 12..13)
        .kernel(1, "mul", 100..400)
        .copy(9, "Memcpy DtoH", 400..410)
        .kernel(2, "exp", 410..800)
        .profile();
    assert_eq!(patterns(&profile), [""; 0]);
}

/// Tokens of a class and of patches are joined before they are added: no kernel does that.
#[test]
fn joining_ends_a_chain() {
    let cat: Call = (
        "aten::cat",
        "[[[1, 4096], [1023, 4096]], []]",
        r#"["TensorList", "Scalar"]"#,
        r#"["", "0"]"#,
        200,
    );
    let add: Call = ("aten::add", TWO, FFN, NO3, 200);
    let profile = Calls::new().module("Layer_0", &[cat, cat, add]).profile();
    assert_eq!(patterns(&profile), [""; 0]);
}

#[test]
fn the_exact_gelu_is_not_to_become_its_approximation() {
    let step = |op: &'static str| -> Call { (op, X, F, r#"[""]"#, 200) };
    let mul: Call = ("aten::mul", TWO, FF, NO, 200);
    let add: Call = ("aten::add", TWO, FFN, NO3, 200);
    let model = |function: Call| {
        let calls = [step("aten::div"), function, add, mul];
        let profile = Calls::new().module("Activation_0", &calls).profile();
        let outcome = outcome(&profile);
        assert_eq!(outcome.findings[0].pattern, "gelu");
        outcome.findings[0].model.clone()
    };
    assert_eq!(
        model(step("aten::erf")),
        "Call `torch.nn.functional.gelu` in place of its parts."
    );
    assert!(model(step("aten::tanh")).contains("approximate=\"tanh\""));
}

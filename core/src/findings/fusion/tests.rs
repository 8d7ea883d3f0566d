//! Small modules whose kernels could be one, and some that only look like it.

use super::saving::outer_bytes;
use super::shapes::Shape;
use super::*;
use crate::findings::Finding;
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

/// Calls of 1 024 × 4 096 numbers, each with a kernel of its own.
struct Calls {
    table: Timetable,
    n: u32,
    host_us: u32,
    gpu_us: u32,
}

impl Calls {
    fn new() -> Calls {
        Calls {
            table: Timetable::new(),
            n: 0,
            host_us: 0,
            gpu_us: 1_000_000,
        }
    }

    /// A module with these calls: name, dims, types, values, microseconds on the GPU.
    fn module(mut self, name: &str, calls: &[Call]) -> Calls {
        let start = self.host_us;
        let end = start + 10 * calls.len() as u32 + 2;
        self.table = self.table.frame(&format!("nn.Module: {name}"), start..end);
        self.host_us = start + 1;
        let mut all = self.calls(calls);
        all.host_us = end + 1;
        all
    }

    fn calls(mut self, calls: &[Call]) -> Calls {
        for (op, dims, types, values, us) in calls {
            self.n += 1;
            let (host, gpu) = (self.host_us, self.gpu_us);
            self.table = self
                .table
                .op(op, host..host + 9)
                .args(&format!(
                    r#""Input Dims": {dims}, "Input type": {types}, "Concrete Inputs": {values}"#
                ))
                .launch(self.n, host + 1..host + 2)
                .kernel(self.n, &format!("{op}_kernel"), gpu..gpu + us);
            self.host_us = host + 10;
            self.gpu_us = gpu + us;
        }
        self
    }

    fn profile(self) -> Profile {
        self.table.profile()
    }
}

type Call = (&'static str, &'static str, &'static str, &'static str, u32);

const X: &str = "[[1024, 4096]]";
const TWO: &str = "[[1024, 4096], [1024, 4096]]";
const F: &str = r#"["float"]"#;
const FF: &str = r#"["float", "float"]"#;
const FN: &str = r#"["float", "Scalar"]"#;
const FFN: &str = r#"["float", "float", "Scalar"]"#;
const NO: &str = r#"["", ""]"#;
const NO3: &str = r#"["", "", "1"]"#;

/// x² → mean → + ε → 1/√ → x · r → · weight: 16.8 MB in, 16.8 MB out.
const RMS_NORM: [Call; 6] = [
    ("aten::pow", "[[1024, 4096], []]", FN, r#"["", "2"]"#, 20),
    (
        "aten::mean",
        "[[1024, 4096], [], [], []]",
        r#"["float", "ScalarList", "Scalar", ""]"#,
        r#"["", "[-1]", "True", ""]"#,
        10,
    ),
    (
        "aten::add",
        "[[1024, 1], [], []]",
        r#"["float", "Scalar", "Scalar"]"#,
        r#"["", "1e-6", "1"]"#,
        2,
    ),
    ("aten::rsqrt", "[[1024, 1]]", F, r#"[""]"#, 2),
    ("aten::mul", "[[1024, 4096], [1024, 1]]", FF, NO, 20),
    ("aten::mul", "[[4096], [1024, 4096]]", FF, NO, 20),
];

fn outcome(profile: &Profile) -> Outcome {
    let options = options_on("MI300X");
    let report = Report::new(profile, &options);
    report.analyses.outcome("kernel_fusion").unwrap().clone()
}

fn patterns(profile: &Profile) -> Vec<&'static str> {
    let outcome = outcome(profile);
    let found = outcome.findings.iter();
    found.map(|finding| finding.pattern).collect()
}

#[test]
fn a_norm_of_six_kernels_in_each_instance() {
    let mut calls = Calls::new();
    for instance in 0..20 {
        calls = calls.module(&format!("LlamaRMSNorm_{instance}"), &RMS_NORM);
    }
    let outcome = outcome(&calls.profile());
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "rms_norm");
    // 20 · (20 + 10 + 2 + 2 + 20 + 20) µs, each kernel once.
    assert_eq!(finding.time_ns, 20 * 74_000);
    // x in, 4 096 weights in, the result out: 2 · 1024 · 4096 · 4 + 4096 · 4 bytes at 5.3 TB/s are
    // 6.33 µs, and the second use of x, which a trace cannot tell from the first, counts as inside.
    let impact = finding.impact.unwrap();
    let high_us = impact.high_ns as f64 / 20e3;
    assert!((high_us - 67.5).abs() < 0.3, "{high_us}");
    assert!(impact.low_ns < impact.mid_ns && impact.high_ns < finding.time_ns);
    let saved: i64 = finding.savings.iter().map(|(_, ns)| ns).sum();
    assert!((impact.mid_ns - saved).abs() < 10, "{saved}");
    assert!(
        finding.issue.contains("120 kernels in 20 instances"),
        "{}",
        finding.issue
    );
    assert!(
        finding.issue.contains("`LlamaRMSNorm`"),
        "{}",
        finding.issue
    );
    assert_eq!(finding.confidence, Some(Confidence::High));
    assert_eq!(finding.tables[0].rows.len(), 6);
}

/// Bytes and arithmetic, worked by hand: two kernels of 10 µs, 2 MB from outside at 1 TB/s are
/// 2 µs, 0.001 GFLOP at 1 TFLOPS are 1 µs; 2 + 0.15 · 1 = 2.15 µs, so 17.85 µs are saved.
#[test]
fn the_projection_of_a_chain() {
    use crate::hardware::GpuSpec;
    use crate::report::ReportOptions;
    let mut gpu: GpuSpec = crate::hardware::find("MI300X").unwrap().clone();
    gpu.mem_bw_gbps = 1000.0;
    let options = ReportOptions {
        gpu: Some(std::sync::Arc::new(gpu)),
        ..ReportOptions::default()
    };
    let profile = Calls::new().calls(&RMS_NORM).profile();
    let report = Report::new(&profile, &options);
    let input = report.analysis_input(&profile);
    let megabyte = || Shape {
        sizes: vec![1000, 250],
        bytes: 1e6,
    };
    let kind = || StepKind {
        kind: Kind::Fusable,
        name: "relu".to_owned(),
        takes: vec![megabyte()],
        gives: Some(megabyte()),
        compute_us: Some(0.5),
    };
    let step = |operation| Step {
        operation,
        event: crate::trace::EventId(0),
        ns: 10_000,
        n_kernels: 1,
    };
    let kinds = [kind(), kind()];
    let (first, second) = (step(0), step(1));
    let both = [&first, &second];
    let saved = |anchor, least_ns| {
        let pattern = Pattern::Elementwise;
        saving(&input, &kinds, pattern, anchor, &both, false, least_ns).unwrap()
    };
    assert_eq!(saved(None, 0).high_ns, 17_850);
    // 2.15 µs / 0.75 are 2.867 µs.
    assert_eq!(saved(None, 0).low_ns, 20_000 - 2_867);
    // One kernel is left, which is no shorter than others are.
    assert_eq!(saved(None, 2_500).high_ns, 17_500);
    assert_eq!(saved(None, 2_500).low_ns, 20_000 - 2_867);
    // The shortest kernel of the trace takes 2 µs.
    assert_eq!(saving::least_kernel_ns(&input), 2_000);
}

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

/// Twenty norms on each GPU, each step on all of them at once, on stream 7 of each.
fn norms_on(n_gpus: u32) -> Profile {
    let mut table = Timetable::new();
    let (mut id, mut host) = (0, 0);
    for instance in 0..20 {
        for gpu in 0..n_gpus {
            let end = host + 10 * RMS_NORM.len() as u32 + 2;
            table = table
                .gpu(gpu)
                .frame(&format!("nn.Module: LlamaRMSNorm_{instance}"), host..end);
            let mut gpu_us = 100_000 + instance * 74;
            for (nth, (op, dims, types, values, us)) in (0..).zip(RMS_NORM) {
                let at = host + 1 + nth * 10;
                id += 1;
                table = table
                    .op(op, at..at + 9)
                    .args(&format!(
                        r#""Input Dims": {dims}, "Input type": {types}, "Concrete Inputs": {values}"#
                    ))
                    .launch(id, at + 1..at + 2)
                    .kernel(id, &format!("{op}_kernel"), gpu_us..gpu_us + us);
                gpu_us += us;
            }
            host = end + 1;
        }
    }
    table.profile()
}

#[test]
fn streams_of_two_gpus_are_not_mixed() {
    let (one, two) = (outcome(&norms_on(1)), outcome(&norms_on(2)));
    let instances = |outcome: &Outcome| outcome.tables[0].rows[0][3].clone();
    assert_eq!(instances(&one), Value::Count(20));
    assert_eq!(instances(&two), Value::Count(40));
    let (one, two) = (&one.findings[0], &two.findings[0]);
    assert_eq!((one.pattern, two.pattern), ("rms_norm", "rms_norm"));
    // 20 · 74 µs on each, at once: fused, both together win of the run what one of them wins.
    assert_eq!((one.time_ns, two.time_ns), (1_480_000, 2_960_000));
    let mid = |finding: &Finding| finding.impact.unwrap().mid_ns;
    assert!(mid(one).abs_diff(mid(two)) <= 1);
    assert!(one.issue.contains("fused they would take"));
    assert!(two.issue.contains("fused the run would take"));
}

/// What a chain has to read and write: an addition of two tensors, then a norm.
#[test]
fn what_comes_from_outside_is_read() {
    let megabyte = || Shape {
        sizes: vec![1000, 250],
        bytes: 1e6,
    };
    let kind = |name: &str, n_taken: usize| StepKind {
        kind: Kind::Fusable,
        name: name.to_owned(),
        takes: vec![megabyte(); n_taken],
        gives: Some(megabyte()),
        compute_us: Some(0.0),
    };
    let (add, relu, mul) = (kind("add", 2), kind("relu", 1), kind("mul", 2));
    let megabytes = |pattern, anchor, steps: &[&StepKind]| {
        (outer_bytes(pattern, anchor, steps) / 1e6).round() as u64
    };
    // Both addends, and the result; the sum in between stays on the chip.
    assert_eq!(megabytes(Pattern::BiasActivation, None, &[&add, &relu]), 3);
    // Both addends, the sum for the next block, and the normalised result.
    assert_eq!(megabytes(Pattern::ResidualNorm, None, &[&add, &relu]), 4);
    // A tensor that a step gives is taken once: the other factor comes from outside.
    assert_eq!(megabytes(Pattern::Elementwise, None, &[&relu, &mul]), 3);
    // Behind a norm, which writes the result anyway: only the residual.
    let given = megabyte();
    assert_eq!(
        megabytes(Pattern::NormEpilogue, Some(&given), &[&add, &relu]),
        1
    );
    // In the formula of a norm the input stands twice and is read once.
    assert_eq!(megabytes(Pattern::RmsNorm, None, &[&relu, &relu, &mul]), 2);
}

/// The steps behind a norm decide what it is to take along; only a batch norm can be folded.
#[test]
fn what_a_norm_is_to_take_along_is_what_follows_it() {
    let model = |ops: &[&str], is_batch| Pattern::NormEpilogue.model(ops, is_batch);
    assert!(model(&["add", "relu"], true).contains("batch norm"));
    for (ops, takes) in [
        (&["add", "relu"][..], "takes activation and residual along"),
        (&["mul", "add"], "takes scale and shift along"),
    ] {
        let text = model(ops, false);
        assert!(
            text.contains(takes) && !text.contains("batch norm"),
            "{text}"
        );
    }
}

const BATCH_NORM: Call = (
    "aten::batch_norm",
    "[[64, 256, 56, 56], [256], [256], [256], [256], [], [], [], []]",
    r#"["float", "float", "float", "float", "float", "Scalar", "Scalar", "Scalar", "Scalar"]"#,
    r#"["", "", "", "", "", "True", "0.1", "1e-05", "True"]"#,
    500,
);
const RELU: Call = ("aten::clamp_min_", "[[64, 256, 56, 56], []]", FN, NO, 200);
const RESIDUAL: Call = (
    "aten::add_",
    "[[64, 256, 56, 56], [64, 256, 56, 56], []]",
    FFN,
    NO3,
    300,
);

/// A residual block: each norm and each activation is a module of its own, the addition stands in the
/// block itself.
fn block(calls: Calls, nth: u32, with_norm: bool) -> Calls {
    let start = calls.host_us;
    let mut calls = Calls {
        host_us: start + 1,
        ..calls
    };
    if with_norm {
        calls = calls.module(&format!("BatchNorm2d_{nth}"), &[BATCH_NORM]);
    } else {
        calls = calls.module(
            &format!("Other_{nth}"),
            &[("aten::sort", X, F, r#"[""]"#, 5)],
        );
    }
    calls = calls.calls(&[RESIDUAL]);
    calls = calls.module(&format!("ReLU_{nth}"), &[RELU]);
    let end = calls.host_us + 1;
    Calls {
        table: calls
            .table
            .frame(&format!("nn.Module: BasicBlock_{nth}"), start..end),
        host_us: end + 1,
        ..calls
    }
}

#[test]
fn a_batch_norm_takes_addition_and_activation_along() {
    let mut calls = Calls::new();
    for nth in 0..4 {
        calls = block(calls, nth, true);
    }
    let outcome = outcome(&calls.profile());
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "norm_epilogue");
    assert_eq!(
        finding.title,
        "Normalization with what follows it in 3 kernels"
    );
    assert_eq!(finding.time_ns, 4 * 500_000);
    assert!(
        finding
            .issue
            .starts_with("8 kernels behind it in 4 instances"),
        "{}",
        finding.issue
    );
    assert!(finding.model.contains("a batch norm can be folded"));
    assert_eq!(finding.confidence, Some(Confidence::High));
    // 64 · 256 · 56 · 56 numbers of 4 bytes of the residual at 5.3 TB/s take 38.8 µs of 500.
    let saved_us = finding.impact.unwrap().high_ns as f64 / 4e3;
    assert!((saved_us - 461.2).abs() < 0.5, "{saved_us}");
}

#[test]
fn an_addition_takes_the_activation_along() {
    let mut calls = Calls::new();
    for nth in 0..4 {
        calls = block(calls, nth, false);
    }
    let outcome = outcome(&calls.profile());
    let [finding] = outcome.findings.as_slice() else {
        panic!("{:?}", outcome.findings);
    };
    assert_eq!(finding.pattern, "bias_activation");
    // Two tensors in, one out: 3 · 38.8 µs of 500.
    let saved_us = finding.impact.unwrap().high_ns as f64 / 4e3;
    assert!((saved_us - 383.7).abs() < 0.5, "{saved_us}");
}

/// Casts are part of the chain, as in the RMS norm of most models; the copy into another order of
/// memory is not.
#[test]
fn casts_fuse_and_layout_copies_do_not() {
    let cast_up: Call = ("aten::copy_", TWO, r#"["float", "c10::BFloat16"]"#, NO, 22);
    let cast_down: Call = ("aten::copy_", TWO, r#"["c10::BFloat16", "float"]"#, NO, 15);
    let weight: Call = (
        "aten::mul",
        "[[4096], [1024, 4096]]",
        r#"["c10::BFloat16", "c10::BFloat16"]"#,
        NO,
        19,
    );
    let [pow, mean, add, rsqrt, mul, _] = RMS_NORM;
    let norm = [cast_up, pow, mean, add, rsqrt, mul, cast_down, weight];
    let mut calls = Calls::new();
    for nth in 0..20 {
        calls = calls.module(&format!("Qwen2RMSNorm_{nth}"), &norm);
    }
    let found = outcome(&calls.profile());
    assert_eq!(found.findings[0].pattern, "rms_norm");
    assert_eq!(found.findings[0].title, "RMS normalisation in 8 kernels");
    // 22 + 20 + 10 + 2 + 2 + 20 + 15 + 19 µs in each.
    assert_eq!(found.findings[0].time_ns, 20 * 110_000);

    let exp: Call = ("aten::exp", X, F, r#"[""]"#, 200);
    let copy: Call = ("aten::copy_", TWO, FF, NO, 200);
    let profile = Calls::new().module("Mixed_0", &[exp, copy, exp]).profile();
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

#[test]
fn one_other_place_and_one_instance_are_told_in_the_singular() {
    let norm = RMS_NORM.map(|call| (call.0, call.1, call.2, call.3, 10 * call.4));
    let issue = |calls: Calls| outcome(&calls.profile()).findings[0].issue.clone();
    let one = issue(Calls::new().module("LlamaRMSNorm_0", &norm));
    assert!(
        one.starts_with("6 kernels in 1 instance of the same steps"),
        "{one}"
    );
    let both = Calls::new()
        .module("LlamaRMSNorm_0", &norm)
        .module("T5RMSNorm_0", &norm);
    let both = issue(both);
    assert!(both.contains(" and 1 other place, take "), "{both}");
}

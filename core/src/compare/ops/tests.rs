use super::*;
use crate::compare::testing::{self, H100, assert_contains, pair, run, unfused_attention};
use crate::compare::{Comparison, NotJudged, Side, Verdict, Which};
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

mod other_sizes;

const MM: &str = r#""Input Dims": [[512, 256], [256, 128]], "Input type": ["float", "float"], "Input Strides": [[256, 1], [128, 1]], "Concrete Inputs": ["", ""]"#;
const MM_TRANSPOSED: &str = r#""Input Dims": [[512, 256], [256, 128]], "Input type": ["float", "float"], "Input Strides": [[256, 1], [1, 256]], "Concrete Inputs": ["", ""]"#;

fn one_op(name: &str, args: &str, us: u32) -> Timetable {
    run([(name, args, "k", us)])
}

fn mm(args: &str, us: u32) -> Timetable {
    one_op("aten::mm", args, us)
}

fn compared(reference: &Timetable, target: &Timetable) -> Comparison {
    testing::compared(reference, target, None)
}

fn only(operations: &Operations) -> &MatchedOp {
    let [op] = &operations.matched[..] else {
        panic!("{operations:#?}")
    };
    op
}

#[test]
fn equal_arguments_are_a_match_of_all_arguments() {
    let comparison = compared(&mm(MM, 40), &mm(MM, 50));
    let op = only(&comparison.operations);
    assert_eq!(op.level, MatchLevel::Arguments);
    assert_eq!(op.times().difference(), 10_000);
    assert_eq!(op.label(), "aten::mm 512×256, 256×128 fp32");
    assert_eq!(op.reference_name, None);
}

/// A verdict tolerates 25 %; a row that is 20 % slower does not read as if it took the same time.
#[test]
fn a_tolerated_difference_is_named_where_it_is_noticeable() {
    for (us, label) in [
        (35, "slightly faster than expected"),
        (42, "as expected"),
        (48, "slightly slower than expected"),
        (60, "moderately slower than expected"),
    ] {
        let comparison = testing::compared(&mm(MM, 40), &mm(MM, us), H100);
        assert_eq!(only(&comparison.operations).verdict_label(), label);
    }
}

/// A causal mask halves the work of attention.
#[test]
fn the_same_shapes_with_other_work_are_explained_by_it() {
    let attention = |is_causal: &str, us| {
        let args = format!(
            r#""Input Dims": [[4, 32, 2048, 128], [4, 32, 2048, 128], [4, 32, 2048, 128], [], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "0.", "{is_causal}", "False"]"#
        );
        one_op("aten::_scaled_dot_product_flash_attention", &args, us)
    };
    let comparison = testing::compared(&attention("False", 600), &attention("True", 300), H100);
    assert_eq!(
        only(&comparison.operations).verdict_label(),
        "explained by its work"
    );
}

#[test]
fn what_differs_says_how_they_belong_together() {
    let out = r#""Input Dims": [[512, 256], [256, 128], [512, 128]], "Input type": ["float", "float", "float"]"#;
    for (reference, target, level) in [
        (MM, MM_TRANSPOSED, MatchLevel::Shapes),
        // The output operand does not matter.
        (MM, out, MatchLevel::Shapes),
        // Without shapes, the name is used.
        ("", MM, MatchLevel::Name),
    ] {
        let comparison = compared(&mm(reference, 40), &mm(target, 50));
        assert_eq!(only(&comparison.operations).level, level);
    }
}

#[test]
fn calls_that_one_trace_splits_by_strides_stay_together() {
    let two = |us, args| run([("aten::mm", MM, "k", us), ("aten::mm", args, "k", 30)]);
    let (reference, target) = (two(40, MM), two(50, MM_TRANSPOSED));
    for (reference, target) in [(&reference, &target), (&target, &reference)] {
        let operations = compared(reference, target).operations;
        let op = only(&operations);
        assert_eq!(op.level, MatchLevel::Shapes);
        assert_eq!(op.calls(), pair(2, 2));
        assert_eq!(op.times().difference().abs(), 10_000);
        assert_eq!(operations.unmatched, Pair::default());
    }
    // A call that only one trace makes has no match to join.
    let more = compared(&mm(MM, 40), &target).operations;
    assert_eq!((more.matched.len(), more.unmatched.target.len()), (1, 1));
    assert_eq!(more.matched[0].level, MatchLevel::Arguments);
}

#[test]
fn another_name_for_the_same_is_a_match() {
    let dims = r#""Input Dims": [[8, 3, 64, 64], [16, 3, 3, 3], []], "Input type": ["float", "float", ""]"#;
    let longer = r#""Input Dims": [[8, 3, 64, 64], [16, 3, 3, 3], [16], []], "Input type": ["float", "float", "float", ""]"#;
    let comparison = compared(
        &one_op("aten::cudnn_convolution", dims, 40),
        &one_op("aten::miopen_convolution", longer, 50),
    );
    let op = only(&comparison.operations);
    assert_eq!(op.level, MatchLevel::Counterpart);
    assert_eq!(op.name, "aten::miopen_convolution");
    let other = op.reference_name.as_deref();
    assert_eq!(other, Some("aten::cudnn_convolution"));
}

#[test]
fn what_has_no_partner_is_listed_on_its_side() {
    let other = r#""Input Dims": [[2, 9, 9], [2, 9, 9]], "Input type": ["float", "float"]"#;
    let operations = compared(&mm(MM, 40), &one_op("aten::bmm", other, 50)).operations;
    assert!(operations.matched.is_empty());
    let names = operations.unmatched.map(|ops| ops[0].label());
    assert_eq!(names.reference, "aten::mm 512×256, 256×128 fp32");
    assert_eq!(names.target, "aten::bmm 2×9×9, 2×9×9 fp32");
}

#[test]
fn kernels_of_a_recorded_graph_stand_against_the_operators_that_ran_them() {
    let eager = mm(MM, 40);
    let graph = Timetable::new().without_flows().kernel(1, "k", 100..150);
    let all = ReportOptions::default();
    let profiles = pair(eager.profile(), graph.profile());
    let reports = profiles.as_ref().map(|profile| Report::new(profile, &all));
    let side = |which: Which| Side::new(which.label(), profiles.get(which), reports.get(which));
    let comparison = Comparison::new(side(Which::Reference), side(Which::Target));
    let op = only(&comparison.operations);
    assert_eq!(op.level, MatchLevel::Kernels);
    let names = (op.name.as_str(), op.reference_name.as_deref());
    assert_eq!(names, ("k", Some("aten::mm")));
    assert_eq!(op.times().difference(), 10_000);
}

#[test]
fn renumbered_generated_kernels_are_the_same_in_order() {
    const POINTS: &str = r#""Input Dims": [[64], [64]], "Input type": ["float", "float"]"#;
    let run = |first: u32, us: [u32; 2]| {
        let names = [first, first + 1].map(|at| format!("triton_poi_fused_add_mul_{at}"));
        let calls = names.iter().zip(us);
        run(calls.map(|(name, us)| (name.as_str(), POINTS, name.as_str(), us)))
    };
    // Number 1 is the second one in the reference, and the first one in the target.
    let operations = compared(&run(0, [10, 40]), &run(1, [20, 80])).operations;
    let seen = operations.matched.iter();
    let seen = seen.map(|op| (op.name.as_str(), op.reference_name.as_deref(), op.times()));
    #[rustfmt::skip]
    assert!(seen.eq([
        ("triton_poi_fused_add_mul_2", Some("triton_poi_fused_add_mul_1"), pair(40_000, 80_000)),
        ("triton_poi_fused_add_mul_1", Some("triton_poi_fused_add_mul_0"), pair(10_000, 20_000)),
    ]));
    assert!(operations.unmatched.target.is_empty());
}

#[test]
fn the_same_call_from_two_threads_is_one_row() {
    let two = mm(MM, 50).thread(2).call("aten::mm", MM, "k", 2_000..2_030);
    let comparison = compared(&mm(MM, 40), &two);
    let op = only(&comparison.operations);
    assert_eq!(op.calls(), pair(1, 2));
    assert_eq!(op.times(), pair(40_000, 80_000));
    // 40 µs per call in both.
    assert_eq!(op.judgment.actual, Some(1.0));
}

#[test]
fn a_product_in_another_type_is_the_same_product() {
    const BF16: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    const FP8: &str = r#""Input Dims": [[4096, 4096], [4096, 4096], [], [], [], [], [], []], "Input type": ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"]"#;
    let bf16 = mm(BF16, 200);
    let fp8 = one_op("aten::_scaled_mm", FP8, 110);
    let narrower = testing::compared(&bf16, &fp8, H100);
    let op = only(&narrower.operations);
    assert_eq!(op.level, MatchLevel::Operator);
    assert_eq!(op.reference_name.as_deref(), Some("aten::mm"));
    // 989.4 over 1 978.9 TFLOPS.
    let expected = op.judgment.expected.unwrap_or_default();
    assert!((expected - 0.5).abs() < 0.001, "{expected}");
    assert_eq!(op.judgment.verdict, Verdict::ExplainedByHardware);
    assert_eq!(op.verdict_label(), "explained by its type");
    let elsewhere = testing::compared(&bf16, &fp8, Some(("H100", "H200")));
    assert_eq!(
        only(&elsewhere.operations).verdict_label(),
        "explained by type and hardware"
    );
    let wider = testing::compared(&fp8, &bf16, H100);
    let gap = &wider.gaps.ranked[0];
    assert_eq!(
        (gap.title.as_str(), gap.model.as_str()),
        (
            "Computes in bf16 what the reference computes in fp8 e4m3",
            "Compute in fp8 e4m3 where its precision suffices."
        )
    );
    // With the same type, it is the same GEMM under another name.
    let same = one_op("aten::_scaled_mm", BF16, 110);
    let same = testing::compared(&bf16, &same, H100);
    assert_eq!(only(&same.operations).level, MatchLevel::Gemm);
}

#[test]
fn types_have_their_width() {
    for (label, expected) in [("fp32", Some(32)), ("bf16", Some(16)), ("int64", None)] {
        assert_eq!(float_bits(label), expected);
    }
}

const LINEAR: &str =
    r#""Input Dims": [[128], [512, 256], [256, 128]], "Input type": ["float", "float", "float"]"#;

#[test]
fn a_gemm_is_the_same_whatever_the_operator() {
    const BMM: &str =
        r#""Input Dims": [[1, 512, 256], [1, 256, 128]], "Input type": ["float", "float"]"#;
    for (op, args) in [("aten::addmm", LINEAR), ("aten::bmm", BMM)] {
        let comparison = compared(&mm(MM, 40), &one_op(op, args, 50));
        let found = only(&comparison.operations);
        assert_eq!(found.level, MatchLevel::Gemm, "{op}");
        let names = (found.name.as_str(), found.reference_name.as_deref());
        assert_eq!(names, (op, Some("aten::mm")));
        assert_eq!(found.times(), pair(40_000, 50_000));
    }
    // Other sizes are a different GEMM.
    let other = LINEAR.replace("[512, 256]", "[500, 256]");
    let apart = compared(&mm(MM, 40), &one_op("aten::addmm", &other, 50));
    assert!(apart.operations.matched.is_empty());
}

#[test]
fn a_gemm_that_one_trace_splits_among_operators_stays_together() {
    let gemm = ("aten::mm", MM, "k", 40);
    let split = run([gemm, ("aten::addmm", LINEAR, "k", 30)]);
    let operations = compared(&run([gemm; 2]), &split).operations;
    let op = only(&operations);
    assert_eq!((op.level, op.calls()), (MatchLevel::Gemm, pair(2, 2)));
    assert_eq!(op.times(), pair(80_000, 70_000));
    assert_eq!(operations.unmatched, Pair::default());
}

/// 64 heads of 1024 × 1024 scores.
const QKV: &str = r#""Input Dims": [[4, 16, 1024, 64], [4, 16, 1024, 64], [4, 16, 1024, 64]], "Input type": ["c10::Half", "c10::Half", "c10::Half"]"#;
const FLASH: &str = "aten::_scaled_dot_product_flash_attention";

#[test]
fn attention_in_several_operations_stands_against_the_fused_one() {
    let fused = |us| (FLASH, QKV, "flash_fwd", us);
    // Two layers, and a GEMM in both.
    let one = run([("aten::mm", MM, "k", 40), fused(100), fused(100)]);
    let [a, b, c] = unfused_attention(200);
    let several = run([("aten::mm", MM, "k", 40), a, b, c, a, b, c]);
    let comparison = testing::compared(&one, &several, H100);
    assert_eq!(comparison.operations.unmatched, Pair::default());
    let ops = comparison.operations.matched.iter();
    let op = ops.clone().find(|op| op.is_group()).unwrap();
    assert_eq!((op.level, op.calls()), (MatchLevel::Meaning, pair(2, 2)));
    assert_eq!(op.times(), pair(200_000, 1_200_000));
    assert_eq!(op.name, "aten::bmm + aten::_softmax");
    assert_eq!(op.reference_name.as_deref(), Some(FLASH));
    // The same work on the same GPU: that of the fused one.
    assert_eq!(op.judgment.expected, Some(1.0));
    assert_eq!(op.judgment.actual, Some(6.0));
    let gap = &comparison.gaps.ranked[0];
    assert_eq!(gap.pattern, "unfused_attention");
    assert_contains(
        &gap.gap,
        "than the reference's 200 µs on `aten::_scaled_dot",
    );
    assert_contains(&gap.model, "scaled_dot_product_attention");
    assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(1_000_000));
    // With the traces swapped, nothing is slower.
    let reversed = testing::compared(&several, &one, H100);
    assert!(reversed.gaps.ranked.is_empty(), "{:#?}", reversed.gaps);
    // With other sizes, it is a different computation.
    let longer = QKV.replace("1024", "2048");
    let other = run([(FLASH, longer.as_str(), "flash_fwd", 100)]);
    let apart = testing::compared(&other, &run(unfused_attention(200)), H100);
    assert!(apart.operations.matched.is_empty());
}

#[test]
fn norms_of_one_tensor_are_the_same_by_any_operator() {
    const LAYER: &str = r#""Input Dims": [[8, 512, 1024], [], [1024], []], "Input type": ["c10::Half", "", "c10::Half", ""]"#;
    let fused = r#""Input Dims": [[4096, 1024], [1024], []], "Input type": ["c10::Half", "c10::Half", "Scalar"]"#;
    let (one, other) = (
        one_op("aten::native_layer_norm", LAYER, 20),
        one_op("_C::rms_norm", fused, 30),
    );
    let comparison = compared(&one, &other);
    let op = only(&comparison.operations);
    assert_eq!(op.level, MatchLevel::Meaning);
    assert_eq!(op.times(), pair(20_000, 30_000));
}

/// A norm inside a module in each trace: with one operator, and with three.
#[test]
fn what_is_inside_a_module_of_both_belongs_together() {
    const X: &str = r#""Input Dims": [[4096, 1024], [1]], "Input type": ["c10::Half", "Scalar"]"#;
    let module = |name: &str, calls: &[(&str, u32)]| {
        let end = 20.0 * (calls.len() + 1) as f64;
        let table = Timetable::new().frame(name, 0.0..end);
        let mut at = 0.0;
        calls.iter().fold(table, |table, (op, us)| {
            let (host, gpu) = (at * 20.0 + 1.0, at * 1_000.0 + 500.0);
            at += 1.0;
            table.op(op, host..host + 10.0).args(X).launched(
                "k",
                host + 1.0..host + 2.0,
                gpu..gpu + f64::from(*us),
            )
        })
    };
    let fused = module("nn.Module: RMSNorm_0", &[("vendor::norm_in_one", 40)]);
    let several = [("aten::pow", 50), ("aten::rsqrt", 60), ("aten::mul", 70)];
    for class in ["nn.Module: RMSNorm_7", "nn.Module: Qwen2RMSNorm_7"] {
        let comparison = compared(&fused, &module(class, &several));
        let mut gaps = comparison.gaps.ranked.iter();
        assert!(gaps.any(|gap| gap.pattern == "several_operators"));
        let op = only(&comparison.operations);
        assert_eq!((op.level, op.calls()), (MatchLevel::Place, pair(1, 1)));
        assert_eq!(op.times(), pair(40_000, 180_000));
        assert_eq!(op.name, "aten::pow + aten::rsqrt + aten::mul");
    }
    // A different module is a different place.
    let elsewhere = module("nn.Module: Embedding_0", &several);
    assert!(compared(&fused, &elsewhere).operations.matched.is_empty());
}

#[test]
fn trials_of_kernels_are_no_time_of_an_operation() {
    const CONV: &str = "64x256x56x56, 256x256x3x3";
    // Convolutions of 10 µs a kernel.
    let convolutions = |calls: &[&[&str]]| {
        let mut at = 0;
        let mut table = Timetable::new();
        for kernels in calls {
            let n = kernels.len() as u32;
            table = table.op("aten::cudnn_convolution", at..at + 20 * n);
            table = table.args(CONV);
            for kernel in *kernels {
                table = table.launched(kernel, at + 1..at + 2, at + 5..at + 15);
                at += 20;
            }
        }
        table
    };
    let tuned: &[&str] = &["gemm", "winograd", "implicit", "fft", "cutlass", "gemm"];
    let usual: &[&str] = &["gemm"];
    let plain = convolutions(&[usual, usual, usual, usual]);
    let tuning = convolutions(&[tuned, usual, usual, usual]);
    let comparison = testing::compared(&plain, &tuning, H100);
    let op = only(&comparison.operations);
    assert_eq!((op.calls(), op.times()), (pair(4, 4), pair(40_000, 30_000)));
    assert_eq!(op.judgment.actual, Some(1.0));
    let tuning_ns = comparison.parts.of_kind(crate::compare::PartKind::Tuning);
    assert_eq!(tuning_ns, pair(0, 60_000));
    let patterns = comparison.gaps.ranked.iter().map(|gap| gap.pattern);
    assert!(
        patterns
            .clone()
            .all(|of| ["more_idle", "cold_start"].contains(&of)),
        "{:?}",
        patterns.collect::<Vec<_>>()
    );
    assert_contains(
        &comparison.caveats().join(" "),
        "The target chooses kernels while it is recorded",
    );
}

#[test]
fn an_operator_with_several_kernels_is_called_as_often_as_the_kernels_run_for_it() {
    let eager = Timetable::new()
        .op("aten::_fused_adamw_", 0..60)
        .launched("adam", 1..2, 100..150)
        .launched("adam", 3..4, 150..200);
    let alone = Timetable::new().without_flows();
    let alone = alone
        .kernel(1, "adam", 100..150)
        .kernel(2, "adam", 150..200);
    let comparison = compared(&eager, &alone);
    let op = only(&comparison.operations);
    assert_eq!((op.level, op.calls()), (MatchLevel::Kernels, pair(1, 1)));
    assert!(comparison.gaps.ranked.is_empty(), "{:#?}", comparison.gaps);
}

#[test]
fn kernels_without_operators_are_matched_under_other_names() {
    let kernels = |gemm: &str, us: u32| {
        let table = Timetable::new().without_flows();
        let table = table.kernel(1, gemm, 1_000..1_000 + us);
        table.kernel(2, "softmax_warp_forward", 1_300..1_400)
    };
    let (old, new) = (
        kernels("ampere_sgemm_128x128_tn", 200),
        kernels("cutlass_80_simt_sgemm_128x128_tn", 230),
    );
    let comparison = compared(&old, &new);
    let levels = comparison.operations.matched.iter();
    let levels: Vec<_> = levels.map(|op| (op.level, op.times())).collect();
    assert_eq!(levels[0], (MatchLevel::Renamed, pair(200_000, 230_000)));
    let unmatched = comparison.operations.unmatched;
    assert!(unmatched.reference.is_empty() && unmatched.target.is_empty());
    // Another number of runs is other work.
    let more = new.kernel(3, "cutlass_80_simt_sgemm_128x128_tn", 1_500..1_600);
    let unmatched = compared(&old, &more).operations.unmatched;
    assert_eq!((unmatched.reference.len(), unmatched.target.len()), (1, 1));
}

#[test]
fn the_steps_of_an_optimizer_are_matched_as_a_whole() {
    let step = |ops: &[(&str, u32)]| {
        let table = Timetable::new().annotation("Optimizer.step#AdamW.step", 0..100);
        let mut end = 1_000;
        let ops = ops.iter().zip(0_u32..);
        ops.fold(table, |table, ((op, us), at)| {
            let (start, launch) = (end, 10 * at + 1);
            end += us;
            let table = table.op(op, launch..launch + 8);
            table.launched(op, launch + 1..launch + 2, start..end)
        })
    };
    let fused = step(&[("aten::_fused_adamw_", 50)]);
    let several = step(&[("aten::lerp_", 60), ("aten::addcdiv_", 60)]);
    let comparison = testing::compared(&fused, &several, H100);
    let op = only(&comparison.operations);
    assert_eq!((op.level, op.calls()), (MatchLevel::Meaning, pair(1, 1)));
    assert_eq!(
        testing::savings(&comparison.gaps.ranked),
        [("unfused_optimizer", Some(70_000))]
    );
    let faster = testing::compared(&several, &fused, H100);
    assert!(faster.gaps.ranked.is_empty());
    let why = only(&faster.operations).why_faster();
    assert_eq!(why, Some("fewer operations for the same work"));
}

#[test]
fn unknown_sizes_are_those_of_no_other_amount_of_work() {
    let run = |n: usize, us: u32| {
        let mm = std::iter::repeat_n(("aten::mm", MM, "gemm", 100), n);
        let adam = ("my::adam", "", "adam", us);
        run(mm.chain([adam])).annotation("ProfilerStep#7", 0..500)
    };
    let verdict = |target: &Timetable| {
        let comparison = testing::compared(&run(2, 100), target, H100);
        let mut matched = comparison.operations.matched.into_iter();
        matched
            .find(|op| op.name == "my::adam")
            .unwrap()
            .judgment
            .verdict
    };
    assert_eq!(verdict(&run(2, 150)), Verdict::ModeratelyBeyond);
    let unknown = Verdict::NotJudged(NotJudged::OtherSizes);
    assert_eq!(verdict(&run(3, 150)), unknown);
}

use super::*;
use crate::compare::testing::sides;
use crate::compare::{Comparison, Side, Verdict};
use crate::profile::kernels::GpuEvents;
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

const MM: &str = r#""Input Dims": [[512, 256], [256, 128]], "Input type": ["float", "float"], "Input Strides": [[256, 1], [128, 1]], "Concrete Inputs": ["", ""]"#;
const MM_TRANSPOSED: &str = r#""Input Dims": [[512, 256], [256, 128]], "Input type": ["float", "float"], "Input Strides": [[256, 1], [1, 256]], "Concrete Inputs": ["", ""]"#;

fn one_op(name: &str, args: &str, us: i32) -> Timetable {
    Timetable::new()
        .op(name, 0..10)
        .args(args)
        .launch(1, 1..2)
        .kernel(1, "k", 100..100 + us)
}

fn compared(reference: &Timetable, target: &Timetable) -> Comparison {
    sides(reference, target, None, |sides| {
        Comparison::new(sides.reference, sides.target)
    })
}

#[test]
fn equal_arguments_are_a_match_of_all_arguments() {
    let comparison = compared(&one_op("aten::mm", MM, 40), &one_op("aten::mm", MM, 50));
    let [op] = &comparison.operations.matched[..] else {
        panic!("one operation")
    };
    assert_eq!(op.level, MatchLevel::Arguments);
    assert_eq!(op.times().difference(), 10_000);
    assert_eq!(op.label(), "aten::mm 512 × 256, 256 × 128 fp32");
    assert_eq!(op.reference_name, None);
}

#[test]
fn other_strides_are_a_match_of_shapes() {
    let comparison = compared(
        &one_op("aten::mm", MM, 40),
        &one_op("aten::mm", MM_TRANSPOSED, 50),
    );
    assert_eq!(comparison.operations.matched[0].level, MatchLevel::Shapes);
}

#[test]
fn calls_that_one_trace_splits_by_strides_stay_together() {
    let again = |run: Timetable, args: &str| {
        run.op("aten::mm", 20..30)
            .args(args)
            .launch(2, 21..22)
            .kernel(2, "k", 200..230)
    };
    let reference = again(one_op("aten::mm", MM, 40), MM);
    let target = again(one_op("aten::mm", MM, 50), MM_TRANSPOSED);
    for (reference, target) in [(&reference, &target), (&target, &reference)] {
        let operations = compared(reference, target).operations;
        let [op] = &operations.matched[..] else {
            panic!("one operation")
        };
        assert_eq!(op.level, MatchLevel::Shapes);
        assert_eq!(
            op.calls(),
            Pair {
                reference: 2,
                target: 2
            }
        );
        assert_eq!(op.times().difference().abs(), 10_000);
        assert!(operations.lone.reference.is_empty() && operations.lone.target.is_empty());
    }
    // Of a call that only one trace makes there is no partner to join.
    let more = compared(&one_op("aten::mm", MM, 40), &target).operations;
    assert_eq!((more.matched.len(), more.lone.target.len()), (1, 1));
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
    let op = &comparison.operations.matched[0];
    assert_eq!(op.level, MatchLevel::Counterpart);
    assert_eq!(op.name, "aten::miopen_convolution");
    assert_eq!(
        op.reference_name.as_deref(),
        Some("aten::cudnn_convolution")
    );
}

#[test]
fn without_shapes_the_name_has_to_do() {
    let bare = Timetable::new()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .kernel(1, "k", 100..120);
    let comparison = compared(&bare, &one_op("aten::mm", MM, 50));
    assert_eq!(comparison.operations.matched[0].level, MatchLevel::Name);
}

#[test]
fn what_has_no_partner_is_listed_on_its_side() {
    let other = r#""Input Dims": [[2, 9, 9], [2, 9, 9]], "Input type": ["float", "float"]"#;
    let comparison = compared(&one_op("aten::mm", MM, 40), &one_op("aten::bmm", other, 50));
    let operations = &comparison.operations;
    assert!(operations.matched.is_empty());
    let names = operations.lone.as_ref().map(|ops| ops[0].label());
    assert_eq!(names.reference, "aten::mm 512 × 256, 256 × 128 fp32");
    assert_eq!(names.target, "aten::bmm 2 × 9 × 9, 2 × 9 × 9 fp32");
}

#[test]
fn the_operand_that_a_result_is_written_to_does_not_matter() {
    let out = r#""Input Dims": [[512, 256], [256, 128], [512, 128]], "Input type": ["float", "float", "float"]"#;
    let comparison = compared(&one_op("aten::mm", MM, 40), &one_op("aten::mm", out, 50));
    assert_eq!(comparison.operations.matched[0].level, MatchLevel::Shapes);
}

#[test]
fn the_same_operator_on_other_sizes_is_judged_by_its_own_work() {
    let doubled = r#""Input Dims": [[1024, 256], [256, 128]], "Input type": ["float", "float"], "Input Strides": [[256, 1], [128, 1]], "Concrete Inputs": ["", ""]"#;
    let (small, large) = (one_op("aten::mm", MM, 40), one_op("aten::mm", doubled, 80));
    let comparison = sides(&small, &large, Some(("H100", "H100")), |sides| {
        Comparison::new(sides.reference, sides.target)
    });
    let op = &comparison.operations.matched[0];
    assert_eq!(op.level, MatchLevel::Operator);
    assert_eq!(op.label(), "aten::mm 1024 × 256, 256 × 128 fp32");
    let reference = op.reference_shapes.as_deref();
    assert_eq!(reference, Some("512 × 256, 256 × 128 fp32"));
    assert_eq!(op.types, None);
    // 1024·256 + 256·128 + 1024·128 elements to move, for 512·256 + 256·128 + 512·128.
    let expected = op.judgement.expected.unwrap_or_default();
    assert!(
        (expected - 425_984.0 / 229_376.0).abs() < 1e-9,
        "{expected}"
    );
    assert_eq!(op.judgement.verdict, Verdict::ExplainedByHardware);
    let said = comparison.caveats().join(" ");
    assert!(
        said.contains("on 1024 × 256, 256 × 128 fp32 instead of 512 × 256, 256 × 128 fp32"),
        "{said}"
    );
    // Of other sizes called another number of times nothing tells that they belong together.
    let twice = one_op("aten::mm", doubled, 80)
        .op("aten::mm", 20..30)
        .args(doubled)
        .launch(2, 21..22)
        .kernel(2, "k", 200..280);
    assert!(compared(&small, &twice).operations.matched.is_empty());
}

#[test]
fn kernels_of_a_recorded_graph_stand_against_the_operators_that_ran_them() {
    let eager = one_op("aten::mm", MM, 40);
    let graph = Timetable::new().without_flows().kernel(1, "k", 100..150);
    let all = ReportOptions {
        gpu_events: GpuEvents::All,
        ..ReportOptions::default()
    };
    let (eager, graph) = (eager.profile(), graph.profile());
    let reports = [Report::new(&eager, &all), Report::new(&graph, &all)];
    let side = |name, profile, report| Side {
        name,
        profile,
        report,
    };
    let comparison = Comparison::new(
        side("eager", &eager, &reports[0]),
        side("graph", &graph, &reports[1]),
    );
    let [op] = &comparison.operations.matched[..] else {
        panic!("{:#?}", comparison.operations)
    };
    assert_eq!(op.level, MatchLevel::Kernels);
    assert_eq!(
        (op.name.as_str(), op.reference_name.as_deref()),
        ("k", Some("aten::mm"))
    );
    assert_eq!(op.times().difference(), 10_000);
}

#[test]
fn renumbered_generated_kernels_are_the_same_in_order() {
    const POINTS: &str = r#""Input Dims": [[64], [64]], "Input type": ["float", "float"]"#;
    let run = |first: u32, us: [u32; 2]| {
        let mut table = Timetable::new();
        for (at, us) in (0_u32..).zip(us) {
            let name = format!("triton_poi_fused_add_mul_{}", at + first);
            let (host, gpu) = (at * 10, 100 + at * 100);
            table = table
                .op(&name, host..host + 9)
                .args(POINTS)
                .launch(at + 1, host + 1..host + 2)
                .kernel(at + 1, &name, gpu..gpu + us);
        }
        table
    };
    // Number 1 of the reference is the second, and of the target the first.
    let operations = compared(&run(0, [10, 40]), &run(1, [20, 80])).operations;
    let seen: Vec<(&str, Option<&str>, Pair<i64>)> = operations
        .matched
        .iter()
        .map(|op| (op.name.as_str(), op.reference_name.as_deref(), op.times()))
        .collect();
    let times = |reference, target| Pair { reference, target };
    assert_eq!(
        seen,
        [
            (
                "triton_poi_fused_add_mul_2",
                Some("triton_poi_fused_add_mul_1"),
                times(40_000, 80_000)
            ),
            (
                "triton_poi_fused_add_mul_1",
                Some("triton_poi_fused_add_mul_0"),
                times(10_000, 20_000)
            ),
        ]
    );
    assert!(operations.lone.target.is_empty());
}

#[test]
fn the_same_call_from_two_threads_is_one_row() {
    let two = one_op("aten::mm", MM, 50)
        .thread(2)
        .op("aten::mm", 20..30)
        .args(MM)
        .launch(2, 21..22)
        .kernel(2, "k", 200..230);
    let comparison = compared(&one_op("aten::mm", MM, 40), &two);
    let [op] = &comparison.operations.matched[..] else {
        panic!("one operation")
    };
    assert_eq!(
        op.calls(),
        Pair {
            reference: 1,
            target: 2
        }
    );
    assert_eq!(
        op.times(),
        Pair {
            reference: 40_000,
            target: 80_000
        }
    );
    // 40 µs a call in both.
    assert_eq!(op.judgement.actual, Some(1.0));
}

#[test]
fn a_product_in_another_type_is_the_same_product() {
    const BF16: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    const FP8: &str = r#""Input Dims": [[4096, 4096], [4096, 4096], [], [], [], [], [], []], "Input type": ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"]"#;
    let bf16 = one_op("aten::mm", BF16, 200);
    let fp8 = one_op("aten::_scaled_mm", FP8, 110);
    let on_h100 = |reference, target| {
        sides(reference, target, Some(("H100", "H100")), |sides| {
            Comparison::new(sides.reference, sides.target)
        })
    };
    let narrower = on_h100(&bf16, &fp8);
    let [op] = &narrower.operations.matched[..] else {
        panic!("{:#?}", narrower.operations)
    };
    assert_eq!(op.level, MatchLevel::Operator);
    assert_eq!(op.reference_name.as_deref(), Some("aten::mm"));
    // 989.4 over 1 978.9 TFLOPS.
    let expected = op.judgement.expected.unwrap_or_default();
    assert!((expected - 0.5).abs() < 0.001, "{expected}");
    assert_eq!(op.judgement.verdict, Verdict::ExplainedByHardware);
    let wider = on_h100(&fp8, &bf16);
    let gap = &wider.gaps.ranked[0];
    assert_eq!(
        gap.title,
        "Computes in bf16 what the reference computes in fp8 e4m3"
    );
    assert_eq!(
        gap.model,
        "Compute in fp8 e4m3 where its precision suffices."
    );
    // Of one type they are two operators, each for a reason.
    let same = one_op("aten::_scaled_mm", BF16, 110);
    assert!(on_h100(&bf16, &same).operations.matched.is_empty());
}

#[test]
fn types_have_their_width() {
    for (label, expected) in [("fp32", Some(32)), ("bf16", Some(16)), ("int64", None)] {
        assert_eq!(super::float_bits(label), expected);
    }
}

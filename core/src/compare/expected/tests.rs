use super::super::testing::{H100, compared, run};
use super::*;
use crate::testing::Timetable;

/// 2·4096³ = 137.4 GFLOP.
const MM: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
/// 64 × 8 by eight rows each: tiny matrices, very many of them.
const BMM: &str = r#""Input Dims": [[37632, 8, 64], [37632, 64, 8]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;

fn judged(name: &str, args: &str, us: [f64; 2], gpus: Option<(&str, &str)>) -> Judgment {
    let [reference, target] =
        us.map(|us| Timetable::new().call(name, args, "k", 100.0..100.0 + us));
    compared(&reference, &target, gpus).operations.matched[0].judgment
}

fn near(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 0.001 * b)
}

#[test]
fn the_ratio_of_the_roofs_is_expected() {
    let judgment = judged("aten::mm", MM, [200.0, 280.0], Some(("H100", "MI300X")));
    // There is no achievable figure for the H100: 989.4 ÷ 1307.4 TFLOPS from peaks.
    assert!(near(judgment.expected, 0.7568), "{judgment:?}");
    assert!(near(judgment.by_peaks.expected, 0.7568), "{judgment:?}");
    // 989.4 ÷ 708 TFLOPS: a peak over an achievable figure.
    assert!(
        near(judgment.by_achievable.expected, 1.3975),
        "{judgment:?}"
    );
    assert!(near(judgment.actual, 1.4) && near(judgment.by_achievable.excess, 1.0018));
    assert_eq!(judgment.verdict, Verdict::ModeratelyBeyond);
    assert_eq!(judgment.by_achievable.verdict, Verdict::ExplainedByHardware);
    assert!(judgment.depends_on_basis());
    // 137.4 GFLOP at 1307.4 TFLOPS, and at 708, as in the report of the target alone.
    let rooflines = [judgment.rooflines.target, judgment.floor];
    let [roofline, floor] = rooflines.map(|roofline| roofline.map(|roofline| roofline.us_per_call));
    assert!(
        near(roofline, 105.1) && near(floor, 194.1),
        "{roofline:?} {floor:?}"
    );
}

#[test]
fn each_line_is_drawn_where_it_says() {
    for (factor, verdict) in [
        (0.8, Verdict::BetterThanPredicted),
        (0.81, Verdict::ExplainedByHardware),
        (1.25, Verdict::ExplainedByHardware),
        (1.26, Verdict::ModeratelyBeyond),
        (1.99, Verdict::ModeratelyBeyond),
        (2.0, Verdict::UnexpectedSlowdown),
        (20.0, Verdict::UnexpectedSlowdown),
    ] {
        let judgment = judged("aten::mm", MM, [200.0, 200.0 * factor], H100);
        assert_eq!(judgment.verdict, verdict, "{factor}");
        assert_eq!(judgment.is_more_than_twice, factor > 2.0, "{factor}");
    }
}

#[test]
fn tiny_batched_products_have_a_line_of_their_own() {
    let verdict = |target_us| judged("aten::bmm", BMM, [100.0, target_us], H100).verdict;
    assert_eq!(verdict(499.0), Verdict::UnexpectedSlowdown);
    assert_eq!(verdict(500.0), Verdict::KernelIssue);
}

#[test]
fn what_is_short_on_both_sides_is_not_judged() {
    let verdict = |us| judged("aten::mm", MM, us, H100).verdict;
    assert_eq!(verdict([2.0, 9.9]), Verdict::TooSmallToJudge);
    assert_eq!(verdict([2.0, 10.0]), Verdict::UnexpectedSlowdown);
}

#[test]
fn on_the_same_gpu_the_same_time_is_expected_whatever_the_work() {
    let judgment = judged("my::op", "", [100.0, 150.0], H100);
    assert_eq!(judgment.expected, Some(1.0));
    assert_eq!(judgment.verdict, Verdict::ModeratelyBeyond);
}

#[test]
#[rustfmt::skip]
fn what_is_missing_is_said() {
    for (name, gpus, why) in [
        ("aten::mm", None, NotJudged::NoProfiles),
        ("aten::mm", Some(("", "H100")), NotJudged::NoProfile(Which::Reference)),
        ("aten::mm", Some(("H100", "")), NotJudged::NoProfile(Which::Target)),
        ("my::op", Some(("H100", "MI300X")), NotJudged::NoWorkModel),
    ] {
        let judgment = judged(name, MM, [100.0, 300.0], gpus);
        let verdict = Verdict::NotJudged(why);
        assert_eq!(judgment.verdict, verdict, "{name} {gpus:?}");
        assert_eq!(judgment.expected, None);
        assert!(judgment.is_more_than_twice);
    }
}

#[test]
fn a_copy_to_the_host_is_not_judged_by_the_memory_of_the_gpu() {
    let run = |us| run([("aten::copy_", MM, "Memcpy DtoH (Device -> Pinned)", us)]);
    let judged = |gpus| compared(&run(100), &run(300), gpus).operations.matched[0].judgment;
    let other = judged(Some(("H100", "MI300X")));
    assert_eq!(other.verdict, Verdict::NotJudged(NotJudged::OverLink));
    assert_eq!((other.expected, other.rooflines), (None, Pair::default()));
    // The same GPU has the same link: 3 times as long is an excess of 3.
    let same = judged(H100);
    assert_eq!((same.expected, same.excess), (Some(1.0), Some(3.0)));
    assert_eq!(same.rooflines, Pair::default());
}

#[test]
fn without_the_shapes_of_one_trace_nothing_is_expected() {
    let run = |args, us| run([("aten::mm", args, "k", us)]);
    for (reference, target) in [(MM, ""), ("", MM)] {
        let comparison = compared(&run(reference, 200), &run(target, 500), H100);
        let judgment = comparison.operations.matched[0].judgment;
        assert_eq!(judgment.verdict, Verdict::NotJudged(NotJudged::NoShapes));
        assert_eq!(judgment.expected, None);
        let said = comparison.caveats().join(" ");
        assert!(said.contains("record_shapes=True"), "{said}");
    }
}

//! Verdicts on the operations of two models.

use dormer_core::compare::{MatchedOp, Pair, Verdict};
use dormer_core::output::documents::Documents;
use dormer_core::output::markup::markdown;

use super::{compared, pair};
use crate::support::opened::broken_rules;

/// An operation with a known verdict: the total time of its calls in microseconds, the ratio that the hardware predicts
/// with achievable figures and with peaks, and the verdict with achievable ones.
type Known = (&'static str, [f64; 2], [f64; 2], Verdict);

/// 3.35 over 5.30 TB/s.
const MEMORY: [f64; 2] = [0.632, 0.632];

/// 989.4 over 708 TFLOPS, and over the peak of 1307.4.
const COMPUTE: [f64; 2] = [1.397, 0.757];

#[rustfmt::skip]
const QWEN: &[Known] = &[
    ("aten::mm", [4055.3, 5308.3], COMPUTE, Verdict::ExplainedByHardware),
    ("aten::_scaled_dot_product_flash_attention", [2722.7, 4016.3], [0.661, 0.632], Verdict::UnexpectedSlowdown),
    ("aten::addmm", [2329.1, 2954.8], COMPUTE, Verdict::ExplainedByHardware),
    // With two sets of strides: 2680 and 1673 µs in total.
    ("aten::mul", [1537.8, 955.1], MEMORY, Verdict::ExplainedByHardware),
    ("aten::mul", [1141.9, 718.3], MEMORY, Verdict::ExplainedByHardware),
];

#[rustfmt::skip]
const TIMESFORMER: &[Known] = &[
    ("aten::bmm", [22_819.5, 14_545.6], MEMORY, Verdict::ExplainedByHardware),
    ("aten::bmm", [490.2, 13_710.1], MEMORY, Verdict::KernelIssue),
    ("aten::bmm", [1300.5, 3356.2], MEMORY, Verdict::UnexpectedSlowdown),
    ("aten::mul", [15_495.2, 10_958.5], MEMORY, Verdict::ExplainedByHardware),
    ("aten::addmm", [1977.7, 3057.3], COMPUTE, Verdict::ExplainedByHardware),
    ("aten::_softmax", [68_688.6, 41_722.7], MEMORY, Verdict::ExplainedByHardware),
];

fn check(model: &str, known: &[Known]) {
    let Some(pair) = pair(model) else { return };
    let comparison = compared(&pair);
    assert_eq!(broken_rules(&comparison), [""; 0], "{model}");
    let are_near = |found: [f64; 2], known: [f64; 2]| {
        let mut pairs = found.into_iter().zip(known);
        pairs.all(|(a, b)| (a - b).abs() <= 0.01 * b)
    };
    let mut wrong = Vec::new();
    for (name, times_us, ratios, verdict) in known {
        let found = comparison.operations.matched.iter().find(|op| {
            let times = op.times().map(|ns| ns as f64 / 1e3);
            op.name == *name && are_near([times.reference, times.target], *times_us)
        });
        let Some(MatchedOp { judgment, .. }) = found else {
            wrong.push(format!("{name} of {times_us:?} µs is not there"));
            continue;
        };
        let expected = judgment
            .by_achievable
            .expected
            .zip(judgment.by_peaks.expected);
        let is_right = expected.is_some_and(|(one, peak)| are_near([one, peak], *ratios));
        if !is_right || judgment.by_achievable.verdict != *verdict {
            wrong.push(format!("{name} of {times_us:?} µs: {judgment:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn verdicts_of_qwen_are_as_known() {
    check("qwen", QWEN);
}

#[test]
fn verdicts_of_timesformer_are_as_known() {
    check("timesformer", TIMESFORMER);
}

#[test]
fn all_softmax_of_timesformer_is_explained() {
    let Some(pair) = pair("timesformer") else {
        return;
    };
    let comparison = compared(&pair);
    let ops = comparison.operations.matched.iter();
    let softmax: Vec<&MatchedOp> = ops.filter(|op| op.name == "aten::_softmax").collect();
    let times = softmax
        .iter()
        .map(|op| op.times())
        .fold(Pair::default(), Pair::plus);
    let ms = times.map(|ns| (ns as f64 / 1e4).round() / 1e2);
    assert_eq!((ms.reference, ms.target), (68.78, 41.86));
    assert_eq!(softmax[0].judgment.verdict, Verdict::ExplainedByHardware);
}

#[test]
fn by_peaks_products_bound_by_arithmetic_are_beyond_the_hardware() {
    for model in ["qwen", "timesformer"] {
        let Some(pair) = pair(model) else { return };
        let comparison = compared(&pair);
        let text = markdown(&comparison.fair());
        assert!(text.contains("### Verdicts by basis"), "{model}");
        // The caveat contains both figures and both ratios.
        for words in ["peak figure \\(989 TFLOPS", "0.757×", "1.40×"] {
            assert!(text.contains(&words.replace("\\", "")), "{model}: {words}");
        }
        let products = comparison.operations.matched.iter().filter(|op| {
            let expected = op.judgment.by_achievable.expected;
            expected.is_some_and(|expected| (expected - 1.397).abs() < 0.001)
        });
        let verdicts: Vec<Verdict> = products.map(|op| op.judgment.verdict).collect();
        assert!(verdicts.len() > 3, "{model}");
        let n_slower = verdicts
            .iter()
            .filter(|verdict| verdict.is_slower_than_expected());
        assert!(
            n_slower.count() + 1 >= verdicts.len(),
            "{model}: {verdicts:?}"
        );
    }
}

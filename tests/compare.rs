//! Comparisons of real traces of the same model on two platforms.

use dormer_core::compare::{Comparison, MatchLevel, MatchedOp, Pair, PartKind, Verdict};
use dormer_core::output::document::markdown;
use dormer_core::output::documents::Documents;
use dormer_core::output::json::comparison::comparison_json;
use dormer_core::sample;

use crate::support::container::gunzip;
use crate::support::opened::{Opened, broken_rules};
use crate::support::shared;
use crate::support::slower::slower;

/// Two traces of one model: on an H100, the reference, and on an MI300X.
fn pair(model: &str) -> Option<Pair<Opened>> {
    let shared = shared::folder()?;
    let open = |platform: &str| {
        let name = format!("{platform}_{model}");
        Opened::new(&name, shared::trace(&shared, &name))
    };
    Some(Pair {
        reference: open("h100"),
        target: open("mi300"),
    })
}

fn compared(pair: &Pair<Opened>) -> Comparison {
    Comparison::new(pair.reference.side(), pair.target.side())
}

fn reversed(pair: &Pair<Opened>) -> Comparison {
    Comparison::new(pair.target.side(), pair.reference.side())
}

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
        let Some(MatchedOp { judgement, .. }) = found else {
            wrong.push(format!("{name} of {times_us:?} µs is not there"));
            continue;
        };
        let expected = judgement.achievable_expected.zip(judgement.peak_expected);
        let is_right = expected.is_some_and(|(one, peak)| are_near([one, peak], *ratios));
        if !is_right || judgement.achievable_verdict != *verdict {
            wrong.push(format!("{name} of {times_us:?} µs: {judgement:?}"));
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
    assert_eq!(softmax[0].judgement.verdict, Verdict::ExplainedByHardware);
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
            let expected = op.judgement.achievable_expected;
            expected.is_some_and(|expected| (expected - 1.397).abs() < 0.001)
        });
        let verdicts: Vec<Verdict> = products.map(|op| op.judgement.verdict).collect();
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

#[test]
fn a_tiny_batched_product_with_the_wrong_kernel_is_first_and_wants_a_reproducer() {
    let Some(pair) = pair("timesformer") else {
        return;
    };
    let comparison = compared(&pair);
    let first = &comparison.gaps.ranked[0];
    assert_eq!(first.pattern, "kernel_issue");
    assert!(first.title.contains("37632"), "{}", first.title);
    assert!(
        first
            .replay
            .as_ref()
            .is_some_and(|replay| replay.is_recommended)
    );
    // 13.71 ms; 0.49 ms · 0.632 are expected.
    let saving = first.saving.unwrap();
    assert!(
        (13_350_000..13_450_000).contains(&saving.matching_ns),
        "{saving:?}"
    );
    assert!(
        saving
            .roof_ns
            .is_some_and(|roof_ns| roof_ns >= saving.matching_ns)
    );
}

#[test]
fn parts_sum_up_and_partners_explain_the_difference() {
    for model in ["qwen", "timesformer"] {
        let Some(pair) = pair(model) else { return };
        let comparison = compared(&pair);
        let parts = &comparison.parts;
        let all = parts.parts.iter().map(|part| part.times);
        let sum = all.fold(Pair::default(), Pair::plus).plus(parts.rest);
        assert_eq!(sum, parts.total, "{model}");
        assert_eq!(parts.rest, Pair::default(), "{model}");
        let steps = parts.waterfall(12);
        let ends = (steps[0].from_ns, steps[steps.len() - 1].to_ns);
        assert_eq!(ends, (parts.total.reference, parts.total.target), "{model}");
        let percent = parts.matched_percent().unwrap();
        eprintln!("{model}: {percent:.2} % of what differs in computation has a partner");
        assert!(percent >= 90.0, "{model}: {percent}");
        let computation = parts.parts.iter().filter(|part| part.kind.is_computation());
        let computation = computation
            .map(|part| part.times)
            .fold(Pair::default(), Pair::plus);
        assert_eq!(computation, parts.computation, "{model}");
    }
}

#[test]
fn the_reversed_comparison_has_the_reversed_differences() {
    for model in ["qwen", "timesformer"] {
        let Some(pair) = pair(model) else { return };
        let (one, other) = (compared(&pair), reversed(&pair));
        assert_eq!(
            one.parts.total.difference(),
            -other.parts.total.difference()
        );
        let rows = |comparison: &Comparison, sign: i64| {
            let parts = comparison.parts.parts.iter();
            let parts = parts.map(|part| (part.label.clone(), part.times));
            let kernels = comparison.kernels.iter();
            let kernels = kernels.map(|row| (row.key.clone(), row.times()));
            let modules = comparison.modules.iter();
            let modules = modules.map(|row| (row.key.clone(), row.times()));
            let categories = comparison.categories.iter();
            let categories = categories.map(|row| (row.key.label().to_owned(), row.times()));
            let all = parts.chain(kernels).chain(modules).chain(categories);
            let mut all: Vec<(String, i64)> = all
                .map(|(name, times)| (name, sign * times.difference()))
                .collect();
            all.sort();
            all
        };
        assert_eq!(rows(&one, 1), rows(&other, -1), "{model}");
    }
}

#[test]
fn a_trace_against_itself_has_no_difference() {
    for (name, bytes) in shared::with_sample() {
        // Large traces take long in a debug build, and show nothing that small ones do not.
        if bytes.len() > 2_000_000 {
            continue;
        }
        let opened = Opened::new(&name, &bytes);
        let again = Opened::new("again", &bytes);
        let comparison = Comparison::new(opened.side(), again.side());
        assert!(comparison.is_same(), "{name}");
        let parts = comparison.parts.parts.iter();
        assert!(
            parts.clone().all(|part| part.times.difference() == 0),
            "{name}"
        );
        assert!(
            parts
                .clone()
                .all(|part| !matches!(part.kind, PartKind::Unmatched(..))),
            "{name}"
        );
        assert_eq!(comparison.parts.waterfall(12), [], "{name}");
        assert!(comparison.gaps.ranked.is_empty(), "{name}");
        let text = markdown(&comparison.fair());
        assert!(text.contains("No difference: "), "{name}: {text}");
    }
}

#[test]
fn a_slowdown_of_one_operation_is_found_named_and_measured() {
    let (text, slower_us) = slower(sample::TRACE, "GeluCUDAKernelImpl", 4.0).unwrap();
    assert!(slower_us > 0.0);
    let before = Opened::new("before", sample::TRACE.as_bytes());
    let after = Opened::new("after", text.as_bytes());
    let comparison = Comparison::new(before.side(), after.side());
    assert!(comparison.is_same_gpu);
    let first = &comparison.gaps.ranked[0];
    assert_eq!(first.pattern, Verdict::UnexpectedSlowdown.key());
    assert!(first.title.starts_with("`aten::gelu`"), "{}", first.title);
    let is_near = |ns: i64| (ns as f64 / 1e3 - slower_us).abs() < 0.01 * slower_us;
    assert!(is_near(first.times.difference()), "{:?}", first.times);
    assert!(
        is_near(first.saving.unwrap().matching_ns),
        "{:?}",
        first.saving
    );
    let ops = comparison.operations.matched.iter();
    let (slow, same): (Vec<&MatchedOp>, Vec<&MatchedOp>) = ops.partition(|op| {
        op.judgement.verdict != Verdict::ExplainedByHardware
            && op.judgement.verdict != Verdict::TooSmallToJudge
    });
    assert!(slow.iter().all(|op| op.name == "aten::gelu"), "{slow:#?}");
    assert!(slow.iter().all(|op| {
        op.judgement
            .actual
            .is_some_and(|ratio| (ratio - 4.0).abs() < 0.04)
    }));
    assert!(same.iter().all(|op| op.times().difference() == 0));
    // Communication that overlapped the slow kernel may end before the kernel it overlapped, so the total grows by as
    // much as computation does, or less.
    let longer_us = comparison.parts.total.difference() as f64 / 1e3;
    assert!(
        (0.0..=slower_us * 1.001).contains(&longer_us),
        "{longer_us} {slower_us}"
    );
}

/// A unit case from `units/compare`: the first trace, whose GPU is used for both, is the target, and the second is the
/// reference.
fn unit(name: &str) -> Option<Comparison> {
    let shared = shared::folder()?;
    let open = |trace: &str| {
        let path = shared.join(format!("units/compare/{name}/{trace}.json"));
        let bytes = std::fs::read(path).unwrap();
        Opened::new(trace, &bytes)
    };
    let (reference, target) = (open("trace2"), open("trace1"));
    Some(Comparison::new(reference.side(), target.side()))
}

/// Both traces compute attention unfused, in three operations; the target's GEMMs and softmax are slower.
#[test]
fn attention_that_both_traces_compute_unfused_is_distinguished_from_what_is_slower() {
    let Some(comparison) = unit("test02_attention_both_unfused") else {
        return;
    };
    assert_eq!(comparison.operations.unmatched, Pair::default());
    let gaps = &comparison.gaps.ranked;
    let gap = |pattern: &str| gaps.iter().find(|gap| gap.pattern == pattern).unwrap();
    let old = gap("outdated_kernel");
    assert!(old.title.contains("`aten::bmm`"), "{}", old.title);
    assert!(old.title.contains("Volta"), "{}", old.title);
    assert_eq!((old.times.reference, old.times.target), (80_000, 180_000));
    let others = gaps.iter().map(|gap| (gap.title.as_str(), gap.times));
    let softmax = others.filter(|(title, _)| title.starts_with("`aten::softmax`"));
    let times: Vec<Pair<i64>> = softmax.map(|(_, times)| times).collect();
    assert_eq!(times.len(), 1, "{gaps:#?}");
    assert_eq!((times[0].reference, times[0].target), (40_000, 110_000));
    let waste = &comparison.waste[0];
    assert_eq!(waste.key, "unfused_attention", "{:#?}", comparison.waste);
    assert_eq!(
        (waste.times.reference, waste.times.target),
        (120_000, 290_000)
    );
    assert!(waste.advice.contains("scaled_dot_product_attention"));
    // What the reference takes would be 76 µs at the bandwidth of the target; a fused kernel saves most of that.
    assert!(waste.saves.0 > 50_000, "{waste:#?}");
    assert!(waste.saves.1 < 76_000, "{waste:#?}");
}

/// `mm` and `addmm` of the same sizes, and a transpose that only the target launches.
#[test]
fn gemms_of_one_size_are_a_pair_and_the_transpose_is_named_apart() {
    let Some(comparison) = unit("test04_gemm_mm_vs_linear") else {
        return;
    };
    let [op] = &comparison.operations.matched[..] else {
        panic!("{:#?}", comparison.operations);
    };
    assert_eq!(op.level, MatchLevel::Gemm);
    assert_eq!(op.reference_name.as_deref(), Some("aten::addmm"));
    let mut gaps = comparison.gaps.ranked.iter();
    let helper = gaps.find(|gap| gap.pattern == "helper_kernels").unwrap();
    let issue = &helper.gap;
    for words in ["batched_transpose", "for 80.0 µs", "11.0 % of its 730 µs"] {
        assert!(issue.contains(words), "{words}: {issue}");
    }
    assert_eq!(helper.saving.unwrap().matching_ns, 80_000);
    // 650 µs remain against 480 µs; 989.4 over 1307.4 TFLOPS would explain 363 µs.
    let said = helper.reasoning.join(" ");
    assert!(
        said.contains("650 µs there, the reference 480 µs"),
        "{said}"
    );
    assert!(said.contains("the hardware predicts 24.3 % less"), "{said}");
    let [waste] = &comparison.waste[..] else {
        panic!("{:#?}", comparison.waste);
    };
    assert!(waste.title.contains("aten::mm"), "{}", waste.title);
}

/// Copies of real traces with the kernels of one operator twice as slow.
#[test]
fn an_operator_that_takes_twice_as_long_in_a_real_trace_is_named_with_its_size() {
    let Some(shared) = shared::folder() else {
        return;
    };
    for (trace, kernel, op) in [
        ("h100_qwen", "flash_fwd_kernel", "flash_attention"),
        ("h100_qwen", "silu_kernel", "aten::silu"),
        ("h100_qwen", "CatArrayBatchedCopy", "aten::cat"),
        (
            "mi300_timesformer",
            "cunn_SoftMaxForwardReg",
            "aten::_softmax",
        ),
        ("mi300_timesformer", "MT16x448x64", "aten::bmm"),
        (
            "mi300_timesformer",
            "vectorized_layer_norm_kernel",
            "layer_norm",
        ),
    ] {
        let text = String::from_utf8(gunzip(&shared::trace(&shared, trace))).unwrap();
        let before = Opened::new("before", text.as_bytes());
        let (text, _) = slower(&text, kernel, 2.0).unwrap();
        let after = Opened::new("after", text.as_bytes());
        let comparison = Comparison::new(before.side(), after.side());
        let gaps = comparison.gaps.ranked.iter();
        // Calls of other sizes may have a finding of their own.
        let found = gaps.filter(|gap| gap.title.contains(op));
        let more_ns: i64 = found.map(|gap| gap.times.difference()).sum();
        let slowed = comparison
            .kernels
            .iter()
            .filter(|row| row.key.contains(kernel));
        // Unattributed time belongs to no operation.
        let unattributed = comparison.parts.of_kind(PartKind::Unattributed);
        let slower_ns: i64 = slowed.map(|row| row.times().difference()).sum();
        let slower_ns = slower_ns - unattributed.difference();
        assert!(slower_ns > 0, "{trace} has no {kernel}");
        let error = more_ns as f64 / slower_ns as f64 - 1.0;
        assert!(error.abs() < 0.05, "{kernel}: {more_ns} of {slower_ns}");
    }
}

#[test]
fn every_pair_of_traces_gives_whole_documents() {
    let opened: Vec<Opened> = shared::with_sample()
        .iter()
        .filter(|(_, bytes)| bytes.len() < 700_000)
        .map(|(name, bytes)| Opened::new(name, bytes))
        .collect();
    for (at, reference) in opened.iter().enumerate() {
        for target in &opened[at + 1..] {
            let comparison = Comparison::new(reference.side(), target.side());
            let names = format!("{} and {}", reference.name, target.name);
            let parts = &comparison.parts;
            let all = parts.parts.iter().map(|part| part.times);
            let sum = all.fold(Pair::default(), Pair::plus).plus(parts.rest);
            assert_eq!(sum, parts.total, "{names}");
            for document in [comparison.illustrated(), comparison.rough()] {
                let text = markdown(&document);
                assert!(
                    !text.contains("NaN") && !text.contains("inf"),
                    "{names}: {text}"
                );
            }
            assert_eq!(broken_rules(&comparison), [""; 0], "{names}");
            assert!(comparison_json(&comparison).is_object());
        }
    }
}

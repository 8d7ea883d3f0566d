//! Findings of comparisons: which is first, and slowdowns of known size.

use dormer_core::compare::{Comparison, MatchLevel, MatchedOp, Pair, PartKind, Verdict};
use dormer_core::sample;

use super::{compared, pair};
use crate::support::container::gunzip;
use crate::support::opened::Opened;
use crate::support::shared;
use crate::support::slower::slower;

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
            .roofline_ns
            .is_some_and(|roofline_ns| roofline_ns >= saving.matching_ns)
    );
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
    assert_eq!(first.pattern, "same_kernels");
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
        op.judgment.verdict != Verdict::ExplainedByHardware
            && op.judgment.verdict != Verdict::TooSmallToJudge
    });
    assert!(slow.iter().all(|op| op.name == "aten::gelu"), "{slow:#?}");
    assert!(slow.iter().all(|op| {
        op.judgment
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

use super::super::finding::Estimate;
use super::super::samples::{Calls, found, patterns, tensors};
use super::*;

/// A reduction of a tensor over `dims`.
fn reduced(op: &str, tensor: (&str, &str, &str), dims: &str, us: u32) -> Outcome {
    let args = tensors(&[tensor, ("[]", "ScalarList", "[]")]);
    let args = format!(r#"{args}, "Concrete Inputs": ["", "{dims}"]"#);
    Calls::new()
        .call(op, &args, "reduce_kernel", us)
        .outcome("reduce")
}

#[test]
fn what_the_arguments_show_names_the_finding() {
    // 64 million FP32 elements: 256 MB, at 5 300 GB/s 48 µs.
    let rows = ("[64000, 1000]", "float", "[1000, 1]");
    let cases = [
        // Sums of rows.
        ("aten::sum", rows, "[1]", "memory_bound_gap"),
        ("aten::sum", rows, "[-1]", "memory_bound_gap"),
        // Sums of columns: neighbours in memory belong to different results.
        ("aten::sum", rows, "[0]", "strided_reduction"),
        // All of it: one result.
        ("aten::sum", rows, "[]", "few_results"),
        (
            "aten::amax",
            ("[8, 8000000]", "float", "[8000000, 1]"),
            "[1]",
            "few_results",
        ),
        // Transposed in memory, so rows are strided.
        (
            "aten::mean",
            ("[64000, 1000]", "float", "[1, 64000]"),
            "[1]",
            "strided_reduction",
        ),
        ("aten::_softmax", rows, "1", "softmax_below_bandwidth"),
        ("aten::sort", rows, "1", "sorting"),
        ("aten::nonzero", rows, "", "compaction"),
    ];
    for (op, tensor, dims, expected) in cases {
        assert_eq!(
            patterns(&reduced(op, tensor, dims, 1000)),
            [expected],
            "{op} {dims}"
        );
    }
}

/// `sum(x, dtype)` and `mean(x, dtype)` reduce everything: 0 is a type there, not a dimension.
#[test]
fn the_type_of_a_sum_is_no_dimension() {
    let rows = ("[64000, 1000]", "float", "[1000, 1]");
    for op in ["aten::sum", "aten::mean"] {
        assert_eq!(
            patterns(&reduced(op, rows, "0", 1000)),
            ["few_results"],
            "{op}"
        );
    }
    let max = reduced("aten::argmax", rows, "0", 1000);
    assert_eq!(patterns(&max), ["strided_reduction"]);
}

/// 64 million FP32 elements are read in 48 µs; 1 ms is 4.8 % of roofline. At 50 to 70 %, as is usual,
/// 97 to 69 µs are left.
#[test]
fn reductions_are_worth_what_is_usual() {
    let rows = ("[64000, 1000]", "float", "[1000, 1]");
    let outcome = reduced("aten::sum", rows, "[1]", 1000);
    let impact = found(&outcome, "memory_bound_gap").impact.unwrap();
    assert_eq!(impact.estimate, Estimate::Usual);
    assert!((902_000..905_000).contains(&impact.low_ns), "{impact:?}");
    assert!((930_000..932_000).contains(&impact.high_ns), "{impact:?}");
}

/// Sorting, selecting and compacting take several passes, so one pass promises nothing.
#[test]
fn what_takes_several_passes_is_worth_a_rule_of_thumb() {
    let rows = ("[64000, 1000]", "float", "[1000, 1]");
    let args = tensors(&[rows, ("[]", "Scalar", "[]"), ("[]", "Scalar", "[]")]);
    let args = format!(r#"{args}, "Concrete Inputs": ["", "10", "-1"]"#);
    let selection = Calls::new().call("aten::topk", &args, "gatherTopK", 1000);
    let outcomes = [
        ("selection", selection.outcome("reduce")),
        ("sorting", reduced("aten::sort", rows, "1", 1000)),
        ("compaction", reduced("aten::nonzero", rows, "", 1000)),
    ];
    for (pattern, outcome) in outcomes {
        let finding = found(&outcome, pattern);
        let impact = finding.impact.unwrap();
        assert_eq!(impact.estimate, Estimate::Heuristic, "{pattern}");
        assert_eq!(impact.mid_ns, 300_000, "{pattern}");
        assert_eq!(finding.savings, [(0, 300_000)], "{pattern}");
        // Selecting is no sort, and is not told to select.
        assert_eq!(finding.model.contains("`topk`"), pattern == "sorting");
    }
}

/// What is said of sums fits sums alone.
#[test]
fn each_kind_has_its_own_words() {
    let gap = |op: &str, args: &str, kernel: &str| {
        let outcome = Calls::new().call(op, args, kernel, 5000).outcome("reduce");
        let finding = found(&outcome, "memory_bound_gap");
        (finding.title.clone(), finding.model.clone())
    };
    let x = ("[8, 4096, 2048]", "c10::BFloat16", "[8388608, 2048, 1]");
    let convolution = tensors(&[x, ("[4096, 4]", "c10::BFloat16", "[4, 1]")]);
    let (title, model) = gap(
        "CausalConv1dFn",
        &convolution,
        "causal_conv1d_fwd_kernel<128>",
    );
    assert_eq!(title, "State-space layers at a low % of roofline");
    assert!(!model.contains("torch.compile"), "{model}");
    let log_p = ("[800000, 100]", "float", "[100, 1]");
    let loss = tensors(&[log_p, ("[800000]", "long int", "[1]")]);
    let (title, _) = gap("aten::nll_loss_forward", &loss, "nll_loss_forward_reduce");
    assert_eq!(title, "Losses at a low % of the memory bandwidth");
    let picked = tensors(&[log_p, ("[]", "Scalar", "[]")]);
    let (title, _) = gap("aten::multinomial", &picked, "multinomialWithReplacement");
    assert_eq!(title, "Operations along an axis at a low % of roofline");
}

#[test]
fn an_efficient_reduction_is_no_finding() {
    // 48 µs of work in 80 µs: 60 %.
    let rows = ("[64000, 1000]", "float", "[1000, 1]");
    assert_eq!(patterns(&reduced("aten::sum", rows, "[0]", 80)), [""; 0]);
}

#[test]
fn a_single_result_names_its_elements() {
    let rows = ("[64000, 1000]", "float", "[1000, 1]");
    let outcome = reduced("aten::sum", rows, "[]", 1000);
    let issue = &found(&outcome, "few_results").issue;
    assert!(
        issue.ends_with("1 result for 64\u{202F}000\u{202F}000 elements."),
        "{issue}"
    );
}

#[test]
fn softmax_beside_batched_gemms_is_noted() {
    let softmax = tensors(&[("[96, 1024, 1024]", "c10::BFloat16", "[1048576, 1024, 1]")]);
    let product = tensors(&[
        ("[96, 1024, 64]", "c10::BFloat16", "[65536, 64, 1]"),
        ("[96, 64, 1024]", "c10::BFloat16", "[65536, 1024, 1]"),
    ]);
    let alone = Calls::new().call("aten::_softmax", &softmax, "softmax", 100);
    assert!(alone.outcome("reduce").notes.is_empty());
    let outcome = alone
        .call("aten::bmm", &product, "gemm", 100)
        .outcome("reduce");
    assert!(outcome.notes[0].contains("attention that is not fused"));
    assert_eq!(outcome.get("softmax_count"), Some(&Value::Count(1)));
}

/// The softmax of a loss beside batched GEMMs, as of a recommender, says nothing of attention.
#[test]
fn the_softmax_of_a_loss_is_no_sign_of_attention() {
    let logits = tensors(&[
        ("[4096, 32000]", "float", "[32000, 1]"),
        ("[]", "Scalar", "[]"),
        ("[]", "Scalar", "[]"),
    ]);
    let logits = format!(r#"{logits}, "Concrete Inputs": ["", "1", "False"]"#);
    let product = tensors(&[
        ("[96, 1024, 64]", "c10::BFloat16", "[65536, 64, 1]"),
        ("[96, 64, 1024]", "c10::BFloat16", "[65536, 1024, 1]"),
    ]);
    let outcome = Calls::new()
        .call("aten::_log_softmax", &logits, "softmax", 5000)
        .call("aten::bmm", &product, "gemm", 100)
        .outcome("reduce");
    assert_eq!(outcome.get("softmax_count"), Some(&Value::Count(1)));
    assert!(
        !outcome.notes.iter().any(|note| note.contains("attention")),
        "{:?}",
        outcome.notes
    );
    let model = &found(&outcome, "softmax_below_bandwidth").model;
    assert!(model.starts_with("fuse it with the loss"), "{model}");
}

/// What picks an element has nothing to sum up.
#[test]
fn what_chooses_is_not_told_to_sum() {
    let model = |op: &str| {
        let row = ("[1, 8000000]", "float", "[8000000, 1]");
        let outcome = reduced(op, row, "[1]", 1000);
        found(&outcome, "few_results").model.clone()
    };
    assert!(model("aten::sum").contains("sum up"));
    assert!(!model("aten::amax").contains("sum up"));
}

use super::super::samples::{Calls, assert_contains, assert_contains_none, found, only, patterns};
use super::*;
use crate::findings::engine::finding::Estimate;

/// 64 million FP32 elements: 256 MB, at 5 300 GB/s 48 µs.
const ROWS: &str = "64000x1000@1000x1:float";

/// A reduction of a tensor over `dims`.
fn reduced(op: &str, tensor: &str, dims: &str, us: u32) -> Outcome {
    let args = format!("{tensor}, ={dims}");
    let calls = Calls::new().call(op, &args, "reduce_kernel", us);
    calls.outcome("reduce")
}

#[test]
fn what_the_arguments_show_names_the_finding() {
    let long = "8x8000000@8000000x1:float";
    let columns = "64000x1000@1x64000:float";
    let cases = [
        // Sums of rows.
        ("aten::sum", ROWS, "[1]", "memory_bound_gap"),
        ("aten::sum", ROWS, "[-1]", "memory_bound_gap"),
        // Sums of columns: neighbors in memory contribute to different results.
        ("aten::sum", ROWS, "[0]", "strided_reduction"),
        // Without strides it counts as contiguous.
        ("aten::sum", "64000x1000:float", "[0]", "strided_reduction"),
        // Over everything: one result.
        ("aten::sum", ROWS, "[]", "few_results"),
        ("aten::amax", long, "[1]", "few_results"),
        // Transposed in memory, so rows are strided.
        ("aten::mean", columns, "[1]", "strided_reduction"),
        ("aten::_softmax", ROWS, "1", "softmax_below_bandwidth"),
        // Without its dimension, it does not have fewer results.
        ("aten::softmax", ROWS, "", "softmax_below_bandwidth"),
        ("aten::sort", ROWS, "1", "sorting"),
        ("aten::nonzero", ROWS, "", "compaction"),
        // `sum(x, dtype)` and `mean(x, dtype)` reduce everything: 0 is a type there, not a dimension.
        ("aten::sum", ROWS, "0", "few_results"),
        ("aten::mean", ROWS, "0", "few_results"),
        ("aten::argmax", ROWS, "0", "strided_reduction"),
    ];
    for (op, tensor, dims, expected) in cases {
        let outcome = reduced(op, tensor, dims, 1000);
        assert_eq!(patterns(&outcome), [expected], "{op} {dims}");
    }
    // 48 µs of work in 80 µs: 60 %.
    assert_eq!(patterns(&reduced("aten::sum", ROWS, "[0]", 80)), [""; 0]);
}

/// 64 million FP32 elements are read in 48 µs; 1 ms is 4.8 % of roofline. At the usual 50 to 70 %, 97 to 69 µs are
/// left.
#[test]
fn reductions_are_worth_what_is_usual() {
    let outcome = reduced("aten::sum", ROWS, "[1]", 1000);
    let finding = found(&outcome, "memory_bound_gap");
    assert_eq!(finding.tables[0].rows[0][1].text(), "sum");
    let impact = finding.impact.unwrap();
    assert_eq!(impact.estimate, Estimate::Usual);
    assert!((902_000..905_000).contains(&impact.low_ns), "{impact:?}");
    assert!((930_000..932_000).contains(&impact.high_ns), "{impact:?}");
}

/// Compacting takes several passes, how many is unknown.
#[test]
fn what_takes_several_passes_is_worth_a_rule_of_thumb() {
    let outcome = reduced("aten::nonzero", ROWS, "", 1000);
    let finding = found(&outcome, "compaction");
    let impact = finding.impact.unwrap();
    assert_eq!(impact.estimate, Estimate::Heuristic);
    assert_eq!(impact.mid_ns, 300_000);
    assert_eq!(finding.savings, [(0, 300_000)]);
}

/// 64 million FP32 values are read in 48 µs, and in four passes at 50 to 70 % of the bandwidth in 386 to 276 µs.
#[test]
fn a_selection_is_compared_with_a_radix_selection() {
    let topk = |us: u32| {
        let args = format!("{ROWS}, =10, =-1");
        let calls = Calls::new().call("aten::topk", &args, "gatherTopK", us);
        calls.outcome("reduce")
    };
    let slow = topk(1_000);
    let finding = only(&slow, "selection");
    let impact = finding.impact.unwrap();
    assert_eq!(impact.estimate, Estimate::Usual);
    assert!((600_000..625_000).contains(&impact.low_ns), "{impact:?}");
    assert!((715_000..735_000).contains(&impact.high_ns), "{impact:?}");
    // Selecting is not sorting, and is not advised to select.
    assert!(!finding.model.contains("`topk`"));
    assert_eq!(only(&topk(350), "selection").impact, None);
    // Next to a hundred times as much it is nothing to think about.
    let args = format!("{ROWS}, =10, =-1");
    let calls = Calls::new().call("aten::topk", &args, "gatherTopK", 350);
    let calls = calls.call("aten::mm", "8192x8192*2", "gemm", 35_000);
    assert_eq!(patterns(&calls.outcome("reduce")), [""; 0]);
}

/// 64 million FP32 keys with indices: 1.02 GB are 193 µs, a sixth of what four passes move. At 50 to 70 % of the
/// bandwidth a radix sort takes 2.4 to 1.7 ms.
#[test]
fn a_sort_is_compared_with_a_radix_sort() {
    let slow = reduced("aten::sort", ROWS, "1", 10_000);
    let finding = only(&slow, "sorting");
    let impact = finding.impact.unwrap();
    assert_eq!(impact.estimate, Estimate::Usual);
    assert!(
        (7_500_000..7_700_000).contains(&impact.low_ns),
        "{impact:?}"
    );
    assert!(
        (8_200_000..8_400_000).contains(&impact.high_ns),
        "{impact:?}"
    );
    assert!(finding.model.contains("`topk`"));
    let usual = reduced("aten::sort", ROWS, "1", 2_000);
    assert_eq!(only(&usual, "sorting").impact, None);
}

/// Advice about sums applies to sums only.
#[test]
fn each_kind_has_its_own_words() {
    #[rustfmt::skip]
    let cases = [
        ("CausalConv1dFn", "8x4096x2048@8388608x2048x1, 4096x4@4x1", "causal_conv1d_fwd_kernel<128>", "State-space layers at a low % of roofline"),
        ("aten::nll_loss_forward", "800000x100@100x1:float, 800000@1:long int", "nll_loss_forward_reduce", "Losses at a low % of the memory bandwidth"),
        ("aten::multinomial", "800000x100@100x1:float, _:Scalar", "multinomialWithReplacement", "Operations along an axis at a low % of roofline"),
    ];
    for (op, args, kernel, title) in cases {
        let outcome = Calls::new().call(op, args, kernel, 5000).outcome("reduce");
        let finding = found(&outcome, "memory_bound_gap");
        assert_eq!(finding.title, title);
        // Work without an operator is not compiled.
        let compiles = finding.model.contains("torch.compile");
        assert_eq!(compiles, op == "aten::nll_loss_forward");
    }
}

#[test]
fn a_single_result_names_its_elements() {
    let outcome = reduced("aten::sum", ROWS, "[]", 1000);
    let issue = &found(&outcome, "few_results").issue;
    assert_contains(issue, &["1 result for 64 000 000 elements."]);
}

/// Batched GEMMs next to the softmax of attention; the softmax of a loss, as in a recommender, is not related to
/// attention.
#[test]
fn softmax_beside_batched_gemms_is_noted() {
    let gemm = "96x1024x64@65536x64x1, 96x64x1024@65536x1024x1";
    let with_gemm = |calls: &Calls| {
        let calls = calls.clone().call("aten::bmm", gemm, "gemm", 100);
        let outcome = calls.outcome("reduce");
        assert_eq!(outcome.get("softmax_count"), Some(&Value::Count(1)));
        outcome
    };
    let scores = "96x1024x1024@1048576x1024x1";
    let attention = Calls::new().call("aten::_softmax", scores, "softmax", 100);
    assert!(attention.outcome("reduce").notes.is_empty());
    let note = "attention that is not fused";
    assert_contains(&with_gemm(&attention).notes[0].text, &[note]);
    let logits = "4096x32000@32000x1:float, =1, =False";
    let loss = Calls::new().call("aten::_log_softmax", logits, "softmax", 5000);
    let outcome = with_gemm(&loss);
    assert_contains_none(&outcome.note_texts().collect::<String>(), &["attention"]);
    let finding = only(&outcome, "softmax_below_bandwidth");
    assert_contains(&finding.model, &["fuse it with the loss"]);
}

/// A reduction that picks an element has nothing to sum up.
#[test]
fn what_chooses_is_not_advised_to_sum() {
    for (op, can_sum) in [("aten::sum", true), ("aten::amax", false)] {
        let row = "1x8000000@8000000x1:float";
        let outcome = reduced(op, row, "[1]", 1000);
        let model = &found(&outcome, "few_results").model;
        assert_eq!(model.contains("sum up"), can_sum, "{op}");
    }
}

/// A sum of 256 MB in one workgroup; the launch says so, where the shapes alone only suggest it.
#[test]
fn the_launch_tells_how_much_of_the_gpu_a_reduction_uses() {
    let sum_in = |workgroups: u32| {
        let grid = format!(r#""grid": [{workgroups}, 1, 1], "block": [512, 1, 1]"#);
        let calls = Calls::new().call("aten::sum", ROWS, "reduce_kernel", 10_000);
        let outcome = calls.with(|table| table.args(&grid)).outcome("reduce");
        only(&outcome, "few_results").clone()
    };
    let one = sum_in(1);
    assert_eq!(one.title, "Reductions in 1 workgroup on 304 compute units");
    assert_contains(&one.causes, &["can use at most 0.3 % of the GPU"]);
    assert_contains_none(&one.causes, &["unexplained"]);
    assert_contains_none(&one.reasoning.concat(), &["not recorded"]);
    let many = sum_in(1216);
    assert_contains(&many.title, &["fewer results than compute units"]);
}

/// Logits of 4 096 × 128 000 in BF16: 1.05 GB, 198 µs at 5 300 GB/s. A fused loss reads them and writes their gradient.
#[test]
fn a_loss_over_many_classes_is_one_finding() {
    let calls = |classes: u32, has_loss: bool| {
        let x = format!("4096x{classes}");
        let wide = format!("{x}:float");
        let calls = Calls::new()
            .call("aten::mm", "4096x4096*2", "nvjet", 5_000)
            .call("aten::copy_", &format!("{wide}, {x}"), "copy_kernel", 1_000)
            .call(
                "aten::_log_softmax",
                &format!("{wide}, =1, =False"),
                "softmax",
                1_000,
            );
        match has_loss {
            true => calls
                .call(
                    "aten::nll_loss_forward",
                    &format!("{wide}, 4096:long int"),
                    "nll",
                    10,
                )
                .call(
                    "aten::nll_loss_backward",
                    &format!("(), {wide}, 4096:long int"),
                    "nll",
                    990,
                )
                .call(
                    "aten::_log_softmax_backward_data",
                    &format!("{wide}*2, =1"),
                    "softmax",
                    1_000,
                )
                .call("aten::copy_", &format!("{x}, {wide}"), "copy_kernel", 1_000),
            false => calls,
        }
    };
    let run = |classes, has_loss| calls(classes, has_loss).outcome("reduce");
    let outcome = run(128_000, true);
    let loss = found(&outcome, "cross_entropy");
    assert_contains(&loss.title, &["over 128 000 classes in separate kernels"]);
    assert_contains(
        &loss.issue,
        &[
            "6 kernels",
            "4 096×128 000",
            "forward and backward",
            "5.00 ms",
        ],
    );
    let impact = loss.impact.unwrap();
    assert_eq!(impact.estimate, Estimate::Roofline);
    assert!(
        (4_600_000..4_610_000).contains(&impact.high_ns),
        "{impact:?}"
    );
    let unknown = calls(128_000, true).outcome_without_gpu("reduce");
    let loss = found(&unknown, "cross_entropy");
    let left_ns = loss.impact.map(|impact| loss.time_ns - impact.high_ns);
    assert_eq!(left_ns, Some(1_000_000));
    assert_contains(
        &loss.reasoning.concat(),
        &["less what the longest of these kernels takes"],
    );
    // 4 % of the computation; in the type of the output layer it would have to be more.
    let beside = |dtype: &str| {
        let (x, wide) = ("4096x128000", format!("4096x128000:{dtype}"));
        let loss = Calls::new()
            .call("aten::mm", "4096x4096*2", "nvjet", 100_000)
            .call("aten::copy_", &format!("{wide}, {x}"), "copy_kernel", 1_400)
            .call(
                "aten::_log_softmax",
                &format!("{wide}, =1, =False"),
                "softmax",
                1_400,
            )
            .call(
                "aten::nll_loss_forward",
                &format!("{wide}, 4096:long int"),
                "nll",
                1_400,
            );
        patterns(&loss.outcome("reduce")).contains(&"cross_entropy")
    };
    assert!(beside("float") && !beside("c10::BFloat16"));
    // A softmax of sampling, and few classes.
    for outcome in [run(128_000, false), run(1_000, true)] {
        assert!(!patterns(&outcome).contains(&"cross_entropy"));
    }
}

/// Rows of 4 elements, of which sums over another dimension know nothing; a selection reads whole rows.
#[test]
fn short_rows_and_gathers_are_causes_only_where_they_matter() {
    let causes = |op: &str, args: &str, kernel: &str| {
        let outcome = Calls::new().call(op, args, kernel, 5_000).outcome("reduce");
        outcome.findings[0].causes.clone()
    };
    let narrow = "16000000x4@4x1:float";
    let sum = |dim: &str| causes("aten::sum", &format!("{narrow}, =[{dim}]"), "reduce_kernel");
    assert_contains(&sum("1"), &["rows of 4 elements are short"]);
    assert_contains_none(&sum("0"), &["rows of 4"]);
    let pool = "1000x64x512x4:float, =[2, 2], =[2, 2]";
    assert_contains_none(&causes("aten::max_pool2d", pool, "max_pool"), &["rows of"]);
    let selected = causes(
        "aten::topk",
        "64000x1024:float, =8, =-1",
        "sbtopk::gatherTopK",
    );
    assert_contains_none(&selected, &["gathered"]);
}

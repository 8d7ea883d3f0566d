use super::super::samples::{Calls, assert_contains, assert_contains_none, found, only, patterns};
use super::*;
use crate::findings::engine::finding::Impact;

mod optimizers;

pub(super) const KERNEL: &str = "void at::native::vectorized_elementwise_kernel<4>";

/// Arguments of two equal tensors of `n` single-precision elements.
pub(super) fn pair(n: u64) -> String {
    format!("{n}@1:float*2")
}

/// In-place additions of 100 million elements: 1.2 GB in 300 µs, 4 000 of 5 300 GB/s.
pub(super) fn fast(calls: Calls) -> Calls {
    calls.call("aten::add_", &pair(100_000_000), KERNEL, 300)
}

/// The outcome for a call next to such an addition.
fn after_fast(op: &str, args: &str, us: u32) -> Outcome {
    let calls = fast(Calls::new()).call(op, args, KERNEL, us);
    calls.outcome("elementwise")
}

/// 200 short calls on two tensors of 1 000 elements.
fn short(op: &str) -> Calls {
    Calls::new().calls(200, op, &pair(1000), KERNEL, 4)
}

/// Asserts that the upper end of the only finding's saving is in a range.
#[track_caller]
pub(super) fn saves_at_most(outcome: &Outcome, pattern: &str, ns: std::ops::Range<i64>) {
    let impact = only(outcome, pattern).impact.unwrap();
    assert!(ns.contains(&impact.high_ns), "{impact:?}");
}

#[test]
fn the_baseline_stands_beside_the_plain_mean() {
    // A small one: 12 MB in 100 µs, 120 GB/s.
    let calls = fast(Calls::new()).call("aten::add_", &pair(1_000_000), KERNEL, 100);
    let outcome = calls.outcome("elementwise");
    let cases = [
        ("baseline_bandwidth", "4.00 TB/s"),
        ("demonstrated_bandwidth", "4.00 TB/s"),
        ("plain_mean_bandwidth", "2.06 TB/s"),
        // 4 000 / 5 300.
        ("baseline_efficiency", "75.5 %"),
    ];
    for (key, expected) in cases {
        assert_eq!(outcome.get(key).unwrap().text(), expected, "{key}");
    }
}

#[test]
fn without_large_operations_no_baseline_is_invented() {
    let calls = Calls::new().call("aten::add_", &pair(1_000_000), KERNEL, 100);
    let outcome = calls.outcome("elementwise");
    assert_eq!(outcome.get("baseline_bandwidth"), Some(&Value::NO_GBPS));
    assert_eq!(outcome.get("baseline_efficiency"), Some(&Value::NO_PERCENT));
    assert_contains(&outcome.note_texts().collect::<String>(), &["no baseline"]);
}

/// Whatever their sizes: gradients that are set to `None` need no fill.
#[test]
fn gradients_need_not_be_set_to_zero() {
    let fills = |range: &str, n: u32, args: &str, us: u32| {
        let inside = Calls::new().with(|calls| calls.annotation(range, 0..100_000));
        let calls = fast(inside).calls(n, "aten::fill_", args, KERNEL, us);
        calls.outcome("elementwise")
    };
    for (n, args, us) in [(1, "100000000@1:float", 150), (200, "1000@1:float", 4)] {
        let outcome = fills("Optimizer.zero_grad#SGD.zero_grad", n, args, us);
        let finding = only(&outcome, "gradients_set_to_zero");
        let all_ns = i64::from(n * us) * 1_000;
        assert_eq!(finding.impact, Some(Impact::measured(all_ns)));
        assert_contains(&finding.model, &["`zero_grad(set_to_none=True)`"]);
        let elsewhere = patterns(&fills("forward", n, args, us));
        assert!(!elsewhere.contains(&"gradients_set_to_zero"));
    }
}

/// A cache of keys that grows by a token in each step is copied as a whole; halves are no copy of one tensor.
#[test]
fn a_large_tensor_need_not_be_copied_to_append_to_it() {
    let cat = |sizes: &str| after_fast("aten::cat", &format!("[{sizes}], =1"), 400);
    let appended = cat("16x8191x1024 16x1x1024");
    let finding = only(&appended, "large_input_concatenated");
    assert_contains(&finding.issue, &[">99.9 % of what it writes"]);
    assert_contains(&finding.model, &["write new elements in place"]);
    saves_at_most(&appended, "large_input_concatenated", 399_000..400_001);
    // A class token precedes the patches of an image, and is no cache.
    let prepended = cat("16x1x1024 16x8191x1024");
    let model = &only(&prepended, "large_input_concatenated").model;
    assert_contains(model, &["write into slices of it"]);
    assert_contains_none(model, &["cache"]);
    let halves = patterns(&cat("16x4096x1024 16x4096x1024"));
    assert!(!halves.contains(&"large_input_concatenated"));
}

/// A buffer that all gradients share stays allocated.
#[test]
fn buffers_of_gradients_need_no_zeros() {
    let outcome = fast(Calls::new())
        .calls(4, "aten::zero_", "100000000@1:float", KERNEL, 100)
        .with(|calls| calls.annotation("zero_grad_buffer", 0..100_000))
        .outcome("elementwise");
    let finding = only(&outcome, "gradient_buffers_set_to_zero");
    assert_eq!(finding.impact, Some(Impact::at_most(400_000)));
}

/// Deterministic algorithms fill what `empty` allocates.
#[test]
fn new_tensors_need_no_fill() {
    let large = "64x1024x1024@1048576x1024x1";
    let fill = |calls: Calls| calls.call("aten::fill_", large, KERNEL, 60);
    let outcome = fast(Calls::new()).inside("aten::empty", fill);
    let outcome = outcome.outcome("elementwise");
    let finding = only(&outcome, "new_tensors_filled");
    assert_eq!(finding.impact, Some(Impact::at_most(60_000)));
}

/// What only moves elements may be left out, however near the roofline it is, once it takes 5 % of the computation.
#[test]
fn elements_that_only_move_are_found_at_the_roofline() {
    let expanded = "64x1024x1024@1048576x1024x1, 64x1024x1024@0x1024x1";
    let padded = "64x1024x1024@1050624x1026x1, 64x1024x1024@1048576x1024x1";
    let large = "64x1024x1024@1048576x1024x1";
    let cases = [
        ("aten::roll", large, "", "shifts"),
        ("aten::copy_", expanded, "aten::repeat", "repetitions"),
        ("aten::copy_", expanded, "aten::clone", "repetitions"),
        ("aten::copy_", padded, "aten::constant_pad_nd", "paddings"),
        (
            "aten::cat",
            "[64x512x1024 64x512x1024], =1",
            "",
            "concatenations",
        ),
        ("aten::fill_", large, "aten::zeros", "fills"),
        ("aten::zero_", large, "", "fills"),
        // The operator needs them.
        ("aten::zero_", large, "aten::embedding_dense_backward", ""),
    ];
    for (op, args, within, expected) in cases {
        let found = |us: u32| {
            let call = |calls: Calls| calls.call(op, args, KERNEL, us);
            let calls = match within {
                "" => call(fast(Calls::new())),
                _ => fast(Calls::new()).inside(within, call),
            };
            patterns(&calls.outcome("elementwise"))
        };
        let expected: Vec<&str> = Some(expected)
            .filter(|key| !key.is_empty())
            .into_iter()
            .collect();
        assert_eq!(found(60), expected, "{op} in {within}");
        // 4.8 % of the computation.
        assert_eq!(found(15), [""; 0], "{op} in {within}");
    }
}

/// How much of a concatenation is needed depends on what reads its result.
#[test]
fn a_concatenation_saves_at_most_its_time() {
    let outcome = after_fast("aten::cat", "[64x512x1024 64x512x1024], =1", 100);
    let impact = only(&outcome, "concatenations").impact.unwrap();
    let range = [impact.low_ns, impact.mid_ns, impact.high_ns];
    assert_eq!(range, [0, 50_000, 100_000]);
}

/// Three layers make the mask, where one would do. A triangle of what was computed is no mask.
#[test]
fn a_mask_is_made_once() {
    let scores = "4096x4096@4096x1:float";
    let triangle = |calls: Calls| calls.call("aten::triu", scores, "triu_tril_kernel", 40);
    let constant = |calls: Calls| {
        let fill = |calls: Calls| calls.call("aten::fill_", scores, KERNEL, 20);
        calls.inside("aten::full", fill)
    };
    let computed = |calls: Calls| calls.call("aten::exp", scores, KERNEL, 40);
    let n_times = |n: u32, first: &dyn Fn(Calls) -> Calls| {
        let calls = (0..n).fold(Calls::new(), |calls, _| triangle(first(calls)));
        fast(calls).outcome("elementwise")
    };
    let again = n_times(3, &constant);
    let finding = only(&again, "masks_made_again");
    assert_eq!(finding.impact, Some(Impact::measured(120_000)));
    assert_contains(&finding.issue, &["3 times they make the same mask"]);
    for other in [n_times(2, &constant), n_times(3, &computed)] {
        assert!(!patterns(&other).contains(&"masks_made_again"));
    }
}

const HEADS_FIRST: &str = "8x16x4096x64@4194304x262144x64x1:c10::Half";
const POSITIONS_FIRST: &str = "8x16x4096x64@4194304x64x1024x1";

#[test]
fn copies_that_only_change_the_layout_could_go() {
    // Swaps heads and positions.
    let args = format!("{HEADS_FIRST}, {POSITIONS_FIRST}:c10::Half");
    let outcome = after_fast("aten::copy_", &args, 100);
    let finding = found(&outcome, "layout_copies");
    assert_eq!(finding.impact, Some(Impact::at_most(100_000)));
    assert_eq!(finding.savings, [(1, 87_500)]);
    // With the same order it is not a layout copy.
    let same = after_fast("aten::copy_", &format!("{HEADS_FIRST}*2"), 100);
    assert!(!patterns(&same).contains(&"layout_copies"));
}

/// 33.6 million elements, four bytes read and two written: 201 MB, 38 µs at 5 300 GB/s. A conversion without reordering
/// would take that, so the rest of 100 µs is the cost of the order.
#[test]
fn a_copy_that_converts_as_well_is_more_than_a_layout_copy() {
    let args = format!("{HEADS_FIRST}, {POSITIONS_FIRST}:float");
    let outcome = after_fast("aten::copy_", &args, 100);
    saves_at_most(&outcome, "layout_and_type_copies", 61_000..63_000);
}

#[test]
fn conversions_are_no_copies() {
    let args = "33554432@1, 33554432@1:float";
    let outcome = after_fast("aten::copy_", args, 100);
    let finding = found(&outcome, "type_conversions");
    assert_eq!(finding.impact, Some(Impact::at_most(100_000)));
    assert_eq!(outcome.get("cast_count"), Some(&Value::Count(1)));
}

/// Both directions, next to a log-softmax of the same logits; other conversions are not of logits.
#[test]
fn conversions_of_logits_are_those_of_the_loss() {
    let cast = |calls: Calls, args: &str| calls.call("aten::copy_", args, KERNEL, 100);
    let loss = "512x32000:float, _:Scalar, _:Scalar";
    let calls = cast(fast(Calls::new()), "2x256x32000:float, 2x256x32000");
    let calls = calls.call("aten::_log_softmax", loss, "cunn_SoftMaxForward", 300);
    let calls = cast(calls, "2x256x32000, 2x256x32000:float");
    let outcome = calls.outcome("elementwise");
    let finding = only(&outcome, "logit_conversions");
    assert_eq!(finding.impact, Some(Impact::at_most(200_000)));
    assert_contains(&finding.model, &["fused cross entropy"]);
    let outcome = cast(calls, "512x16000, 512x16000:float").outcome("elementwise");
    assert_eq!(found(&outcome, "type_conversions").time_ns, 100_000);
}

#[test]
fn integers_are_not_taken_for_weights() {
    let args = "268435456@1:float, 268435456@1:unsigned char";
    let outcome = after_fast("aten::copy_", args, 400);
    let model = &found(&outcome, "type_conversions").model;
    assert!(model.starts_with("leave the data narrow"), "{model}");
    assert_contains_none(model, &["autocast"]);
}

#[test]
fn slow_kernels_are_not_what_fusion_saves() {
    // 100 million elements: 800 MB read and written, at 5 300 GB/s 151 µs.
    let case = |us: u32| patterns(&after_fast("aten::gelu", "100000000@1:float", us));
    // 15 %, 34 % and 50 % of roofline.
    assert_eq!(case(1000), ["slow_elementwise_kernel"]);
    assert_eq!(case(450), ["memory_bound_gap"]);
    assert_eq!(case(300), [""; 0]);
}

/// 2 048 × 14 336 elements of 2 bytes are read and of 1 byte written, 88 MB: 17 µs at 5.3 TB/s, of 100.
#[test]
fn a_slow_quantization_is_no_operation_of_mixed_types() {
    let args = "2048x14336:signed char, 2048x14336, 2048x1:float";
    let kernel = "vllm::dynamic_scaled_int8_quant_kernel";
    let calls = Calls::new().calls(10, "_C::dynamic_scaled_int8_quant", args, kernel, 100);
    only(&calls.outcome("elementwise"), "slow_quantization");
}

#[test]
fn weights_that_are_dequantized_are_to_be_multiplied_as_they_are() {
    let args = "33554432@1, 33554432@1:c10::Float8_e4m3fn";
    let outcome = after_fast("aten::copy_", args, 100);
    let finding = found(&outcome, "type_conversions");
    assert_eq!(finding.title, "Dequantization in kernels of its own");
    assert_contains(&finding.model, &["`torch._scaled_mm`"]);
}

/// 1 GB in 1 ms is 1 000 of 5 300 GB/s: with operands of one type the rate alone is the cause.
#[test]
fn operands_of_several_types_are_named() {
    let of = |other: &str| {
        let args = format!("100000000@1, 100000000@1{other}");
        let calls = Calls::new().call("aten::add", &args, KERNEL, 1_000);
        calls.outcome("elementwise")
    };
    let outcome = of(":float");
    let finding = only(&outcome, "mixed_types");
    assert_contains(&finding.issue, &["its operands are bf16 and fp32"]);
    assert_eq!(patterns(&of("")), ["slow_baseline"]);
}

/// 1.2 GB in 1 ms is 1 200 of 5 300 GB/s.
#[test]
fn a_slow_baseline_is_said() {
    let calls = Calls::new().call("aten::add_", &pair(100_000_000), KERNEL, 1000);
    assert_eq!(patterns(&calls.outcome("elementwise")), ["slow_baseline"]);
    let unknown = calls.outcome_without_gpu("elementwise");
    assert_eq!(patterns(&unknown), [""; 0]);
    assert_eq!(unknown.get("baseline_efficiency"), Some(&Value::NO_PERCENT));
    // The achieved bandwidth is measured without a GPU profile as well.
    let bandwidth = unknown.get("baseline_bandwidth").map(Value::text);
    assert_eq!(bandwidth.as_deref(), Some("1.20 TB/s"));
}

/// 201 million bytes each for 67 million numbers: 140 µs are 54 % of roofline, 600 µs 13 %.
#[test]
fn a_transposed_operand_is_no_slow_memory() {
    let columns = "8192x8192@8192x1, 8192x8192@1x8192";
    let outcome = Calls::new()
        .calls(10, "aten::mul", "8192x8192@8192x1*2", KERNEL, 140)
        .calls(10, "aten::add", columns, KERNEL, 600)
        .outcome("elementwise");
    let finding = only(&outcome, "uneven_operands");
    assert_contains_none(&finding.kernel, &["clocks"]);
    assert_contains(&finding.issue, &["different orders"]);
    let n_large = outcome.get("baseline_operation_count");
    assert_eq!(n_large, Some(&Value::Count(1)));
}

/// A single dense operand has nothing to be made contiguous.
#[test]
fn what_is_contiguous_is_not_advised_to_become_so() {
    let cases = [
        ("8192x8192@8192x1", "let `torch.compile`"),
        ("8192x8192@16384x1", "make operands contiguous"),
    ];
    for (tensor, expected) in cases {
        let outcome = after_fast("aten::gelu", tensor, 1000);
        let model = &found(&outcome, "slow_elementwise_kernel").model;
        assert!(model.starts_with(expected), "{model}");
    }
}

#[test]
fn many_short_kernels_are_one_finding() {
    let outcome = short("aten::mul").outcome("elementwise");
    let issue = "200 calls of element-wise operations take 4.00 µs each";
    assert_contains(&only(&outcome, "many_small_kernels").issue, &[issue]);
    // 12 kB take 2.3 ns of the 4 µs at roofline; the rest of 800 µs could be saved.
    saves_at_most(&outcome, "many_small_kernels", 799_000..800_000);
    let few = Calls::new().calls(99, "aten::mul", &pair(1000), KERNEL, 4);
    assert_eq!(patterns(&few.outcome("elementwise")), [""; 0]);
}

#[test]
fn copies_by_the_copy_engine_are_counted() {
    let copy = "Memcpy DtoD (Device -> Device)";
    let calls = fast(Calls::new()).call("aten::copy_", &pair(1000), copy, 20);
    let outcome = calls.outcome("elementwise");
    assert_eq!(outcome.get("device_copy_count"), Some(&Value::Count(1)));
    assert_eq!(outcome.get("device_copy"), Some(&Value::Ns(20_000)));
    assert_eq!(outcome.rows.len(), 1);
}

#[test]
fn kernels_of_gpu_graphs_are_not_to_be_replayed_as_graphs() {
    let model = |calls: &Calls| {
        let outcome = calls.outcome("elementwise");
        found(&outcome, "many_small_kernels").model.clone()
    };
    let launched = short("aten::mul");
    // They are launched in time, so a graph would make nothing faster.
    assert_contains_none(&model(&launched), &["replay"]);
    // The next launch comes after all of them have ended.
    let late = launched.clone().with(|timetable| {
        timetable
            .op("aten::sort", 1_000_900..1_000_910)
            .launch(9_000, 1_000_901..1_000_902)
            .kernel(9_000, "sort", 1_000_920..1_000_930)
    });
    assert_contains(&model(&late), &["replay them as one GPU graph"]);
    let in_graph = Calls::new().graph(KERNEL, 200, 4);
    assert_contains_none(&model(&in_graph), &["replay"]);
    let both = launched.graph(KERNEL, 200, 4);
    assert_contains(
        &model(&both),
        &["also capture in GPU graphs those that are launched one by one"],
    );
}

#[test]
fn more_copies_are_counted_in_the_issue() {
    let copy = |calls: Calls, heads: u32| {
        let (batch, row) = (heads * 262_144, heads * 64);
        let args = format!(
            "8x{heads}x4096x64@{batch}x262144x64x1:c10::Half, 8x{heads}x4096x64@{batch}x64x{row}x1:c10::Half"
        );
        calls.call("aten::copy_", &args, KERNEL, 100)
    };
    let issue = |calls: Calls| {
        let outcome = calls.outcome("elementwise");
        found(&outcome, "layout_copies").issue.clone()
    };
    let one = copy(Calls::new(), 16);
    assert_contains(&issue(one.clone()), &["16×4096×64 fp16): "]);
    assert_contains(&issue(copy(one, 32)), &[" and 1 more: "]);
}

/// 100 million elements: FP64 next to FP32.
#[test]
fn promoted_operations_are_told_by_their_type() {
    let add = |dtype: &str, us: u32| {
        let args = format!("100000000@1:{dtype}*2");
        after_fast("aten::add", &args, us)
    };
    let promoted = add("double", 600);
    let finding = only(&promoted, "double_precision");
    assert_eq!(finding.impact, Some(Impact::at_most(300_000)));
    assert_contains(&finding.model, &["promote"]);
    assert_eq!(patterns(&add("float", 300)), [""; 0]);
    // A program in FP64.
    let all = Calls::new().call("aten::add", "100000000@1:double*2", KERNEL, 600);
    assert_eq!(patterns(&all.outcome("elementwise")), [""; 0]);
}

#[test]
fn random_numbers_and_interpolation_have_remedies_of_their_own() {
    let images = "16x64x256x256:float, =[512, 512], =False, _, _";
    let cases = [
        (
            "aten::normal_",
            "100000000@1:float, =0, =1",
            "random_numbers",
            "torch.compile",
        ),
        (
            "aten::upsample_bilinear2d",
            images,
            "resampling",
            "channels_last",
        ),
        (
            "aten::exp",
            "100000000@1:float",
            "slow_elementwise_kernel",
            "one kernel",
        ),
    ];
    for (op, args, expected, model) in cases {
        let outcome = after_fast(op, args, 2_000);
        assert_contains(&only(&outcome, expected).model, &[model]);
        assert_eq!(patterns(&after_fast(op, args, 110)), [""; 0], "{op}");
    }
}

/// The source is expanded over a new dimension, and read once.
#[test]
fn repeated_elements_are_found_and_read_once() {
    let args = "64x4x1024x1024@4194304x1048576x1024x1, 64x4x1024x1024@1048576x0x1024x1, =False";
    // 134 MB read and 537 MB written in 150 µs.
    let outcome = fast(Calls::new())
        .call("aten::copy_", args, KERNEL, 150)
        .outcome("elementwise");
    let finding = only(&outcome, "repetitions");
    assert_contains(&finding.model, &["`expand`"]);
    assert_contains(&finding.issue, &["at 84.4 % of roofline"]);
}

/// Three calls of 30 µs on 3 MB, which the memory moves in 0.6 µs, next to 300 µs of other work.
#[test]
fn a_few_calls_on_little_data_are_no_finding() {
    let pattern = |n_calls: u32, args: &str| {
        let calls = fast(Calls::new()).calls(n_calls, "aten::mul_", args, KERNEL, 30);
        patterns(&calls.outcome("elementwise")).concat()
    };
    assert_eq!(pattern(3, &pair(256 * 1024)), "");
    // More data, or more calls.
    assert_eq!(pattern(3, &pair(2 << 20)), "slow_elementwise_kernel");
    assert_eq!(pattern(11, &pair(256 * 1024)), "slow_elementwise_kernel");
}

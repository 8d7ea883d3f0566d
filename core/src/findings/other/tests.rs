use super::super::samples::{Calls, assert_contains, found, only, patterns};
use super::*;
use crate::findings::Impact;

/// `embedding(weight, indices)`: 32 768 rows of 1 024 FP32 elements, read and written: 268 MB,
/// 51 µs at 5 300 GB/s.
fn embedding(us: u32) -> Outcome {
    let args = "50000x1024@1024x1:float, 8x4096@4096x1:long int";
    Calls::new()
        .call("aten::embedding", args, "vectorized_gather_kernel", us)
        .outcome("other")
}

#[test]
fn look_ups_far_from_the_bandwidth_are_found() {
    let outcome = embedding(500);
    assert_eq!(patterns(&outcome), ["slow_look_up"]);
    assert_eq!(outcome.rows[0].class, "look-up by index");
    assert_eq!(outcome.get("look_up_count"), Some(&Value::Count(1)));
    assert_eq!(patterns(&embedding(80)), [""; 0]);
}

/// A cache of keys is reordered: 16 rows of 8.4 MB each, 51 µs at 5 300 GB/s. Tokens are small rows, and some rows of a
/// cache are needed.
#[test]
fn a_whole_tensor_need_not_be_copied_to_reorder_it() {
    let select = |x: &str, n: &str| {
        let args = format!("{x}, =0, {n}:long int");
        let calls = Calls::new().call("aten::index_select", &args, "indexSelectLargeIndex", 60);
        calls.outcome("other")
    };
    let cache = "16x8x4096x128@4194304x524288x128x1";
    let outcome = select(cache, "16");
    let finding = only(&outcome, "whole_tensors_gathered");
    assert_eq!(finding.impact, Some(Impact::at_most(60_000)));
    assert_contains(&finding.model, &["block table"]);
    for (x, n) in [(cache, "15"), ("65536x1024@1024x1", "65536")] {
        assert_eq!(patterns(&select(x, n)), [""; 0], "{x} {n}");
    }
}

/// `scatter_add_(self, 0, index, source)` of 8 × 10⁶ FP32 elements.
#[test]
fn writes_by_index_are_no_look_ups() {
    let args =
        "1000x1000@1000x1:float, _:Scalar, 8000x1000@1000x1:long int, 8000x1000@1000x1:float";
    let outcome = Calls::new()
        .call("aten::scatter_add_", args, "scatter_kernel", 5000)
        .outcome("other");
    assert_eq!(outcome.rows[0].class, "write by index");
    let finding = only(&outcome, "slow_scatter");
    assert_contains(&finding.model, &["segment reduction"]);
    assert_contains(&finding.causes, &["written all over a tensor"]);
}

/// Skipping the sort saves only the time of sorting.
#[test]
fn gradients_are_worth_their_sorting_or_their_sums() {
    let args = "8x4096x1024@4194304x1024x1:float, 8x4096@4096x1:long int, =50000";
    let backward = |kernels: &[(&str, u32)]| {
        let calls = Calls::new().kernels("aten::embedding_dense_backward", args, kernels);
        calls.outcome("other")
    };
    let sorting = |sorting_us, others_us| {
        backward(&[
            ("DeviceRadixSortOnesweepKernel", sorting_us),
            ("compute_grad_weight", others_us),
        ])
    };
    let sorted = sorting(300, 100);
    let issue = &found(&sorted, "sorted_accumulation").issue;
    let expected = "75.0 % of it in sorting indices (300 µs)";
    assert!(issue.contains(expected), "{issue}");
    let atomic = backward(&[("embedding_backward_feature_kernel", 400)]);
    assert!(!patterns(&atomic).contains(&"sorted_accumulation"));
    let sorted = sorting(400, 600);
    let impact = only(&sorted, "sorted_accumulation").impact;
    assert_eq!(impact, Some(Impact::at_most(400_000)));
    let sums = sorting(30, 970);
    assert!(!only(&sums, "slow_look_up_gradient").issue.contains("sort"));
}

/// The reason for unknown FLOPs and bytes decides the advice.
#[test]
fn unknown_work_is_reported_by_its_reason() {
    let (shapes, index) = ("8:float", "1000000x64:float, _");
    let index = Calls::new().call("aten::index", index, "index_elementwise_kernel", 500);
    let unshaped = Calls::new().call("my::op", r#""a": 1"#, "my_kernel", 500);
    // A kernel launched by a runtime call outside operators, among operators with shapes.
    let past = Calls::new().call("aten::relu", shapes, "elementwise_kernel", 100);
    let past = past.with(|timetable| {
        let launched = timetable.launch(900, 5000..5010);
        launched.kernel(900, "my_kernel", 1_000_100..1_000_600)
    });
    let compiled = Calls::new().call("triton_for_fused_1", shapes, "triton_for_fused_1", 500);
    #[rustfmt::skip]
    let cases = [
        (index, "other", "the shapes of its indices", "`index_select`"),
        (unshaped, "other", "were not recorded", "`record_shapes=True`"),
        (past, "other", "bypasses the PyTorch dispatcher", "wrap its call in `torch.library.custom_op`"),
        (compiled, "triton", "no perf model counts", "it does the work of several"),
    ];
    for (calls, key, issue, model) in cases {
        let outcome = calls.outcome(key);
        let finding = found(&outcome, "unmodeled_significant");
        assert!(finding.issue.contains(issue), "{}", finding.issue);
        assert!(finding.model.contains(model), "{}", finding.model);
    }
}

/// Only a replacement can save time: a model of FLOPs and bytes cannot, and there is no replacement for operations that
/// belong to a library or are already fused.
#[test]
fn unknown_work_promises_nothing_where_nothing_is_in_its_place() {
    let cases = [
        ("my::op", "my_kernel", true),
        ("my::op", "Cijk_Alik_Bljk_BBS_BH", false),
        ("my::fused_op", "my_kernel", false),
        ("aten::_fused_sgd_", "multi_tensor_apply_kernel", false),
        ("trtllm::op", "my_kernel", false),
        ("triton_for_fused_1", "triton_for_fused_1", false),
    ];
    for (op, kernel, may_win) in cases {
        let calls = Calls::new().call(op, "8:float", kernel, 500);
        let keys = ["other", "gemm", "elementwise", "triton"];
        let outcomes = keys.map(|key| calls.outcome(key));
        let mut findings = outcomes.iter().flat_map(|outcome| &outcome.findings);
        let finding = findings
            .find(|finding| finding.pattern == "unmodeled_significant")
            .unwrap_or_else(|| panic!("{op} {kernel}"));
        assert_eq!(finding.impact.is_some(), may_win, "{op} {kernel}");
        let is_exchange = finding.model.starts_with("see whether");
        assert_eq!(is_exchange, may_win, "{}", finding.model);
    }
}

#[test]
fn unknown_work_is_worth_a_rule_of_thumb_by_operator() {
    let calls = [8, 8, 9].into_iter().fold(Calls::new(), |calls, size| {
        calls.call("my::op", &format!("{size}:float"), "my_kernel", 500)
    });
    let outcome = calls.outcome("other");
    let finding = only(&outcome, "unmodeled_significant");
    assert_eq!(finding.impact, Some(Impact::heuristic(1_500_000)));
}

#[test]
fn recurrent_layers_are_looked_at_here() {
    let args = "64x32x512@16384x512x1:float";
    let calls = Calls::new().call("my::lstm", args, "gemm", 500);
    let outcome = calls.outcome("other");
    assert_eq!(outcome.rows[0].class, "recurrent layer");
    assert_eq!(calls.outcome("gemm").status, Status::NoData);
}

#[test]
fn collectives_and_graphs_are_counted_not_analyzed() {
    let calls = Calls::new().call("my::op", "", "my_kernel", 100);
    let calls = calls.with(|timetable| {
        timetable
            .runtime("cudaGraphLaunch", 900, 5000..5010)
            .kernel(900, "gemm", 3_000_000..3_000_040)
            .kernel(900, "elementwise_kernel", 3_000_040..3_000_050)
            .op("record_param_comms", 6000..6010)
            .launched("ncclDevKernel_AllReduce", 6001..6002, 3_000_050..3_000_100)
    });
    let outcome = calls.outcome("other");
    assert_eq!(outcome.rows.len(), 1);
    for (key, value) in [
        ("graph_count", Value::Count(2)),
        ("graph", Value::Ns(50_000)),
        ("communication_count", Value::Count(1)),
        ("communication", Value::Ns(50_000)),
    ] {
        assert_eq!(outcome.get(key), Some(&value), "{key}");
    }
    assert!(outcome.note_texts().any(|note| note.contains("GPU graphs")));
}

/// 4 096 transforms of 4 096 or 4 099 complex numbers, read and written: 268 MB, 51 µs at 5 300 GB/s.
#[test]
fn sizes_with_large_prime_factors_are_named() {
    let transform = |size: u32| {
        let args = format!("4096x{size}:c10::complex<float>, =[1], =0, =True");
        let calls = Calls::new().call("aten::_fft_c2c", &args, "fft_rtc_fwd", 1_000);
        calls.outcome("other")
    };
    let outcome = transform(4_099);
    let finding = only(&outcome, "fft_size");
    assert_eq!(finding.title, "Fourier transforms of size 4099");
    assert_contains(&finding.model, &["zeros to 4116"]);
    assert_eq!(patterns(&transform(4_096)), ["memory_bound_gap"]);
}

/// 256 steps of two layers: 5 µs each are latency, 50 µs are not.
#[test]
fn short_steps_of_recurrent_layers_promise_nothing() {
    let lstm = |us: u32| {
        let args = "256x32x1024:float, [4096x1024 4096x1024], =4, 8392704:float, 2x32x1024:float, 2x32x1024:float, =2, =1024, =0, =2, =False, =0., =True, =False, =[], _";
        let calls = Calls::new().call("aten::_cudnn_rnn", args, "RNN_blockPersist_fp_LSTM", us);
        calls.outcome_on("H100", "other")
    };
    let outcome = lstm(2_560);
    let finding = only(&outcome, "sequential_steps");
    assert_eq!(finding.impact, None);
    assert_contains(&finding.issue, &["each of its 512 steps takes 5.00 µs"]);
    assert_ne!(patterns(&lstm(25_600)), ["sequential_steps"]);
}

/// 256 steps of a GEMM of 18 µs and gates of 10 µs: 7.17 ms, of which steps of 20 µs would leave 5.12.
#[test]
fn steps_of_several_kernels_keep_their_latency() {
    let args = "256x32x1024:float, [4096x1024 4096x1024], =4, 8392704:float, 1x32x1024:float, 1x32x1024:float, =2, =1024, =0, =1, =False, =0., =True, =False, =[], _";
    let kernels = [("sgemm", 18), ("elemWiseRNNcell", 10)].repeat(256);
    let calls = Calls::new().kernels("aten::_cudnn_rnn", args, &kernels);
    let outcome = calls.outcome_on("H100", "other");
    let finding = only(&outcome, "sequential_steps");
    assert_eq!(finding.impact, Some(Impact::at_most(2_048_000)));
    assert_contains(
        &finding.issue,
        &["each of its 256 steps takes 28.0 µs in 2 kernels"],
    );
}

#[test]
fn many_short_look_ups_and_cells_are_told_by_their_number() {
    let bags = "1000000x64:float, 2048:long int, 2048:long int";
    let cell = "32x4096:float*2, 32x1024:float, 4096:float*2";
    let cases = [
        (
            "aten::_embedding_bag",
            bags,
            "many_small_look_ups",
            "all tables in one call",
        ),
        (
            "aten::_thnn_fused_lstm_cell",
            cell,
            "many_small_cells",
            "`torch.nn.LSTM`",
        ),
    ];
    for (op, args, expected, model) in cases {
        let many = |n: u32| {
            Calls::new()
                .calls(n, op, args, "my_kernel", 4)
                .outcome("other")
        };
        assert_contains(&only(&many(200), expected).model, &[model]);
        assert_eq!(patterns(&many(20)), [""; 0], "{op}");
    }
}

/// Its columns follow one another, so the rate of all units says nothing.
#[test]
fn a_factorization_promises_nothing() {
    let args = "2048x2048:float, =reduced";
    let calls = Calls::new().call("aten::linalg_qr", args, "geqr2_smem", 5_000);
    let outcome = calls.outcome("other");
    let finding = only(&outcome, "factorization");
    assert_eq!(finding.impact, None);
    assert_contains(&finding.model, &["in one call"]);
}

/// 65 536 indices into 20 million rows: 99.7 % of the gradient is zero. The optimizer reads and writes it all.
#[test]
fn few_rows_of_a_large_table_need_no_dense_gradient() {
    let rows = |n: u32| {
        let args = format!("65536x64:float, 65536:long int, ={n}, =-1, =False");
        let table = format!("{n}x64:float*2");
        let calls = Calls::new().call("aten::embedding_dense_backward", &args, "fill", 3_000);
        let calls = calls.call("aten::add_", &table, "add", 8_000);
        calls.outcome("other")
    };
    let outcome = rows(20_000_000);
    let finding = only(&outcome, "dense_gradient");
    assert_contains(&finding.model, &["`sparse=True`"]);
    assert_contains(
        &finding.issue,
        &[
            "65 536 indices",
            "whole tables of this size take another 8.00 ms",
        ],
    );
    // 99.7 % of 11 ms.
    let impact = finding.impact.unwrap();
    assert!(
        (10_963_000..10_965_000).contains(&impact.high_ns),
        "{impact:?}"
    );
    // As many tokens as a vocabulary has words.
    assert!(!patterns(&rows(100_000)).contains(&"dense_gradient"));
}

/// The gradient of bags takes 3 % of the time, and the step on its table half. The other half is that of a parameter as
/// large as the table.
#[test]
fn a_gradient_of_bags_is_found_by_the_table_that_it_makes_dense() {
    let run = |n: u32| {
        let bags = format!("8192x64:float, 8192:long int*4, ={n}, =False, =0, _, =-1");
        let backward = "aten::_embedding_bag_dense_backward";
        let calls = Calls::new().call(backward, &bags, "compute_grad_weight", 60);
        let list = format!("[{n}x64 {n}x32 {n}x32]*4");
        let step = "aten::_fused_adamw_";
        let calls = calls.call(step, &list, "multi_tensor_apply_kernel", 4_000);
        calls.outcome("other")
    };
    let outcome = run(1_000_000);
    let finding = only(&outcome, "dense_gradient");
    assert_contains(&finding.issue, &["take another 2.00 ms"]);
    assert_eq!(finding.priority, Priority::High);
    let high_ns = finding.impact.unwrap().high_ns;
    // 99.2 % of 2 060 µs.
    assert!((2_042_000..2_044_000).contains(&high_ns), "{high_ns}");
    assert!(!patterns(&run(20_000)).contains(&"dense_gradient"));
}

/// An output layer of the same shape may share the table, unless the optimizer has two parameters of that shape.
#[test]
fn a_table_that_may_be_the_output_layer_has_a_dense_gradient() {
    let run = |parameters: &str| {
        let args = "4096x64:float, 4096:long int, =100000, =-1, =False";
        let calls = Calls::new().call("aten::embedding_dense_backward", args, "fill", 300);
        let calls = calls.call("aten::mm", "4096x64, 64x100000", "gemm", 500);
        let step = "aten::_fused_adamw_";
        let calls = calls.call(step, parameters, "multi_tensor_apply_kernel", 800);
        patterns(&calls.outcome("other")).contains(&"dense_gradient")
    };
    assert!(!run("[100000x64 64x64]*4"));
    assert!(run("[100000x64 100000x64]*4"));
}

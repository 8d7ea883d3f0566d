//! Attention in separate operations.

use super::*;

/// An operator, its arguments, and the microseconds of its kernel.
type Part = (&'static str, &'static str, u32);

/// Calls of parts, with their shapes or without.
fn parts(calls: Calls, parts: &[Part], has_shapes: bool) -> Calls {
    parts.iter().fold(calls, |calls, (op, args, us)| {
        let args = if has_shapes { args } else { "" };
        calls.call(op, args, &format!("kernel_{op}"), *us)
    })
}

/// Two attentions in separate operations, each: copy of K, bmm, mul, softmax, bmm. With or without recorded shapes.
fn in_parts(has_shapes: bool) -> Calls {
    let calls: [Part; 6] = [
        ("aten::copy_", "2x4x64x256*2", 10),
        ("aten::bmm", "8x256x64, 8x64x256", 100),
        ("aten::mul", "2x4x256x256, _:Scalar", 50),
        ("aten::_softmax", "2x4x256x256, _:Scalar*2", 200),
        ("aten::bmm", "8x256x256, 8x256x64", 100),
        ("aten::relu", "2x256x512", 40),
    ];
    let first = parts(Calls::new(), &calls, has_shapes);
    parts(first, &calls, has_shapes)
}

fn unfused(outcome: &Outcome) -> &Finding {
    found(outcome, "unfused_attention")
}

#[test]
fn attention_in_parts_is_found_by_its_sizes() {
    let outcome = in_parts(true).outcome("sdpa_fwd");
    let finding = unfused(&outcome);
    // 10 + 100 + 50 + 200 + 100 µs, twice; the relu after it is not included.
    assert_eq!(finding.time_ns, 920_000);
    assert_eq!(outcome.get("unfused_attention"), Some(&Value::Ns(920_000)));
    assert_eq!(outcome.time_ns, 0);
    // Q, K, V and the result: 4 · 8 · 256 · 64 elements of 2 bytes at 5.3 TB/s are 198 ns;
    // 2 · 8 · 256² · 128 operations at 708 TFLOPS are 190 ns. Twice, at 5, 10 and 15 %.
    let roofline_ns = 4.0 * 8.0 * 256.0 * 64.0 * 2.0 / 5300.0;
    let saved_ns = |percent: f64| 920_000.0 - 2.0 * roofline_ns * 100.0 / percent;
    saves(finding, saved_ns, [5.0, 10.0, 15.0]);
    // The saving is distributed over the operations by their time, and adds up.
    let saved: i64 = finding.savings.iter().map(|(_, ns)| ns).sum();
    assert!((saved - finding.impact.unwrap().mid_ns).abs() < 10);
    let classes = outcome
        .rows
        .iter()
        .map(|row| (row.class.as_str(), row.n_calls));
    let expected = [
        ("unfused: softmax", 2),
        ("unfused: GEMM", 2),
        ("unfused: GEMM", 2),
        ("unfused: scaling", 2),
        ("unfused: copy", 2),
    ];
    assert_eq!(classes.collect::<Vec<_>>(), expected);
    let operators = [
        "`aten::_softmax`",
        "`aten::bmm`",
        "`aten::mul`",
        "`aten::copy_`",
    ];
    assert_contains(&finding.issue, &operators);
    assert_contains(&finding.issue, &["2 times"]);
}

/// Four of twelve in the middle of the run take twice as long, as all kernels do then: that has a finding of its own.
#[test]
fn a_slow_part_of_the_run_is_not_saved_by_one_kernel() {
    let saved = |slow: u32| {
        let calls = (0..12).fold(Calls::new(), |calls, nth| {
            let times = if (4..8).contains(&nth) { slow } else { 1 };
            let calls_of_one: [Part; 3] = [
                ("aten::bmm", "8x256x64, 8x64x256", 100 * times),
                ("aten::_softmax", "2x4x256x256, _:Scalar*2", 200 * times),
                ("aten::bmm", "8x256x256, 8x256x64", 100 * times),
            ];
            parts(calls, &calls_of_one, true)
        });
        let outcome = calls.outcome("sdpa_fwd");
        let finding = unfused(&outcome);
        (finding.time_ns, finding.impact.map(|impact| impact.high_ns))
    };
    let (steady, slow) = (saved(1), saved(2));
    assert_eq!((steady.0, slow.0), (4_800_000, 6_400_000));
    assert_eq!(steady.1, slow.1);
}

/// The same next to one fused call of 1 ms: time, calls and shares are those of the fused attention only.
#[test]
fn parts_count_in_no_figure_of_fused_attention() {
    let calls = in_parts(true).call(FLASH, &args(LONG), "attn_fwd", 1000);
    let outcome = calls.outcome("sdpa_fwd");
    assert_eq!((outcome.time_ns, outcome.n_calls), (1_000_000, 1));
    let shares = outcome.rows.iter().map(|row| row.percent_of_category);
    let shares: Vec<f64> = shares.collect();
    // One call of 1 ms, and operations of 400, 200, 200, 100 and 20 µs.
    for (share, expected) in shares.iter().zip([100.0, 40.0, 20.0, 20.0, 10.0, 2.0]) {
        assert!((share - expected).abs() < 1e-9, "{shares:?}");
    }
    assert_eq!(shares.len(), 6);
}

#[test]
fn without_a_gpu_what_is_no_gemm_counts() {
    let outcome = in_parts(true).outcome_without_gpu("sdpa_fwd");
    // At most 10 + 50 + 200 µs, twice.
    let expected = Impact::at_most(260_000).plus(Impact::at_most(260_000));
    assert_eq!(unfused(&outcome).impact, Some(expected));
}

#[test]
fn without_shapes_the_order_decides() {
    let outcome = in_parts(false).outcome("sdpa_fwd");
    let finding = unfused(&outcome);
    // The copy before the GEMMs may belong to anything.
    assert_eq!(finding.time_ns, 900_000);
    let expected = Impact::heuristic(450_000).plus(Impact::heuristic(450_000));
    assert_eq!(finding.impact, Some(expected));
}

/// A softmax in FP32: the conversions around it go with the attention, one elsewhere does not.
#[test]
fn conversions_inside_attention_are_no_finding_of_their_own() {
    let calls: [Part; 5] = [
        ("aten::bmm", "8x2048x64, 8x64x2048", 100),
        ("aten::copy_", "8x2048x2048:float, 8x2048x2048", 200),
        ("aten::_softmax", "8x2048x2048:float, _:Scalar*2", 200),
        ("aten::copy_", "8x2048x2048, 8x2048x2048:float", 200),
        ("aten::bmm", "8x2048x2048, 8x2048x64", 100),
    ];
    let calls = parts(Calls::new(), &calls, true);
    assert_eq!(unfused(&calls.outcome("sdpa_fwd")).time_ns, 800_000);
    assert_eq!(patterns(&calls.outcome("elementwise")), [""; 0]);
    let elsewhere = calls.call("aten::copy_", "33554432, 33554432:float", "cast", 200);
    let outcome = elsewhere.outcome("elementwise");
    assert_eq!(found(&outcome, "type_conversions").time_ns, 200_000);
}

#[test]
fn a_softmax_over_classes_is_no_attention() {
    let calls = [
        ("aten::mm", "256x4096, 4096x1000", 100),
        ("aten::_softmax", "256x1000, _:Scalar*2", 100),
        ("aten::mm", "256x1000, 1000x4096", 100),
    ];
    let outcome = parts(Calls::new(), &calls, true).outcome("sdpa_fwd");
    assert_eq!(outcome.status, Status::NoData);
}

#[test]
fn a_backward_pass_in_parts_is_found() {
    let softmax = "aten::_softmax_backward_data";
    let calls = [
        // dV = Pᵀ·dO, dP = dO·Vᵀ, softmax, scaling, dK and dQ.
        ("aten::bmm", "8x256x256, 8x256x64", 100),
        ("aten::bmm", "8x256x64, 8x64x256", 100),
        (softmax, "2x4x256x256*2, _:Scalar", 100),
        ("aten::mul", "2x4x256x256, _:Scalar", 100),
        ("aten::bmm", "8x64x256, 8x256x256", 100),
        ("aten::bmm", "8x256x256, 8x256x64", 100),
        ("aten::mm", "512x256, 256x256", 100),
    ];
    let calls = parts(Calls::new(), &calls, true);
    // Everything but the GEMM of a layer that follows.
    assert_eq!(unfused(&calls.outcome("sdpa_bwd")).time_ns, 600_000);
    assert_eq!(calls.outcome("sdpa_fwd").status, Status::NoData);
}

/// Called without `torch.compile`, flexible attention is a series of operations.
#[test]
fn flexible_attention_is_advised_to_be_compiled() {
    let calls = [
        ("aten::bmm", "8x256x64, 8x64x256", 100),
        ("aten::_softmax", "2x4x256x256, _:Scalar*2", 100),
        ("aten::bmm", "8x256x256, 8x256x64", 100),
    ];
    let function = "torch/nn/attention/flex_attention.py(1240): flex_attention";
    let around = Calls::new().with(|timetable| timetable.frame(function, 0..200));
    let outcome = parts(around, &calls, true).outcome("sdpa_fwd");
    assert_contains(
        &unfused(&outcome).model,
        &["`torch.compile(flex_attention)`"],
    );
    let outcome = parts(Calls::new(), &calls, true).outcome("sdpa_fwd");
    assert_contains_none(&unfused(&outcome).model, &["flex_attention"]);
}

#[test]
fn the_framework_s_own_unfused_path_is_told_apart() {
    let calls = [
        // Q and K are scaled first; a mask is added, which a lookup or fill is not.
        ("aten::mul", "2x4x256x64, _:Scalar", 100),
        ("aten::mul", "2x4x64x256, _:Scalar", 100),
        ("aten::bmm", "8x256x64, 8x64x256", 100),
        ("aten::gather", "2x4x256x256*2", 100),
        ("aten::add_", "2x4x256x256, 1x1x256x256", 100),
        ("aten::_softmax", "2x4x256x256, _:Scalar*2", 100),
        ("aten::native_dropout", "2x4x256x256, _:Scalar", 100),
        ("aten::bmm", "8x256x256, 8x256x64", 100),
    ];
    let around = Calls::new().with(|timetable| {
        timetable
            .op("aten::scaled_dot_product_attention", 0..200)
            .op("aten::_scaled_dot_product_attention_math", 0..199)
    });
    let calls = parts(around, &calls, true);
    let outcome = calls.outcome("sdpa_fwd");
    let finding = unfused(&outcome);
    assert_contains(&finding.model, &["takes its unfused path"]);
    let switch = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1";
    assert_contains_none(&finding.model, &[switch]);
    let radeon = calls.outcome_on("RX-7900-XTX", "sdpa_fwd");
    assert_contains(&unfused(&radeon).model, &[switch]);
    let rows = finding.tables[0].rows.iter();
    let parts = rows.map(|row| format!("{} {}", row[0].text(), row[1].text()));
    let expected = ["softmax 1", "GEMM 2", "scaling 2", "mask 1", "dropout 1"];
    assert_eq!(parts.collect::<Vec<_>>(), expected);
}

use super::*;
use crate::testing::Timetable;

/// Name and label of each row, with a mark if it has a model.
fn rows(timetable: Timetable) -> Vec<String> {
    let profile = timetable.profile();
    let strings = &profile.trace.strings;
    let rows = perf_rows(&profile).into_iter();
    rows.map(|row| {
        let caller = profile.trace.name(row.event);
        let name = match row.kernel {
            Some(kernel) => leftover_name(caller, strings.get(kernel)),
            None => caller.to_owned(),
        };
        let mark = if row.binding.is_some() {
            " modeled"
        } else {
            ""
        };
        format!("{name}: {}{mark}", row.category)
    })
    .collect()
}

#[test]
fn the_outermost_modeled_operator_is_the_row() {
    let timetable = Timetable::new()
        .op("aten::layer_norm", 0..20)
        .op("aten::native_layer_norm", 2..18)
        .launched("norm", 5..6, 30..40);
    assert_eq!(rows(timetable), ["aten::layer_norm: NORM_fwd modeled"]);
}

#[test]
fn what_a_caller_of_models_launches_itself_stands_for_itself() {
    let timetable = Timetable::new()
        .op("aten::index", 0..20)
        .launched("gather", 2..3, 30..40)
        .op("aten::copy_", 5..10)
        .launched("copy", 6..7, 40..50);
    assert_eq!(
        rows(timetable),
        [
            "aten::copy_: elementwise modeled",
            "aten::index->gather (Synthetic Op): other",
        ]
    );
}

/// The reference has a model for a generated kernel only if its sizes are recorded: without them it is an ordinary
/// operator, and a driver call does not count as its launch.
#[test]
fn a_generated_kernel_without_sizes_stands_for_itself() {
    let name = "triton_poi_fused_add_0";
    let sizes = r#""Input Dims": [[64, 32], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "2048"]"#;
    let generated = |args: &str| {
        Timetable::new()
            .op(name, 0..20)
            .args(args)
            .driver("cuLaunchKernel", 1, 2..3)
            .kernel(1, name, 30..40)
    };
    assert_eq!(rows(generated(sizes)), [format!("{name}: triton modeled")]);
    for args in [
        r#""Ev Idx": 1"#,
        r#""Input Dims": [[64, 32], []], "Input type": ["float", "Scalar"]"#,
        r#""Concrete Inputs": ["", "2048"]"#,
    ] {
        let expected = format!("{name}->{name} (Synthetic Op): triton");
        assert_eq!(rows(generated(args)), [expected], "{args}");
    }
    let launched = Timetable::new()
        .op(name, 0..20)
        .launched(name, 2..3, 30..40);
    assert_eq!(rows(launched), [format!("{name}: triton")]);
}

#[test]
fn kernels_of_driver_calls_and_of_no_operator_stand_for_themselves() {
    let timetable = Timetable::new()
        .op("my::op", 0..20)
        .driver("cuLaunchKernel", 1, 2..3)
        .kernel(1, "k", 40..50)
        .launched("void at::native::reduce_kernel<1>", 30..31, 50..60);
    assert_eq!(
        rows(timetable),
        [
            "my::op->k (Synthetic Op): other",
            "cudaLaunchKernel->void at::native::reduce_kernel<1> (Synthetic Op): reduce",
        ]
    );
}

/// A compiled region replays its graph, and may also call an operator or launch a kernel itself.
#[test]
fn kernels_of_a_graph_stand_for_themselves_whatever_is_above_its_launch() {
    let graph = Timetable::new()
        .op("Torch-Compiled Region: 0/0", 0..30)
        .runtime("cudaGraphLaunch", 1, 5..6)
        .kernel(1, "nvjet", 40..50)
        .kernel(1, "flash_fwd", 50..60);
    let region = "Torch-Compiled Region: 0/0";
    let kernels =
        ["nvjet", "flash_fwd"].map(|kernel| format!("{region}->{kernel} (Synthetic Op): other"));
    assert_eq!(rows(graph.clone()), kernels);
    let [first, second] = kernels;
    let below = graph
        .clone()
        .op("my::op", 10..20)
        .launched("k", 11..12, 60..70);
    assert_eq!(rows(below), ["my::op: other", &first, &second]);
    let direct = graph.launched("fill", 11..12, 60..70);
    let whole = format!("{region}: other");
    assert_eq!(rows(direct), [whole, first, second]);
}

#[test]
fn collectives_are_left_out() {
    let nccl = "ncclDevKernel_AllReduce";
    let timetable = Timetable::new().work("record_param_comms", nccl, 30..40);
    assert!(rows(timetable).is_empty());
}

#[test]
fn a_backward_function_takes_the_model_of_its_forward_call() {
    let number = r#""Sequence number": 7"#;
    let tensors = r#""Input Dims": [[2, 4, 8, 16], [2, 4, 8, 16], [2, 4, 8, 16], [], [], []], "Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", ""], "Concrete Inputs": ["", "", "", "0.", "False", "False"]"#;
    let timetable = Timetable::new()
        .op("aten::_scaled_dot_product_flash_attention", 0..10)
        .args(number)
        .args(tensors)
        .launched("flash_fwd", 2..3, 100..110)
        .thread(2)
        .op(
            "autograd::engine::evaluate_function: FlashBackward0",
            20..40,
        )
        .args(number)
        .op("FlashBackward0", 21..39)
        .op("aten::_scaled_dot_product_flash_attention_backward", 22..38)
        .launched("flash_bwd", 23..24, 110..130);
    assert_eq!(
        rows(timetable),
        [
            "aten::_scaled_dot_product_flash_attention: SDPA_fwd modeled",
            "FlashBackward0: SDPA_bwd modeled",
        ]
    );
}

/// FLOPs and bytes of each row.
fn works(timetable: Timetable) -> Vec<Option<(f64, Option<f64>)>> {
    let profile = timetable.profile();
    perf_rows(&profile)
        .iter()
        .map(|row| {
            let work = row.binding?.work(&profile, &row.work)?.work;
            Some((work.flops, work.bytes))
        })
        .collect()
}

#[test]
fn the_only_kernel_that_stands_for_itself_does_what_its_operator_does() {
    let softmax = r#""Input Dims": [[2, 5], [], []], "Input type": ["float", "Scalar", "Scalar"], "Concrete Inputs": ["", "1", "False"]"#;
    let one = Timetable::new()
        .op("aten::_softmax", 0..20)
        .args(softmax)
        .driver("cuLaunchKernel", 1, 2..3)
        .kernel(1, "softmax", 40..50);
    // Five FLOPs each, four bytes read and written.
    assert_eq!(works(one), [Some((50.0, Some(80.0)))]);
    let two = Timetable::new()
        .op("aten::_softmax", 0..20)
        .args(softmax)
        .driver("cuLaunchKernel", 1, 2..3)
        .driver("cuLaunchKernel", 2, 4..5)
        .kernel(1, "first", 40..50)
        .kernel(2, "second", 50..60);
    assert_eq!(works(two), [None, None]);
}

#[test]
fn two_products_of_experts_share_their_work() {
    let experts = r#""Input Dims": [[1, 2], [4, 6, 2], [4, 2, 3], [1, 1], [1, 1]], "Input type": ["c10::Half", "c10::Half", "c10::Half", "float", "int"]"#;
    let timetable = Timetable::new()
        .op("vllm::outplace_fused_experts", 0..40)
        .args(experts)
        .driver("cuLaunchKernel", 1, 2..3)
        .driver("cuLaunchKernel", 2, 4..5)
        .kernel(1, "fused_moe_kernel", 40..50)
        .kernel(2, "fused_moe_kernel", 50..60);
    // Half of 38 FLOPs and of 44 bytes.
    let half = Some((19.0, Some(22.0)));
    assert_eq!(works(timetable), [half, half]);
}

#[test]
fn a_call_without_numbers_is_what_the_calls_below_it_are() {
    let norm = r#""Input Dims": [[10, 4], [10, 4], [4], []], "Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar"], "Concrete Inputs": ["", "", "", "1e-6"]"#;
    let place = r#""Input Dims": [[2, 2, 4], [2, 2, 4], [9, 2, 4], [9, 2, 4], [2]], "Input type": ["c10::Half", "c10::Half", "c10::Half", "c10::Half", "long int"]"#;
    let calls = |last: u32| {
        Timetable::new()
            .op("vllm::unified_attention_with_output", 0..40)
            .op("_C::rms_norm", 1..10)
            .args(norm)
            .launched("norm", 2..3, 40..50)
            .op("_C_cache_ops::reshape_and_cache", 11..20)
            .args(place)
            .launched("place", 12..13, 50..60)
            .launch(last, 30..31)
            .kernel(3, "unknown", 60..90)
    };
    // 180 FLOPs on 168 bytes; 64 bytes read and written, two places.
    assert_eq!(works(calls(99)), [Some((180.0, Some(168.0 + 144.0)))]);
    // Not everything that it launches has a model.
    assert_eq!(works(calls(3)), [None]);
}

#[test]
fn the_annotation_around_a_call_tells_how_long_requests_are() {
    let attention = r#""Input Dims": [[3, 2, 4], [3, 1, 4], [3, 1, 4]], "Input type": ["c10::Half", "c10::Half", "c10::Half"]"#;
    let mixed = "execute_3_context_1(sq2sk2sqsq4sqsk4)_generation_1(sq1sk5sqsq1sqsk5)";
    let generating = "execute_3_context_0(sq0sk0sqsq0sqsk0)_generation_3(sq3sk9sqsq3sqsk9)";
    let name = "vllm::unified_attention_with_output";
    let timetable = Timetable::new()
        .annotation(mixed, 0..40)
        .op(name, 5..20)
        .args(attention)
        .launched("attention", 6..7, 300..310)
        .annotation(generating, 100..140)
        .op(name, 105..120)
        .args(attention)
        .launched("attention", 106..107, 310..320)
        .op(name, 200..220)
        .args(attention)
        .launched("attention", 206..207, 320..330);
    // 2·2·8·(3 + 5) on 3 new tokens of 24 elements and 4 cached keys of 8; then 2·8·2·9 on 3 new and 6 cached; then
    // unknown.
    let expected = [Some((256.0, Some(208.0))), Some((288.0, Some(240.0))), None];
    assert_eq!(works(timetable.clone()), expected);
    // One operation without differing arguments: unknown, because one call is unknown.
    let profile = timetable.profile();
    let [operation] = profile.operations() else {
        panic!("one operation")
    };
    assert_eq!(operation.modeled, None);
}

#[test]
fn a_backward_function_without_a_label_takes_its_forward_s_formula() {
    let number = r#""Sequence number": 7"#;
    let tensors = r#""Input Dims": [[10, 4], [4], [4]], "Input type": ["c10::Half", "c10::Half", "c10::Half"]"#;
    let timetable = Timetable::new()
        .op("FusedLayerNormAffineFunction", 0..10)
        .args(number)
        .args(tensors)
        .launched("norm", 2..3, 100..110)
        .thread(2)
        .op(
            "autograd::engine::evaluate_function: FusedLayerNormAffineFunctionBackward",
            20..40,
        )
        .args(number)
        .op("FusedLayerNormAffineFunctionBackward", 21..39)
        .launched("norm_bwd", 23..24, 110..130);
    // 4·40 + 5·40; 3·40 + 4·4 elements.
    assert_eq!(works(timetable)[1], Some((360.0, Some(272.0))));
}

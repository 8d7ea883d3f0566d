use super::*;
use crate::testing::Timetable;

/// Name, label, whether a model is bound.
fn rows(timetable: Timetable) -> Vec<(String, &'static str, bool)> {
    let profile = timetable.profile();
    let strings = &profile.trace.strings;
    perf_rows(&profile)
        .iter()
        .map(|row| {
            let caller = strings.get(profile.trace.events.name(row.event));
            let name = match row.kernel {
                Some(kernel) => leftover_name(caller, strings.get(kernel)),
                None => caller.to_owned(),
            };
            (name, row.category, row.binding.is_some())
        })
        .collect()
}

fn row(name: &str, category: &'static str, has_model: bool) -> (String, &'static str, bool) {
    (name.to_owned(), category, has_model)
}

#[test]
fn the_outermost_modelled_operator_is_the_row() {
    let timetable = Timetable::new()
        .op("aten::layer_norm", 0..20)
        .op("aten::native_layer_norm", 2..18)
        .launch(1, 5..6)
        .kernel(1, "norm", 30..40);
    assert_eq!(rows(timetable), [row("aten::layer_norm", "NORM_fwd", true)]);
}

#[test]
fn what_a_caller_of_models_launches_itself_stands_for_itself() {
    let timetable = Timetable::new()
        .op("aten::index", 0..20)
        .launch(1, 2..3)
        .op("aten::copy_", 5..10)
        .launch(2, 6..7)
        .kernel(1, "gather", 30..40)
        .kernel(2, "copy", 40..50);
    assert_eq!(
        rows(timetable),
        [
            row("aten::copy_", "elementwise", true),
            row("aten::index->gather (Synthetic Op)", "other", false),
        ]
    );
}

#[test]
fn kernels_of_driver_calls_and_of_no_operator_stand_for_themselves() {
    let timetable = Timetable::new()
        .op("my::op", 0..20)
        .driver("cuLaunchKernel", 1, 2..3)
        .launch(2, 30..31)
        .kernel(1, "k", 40..50)
        .kernel(2, "void at::native::reduce_kernel<1>", 50..60);
    assert_eq!(
        rows(timetable),
        [
            row("my::op->k (Synthetic Op)", "other", false),
            row(
                "cudaLaunchKernel->void at::native::reduce_kernel<1> (Synthetic Op)",
                "reduce",
                false
            ),
        ]
    );
}

#[test]
fn collectives_are_left_out() {
    let timetable = Timetable::new()
        .op("record_param_comms", 0..20)
        .launch(1, 2..3)
        .kernel(1, "ncclDevKernel_AllReduce", 30..40);
    assert_eq!(rows(timetable), []);
}

#[test]
fn a_backward_function_takes_the_model_of_its_forward_call() {
    let number = r#""Sequence number": 7"#;
    let tensors = r#""Input Dims": [[2, 4, 8, 16], [2, 4, 8, 16], [2, 4, 8, 16], [], [], []], "Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", ""], "Concrete Inputs": ["", "", "", "0.", "False", "False"]"#;
    let timetable = Timetable::new()
        .op("aten::_scaled_dot_product_flash_attention", 0..10)
        .args(number)
        .args(tensors)
        .launch(1, 2..3)
        .kernel(1, "flash_fwd", 100..110)
        .thread(2)
        .op(
            "autograd::engine::evaluate_function: FlashBackward0",
            20..40,
        )
        .args(number)
        .op("FlashBackward0", 21..39)
        .op("aten::_scaled_dot_product_flash_attention_backward", 22..38)
        .launch(2, 23..24)
        .kernel(2, "flash_bwd", 110..130);
    assert_eq!(
        rows(timetable),
        [
            row(
                "aten::_scaled_dot_product_flash_attention",
                "SDPA_fwd",
                true
            ),
            row("FlashBackward0", "SDPA_bwd", true),
        ]
    );
}

//! Advice on communication.

use super::*;

#[test]
fn advice_for_training_speaks_of_gradients() {
    let profile = Timetable::new()
        .op("autograd::engine::evaluate_function: MmBackward0", 0..10)
        .launch(1, 1..2)
        .launch(2, 3..4)
        .kernel(1, "gemm", 0..100)
        .kernel(2, "ncclDevKernel_AllReduce_Sum_bf16", 100..300)
        .profile();
    let (_, findings) = analysed(&profile);
    assert!(
        findings[0]
            .model
            .contains("see in the traces of the other ranks")
    );
}

/// A product of 100 µs and a collective of 200 µs behind it, launched below `above`.
fn asked(above: &str, kernel: &str, message: &str) -> String {
    let profile = Timetable::new()
        .op("autograd::engine::evaluate_function: MmBackward0", 0..10)
        .launch(1, 1..2)
        .op(above, 20..40)
        .op("record_param_comms", 21..39)
        .args(message)
        .launch(2, 22..23)
        .kernel(1, "gemm", 0..100)
        .kernel(2, kernel, 100..300)
        .profile();
    analysed(&profile).1[0].model.clone()
}

#[test]
fn advice_on_communication_is_that_of_its_purpose() {
    let cases = [
        (
            "aten::mm",
            "allreduce",
            "default_pg",
            "reduce gradients asynchronously during",
        ),
        (
            "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
            "allreduce",
            "default_pg",
            "gradients are reduced during the backward pass already",
        ),
        (
            "fsdp::all_gather_copy_in",
            "_allgather_base",
            "default_pg",
            "gather parameters earlier: prefetch",
        ),
        (
            "aten::mm",
            "_reduce_scatter_base",
            "default_pg",
            "gather parameters ahead of their use",
        ),
        ("aten::mm", "recv", "default_pg", "shorten what stages"),
        (
            "autograd::engine::evaluate_function: F",
            "allreduce",
            "TENSOR_MODEL_PARALLEL_GROUP",
            "run the collectives of tensor parallelism beside its GEMMs",
        ),
        (
            "SyncBatchNorm",
            "_allgather_base",
            "default_pg",
            "synchronized batch norms",
        ),
        (
            "aten::mm",
            "all_to_all",
            "sp_pg",
            "run the exchange of sequence parallelism",
        ),
        (
            "aten::mm",
            "all_to_all",
            "default_pg",
            "run the exchange beside other kernels",
        ),
    ];
    for (above, collective, group, expected) in cases {
        let message = format!(
            r#""Collective name": "{collective}", "dtype": "Float", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 8, "Process Group Name": "0", "Process Group Description": "{group}""#
        );
        let said = asked(above, "ncclDevKernel_Generic", &message);
        assert!(
            said.starts_with(expected),
            "{collective} of {group}: {said}"
        );
    }
}

/// 200 µs of 250 µs run beside the backward pass: what is left is the last bucket.
#[test]
fn what_is_done_already_is_no_advice() {
    let profile = Timetable::new()
        .op("autograd::engine::evaluate_function: MmBackward0", 0..10)
        .launch(1, 1..2)
        .launch(2, 3..4)
        .kernel(1, "gemm", 0..300)
        .stream(9)
        .kernel(2, "ncclDevKernel_AllReduce_Sum_bf16", 100..350)
        .profile();
    let (_, findings) = analysed(&profile);
    let model = &findings[0].model;
    assert!(
        model.contains("most of that is hidden") && model.contains("`bucket_cap_mb`"),
        "{model}"
    );
}

#[test]
fn the_exchange_of_experts_has_words_of_its_own() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .launch(2, 3..4)
        .kernel(1, "gemm", 0..100)
        .kernel(
            2,
            "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)",
            100..300,
        )
        .profile();
    let (_, findings) = analysed(&profile);
    assert!(
        findings[0]
            .model
            .starts_with("run the exchange of expert parallelism"),
        "{}",
        findings[0].model
    );
}

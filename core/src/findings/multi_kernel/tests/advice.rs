//! Advice about communication.

use super::*;

const BACKWARD: &str = "autograd::engine::evaluate_function: MmBackward0";
const ALL_REDUCE: &str = "ncclDevKernel_AllReduce_Sum_bf16";

fn model(timetable: &Timetable) -> String {
    analyzed(&timetable.profile()).1[0].model.clone()
}

#[test]
fn advice_depends_on_what_communicates_and_what_is_done_already() {
    let trained = Timetable::new().work(BACKWARD, "gemm", 0..100);
    let trained = trained.work(BACKWARD, ALL_REDUCE, 100..300);
    assert!(model(&trained).contains("traces of all ranks as one job"));
    // 200 of 250 µs are hidden by the backward pass: what remains is the last bucket.
    let hidden = Timetable::new().work(BACKWARD, "gemm", 0..300);
    let hidden = model(&hidden.stream(9).work(BACKWARD, ALL_REDUCE, 100..350));
    assert!(hidden.contains("most of that is overlapped"), "{hidden}");
    assert!(hidden.contains("`bucket_cap_mb`"), "{hidden}");
    let dispatch = "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)";
    let experts = Timetable::new().work("aten::mm", "gemm", 0..100);
    let experts = model(&experts.work("aten::mm", dispatch, 100..300));
    let expected = "run the exchange of expert parallelism";
    assert!(experts.starts_with(expected), "{experts}");
}

/// A GEMM of 100 µs followed by a collective of 200 µs, launched by another operator.
#[test]
fn advice_on_communication_is_that_of_its_purpose() {
    const GRADIENTS: &str = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
    #[rustfmt::skip]
    let cases = [
        ("aten::mm", "allreduce", "default_pg", "reduce gradients asynchronously during"),
        (GRADIENTS, "allreduce", "default_pg", "gradients are already reduced during the backward pass"),
        ("DistributedDataParallel.forward", "broadcast", "default_pg", "`DistributedDataParallel` broadcasts the buffers"),
        ("fsdp::all_gather_copy_in", "_allgather_base", "default_pg", "gather parameters earlier: prefetch"),
        ("aten::mm", "_reduce_scatter_base", "default_pg", "all-gather parameters ahead of their use"),
        ("aten::mm", "recv", "default_pg", "reduce the pipeline bubble"),
        ("autograd::engine::evaluate_function: F", "allreduce", "TENSOR_MODEL_PARALLEL_GROUP", "run the collectives of tensor parallelism beside its GEMMs"),
        ("SyncBatchNorm", "_allgather_base", "default_pg", "synchronized batch norms"),
        ("aten::mm", "all_to_all", "sp_pg", "run the exchange of sequence parallelism"),
        ("aten::mm", "all_to_all", "default_pg", "run the exchange beside other kernels"),
    ];
    for (above, collective, group, expected) in cases {
        let message = format!(
            r#""Collective name": "{collective}", "dtype": "Float", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 8, "Process Group Name": "0", "Process Group Description": "{group}""#
        );
        let timetable = Timetable::new()
            .work(BACKWARD, "gemm", 0..100)
            .op(above, 20..40)
            .op("record_param_comms", 21..39)
            .args(&message)
            .launched("ncclDevKernel_Generic", 22..23, 100..300);
        let model = model(&timetable);
        assert!(model.starts_with(expected), "{expected:?}: {model}");
    }
}

/// Between transfers a ring computes attention alone, and a pipeline whole layers.
#[test]
fn a_ring_of_keys_is_no_pipeline() {
    let message = r#""Collective name": "send", "dtype": "BFloat16", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 4"#;
    let run = |between: &str| {
        let start = Timetable::new().work("aten::mm", "gemm", 0..100);
        let table = (0..3).fold(start, |table, at| {
            let at = 100 + 400 * at;
            let table = table.call(
                "record_param_comms",
                message,
                "ncclDevKernel_SendRecv",
                at..at + 300,
            );
            table.work("aten::op", between, at + 300..at + 400)
        });
        model(&table)
    };
    let ring = run("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>");
    assert!(
        ring.starts_with("send keys and values to the next rank"),
        "{ring}"
    );
    let stages = run("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT");
    assert!(stages.starts_with("reduce the pipeline bubble"), "{stages}");
}

/// Small all-reduces between layers where nothing is trained.
#[test]
fn small_all_reduces_of_an_inference_are_those_of_split_layers() {
    let message = r#""Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 65536, "Out msg nelems": 65536, "Group size": 2"#;
    let run = |op: &str| {
        let table = (0..6).fold(Timetable::new(), |table, at| {
            let at = 300 * at;
            let table = table.work(op, "gemm", at..at + 100);
            table.call(
                "record_param_comms",
                message,
                ALL_REDUCE,
                at + 100..at + 250,
            )
        });
        let options = options_on("H100");
        let outcome = outcome(&table.profile(), &options);
        outcome.findings[0].model.clone()
    };
    let split = run("aten::mm");
    assert!(
        split.starts_with("use all-reduces made for small messages"),
        "{split}"
    );
    assert!(!run(BACKWARD).starts_with("use all-reduces"));
}

/// All-reduces of one size after GEMMs of 100 µs: every other one takes 900 µs instead of 110. A few bytes never take
/// 900 µs by themselves.
#[test]
fn collectives_that_take_longer_than_the_fastest_of_their_size_wait() {
    let run_with = |elements: u32, lengths: [u32; 6]| {
        let message = format!(
            r#""Collective name": "allreduce", "dtype": "Float", "In msg nelems": {elements}, "Out msg nelems": {elements}, "Group size": 8"#
        );
        let start = (Timetable::new(), 0);
        let (table, _) = lengths.into_iter().fold(start, |(table, at), us| {
            let table = table.work(BACKWARD, "gemm", at..at + 100);
            let (at, end) = (at + 100, at + 100 + us);
            let table = table.call("record_param_comms", &message, ALL_REDUCE, at..end);
            (table, end)
        });
        analyzed(&table.profile()).1.remove(0)
    };
    let run = |lengths| run_with(4_000_000, lengths);
    let late = run([110, 900, 110, 900, 110, 900]);
    assert_eq!(late.title, "Collectives wait for late ranks");
    assert!(late.model.starts_with("find the straggler"));
    // 3 · 790 of 3 · 1 010 µs.
    reasons(&late, &["take 2.37 ms of their 3.03 ms beyond the fastest"]);
    let even = run([900, 910, 900, 920, 900, 905]);
    assert!(!even.model.contains("straggler"), "{}", even.model);
    let tiny = run_with(1, [900, 910, 900, 920, 900, 905]);
    assert!(tiny.model.starts_with("find the straggler"));
    reasons(&tiny, &["take 4.24 ms of their 5.43 ms beyond"]);
}

/// A collective of unknown purpose, which follows from the name of the model wrapper.
#[test]
fn what_wraps_the_model_shows_what_communication_is_for() {
    const FRAME: &str = "python_function";
    const GATHER: &str = "ncclDevKernel_AllGather_RING_LL";
    const BROADCAST: &str = "ncclDevKernel_Broadcast_RING_LL";
    const UNKNOWN: &str = "start the collectives earlier";
    #[rustfmt::skip]
    let cases = [
        (FRAME, "train.py(7): forward", ALL_REDUCE, UNKNOWN),
        (FRAME, "train.py(7): forward", GATHER, UNKNOWN),
        (FRAME, "torch/distributed/fsdp/_runtime_utils.py(260): _unshard", GATHER, "gather parameters earlier"),
        ("cpu_op", "FullyShardedDataParallel.forward", GATHER, "gather parameters earlier"),
        (FRAME, "nn.Module: FullyShardedDataParallel_0", GATHER, "gather parameters earlier"),
        ("cpu_op", "DistributedDataParallel.forward", ALL_REDUCE, "gradients are already reduced"),
        ("cpu_op", "DataParallel.forward", BROADCAST, "replace `DataParallel`"),
        (FRAME, "torch/nn/parallel/data_parallel.py(150): forward", BROADCAST, "replace `DataParallel`"),
        ("cpu_op", "DistributedDataParallel.forward", BROADCAST, "`DistributedDataParallel` broadcasts the buffers"),
        (FRAME, "torch/nn/parallel/distributed.py(1630): forward", BROADCAST, "`DistributedDataParallel` broadcasts the buffers"),
    ];
    for (category, name, kernel, expected) in cases {
        let timetable = Timetable::new().work("aten::mm", "gemm", 0..100);
        let timetable = timetable.on_host(category, name, 20..40);
        let model = model(&timetable.launched(kernel, 22..23, 100..300));
        assert!(model.starts_with(expected), "{name}: {model}");
    }
}

#[test]
fn the_function_that_starts_most_of_the_communication_is_named() {
    let timetable = Timetable::new()
        .work("aten::mm", "gemm", 0..100)
        .frame("train.py(160): reduce", 15..45)
        .frame(
            "torch/distributed/distributed_c10d.py(2501): all_reduce",
            16..44,
        )
        .op("c10d::allreduce_", 20..40)
        .launched(ALL_REDUCE, 22..23, 100..300);
    let issue = analyzed(&timetable.profile()).1[0].issue.clone();
    let place = "while nothing computes, in `reduce` in `train.py:160`; ";
    assert!(issue.contains(place), "{issue}");
}

/// Two functions share what is exposed, or one alone: the other's messages overlap with computation.
#[test]
fn two_functions_that_share_the_communication_are_named() {
    let issue = |computing: std::ops::Range<u32>| {
        let timetable = Timetable::new()
            .work("aten::mm", "gemm", computing)
            .stream(9)
            .frame("moe.py(60): dispatch", 15..25)
            .launched(ALL_REDUCE, 16..17, 100..200)
            .frame("moe.py(95): combine", 30..40)
            .launched(ALL_REDUCE, 31..32, 200..300);
        analyzed(&timetable.profile()).1[0].issue.clone()
    };
    let (dispatch, combine) = ("`dispatch` in `moe.py:60`", "`combine` in `moe.py:95`");
    let both = format!(", in {dispatch} and {combine}; ");
    assert_contains(&issue(0..100), &[&both]);
    assert_contains(&issue(0..200), &[&format!(", in {combine}; ")]);
}

//! Which call launched which work, one rule per test.

use super::*;
use crate::profile::cpu::tree::{CallTree, Frames};
use crate::testing::{Timetable, outline};

/// Checks what each call launched, and how many pieces of work remain unlinked.
fn check(timetable: Timetable, expected: &[&str], n_unlinked: u64) -> Launches {
    let trace = timetable.trace();
    let launches = Launches::new(&trace);
    let tree = CallTree::new(&trace, Frames::Without, &launches);
    let outline = outline(&trace, &tree, &launches);
    assert_eq!(outline.lines().collect::<Vec<_>>(), expected);
    assert_eq!(launches.n_unlinked(), n_unlinked);
    launches
}

#[test]
fn work_belongs_to_the_call_at_the_start_of_its_arrow() {
    check(
        Timetable::new()
            .launch(1, 0..5)
            .driver("cuLaunchKernel", 2, 10..15)
            .kernel(2, "triton", 20..30)
            .kernel(1, "gemm", 30..40),
        &["cudaLaunchKernel -> gemm", "cuLaunchKernel -> triton"],
        0,
    );
}

/// Of several pieces of work, the one at the end of the flow is meant. A single one is linked by its id, wherever the
/// flow leads.
#[test]
fn the_arrow_must_end_on_the_stream_of_the_work() {
    let timetable = Timetable::new()
        .launch(1, 0..5)
        .launch(2, 6..9)
        .kernel(1, "gemm", 30..40)
        .kernel(2, "add", 50..60);
    let linked = &["cudaLaunchKernel -> gemm", "cudaLaunchKernel -> add"];
    let astray = check(timetable.clone().stream(8).arrow_end(1), linked, 0);
    assert_eq!(astray.n_by_correlation(), 1);
    check(
        timetable
            .clone()
            .kernel(1, "relu", 60..70)
            .stream(8)
            .arrow_end(1),
        &["cudaLaunchKernel", "cudaLaunchKernel -> add"],
        2,
    );
    // The last flow with an id counts.
    let both = timetable.stream(8).arrow_end(1).stream(7).arrow_end(1);
    check(both, linked, 0);
}

#[test]
fn where_no_arrow_arrives_correlation_tells() {
    let timetable = Timetable::new()
        .without_flows()
        .runtime("cudaLaunchKernel", 1, 0..5)
        .kernel(1, "gemm", 30..40);
    for half in [Timetable::arrow_start, Timetable::arrow_end] {
        let halved = half(timetable.clone(), 1);
        check(halved, &["cudaLaunchKernel -> gemm"], 0);
    }
}

/// The counter restarted: two recordings in one file.
#[test]
fn calls_of_one_id_are_told_apart_by_time() {
    let twice = |timetable: Timetable| {
        timetable
            .runtime("cudaLaunchKernel", 1, 0..5)
            .runtime("cudaMemcpyAsync", 1, 100..105)
            .copy(1, "copy", 130..140)
            .kernel(1, "gemm", 30..40)
    };
    let expected = ["cudaLaunchKernel -> gemm", "cudaMemcpyAsync -> copy"];
    check(twice(Timetable::new()), &expected, 0);
    check(twice(Timetable::new().without_flows()), &expected, 0);
    // One more piece than calls, or the id that means "none".
    let three = twice(Timetable::new()).kernel(1, "add", 50..60);
    let launches = check(three, &["cudaLaunchKernel", "cudaMemcpyAsync"], 3);
    assert_eq!(launches.n_repeated(), 3);
    let zero = Timetable::new()
        .without_flows()
        .runtime("cudaLaunchKernel", 0, 0..5)
        .runtime("cudaLaunchKernel", 0, 100..105)
        .kernel(0, "one", 30..40)
        .kernel(0, "two", 130..140);
    let launches = check(zero, &["cudaLaunchKernel", "cudaLaunchKernel"], 2);
    assert_eq!(launches.n_repeated(), 2);
}

#[test]
fn a_call_launches_one_piece_of_work() {
    let several = Timetable::new()
        .without_flows()
        .runtime("cudaLaunchKernel", 1, 0..5)
        .kernel(1, "one", 30..40)
        .kernel(1, "two", 50..60);
    let launches = check(several, &["cudaLaunchKernel"], 2);
    assert_eq!(launches.n_repeated(), 2);
}

#[test]
fn of_work_with_one_id_on_one_stream_the_last_is_meant() {
    check(
        Timetable::new()
            .launch(1, 0..5)
            .kernel(1, "first", 30..40)
            .kernel(1, "second", 40..50),
        &["cudaLaunchKernel -> second"],
        1,
    );
}

#[test]
fn half_an_arrow_joins_nothing() {
    // ROCm records only the end for fills; the reference leaves them out.
    check(
        Timetable::new()
            .launch(1, 0..5)
            .kernel(1, "gemm", 30..40)
            .runtime("hipMemsetAsync", 2, 10..15)
            .fill(2, "Memset (Device)", 40..41),
        &["cudaLaunchKernel -> gemm", "hipMemsetAsync"],
        1,
    );
}

#[test]
fn a_graph_launch_owns_all_work_with_its_id() {
    check(
        Timetable::new()
            .launch(1, 0..5)
            .kernel(1, "gemm", 10..20)
            .runtime("cudaGraphLaunch", 2, 5..9)
            .kernel(2, "norm", 20..30)
            .stream(8)
            .kernel(2, "copy", 20..30)
            .stream(7)
            .kernel(2, "relu", 30..40),
        &[
            "cudaLaunchKernel -> gemm",
            "cudaGraphLaunch -> norm, copy, relu",
        ],
        0,
    );
}

#[test]
fn without_arrows_equal_correlation_ids_join() {
    let launches = check(
        Timetable::new()
            .without_flows()
            .launch(1, 0..5)
            .kernel(1, "gemm", 10..20)
            .runtime("cudaMemcpyAsync", 2, 5..9)
            .copy(2, "Memcpy DtoH", 20..30)
            .kernel(3, "warm-up", 30..40),
        &["cudaLaunchKernel -> gemm", "cudaMemcpyAsync -> Memcpy DtoH"],
        1,
    );
    assert_eq!(launches.n_by_correlation(), 2);
}

#[test]
fn work_without_an_arrow_is_joined_beside_work_with_one() {
    // The profiler omits the flows of collectives.
    let launches = check(
        Timetable::new()
            .launch(1, 0..5)
            .kernel(1, "gemm", 10..20)
            .without_flows()
            .launch(2, 5..9)
            .kernel(2, "ncclDevKernel_AllReduce", 20..30),
        &[
            "cudaLaunchKernel -> gemm",
            "cudaLaunchKernel -> ncclDevKernel_AllReduce",
        ],
        0,
    );
    assert_eq!(launches.n_by_correlation(), 1);
}

#[test]
fn old_traces_join_by_external_id() {
    let id = r#""External id": 9"#;
    check(
        Timetable::new()
            .on_host("cuda_runtime", "cudaLaunchKernel", 1..3)
            .args(id)
            .arrow_start(9)
            .on_stream("kernel", "gemm", 1..3)
            .args(id)
            .arrow_end(9),
        &["cudaLaunchKernel -> gemm"],
        0,
    );
}

#[test]
fn ids_far_apart_join_as_well() {
    check(
        Timetable::new()
            .launch(1, 0..5)
            .launch(2_000_000_000, 5..9)
            .kernel(2_000_000_000, "far", 20..30)
            .kernel(1, "near", 30..40),
        &["cudaLaunchKernel -> near", "cudaLaunchKernel -> far"],
        0,
    );
}

/// A Level Zero call has the id of the call that contains it.
#[test]
fn work_on_an_intel_gpu_belongs_to_the_runtime_call_alone() {
    let id = r#""correlation": 1"#;
    check(
        Timetable::new()
            .op("aten::mm", 0..20)
            .on_host("xpu_runtime", "urEnqueueKernelLaunch", 2..12)
            .args(id)
            .on_host("xpu_driver", "zeCommandListAppendLaunchKernel", 4..9)
            .args(id)
            .arrow_start(1)
            .kernel(1, "gemm_kernel", 100..200),
        &[
            "aten::mm",
            "  urEnqueueKernelLaunch -> gemm_kernel",
            "    zeCommandListAppendLaunchKernel",
        ],
        0,
    );
}

/// In the format of PyTorch 1.8 to 1.11.
#[test]
fn old_categories_are_read() {
    let event = |category: &str, name: &str, track: &str, ts: u32| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", {track}, "ts": {ts}, "dur": 5, "args": {{"correlation": {ts}}}}}"#
        )
    };
    let arrow = |phase: &str, track: &str, id: u32| {
        format!(
            r#"{{"ph": "{phase}", "cat": "async", "name": "launch", "id": {id}, {track}, "ts": {id}}}"#
        )
    };
    let host = r#""pid": 100, "tid": "9""#;
    let gpu = r#""pid": 0, "tid": "stream 7""#;
    let mut timetable = Timetable::new()
        .raw(&event("Operator", "ProfilerStep#2", host, 0))
        .raw(&event("Operator", "aten::zero_", host, 1));
    for (name, category, work, ts) in [
        ("cudaLaunchKernel", "Kernel", "gemm", 10),
        ("cudaMemcpyAsync", "Memcpy", "Memcpy HtoD", 20),
        ("cudaMemsetAsync", "Memset", "Memset (Device)", 30),
    ] {
        timetable = timetable
            .raw(&event("Runtime", name, host, ts))
            .raw(&arrow("s", host, ts))
            .raw(&event(category, work, gpu, ts))
            .raw(&arrow("f", gpu, ts));
    }
    let launches = check(
        timetable.clone(),
        &[
            "aten::zero_",
            "cudaLaunchKernel -> gemm",
            "cudaMemcpyAsync -> Memcpy HtoD",
            "cudaMemsetAsync -> Memset (Device)",
        ],
        0,
    );
    assert_eq!(launches.n_by_correlation(), 0);
    let steps = crate::profile::window::steps(&timetable.trace());
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].name, "ProfilerStep#2");
}

#[test]
fn a_graph_launch_is_known_by_any_of_its_names() {
    for name in [
        "cudaGraphLaunch_ptsz",
        "cuGraphLaunch",
        "hipGraphLaunch_spt",
    ] {
        check(
            Timetable::new()
                .driver(name, 2, 5..9)
                .kernel(2, "norm", 20..30)
                .kernel(2, "relu", 30..40),
            &[&format!("{name} -> norm, relu")],
            0,
        );
    }
}

/// No call is named like a launch, and both have the external id of their op.
#[test]
fn copies_alone_are_linked_by_correlation() {
    let external = r#""External id": 9"#;
    check(
        Timetable::new()
            .op("aten::copy_", 0..10)
            .runtime("cudaMemcpyAsync", 4, 1..3)
            .args(external)
            .arrow_start(4)
            .runtime("cudaMemcpyAsync", 5, 4..6)
            .args(external)
            .arrow_start(5)
            .copy(4, "first", 20..30)
            .args(external)
            .copy(5, "second", 30..40)
            .args(external),
        &[
            "aten::copy_",
            "  cudaMemcpyAsync -> first",
            "  cudaMemcpyAsync -> second",
        ],
        0,
    );
}

/// Continues with the events of a rank: rank r runs in process 100 + r and drives device r.
fn on_rank(timetable: Timetable, rank: u32) -> Timetable {
    timetable.process(100 + rank).gpu(rank)
}

/// A call, its work, and the flow between them if flows are recorded.
fn launched(timetable: Timetable, name: &str, id: u32) -> Timetable {
    let (call_us, work_us) = (id * 10, id * 10 + 100);
    timetable
        .launch(id, call_us..call_us + 2)
        .kernel(id, name, work_us..work_us + 10)
}

#[test]
fn ranks_that_count_alike_are_told_apart_by_their_arrows() {
    let mut timetable = Timetable::new();
    for rank in [0, 1] {
        timetable = launched(on_rank(timetable, rank), &format!("gemm_r{rank}"), 1);
        timetable = launched(timetable, &format!("relu_r{rank}"), 2);
    }
    let launches = check(
        timetable,
        &[
            "cudaLaunchKernel -> gemm_r0",
            "cudaLaunchKernel -> relu_r0",
            "cudaLaunchKernel -> gemm_r1",
            "cudaLaunchKernel -> relu_r1",
        ],
        0,
    );
    assert_eq!(launches.n_ambiguous(), 0);
}

/// The first flow belongs to rank 0, and so does the first piece of work.
#[test]
fn ranks_may_share_a_device() {
    let mut timetable = Timetable::new();
    for process in [100, 101] {
        let name = format!("gemm_of_{process}");
        timetable = launched(timetable.process(process), &name, 1);
    }
    check(
        timetable,
        &[
            "cudaLaunchKernel -> gemm_of_100",
            "cudaLaunchKernel -> gemm_of_101",
        ],
        0,
    );
}

/// Flow 1 shows which device belongs to which rank. Graph 2 has one start, and an end for each kernel; of the
/// collectives with id 3, only rank 0's has a flow.
#[test]
fn ranks_are_told_apart_by_their_devices() {
    let mut timetable = Timetable::new();
    for rank in [0, 1] {
        timetable = launched(on_rank(timetable, rank), &format!("gemm_r{rank}"), 1)
            .runtime("cudaGraphLaunch", 2, 12..14)
            .arrow_start(2)
            .kernel(2, &format!("norm_r{rank}"), 120..130)
            .kernel(2, &format!("relu_r{rank}"), 130..140);
        if rank == 1 {
            timetable = timetable.without_flows();
        }
        timetable = launched(timetable, &format!("nccl_r{rank}"), 3);
    }
    let launches = check(
        timetable,
        &[
            "cudaLaunchKernel -> gemm_r0",
            "cudaGraphLaunch -> norm_r0, relu_r0",
            "cudaLaunchKernel -> nccl_r0",
            "cudaLaunchKernel -> gemm_r1",
            "cudaGraphLaunch -> norm_r1, relu_r1",
            "cudaLaunchKernel -> nccl_r1",
        ],
        0,
    );
    assert_eq!(launches.n_by_correlation(), 1);
}

/// Ranks on two machines have the same process id. Each graph has one start, and an end for each kernel; the GEMMs show
/// which thread drives which device.
#[test]
fn ranks_of_one_process_id_are_told_apart_by_their_threads() {
    let mut timetable = Timetable::new();
    for rank in [0, 1] {
        let ids = ["cudaLaunchKernel", "cudaGraphLaunch"].into_iter().zip(1..);
        timetable = timetable.thread(1 + rank).gpu(rank);
        for (call, id) in ids {
            timetable = timetable.driver(call, id, id * 10..id * 10 + 2);
        }
        timetable = timetable
            .kernel(1, &format!("gemm_r{rank}"), 100..110)
            .kernel(2, &format!("norm_r{rank}"), 120..130)
            .kernel(2, &format!("relu_r{rank}"), 130..140);
    }
    check(
        timetable,
        &[
            "cudaLaunchKernel -> gemm_r0",
            "cudaGraphLaunch -> norm_r0, relu_r0",
            "cudaLaunchKernel -> gemm_r1",
            "cudaGraphLaunch -> norm_r1, relu_r1",
        ],
        0,
    );
}

#[test]
fn without_arrows_nothing_tells_ranks_apart() {
    let mut timetable = Timetable::new().without_flows();
    for rank in [0, 1] {
        timetable = launched(on_rank(timetable, rank), &format!("gemm_r{rank}"), 1);
    }
    // Only rank 0 has a call with this id.
    timetable = launched(on_rank(timetable, 0), "relu_r0", 2);
    let launches = check(
        timetable.clone(),
        &[
            "cudaLaunchKernel",
            "cudaLaunchKernel -> relu_r0",
            "cudaLaunchKernel",
        ],
        2,
    );
    assert_eq!(launches.n_ambiguous(), 2);
    let warnings = timetable.profile().warnings;
    assert_eq!(
        warnings.count(crate::import::warning::WarningKind::AmbiguousCorrelation),
        2
    );
}

/// No call was recorded: the kernels have the external ids of their operators.
#[test]
fn where_no_call_was_recorded_external_ids_tell_the_operator() {
    let id = |id: u32| format!(r#""External id": {id}"#);
    let table = |second: u32| {
        let table = Timetable::new().without_flows();
        let table = table.op("aten::mm", 0..5).args(&id(1));
        let table = table.op("aten::add", 6..9).args(&id(2));
        let table = table.kernel(7, "gemm", 30..40).args(&id(1));
        table.kernel(8, "add", 50..60).args(&id(second))
    };
    let linked = check(table(2), &["aten::mm -> gemm", "aten::add -> add"], 0);
    assert_eq!(linked.n_of_operators(), 2);
    // An id that no operator has.
    check(table(3), &["aten::mm -> gemm", "aten::add"], 1);
    // With calls, external ids do not matter.
    let called = table(2).runtime("cudaLaunchKernel", 7, 1..2);
    let linked = check(
        called,
        &["aten::mm", "  cudaLaunchKernel -> gemm", "aten::add"],
        1,
    );
    assert_eq!(linked.n_of_operators(), 0);
}

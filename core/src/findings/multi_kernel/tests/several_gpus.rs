//! Several GPUs in one trace: each hides its own communication, and all wait for the last.

use super::*;

const NCCL: &str = "ncclDevKernel_AllReduce";

/// While one GPU computes, the other one waits in a collective: neither hides its own communication.
///
/// ```text
/// ms     0        1        2
/// GPU 0  [= gemm =)[= nccl =)
/// GPU 1  [= nccl =)[= gemm =)
/// ```
#[test]
fn what_another_gpu_computes_hides_nothing() {
    let profile = Timetable::new()
        .work("aten::mm", "gemm", 1_000..2_000)
        .work("c10d::allreduce_", NCCL, 2_000..3_000)
        .gpu(1)
        .work("c10d::allreduce_", NCCL, 1_000..2_000)
        .work("aten::mm", "gemm", 2_000..3_000)
        .profile();
    let (facts, _) = analyzed(&profile);
    let overlap = facts.overlap();
    assert_eq!((overlap.percent, overlap.label()), (Some(0.0), "CRITICAL"));
    // Half of the run of one GPU.
    assert!((facts.blocking().percent - 50.0).abs() < 1e-9);
    assert_eq!(facts.timeline.exposed_comm_ns, 1_000_000);
    assert_eq!(facts.own, facts.timeline);
    // The sheet combines both GPUs, one of which computes at any time.
    let report = Report::new(&profile, &ReportOptions::default());
    assert_eq!(report.timelines.whole.unwrap().exposed_comm_ns, 0);
}

/// GPU 1 computes for 3 ms, GPU 0 for 1 ms and then waits for it; the transfer takes 1 ms.
///
/// ```text
/// ms     0        1        2        3        4
/// GPU 0  [= gemm =)[= nccl =================)
/// GPU 1  [= gemm ===================)[= nccl )
/// ```
fn findings(group_size: u32) -> Vec<Finding> {
    let message = format!(
        r#""Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8, "Out msg nelems": 8, "Group size": {group_size}, "Process Group Name": "0""#
    );
    let profile = Timetable::new()
        .work("aten::mm", "gemm", 1_000..2_000)
        .work("c10d::allreduce_", NCCL, 2_000..5_000)
        .args(&message)
        .gpu(1)
        .work("aten::mm", "gemm", 1_000..4_000)
        .work("c10d::allreduce_", NCCL, 4_000..5_000)
        .args(&message)
        .profile();
    analyzed(&profile).1
}

/// With balanced load both would compute for 2 ms: the run of 4 ms would take 3. Overlap hides at most the 1 ms that
/// GPU 1 communicates.
#[test]
fn the_gpu_that_comes_last_is_named_and_overlap_wins_what_it_has_exposed() {
    let findings = findings(2);
    assert_eq!(keys(&findings), ["nccl_blocking_compute", "uneven_gpus"]);
    assert!(findings.iter().all(|found| saves(found).2 == 1_000_000));
    let uneven = &findings[1].issue;
    assert!(uneven.contains("waits 1.00 ms on average (25.0 % of the run)"));
    assert!(uneven.contains("most often GPU 1 (1 of 1)"));
}

#[test]
fn ranks_that_are_not_in_the_trace_are_not_reported() {
    assert_eq!(keys(&findings(8)), ["nccl_blocking_compute"]);
}

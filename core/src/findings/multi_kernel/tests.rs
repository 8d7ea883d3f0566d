//! Each assessment on its lines, and each pattern from a trace with one such trouble.

use serde_json::Value as Json;

use super::*;
use crate::findings::{Finding, Priority};
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

const D2H: &str = "Memcpy DtoH (Device -> Pinned)";
const H2D: &str = "Memcpy HtoD (Pageable -> Device)";

/// The metrics, and what was found.
fn analysed(profile: &Profile) -> (Json, Vec<Finding>) {
    let report = Report::new(profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("multi_kernel").unwrap();
    (
        metrics(&report.analysis_input(profile)),
        outcome.findings.clone(),
    )
}

/// Copies of `each_us` in the last part of a run of 10 ms that computes otherwise.
fn copies(name: &str, count: u32, each_us: f64) -> Profile {
    let end = 10_000.0 - f64::from(count) * each_us;
    let mut timetable = Timetable::new()
        .without_flows()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .op("aten::item", 20..90)
        .op("aten::_local_scalar_dense", 21..89);
    for id in 0..count {
        let at = 22.0 + f64::from(id) * 0.1;
        timetable = timetable.runtime("cudaMemcpyAsync", 10 + id, at..at + 0.05);
    }
    timetable = timetable.kernel(1, "gemm", 0.0..end);
    for id in 0..count {
        let at = end + f64::from(id) * each_us;
        timetable = timetable
            .copy(10 + id, name, at..at + each_us)
            .args(r#""bytes": 4000"#);
    }
    timetable.profile()
}

#[test]
fn copies_are_flagged_above_ten_and_time_holds_counts_back() {
    // Share of the run in 10 ms: 1 µs each is 0.01 % of it.
    let cases: &[(u32, f64, bool, &str, &str, &str)] = &[
        // Ten are not flagged, eleven are. By time there is nothing: one level at most.
        (10, 1.0, false, "ACCEPTABLE", "LOW", "LOW"),
        (11, 1.0, true, "ACCEPTABLE", "MEDIUM", "LOW"),
        // A hundred and one tiny ones are not critical: 1.01 %, low, raised by one level.
        (101, 1.0, true, "LOW", "CRITICAL", "MEDIUM"),
        // 0.2 %: nothing by time.
        (20, 1.0, true, "ACCEPTABLE", "MEDIUM", "LOW"),
        // Exactly 5 % is medium and not flagged, more is high.
        (5, 100.0, false, "MEDIUM", "ACCEPTABLE", "MEDIUM"),
        (5, 101.0, true, "HIGH", "ACCEPTABLE", "HIGH"),
        // Above 10 %.
        (5, 250.0, true, "CRITICAL", "ACCEPTABLE", "CRITICAL"),
    ];
    for &(count, each_us, is_flagged, by_time, by_count, severity) in cases {
        let (metrics, findings) = analysed(&copies(D2H, count, each_us));
        let assessed = &metrics["memcpy_assessment"]["by_direction"]["D2H"];
        let case = format!("{count} of {each_us} µs: {assessed}");
        assert_eq!(assessed["count"], count, "{case}");
        assert_eq!(assessed["flagged"], is_flagged, "{case}");
        assert_eq!(assessed["severity_by_time"], by_time, "{case}");
        assert_eq!(assessed["severity_by_count"], by_count, "{case}");
        assert_eq!(assessed["severity"], severity, "{case}");
        assert_eq!(assessed["avg_bytes"], 4000, "{case}");
        let patterns: Vec<&str> = findings.iter().map(|found| found.pattern).collect();
        let expected: &[&str] = if is_flagged {
            &["high_d2h_memcpy"]
        } else {
            &[]
        };
        assert_eq!(patterns, expected, "{case}");
    }
}

#[test]
fn a_finding_says_who_asks_for_the_copies() {
    let (_, findings) = analysed(&copies(D2H, 20, 50.0));
    let [found] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    // 20 times 50 µs are 1 ms of 10 ms: ten percent, not more.
    assert_eq!(found.priority, Priority::High);
    assert_eq!(found.time_ns, 1_000_000);
    assert_eq!(found.impact.map(|impact| impact.high_ns), Some(1_000_000));
    assert_eq!(
        found.issue,
        "20 copies take 1.00 ms (10.0 % of the run), 1.00 ms of it while nothing else runs."
    );
    assert!(
        found.reasoning.iter().any(|sentence| sentence
            == "20 of 20 come from `aten::_local_scalar_dense` (`.item()`, or a tensor used as a number of Python)."),
        "{:?}",
        found.reasoning
    );
    // 4 000 bytes in 50 µs are 0.08 GB/s.
    let bandwidth = found.tables[0].rows[0].last();
    assert_eq!(bandwidth, Some(&Value::GbPerS(0.08)));
}

#[test]
fn pageable_memory_and_the_line_of_the_user_are_named() {
    let profile = Timetable::new()
        .frame("train.py(12): step", 0..100)
        .frame("torch/_tensor.py(40): to", 1..99)
        .op("aten::copy_", 2..98)
        .launch(1, 10..97)
        .kernel(2, "gemm", 0.0..10.0)
        .copy(1, H2D, 20..90)
        .profile();
    let (metrics, findings) = analysed(&profile);
    assert_eq!(metrics["memcpy_assessment"]["severity"], "CRITICAL");
    assert_eq!(findings[0].pattern, "high_h2d_memcpy");
    let row = &findings[0].tables[0].rows[0];
    assert_eq!(row[1], Value::Text("pageable".to_owned()));
    assert_eq!(row[2], Value::Quoted("aten::copy_".to_owned()));
    assert_eq!(row[3], Value::Quoted("train.py(12): step".to_owned()));
    // The call returned after the copy: the host waited for all of its 87 µs.
    let waits = "Calls that returned only after their copy was done held the host for 87.0 µs.";
    assert!(findings[0].reasoning.iter().any(|said| said == waits));
}

/// Computation and communication as drawn, in a run of `total` µs.
fn communication(total: f64, compute: f64, comm: std::ops::Range<f64>) -> Profile {
    Timetable::new()
        .without_flows()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .op("record_param_comms", 10..20)
        .args(r#""Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 2000000, "Out msg nelems": 2000000, "Group size": 8"#)
        .launch(2, 11..12)
        .op("aten::mm", 20..30)
        .launch(3, 21..22)
        .kernel(1, "gemm", 0.0..compute)
        .stream(9)
        .kernel(2, "ncclDevKernel_Generic", comm.start..comm.end)
        // The run ends here whatever the other two do.
        .copy(3, "Memcpy DtoD (Device -> Device)", total - 1.0..total)
        .profile()
}

#[test]
fn exposed_communication_on_its_lines() {
    // Of 10 ms; the communication begins when the computation ends.
    let cases: &[(f64, &str, bool)] = &[
        (200.0, "ACCEPTABLE", false),
        (201.0, "LOW", false),
        (500.0, "LOW", false),
        (501.0, "MEDIUM", true),
        (1000.0, "MEDIUM", true),
        (1001.0, "HIGH", true),
        (2000.0, "HIGH", true),
        (2001.0, "CRITICAL", true),
    ];
    for &(exposed, severity, is_flagged) in cases {
        let profile = communication(10_000.0, 7_000.0, 7_000.0..7_000.0 + exposed);
        let (metrics, _) = analysed(&profile);
        let assessed = &metrics["nccl_blocking_assessment"];
        assert_eq!(assessed["severity"], severity, "{exposed}");
        assert_eq!(assessed["flagged"], is_flagged, "{exposed}");
        assert_eq!(assessed["exposed_comm_time_ms"], exposed / 1e3);
    }
}

#[test]
fn overlap_on_its_lines() {
    // 1 ms of communication of which so much runs beside computation; in 100 ms, so that nothing
    // blocks.
    let cases: &[(f64, &str, bool)] = &[
        (299.0, "CRITICAL", true),
        (300.0, "HIGH", true),
        (500.0, "MEDIUM", true),
        (699.0, "MEDIUM", true),
        (700.0, "GOOD", false),
        (1000.0, "GOOD", false),
    ];
    for &(hidden, label, is_flagged) in cases {
        let start = 5_000.0 - hidden;
        let profile = communication(100_000.0, 5_000.0, start..start + 1_000.0);
        let (metrics, findings) = analysed(&profile);
        let assessed = &metrics["overlap_assessment"];
        assert_eq!(assessed["severity"], label, "{hidden}");
        assert_eq!(assessed["flagged"], is_flagged, "{hidden}");
        assert_eq!(assessed["overlap_ratio"], hidden / 1e3, "{hidden}");
        let patterns: Vec<&str> = findings.iter().map(|found| found.pattern).collect();
        let expected: &[&str] = match is_flagged {
            true => &["poor_comm_compute_overlap"],
            false => &[],
        };
        assert_eq!(patterns, expected, "{hidden}");
        // At most 1 % of the run is exposed: no more than one level above that.
        assert!(findings.iter().all(|found| found.priority == Priority::Low));
    }
}

#[test]
fn too_little_communication_is_not_judged() {
    for (comm, status) in [(99.0, "insufficient"), (100.0, "ok")] {
        let profile = communication(10_000.0, 7_000.0, 7_000.0..7_000.0 + comm);
        let (metrics, _) = analysed(&profile);
        assert_eq!(metrics["overlap_assessment"]["status"], status);
    }
}

/// Of 10 ms: 6 ms of communication, 2 ms of them beside computation, 4 ms alone: 40 % of the run.
/// At 70 % overlap 1.8 ms would be alone, so 2.2 ms would be won; but of the 4 ms of computation 2 ms
/// are taken, so that only the other 2 ms can hide any of it. Sending nothing at all would win 4 ms.
#[test]
fn blocking_and_overlap_are_one_finding() {
    let profile = communication(10_000.0, 4_000.0, 2_000.0..8_000.0);
    let (metrics, findings) = analysed(&profile);
    let [found] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(found.pattern, "nccl_blocking_compute");
    assert_eq!(found.priority, Priority::Critical);
    let impact = found.impact.unwrap();
    assert_eq!(
        (impact.low_ns, impact.mid_ns, impact.high_ns),
        (2_000_000, 3_000_000, 4_000_000)
    );
    assert_eq!(metrics["overlap_assessment"]["potential_savings_ms"], 2.0);
    assert_eq!(
        found.reasoning[0],
        "Only 2.00 ms of computation are left for it to run beside, so that overlap wins no more than that; the other 2.00 ms are transfer or waiting for other ranks, and shrink with less to send or with ranks that arrive together."
    );
    let patterns: Vec<&str> = metrics["patterns_detected"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|pattern| pattern["pattern"].as_str())
        .collect();
    assert_eq!(
        patterns,
        ["nccl_blocking_compute", "poor_comm_compute_overlap"]
    );
    // The kernel's name says nothing, its operator does: 4 MB among 8 in 6 ms.
    let row = &found.tables[0].rows[0];
    assert_eq!(row[0], Value::Text("all-reduce".to_owned()));
    assert_eq!(row[1], Value::Count(8));
    assert_eq!(row[3], Value::Bytes(4_000_000));
    assert_eq!(row[6], Value::Ns(4_000_000));
    assert!(
        found
            .model
            .starts_with("run the collectives of tensor parallelism")
    );
}

/// The same with 7 ms of computation, 5 ms of them free: all 4 ms can hide.
#[test]
fn overlap_wins_what_there_is_computation_to_hide_behind() {
    let profile = communication(11_000.0, 7_000.0, 5_000.0..11_000.0);
    let (metrics, findings) = analysed(&profile);
    let impact = findings[0].impact.unwrap();
    assert_eq!(
        (impact.low_ns, impact.mid_ns, impact.high_ns),
        (2_200_000, 3_100_000, 4_000_000)
    );
    assert_eq!(metrics["overlap_assessment"]["potential_savings_ms"], 2.2);
    assert_eq!(
        findings[0].reasoning[0],
        "With 70.0 % of it beside computation 2.20 ms would be won, with all of it 4.00 ms."
    );
}

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
        findings[0].model.starts_with(
            "gradients are reduced during the backward pass already: see in the traces"
        )
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
            "run the collectives of tensor parallelism beside its products",
        ),
        (
            "SyncBatchNorm",
            "_allgather_base",
            "default_pg",
            "synchronised batch norms",
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
            "run the exchange beside other work",
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

/// 8 copies of 1 ms on GPU 0 are 40 % of 20 ms, whatever another GPU does.
#[test]
fn what_another_gpu_does_makes_copies_no_cheaper() {
    let found = |has_other: bool| {
        let mut timetable = Timetable::new().op("aten::to", 0..60).launch(1, 1..2);
        timetable = timetable.launch(2, 3..4);
        for id in 0..8 {
            let at = 5 + 2 * id;
            timetable = timetable.launch(10 + id, at..at + 1);
        }
        timetable = timetable.kernel(1, "gemm", 8_000..20_000);
        for id in 0..8 {
            timetable = timetable.copy(10 + id, H2D, 1_000 * id..1_000 * (id + 1));
        }
        if has_other {
            timetable = timetable.gpu(1).kernel(2, "fill", 9_000..9_002);
        }
        let (_, findings) = analysed(&timetable.profile());
        (findings[0].issue.clone(), findings[0].impact)
    };
    let (issue, impact) = found(true);
    assert_eq!(
        issue,
        "8 copies take 8.00 ms (40.0 % of the run), 8.00 ms of it while nothing else runs."
    );
    assert_eq!((issue, impact), found(false));
}

/// ```text
/// ms     0       1       2       3       4
/// host   [copy]          [gemm]
/// GPU    [= copy 1 =)    [= gemm =======)
/// ```
#[test]
fn copies_that_are_over_before_the_next_launch_win_nothing() {
    let profile = Timetable::new()
        .op("aten::to", 0..10)
        .launch(1, 1..2)
        .op("aten::mm", 2_000..2_010)
        .launch(2, 2_001..2_002)
        .copy(1, "Memcpy HtoD (Pinned -> Device)", 10..1_010)
        .kernel(2, "gemm", 2_010..4_010)
        .profile();
    let (_, findings) = analysed(&profile);
    let impact = findings[0].impact.unwrap();
    assert_eq!(
        (impact.low_ns, impact.mid_ns, impact.high_ns),
        (0, 0, 1_000_000)
    );
    let said = findings[0].reasoning.last().unwrap();
    assert!(said.starts_with("All of this is won only once the host launches in time"));
}

/// Of 6 copies of 330 µs, 15 % of the run, one runs alone: 2.5 % of it, and the others cost nothing.
#[test]
fn copies_beside_computation_count_by_what_they_cost() {
    let mut timetable = Timetable::new().op("aten::mm", 0..10).launch(1, 1..2);
    for id in 0..6 {
        let at = 3 + id;
        timetable = timetable.launch(10 + id, at..at + 1);
    }
    timetable = timetable.kernel(1, "gemm", 0..12_870).stream(21);
    for id in 0..6 {
        let at = match id {
            5 => 12_870,
            id => 1_000 + 2_000 * id,
        };
        timetable = timetable.copy(10 + id, D2H, at..at + 330);
    }
    let (metrics, findings) = analysed(&timetable.profile());
    assert_eq!(
        metrics["memcpy_assessment"]["by_direction"]["D2H"]["percent_of_total"],
        15.0
    );
    assert!(findings.is_empty(), "{findings:?}");
}

/// What stands above the launch of a graph is the operator of no one kernel: its tensors are no
/// messages.
#[test]
fn a_collective_of_a_graph_does_not_tell_its_size() {
    let profile = Timetable::new()
        .without_flows()
        .op("CompiledFunction", 0..20)
        .args(r#""Input Dims": [[1, 2048]], "Input type": ["long int"]"#)
        .runtime("cudaGraphLaunch", 1, 1..2)
        .kernel(1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 100..300)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("multi_kernel").unwrap();
    let table = outcome
        .tables
        .iter()
        .find(|table| table.key == "collectives");
    let row: Vec<String> = table.unwrap().rows[0].iter().map(Value::text).collect();
    assert_eq!(row[..5], ["all-reduce", "–", "–", "–", "1"]);
}

/// A collective whose call is missing is left out, and not said to be none.
#[test]
fn communication_without_its_call_is_said() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .kernel(1, "gemm", 20..30)
        .kernel(7, "ncclDevKernel_Generic_1", 30..190)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("multi_kernel").unwrap();
    let said = "The calls of all collective communication are missing, so that it is left out: 160 µs of it.";
    assert!(
        outcome.notes.iter().any(|note| note == said),
        "{:?}",
        outcome.notes
    );
}

#[test]
fn times_agree_with_the_timeline() {
    let profile = communication(10_000.0, 4_000.0, 2_000.0..8_000.0);
    let (metrics, _) = analysed(&profile);
    let rows = metrics["cross_validation"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert!(
        rows.iter()
            .all(|row| row["status"] == "OK" && row["diff_ms"] == 0.0)
    );
}

#[test]
fn data_hold_counts_and_times() {
    let profile = copies(D2H, 20, 50.0);
    let report = Report::new(&profile, &ReportOptions::default());
    let data = data(&report.analysis_input(&profile));
    let d2h = &data["memcpy_summary"]["by_direction"]["D2H"];
    assert_eq!(d2h["total_time_us"], 1000.0);
    assert_eq!(d2h["avg_time_us"], 50.0);
    assert_eq!(d2h["total_bytes"], 80_000);
    assert_eq!(data["nccl_summary"]["total_count"], 0);
    assert_eq!(data["overlap_analysis"]["comm_overlap_ratio"], Json::Null);
    assert_eq!(data["overlap_analysis"]["memcpy_percent_of_total"], 10.0);
}

#[test]
fn without_gpu_work_there_is_nothing_to_say() {
    let profile = Timetable::new().op("aten::mm", 0..10).profile();
    let (metrics, findings) = analysed(&profile);
    assert_eq!(metrics["status"], "NO_DATA");
    assert!(findings.is_empty());
}

#[test]
fn pinned_memory_is_not_to_be_pinned() {
    let model = |name: &str| analysed(&copies(name, 20, 50.0)).1[0].model.clone();
    assert!(model(H2D).starts_with("pin host memory"));
    let pinned = model("Memcpy HtoD (Pinned -> Device)");
    assert!(
        pinned.starts_with("host memory is pinned already: start copies earlier"),
        "{pinned}"
    );
}

#[test]
fn one_copy_and_one_collective_are_told_in_the_singular() {
    let (_, findings) = analysed(&copies("Memcpy HtoD (Pinned -> Device)", 1, 1_500.0));
    let copy = &findings[0];
    assert_eq!(
        copy.issue,
        "1 copy takes 1.50 ms (15.0 % of the run), 1.50 ms of it while nothing else runs."
    );
    assert!(copy.reasoning[1].starts_with("1 of 1 comes from"));
    assert_eq!(copy.reasoning[2], "It moves 4.00 kB at 0.003 GB/s.");
    assert!(!copy.kernel.contains("join"), "{}", copy.kernel);
    let (_, findings) = analysed(&communication(10_000.0, 4_000.0, 2_000.0..8_000.0));
    let sentence =
        "Most of it is all-reduce of 4.00 MB, 1 time: 4.00 ms while nothing computes.".to_owned();
    assert!(
        findings[0].reasoning.contains(&sentence),
        "{:?}",
        findings[0].reasoning
    );
}

/// 3 copies of 100 µs in 10 ms are 3 %: from pageable memory, while nothing else runs, enough.
#[test]
fn exposed_copies_of_pageable_memory_are_flagged_from_two_percent() {
    let cases = [
        (H2D, 3, 100.0, true),
        (H2D, 2, 100.0, false),
        ("Memcpy HtoD (Pinned -> Device)", 3, 100.0, false),
        ("Memcpy HtoD (Host -> Device)", 3, 100.0, false),
    ];
    for (name, count, each_us, is_flagged) in cases {
        let (_, findings) = analysed(&copies(name, count, each_us));
        assert_eq!(findings.len(), usize::from(is_flagged), "{name} {count}");
    }
}

/// Of 500 µs: 100 µs that bring gradients back, 50 µs that gather buffers, below a frame.
#[test]
fn copies_of_data_parallel_training_are_its_own() {
    const D2D: &str = "Memcpy DtoD (Device -> Device)";
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .op("torch.distributed.ddp.reducer::copy_bucket_to_grad", 10..30)
        .op("aten::copy_", 11..29)
        .launch(2, 12..13)
        .frame(
            "torch/nn/parallel/distributed.py(2174): _sync_module_buffers",
            30..50,
        )
        .launch(3, 32..33)
        .kernel(1, "gemm", 100..450)
        .copy(2, D2D, 450..550)
        .copy(3, D2D, 550..600)
        .profile();
    let (_, findings) = analysed(&profile);
    let found = &findings[0];
    assert_eq!(found.pattern, "high_d2d_memcpy");
    for setting in ["gradient_as_bucket_view=True", "broadcast_buffers=False"] {
        assert!(found.model.contains(setting), "{}", found.model);
    }
    let said = [
        "1 of 2 copies gradients out of the buckets of `DistributedDataParallel`.",
        "1 of 2 copies buffers of the model, which `DistributedDataParallel` broadcasts before each forward pass.",
    ];
    assert_eq!(found.reasoning[1..3], said);
    let rows = &found.tables[0].rows;
    assert_eq!(
        rows[0][2],
        Value::Quoted("torch.distributed.ddp.reducer::copy_bucket_to_grad".to_owned())
    );
    assert_eq!(
        rows[1][3],
        Value::Quoted("distributed.py(2174): _sync_module_buffers".to_owned())
    );
}

/// 2 048 × 4 096 numbers of 2 bytes are 16.8 MB, in 80 µs 210 GB/s; among 8 members 1.75 times that
/// is on the links.
#[test]
fn an_all_reduce_of_its_own_kernel_tells_its_size_by_the_operator() {
    let profile = Timetable::new()
        .op("vllm::all_reduce", 0..20)
        .args(r#""Input Dims": [[2048, 4096], []], "Input type": ["c10::BFloat16", ""]"#)
        .launch(1, 1..2)
        .op("aten::mm", 20..30)
        .launch(2, 21..22)
        .kernel(
            1,
            "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)",
            100..180,
        )
        .kernel(2, "gemm", 180..400)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("multi_kernel").unwrap();
    let table = outcome
        .tables
        .iter()
        .find(|table| table.key == "collectives");
    let row: Vec<String> = table.unwrap().rows[0].iter().map(Value::text).collect();
    let expected = [
        "all-reduce",
        "8",
        "BFloat16",
        "16.8 MB",
        "1",
        "80.0 µs",
        "80.0 µs",
        "210 GB/s",
        "367 GB/s",
        "367 GB/s",
    ];
    assert_eq!(row, expected);
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

/// 4 MB among 8 in 6 ms: 0.667 · 1.75 = 1.17 GB/s on links that carry 450 GB/s each way.
#[test]
fn the_bus_bandwidth_is_held_against_the_links() {
    let profile = communication(10_000.0, 4_000.0, 2_000.0..8_000.0);
    let report = Report::new(&profile, &crate::testing::options_on("H100"));
    let found = &report.analyses.outcome("multi_kernel").unwrap().findings[0];
    let plain = |text: &str| text.replace('\u{202F}', " ");
    assert!(
        plain(&found.issue).ends_with(
            "; its bus bandwidth is 1.17 GB/s in the mean, 0.3 % of the 450 GB/s that the links carry each way."
        ),
        "{}",
        found.issue
    );
    // 7 MB at 450 GB/s.
    assert!(
        found.reasoning.iter().any(|said| plain(said).starts_with(
            "At the bandwidth of the links the messages that tell their size would take 15.6 µs of 6.00 ms: the rest is waiting"
        )),
        "{:?}",
        found.reasoning
    );
}

/// 2 ms of copies beside a product of 9 ms: nothing waits for them.
#[test]
fn hidden_copies_are_no_finding() {
    let found = |start: u32| {
        let mut timetable = Timetable::new();
        for id in 0..20 {
            let at = 10 + 2 * id;
            timetable = timetable.launch(10 + id, at..at + 1);
        }
        timetable = timetable
            .op("aten::mm", 60..70)
            .launch(1, 61..62)
            .kernel(1, "gemm", 1_000..10_000)
            .stream(9);
        for id in 0..20 {
            let at = start + 100 * id;
            timetable = timetable.copy(10 + id, D2H, at..at + 100);
        }
        let (_, findings) = analysed(&timetable.profile());
        let priorities = findings.iter().map(|found| found.priority);
        priorities.collect::<Vec<_>>()
    };
    assert_eq!(found(2_000), []);
    // The last of them ends 100 µs after the product: low by what it costs, one level above it.
    assert_eq!(found(8_100), [Priority::Medium]);
}

/// 30 sizes of messages in kernels of 10 µs on two streams at once: 150 µs, not 300.
#[test]
fn collectives_on_two_streams_are_exposed_once_and_all_are_counted() {
    let mut timetable = Timetable::new().op("aten::mm", 0..5).launch(100, 1..2);
    for id in 0..30 {
        let at = 10 + 10 * id;
        timetable = timetable
            .op("record_param_comms", at..at + 9)
            .args(&format!(
                r#""Collective name": "all_to_allv", "dtype": "Float", "In msg nelems": {0}, "Out msg nelems": {0}, "Group size": 4"#,
                1000 + id
            ))
            .launch(id, at + 1..at + 2);
    }
    timetable = timetable.kernel(100, "gemm", 400..1_000);
    for id in 0..30 {
        let at = 1_000 + 10 * (id / 2);
        timetable = timetable
            .stream(9 + id % 2)
            .kernel(id, "ncclDevKernel_SendRecv", at..at + 10);
    }
    let (_, findings) = analysed(&timetable.profile());
    let found = &findings[0];
    let said = "Most of it is all-to-all, 30 times with 30 kinds of messages: 150 µs while nothing computes.";
    assert!(
        found.reasoning.iter().any(|sentence| sentence == said),
        "{:?}",
        found.reasoning
    );
    // 20 rows, and one for the other ten.
    let rows = &found.tables[0].rows;
    assert_eq!(rows.len(), 21);
    let rest: Vec<String> = rows[20].iter().take(6).map(Value::text).collect();
    assert_eq!(rest, ["10 more", "–", "–", "–", "10", "100 µs"]);
}

#[test]
fn large_copies_are_not_to_be_joined_or_kept() {
    let advice = |name: &str| {
        let profile = Timetable::new()
            .op("aten::to", 0..10)
            .launch(1, 1..2)
            .launch(2, 3..4)
            .copy(1, name, 100..600)
            .args(r#""bytes": 12000000"#)
            .copy(2, name, 600..1_100)
            .args(r#""bytes": 12000000"#)
            .profile();
        let found = analysed(&profile).1[0].clone();
        (found.model, found.kernel)
    };
    let (_, kernel) = advice(H2D);
    assert!(!kernel.contains("join"), "{kernel}");
    let (model, _) = advice("Memcpy DtoH (Device -> Pageable)");
    assert!(
        model.contains("pinned buffer") && model.contains("non_blocking=True"),
        "{model}"
    );
    assert!(!advice(D2H).0.contains("pinned buffer"));
}

/// ROCm calls a read into pinned memory a copy within the GPU; its call says where it goes.
#[test]
fn the_call_says_where_a_copy_goes() {
    let d2h = |call: &str| {
        let profile = Timetable::new()
            .without_flows()
            .op("aten::_local_scalar_dense", 0..10)
            .runtime("hipMemcpyWithStream", 1, 1..9)
            .args(call)
            .copy(1, "Memcpy DtoD (Device -> Device)", 4..6)
            .profile();
        let (metrics, _) = analysed(&profile);
        let report = Report::new(&profile, &ReportOptions::default());
        let directions = &metrics["memcpy_assessment"]["by_direction"];
        (
            directions["D2H"]["count"].as_u64(),
            report.judged[0].is_over_link,
        )
    };
    assert_eq!(d2h(r#""kind": "2""#), (Some(1), true));
    assert!(!d2h(r#""kind": "3""#).1);
    assert!(!d2h(r#""kind": "4""#).1);
}

#[test]
fn a_title_says_how_much_overlaps() {
    // 1 ms of communication, of which so much is hidden.
    let title = |hidden: f64| {
        let start = 5_000.0 - hidden;
        let profile = communication(100_000.0, 5_000.0, start..start + 1_000.0);
        analysed(&profile).1[0].title.clone()
    };
    assert_eq!(
        title(299.0),
        "Communication hardly overlaps with computation"
    );
    assert_eq!(
        title(301.0),
        "Communication overlaps with computation only in part"
    );
}

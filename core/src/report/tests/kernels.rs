//! Sheets of GPU time: its split, kernels, collectives.

use super::*;
use crate::report::SheetEvents;

#[test]
fn gpu_timeline() {
    check(
        &step().profile(),
        "gpu_timeline",
        &[
            "type,time ms,percent",
            "computation_time,0.022,44.0",
            "exposed_comm_time,0.008,16.0",
            "exposed_memcpy_time,0.01,20.0",
            "busy_time,0.04,80.0",
            "idle_time,0.01,20.0",
            "total_time,0.05,100.0",
            "total_comm_time,0.02,40.0",
            "total_memcpy_time,0.01,20.0",
        ],
    );
}

#[test]
fn gpu_timeline_of_all_gpu_work() {
    let options = ReportOptions {
        sheet_events: SheetEvents::All,
        ..ReportOptions::default()
    };
    check_with(
        &step().profile(),
        options,
        "gpu_timeline",
        &[
            "type,time ms,percent",
            "computation_time,0.026,40.625",
            "exposed_comm_time,0.008,12.5",
            "exposed_memcpy_time,0.01,15.625",
            "busy_time,0.044,68.75",
            "idle_time,0.02,31.25",
            "total_time,0.064,100.0",
            "total_comm_time,0.02,31.25",
            "total_memcpy_time,0.01,15.625",
        ],
    );
}

#[test]
fn idling_is_split_where_a_threshold_asks_for_it() {
    // Gaps of 4, 5 and 20 µs; the copy on another stream shortens none of them.
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launched("gemm", 1..2, 100..110)
        .launched("gemm", 2..3, 114..120)
        .launched("gemm", 3..4, 125..130)
        .launched("gemm", 4..5, 150..160)
        .profile();
    for (micro_idle_us, expected) in [
        (0.0, &["idle_time,0.029"][..]),
        (5.0, &["micro_idle_time,0.004", "macro_idle_time,0.025"]),
        (5.001, &["micro_idle_time,0.009", "macro_idle_time,0.02"]),
        (f64::NAN, &["idle_time,0.029"]),
    ] {
        let options = ReportOptions {
            thresholds: Thresholds {
                micro_idle_us,
                ..Thresholds::default()
            },
            ..ReportOptions::default()
        };
        let lines = lines(&profile, &options, "gpu_timeline", &["type", "time ms"]);
        assert_eq!(&lines[5..5 + expected.len()], expected);
    }
}

#[test]
fn kernel_summary() {
    // The copy is not a kernel, and a kernel without a launching call has no operator.
    check(
        &step().profile(),
        "kernel_summary",
        &[
            "Parent op category,Parent cpu_op,Kernel name,Kernel stream,\
             Kernel duration (µs)_sum,Kernel duration (µs)_count,Kernel duration (µs)_mean,\
             Kernel duration (µs)_min,Kernel duration (µs)_max,Percent of kernels time (%),\
             Percent of total time (%),Dormer category,Dormer category by,library",
            "GEMM,aten::mm,gemm,7,20.0,1,20.0,20.0,20.0,43.47826086956522,40.0,GEMM,operator,",
            "record_param_comms,record_param_comms,ncclDevKernel_AllReduce,20,\
             20.0,1,20.0,20.0,20.0,43.47826086956522,40.0,Communication,operator,NCCL/RCCL",
            ",,warm-up,7,4.0,1,4.0,4.0,4.0,8.695652173913043,8.0,Other,kernel name,",
            "elementwise,aten::add,add,7,2.0,1,2.0,2.0,2.0,4.3478260869565215,4.0,Element-wise,operator,",
        ],
    );
}

#[test]
fn kernels_of_launches_outside_operators() {
    let profile = Timetable::new()
        .op("aten::mm", 0..1)
        .runtime("hipGraphLaunch", 1, 10..20)
        .kernel(1, "gemm", 30..40)
        .launched("relu", 20..25, 40..45)
        .profile();
    check_columns(
        &profile,
        "kernel_summary",
        &["Parent op category", "Parent cpu_op"],
        &["graph,hipGraphLaunch", "runtime,cudaLaunchKernel"],
    );
}

#[test]
fn short_kernels() {
    let profile = step().profile();
    // The kernel without an operator is in the histogram and not in the summary.
    check(
        &profile,
        "short_kernels_summary",
        &[
            "Parent cpu_op,Input dims,Input strides,Concrete Inputs,Kernel name,\
             Short Kernel duration (µs) sum,Short Kernel count,Short Kernel duration (µs) mean,\
             Short Kernel duration (µs) percent of total time",
            r#"aten::add,"((2, 4), ())","((4, 1), ())","('', '1')",add,2.0,1,2.0,4.0"#,
        ],
    );
    let options = ReportOptions {
        thresholds: Thresholds {
            short_kernel_bins: 4.0,
            ..Thresholds::default()
        },
        ..ReportOptions::default()
    };
    check_with(
        &profile,
        options,
        "short_kernel_histogram",
        &[
            "bin_start,bin_end,count",
            "2.0,2.5,1",
            "2.5,3.0,0",
            "3.0,3.5,0",
            "3.5,4.0,1",
        ],
    );
}

#[test]
fn a_trace_without_operators_gives_timeline_and_kernels() {
    let profile = Timetable::new().launched("gemm", 0..5, 10..18).profile();
    assert_eq!(profile.warnings.count(WarningKind::NoHostEvents), 1);
    assert_eq!(
        names(&profile),
        [
            "gpu_timeline",
            "kernel_summary",
            "short_kernel_histogram",
            "short_kernels_summary"
        ]
    );
    check(
        &profile,
        "kernel_summary",
        &[
            "Parent op category,Kernel name,Kernel stream,Kernel duration (µs)_sum,\
             Kernel duration (µs)_count,Kernel duration (µs)_mean,Kernel duration (µs)_min,\
             Kernel duration (µs)_max,Percent of kernels time (%),Percent of total time (%),\
             Dormer category,Dormer category by,library",
            "runtime,gemm,7,8.0,1,8.0,8.0,8.0,100.0,100.0,GEMM,kernel name,",
        ],
    );
    check(
        &profile,
        "short_kernels_summary",
        &[
            "Kernel name,Short Kernel duration (µs) sum,Short Kernel count,\
             Short Kernel duration (µs) mean,Short Kernel duration (µs) percent of total time",
            "gemm,8.0,1,8.0,100.0",
        ],
    );
}

#[test]
fn coll_analysis() {
    let message = r#""Collective name": "allreduce", "In msg nelems": 1048576, "Out msg nelems": 1048576, "Group size": 8, "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", "Process Group Ranks": "[0, 1]""#;
    let unnamed = r#""warps per SM": NaN, "In msg nelems": 2097152, "Out msg nelems": 2097152, "Group size": 2, "dtype": "Float8_e4m3fn", "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", "Process Group Ranks": "[0, 1]""#;
    let profile = Timetable::new()
        .op("record_param_comms", 0..10)
        .launch(1, 1..2)
        .launch(2, 3..4)
        .launch(3, 5..6)
        .launch(4, 7..8)
        .kernel(1, "ncclDevKernel", 20..30)
        .args(message)
        .kernel(2, "ncclDevKernel", 30..50)
        .args(message)
        // What it did was not recorded.
        .kernel(3, "ncclDevKernel", 50..60)
        // Its name says what it did.
        .kernel(
            4,
            "vllm::cross_device_reduce_1stage<c10::BFloat16, 8>",
            60..64,
        )
        .args(unnamed)
        .profile();
    check(
        &profile,
        "coll_analysis",
        &[
            "rank,Process Group Name,Process Group Ranks,Collective name,Group size,dtype,\
             In msg nelems,Out msg nelems,In split size,Out split size,stream,\
             In msg size (MB)_first,Out msg size (MB)_first,dur_sum,dur_mean,dur_std,dur_min,\
             dur_max,operation_count",
            "0,0,\"[0, 1]\",allreduce,8.0,BFloat16,1048576.0,1048576.0,[],[],7,2.0,2.0,30.0,15.0,\
             7.0710678118654755,10.0,20.0,2",
            "0,0,\"[0, 1]\",allreduce,2.0,Float8_e4m3fn,2097152.0,2097152.0,[],[],7,2.0,2.0,4.0,4.0,\
             ,4.0,4.0,1",
        ],
    );
}

/// Six all-to-alls; the first and the fourth have the same splits, the second and the fifth, and so on.
#[test]
fn collectives_are_rows_by_their_splits() {
    let mut timetable = Timetable::new();
    for id in 0..6 {
        let (start, split) = (20 + id * 100, id % 3);
        timetable = timetable
            .launch(id, id..id + 1)
            .kernel(id, "ncclDevKernel_SendRecv", start..start + 10 * (3 - split))
            .args(&format!(
                r#""Collective name": "all_to_allv", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "Float", "In split size": "[{split}, {}]", "Out split size": "[]", "Process Group Name": "0", "Process Group Ranks": "[0, 1]""#,
                8 - split
            ));
    }
    check_columns(
        &timetable.profile(),
        "coll_analysis",
        &["In split size", "dur_sum", "operation_count"],
        &[
            "\"[0, 8]\",60.0,2",
            "\"[1, 7]\",40.0,2",
            "\"[2, 6]\",20.0,2",
        ],
    );
}

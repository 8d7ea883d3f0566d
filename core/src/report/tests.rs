//! Each sheet on a trace small enough to check by hand, as CSV.

use super::sheet::{Cell, Column};
use super::{GpuEvents, Parts, Report, ReportOptions, SHEETS};
use crate::assess::Thresholds;
use crate::import::warning::WarningKind;
use crate::output::export::csv::csv;
use crate::profile::Profile;
use crate::testing::Timetable;

fn check(profile: &Profile, sheet: &str, expected: &[&str]) {
    check_with(profile, ReportOptions::default(), sheet, expected);
}

fn check_with(profile: &Profile, options: ReportOptions, sheet: &str, expected: &[&str]) {
    let report = Report::new(profile, &options);
    let text = report.sheet(profile, sheet).map_or(String::new(), |sheet| {
        String::from_utf8(csv(sheet)).unwrap()
    });
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

fn names(profile: &Profile) -> Vec<&'static str> {
    let report = Report::new(profile, &ReportOptions::default());
    let sheets = report.sheets(profile).into_iter();
    sheets.map(|sheet| sheet.name).collect()
}

/// Two operators with shapes, two streams, a copy, a collective and a kernel from before.
fn step() -> Timetable {
    let shapes = |dims: &str, strides: &str, concrete: &str| {
        format!(
            r#""Input Dims": {dims}, "Input type": ["float", ""], "Input Strides": {strides}, "Concrete Inputs": {concrete}"#
        )
    };
    Timetable::new()
        .op("aten::mm", 0..20)
        .args(&shapes("[[2, 3], [3, 4]]", "[[3, 1], [4, 1]]", r#"["", ""]"#))
        .launch(1, 5..10)
        .op("aten::add", 20..40)
        .args(&shapes("[[2, 4], []]", "[[4, 1], []]", r#"["", "1"]"#))
        .launch(2, 25..30)
        .op("record_param_comms", 40..60)
        .launch(3, 45..50)
        .runtime("cudaMemcpyAsync", 4, 60..65)
        .raw(r#"{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 4, "pid": 100, "tid": 1, "ts": 60}"#)
        .kernel(1, "gemm", 100..120)
        .kernel(2, "add", 120..122)
        .copy(4, "Memcpy DtoH", 140..150)
        .kernel(9, "warm-up", 160..164)
        .stream(20)
        .kernel(3, "ncclDevKernel_AllReduce", 110..130)
}

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
        gpu_events: GpuEvents::All,
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
fn ops_summary() {
    check(
        &step().profile(),
        "ops_summary",
        &[
            "name,total_direct_kernel_time_sum,total_subtree_kernel_time_sum,\
             total_direct_kernel_time_ms,total_subtree_kernel_time_ms,Count,Categories,\
             Percentage (%),Cumulative Percentage (%),Dormer category,library",
            "aten::mm,20.0,20.0,0.02,0.02,1,['GEMM'],62.5,62.5,GEMM,",
            "cudaMemcpyAsync,10.0,10.0,0.01,0.01,1,['other'],31.25,93.75,Memory copy,GPU runtime",
            "aten::add,2.0,2.0,0.002,0.002,1,['elementwise'],6.25,100.0,Element-wise,",
        ],
    );
}

#[test]
fn ops_summary_by_category() {
    check(
        &step().profile(),
        "ops_summary_by_category",
        &[
            "op category,Count,total_direct_kernel_time_ms,Percentage (%),Cumulative Percentage (%)",
            "GEMM,1,0.02,62.5,62.5",
            "other,1,0.01,31.25,93.75",
            "elementwise,1,0.002,6.25,100.0",
        ],
    );
}

#[test]
fn ops_unique_args() {
    let relu = |dims: &str| format!(r#""Input Dims": {dims}"#);
    let profile = Timetable::new()
        .op("aten::relu", 0..10)
        .args(&relu("[[4]]"))
        .launch(1, 1..2)
        .op("aten::relu", 10..20)
        .args(&relu("[[5, 6]]"))
        .launch(2, 11..12)
        // The same arguments, spelled differently.
        .op("aten::relu", 20..30)
        .args(&relu("[ [4] ]"))
        .launch(3, 21..22)
        .kernel(1, "relu", 100..110)
        .kernel(2, "relu", 110..115)
        .kernel(3, "relu", 120..140)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let sheet = report.sheet(&profile, "ops_unique_args").unwrap();
    let columns = [
        "name",
        "thread_name",
        "Input Dims",
        "Concrete Inputs",
        "operation_count",
        "total_direct_kernel_time_mean",
        "total_direct_kernel_time_std",
        "total_subtree_kernel_time_sum",
        "ex_UID",
        "Cumulative Percentage (%)",
    ];
    let cells: Vec<Vec<_>> = sheet
        .rows
        .iter()
        .map(|row| {
            let cell = |label| row[sheet.column(label).unwrap()].clone();
            columns.map(cell).to_vec()
        })
        .collect();
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(
        cells,
        [
            vec![
                text("aten::relu"),
                text("Unknown"),
                text("((4,),)"),
                Cell::Empty,
                Cell::Int(2),
                Cell::Float(15.0),
                Cell::Float(50.0_f64.sqrt()),
                Cell::Float(30.0),
                Cell::Int(0),
                Cell::Float(30.0 * 100.0 / 35.0),
            ],
            vec![
                text("aten::relu"),
                text("Unknown"),
                text("((5, 6),)"),
                Cell::Empty,
                Cell::Int(1),
                Cell::Float(5.0),
                Cell::Empty,
                Cell::Float(5.0),
                Cell::Int(3),
                Cell::Float(100.0),
            ],
        ]
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
        // What it did is not written down.
        .kernel(3, "ncclDevKernel", 50..60)
        // Its name tells what it did.
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

/// Six all-to-alls, of which the first and the fourth, the second and the fifth … are split alike.
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
    let profile = timetable.profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let sheet = report.sheet(&profile, "coll_analysis").unwrap();
    let columns = ["In split size", "dur_sum", "operation_count"].map(|label| {
        sheet
            .columns
            .iter()
            .position(|column| column.label == label)
    });
    let cells: Vec<Vec<_>> = sheet
        .rows
        .iter()
        .map(|row| columns.map(|column| row[column.unwrap()].clone()).to_vec())
        .collect();
    let row = |split: &str, sum| vec![Cell::Text(split.to_owned()), Cell::Float(sum), Cell::Int(2)];
    assert_eq!(
        cells,
        [
            row("[0, 8]", 60.0),
            row("[1, 7]", 40.0),
            row("[2, 6]", 20.0)
        ]
    );
}

#[test]
fn sheets_of_one_kind_group_by_what_the_model_reads() {
    let mm = |n: u32| {
        format!(
            r#""Input Dims": [[2, 3], [3, {n}]], "Input type": ["float", "float"], "Input Strides": [[3, 1], [{n}, 1]], "Concrete Inputs": ["", ""]"#
        )
    };
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(&mm(4))
        .launch(1, 1..2)
        .op("aten::mm", 10..20)
        .args(&mm(5))
        .launch(2, 11..12)
        // Without GPU work it counts all the same.
        .op("aten::mm", 20..30)
        .args(&mm(4))
        .kernel(1, "gemm", 40..50)
        .kernel(2, "gemm", 50..70)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let sheet = report.sheet(&profile, "GEMM").unwrap();
    let columns = [
        "param: M",
        "param: N",
        "GFLOPS_first",
        "TFLOPS/s_max",
        "Input Dims_first",
        "Kernel Time (µs)_sum",
        "name_count",
        "UID_first",
    ];
    let cells: Vec<Vec<_>> = sheet
        .rows
        .iter()
        .map(|row| {
            let cell = |label| row[sheet.column(label).unwrap()].clone();
            columns.map(cell).to_vec()
        })
        .collect();
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(
        cells,
        [
            vec![
                text("2"),
                text("5"),
                Cell::Float(60.0 / 1e9),
                Cell::Float(60.0 / 20_000.0 / 1e3),
                text("[[2, 3], [3, 5]]"),
                Cell::Float(20.0),
                Cell::Int(1),
                Cell::Int(3),
            ],
            vec![
                text("2"),
                text("4"),
                Cell::Float(48.0 / 1e9),
                Cell::Float(48.0 / 10_000.0 / 1e3),
                text("[[2, 3], [3, 4]]"),
                Cell::Float(10.0),
                Cell::Int(2),
                Cell::Int(0),
            ],
        ]
    );
}

#[test]
fn kernel_summary() {
    // The copy is no kernel; what no call launched has no operator.
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
        .launch(2, 20..25)
        .kernel(2, "relu", 40..45)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let parents: Vec<_> = report
        .sheet(&profile, "kernel_summary")
        .unwrap()
        .rows
        .iter()
        .map(|row| format!("{:?} {:?}", row[0], row[1]))
        .collect();
    assert_eq!(
        parents,
        [
            r#"Text("graph") Text("hipGraphLaunch")"#,
            r#"Text("runtime") Text("cudaLaunchKernel")"#,
        ]
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
fn recomputed_activations_have_rows_of_their_own() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .kernel(1, "gemm", 50..60)
        .frame("torch/utils/checkpoint.py(400): recompute_fn", 10..30)
        .op("aten::mm", 12..20)
        .launch(2, 13..14)
        .kernel(2, "gemm", 60..65)
        .profile();
    check(
        &profile,
        "ops_summary",
        &[
            "name,is_recompute,total_direct_kernel_time_sum,total_subtree_kernel_time_sum,\
             total_direct_kernel_time_ms,total_subtree_kernel_time_ms,Count,Categories,\
             Percentage (%),Cumulative Percentage (%),Dormer category,library",
            "aten::mm,False,10.0,10.0,0.01,0.01,1,['GEMM'],66.66666666666667,66.66666666666667,GEMM,",
            "aten::mm,True,5.0,5.0,0.005,0.005,1,['GEMM'],33.333333333333336,100.0,GEMM,",
        ],
    );
    let report = Report::new(&profile, &ReportOptions::default());
    let timeline = report.sheet(&profile, "gpu_timeline").unwrap();
    assert_eq!(timeline.columns[3].label, "is_recompute");
    assert_eq!(timeline.rows.len(), 16);
    // Shares of the total are shares of the time without recomputation.
    let kernels = report.sheet(&profile, "kernel_summary").unwrap();
    assert_eq!(format!("{:?}", kernels.rows[0][10]), "Float(150.0)");
}

#[test]
fn a_trace_without_operators_gives_timeline_and_kernels() {
    let profile = Timetable::new()
        .launch(1, 0..5)
        .kernel(1, "gemm", 10..18)
        .profile();
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
fn a_trace_without_gpu_activity_gives_the_host_side() {
    let profile = Timetable::new()
        .op("aten::linear", 0..10)
        .op("aten::mm", 2..9)
        .profile();
    assert_eq!(profile.warnings.count(WarningKind::NoGpuEvents), 1);
    assert_eq!(names(&profile), ["cpu_ops_summary"]);
    check(
        &profile,
        "cpu_ops_summary",
        &[
            "name,Count,total_cpu_time_ms,self_cpu_time_ms,Percentage (%)",
            "aten::mm,1,0.007,0.007,70.0",
            "aten::linear,1,0.01,0.003,30.0",
        ],
    );
}

#[test]
fn gpu_work_that_nothing_launched_is_shown_all_the_same() {
    let profile = Timetable::new()
        .op("aten::mm", 0..1)
        .kernel(1, "gemm", 30..40)
        .profile();
    assert_eq!(profile.warnings.count(WarningKind::NothingLinked), 1);
    let report = Report::new(&profile, &ReportOptions::default());
    assert_eq!(report.options.gpu_events, GpuEvents::Linked);
    assert_eq!(report.timelines.events, GpuEvents::All);
    assert_eq!(report.timelines.whole.unwrap().total_ns(), 10_000);
}

#[test]
fn unlinked_work_is_counted() {
    let profile = step().profile();
    assert_eq!(profile.warnings.count(WarningKind::UnlinkedGpuWork), 1);
    assert_eq!(profile.warnings.count(WarningKind::NothingLinked), 0);
}

#[test]
fn an_empty_trace_has_no_sheets() {
    assert_eq!(names(&Timetable::new().profile()), [] as [&str; 0]);
}

#[test]
fn sheets_are_named_once_and_rows_are_as_long_as_columns() {
    let profile = step().profile();
    let report = Report::new(&profile, &ReportOptions::default());
    for sheet in report.sheets(&profile) {
        for row in &sheet.rows {
            assert_eq!(row.len(), sheet.columns.len(), "{}", sheet.name);
        }
    }
    let mut kinds: Vec<_> = SHEETS.iter().map(|kind| kind.name).collect();
    let place = |name| kinds.iter().position(|kind| *kind == name);
    let places: Vec<_> = report
        .sheets(&profile)
        .iter()
        .map(|sheet| place(sheet.name))
        .collect();
    assert!(places.is_sorted() && !places.contains(&None), "{places:?}");
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), SHEETS.len());
}

#[test]
fn impossible_times_do_not_overflow() {
    let far = r#""dur": 80000000000, "args": {"correlation": 1, "stream": 7}"#;
    let event = |category: &str, ts: &str| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "x", "pid": 0, "tid": 7, "ts": {ts}, {far}}}"#
        )
    };
    let mut timetable = Timetable::new();
    for ts in ["9223372036854775", "-9223372036854775", "0"] {
        for category in ["cpu_op", "cuda_runtime", "kernel"] {
            timetable = timetable.raw(&event(category, ts));
        }
    }
    let report = Report::new(&timetable.profile(), &ReportOptions::default());
    assert_eq!(report.timelines.whole.unwrap().total_ns(), i64::MAX);
}

#[test]
fn idling_is_split_where_a_threshold_asks_for_it() {
    // Gaps of 4, 5 and 20 µs; the copy on another stream shortens none of them.
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launch(1, 1..2)
        .launch(2, 2..3)
        .launch(3, 3..4)
        .launch(4, 4..5)
        .kernel(1, "gemm", 100..110)
        .kernel(2, "gemm", 114..120)
        .kernel(3, "gemm", 125..130)
        .kernel(4, "gemm", 150..160)
        .profile();
    for (micro_idle_us, expected) in [
        (0.0, vec![("idle_time", 0.029)]),
        (
            5.0,
            vec![("micro_idle_time", 0.004), ("macro_idle_time", 0.025)],
        ),
        (
            5.001,
            vec![("micro_idle_time", 0.009), ("macro_idle_time", 0.02)],
        ),
        (f64::NAN, vec![("idle_time", 0.029)]),
    ] {
        let options = ReportOptions {
            thresholds: Thresholds {
                micro_idle_us,
                ..Thresholds::default()
            },
            ..ReportOptions::default()
        };
        let report = Report::new(&profile, &options);
        let sheet = report.sheet(&profile, "gpu_timeline").unwrap();
        let idle: Vec<_> = sheet.rows[4..4 + expected.len()]
            .iter()
            .map(|row| (row[0].clone(), row[1].clone()))
            .collect();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(label, ms)| (Cell::Text(label.to_owned()), Cell::Float(ms)))
            .collect();
        assert_eq!(idle, expected);
    }
}

/// What `docs/columns.md` lists is what sheets have.
#[test]
fn every_sheet_has_columns_of_its_kind_in_their_order() {
    let trace = crate::sample::trace_json();
    let profile = Profile::new(crate::import::import(trace.as_bytes()).unwrap());
    for options in [ReportOptions::default(), crate::testing::options_on("H100")] {
        for sheet in Report::new(&profile, &options).sheets(&profile) {
            let kind = SHEETS.iter().find(|kind| kind.name == sheet.name).unwrap();
            let known = (kind.columns)(&Parts::ALL);
            let fixed = |columns: &[Column]| -> Vec<&'static str> {
                let labels = columns.iter().map(|column| column.label);
                labels
                    .filter(|label| !label.starts_with("param: "))
                    .collect()
            };
            let (has, can_have) = (fixed(&sheet.columns), fixed(&known));
            let mut rest = can_have.iter();
            for label in &has {
                assert!(rest.any(|known| known == label), "{}: {label}", sheet.name);
            }
            for column in &sheet.columns {
                assert!(known.contains(column), "{}: {}", sheet.name, column.label);
            }
        }
    }
}

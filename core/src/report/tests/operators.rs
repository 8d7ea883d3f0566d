//! Sheets of operators.

use super::*;

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
        .call("aten::relu", &relu("[[4]]"), "relu", 100..110)
        .call("aten::relu", &relu("[[5, 6]]"), "relu", 110..115)
        // The same arguments, spelled differently.
        .call("aten::relu", &relu("[ [4] ]"), "relu", 120..140)
        .profile();
    check_columns(
        &profile,
        "ops_unique_args",
        &[
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
        ],
        &[
            "aten::relu,Unknown,\"((4,),)\",,2,15.0,7.0710678118654755,30.0,0,85.71428571428571",
            "aten::relu,Unknown,\"((5, 6),)\",,1,5.0,,5.0,5,100.0",
        ],
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
        .call("aten::mm", &mm(4), "gemm", 40..50)
        .call("aten::mm", &mm(5), "gemm", 50..70)
        // It counts without GPU activity, too.
        .op("aten::mm", 20..30)
        .args(&mm(4))
        .profile();
    let first = 60.0 / 20_000.0 / 1e3;
    let second = 48.0 / 10_000.0 / 1e3;
    check_columns(
        &profile,
        "GEMM",
        &[
            "param: M",
            "param: N",
            "GFLOPS_first",
            "TFLOPS/s_max",
            "Input Dims_first",
            "Kernel Time (µs)_sum",
            "name_count",
            "UID_first",
        ],
        &[
            &format!("2,5,6e-8,{first:?},\"[[2, 3], [3, 5]]\",20.0,1,5"),
            &format!("2,4,4.8e-8,{second:?},\"[[2, 3], [3, 4]]\",10.0,2,0"),
        ],
    );
}

#[test]
fn recomputed_activations_have_rows_of_their_own() {
    let profile = Timetable::new()
        .work("aten::mm", "gemm", 50..60)
        .frame("torch/utils/checkpoint.py(400): recompute_fn", 10..30)
        .op("aten::mm", 12..20)
        .launched("gemm", 13..14, 60..65)
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

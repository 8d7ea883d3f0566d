//! Each cause of idle time from a trace with one such gap.

use serde_json::Value as Json;

use super::*;
use crate::findings::{Finding, Priority};
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

/// The metrics, and what was found.
fn analysed(profile: &Profile) -> (Json, Vec<Finding>) {
    let report = Report::new(profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("cpu_idle").unwrap();
    (
        metrics(&report.analysis_input(profile)),
        outcome.findings.clone(),
    )
}

/// The cause of the longest gap, and its length in microseconds.
fn longest(profile: &Profile) -> (String, f64) {
    let (metrics, _) = analysed(profile);
    let gap = &metrics["gap_analysis"]["top_gaps"][0];
    let cause = gap["cause"].as_str().unwrap_or("none");
    (cause.to_owned(), gap["length_us"].as_f64().unwrap())
}

/// An operator that launches a kernel at `at` µs.
fn launched(timetable: Timetable, id: u32, at: f64) -> Timetable {
    launched_by("aten::add", timetable, id, at)
}

fn launched_by(op: &str, timetable: Timetable, id: u32, at: f64) -> Timetable {
    timetable
        .op(op, at - 5.0..at + 8.0)
        .launch(id, at..at + 5.0)
}

/// Kernels of 3 µs that the host launches every 40 µs: 37 of 40 µs idle.
fn launch_bound(n: u32) -> Profile {
    launch_bound_by("aten::add", "add_kernel", n)
}

fn launch_bound_by(op: &str, kernel: &str, n: u32) -> Profile {
    let mut timetable = Timetable::new();
    for id in 0..n {
        timetable = launched_by(op, timetable, id, 10.0 + 40.0 * f64::from(id));
    }
    for id in 0..n {
        let start = 18.0 + 40.0 * f64::from(id);
        timetable = timetable.kernel(id, kernel, start..start + 3.0);
    }
    timetable.profile()
}

#[test]
fn a_host_that_launches_too_slowly() {
    // 11 kernels and 10 gaps of 37 µs in 403 µs: 91.8 % idle.
    let (metrics, findings) = analysed(&launch_bound(11));
    let [found] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(found.pattern, "launch_bound");
    assert_eq!(found.priority, Priority::Critical);
    assert_eq!(found.time_ns, 370_000);
    assert_eq!(found.impact.map(|impact| impact.high_ns), Some(370_000));
    assert_eq!(found.events.len(), 10);
    assert_eq!(
        found.issue,
        "The run is launch-bound where work ends before the next is launched: the GPU idles for 370 µs (91.8 % of the run) in 10 gaps of up to 37.0 µs."
    );
    assert_eq!(
        found.reasoning[0],
        "A kernel takes 3.00 µs in the mean, and the next launch leaves a gap of 37.0 µs."
    );
    let kernels = &metrics["kernel_analysis"];
    assert_eq!(kernels["short_kernel_count"], 11);
    assert_eq!(kernels["total_kernel_count"], 11);
    assert_eq!(kernels["avg_kernel_time_us"], 3.0);
    assert_eq!(kernels["kernel_count_by_category"]["Element-wise"], 11);
    let gaps = &metrics["gap_analysis"];
    assert_eq!(gaps["histogram"][2]["count"], 10);
    assert_eq!(gaps["histogram"][2]["idle_time_ms"], 0.37);
    assert_eq!(gaps["avg_inter_kernel_gap_us"], 37.0);
    // A gap from 21 to 58 µs: the launch begins at 50, its operator at 45. Of the 34 µs until the
    // launch is over 5 are in the launch, 5 in the rest of the operator, 24 outside.
    let host = "Until the launch the host spent 14.7 % of these gaps in operators, 14.7 % in calls of the GPU runtime, 0 % waiting, and 70.6 % outside of all of them, in Python for the most part.";
    assert_eq!(found.reasoning[2], host);
}

#[test]
fn a_possible_speed_up_aims_at_twenty_percent() {
    // 80 µs of 100 idle: four times the work in the time at 20 %.
    let mut timetable = launched(Timetable::new(), 1, 10.0);
    timetable = launched(timetable, 2, 90.0);
    let profile = timetable
        .kernel(1, "a", 20..30)
        .kernel(2, "b", 110..120)
        .profile();
    let (metrics, _) = analysed(&profile);
    assert_eq!(metrics["gpu_utilization"]["idle_time_percent"], 80.0);
    assert_eq!(metrics["severity"], "CRITICAL");
    assert_eq!(metrics["potential_speedup"], 4.0);
}

#[test]
fn severities_and_the_flag_on_their_lines() {
    // Idle for so much of 1000 µs, between two kernels.
    let cases = [
        (150, false, "ACCEPTABLE"),
        (151, true, "ACCEPTABLE"),
        (200, true, "ACCEPTABLE"),
        (201, true, "LOW"),
        (300, true, "LOW"),
        (301, true, "MEDIUM"),
        (500, true, "MEDIUM"),
        (501, true, "HIGH"),
        (700, true, "HIGH"),
        (701, true, "CRITICAL"),
    ];
    for (idle, is_flagged, severity) in cases {
        let end = 100 + idle;
        let timetable = launched(Timetable::new(), 1, 10.0);
        let timetable = launched(timetable, 2, f64::from(end) - 10.0);
        let profile = timetable
            .kernel(1, "a", 50..100)
            .kernel(2, "b", end..1050)
            .profile();
        let (metrics, findings) = analysed(&profile);
        assert_eq!(metrics["idle_flagged"], is_flagged, "{idle}");
        assert_eq!(metrics["severity"], severity, "{idle}");
        assert_eq!(findings.len(), usize::from(is_flagged), "{idle}");
    }
}

/// `.item()` on the thread that launches: the host waits until the copy is done.
fn item() -> Timetable {
    launched(Timetable::new().without_flows(), 1, 10.0)
        .frame("train.py(30): step", 0..300)
        .op("aten::item", 20..110)
        .op("aten::_local_scalar_dense", 21..109)
        .runtime("cudaMemcpyAsync", 2, 22..25)
        .runtime("cudaStreamSynchronize", 3, 26..107)
}

#[test]
fn a_host_that_waited_for_the_gpu() {
    let profile = launched(item(), 4, 130.0)
        .kernel(1, "a", 20..100)
        .copy(2, "Memcpy DtoH (Device -> Pinned)", 101..103)
        .kernel(4, "b", 140..150)
        .profile();
    let (metrics, findings) = analysed(&profile);
    assert_eq!(longest(&profile), ("synchronisation".to_owned(), 37.0));
    assert_eq!(metrics["gap_analysis"]["sync_point_count"], 1);
    assert_eq!(findings[0].pattern, "synchronisation");
    let longest = "The longest, 37.0 µs, follows `cudaStreamSynchronize` in `train.py(30): step`.";
    assert!(findings[0].reasoning.iter().any(|said| said == longest));
    let said = "Most of it follows `cudaStreamSynchronize` in `aten::_local_scalar_dense`: 37.0 µs in 1 gap.";
    assert!(
        findings[0]
            .reasoning
            .iter()
            .any(|sentence| sentence == said),
        "{:?}",
        findings[0].reasoning
    );
    let row = &findings[0].tables[0].rows[0];
    assert_eq!(row[9], Value::Quoted("cudaStreamSynchronize".to_owned()));
    assert_eq!(row[11], Value::Quoted("train.py(30): step".to_owned()));
}

#[test]
fn a_fill_of_nothing_is_no_launch() {
    // Libraries clear a workspace of no size before a product: the wait still explains the gap.
    let timetable = item().runtime("cudaMemsetAsync", 9, 115..116);
    let profile = launched(timetable, 4, 130.0)
        .kernel(1, "a", 20..100)
        .copy(2, "Memcpy DtoH (Device -> Pinned)", 101..103)
        .kernel(4, "b", 140..150)
        .profile();
    assert_eq!(longest(&profile), ("synchronisation".to_owned(), 37.0));
}

#[test]
fn long_work_after_a_wait_is_the_hosts() {
    // The wait is over at 107 µs, the next launch comes 1.9 ms later.
    let profile = launched(item(), 4, 2_000.0)
        .copy(2, "Memcpy DtoH (Device -> Pinned)", 101..103)
        .kernel(4, "b", 2_010..2_020)
        .profile();
    assert_eq!(longest(&profile), ("host_work".to_owned(), 1_907.0));
}

/// Two kernels; between their launches the host has 900 µs, of which `calls` says more.
fn between(calls: impl Fn(Timetable) -> Timetable) -> Profile {
    let timetable = calls(launched(Timetable::new(), 1, 10.0));
    launched(timetable, 2, 1_000.0)
        .kernel(1, "a", 20..30)
        .kernel(2, "b", 1_010..1_020)
        .profile()
}

#[test]
fn each_cause_by_what_the_host_did() {
    type Calls = fn(Timetable) -> Timetable;
    let cases: [(&str, Calls); 10] = [
        // Nothing at all, or Python.
        ("host_work", |trace| trace),
        ("host_work", |trace| {
            trace.frame("<built-in function collect>", 50..950)
        }),
        ("data_loading", |trace| {
            trace.op(
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                100..700,
            )
        }),
        // Too little of it.
        ("host_work", |trace| {
            trace.op(
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                100..400,
            )
        }),
        ("start_up", |trace| {
            trace.runtime("cuModuleLoadData", 9, 100..800)
        }),
        ("allocation", |trace| {
            trace.runtime("cudaMalloc", 9, 100..800)
        }),
        // Freeing waits for the GPU, but that is not what takes so long.
        ("allocation", |trace| trace.runtime("cudaFree", 9, 20..800)),
        // What is launched into a graph runs nothing yet.
        ("start_up", |trace| {
            trace
                .runtime("cudaStreamBeginCapture", 8, 100..105)
                .runtime("cudaLaunchKernel", 9, 400..405)
                .runtime("cudaStreamEndCapture", 10, 700..800)
        }),
        ("start_up", |trace| {
            trace.frame("torch/_dynamo/convert_frame.py(666): _compile", 100..900)
        }),
        // Operators that launch nothing do not make it launch-bound.
        ("host_work", |trace| trace.op("aten::empty", 100..900)),
    ];
    for (at, (class, calls)) in cases.into_iter().enumerate() {
        let profile = between(calls);
        assert_eq!(longest(&profile), (class.to_owned(), 980.0), "case {at}");
    }
}

#[test]
fn a_launch_that_loads_its_kernel_is_start_up() {
    let profile = launched(Timetable::new(), 1, 10.0)
        .op("aten::mm", 20..5_030)
        .launch(2, 30..5_020)
        .kernel(1, "a", 20..30)
        .kernel(2, "b", 5_030..5_040)
        .profile();
    assert_eq!(longest(&profile), ("start_up".to_owned(), 5_000.0));
}

#[test]
fn work_that_was_launched_in_time_waited_on_the_gpu() {
    let timetable = launched(Timetable::new(), 1, 10.0);
    let profile = launched(timetable, 2, 30.0)
        .kernel(1, "a", 40..100)
        .kernel(2, "b", 200..300)
        .profile();
    assert_eq!(longest(&profile), ("queued".to_owned(), 100.0));
    // Launched in the gap, but most of the gap came after.
    let timetable = launched(Timetable::new(), 1, 10.0);
    let profile = launched(timetable, 2, 110.0)
        .kernel(1, "a", 40..100)
        .kernel(2, "b", 900..1000)
        .profile();
    assert_eq!(longest(&profile), ("queued".to_owned(), 800.0));
}

/// Gaps of 900 and 10 µs in a run of 1 140 µs: their number says nothing.
#[test]
fn one_long_gap_is_named_instead_of_a_number_of_gaps() {
    let timetable = launched(Timetable::new(), 1, 10.0);
    let timetable = launched(timetable, 2, 30.0);
    let profile = launched(timetable, 3, 45.0)
        .kernel(1, "a", 60..100)
        .kernel(2, "b", 1_000..1_100)
        .kernel(3, "c", 1_110..1_200)
        .profile();
    let (_, findings) = analysed(&profile);
    let queued = findings.iter().find(|found| found.pattern == "queued");
    let queued = queued.unwrap();
    assert_eq!(
        queued.issue,
        "Work that was launched already begins late: the GPU idles for 910 µs (79.8 % of the run) \
         in 2 gaps, nearly all of it in one of 900 µs."
    );
    assert!(!queued.kernel.contains("fewer gaps"), "{}", queued.kernel);
}

#[test]
fn another_thread_that_launches_is_no_host_work() {
    // The thread of the backward pass launches for the first time, right after the main thread.
    let mut timetable = launched(Timetable::new(), 1, 10.0);
    timetable = launched(timetable, 2, 2_000.0);
    let profile = launched(timetable.thread(2), 3, 2_100.0)
        .kernel(1, "a", 20..2_005)
        .kernel(2, "b", 2_010..2_015)
        .kernel(3, "c", 2_115..2_200)
        .profile();
    assert_eq!(longest(&profile), ("launch_bound".to_owned(), 100.0));
}

#[test]
fn gaps_inside_of_graphs_are_their_own() {
    let profile = Timetable::new()
        .op("aten::mm", 0..5)
        .runtime("cudaGraphLaunch", 7, 10..20)
        .kernel(7, "a", 40..50)
        .kernel(7, "b", 90..100)
        .profile();
    assert_eq!(longest(&profile), ("graph_launch".to_owned(), 40.0));
    let report = Report::new(&profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("cpu_idle").unwrap();
    assert!(outcome.notes[0].starts_with("The trace has launches of GPU graphs."));
}

/// What ends a gap is known without operators, too, where it is a graph that was launched late.
#[test]
fn a_graph_that_is_launched_late_is_launched_late() {
    let profile = Timetable::new()
        .runtime("cudaGraphLaunch", 7, 10..20)
        .runtime("cudaGraphLaunch", 8, 100..110)
        .kernel(7, "a", 40..50)
        .kernel(8, "b", 130..140)
        .profile();
    assert_eq!(longest(&profile), ("launch_bound".to_owned(), 80.0));
    let (_, findings) = analysed(&profile);
    let model = &findings[0].model;
    assert!(
        model.starts_with("most of it comes before GPU graphs"),
        "{model}"
    );
}

/// Whether the GPU worked after the graph of which nothing was recorded, nobody knows.
#[test]
fn a_graph_without_recorded_work_may_fill_its_gap() {
    let profile = launched(Timetable::new(), 1, 10.0).runtime("hipGraphLaunch", 7, 30..50);
    let profile = launched(profile, 2, 60.0)
        .kernel(1, "a", 20..30)
        .kernel(2, "b", 900..910)
        .profile();
    assert_eq!(longest(&profile), ("unrecorded_graphs".to_owned(), 870.0));
    let (_, findings) = analysed(&profile);
    assert_eq!(
        findings[0].title,
        "Graphs ran of which nothing was recorded"
    );
    assert_eq!(findings[0].impact, None);
}

/// ```text
/// µs     0    20  30           872 880
/// GPU         [a==)[? no launch )[b=)
/// ```
#[test]
fn work_without_a_launch_is_no_idle_time() {
    let profile = launched(launched(Timetable::new(), 1, 10.0), 2, 860.0)
        .kernel(1, "a", 20..30)
        .kernel(9, "unlinked", 30..872)
        .kernel(2, "b", 880..900)
        .profile();
    let (metrics, findings) = analysed(&profile);
    // As in the reference it counts as idle time …
    assert_eq!(metrics["gpu_utilization"]["idle_time_ms"], 0.85);
    assert_eq!(
        metrics["gap_analysis"]["by_cause"]["unlinked_work"]["idle_time_ms"],
        0.842
    );
    // … and nothing is promised for it.
    let promised: Vec<(&str, Option<i64>)> = findings
        .iter()
        .map(|found| (found.pattern, found.impact.map(|impact| impact.high_ns)))
        .collect();
    assert_eq!(
        promised,
        [("host_work", Some(8_000)), ("unlinked_work", None)]
    );
    let report = Report::new(&profile, &ReportOptions::default());
    let said = format!(
        " In {} of the run it does work that counts as none, because its launch is not known.",
        format::percent(842.0 / 8.8)
    );
    assert!(
        report.overview.headline.contains(&said),
        "{}",
        report.overview.headline
    );
}

/// A host that launches every 40 µs, and waits for next to nothing before that.
#[test]
fn a_short_wait_is_no_cause() {
    let wait = |took: f64| {
        launched(Timetable::new(), 1, 10.0)
            .op("aten::item", 20.0..33.0)
            .runtime("cudaStreamSynchronize", 3, 31.0 - took..31.0)
    };
    let cause = |took: f64| {
        let profile = launched(wait(took), 2, 60.0)
            .kernel(1, "a", 18..30)
            .kernel(2, "b", 70..80)
            .profile();
        longest(&profile)
    };
    assert_eq!(cause(10.0), ("synchronisation".to_owned(), 40.0));
    assert_eq!(cause(4.0), ("launch_bound".to_owned(), 40.0));
}

#[test]
fn a_wait_outside_of_operators_is_a_call_of_the_programs() {
    let profile = launched(
        launched(Timetable::new(), 1, 10.0).runtime("cudaDeviceSynchronize", 3, 20..102),
        2,
        130.0,
    )
    .kernel(1, "a", 20..100)
    .kernel(2, "b", 140..150)
    .profile();
    let (_, findings) = analysed(&profile);
    assert!(
        findings[0]
            .model
            .starts_with("take `torch.cuda.synchronize()`")
    );
}

#[test]
fn what_the_host_works_in_is_named() {
    let profile = between(|trace| trace.op("aten::_fused_adamw_", 100..900));
    let (_, findings) = analysed(&profile);
    let said = "In 1 gap it is in `aten::_fused_adamw_` for most of the time: 800 µs.";
    let reasoning = &findings[0].reasoning;
    assert!(reasoning.iter().any(|one| one == said), "{reasoning:?}");
    // After a wait the wait could go as well.
    let waited = launched(Timetable::new(), 1, 10.0)
        .op("aten::item", 20..1_010)
        .runtime("cudaStreamSynchronize", 3, 26..1_007);
    let waited = launched(waited, 4, 2_000.0)
        .kernel(1, "a", 20..1_000)
        .kernel(4, "b", 2_010..2_020)
        .profile();
    let (_, findings) = analysed(&waited);
    assert_eq!(findings[0].pattern, "host_work");
    assert!(
        findings[0]
            .model
            .contains("Or take the wait before it away")
    );
}

/// Fills count among what is short, and the range of the optimizer is named.
#[test]
fn what_is_launched_late_is_named() {
    let mut timetable = Timetable::new().annotation("Optimizer.zero_grad#SGD.zero_grad", 0..400);
    for id in 0..10 {
        timetable = launched_by("aten::zero_", timetable, id, 10.0 + 40.0 * f64::from(id));
    }
    timetable = launched(timetable, 10, 410.0);
    for id in 0..10 {
        let start = 18.0 + 40.0 * f64::from(id);
        timetable = timetable.fill(id, "Memset (Device)", start..start + 3.0);
    }
    let profile = timetable.kernel(10, "add_kernel", 418..430).profile();
    let (_, findings) = analysed(&profile);
    let found = &findings[0];
    assert!(
        found
            .model
            .contains("`zero_grad(set_to_none=True)` launches none. Or capture")
    );
    assert_eq!(
        found.reasoning[..4],
        [
            "A kernel, copy or fill takes 3.82 µs in the mean, and the next launch leaves a gap of 37.0 µs.",
            "10 of 11 kernels, copies and fills are shorter than 10.0 µs.",
            "9 of 10 gaps end with a launch in `Optimizer.zero_grad#SGD.zero_grad`: 333 µs.",
            "The most of it comes before work of `aten::zero_`: 333 µs in 9 gaps.",
        ]
    );
}

#[test]
fn without_operators_nobody_knows() {
    let profile = Timetable::new()
        .launch(1, 10..15)
        .launch(2, 100..105)
        .kernel(1, "a", 20..30)
        .kernel(2, "b", 110..120)
        .profile();
    assert_eq!(longest(&profile), ("unknown".to_owned(), 80.0));
}

#[test]
fn gaps_sum_up_to_the_idle_time_of_the_timeline() {
    let profile = launch_bound(50);
    let report = Report::new(&profile, &ReportOptions::default());
    let idle = Idle::new(&report.analysis_input(&profile)).unwrap();
    let of_classes: i64 = idle.by_time().iter().map(|(_, gaps)| gaps.ns).sum();
    assert_eq!(of_classes, report.timelines.whole.unwrap().idle_ns);
    let of_bins: i64 = idle.histogram.iter().map(|tally| tally.ns).sum();
    assert_eq!(of_bins, of_classes);
    assert_eq!(idle.top.len(), crate::assess::idle::N_TOP);
}

#[test]
fn a_gap_of_nanoseconds_counts_and_is_not_listed() {
    let (metrics, _) = analysed(
        &Timetable::new()
            .launch(1, 10..15)
            .launch(2, 16..18)
            .launch(3, 100..105)
            .kernel(1, "a", 20..30)
            .kernel(2, "b", 30.001..40.0)
            .kernel(3, "c", 110..120)
            .profile(),
    );
    let gaps = &metrics["gap_analysis"];
    assert_eq!(gaps["gap_count"], 2);
    let listed = gaps["top_gaps"].as_array().unwrap().iter();
    let listed: Vec<f64> = listed.filter_map(|gap| gap["length_us"].as_f64()).collect();
    assert_eq!(listed, [70.0]);
}

#[test]
fn patterns_of_kernels() {
    let (metrics, _) = analysed(&launch_bound(11));
    let patterns: Vec<(&str, &str)> = metrics["patterns_detected"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|pattern| Some((pattern["pattern"].as_str()?, pattern["severity"].as_str()?)))
        .collect();
    assert_eq!(
        patterns,
        [
            ("critical_gpu_underutilization", "CRITICAL"),
            ("kernel_launch_overhead", "HIGH"),
            ("small_average_kernel_time", "HIGH"),
        ]
    );
}

#[test]
fn without_gpu_work_there_is_nothing_to_say() {
    let profile = Timetable::new().op("aten::mm", 0..10).profile();
    let (metrics, findings) = analysed(&profile);
    assert_eq!(metrics["status"], "NO_DATA");
    assert!(findings.is_empty());
}

/// ```text
/// host   [launch a)            [launch b)
/// GPU         [=====a=====)          [==b==)
/// µs     0    5          15   20     27
/// ```
#[test]
fn gaps_are_marked_with_their_cause() {
    let profile = Timetable::new()
        .op("aten::mm", 0..4)
        .launch(1, 1..3)
        .op("aten::mm", 16..30)
        .launch(2, 20..24)
        .kernel(1, "gemm", 5..15)
        .kernel(2, "gemm", 27..35)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let marked = idle_gaps(&report.analysis_input(&profile));
    let times: Vec<(i64, i64, &str)> = marked
        .iter()
        .map(|gap| (gap.span.start_ns, gap.span.end_ns, gap.key))
        .collect();
    assert_eq!(times, [(15_000, 27_000, "launch_bound")]);
}

#[test]
fn what_is_compiled_is_not_to_be_compiled() {
    let advice = |op: &str| {
        let (metrics, findings) = analysed(&launch_bound_by(op, op, 11));
        let patterns = metrics["patterns_detected"].as_array().unwrap().iter();
        let mut short = patterns.filter(|one| one["pattern"] == "kernel_launch_overhead");
        let of_pattern = short.next().unwrap()["recommendation"].to_string();
        [findings[0].model.clone(), of_pattern]
    };
    for said in advice("aten::add") {
        assert!(said.contains("or compile it"), "{said}");
    }
    for said in advice("triton_poi_fused_add_0") {
        assert!(
            said.contains("in a GPU graph") && !said.contains("or compile it"),
            "{said}"
        );
    }
}

/// ```text
/// host       [launch 1][launch 2]                     [launch 3]
/// stream 7   [1]
/// stream 9                             [=2=)
/// µs         0..5                      2 000..2 100   2 130: 3
/// ```
///
/// The first work of stream 9 was launched at 30 µs: it may have waited for what was launched before
/// the recording.
#[test]
fn before_the_first_work_of_a_stream_the_gpu_may_have_worked() {
    let timetable = launched(Timetable::new(), 1, 10.0);
    let timetable = launched(timetable, 2, 30.0);
    let profile = launched(timetable, 3, 2_120.0)
        .kernel(1, "a", 20..25)
        .stream(9)
        .kernel(2, "b", 2_025..2_100)
        .kernel(3, "c", 2_130..4_020)
        .profile();
    assert_eq!(longest(&profile), ("before_recording".to_owned(), 2_000.0));
    let (metrics, findings) = analysed(&profile);
    // The gap of 30 µs before the third is small beside it, and larger than what is left out.
    let patterns: Vec<&str> = findings.iter().map(|found| found.pattern).collect();
    assert_eq!(patterns, ["host_work", "before_recording"]);
    let found = &findings[1];
    assert_eq!(found.priority, Priority::Low);
    // 2 000 of 4 000 µs, which nothing can save.
    assert_eq!((found.time_ns, found.impact), (2_000_000, None));
    assert_eq!(metrics["severity"], "ACCEPTABLE");
    assert_eq!(metrics["potential_speedup"], Json::Null);
    let report = Report::new(&profile, &ReportOptions::default());
    let headline = &report.overview.headline;
    let said = " In 50.0 % of the run it may still do what was launched before the recording.";
    assert!(
        headline.replace('\u{202F}', " ").contains(said),
        "{headline}"
    );
    let warned = |line: &crate::report::overview::QualityLine| {
        line.sentence
            .contains("launched before the recording may have run")
    };
    assert!(report.overview.quality.lines.iter().any(warned));
    // The same later on the stream is a gap like any other.
    let timetable = launched(Timetable::new(), 1, 10.0);
    let later = launched(timetable, 2, 30.0)
        .kernel(1, "a", 20..25)
        .kernel(2, "b", 2_025..2_100)
        .profile();
    assert_eq!(longest(&later), ("queued".to_owned(), 2_000.0));
}

/// Between two launches the host is for 800 of 970 µs in a region of compiled code, which is no
/// operator: 15 + 800 + 155 µs.
#[test]
fn regions_of_compiled_code_are_no_operators() {
    let profile = between(|trace| trace.op("Torch-Compiled Region: 0/0", 50..850));
    let (_, findings) = analysed(&profile);
    let found = &findings[0];
    assert_eq!(found.pattern, "host_work");
    assert!(
        found.reasoning.iter().any(|said| {
            said.replace('\u{202F}', " ").contains(
                "in Python for the most part (82.1 % in the code around compiled kernels)",
            )
        }),
        "{:?}",
        found.reasoning
    );
    assert!(
        found.model.contains("cpp_wrapper") && found.model.contains("reduce-overhead"),
        "{}",
        found.model
    );
    let (_, findings) = analysed(&between(|trace| trace));
    assert!(
        findings[0]
            .model
            .starts_with("take that work out of the loop")
    );
}

#[test]
fn pinned_memory_is_advised_where_copies_may_not_have_it() {
    let model = |copy: &str| {
        let profile = launched(item(), 4, 130.0)
            .kernel(1, "a", 20..100)
            .copy(2, copy, 101..103)
            .kernel(4, "b", 140..150)
            .profile();
        analysed(&profile).1[0].model.clone()
    };
    assert!(model("Memcpy DtoH (Device -> Pageable)").contains("pinned memory"));
    assert!(!model("Memcpy DtoH (Device -> Pinned)").contains("pinned memory"));
}

/// Thread 1 waits for the GPU until 1 050 µs; then thread 2, which did nothing, launches.
#[test]
fn a_thread_that_another_one_keeps_waiting_waited() {
    let waited = |until: u32| {
        let timetable = launched(Timetable::new(), 1, 10.0)
            .runtime("cudaStreamSynchronize", 9, 900..until)
            .thread(2);
        launched(timetable, 2, 1_100.0)
            .kernel(1, "a", 20..1_000)
            .kernel(2, "b", 1_110..1_200)
            .profile()
    };
    assert_eq!(
        longest(&waited(1_050)),
        ("synchronisation".to_owned(), 110.0)
    );
    // It is over before the gap begins.
    assert_ne!(longest(&waited(950)).0, "synchronisation");
}

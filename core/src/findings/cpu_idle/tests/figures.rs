//! Figures: times, severities, tables, marks.

use super::*;

#[test]
fn launches_that_come_late() {
    // 11 kernels and 10 gaps of 37 µs in 403 µs: 91.8 % idle.
    let (metrics, findings) = analyzed(&launch_bound(11));
    let [found] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(found.pattern, "launch_bound");
    assert_eq!(found.priority, Priority::Critical);
    assert_eq!(found.time_ns, 370_000);
    assert_eq!(found.impact.map(|impact| impact.high_ns), Some(370_000));
    assert_eq!(found.events.len(), 10);
    let time = "370 µs (91.8 % of the run) in 10 gaps of up to 37.0 µs";
    assert_contains(&found.issue, &[time]);
    let mean = "takes 3.00 µs on average, and the next launch leaves a gap of 37.0 µs";
    assert_contains(&found.reasoning[0], &[mean]);
    // A gap from 21 to 58 µs: the launch starts at 50, its operator at 45. Of the 34 µs until the end of the launch, 5
    // are in the launch, 5 in the rest of the operator, 24 outside.
    let cpu = "14.7 % of these gaps in operators, 14.7 % in calls of the GPU runtime, 0 % waiting, and 70.6 % outside";
    assert_contains(&found.reasoning[2], &[cpu]);
    let kernels = &metrics["kernel_analysis"];
    assert_eq!(kernels["short_kernel_count"], 11);
    assert_eq!(kernels["total_kernel_count"], 11);
    assert_eq!(kernels["avg_kernel_time_us"], 3.0);
    assert_eq!(kernels["kernel_count_by_category"]["Element-wise"], 11);
    let gaps = &metrics["gap_analysis"];
    assert_eq!(gaps["histogram"][2]["count"], 10);
    assert_eq!(gaps["histogram"][2]["idle_time_ms"], 0.37);
    assert_eq!(gaps["avg_inter_kernel_gap_us"], 37.0);
    let patterns = metrics["patterns_detected"].as_array().unwrap().iter();
    let patterns = patterns.map(|one| (one["pattern"].as_str(), one["severity"].as_str()));
    let expected = [
        ("critical_gpu_underutilization", "CRITICAL"),
        ("kernel_launch_overhead", "HIGH"),
        ("small_average_kernel_time", "HIGH"),
    ];
    assert!(patterns.eq(expected.map(|(pattern, severity)| (Some(pattern), Some(severity)))));
}

#[test]
fn a_possible_speedup_aims_at_twenty_percent() {
    // 80 of 100 µs idle: at 20 % idle time, four times the work fits in the same time.
    let profile = second(first(20..30), 90.0, 110..120);
    let (metrics, _) = analyzed(&profile);
    assert_eq!(metrics["gpu_utilization"]["idle_time_percent"], 80.0);
    assert_eq!(metrics["severity"], "CRITICAL");
    assert_eq!(metrics["potential_speedup"], 4.0);
}

#[test]
fn severities_and_the_flag_on_their_lines() {
    // Idle for this much of 1000 µs, between two kernels.
    let cases = [
        (49, false, "ACCEPTABLE"),
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
        let profile = second(first(50..100), f64::from(end) - 10.0, end..1050);
        let (metrics, findings) = analyzed(&profile);
        assert_eq!(metrics["idle_flagged"], is_flagged, "{idle}");
        assert_eq!(metrics["severity"], severity, "{idle}");
        // A cause of at least 5 % of the run is reported, flagged or not.
        assert_eq!(findings.len(), usize::from(idle >= 50), "{idle}");
    }
}

#[test]
fn gaps_sum_up_to_the_idle_time_of_the_timeline() {
    let profile = launch_bound(50);
    let report = Report::new(&profile, &ReportOptions::default());
    let idle = Idle::once(&report.analysis_input(&profile)).unwrap();
    let of_causes: i64 = idle.by_time().iter().map(|(_, gaps)| gaps.all.ns).sum();
    assert_eq!(of_causes, report.timelines.whole.unwrap().idle_ns);
    let of_bins: i64 = idle.histogram.iter().map(|tally| tally.ns).sum();
    assert_eq!(of_bins, of_causes);
    assert_eq!(idle.longest.len(), crate::assess::idle::N_LONGEST);
}

#[test]
fn a_gap_of_nanoseconds_counts_and_is_not_listed() {
    let (metrics, _) = analyzed(
        &Timetable::new()
            .launched("a", 10..15, 20..30)
            .launched("b", 16..18, 30.001..40.0)
            .launched("c", 100..105, 110..120)
            .profile(),
    );
    let gaps = &metrics["gap_analysis"];
    assert_eq!(gaps["gap_count"], 2);
    let listed = gaps["top_gaps"].as_array().unwrap().iter();
    let listed: Vec<f64> = listed.filter_map(|gap| gap["length_us"].as_f64()).collect();
    assert_eq!(listed, [70.0]);
}

#[test]
fn without_gpu_work_there_is_nothing_to_say() {
    let profile = Timetable::new().op("aten::mm", 0..10).profile();
    let (metrics, findings) = analyzed(&profile);
    assert_eq!(metrics, Json::Null);
    assert!(findings.is_empty());
}

/// ```text
/// CPU    [launch a)            [launch b)
/// GPU         [=====a=====)          [==b==)
/// µs     0    5          15   20     27
/// ```
#[test]
fn gaps_are_marked_with_their_cause() {
    let profile = Timetable::new()
        .op("aten::mm", 0..4)
        .launched("gemm", 1..3, 5..15)
        .op("aten::mm", 16..30)
        .launched("gemm", 20..24, 27..35)
        .profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let marked = idle_gaps(&report.analysis_input(&profile));
    let times: Vec<(i64, i64, &str)> = marked
        .iter()
        .map(|gap| (gap.span.start_ns, gap.span.end_ns, gap.key))
        .collect();
    assert_eq!(times, [(15_000, 27_000, "launch_bound")]);
}

//! Each cause of idle time, from a trace with one such gap.

use super::*;

#[test]
fn each_cause_by_what_the_cpu_did() {
    const LOADER: &str = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    const COMPILER: &str = "torch/_dynamo/convert_frame.py(666): _compile";
    let (op, frame, call) = ("cpu_op", "python_function", "cuda_runtime");
    let cases = [
        // Python.
        ("host_work", frame, "<built-in function collect>", 50..950),
        ("data_loading", op, LOADER, 100..700),
        // Too short.
        ("host_work", op, LOADER, 100..400),
        ("start_up", call, "cuModuleLoadData", 100..800),
        ("allocation", call, "cudaMalloc", 100..800),
        // Freeing waits for the GPU, but that is not what takes so long.
        ("allocation", call, "cudaFree", 20..800),
        ("start_up", frame, COMPILER, 100..900),
        // Operators without launches do not make it launch-bound.
        ("host_work", op, "aten::empty", 100..900),
    ];
    for (cause, category, name, span) in cases {
        let profile = between(|trace| trace.on_host(category, name, span.clone()));
        assert_eq!(longest(&profile), (cause.to_owned(), 980.0), "{name}");
    }
    let nothing = between(|trace| trace);
    assert_eq!(longest(&nothing), ("host_work".to_owned(), 980.0));
    // Launches into a graph capture do not run yet.
    let captured = between(|trace| {
        trace
            .runtime("cudaStreamBeginCapture", 8, 100..105)
            .runtime("cudaLaunchKernel", 9, 400..405)
            .runtime("cudaStreamEndCapture", 10, 700..800)
    });
    assert_eq!(longest(&captured), ("start_up".to_owned(), 980.0));
}

#[test]
fn each_cause_by_when_it_was_launched() {
    // Libraries clear an empty workspace before a GEMM; the wait still explains the gap.
    let cleared = item().runtime("cudaMemsetAsync", 9, 115..116);
    // The wait ends at 107 µs, the next launch comes 1.9 ms later.
    let late = second(item().copy(2, D2H, 101..103), 2_000.0, 2_010..2_020);
    let loading = first(20..30)
        .op("aten::mm", 20..5_030)
        .launched("b", 30..5_020, 5_030..5_040);
    // The backward thread launches for the first time, right after the main thread.
    let main = launched(first(20..2_005), 2_000.0, 2_010..2_015);
    let backward = second(main.thread(2), 2_100.0, 2_115..2_200);
    let unknown = Timetable::new()
        .launched("a", 10..15, 20..30)
        .launched("b", 100..105, 110..120);
    let cases = [
        (after_item(cleared, D2H), "synchronization", 37.0),
        (late, "host_work", 1_907.0),
        (loading.profile(), "start_up", 5_000.0),
        (second(first(40..100), 30.0, 200..300), "queued", 100.0),
        // Launched in the gap, but most of the gap came after the launch.
        (second(first(40..100), 110.0, 900..1000), "queued", 800.0),
        (backward, "launch_bound", 100.0),
        // Most of the gap is as long as the wait, then it is not; then the wait is negligible.
        (waited(10.0, 45), "synchronization", 20.0),
        (waited(10.0, 65), "launch_bound", 40.0),
        (waited(4.0, 65), "launch_bound", 40.0),
        (unknown.profile(), "unknown", 80.0),
    ];
    for (at, (profile, cause, length)) in cases.iter().enumerate() {
        let (found, us) = longest(profile);
        assert_eq!((found.as_str(), us), (*cause, *length), "case {at}");
    }
}

/// Gaps of 50, 45 and 45 µs after waits, of which only the first one is long: it takes a lead that would have hidden all
/// of them, or hardly any.
#[test]
fn short_waits_after_one_that_took_the_lead_cost_their_whole_gaps() {
    let waiting_ns = |since_us: u32| {
        let mut trace = first(20..520).runtime("cudaStreamSynchronize", 90, since_us..522);
        for (id, at) in [(91, 560_u32), (92, 610), (93, 660)] {
            trace = launched(trace, f64::from(at), at + 10..at + 15);
            trace = trace.runtime("cudaStreamSynchronize", id, at + 14..at + 17);
        }
        let profile = trace.profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let idle = Idle::once(&report.analysis_input(&profile)).unwrap();
        idle.of(IdleCause::Synchronization).ns
    };
    assert_eq!(waiting_ns(20), 140_000);
    // A wait of 22 µs saves as much in the first gap.
    assert_eq!(waiting_ns(500), 22_000);
}

/// Kernels of one replay run from 20 to 30 µs and from 130 to 140.
#[test]
fn a_gap_in_a_replay_that_ends_before_its_launch_does_waits_for_the_cpu() {
    let replay = |launched_us: u32| {
        Timetable::new()
            .without_flows()
            .runtime("cudaGraphLaunch", 1, 0..launched_us)
            .kernel(1, "a", 20..30)
            .kernel(1, "b", 130..140)
            .profile()
    };
    assert_eq!(longest(&replay(10)), ("graph_launch".to_owned(), 100.0));
    assert_eq!(longest(&replay(200)), ("launch_bound".to_owned(), 100.0));
}

/// It is unknown whether the GPU was busy after a graph without recorded kernels.
#[test]
fn a_graph_without_recorded_work_may_fill_its_gap() {
    let graph = first(20..30).runtime("hipGraphLaunch", 7, 30..50);
    let profile = second(graph, 60.0, 900..910);
    assert_eq!(longest(&profile), ("unrecorded_graphs".to_owned(), 870.0));
    let found = main_finding(&profile);
    assert_eq!((found.pattern, found.impact), ("unrecorded_graphs", None));
}

/// ```text
/// µs     0    20  30           872 880
/// GPU         [a==)[? no launch )[b=)
/// ```
#[test]
fn unattributed_activity_is_no_idle_time() {
    let unlinked = first(20..30).kernel(9, "unlinked", 30..872);
    let profile = second(unlinked, 860.0, 880..900);
    let (metrics, _) = analyzed(&profile);
    assert_eq!(metrics["gpu_utilization"]["idle_time_ms"], 0.008);
}

/// ```text
/// CPU        [launch 1][launch 2]                     [launch 3]
/// stream 7   [1]
/// stream 9                             [=2=)
/// µs         0..5                      2 000..2 100   2 130: 3
/// ```
///
/// The first activity of stream 9 was launched at 30 µs: it may have waited for something launched before the
/// recording.
#[test]
fn before_the_first_work_of_a_stream_the_gpu_may_have_worked() {
    let with_other_stream = launched(first(20..25).stream(9), 30.0, 2_025..2_100);
    let profile = second(with_other_stream, 2_120.0, 2_130..4_020);
    assert_eq!(longest(&profile), ("before_recording".to_owned(), 2_000.0));
    let (metrics, findings) = analyzed(&profile);
    // The gap of 30 µs before the third kernel is small in comparison, but large enough to be reported.
    let patterns: Vec<&str> = findings.iter().map(|found| found.pattern).collect();
    assert_eq!(patterns, ["launch_bound", "before_recording"]);
    let found = &findings[1];
    assert_eq!(found.priority, Priority::Low);
    // 2 000 of 4 000 µs, which cannot be saved.
    assert_eq!((found.time_ns, found.impact), (2_000_000, None));
    assert_eq!(metrics["severity"], "ACCEPTABLE");
    assert_eq!(metrics["potential_speedup"], Json::Null);
    let report = Report::new(&profile, &ReportOptions::default());
    let said = " In 50.0 % of the run it may still run kernels launched before the recording.";
    assert_contains(&report.overview.headline, &[said]);
    let warned = |line: &crate::report::overview::QualityLine| {
        line.sentence
            .contains("may have run kernels launched before the recording")
    };
    assert!(report.overview.quality.lines.iter().any(warned));
    // A later gap on the same stream is like any other.
    let later = second(first(20..25), 30.0, 2_025..2_100);
    assert_eq!(longest(&later), ("queued".to_owned(), 2_000.0));
}

/// Thread 1 waits for the GPU until 1 050 µs; then thread 2, which did nothing until then, launches.
#[test]
fn a_thread_that_another_one_keeps_waiting_waited() {
    let waited = |until: u32| {
        let first = first(20..1_000).runtime("cudaStreamSynchronize", 9, 900..until);
        longest(&second(first.thread(2), 1_100.0, 1_110..1_200))
    };
    assert_eq!(waited(1_050), ("synchronization".to_owned(), 110.0));
    // The wait ends before the gap starts.
    assert_ne!(waited(950).0, "synchronization");
}

#[test]
fn gaps_inside_graphs_are_their_own() {
    let profile = Timetable::new()
        .op("aten::mm", 0..5)
        .runtime("cudaGraphLaunch", 7, 10..20)
        .kernel(7, "a", 40..50)
        .kernel(7, "b", 90..100)
        .profile();
    assert_eq!(longest(&profile), ("graph_launch".to_owned(), 40.0));
    let report = Report::new(&profile, &ReportOptions::default());
    let outcome = report.analyses.outcome("cpu_idle").unwrap();
    assert!(
        outcome.notes[0]
            .text
            .starts_with("The trace has launches of GPU graphs.")
    );
}

/// Between two replays of a graph a Python frame runs for 2 ms; no operators were recorded.
#[test]
fn python_frames_show_what_delays_a_graph() {
    let replays = |frame: bool| {
        let trace = Timetable::new()
            .runtime("cudaGraphLaunch", 7, 10..20)
            .kernel(7, "a", 40..1_000)
            .runtime("cudaGraphLaunch", 8, 3_100..3_120)
            .kernel(8, "a", 3_130..4_000);
        match frame {
            true => trace.frame("scheduler.py(170): schedule", 1_010..3_050),
            false => trace,
        }
    };
    let found = main_finding(&replays(true).profile());
    assert_contains(&found.title, &["`schedule` in `scheduler.py:170`"]);
    assert_eq!(
        main_finding(&replays(false).profile()).pattern,
        "unknown_idle"
    );
}

/// 60 kernels of 30 µs, launched every 50 µs by calls that end before or after them.
#[test]
fn launches_that_wait_for_their_kernels_are_named() {
    let profile = |length: u32| {
        let trace = (0..60).fold(Timetable::new(), |trace, n| {
            let at = n * 50;
            let trace = trace.op("aten::add", at..at + length + 2);
            trace.launched("kernel", at + 1..at + length, at + 10..at + 40)
        });
        trace.profile()
    };
    let blocking = found(&profile(45), "blocking_launches");
    is_about(&blocking, 59 * 20);
    assert_contains(&blocking.model, &["unset `CUDA_LAUNCH_BLOCKING`"]);
    let (_, usual) = analyzed(&profile(6));
    assert!(usual.iter().all(|one| one.pattern != blocking.pattern));
}

#[test]
fn launch_calls_that_take_long_are_named() {
    let profile = |length: u32| {
        let trace = (0..60).fold(Timetable::new(), |trace, n| {
            let at = n * 80;
            let trace = trace.op("aten::add", at..at + length + 2);
            trace.launched("kernel", at + 1..at + 1 + length, at + 70..at + 75)
        });
        trace.profile()
    };
    let slow = found(&profile(55), "slow_launches");
    assert_contains(&slow.issue, &["A launch call takes 55.0 µs (median)"]);
    assert_contains(&slow.model, &["what slows down launch calls"]);
    let (_, usual) = analyzed(&profile(6));
    assert!(usual.iter().all(|one| one.pattern != slow.pattern));
}

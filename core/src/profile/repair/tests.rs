use crate::import::warning::WarningKind::{self, *};
use crate::profile::Profile;
use crate::testing::Timetable;

/// A time well after the start of the machine, in microseconds.
const EPOCH: f64 = 5_000_000_000.0;

/// Twenty launches 100 µs apart, each with 50 µs of work 20 µs later; the work of one of them has the given start,
/// relative to its call, and duration.
fn profile(start_us: f64, dur_us: f64) -> Profile {
    twenty(|launch| match launch {
        4 => (EPOCH + 400.0 + start_us, dur_us),
        _ => (EPOCH + f64::from(launch) * 100.0 + 20.0, 50.0),
    })
}

fn twenty(work: impl Fn(u32) -> (f64, f64)) -> Profile {
    let mut timetable = Timetable::new().op("aten::mm", EPOCH..EPOCH + 2_000.0);
    for launch in 0..20 {
        let call = EPOCH + f64::from(launch) * 100.0;
        timetable = timetable.launch(launch, call..call + 5.0);
    }
    for launch in 0..20 {
        let (start, dur) = work(launch);
        timetable = timetable.kernel(launch, "gemm", start..start + dur);
    }
    timetable.profile()
}

fn warned(profile: &Profile) -> Vec<(WarningKind, u64)> {
    let warnings = profile.warnings.iter();
    warnings
        .map(|warning| (warning.kind, warning.count))
        .filter(|(kind, _)| *kind != UntoldGpuTime)
        .collect()
}

#[test]
fn a_duration_that_reaches_past_later_work_is_unknown() {
    // The next start is 100 µs later: from 1.1 ms on, the duration is impossible.
    assert_eq!(warned(&profile(20.0, 100.0)), []);
    assert_eq!(warned(&profile(20.0, 1_100.0)), [(OverlappingWork, 1)]);
    let damaged = profile(20.0, 3_150_000.0);
    assert_eq!(warned(&damaged), [(OverlongDuration, 1)]);
    assert_eq!(
        damaged.warnings.get(OverlongDuration).unwrap().detail,
        "The invalid durations add up to 3\u{202f}150 ms on stream 7."
    );
    let busy_ns = damaged.gpu.iter().map(|(_, work)| work.span.length());
    assert_eq!(busy_ns.sum::<i64>(), 19 * 50_000);
}

/// A kernel whose end was lost has no duration, and says nothing about the one that it seems to start in.
#[test]
fn what_has_no_duration_makes_no_other_impossible() {
    let queued = |launch: u32| EPOCH + 5_000.0 + f64::from(launch) * 2_000.0;
    let with = |dur_us: f64| {
        twenty(|launch| match launch {
            5 => (queued(4) + 10.0, dur_us),
            _ => (queued(launch), 1_990.0),
        })
    };
    assert_eq!(warned(&with(0.0)), []);
    assert_eq!(warned(&with(5.0)), [(OverlongDuration, 1)]);
}

#[test]
fn the_last_duration_may_not_reach_far_past_the_recording() {
    // Up to a second past the last CPU event.
    let last = |dur_us: f64| {
        let start = |launch| EPOCH + f64::from(launch) * 100.0 + 20.0;
        twenty(|launch| match launch {
            19 => (start(launch), dur_us),
            _ => (start(launch), 50.0),
        })
    };
    assert_eq!(warned(&last(900_000.0)), []);
    assert_eq!(warned(&last(1_100_000.0)), [(OverlongDuration, 1)]);
}

#[test]
fn where_streams_are_not_serial_nothing_is_repaired() {
    let side_by_side = twenty(|launch| (EPOCH + f64::from(launch) * 100.0 + 20.0, 5_000.0));
    assert_eq!(warned(&side_by_side), []);
}

#[test]
fn work_with_a_start_that_cannot_be_is_left_out() {
    // Possible from its call to an hour later.
    assert_eq!(warned(&profile(-900.0, 50.0)), []);
    for start_us in [-1_100.0, -1e6, 3_601e6, -EPOCH - 400.0] {
        let damaged = profile(start_us, 50.0);
        assert_eq!(warned(&damaged), [(ImpossibleStart, 1)], "{start_us}");
        assert_eq!(damaged.gpu.len(), 19);
        assert_eq!(damaged.launches.n_unlinked(), 0);
    }
}

#[test]
fn gpu_times_follow_their_calls_where_clocks_differ_by_a_constant() {
    for (off_us, apart) in [
        (-300.0, "They are about 280 µs apart."),
        (3.6e9, "They are about 3\u{202f}600 s apart."),
    ] {
        let skewed = twenty(|launch| (EPOCH + f64::from(launch) * 100.0 + 20.0 + off_us, 50.0));
        assert_eq!(warned(&skewed), [(ClocksShifted, 1)]);
        let detail = &skewed.warnings.get(ClocksShifted).unwrap().detail;
        assert_eq!(detail, apart);
        assert_eq!(skewed.gpu.len(), 20);
        assert_eq!(skewed.without_idle_causes(), None);
        // The earliest starts with its call.
        let first = skewed.gpu.iter().map(|(_, work)| work.span.start_ns).min();
        assert_eq!(first, Some((EPOCH * 1e3) as i64));
    }
}

/// GPUs of one trace may have clocks of their own.
#[test]
fn clocks_of_several_gpus_are_told() {
    let call = |launch: u32| EPOCH + f64::from(launch) * 100.0;
    let mut timetable = Timetable::new().op("aten::mm", EPOCH..EPOCH + 2_000.0);
    for launch in 0..20 {
        timetable = timetable.launch(launch, call(launch)..call(launch) + 5.0);
    }
    for launch in 0..20 {
        let start = call(launch) - 280.0;
        let on_gpu = timetable.gpu(launch % 2);
        timetable = on_gpu.kernel(launch, "gemm", start..start + 50.0);
    }
    let profile = timetable.profile();
    assert_eq!(profile.warnings.count(ClocksDiffer), 1);
    assert!(profile.without_idle_causes().is_some());
}

/// The GPU is idle before each of twenty kernels, and starts each of them as late.
#[test]
fn kernels_of_an_idle_gpu_that_all_start_as_late_are_the_clock() {
    let late = |by: &dyn Fn(u32) -> f64| {
        twenty(|launch| (EPOCH + f64::from(launch) * 100.0 + 8.0 + by(launch), 50.0))
    };
    let shifted = late(&|launch| 3_000.0 + f64::from(launch % 4));
    assert_eq!(warned(&shifted), [(ClocksShifted, 1)]);
    let detail = &shifted.warnings.get(ClocksShifted).unwrap().detail;
    assert_eq!(detail, "They are about 3.00 ms apart.");
    // Up to 40 µs may be the way to the GPU; and a queue delays each by another time.
    assert_eq!(warned(&late(&|_| 40.0)), []);
    assert_eq!(
        warned(&late(&|launch| 3_000.0 + 30.0 * f64::from(launch))),
        []
    );
}

/// Launches come every 100 µs and their work takes 150 µs: the delay of each is 50 µs longer than the previous one.
/// With a clock that is 300 µs behind, the first six of twenty start before their call.
#[test]
fn a_queue_hides_no_difference_of_clocks() {
    let queued = |early_us: f64| {
        twenty(|launch| {
            let start = EPOCH + 20.0 + f64::from(launch) * 150.0;
            (start - early_us, 150.0)
        })
    };
    assert_eq!(warned(&queued(0.0)), []);
    let early = queued(300.0);
    assert_eq!(warned(&early), [(ClocksShifted, 1)]);
    let detail = &early.warnings.get(ClocksShifted).unwrap().detail;
    assert_eq!(detail, "They are about 280 µs apart.");
}

/// The fifth of twenty takes 230 µs instead of 50, 130 µs past the next start. Two pieces of 50 µs run in that time,
/// one of them for only 30 µs.
#[test]
fn time_that_counts_twice_is_told() {
    let damaged = profile(20.0, 230.0);
    assert_eq!(warned(&damaged), [(OverlappingWork, 1)]);
    let warning = damaged.warnings.get(OverlappingWork).unwrap();
    assert_eq!(warning.detail, "They share 80.0 µs on stream 7.");
    // Both count as recorded.
    let all_ns: i64 = damaged.gpu.all().map(|work| work.span.length()).sum();
    assert_eq!(all_ns, (19 * 50 + 230) * 1_000);
}

#[test]
fn what_is_recorded_twice_counts_once() {
    let twice = Timetable::new()
        .op("aten::mm", 0..300)
        .launch(1, 0..5)
        .launch(2, 10..15)
        .kernel(1, "gemm", 20..70)
        .kernel(1, "gemm", 20..70)
        .launch(2, 10..15)
        .kernel(2, "gemm", 70..120);
    let profile = twice.profile();
    assert_eq!(warned(&profile), [(RecordedTwice, 2)]);
    assert_eq!((profile.gpu.len(), profile.launches.n_unlinked()), (2, 0));
    // Only one of the two is GPU activity.
    let [kernel] = &profile.recording.as_recorded[..] else {
        panic!("{:?}", profile.recording.as_recorded);
    };
    assert_eq!((kernel.start_ns, kernel.dur_ns), (20_000, 50_000));
}

#[test]
fn a_call_with_the_id_of_another_one_is_told() {
    let repeated = Timetable::new()
        .op("aten::mm", 0..300)
        .launch(1, 0..5)
        .kernel(1, "gemm", 20..70)
        .launch(1, 10..15)
        .kernel(2, "gemm", 70..120);
    let profile = repeated.profile();
    assert_eq!(warned(&profile), [(UnlinkedGpuWork, 1), (RepeatedCall, 1)]);
}

/// Rounded to microseconds, a call and the driver call inside it start and end at the same time.
#[test]
fn a_driver_call_has_the_id_of_its_runtime_call() {
    let nested = Timetable::new()
        .op("aten::mm", 0..300)
        .launch(1, 0..5)
        .driver("cuLaunchKernel", 1, 0..5)
        .kernel(1, "gemm", 20..70);
    assert_eq!(warned(&nested.profile()), []);
}

/// One of fifty launches finds an idle GPU, the others are queued: only a few pieces of work start before their calls,
/// in launch order.
#[test]
fn few_early_starts_in_the_order_of_the_launches_are_the_clock() {
    let early = |by_us: f64| {
        let mut timetable = Timetable::new().op("aten::mm", EPOCH..EPOCH + 20_000.0);
        for launch in 0..50 {
            let call = EPOCH + f64::from(launch) * 10.0;
            timetable = timetable.launch(launch, call..call + 5.0);
        }
        for launch in 0..50 {
            let start = EPOCH + 20.0 + f64::from(launch) * 100.0 - by_us;
            timetable = timetable.kernel(launch, "gemm", start..start + 100.0);
        }
        timetable.profile()
    };
    assert_eq!(warned(&early(0.0)), []);
    let differs = early(200.0);
    assert_eq!(warned(&differs), [(ClocksShifted, 1)]);
    let detail = &differs.warnings.get(ClocksShifted).unwrap().detail;
    assert_eq!(detail, "They are about 180 µs apart.");
}

/// The CPU waits for the GPU until 2 000 µs.
#[test]
fn work_after_a_wait_for_it_is_the_clock() {
    let late = |by_us: f64| {
        let mut timetable = Timetable::new().op("aten::mm", 0..2_100);
        for launch in 0..20 {
            let call = f64::from(launch) * 10.0;
            timetable = timetable.launch(launch, call..call + 5.0);
        }
        timetable = timetable.runtime("cudaStreamSynchronize", 90, 200..2_000);
        for launch in 0..20 {
            let start = f64::from(launch) * 100.0 + by_us;
            timetable = timetable.kernel(launch, "gemm", start..start + 100.0);
        }
        timetable.profile()
    };
    // The last two then start at 1 900 and 2 000 µs: a wait may return slightly early.
    assert_eq!(warned(&late(100.0)), []);
    // At 2 200 and 2 300 µs; the last ends at 2 400 µs.
    let differs = late(400.0);
    assert_eq!(warned(&differs), [(ClocksShifted, 1)]);
    let detail = &differs.warnings.get(ClocksShifted).unwrap().detail;
    assert_eq!(detail, "They are about 400 µs apart.");
}

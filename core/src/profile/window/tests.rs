use super::*;
use crate::Profile;
use crate::output::export::{Input, Source as _};
use crate::output::redact::redact;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, outline};

/// Two steps on one stream. The CPU runs ahead: it launches the first kernel of the second step while the last kernel
/// of the first step runs.
///
/// ```text
/// µs       0    10   20   30   40   50   60   70   80   90   100
/// host     [=step 0=========)[=step 1=========)
/// stream 7           [=a======)     [=b==)[=c======)    [=d==)
/// ```
fn two_steps() -> Timetable {
    Timetable::new()
        .annotation("ProfilerStep#0", 0..28)
        .op("aten::mm", 2..12)
        .launched("gemm", 4..6, 20..38)
        .op("aten::add", 14..24)
        .launched("add", 16..18, 44..54)
        .annotation("ProfilerStep#1", 28..54)
        .op("aten::mm", 30..40)
        .launched("gemm", 32..34, 54..72)
        .op("aten::add", 42..52)
        .launched("add", 44..46, 82..92)
}

fn us(from: i64, to: i64) -> Window {
    Window::range(Interval::new(from * 1000, to * 1000))
}

/// Total, busy and idle time in microseconds, as in the report.
fn times(profile: &Profile) -> Option<[i64; 3]> {
    let report = Report::new(profile, &ReportOptions::default());
    let whole = report.timelines.whole?;
    Some([whole.total_ns(), whole.busy_ns, whole.idle_ns].map(|ns| ns / 1000))
}

fn calls(profile: &Profile) -> String {
    outline(&profile.trace, &profile.tree, &profile.launches)
}

#[test]
fn gpu_work_belongs_to_the_window_it_starts_in_with_the_call_that_launched_it() {
    let whole = two_steps().profile();
    // 40 to 60 µs: `add` and the second `gemm` start there, launched at 16 and 32; the second `aten::add` is called
    // there, and what it launches runs later.
    let part = whole.window(&us(40, 60));
    assert_eq!(
        calls(&part),
        "aten::add\n  cudaLaunchKernel -> add\n\
         aten::mm\n  cudaLaunchKernel -> gemm\n\
         aten::add\n  cudaLaunchKernel\n"
    );
    // 4 µs pass before `add` starts. `gemm` runs until 72, which extends the window.
    assert_eq!(times(&part), Some([32, 28, 4]));
}

#[test]
fn idling_at_the_ends_counts_and_work_that_runs_into_the_window_does_not() {
    let whole = two_steps().profile();
    // Only `d`, at 82 to 92: 2 µs before it and 8 after.
    assert_eq!(times(&whole.window(&us(80, 100))), Some([20, 10, 10]));
    // `c` runs into it until 72: until then the GPU was busy with work of another window.
    assert_eq!(times(&whole.window(&us(60, 95))), Some([23, 10, 13]));
}

/// ```text
/// µs         0    10   20   30   40   50   60
/// stream 7   [=a==)      [=b==)    [=c==)
/// stream 9        [====== all-reduce =======)
/// ```
#[test]
fn the_gpu_is_busy_with_the_work_of_another_window_too() {
    let whole = Timetable::new()
        .op("aten::mm", 0..4)
        .launched("gemm", 0..1, 0..10)
        .launched("gemm", 1..2, 24..34)
        .launched("gemm", 2..3, 44..54)
        .op("c10d::allreduce_", 4..8)
        .launch(4, 5..6)
        .stream(9)
        .kernel(4, "ncclDevKernel_AllReduce", 10..60)
        .profile();
    // Total, busy, idle, computation, and exposed part of the all-reduce.
    let parts = |from: i64, to: i64| {
        let part = whole.window(&us(from, to));
        let report = Report::new(&part, &ReportOptions::default());
        let gaps = crate::findings::cpu_idle::idle_gaps(&report.analysis_input(&part));
        let whole = report.timelines.whole.unwrap();
        let idle_ns: i64 = gaps.iter().map(|gap| gap.span.length()).sum();
        assert_eq!(idle_ns, whole.idle_ns);
        let work = part.launches.work.len();
        let times = [
            whole.total_ns(),
            whole.busy_ns,
            whole.idle_ns,
            whole.computation_ns,
            whole.exposed_comm_ns,
        ];
        (work, times.map(|ns| ns / 1000))
    };
    // `b` and `c` are its own; the all-reduce ran into it and runs all the time.
    assert_eq!(parts(20, 50), (2, [30, 30, 0, 20, 10]));
    // The all-reduce is its own and extends past it, partly concurrent with `b` and `c`.
    assert_eq!(parts(0, 20), (2, [60, 60, 0, 30, 30]));
    // After `c`, until the window ends: none of its own work runs.
    assert_eq!(parts(44, 70), (1, [26, 16, 10, 10, 6]));
}

#[test]
fn a_gap_that_the_window_ends_in_has_its_cause_outside() {
    let whole = two_steps().profile();
    let found = |window: &Window| {
        let report = Report::new(&whole.window(window), &ReportOptions::default());
        let ranked = report.analyses.findings.ranked.into_iter();
        let mut idle = ranked.filter(|ranked| ranked.analysis.key == "cpu_idle");
        let found = idle.next().unwrap().finding;
        (found.pattern, found.time_ns)
    };
    // Idle from 72 to 80, when `d` has not started yet.
    assert_eq!(found(&us(44, 80)), ("unknown_idle", 8_000));
    // Here it has: it was launched long before.
    assert_eq!(found(&us(44, 90)).0, "queued");
}

#[test]
fn windows_that_tile_a_trace_split_its_work_and_its_time() {
    let whole = two_steps().profile();
    let edges = [20, 21, 38, 44, 50, 60, 80, 92];
    let parts: Vec<Profile> = edges
        .windows(2)
        .map(|edges| whole.window(&us(edges[0], edges[1])))
        .collect();
    let mut work: Vec<_> = parts
        .iter()
        .flat_map(|part| part.launches.work.clone())
        .collect();
    work.sort_unstable();
    assert_eq!(work, whole.launches.work);
    let direct: i64 = parts.iter().map(|part| part.ops.direct_ns()).sum();
    assert_eq!(direct, whole.ops.direct_ns());
    // A window without work of its own has no GPU time: 21 to 38 belongs to `gemm`, which started before; from 38 to 44
    // nothing runs.
    let shown: Vec<Option<[i64; 3]>> = parts.iter().map(times).collect();
    assert_eq!(
        shown,
        [
            Some([18, 18, 0]),
            None,
            None,
            Some([10, 10, 0]),
            Some([18, 18, 0]),
            None,
            Some([12, 10, 2]),
        ]
    );
    assert_eq!(times(&whole), Some([72, 56, 16]));
}

#[test]
fn the_host_time_of_operators_is_split_too() {
    let whole = Timetable::new()
        .op("aten::linear", 0..100)
        .op("aten::mm", 40..80)
        .op("aten::linear", 100..110)
        .profile();
    let of = |profile: &Profile| -> Vec<(String, u64, i64, i64)> {
        let strings = &profile.trace.strings;
        let ops = profile.cpu_ops.iter();
        ops.map(|op| {
            let name = strings.get(op.name).to_owned();
            (name, op.n_calls, op.total_ns / 1000, op.self_ns / 1000)
        })
        .collect()
    };
    let row = |name: &str, n: u64, total: i64, own: i64| (name.to_owned(), n, total, own);
    // The first `aten::linear` starts before 40, so its time belongs to the first half.
    let halves = [(0, 40), (40, 111)].map(|(from, to)| whole.window(&us(from, to)));
    assert_eq!(of(&halves[0]), [row("aten::linear", 1, 100, 60)]);
    assert_eq!(
        of(&halves[1]),
        [row("aten::mm", 1, 40, 40), row("aten::linear", 1, 10, 10)]
    );
    // It is still there as the caller of what starts in the second half.
    assert_eq!(
        calls(&halves[1]),
        "aten::linear\n  aten::mm\naten::linear\n"
    );
}

#[test]
fn a_window_of_everything_is_the_whole() {
    let profile =
        crate::Profile::new(crate::import::import(crate::sample::TRACE.as_bytes()).unwrap());
    let all = Window::range(recorded_span(&profile.trace).unwrap());
    let same = profile.window(&all);
    assert_eq!(same.window, None);
    let options = crate::testing::options_on("H100");
    let files = |profile: &Profile| -> Vec<(String, Vec<u8>)> {
        let report = Report::new(profile, &options);
        let artifacts = Input::new(profile, &report).artifacts().into_iter();
        artifacts.map(|file| (file.path, file.bytes)).collect()
    };
    assert!(files(&profile).len() > 20);
    for (whole, part) in files(&profile).into_iter().zip(files(&same)) {
        assert_eq!(whole.0, part.0);
        assert!(whole.1 == part.1, "{} differs", whole.0);
    }
}

#[test]
fn frames_above_stay_and_strays_stay_strays() {
    let whole = Timetable::new()
        .frame("train.py(1): main", 0..100)
        .op("aten::mm", 10..30)
        // Ends after the call that it starts in.
        .op("aten::late", 25..60)
        .launched("late", 40..45, 50..55)
        .op("aten::add", 70..80)
        .launched("add", 72..74, 90..95)
        .profile();
    let part = whole.window(&us(48, 60));
    let tree = part.full_tree();
    let shown = outline(&part.trace, tree, &part.launches);
    assert_eq!(shown, "train.py(1): main\n  cudaLaunchKernel -> late\n");
    let late = whole.window(&us(20, 30));
    let tree = late.full_tree();
    assert_eq!(outline(&late.trace, tree, &late.launches), "! aten::late\n");
}

#[test]
fn a_step_is_where_the_gpu_worked_for_it() {
    let found = |timetable: Timetable| -> Vec<(String, i64, i64)> {
        let steps = step_windows(&timetable.profile()).into_iter();
        steps
            .map(|step| {
                let span = step.window.span;
                (step.step.name, span.start_ns / 1000, span.end_ns / 1000)
            })
            .collect()
    };
    let step = |n: u32, from: i64, to: i64| (format!("ProfilerStep#{n}"), from, to);
    // From when the GPU is done with the previous step, but not before the step starts on the CPU, to the last end of
    // what was launched in each, on any thread: a backward pass has its own.
    assert_eq!(found(two_steps()), [step(0, 0, 54), step(1, 54, 92)]);
    let backward =
        two_steps()
            .thread(2)
            .op("MmBackward0", 48..53)
            .launched("gemm", 50..51, 92..110);
    assert_eq!(found(backward), [step(0, 0, 54), step(1, 54, 110)]);
    // The CPU waits at the end of each step: the time that the GPU waits in the next step belongs to that step.
    let waiting = Timetable::new()
        .annotation("ProfilerStep#0", 0..60)
        .op("aten::mm", 2..12)
        .launched("gemm", 4..6, 20..58)
        .annotation("ProfilerStep#1", 60..120)
        .op("aten::mm", 92..102)
        .launched("gemm", 94..96, 100..118);
    assert_eq!(found(waiting.clone()), [step(0, 0, 58), step(1, 60, 118)]);
    // Work launched before the recording keeps the GPU from the first step until 15.
    let recorded_late = waiting.kernel(9, "unlinked", 3..15);
    assert_eq!(found(recorded_late), [step(0, 15, 58), step(1, 60, 118)]);
    // The profiler's own annotations cover what the range itself launched, and add nothing to the launches. If no
    // launch is known, only the annotations are left; a step has one per stream. The annotation of another run with the
    // same name is ignored.
    let annotation = "gpu_user_annotation";
    let unlinked = Timetable::new()
        .annotation("ProfilerStep#0", 0..28)
        .args(r#""External id": 5"#)
        .on_stream(annotation, "ProfilerStep#0", 20..35)
        .args(r#""External id": 5"#)
        .on_stream(annotation, "ProfilerStep#0", 60..70)
        .args(r#""External id": 6"#)
        .stream(9)
        .on_stream(annotation, "ProfilerStep#0", 18..30)
        .args(r#""External id": 5"#);
    assert_eq!(found(unlinked), [step(0, 18, 35)]);
    // Without GPU activity: as it ran on the CPU.
    let on_host = Timetable::new().annotation("ProfilerStep#3", 5..9);
    assert_eq!(found(on_host), [step(3, 5, 9)]);
}

/// The copy of the second step runs ahead, on its own stream:
///
/// ```text
/// µs       0    10   20   30   40   50   60   70   80
/// host     [0==)[1==)
/// stream 7           [===== gemm ======)[===== gemm ======)
/// stream 21              [copy)
/// ```
#[test]
fn a_step_has_what_was_launched_in_it_whenever_it_ran() {
    let whole = Timetable::new()
        .annotation("ProfilerStep#0", 0..10)
        .op("aten::mm", 2..8)
        .launched("gemm", 4..6, 20..40)
        .annotation("ProfilerStep#1", 10..22)
        .launch(2, 11..12)
        .op("aten::mm", 14..20)
        .launched("gemm", 16..18, 40..60)
        .stream(21)
        .copy(2, "Memcpy HtoD (Pinned -> Device)", 24..30)
        .profile();
    let steps: Vec<(usize, Option<[i64; 3]>)> = step_windows(&whole)
        .into_iter()
        .map(|step| {
            let part = whole.window(&step.window);
            (part.gpu.len(), times(&part))
        })
        .collect();
    // A GEMM each, and the copy, which is not in the time of the step that launched it.
    assert_eq!(steps, [(1, Some([40, 20, 20])), (2, Some([20, 20, 0]))]);
}

#[test]
fn a_step_is_found_by_number_or_name() {
    let profile = two_steps()
        .annotation("warm up", 60..62)
        .annotation("twice", 64..66)
        .annotation("twice", 68.0..70.5)
        .annotation("epoch", 72..90)
        .annotation("forward", 74..80)
        .annotation("nccl:all_reduce", 82..84)
        .annotation("nccl:all_reduce", 95..96)
        .profile();
    let name = |asked: &str| find_step(&profile, asked).map(|step| step.step.unwrap());
    assert_eq!(name("1"), Ok("ProfilerStep#1".to_owned()));
    assert_eq!(name("ProfilerStep#1"), Ok("ProfilerStep#1".to_owned()));
    assert_eq!(name("warm up"), Ok("warm up".to_owned()));
    // A nested range.
    assert_eq!(name("forward"), Ok("forward".to_owned()));
    let sentence = |asked: &str| find_step(&profile, asked).unwrap_err().to_string();
    assert_eq!(
        sentence("7"),
        "no step “7”; there are: ProfilerStep#0, ProfilerStep#1, warm up, twice, epoch, forward"
    );
    assert_eq!(
        sentence("twice"),
        "2 parts of the run are called “twice”; choose one by its time:\n  --window 64,66\n  --window 68,70.5"
    );
    // Ranges named by a communication library are not part of the program.
    assert!(sentence("nccl:all_reduce").starts_with("no step “nccl:all_reduce”"));
    let without = Timetable::new().op("aten::mm", 0..1).profile();
    let error = find_step(&without, "1").unwrap_err();
    assert!(error.to_string().starts_with("the trace names no steps"));
}

#[test]
fn a_window_says_what_it_is() {
    let profile = two_steps().profile();
    let step = find_step(&profile, "1").unwrap();
    let of = profile.window(&step).window.unwrap();
    assert_eq!(
        (of.name(), of.length()),
        ("Step 1".into(), "38.0 µs".into())
    );
    assert_eq!(
        of.sentence(),
        "Only Step 1 is analyzed: 38.0 µs, from 54.0 µs to 92.0 µs after the trace begins."
    );
    let of = profile.window(&us(56, 60)).window.unwrap();
    assert_eq!(of.name(), "56.0 µs to 60.0 µs");
    assert_eq!(
        of.sentence(),
        "Only a part of the trace is analyzed: 4.00 µs, from 56.0 µs to 60.0 µs after the trace begins."
    );
}

#[test]
fn tables_and_files_say_what_they_are_about() {
    let whole = two_steps().profile();
    let report = |profile: &Profile| Report::new(profile, &crate::testing::options_on("H100"));
    let text = |profile: &Profile, path: &str| {
        let report = report(profile);
        let file = Input::new(profile, &report).artifact(path)?;
        Some(String::from_utf8(file.bytes).unwrap())
    };
    let csv = "perf_report_csvs/window.csv";
    assert_eq!(text(&whole, csv), None);
    // The second step has only its own work; what runs into a window belongs to another one.
    let step = whole.window(&find_step(&whole, "1").unwrap());
    let range = whole.window(&us(60, 95));
    let head = "analyzed,start ms,end ms,length ms,counted start ms,counted end ms,trace length ms,recorded on,judged by";
    assert_eq!(
        text(&step, csv).unwrap(),
        format!("{head}\nProfilerStep#1,0.054,0.092,0.038,0.054,0.092,0.092,,NVIDIA H100 SXM\n")
    );
    assert_eq!(
        text(&range, csv).unwrap(),
        format!("{head}\na range of time,0.06,0.095,0.035,0.072,0.095,0.092,,NVIDIA H100 SXM\n")
    );
    // It is the first sheet of the workbook.
    assert_eq!(report(&step).sheets(&step)[0].name, "window");
    for (path, place) in [
        ("findings.json", "/window"),
        ("perf_report.json", "/window"),
        ("category_data/category_manifest.json", "/window"),
        ("metadata/gemm_metadata.json", "/trace/window"),
    ] {
        let window = |profile: &Profile| {
            let text = text(profile, path).unwrap();
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            json.pointer(place).cloned()
        };
        let expected = serde_json::json!({"step": "ProfilerStep#1", "gpu": null, "start_us": 54.0, "end_us": 92.0});
        assert_eq!(window(&step), Some(expected), "{path}");
        assert_eq!(window(&whole), Some(serde_json::Value::Null), "{path}");
    }
    for path in [
        "standalone_analysis_fair.md",
        "category_findings/gemm_findings.md",
        "system_findings/cpu_idle_findings.md",
    ] {
        let sentence = step.window.as_ref().unwrap().sentence();
        assert!(text(&step, path).unwrap().contains(&sentence), "{path}");
    }
}

#[test]
fn an_empty_window_says_so() {
    let profile = two_steps().profile();
    let part = profile.window(&us(93, 99));
    let report = Report::new(&part, &ReportOptions::default());
    assert_eq!(
        report.overview.headline,
        "No GPU activity starts in this window (93.0 µs to 99.0 µs). Choose a longer one, or the whole trace."
    );
    assert_eq!(report.overview.total_ns, None);
}

#[test]
fn without_names_it_is_the_same_part() {
    let profile = two_steps().profile();
    let step = find_step(&profile, "1").unwrap();
    let part = redact(&profile.window(&step));
    assert_eq!(part.window.as_ref().unwrap().name(), "Step 1");
    assert_eq!(part.launches.work.len(), 2);
    // Any name other than the profiler's comes from the program.
    for name in ["acme decoder", "ProfilerStep#acme"] {
        let named = Window {
            step: Some(name.to_owned()),
            ..step.clone()
        };
        let part = redact(&profile.window(&named));
        assert_eq!(part.window.unwrap().window.step, None, "{name}");
    }
}

#[test]
fn steps_are_the_outermost_ranges_of_each_thread() {
    let profile = Timetable::new()
        .annotation("ProfilerStep#1", 0..50)
        .annotation("forward", 0..30)
        .annotation("ProfilerStep#2", 50..90)
        .thread(2)
        .annotation("loader", 20..40)
        .profile();
    let names: Vec<String> = steps(&profile.trace)
        .into_iter()
        .map(|step| format!("{} {}", step.name, step.span.length() / 1000))
        .collect();
    assert_eq!(
        names,
        ["ProfilerStep#1 50", "loader 20", "ProfilerStep#2 40"]
    );
}

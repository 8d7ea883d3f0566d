//! Merging, on graphs of a few kernels.

mod cases;

use super::{CaptureFile, Note};
use crate::import::import;
use crate::profile::Profile;
use crate::testing::{Timetable, outline};

/// A graph of three kernels, replayed at each of these times in µs.
pub(super) fn replays(at: &[u32]) -> Timetable {
    replays_of(at, ["gemm", "norm", "Memcpy DtoD (Device -> Device)"])
}

pub(super) fn replays_of(at: &[u32], kernels: [&str; 3]) -> Timetable {
    let mut table = Timetable::new().without_flows();
    for (n, at) in (0..).zip(at) {
        table = table.runtime("hipGraphLaunch", n, *at..at + 10);
    }
    for (n, at) in (0..).zip(at) {
        let start = |nth: u32| at + 20 + nth * 5;
        for (nth, kernel) in (0..).zip(kernels) {
            table = table.kernel(n, kernel, start(nth)..start(nth) + 5);
        }
    }
    table
}

/// Launches of a capture: the operator above each, its shape, and the kernel; a copy has no kernel.
pub(super) type Launch<'a> = (&'a str, &'a str, Option<&'a str>);

pub(super) const LAUNCHES: [Launch; 4] = [
    ("aten::mm", "32x64, 64x16", Some("gemm")),
    ("my::norm", "32x16", Some("norm")),
    ("aten::copy_", "32x16, 32x16", None),
    ("aten::addmm", "16, 32x16, 16x4", Some("head")),
];

/// A capture with these launches.
pub(super) fn capture(launches: &[Launch]) -> Timetable {
    captures(&[("capture_32_FULL", launches)])
}

/// Captures one after the other, each in its annotation.
pub(super) fn captures(all: &[(&str, &[Launch])]) -> Timetable {
    let mut table = Timetable::new().without_flows();
    for (n, (annotation, launches)) in (0..).zip(all) {
        let start: u32 = n * 1_000;
        table = table
            .annotation(annotation, start..start + 900)
            .frame("model.py(3): forward", start + 1..start + 899)
            .runtime("hipStreamBeginCapture", 1, start + 2..start + 3)
            .frame("nn.Module: Block_0", start + 4..start + 800);
        for (nth, (op, args, kernel)) in (0..).zip(*launches) {
            let at = start + 10 + nth * 20;
            table = table.op(op, at..at + 15).args(args);
            table = match kernel {
                Some(kernel) => table
                    .runtime("hipModuleLaunchKernel", 100 + nth, at + 1..at + 5)
                    .args(&format!(r#""kernel": "{kernel}""#)),
                None => table.runtime("hipMemcpyAsync", 100 + nth, at + 1..at + 5),
            };
        }
        table = table.runtime("hipStreamEndCapture", 2, start + 850..start + 851);
    }
    table
}

pub(super) fn file(name: &str, table: &Timetable) -> CaptureFile {
    CaptureFile::new(name, import(table.json().as_bytes()), &[])
}

pub(super) fn merged(trace: &Timetable, files: &[CaptureFile]) -> Profile {
    Profile::with_captures(import(trace.json().as_bytes()).unwrap(), files)
}

pub(super) fn shown(profile: &Profile) -> String {
    outline(&profile.trace, &profile.tree, &profile.launches)
}

/// What is reported about the captures.
pub(super) fn said(profile: &Profile) -> Vec<String> {
    let coverage = profile.coverage.as_ref().unwrap();
    let mut said = vec![coverage.summary()];
    said.extend(coverage.problems());
    said.extend(coverage.unrecorded());
    said
}

const ONE: &str = "\
hipGraphLaunch
  aten::mm
    hipModuleLaunchKernel -> gemm
  my::norm
    hipModuleLaunchKernel -> norm
  aten::copy_
    hipMemcpyAsync -> Memcpy DtoD (Device -> Device)
  aten::addmm
";

#[test]
fn each_replay_gets_the_captured_operators() {
    let profile = merged(&replays(&[0, 100]), &[file("c", &capture(&LAUNCHES))]);
    assert_eq!(shown(&profile), [ONE, ONE].concat());
    assert_eq!(
        said(&profile),
        [
            "Operators and shapes of 6 of 6 kernels in 2 of 2 graph replays come from 1 of 1 captured graphs.",
            "Of 2 captured launches in 2 graph replays no kernel was recorded: the profiler lost them, or they were not replayed.",
        ]
    );
    // FLOPs and shapes come from the capture, times from the replays.
    let operations = profile.operations().iter();
    let operations: Vec<_> = operations
        .map(|operation| {
            let name = operation.short_name(&profile);
            (name, operation.n_calls(), operation.kernel_ns / 1000)
        })
        .collect();
    assert!(operations.contains(&("aten::mm", 2, 10)), "{operations:?}");
    let gemm = &profile.operations()[0];
    assert!(gemm.is_replayed(&profile) && !gemm.is_in_graph(&profile));
}

/// µs: two replays, launched at 0 and 2, run from 20 to 35 and from 40 to 55. The capture has a fourth launch.
#[test]
fn a_gap_behind_a_replay_that_lacks_its_last_kernel_is_no_idle_time() {
    use crate::report::{Report, ReportOptions};
    let mut trace = Timetable::new().without_flows();
    for (n, (host, gpu)) in (0_u32..).zip([(0_u32, 20_u32), (2, 40), (4, 60)]) {
        trace = trace.runtime("hipGraphLaunch", n, host..host + 1);
        for (nth, kernel) in (0..).zip(["gemm", "norm", "head"]) {
            trace = trace.kernel(n, kernel, gpu + nth * 5..gpu + nth * 5 + 5);
        }
    }
    let time = |launches: &[Launch]| {
        let profile = merged(&trace, &[file("c", &capture(launches))]);
        let report = Report::new(&profile, &ReportOptions::default());
        let idle = report.analyses.outcome("cpu_idle").unwrap();
        idle.get("unrecorded_kernels_time")
            .map(|value| value.text())
    };
    let own = [LAUNCHES[0], LAUNCHES[1], LAUNCHES[3]];
    let longer = [
        LAUNCHES[0],
        LAUNCHES[1],
        LAUNCHES[3],
        ("aten::mul", "16", Some("scale")),
    ];
    // Both gaps of 5 µs.
    assert_eq!(time(&longer).as_deref(), Some("10.0 µs"));
    assert_eq!(time(&own), None);
}

#[test]
fn captured_calls_take_no_time_on_the_cpu() {
    let profile = merged(&replays(&[0]), &[file("c", &capture(&LAUNCHES))]);
    assert_eq!(profile.cpu_ops, []);
    let launch = profile.tree.roots().next().unwrap();
    let own_ns = |node| crate::profile::cpu::tree::own_cpu_ns(&profile.trace, &profile.tree, node);
    let below: i64 = profile.tree.children(launch).map(own_ns).sum();
    assert_eq!((own_ns(launch), below), (10_000, 0));
    // Modules come from the capture, in the tree with Python frames.
    let full = profile.full_tree();
    let module = full.children(full.roots().next().unwrap()).next().unwrap();
    let name = profile.trace.name(full.event(module).unwrap());
    assert_eq!(name, "nn.Module: Block_0");
}

#[test]
fn windows_and_redacted_traces_stay_merged() {
    use crate::base::interval::Interval;
    use crate::output::redact::redact;
    use crate::profile::window::Window;
    let profile = merged(&replays(&[0, 100]), &[file("own", &capture(&LAUNCHES))]);
    let window = Window::range(Interval::new(90_000, 200_000));
    assert_eq!(shown(&profile.window(&window)), ONE);
    let redacted = redact(&profile);
    assert!(shown(&redacted).contains("aten::mm\n    hipModuleLaunchKernel -> "));
    assert_eq!(redacted.coverage.unwrap().files[0].name, "capture_1");
}

#[test]
fn what_is_not_merged_is_told() {
    let trace = replays(&[0, 100]);
    let bare = "hipGraphLaunch -> gemm, norm, Memcpy DtoD (Device -> Device)\n".repeat(2);
    let foreign = capture(&[("aten::relu", "4", Some("relu")); 3]);
    // Ends inside the capture.
    let cut = capture(&LAUNCHES)
        .json()
        .replace("hipStreamEndCapture", "hipStreamQuery");
    let cases = [
        (
            file("f", &foreign),
            "No replay of this trace comes from the capture f: it is from another model, size or version.",
        ),
        (file("e", &Timetable::new()), "The capture e has no events."),
        (
            file("p", &trace),
            "p contains no GPU graph capture: no call in it starts and ends one.",
        ),
        (
            CaptureFile::new("t", import(cut.as_bytes()), &[]),
            "The capture t ends before 1 graph did; the incomplete part was not used.",
        ),
        (
            CaptureFile::new("x", import(b"no trace"), &[]),
            "The capture x cannot be read: ",
        ),
    ];
    for (file, expected) in cases {
        let profile = merged(&trace, &[file]);
        let said = said(&profile);
        assert_eq!(said[0], "No capture explains 2 graph replays of 6 kernels.");
        assert!(said[1].starts_with(expected), "{said:?}");
        assert_eq!(shown(&profile), bare);
    }
    let eager = Timetable::new().work("aten::mm", "gemm", 20..50);
    let profile = merged(&eager, &[file("c", &capture(&LAUNCHES))]);
    assert_eq!(
        said(&profile),
        ["The trace replays no GPU graph that a capture could explain."]
    );
}

#[test]
fn of_several_sizes_the_smallest_that_holds_the_step_serves() {
    let sized = |rows: u32| {
        let shape = format!("{rows}x64, 64x16");
        let launches = [
            ("aten::mm", &*shape, Some("gemm")),
            LAUNCHES[1],
            LAUNCHES[2],
        ];
        file(
            &rows.to_string(),
            &captures(&[(&format!("capture_{rows}_FULL"), &launches)]),
        )
    };
    let files = || [sized(8), sized(64), sized(16)];
    let step = |tokens: u32| {
        let sums = format!("sq{tokens}sk90sqsq{tokens}sqsk90");
        let name =
            format!("execute_{tokens}_context_0(sq0sk0sqsq0sqsk0)_generation_{tokens}({sums})");
        replays(&[10]).annotation(&name, 0..50)
    };
    let rows = |profile: &Profile| {
        let operations = profile.operations().iter();
        let mut gemms = operations.filter(|one| one.short_name(profile) == "aten::mm");
        gemms
            .next()
            .map(|one| one.arguments(profile).unwrap().sizes(0).unwrap()[0])
    };
    for (tokens, expected) in [(5, Some(8)), (8, Some(8)), (9, Some(16)), (17, Some(64))] {
        assert_eq!(rows(&merged(&step(tokens), &files())), expected, "{tokens}");
    }
    let large = merged(&step(65), &files());
    assert_eq!(rows(&large), None);
    assert!(
        said(&large)[4]
            .ends_with("the step has 65 tokens, and the largest capture of these kernels has 64."),
        "{:?}",
        said(&large)
    );
    // Without an annotation the size is unknown.
    let unknown = merged(&replays(&[10]), &files());
    assert_eq!(rows(&unknown), None);
    assert!(
        said(&unknown)
            .last()
            .unwrap()
            .contains("captures of several sizes (8, 16, 64)")
    );
    assert_eq!(rows(&merged(&replays(&[10]), &[sized(16)])), Some(16));
}

#[test]
fn layers_of_one_file_are_told_by_their_order() {
    let layer = |norm| [LAUNCHES[0], ("my::norm", norm, Some("norm")), LAUNCHES[2]];
    let (first, second) = (layer("1x1"), layer("2x2"));
    let both = captures(&[
        ("capture_32_PIECEWISE", &first),
        ("capture_32_PIECEWISE", &second),
    ]);
    let profile = merged(&replays(&[0, 100, 200, 300]), &[file("c", &both)]);
    let norms = profile.operations().iter();
    let norms = norms.filter(|one| one.short_name(&profile) == "my::norm");
    let mut norms: Vec<_> = norms
        .map(|one| (one.dims(&profile).len(), one.n_calls()))
        .collect();
    norms.sort_unstable();
    assert_eq!(norms, [(1, 2), (1, 2)]);
}

#[test]
fn kernels_on_two_streams_are_each_in_their_order() {
    let names = ["a", "b", "c", "d"];
    let launches: Vec<Launch> = names
        .iter()
        .map(|name| ("my::op", "4", Some(*name)))
        .collect();
    let trace = Timetable::new()
        .without_flows()
        .runtime("hipGraphLaunch", 1, 0..10)
        .kernel(1, "a", 20..30)
        .stream(8)
        .kernel(1, "c", 21..31)
        .kernel(1, "d", 31..40)
        .stream(7)
        .kernel(1, "b", 32..40);
    let profile = merged(&trace, &[file("c", &capture(&launches))]);
    let lines = shown(&profile);
    let kernels = lines.lines().filter_map(|line| line.split_once("-> "));
    let kernels: Vec<&str> = kernels.map(|(_, kernel)| kernel).collect();
    assert_eq!(kernels, names);
}

#[test]
fn launches_without_names_are_told_off() {
    let hidden = capture(&LAUNCHES[..3])
        .json()
        .replace(r#""kernel""#, r#""hidden""#);
    let files = [CaptureFile::new("c", import(hidden.as_bytes()), &[])];
    let kernels = [
        "Cijk_Ailk_Bljk_BBS",
        "norm",
        "Memcpy DtoD (Device -> Device)",
    ];
    let profile = merged(&replays_of(&[0], kernels), &files);
    assert!(shown(&profile).contains("aten::mm\n    hipModuleLaunchKernel -> Cijk"));
    // A generated kernel does not belong to an operator's GEMM.
    let other = [
        "triton_poi_fused_0",
        "norm",
        "Memcpy DtoD (Device -> Device)",
    ];
    let contradicted = merged(&replays_of(&[0], other), &files);
    assert!(shown(&contradicted).starts_with("hipGraphLaunch -> triton_poi_fused_0, norm"));
}

#[test]
fn a_recording_that_holds_both_is_merged_with_itself() {
    let both = capture(&LAUNCHES[..3])
        .runtime("hipGraphLaunch", 500, 2_000..2_010)
        .kernel(500, "gemm", 2_020..2_030)
        .kernel(500, "norm", 2_030..2_040)
        .kernel(500, "Memcpy DtoD (Device -> Device)", 2_040..2_050);
    let profile = merged(&both, &[file("itself", &both)]);
    let (all, matched) = profile.coverage.as_ref().unwrap().kernels();
    assert_eq!((all, matched), (3, 3));
}

/// Merges files that are added later; or says why not.
fn and(profile: Profile, files: &[CaptureFile]) -> Result<Profile, String> {
    let merging = profile.merging(files);
    match merging.is_empty() {
        true => Err(merging.coverage().refusal(profile.coverage.as_deref())),
        false => Ok(profile.and_captures(files, merging).unwrap()),
    }
}

#[test]
fn a_capture_that_comes_later_is_merged_and_can_be_taken_off() {
    let trace = replays(&[0, 100]);
    let bare = shown(&trace.profile());
    let late = and(trace.profile(), &[file("c", &capture(&LAUNCHES))]).unwrap();
    assert_eq!(shown(&late), [ONE, ONE].concat());
    let merged: Vec<_> = late.coverage.as_ref().unwrap().merged_files().collect();
    assert_eq!(merged, [("c", "6 of 6 kernels matched".to_owned())]);

    let without = late.without_captures().unwrap();
    assert_eq!((shown(&without), &without.coverage), (bare, &None));
    let again = and(without, &[file("d", &capture(&LAUNCHES))]).unwrap();
    assert_eq!(shown(&again), [ONE, ONE].concat());
}

#[test]
fn what_cannot_be_merged_says_why() {
    let whole = capture(&LAUNCHES).json();
    let bytes = |name: &str, bytes: &[u8]| CaptureFile::new(name, import(bytes), &[]);
    let other = [("aten::relu", "4", Some("relu")); 3];
    let why = |trace: &Timetable, file| and(trace.profile(), &[file]).unwrap_err();
    let trace = replays(&[0]);
    for (file, expected) in [
        (
            file("other.json", &capture(&other)),
            "No replay of this trace comes from the capture other.json: it is from another model, size or version. A graph of 3 kernels, replayed once, has no operators: no capture launches these kernels.",
        ),
        (
            file("eager.json", &Timetable::new().op("aten::mm", 0..9)),
            "eager.json contains no GPU graph capture: no call in it starts and ends one.",
        ),
        (
            bytes("cut.json", &whole.as_bytes()[..whole.len() - 200]),
            "The capture cut.json ends before 1 graph did; the incomplete part was not used.",
        ),
        (
            bytes("empty.json", br#"{"traceEvents": []}"#),
            "The capture empty.json has no events.",
        ),
    ] {
        assert_eq!(why(&trace, file), expected);
    }
    let eager = Timetable::new().work("aten::mm", "gemm", 0..9);
    assert_eq!(
        why(&eager, file("c", &capture(&LAUNCHES))),
        "The trace replays no GPU graph that a capture could explain."
    );
    let done = merged(&trace, &[file("c", &capture(&LAUNCHES))]);
    assert_eq!(
        and(done, &[file("c", &capture(&LAUNCHES))]).unwrap_err(),
        "All GPU graph replays of the trace have operators from captures already."
    );
}

#[test]
fn notes_say_the_size_where_no_annotation_does() {
    let plain = captures(&[("warm-up", &LAUNCHES[..3])]);
    let note = Note {
        file: "c.json".to_owned(),
        size: Some(48),
    };
    let file = CaptureFile::new("runs/c.json", import(plain.json().as_bytes()), &[note]);
    assert_eq!(file.size, Some(48));
}

#[test]
fn captures_that_no_replay_needs_are_one_line() {
    let other = capture(&[("aten::relu", "4", Some("relu")); 3]);
    let needed = || file("c", &capture(&LAUNCHES[..3]));
    let spare = |name| file(name, &other);
    let line = |files: &[CaptureFile]| said(&merged(&replays(&[0]), files))[1..].to_vec();
    assert_eq!(line(&[needed()]), [""; 0]);
    assert_eq!(
        line(&[needed(), spare("a/b")]),
        ["No replay needs the capture b."]
    );
    assert_eq!(
        line(&[spare("a"), needed(), spare("b")]),
        ["2 of 3 capture files are needed by no replay."]
    );
}

/// 4-bit weights, eight per integer: one token of hidden size 8, which chooses one of 4 experts.
#[test]
fn both_gemms_of_experts_in_one_operator_are_told_apart() {
    const KERNEL: &str = "fused_moe_kernel_gptq_awq";
    let experts = "1x8:c10::Half, 4x16x1:int, 4x8x1:int, 1x1:float, 1x1:int";
    let mut capture = Timetable::new()
        .without_flows()
        .annotation("capture_1_FULL", 0..900)
        .frame("model.py(3): forward", 1..899)
        .runtime("hipStreamBeginCapture", 1, 2..3)
        .op("vllm::outplace_fused_experts", 10..60)
        .args(experts);
    let mut trace = Timetable::new()
        .without_flows()
        .runtime("hipGraphLaunch", 1, 0..10);
    for nth in 0_u32..2 {
        capture = capture
            .runtime(
                "hipModuleLaunchKernel",
                100 + nth,
                12 + nth * 20..15 + nth * 20,
            )
            .args(&format!(r#""kernel": "{KERNEL}""#));
        trace = trace.kernel(1, KERNEL, 20 + nth * 5..25 + nth * 5);
    }
    let capture = capture.runtime("hipStreamEndCapture", 2, 850..851);
    let profile = merged(&trace, &[file("c", &capture)]);
    let operations = profile.operations().iter();
    let actual: Vec<(&str, Option<f64>)> = operations
        .map(|one| {
            (
                one.short_name(&profile),
                one.modeled.as_ref().map(|of| of.work.flops),
            )
        })
        .collect();
    let (up, down) = ("pseudo_op::moe_gptq_awq_up", "pseudo_op::moe_gptq_awq_down");
    assert_eq!(actual, [(up, Some(256.0)), (down, Some(128.0))]);
}

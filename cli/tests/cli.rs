//! The built command: what it prints, what it writes, how it ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

/// An operator that launches one kernel.
const TRACE: &str = r#"{"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 0, "dur": 90},
    {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": 5, "dur": 80},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 20, "args": {"correlation": 7}},
    {"ph": "X", "cat": "kernel", "name": "sgemm_128x64", "pid": 0, "tid": 7, "ts": 40, "dur": 60, "args": {"correlation": 7, "stream": 7}},
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 1, "tid": 1, "ts": 10},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 0, "tid": 7, "ts": 40, "bp": "e"}
]}"#;

fn dormer(arguments: &[&str], folder: &Path, input: &[u8]) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_dormer"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may be gone already.
    let _ = process.stdin.take().unwrap().write_all(input);
    process.wait_with_output().unwrap()
}

/// A folder with one file.
fn folder_with(name: &str, bytes: impl AsRef<[u8]>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    folder
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The exit code, standard output and standard error.
#[track_caller]
fn said(output: &Output) -> (i32, &str, &str) {
    (
        output.status.code().unwrap(),
        str::from_utf8(&output.stdout).unwrap(),
        str::from_utf8(&output.stderr).unwrap(),
    )
}

#[test]
fn a_report_is_summed_up_and_written() {
    let folder = folder_with("trace.json", TRACE);
    let output = dormer(
        &["report", "trace.json", "-o", "out/deep"],
        folder.path(),
        b"",
    );
    let (code, stdout, stderr) = said(&output);
    assert_eq!((code, stderr), (0, ""));
    assert!(stdout.contains("aten::addmm"), "{stdout}");
    assert!(stdout.contains("60.0 µs"), "{stdout}");
    let out = folder.path().join("out/deep");
    let report = fs::read_to_string(out.join("standalone_analysis_fair.md")).unwrap();
    assert!(report.contains("aten::addmm"));
    let sheet = fs::read_to_string(out.join("perf_report_csvs/ops_summary.csv")).unwrap();
    assert!(sheet.contains("aten::addmm"));
}

#[test]
fn the_same_trace_is_read_from_any_source() {
    let plain = folder_with("trace.json", TRACE);
    // Told apart by content: the name lies.
    let packed = folder_with("trace.json", gzip(TRACE));
    let from_plain = dormer(&["report", "trace.json"], plain.path(), b"");
    assert_eq!(said(&from_plain).0, 0);
    for output in [
        dormer(&["report", "trace.json"], packed.path(), b""),
        dormer(&["report", "-"], plain.path(), TRACE.as_bytes()),
        dormer(&["report", "-"], plain.path(), &gzip(TRACE)),
    ] {
        assert_eq!(said(&output), said(&from_plain));
    }
}

/// Two steps with a kernel each, of 10 and 30 µs.
const STEPS: &str = r#"{"traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 100, "dur": 20},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 102, "dur": 10},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 104, "dur": 4, "args": {"correlation": 1}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 1, "tid": 1, "ts": 120, "dur": 20},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 122, "dur": 10},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 124, "dur": 4, "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 130, "dur": 10, "args": {"correlation": 1, "stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 140, "dur": 30, "args": {"correlation": 2, "stream": 7}}
]}"#;

#[test]
fn a_step_or_a_part_of_the_time_can_be_analysed_alone() {
    let folder = folder_with("trace.json", STEPS);
    let report = |more: &[&str]| {
        let arguments: Vec<&str> = ["report", "trace.json"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        dormer(&arguments, folder.path(), b"")
    };
    let output = report(&["--step", "5"]);
    let (code, of_step, _) = said(&output);
    assert_eq!(code, 0);
    let first = "Of Step 5 alone: 30.0 µs, from 40.0 µs to 70.0 µs after the trace begins.\n";
    assert!(of_step.starts_with(first), "{of_step}");
    assert!(of_step.contains("aten::add"), "{of_step}");
    assert!(!of_step.contains("aten::mm"), "{of_step}");
    assert_eq!(said(&report(&["--step", "ProfilerStep#5"])).1, of_step);
    assert_eq!(said(&report(&["--step", "5", "-o", "out"])).0, 0);
    let fair = folder.path().join("out/standalone_analysis_fair.md");
    let fair = fs::read_to_string(fair).unwrap();
    assert!(fair.contains(first), "{fair}");

    let by_time = report(&["--window", "40,70.5"]);
    let first =
        "Of a part of the trace alone: 30.5 µs, from 40.0 µs to 70.5 µs after the trace begins.\n";
    assert!(said(&by_time).1.starts_with(first));
    assert_eq!(said(&report(&["--window", "70,40"])).0, 2);

    let unknown = report(&["--step", "9"]);
    let sentence = "dormer: trace.json: no step “9”; there are: ProfilerStep#4, ProfilerStep#5\n";
    assert_eq!(said(&unknown), (2, "", sentence));
}

#[test]
fn steps_of_two_traces_can_be_compared() {
    let folder = folder_with("trace.json", STEPS);
    let compare = ["compare", "--reference", "trace.json", "trace.json"];
    let arguments = [
        &compare[..],
        &["--names", "old,new", "--step", "4,5", "-o", "."],
    ]
    .concat();
    let output = dormer(&arguments, folder.path(), b"");
    let (code, stdout, _) = said(&output);
    assert_eq!(code, 0);
    assert!(stdout.contains("new takes 30.0 µs"), "{stdout}");
    assert!(stdout.contains("old: Of Step 4 alone: 40.0 µs"), "{stdout}");
    let fair = folder.path().join("comparative_analysis_fair.md");
    let fair = fs::read_to_string(fair).unwrap();
    assert!(
        fair.contains("Of the reference `Step 4` alone (40.0 µs) is compared, of the target `Step 5` alone (30.0 µs)."),
        "{fair}"
    );
}

#[test]
fn formats_can_be_chosen() {
    for (formats, has_markdown, has_csv) in [
        ("md", true, false),
        ("csv", false, true),
        ("md,csv", true, true),
        ("all", true, true),
    ] {
        let folder = folder_with("trace.json", TRACE);
        let output = dormer(
            &["report", "trace.json", "-o", ".", "--format", formats],
            folder.path(),
            b"",
        );
        assert_eq!(said(&output).0, 0);
        let exists = |name: &str| folder.path().join(name).exists();
        assert_eq!(
            exists("standalone_analysis_fair.md"),
            has_markdown,
            "{formats}"
        );
        assert_eq!(
            exists("perf_report_csvs/gpu_timeline.csv"),
            has_csv,
            "{formats}"
        );
    }
}

#[test]
fn an_archive_holds_what_is_asked_for() {
    let folder = folder_with("run 7.json", TRACE);
    let report = ["report", "run 7.json", "-o", "out", "--format"];
    for (formats, expected) in [
        ("zip", "perf_report.xlsx"),
        ("zip,md", "standalone_analysis_fair.md"),
    ] {
        let output = dormer(&[&report[..], &[formats]].concat(), folder.path(), b"");
        let (code, stdout, stderr) = said(&output);
        assert_eq!((code, stderr), (0, ""));
        assert!(stdout.contains("Wrote out/dormer-run_7.zip ("), "{stdout}");
        let files: Vec<_> = fs::read_dir(folder.path().join("out")).unwrap().collect();
        assert_eq!(files.len(), 1);
        let archive = fs::read(folder.path().join("out/dormer-run_7.zip")).unwrap();
        let holds = |path: &str| {
            archive
                .windows(path.len())
                .any(|bytes| bytes == path.as_bytes())
        };
        assert!(holds(expected), "{formats}");
        assert_eq!(holds("perf_report.json"), formats == "zip");
    }
}

#[test]
fn names_of_ones_own_are_replaced() {
    let own = TRACE
        .replace("sgemm_128x64", "acme_gemm")
        .replace("aten::linear", "acme::linear");
    let folder = folder_with("acme.json", &own);
    let redact = |arguments: &[&str]| {
        let arguments = [arguments, &["--redact", "-o", "out", "--format", "csv,zip"]].concat();
        let output = dormer(&arguments, folder.path(), b"");
        let (code, stdout, stderr) = said(&output);
        assert_eq!((code, stderr), (0, ""));
        assert!(!stdout.contains("acme"), "{stdout}");
        assert!(
            stdout.contains("Wrote out/dormer-redacted.zip ("),
            "{stdout}"
        );
    };
    redact(&["report", "acme.json"]);
    redact(&["compare", "--reference", "acme.json", "acme.json"]);
}

#[test]
fn what_is_no_trace_ends_with_one_sentence() {
    let expected = "expected a PyTorch profiler trace, the .json or .json.gz that export_chrome_trace or tensorboard_trace_handler writes";
    for (bytes, sentence) in [
        (&b""[..], format!("the file is empty; {expected}")),
        (b"{'ph': 1}", "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace (at byte 1)".to_owned()),
        (b"epoch 1", format!("this is not JSON; {expected} (at byte 0)")),
    ] {
        let folder = folder_with("trace.json", bytes);
        let output = dormer(&["report", "trace.json", "-o", "out"], folder.path(), b"");
        assert_eq!(said(&output), (1, "", format!("dormer: trace.json: {sentence}\n").as_str()));
        assert!(!folder.path().join("out").exists());

        let output = dormer(&["report", "-"], folder.path(), bytes);
        assert_eq!(said(&output).2, format!("dormer: standard input: {sentence}\n"));
    }
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let folder = folder_with("trace.json", TRACE);
    for (arguments, sentence) in [
        (
            &["report", "missing.json"][..],
            "dormer: missing.json: No such file or directory",
        ),
        (
            &["report", "."],
            "dormer: .: is a folder; give one trace file",
        ),
        (
            &["report", "trace.json", "-o", "trace.json"],
            "dormer: cannot write trace.json/",
        ),
    ] {
        let output = dormer(arguments, folder.path(), b"");
        let (code, _, stderr) = said(&output);
        assert_eq!(code, 1);
        assert!(stderr.starts_with(sentence), "{stderr}");
    }
}

#[test]
fn a_damaged_trace_is_analysed_and_the_damage_told() {
    let folder = folder_with("cut.json", &TRACE[..TRACE.len() - 4]);
    let output = dormer(&["report", "cut.json"], folder.path(), b"");
    let (code, stdout, _) = said(&output);
    assert_eq!(code, 0);
    assert!(
        stdout.contains("The trace ends before it is closed"),
        "{stdout}"
    );
    assert!(stdout.contains("at byte"), "{stdout}");
}

/// The same as [`TRACE`] with a kernel of 90 µs.
fn slower() -> String {
    TRACE.replace(r#""ts": 40, "dur": 60"#, r#""ts": 40, "dur": 90"#)
}

#[test]
fn two_traces_are_compared_and_written() {
    let folder = folder_with("before.json", TRACE);
    fs::write(folder.path().join("after.json.gz"), gzip(&slower())).unwrap();
    let arguments = ["compare", "--reference", "before.json", "after.json.gz"];
    let output = dormer(
        &[&arguments[..], &["-o", "out"]].concat(),
        folder.path(),
        b"",
    );
    let (code, stdout, stderr) = said(&output);
    assert_eq!((code, stderr), (0, ""));
    let headline =
        "after takes 90.0 µs on the GPU from end to end, before 60.0 µs: +30.0 µs (+50.0 %).";
    assert_eq!(stdout.lines().next(), Some(headline));
    let out = folder.path().join("out");
    let sheet = fs::read_to_string(out.join("comparison_csvs/ops_summary.csv")).unwrap();
    assert!(
        sheet.starts_with("name,total_direct_kernel_time_ms__after_diff,"),
        "{sheet}"
    );
    for name in ["comparison", "reference_perf_report", "target_perf_report"] {
        assert!(out.join(format!("{name}.xlsx")).exists(), "{name}");
    }
    let from_stdin = [
        "compare",
        "--reference",
        "before.json",
        "-",
        "--names",
        "before,after",
    ];
    let from_stdin = dormer(&from_stdin, folder.path(), slower().as_bytes());
    let alone = dormer(&arguments, folder.path(), b"");
    assert_eq!(said(&from_stdin), said(&alone));
}

#[test]
fn traces_of_the_same_name_are_told_apart() {
    let folder = folder_with("trace.json", TRACE);
    let arguments = ["compare", "--reference", "trace.json", "trace.json"];
    let output = dormer(&arguments, folder.path(), b"");
    let (code, stdout, _) = said(&output);
    assert_eq!(code, 0);
    let headline = "target takes 60.0 µs on the GPU from end to end, as reference does.";
    assert_eq!(stdout.lines().next(), Some(headline));
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = folder_with("trace.json", TRACE);
    for (arguments, sentence) in [
        (&["report"][..], "TRACE"),
        (&["repport", "trace.json"], "report"),
        (&["report", "trace.json", "--format", "pdf"], "pdf"),
        (&["report", "trace.json", "--format", "md"], "--output"),
        (
            &["report", "trace.json", "--gpu", "MI300"],
            "close names: MI300A, MI300X",
        ),
        (
            &["report", "trace.json", "--gpu", "abacus"],
            "`dormer gpus` lists them",
        ),
        (
            &["report", "trace.json", "--micro-idle", "0"],
            "not a number of microseconds above 0",
        ),
        (&["compare", "trace.json"], "--reference"),
        (
            &[
                "compare",
                "--reference",
                "trace.json",
                "trace.json",
                "--names",
                "a,a",
            ],
            "the two names are equal",
        ),
        (
            &[
                "compare",
                "--reference",
                "trace.json",
                "trace.json",
                "--names",
                "a",
            ],
            "expected two names",
        ),
        (
            &["compare", "--reference", "-", "-"],
            "only one of the two traces can come from standard input",
        ),
        (&["tree", "trace.json"], "--uid"),
        (
            &["tree", "trace.json", "--uid", "5"],
            "no complete event stands at position 5",
        ),
        (
            &["tree", "trace.json", "--uid", "99"],
            "no complete event stands at position 99",
        ),
    ] {
        let output = dormer(arguments, folder.path(), b"");
        let (code, stdout, stderr) = said(&output);
        assert_eq!((code, stdout), (2, ""), "{arguments:?}");
        assert!(stderr.contains(sentence), "{arguments:?}: {stderr}");
    }
}

#[test]
fn the_gpu_can_be_chosen() {
    let folder = folder_with("trace.json", TRACE);
    let unknown = dormer(&["report", "trace.json"], folder.path(), b"");
    assert!(said(&unknown).1.contains("--gpu NAME"));
    let chosen = dormer(
        &["report", "trace.json", "--gpu", "mi300x"],
        folder.path(),
        b"",
    );
    assert!(said(&chosen).1.contains("Judged by AMD Instinct MI300X."));
}

#[test]
fn the_gpu_can_be_a_file() {
    let folder = folder_with("trace.json", TRACE);
    let profile = r#"{"name": "Mine", "mem_bw_gbps": 1000, "source": "node 7",
        "max_achievable_tflops": {"matrix_fp32": 50}, "peak_tflops": {"matrix_bf16": 80}}"#;
    fs::write(folder.path().join("mine.json"), profile).unwrap();
    fs::write(folder.path().join("mine"), profile).unwrap();
    for name in ["mine.json", "./mine.json", "mine"] {
        let arguments = ["report", "trace.json", "--gpu", name];
        let output = dormer(&arguments, folder.path(), b"");
        assert!(
            said(&output).1.contains("Judged by Mine."),
            "{name}: {output:?}"
        );
    }
    fs::write(
        folder.path().join("wrong.json"),
        profile.replace("1000", "0"),
    )
    .unwrap();
    for (name, sentence) in [
        ("wrong.json", "line 1: mem_bw_gbps must be a number from"),
        ("missing.json", "cannot read it: "),
        ("trace.json", "name is missing"),
    ] {
        let arguments = ["report", "trace.json", "--gpu", name];
        let output = dormer(&arguments, folder.path(), b"");
        let (code, _, stderr) = said(&output);
        assert_eq!(code, 2, "{name}");
        assert!(stderr.contains(sentence), "{name}: {stderr}");
    }
}

#[test]
fn the_basis_can_be_chosen() {
    let folder = folder_with("trace.json", TRACE);
    let summary = |basis: &[&str]| {
        let arguments = [&["report", "trace.json", "--gpu", "MI300X"], basis].concat();
        let output = dormer(&arguments, folder.path(), b"");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let peaks = "All figures are peaks (AMD Instinct MI300X datasheet).";
    assert!(summary(&["--basis", "peak"]).contains(peaks));
    assert!(!summary(&[]).contains(peaks));
    assert_eq!(summary(&[]), summary(&["--basis", "achievable"]));
}

#[test]
fn idling_can_be_split() {
    let folder = folder_with("trace.json", TRACE);
    let timeline = |arguments: &[&str]| {
        let always = ["report", "trace.json", "-o", "out", "--format", "csv"];
        let output = dormer(&[&always[..], arguments].concat(), folder.path(), b"");
        assert_eq!(output.status.code(), Some(0));
        fs::read_to_string(folder.path().join("out/perf_report_csvs/gpu_timeline.csv")).unwrap()
    };
    assert!(timeline(&[]).contains("\nidle_time,"));
    let split = timeline(&["--micro-idle", "5"]);
    assert!(split.contains("\nmicro_idle_time,") && split.contains("\nmacro_idle_time,"));
}

#[test]
fn the_gpus_are_listed() {
    let output = dormer(&["gpus"], Path::new("."), b"");
    let (code, stdout, _) = said(&output);
    assert_eq!(code, 0);
    let line = stdout
        .lines()
        .find(|line| line.starts_with("MI300X"))
        .unwrap();
    assert!(
        line.contains("AMD Instinct MI300X") && line.contains("5.30 TB/s"),
        "{line}"
    );
}

#[test]
fn the_tree_of_an_event() {
    let folder = folder_with("trace.json", TRACE);
    let tree = |uid: &str| {
        let output = dormer(&["tree", "trace.json", "--uid", uid], folder.path(), b"");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    // What called it, and what it called.
    assert_eq!(
        tree("2"),
        "\
aten::addmm: CPU op on thread 1 of python (1)

uid  host time  GPU time  GPU events     call
  1    90.0 µs   60.0 µs           1     aten::linear
  2    80.0 µs   60.0 µs           1  →    aten::addmm
  3    20.0 µs   60.0 µs           1         cudaLaunchKernel
  4              60.0 µs                       sgemm_128x64
"
    );
    // A kernel hangs below the call that launched it.
    assert_eq!(
        tree("4"),
        "\
sgemm_128x64: kernel on thread 7 of process 0

uid  host time  GPU time  GPU events     call
  1    90.0 µs   60.0 µs           1     aten::linear
  2    80.0 µs   60.0 µs           1       aten::addmm
  3    20.0 µs   60.0 µs           1         cudaLaunchKernel
  4              60.0 µs              →        sgemm_128x64
"
    );
}

//! The built command: what it prints, what it writes, how it ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

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

/// How a command ended, and what it wrote to standard output and standard error.
#[derive(Debug, PartialEq)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    /// What it printed, where it did its work without a complaint.
    #[track_caller]
    fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self.out
    }
}

/// A folder in which commands run.
struct Folder(TempDir);

impl Folder {
    /// One with a file.
    fn with(name: &str, bytes: impl AsRef<[u8]>) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.add(name, bytes);
        folder
    }

    fn add(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }

    #[track_caller]
    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.0.path().join(path).exists()
    }

    /// Runs `dormer` with arguments as in a shell.
    fn run(&self, arguments: &str) -> Said {
        self.run_with(arguments, b"")
    }

    /// The same with something on standard input.
    fn run_with(&self, arguments: &str, input: &[u8]) -> Said {
        let mut process = Command::new(env!("CARGO_BIN_EXE_dormer"))
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may be gone already.
        let _ = process.stdin.take().unwrap().write_all(input);
        let output = process.wait_with_output().unwrap();
        Said {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_report_is_summed_up_and_written() {
    let folder = Folder::with("trace.json", TRACE);
    let said = folder.run("report trace.json -o out/deep").done();
    assert!(
        said.contains("aten::addmm") && said.contains("60.0 µs"),
        "{said}"
    );
    for path in [
        "standalone_analysis_fair.md",
        "perf_report_csvs/ops_summary.csv",
    ] {
        let text = folder.read(&format!("out/deep/{path}"));
        assert!(text.contains("aten::addmm"), "{path}");
    }
}

#[test]
fn the_same_trace_is_read_from_any_source() {
    let plain = Folder::with("trace.json", TRACE);
    // Told apart by content: the name lies.
    let packed = Folder::with("trace.json", gzip(TRACE));
    let from_plain = plain.run("report trace.json");
    assert_eq!(from_plain.code, 0);
    assert_eq!(packed.run("report trace.json"), from_plain);
    assert_eq!(plain.run_with("report -", TRACE.as_bytes()), from_plain);
    assert_eq!(plain.run_with("report -", &gzip(TRACE)), from_plain);
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
    let folder = Folder::with("trace.json", STEPS);
    let of_step = folder.run("report trace.json --step 5").done();
    let first = "Of Step 5 alone: 30.0 µs, from 40.0 µs to 70.0 µs after the trace begins.\n";
    assert!(of_step.starts_with(first), "{of_step}");
    assert!(of_step.contains("aten::add"), "{of_step}");
    assert!(!of_step.contains("aten::mm"), "{of_step}");
    let by_name = folder.run("report trace.json --step ProfilerStep#5");
    assert_eq!(by_name.out, of_step);
    folder.run("report trace.json --step 5 -o out").done();
    let fair = folder.read("out/standalone_analysis_fair.md");
    assert!(fair.contains(first), "{fair}");

    let by_time = folder.run("report trace.json --window 40,70.5").done();
    let first =
        "Of a part of the trace alone: 30.5 µs, from 40.0 µs to 70.5 µs after the trace begins.\n";
    assert!(by_time.starts_with(first));
    assert_eq!(folder.run("report trace.json --window 70,40").code, 2);

    let unknown = folder.run("report trace.json --step 9");
    let sentence = "dormer: trace.json: no step “9”; there are: ProfilerStep#4, ProfilerStep#5\n";
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert_eq!(unknown.err, sentence);
}

#[test]
fn steps_of_two_traces_can_be_compared() {
    let folder = Folder::with("trace.json", STEPS);
    let compare = "compare --reference trace.json trace.json --names old,new --step 4,5 -o .";
    let said = folder.run(compare).done();
    assert!(said.contains("new takes 30.0 µs"), "{said}");
    assert!(said.contains("old: Of Step 4 alone: 40.0 µs"), "{said}");
    let fair = folder.read("comparative_analysis_fair.md");
    assert!(
        fair.contains("Of the reference `Step 4` alone (40.0 µs) is compared, of the target `Step 5` alone (30.0 µs)."),
        "{fair}"
    );
}

#[test]
fn parts_of_the_time_of_two_traces_can_be_compared() {
    let folder = Folder::with("trace.json", STEPS);
    let compare = "compare --reference trace.json trace.json --names old,new";
    let both = folder.run(&format!("{compare} --window 40,70.5")).done();
    let part = "Of a part of the trace alone: 30.5 µs, from 40.0 µs to 70.5 µs";
    for name in ["old", "new"] {
        assert!(both.contains(&format!("{name}: {part}")), "{both}");
    }
    let each = folder.run(&format!("{compare} --window 0,40 --window 40,70.5"));
    let each = each.done();
    assert!(
        each.contains("old: Of a part of the trace alone: 40.0 µs"),
        "{each}"
    );
    assert!(each.contains(&format!("new: {part}")), "{each}");
    for wrong in [
        "--window 0,9 --window 0,9 --window 0,9",
        "--window 0,9 --step 4",
    ] {
        let refused = folder.run(&format!("{compare} {wrong}"));
        assert_eq!(refused.code, 2, "{wrong}");
    }
}

#[test]
fn formats_can_be_chosen() {
    for (formats, has_markdown, has_csv) in [
        ("md", true, false),
        ("csv", false, true),
        ("md,csv", true, true),
        ("all", true, true),
    ] {
        let folder = Folder::with("trace.json", TRACE);
        folder
            .run(&format!("report trace.json -o . --format {formats}"))
            .done();
        let has = [
            "standalone_analysis_fair.md",
            "perf_report_csvs/gpu_timeline.csv",
        ];
        let has = has.map(|path| folder.has(path));
        assert_eq!(has, [has_markdown, has_csv], "{formats}");
    }
}

#[test]
fn an_archive_holds_what_is_asked_for() {
    let folder = Folder::with("run+7.json", TRACE);
    for (formats, expected) in [
        ("zip", "perf_report.xlsx"),
        ("zip,md", "standalone_analysis_fair.md"),
    ] {
        let said = folder
            .run(&format!("report run+7.json -o out --format {formats}"))
            .done();
        assert!(said.contains("Wrote out/dormer-run_7.zip ("), "{said}");
        let out = folder.0.path().join("out");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
        let archive = fs::read(out.join("dormer-run_7.zip")).unwrap();
        let holds = |path: &str| {
            let mut windows = archive.windows(path.len());
            windows.any(|bytes| bytes == path.as_bytes())
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
    let folder = Folder::with("acme.json", &own);
    for command in [
        "report acme.json",
        "compare --reference acme.json acme.json",
    ] {
        let said = folder
            .run(&format!("{command} --redact -o out --format csv,zip"))
            .done();
        assert!(!said.contains("acme"), "{said}");
        assert!(said.contains("Wrote out/dormer-redacted.zip ("), "{said}");
    }
}

#[test]
fn what_is_no_trace_ends_with_one_sentence() {
    let sentence = "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace (at byte 1)";
    let folder = Folder::with("trace.json", "{'ph': 1}");
    let said = folder.run("report trace.json -o out");
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert_eq!(said.err, format!("dormer: trace.json: {sentence}\n"));
    assert!(!folder.has("out"));
    let said = folder.run_with("report -", b"{'ph': 1}");
    assert_eq!(said.err, format!("dormer: standard input: {sentence}\n"));
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let folder = Folder::with("trace.json", TRACE);
    for (arguments, sentence) in [
        ("missing.json", "missing.json: No such file or directory"),
        (".", ".: is a folder; give one trace file"),
        ("trace.json -o trace.json", "cannot write trace.json/"),
    ] {
        let said = folder.run(&format!("report {arguments}"));
        assert_eq!(said.code, 1);
        assert!(
            said.err.starts_with(&format!("dormer: {sentence}")),
            "{said:?}"
        );
    }
}

#[test]
fn a_damaged_trace_is_analysed_and_the_damage_told() {
    let folder = Folder::with("cut.json", &TRACE[..TRACE.len() - 4]);
    let said = folder.run("report cut.json");
    assert_eq!(said.code, 0);
    assert!(
        said.out.contains("The trace ends before it is closed"),
        "{said:?}"
    );
    assert!(said.out.contains("at byte"), "{said:?}");
}

#[test]
fn two_traces_are_compared_and_written() {
    let slower = TRACE.replace(r#""ts": 40, "dur": 60"#, r#""ts": 40, "dur": 90"#);
    let folder = Folder::with("before.json", TRACE);
    folder.add("after.json.gz", gzip(&slower));
    let compare = "compare --reference before.json after.json.gz";
    let said = folder.run(&format!("{compare} -o out")).done();
    let headline =
        "after takes 90.0 µs on the GPU from end to end, before 60.0 µs: +30.0 µs (+50.0 %).";
    assert_eq!(said.lines().next(), Some(headline));
    let sheet = folder.read("out/comparison_csvs/ops_summary.csv");
    let heads = "name,total_direct_kernel_time_ms__after_diff,";
    assert!(sheet.starts_with(heads), "{sheet}");
    for name in ["comparison", "reference_perf_report", "target_perf_report"] {
        assert!(folder.has(&format!("out/{name}.xlsx")), "{name}");
    }
    let from_stdin = "compare --reference before.json - --names before,after";
    let from_stdin = folder.run_with(from_stdin, slower.as_bytes());
    assert_eq!(from_stdin, folder.run(compare));
}

#[test]
fn traces_of_the_same_name_are_told_apart() {
    let folder = Folder::with("trace.json", TRACE);
    let said = folder.run("compare --reference trace.json trace.json");
    assert_eq!(said.code, 0);
    let headline = "target takes 60.0 µs on the GPU from end to end, as reference does.";
    assert_eq!(said.out.lines().next(), Some(headline));
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::with("trace.json", TRACE);
    folder.add("wrong.json", MINE.replace("1000", "0"));
    let names = |names: &str| format!("compare --reference trace.json trace.json --names {names}");
    let (equal, one) = (names("a,a"), names("a"));
    #[rustfmt::skip]
    let cases: &[(&str, &str)] = &[
        ("report", "TRACE"),
        ("repport trace.json", "report"),
        ("report trace.json --format pdf", "pdf"),
        ("report trace.json --format md", "--output"),
        ("report trace.json --gpu MI300", "close names: MI300A, MI300X"),
        ("report trace.json --gpu abacus", "`dormer gpus` lists them"),
        ("report trace.json --gpu wrong.json", "line 1: mem_bw_gbps must be a number from"),
        ("report trace.json --gpu missing.json", "cannot read it: "),
        ("report trace.json --gpu trace.json", "name is missing"),
        ("report trace.json --micro-idle 0", "not a number of microseconds above 0"),
        ("compare trace.json", "--reference"),
        (&equal, "the two names are equal"),
        (&one, "expected two names"),
        ("compare --reference - -", "only one of the two traces can come from standard input"),
        ("tree trace.json", "--uid"),
        ("tree trace.json --uid 5", "no complete event stands at position 5"),
        ("tree trace.json --uid 99", "no complete event stands at position 99"),
    ];
    for (arguments, sentence) in cases {
        let said = folder.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments}");
        assert!(said.err.contains(sentence), "{arguments}: {said:?}");
    }
}

/// A GPU in a file.
const MINE: &str = r#"{"name": "Mine", "mem_bw_gbps": 1000, "source": "node 7",
    "max_achievable_tflops": {"matrix_fp32": 50}, "peak_tflops": {"matrix_bf16": 80}}"#;

#[test]
fn the_gpu_and_its_basis_can_be_chosen() {
    let folder = Folder::with("trace.json", TRACE);
    folder.add("mine.json", MINE);
    folder.add("mine", MINE);
    for (gpu, expected) in [
        ("", "--gpu NAME"),
        ("--gpu mi300x", "Judged by AMD Instinct MI300X."),
        ("--gpu mine.json", "Judged by Mine."),
        ("--gpu ./mine.json", "Judged by Mine."),
        ("--gpu mine", "Judged by Mine."),
    ] {
        let said = folder.run(&format!("report trace.json {gpu}"));
        assert!(said.out.contains(expected), "{gpu}: {said:?}");
    }
    let on_mi300x = |basis: &str| {
        folder
            .run(&format!("report trace.json --gpu MI300X {basis}"))
            .done()
    };
    let peaks = "All figures are peaks (AMD Instinct MI300X datasheet).";
    assert!(on_mi300x("--basis peak").contains(peaks));
    assert!(!on_mi300x("").contains(peaks));
    assert_eq!(on_mi300x(""), on_mi300x("--basis achievable"));
}

#[test]
fn idling_can_be_split() {
    let folder = Folder::with("trace.json", TRACE);
    let timeline = |more: &str| {
        folder
            .run(&format!("report trace.json -o out --format csv {more}"))
            .done();
        folder.read("out/perf_report_csvs/gpu_timeline.csv")
    };
    assert!(timeline("").contains("\nidle_time,"));
    let split = timeline("--micro-idle 5");
    assert!(split.contains("\nmicro_idle_time,") && split.contains("\nmacro_idle_time,"));
}

#[test]
fn the_gpus_are_listed() {
    let said = Folder::with("trace.json", TRACE).run("gpus").done();
    let line = said
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
    let folder = Folder::with("trace.json", TRACE);
    let tree = |uid: &str| folder.run(&format!("tree trace.json --uid {uid}")).done();
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

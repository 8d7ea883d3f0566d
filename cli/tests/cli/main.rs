//! The built command: what it prints, what it writes, and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod checks;
#[path = "../../../tests/support/command.rs"]
mod command;
mod compare;
mod docs;
#[cfg(feature = "parquet")]
mod fleet;
mod job;
mod open;
mod page;
#[cfg(feature = "parquet")]
mod regressions;
#[cfg(feature = "parquet")]
#[path = "../../../tests/support/skipped.rs"]
#[allow(
    dead_code,
    clippy::print_stderr,
    reason = "shared with the tests of traces, which use more of it and say on standard error what they skip"
)]
mod skipped;
#[cfg(feature = "parquet")]
mod tables;

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

/// The exit code, standard output and standard error of a command.
#[derive(Debug, PartialEq)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    /// The standard output, asserting success and no errors.
    #[track_caller]
    fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self.out
    }
}

/// A temporary folder in which commands run.
struct Folder(TempDir);

impl Folder {
    /// Creates one with a file.
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

    /// The same with standard input.
    fn run_with(&self, arguments: &str, input: &[u8]) -> Said {
        self.run_in(arguments, input, &[])
    }

    /// The same with environment variables.
    fn run_in(&self, arguments: &str, input: &[u8], environment: &[(&str, &Path)]) -> Said {
        let output = self.output(arguments, input, environment);
        Said {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The same for commands whose output is not text.
    fn output(&self, arguments: &str, input: &[u8], environment: &[(&str, &Path)]) -> Output {
        let mut process = Command::new(env!("CARGO_BIN_EXE_dormer"))
            .args(arguments.split_whitespace())
            .envs(environment.iter().copied())
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may have exited already.
        let _ = process.stdin.take().unwrap().write_all(input);
        process.wait_with_output().unwrap()
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// In an archive or a folder with several traces, one must be named; with a single trace, that one is used.
#[test]
fn of_several_traces_one_is_named() {
    let folder = job::two_ranks();
    folder.run("job . --perfetto ranks.tar").done();
    let listed = folder.run("report ranks.tar");
    assert_eq!(listed.code, 2);
    let named: Vec<&str> = listed.err.lines().skip(1).map(str::trim).collect();
    let both = ["ranks.tar:rank00000.json", "ranks.tar:rank00001.json"];
    assert_eq!(named, both);
    let alone = folder.run("report one.json").done();
    assert_eq!(folder.run(&format!("report {}", both[0])).done(), alone);
    let compared = format!("compare --reference {} {}", both[0], both[1]);
    folder.run(&compared).done();
    assert_eq!(folder.run("report ranks.tar:other").code, 2);
    folder.add("notes.txt", "recorded on Monday");
    let listed = folder.run("report .");
    let named: Vec<&str> = listed.err.lines().skip(1).map(str::trim).collect();
    assert_eq!(named, ["./one.json", "./other.json.gz", "./ranks.tar"]);
    let single = Folder::with("notes.txt", "recorded on Monday");
    assert_eq!(single.run("report .").code, 1);
    single.add("a.json", TRACE);
    let alone = single.run("report a.json").done();
    assert_eq!(single.run("report .").done(), alone);
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
    // Identified by content: the name is wrong.
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
fn a_step_or_a_part_of_the_time_can_be_analyzed_alone() {
    let folder = Folder::with("trace.json", STEPS);
    let of_step = folder.run("report trace.json --step 5").done();
    let first =
        "Only Step 5 is analyzed: 30.0 µs, from 40.0 µs to 70.0 µs after the trace begins.\n";
    assert!(of_step.starts_with(first), "{of_step}");
    assert!(of_step.contains("aten::add"), "{of_step}");
    assert!(!of_step.contains("aten::mm"), "{of_step}");
    let by_name = folder.run("report trace.json --step ProfilerStep#5");
    assert_eq!(by_name.out, of_step);
    folder.run("report trace.json --step 5 -o out").done();
    let fair = folder.read("out/standalone_analysis_fair.md");
    assert!(fair.contains(first), "{fair}");

    let by_time = folder.run("report trace.json --window 40,70.5").done();
    let first = "Only a part of the trace is analyzed: 30.5 µs, from 40.0 µs to 70.5 µs after the trace begins.\n";
    assert!(by_time.starts_with(first));
    assert_eq!(folder.run("report trace.json --window 70,40").code, 2);

    let unknown = folder.run("report trace.json --step 9");
    let sentence = "dormer: trace.json: no step “9”; there are: ProfilerStep#4, ProfilerStep#5\n";
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert_eq!(unknown.err, sentence);
}

/// Two GPUs of one process, with a kernel of 10 and a copy of 30 µs.
const GPUS: &str = r#"{"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100, "dur": 10},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 104, "dur": 4, "args": {"correlation": 1}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 1, "tid": 1, "ts": 112, "dur": 10},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 1, "ts": 114, "dur": 4, "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 130, "dur": 10, "args": {"correlation": 1, "stream": 7}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 5, "tid": 7, "ts": 140, "dur": 30, "args": {"correlation": 2, "stream": 7}}
]}"#;

#[test]
fn one_of_several_gpus_can_be_analyzed_alone() {
    let folder = Folder::with("trace.json", GPUS);
    let alone = folder.run("report trace.json --device 5 -o out").done();
    let first =
        "Only GPU 5 is analyzed: 30.0 µs, from 40.0 µs to 70.0 µs after the trace begins.\n";
    assert!(alone.starts_with(first), "{alone}");
    assert!(alone.contains("memory copying takes 100 %"), "{alone}");
    assert!(!alone.contains("aten::mm"), "{alone}");
    let sheet = folder.read("out/perf_report_csvs/gpu_timeline.csv");
    assert!(
        sheet.contains("\nexposed_memcpy_time,0.03,100.0\n"),
        "{sheet}"
    );
    let window = folder.read("out/perf_report_csvs/window.csv");
    assert!(window.contains("\nGPU 5,0.04,0.07,"), "{window}");
    assert!(!folder.has("out/perf_report_csvs/gpu_timeline_by_gpu.csv"));

    // One sheet of the whole trace contains all of them.
    folder.run("report trace.json -o all").done();
    let sheet = folder.read("all/perf_report_csvs/gpu_timeline_by_gpu.csv");
    for row in ["0,total_time,0.01,100.0", "5,total_time,0.03,100.0"] {
        assert!(sheet.contains(&format!("\n{row}\n")), "{sheet}");
    }

    let unknown = folder.run("report trace.json --device 1");
    let sentence = "dormer: trace.json: no activity on GPU “1”; GPU numbers with activity: 0, 5\n";
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert_eq!(unknown.err, sentence);
    for more in ["--step 1", "--window 0,1", "--whole"] {
        let both = folder.run(&format!("report trace.json --device 5 {more}"));
        assert_eq!((both.code, both.out.as_str()), (2, ""), "{more}");
        assert!(both.err.contains("cannot be used with"), "{both:?}");
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
    let in_the_way = folder.0.path().join("out/standalone_analysis_fair.md");
    fs::create_dir_all(in_the_way).unwrap();
    for (arguments, sentence) in [
        (
            "trace.json -o out",
            "cannot write out/standalone_analysis_fair.md: Is a directory\n",
        ),
        ("missing.json", "missing.json: No such file or directory\n"),
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
fn help_is_short_on_one_screen_and_complete_on_request() {
    let folder = Folder::with("trace.json", TRACE);
    let report = |help: &str| folder.run(&format!("report {help}")).done();
    let (short, long) = (report("-h"), report("--help"));
    for text in [&short, &long] {
        let too_wide = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(too_wide, None);
        for heading in ["Options", "GPU", "Part of the trace", "Checks", "Output"] {
            assert!(
                text.contains(&format!("\n{heading}:\n")),
                "{heading}: {text}"
            );
        }
        assert!(text.starts_with("Analyze a trace: "), "{text}");
        assert!(
            text.contains("\nUsage: dormer report [OPTIONS] <TRACE>\n"),
            "{text}"
        );
    }
    assert!(short.lines().count() < 80, "{short}");
    assert!(!short.contains("tracelens-mixed") && long.contains("tracelens-mixed"));
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
        ("report trace.json trace.json", "dormer report takes one trace; dormer compare compares two"),
        ("report trace.json --window -5,1", "expected two times in microseconds"),
        ("report trace.json --micro-idle -1", "not a number of microseconds above 0"),
        ("repport trace.json", "report"),
        ("report trace.json --format pdf", "pdf"),
        ("report trace.json --format csv", "--format csv needs a folder, given with --output"),
        ("report trace.json --format md,json", "standard output takes one format"),
        ("report trace.json -o trace.json", "dormer: trace.json is a file; -o takes a folder\n"),
        ("report trace.json -o trace.json/deep", "dormer: trace.json is a file; -o takes a folder\n"),
        ("report trace.json --fail-on severe", "critical, high, medium, low"),
        ("compare --reference trace.json trace.json --window 1,2,3", "expected two times in microseconds"),
        ("completions tcsh", "bash, elvish, fish, powershell, zsh"),
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
        ("tree trace.json", "<--uid <N>|--find <NAME>>"),
        ("tree trace.json --uid 1 --find mm", "cannot be used with"),
        ("tree trace.json --find conv", "trace.json: no call or kernel has “conv” in its name"),
        ("tree trace.json --uid 5", "there is no complete event at position 5"),
        ("tree trace.json --uid 99", "there is no complete event at position 99"),
    ];
    for (arguments, sentence) in cases {
        let said = folder.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments}");
        assert!(said.err.contains(sentence), "{arguments}: {said:?}");
    }
}

/// A GPU spec file.
const MINE: &str = r#"{"name": "Mine", "mem_bw_gbps": 1000, "source": "node 7",
    "max_achievable_tflops": {"matrix_fp32": 50}, "peak_tflops": {"matrix_bf16": 80}}"#;

#[test]
fn the_gpu_and_its_basis_can_be_chosen() {
    let folder = Folder::with("trace.json", TRACE);
    folder.add("mine.json", MINE);
    folder.add("mine", MINE);
    for (gpu, expected) in [
        ("", "--gpu NAME"),
        ("--gpu mi300x", "Roofline of AMD Instinct MI300X."),
        ("--gpu mine.json", "Roofline of Mine."),
        ("--gpu ./mine.json", "Roofline of Mine."),
        ("--gpu mine", "Roofline of Mine."),
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

/// Adds the shapes of an execution trace to a trace recorded without; alone, an execution trace is not a trace.
#[test]
fn an_execution_trace_adds_shapes() {
    let numbered = TRACE.replace(
        r#""name": "aten::addmm", "pid": 1, "tid": 1, "ts": 5, "dur": 80"#,
        r#""name": "aten::addmm", "pid": 1, "tid": 1, "ts": 5, "dur": 80, "args": {"Record function id": 9}"#,
    );
    let execution = r#"{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 2, "name": "aten::addmm",
        "inputs": {"values": [[1], [2], [3], 1, 1], "shapes": [[10], [4, 288], [288, 10], [], []],
            "types": ["Tensor(float)", "Tensor(float)", "Tensor(float)", "Int", "Int"],
            "strides": [[1], [288, 1], [1, 288], [], []]},
        "attrs": [{"name": "rf_id", "type": "uint64", "value": 9}]}]}"#;
    let folder = Folder::with("trace.json", numbered);
    folder.add("execution.json", execution);
    let report = "report trace.json --format csv -o";
    folder.run(&format!("{report} plain")).done();
    folder
        .run(&format!("{report} told --execution-trace execution.json"))
        .done();
    let [plain, with_execution] = ["plain", "told"]
        .map(|of| folder.read(&format!("{of}/perf_report_csvs/unified_perf_summary.csv")));
    assert!(
        !plain.contains("288") && with_execution.contains("288"),
        "{with_execution}"
    );
    let alone = folder.run("report execution.json");
    assert_eq!(alone.code, 1);
    assert!(alone.err.contains("execution trace"), "{}", alone.err);
    folder.add("other.json", execution.replace("addmm", "mm"));
    for (file, sentence) in [
        (
            "other.json",
            "no operator of this execution trace is in the trace",
        ),
        (
            "trace.json",
            "this is not an execution trace, as `ExecutionTraceObserver` writes it",
        ),
    ] {
        let other = folder.run(&format!("report trace.json --execution-trace {file}"));
        assert_eq!(other.code, 1);
        assert!(other.err.contains(sentence), "{other:?}");
    }
}

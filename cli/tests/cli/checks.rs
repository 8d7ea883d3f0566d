//! `dormer` as a check in CI: exit codes, and results for programs.

use super::{Folder, TRACE};

#[test]
fn a_damaged_trace_is_analyzed_and_the_damage_reported() {
    let folder = Folder::with("cut.json", &TRACE[..TRACE.len() - 4]);
    let said = folder.run("report cut.json");
    assert_eq!(said.code, 0);
    for (text, start) in [
        (&said.out, "- "),
        (&said.err, "dormer: cut.json: warning: "),
    ] {
        let line = format!("{start}The trace ends before it is closed");
        let line = text.lines().find(|said| said.starts_with(&line));
        assert!(
            line.is_some_and(|line| line.contains("(at byte ")),
            "{said:?}"
        );
    }
    // The result is the same; only the exit code differs.
    let strict = folder.run("report cut.json --strict --fail-on low");
    assert_eq!((strict.code, strict.out), (3, said.out));
    let last = "dormer: cut.json: data was lost (--strict): The trace ends before it is closed";
    assert!(
        strict.err.lines().last().unwrap().starts_with(last),
        "{}",
        strict.err
    );
}

#[test]
fn without_anything_to_analyze_a_command_ends_with_1() {
    let folder = Folder::with("trace.json", TRACE);
    folder.add("empty.json", "");
    folder.add("none.json", r#"{"traceEvents": []}"#);
    folder.add("digest.json", r#"{"dormer_digest": 1, "file": {}}"#);
    folder.add("cut.json", r#"{"traceEvents": [{"ph": "X", "cat"#);
    folder.add(
        "names.json",
        r#"[{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]"#,
    );
    for (arguments, sentence) in [
        ("empty.json", "empty.json: the file is empty"),
        ("none.json", "none.json: the trace has no events"),
        (
            "digest.json",
            "digest.json: this is the digest of a rank, which `dormer job` and the page open",
        ),
        (
            "cut.json",
            "cut.json: the trace has no events. The trace ends before it is closed",
        ),
        (
            "names.json",
            "names.json: Neither GPU activity nor PyTorch operators were recorded",
        ),
        (
            "trace.json --window 0,1",
            "trace.json: No GPU activity starts in the part of the time",
        ),
    ] {
        for more in ["", "-o out", "--format json"] {
            let said = folder.run(&format!("report {arguments} {more}"));
            assert_eq!(
                (said.code, said.out.as_str()),
                (1, ""),
                "{arguments} {more}"
            );
            assert!(
                said.err.starts_with(&format!("dormer: {sentence}")),
                "{said:?}"
            );
        }
    }
    assert!(!folder.has("out"));
    let said = folder.run("compare --reference none.json trace.json");
    assert_eq!(
        (said.code, said.err.as_str()),
        (1, "dormer: none.json: the trace has no events\n")
    );
}

/// 40 launches of 10 µs with kernels of 1 µs: the GPU waits for the CPU.
pub(super) fn launch_bound() -> String {
    let call = |at: usize| {
        let (ts, kernel) = (1000 + at * 50, 1005 + at * 50);
        format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": {ts}, "dur": 45}},
            {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {ts}, "dur": 4, "args": {{"correlation": {at}}}}},
            {{"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": {kernel}, "dur": 1, "args": {{"correlation": {at}, "stream": 7}}}}"#
        )
    };
    let calls: Vec<String> = (1..1500).map(call).collect();
    format!(r#"{{"traceEvents": [{}]}}"#, calls.join(","))
}

#[test]
fn what_is_worth_most_is_printed_and_can_fail_a_check() {
    let folder = Folder::with("trace.json", launch_bound());
    let said = folder.run("report trace.json").done();
    let first = said
        .lines()
        .find(|line| line.starts_with("1  saves "))
        .unwrap();
    assert!(first.ends_with("  Idle time"), "{first}");
    assert!(
        said.contains("--format md prints it, -o DIR writes it"),
        "{said}"
    );
    // For programs: no separators in numbers, and only ASCII spaces.
    assert!(said.contains("  1499  "), "{said}");
    assert!(!said.contains(['\u{202F}', '\u{A0}']), "{said}");

    let json: serde_json::Value = {
        let said = folder.run("report trace.json --format json").done();
        folder.run("report trace.json --format json -o out").done();
        assert_eq!(said.trim_end(), folder.read("out/findings.json"));
        serde_json::from_str(&said).unwrap()
    };
    let finding = &json["findings"][0];
    let line = format!("  {}  ", finding["title"].as_str().unwrap());
    assert!(first.contains(&line), "{first}");
    let priority = finding["priority"].as_str().unwrap();
    assert_eq!(priority, "Critical");
    for fail_on in ["critical", "high", "medium", "low"] {
        let failed = folder.run(&format!("report trace.json --fail-on {fail_on}"));
        assert_eq!(
            (failed.code, failed.out.as_str()),
            (4, said.as_str()),
            "{fail_on}"
        );
        assert!(
            failed.err.contains(finding["title"].as_str().unwrap()),
            "{failed:?}"
        );
    }
    // There are no findings in a trace with one kernel.
    let folder = Folder::with("trace.json", TRACE);
    folder
        .run("report trace.json --strict --fail-on high")
        .done();
}

#[test]
fn one_file_is_printed_in_place_of_the_summary() {
    let folder = Folder::with("trace.json", TRACE);
    folder.run("report trace.json -o out").done();
    let compare = "compare --reference trace.json trace.json";
    folder.run(&format!("{compare} -o pair")).done();
    for (command, format, path) in [
        ("report trace.json", "md", "out/standalone_analysis_fair.md"),
        ("report trace.json", "html", "out/report.html"),
        ("report trace.json", "json", "out/findings.json"),
        ("report trace.json", "findings", "out/findings.json"),
        (compare, "md", "pair/comparative_analysis_fair.md"),
        (compare, "json", "pair/comparison.json"),
    ] {
        let said = folder.run(&format!("{command} --format {format}")).done();
        assert_eq!(said.trim_end(), folder.read(path).trim_end(), "{path}");
    }
}

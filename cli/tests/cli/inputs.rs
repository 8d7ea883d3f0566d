//! Where a trace is read from: files, standard input, archives and folders; files that cannot be read.

use std::fs;

use super::{Folder, TRACE, gzip, job};

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

//! `dormer fleet regressions` and `dormer fleet summary`, on a store of small traces.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use dormer_core::fleet::Summary;
use dormer_core::fleet::regressions::Level;

use super::{Folder, skipped};

/// A GEMM that takes this many µs, recorded on a day in 2024.
fn trace(day: i64, us: i64) -> String {
    let base_ns = 1_704_067_200_000_000_000 + day * 86_400_000_000_000;
    format!(
        r#"{{"baseTimeNanoseconds": {base_ns}, "traceEvents": [
    {{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 80,
        "args": {{"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}}}},
    {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 20, "args": {{"correlation": 7}}}},
    {{"ph": "X", "cat": "kernel", "name": "sgemm_128x64", "pid": 0, "tid": 7, "ts": 40, "dur": {us}, "args": {{"correlation": 7, "stream": 7}}}},
    {{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 1, "tid": 1, "ts": 10}},
    {{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 0, "tid": 7, "ts": 40, "bp": "e"}}
]}}"#
    )
}

/// Eight builds with two traces each, 10 % slower from the seventh on; and a file that is not a trace.
fn store() -> Folder {
    let folder = Folder::with("broken.json", "no trace");
    for build in 1..=8 {
        for repeat in 0..2 {
            let slower = if build >= 7 { 100 } else { 0 };
            let us = 1_000 + slower + (build * 3 + repeat * 2) % 5;
            let name = format!("b{build}__llama__{repeat}.json");
            folder.add(&name, trace(build, us));
        }
    }
    let said = folder.run("fleet . -o store --tag-from (?P<build>b[0-9]+)__(?P<model>[^_]+)");
    assert_eq!(said.code, 0, "{said:?}");
    folder
}

#[test]
fn a_store_shows_what_became_slower() {
    let folder = store();
    let printed = folder.run("fleet regressions store").done();
    let row = printed.lines().find(|line| line.contains("GEMM")).unwrap();
    assert!(row.starts_with("b7 "), "{printed}");
    assert!(
        row.contains("confirmed by b8") && row.contains("aten::mm"),
        "{printed}"
    );

    let json = |arguments: &str| -> serde_json::Value {
        let printed = folder.run(&format!(
            "fleet regressions store --format json {arguments}"
        ));
        serde_json::from_str(&printed.done()).unwrap()
    };
    let changes = json("--by tags.build --metric category --new b7");
    let change = &changes["changes"][0];
    assert_eq!(
        (&change["level"], &change["build"]),
        (&"alarm".into(), &"b7".into())
    );
    assert_eq!(change["new_runs"], 2);
    let ratio = change["ratio"].as_f64().unwrap();
    assert!((ratio - 1.1).abs() < 0.005, "{ratio}");
    // Nothing had changed before, and nothing remains if the slow builds are excluded.
    for arguments in ["--new b6", "--where build=b1"] {
        assert_eq!(
            json(arguments)["changes"],
            serde_json::json!([]),
            "{arguments}"
        );
    }

    let csv = folder
        .run("fleet regressions store --metric op --format csv")
        .done();
    assert!(csv.contains("\nb7,confirmed,b8,llama,"), "{csv}");
    let document = folder.run("fleet regressions store --format md").done();
    assert!(
        document.starts_with("# Regressions between builds\n"),
        "{document}"
    );
    let otava = folder
        .run("fleet regressions store --metric total --format otava")
        .done();
    let lines: Vec<&str> = otava.lines().collect();
    assert_eq!(lines.len(), 9);
    assert!(
        lines[1].starts_with("2024-01-02T00:00:00Z,b1,1.0"),
        "{otava}"
    );
}

#[test]
fn a_tag_or_a_build_that_is_not_there_is_named() {
    let folder = store();
    let said = folder.run("fleet regressions store --by team");
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("team") && said.err.contains("build and model"),
        "{said:?}"
    );
    let said = folder.run("fleet regressions store --new b99");
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("b99") && said.err.contains("b8"),
        "{said:?}"
    );
    let said = folder.run("fleet regressions store --where build=b99");
    assert_eq!(said.code, 1);
}

#[test]
fn a_store_becomes_one_file_for_the_page() {
    let folder = store();
    let printed = folder.run("fleet summary store -o fleet.json.gz").done();
    assert!(printed.contains("build b7 made GEMM"), "{printed}");
    let file = std::fs::read(folder.0.path().join("fleet.json.gz")).unwrap();
    let summary = Summary::read(&file).unwrap();
    assert_eq!((summary.totals.n_files, summary.totals.n_runs), (17, 16));
    assert_eq!(summary.rejected.len(), 1);
    assert_eq!(summary.regressions[0].level, Level::Confirmed);
    let uri = summary.text_of(summary.runs[0].uri).unwrap();
    assert!(uri.ends_with(".json"), "{uri}");
    let recent = folder.run("fleet summary store -o recent.json.gz --last 2");
    assert_eq!(recent.code, 0);
    let file = std::fs::read(folder.0.path().join("recent.json.gz")).unwrap();
    assert_eq!(Summary::read(&file).unwrap().runs.len(), 6);
}

/// Runs the statements of the first file, then each query in docs/fleet.md, and prints their number.
const ASK: &str = r#"
import re, sys, duckdb
store = duckdb.connect()
store.execute(open(sys.argv[1]).read())
blocks = re.findall(r"```sql\n(.*?)```", open(sys.argv[2]).read(), re.S)
statements = [statement for block in blocks for statement in block.split(";") if statement.strip()]
for statement in statements:
    store.execute(statement).fetchall()
print(len(statements))
"#;

#[test]
fn the_questions_of_the_docs_run_as_they_stand() {
    let python = |arguments: &[&str], folder: &Path| {
        let mut python = Command::new("python3");
        python.args(arguments).current_dir(folder).output()
    };
    let has_duckdb = python(&["-c", "import duckdb"], Path::new("."));
    if !has_duckdb.is_ok_and(|output| output.status.success()) {
        return skipped::skipped("python3 has no duckdb");
    }
    let folder = store();
    folder.add("views.sql", folder.run("fleet sql store").done());
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/fleet.md");
    let asked = python(&["-c", ASK, "views.sql", docs], folder.0.path()).unwrap();
    assert!(asked.status.success(), "{asked:?}");
    assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), "7");
}

/// The shared traces and a program that generates a fleet from them; reports if one is missing.
pub(crate) fn shared() -> Option<PathBuf> {
    let folder = match env::var_os("DORMER_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
    };
    let has_python = Command::new("python3").arg("--version").output().is_ok();
    let missing = match (folder.join("traces").is_dir(), has_python) {
        (true, true) => return Some(folder),
        (false, _) => "no real traces; set DORMER_SHARED to the folder that holds them",
        (true, false) => "python3 is missing",
    };
    skipped::skipped(missing);
    None
}

/// In a store of ten models over ten builds, GEMMs are 6 % slower from b07 on: they alarm at their build, and the next one
/// confirms it. Seven models spend at least 200 µs in them.
pub(crate) fn slower_gemms_alarm_and_are_confirmed(folder: &Folder, store: &str) {
    let changes = |newest: &str| -> Vec<serde_json::Value> {
        let command =
            format!("fleet regressions {store} --by tags.build --metric category --format json");
        let printed = folder.run(&format!("{command} {newest}"));
        let mut json: serde_json::Value = serde_json::from_str(&printed.done()).unwrap();
        serde_json::from_value(json["changes"].take()).unwrap()
    };
    let all = changes("");
    let (gemms, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|change| change["name"] == "GEMM");
    assert_eq!(gemms.len(), 7, "{gemms:#?}");
    for change in &gemms {
        assert_eq!(
            (&change["build"], &change["confirmed_by"]),
            (&"b07".into(), &"b08".into())
        );
        let ratio = change["ratio"].as_f64().unwrap();
        assert!((ratio - 1.06).abs() <= 0.007, "{change:#}");
    }
    // Some convolutions run kernels that are GEMMs by name; nothing else changed.
    for change in &others {
        assert_eq!(
            (&change["build"], &change["name"]),
            (&"b07".into(), &"Convolution".into())
        );
    }
    let levels = |newest: &str| -> Vec<String> {
        let gemms = changes(newest).into_iter();
        let gemms = gemms.filter(|change| change["name"] == "GEMM");
        gemms
            .map(|change| change["level"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(changes("--new b06"), [0; 0]);
    assert_eq!(levels("--new b07"), ["alarm"; 7]);
    assert_eq!(levels("--new b08"), ["confirmed"; 7]);
}

//! `dormer fleet regressions` and `dormer fleet summary`, on a store of small traces.

use dormer_core::fleet::Summary;
use dormer_core::fleet::regressions::Level;

use super::Folder;

/// A GEMM of so many µs, recorded on a day of 2024.
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

/// Eight builds, two traces each, 10 % slower from the seventh on; and a file that is no trace.
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
fn a_store_tells_what_became_slower() {
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
    // Nothing had changed before, and nothing is left when the slow ones are not asked for.
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

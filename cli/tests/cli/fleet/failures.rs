//! Files that take too long or too much memory, and interrupted runs.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{ALL, traces};
use crate::{Folder, TRACE};

#[test]
fn what_breaks_is_a_row_and_the_rest_goes_on() {
    let folder = traces();
    let t = folder.0.path().join("t");
    folder.add("t/endless.json", TRACE.replace("sgemm", "endless"));
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", t.join("unreadable.json")).unwrap();
    let run = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dormer"));
        command
            .args(arguments.split(' '))
            .current_dir(folder.0.path());
        command.env("DORMER_TEST_HANG", "endless");
        let output = command.output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, said) = run("fleet t -o S --timeout 5 --fail-on rejected");
    assert_eq!(code, 4, "{said}");
    let mut expected: Vec<&str> = ALL.to_vec();
    expected.push("endless.json timeout timeout");
    #[cfg(unix)]
    expected.push("unreadable.json rejected io");
    expected.sort_unstable();
    assert_eq!(folder.statuses(), expected);
    // Not tried again unless requested.
    let said = folder.run("fleet t -o S").done();
    assert!(said.starts_with("0 files; "), "{said}");
    assert_eq!(run("fleet t -o S --fail-on rejected").0, 4);
    let said = folder.run("fleet t -o S --retry").done();
    assert!(
        said.starts_with("3 files: 1 ok, 2 rejected; 4 in the store already."),
        "{said}"
    );
}

/// An empty file has the same size, so its content might be that of the pipe.
#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_writes_to_takes_too_long() {
    let folder = Folder::with("empty.json", "");
    let pipe = folder.0.path().join("pipe.json");
    let made = Command::new("mkfifo").arg(pipe).status().unwrap();
    assert!(made.success());
    folder.run("fleet empty.json -o S").done();
    folder.run("fleet . -o S --timeout 1").done();
    assert_eq!(
        folder.statuses(),
        ["empty.json rejected empty", "pipe.json timeout timeout"]
    );
}

/// A trace with many operators needs more memory than the program itself.
#[cfg(unix)]
#[test]
fn too_little_memory_is_a_row() {
    let folder = traces();
    let events: Vec<String> = (0..400_000)
        .map(|at| {
            format!(r#"{{"ph": "X", "cat": "cpu_op", "name": "op {at}", "pid": 1, "tid": 1, "ts": {at}, "dur": 1}}"#)
        })
        .collect();
    let large = format!("{{\"traceEvents\": [{}]}}", events.join(","));
    folder.add("t/large.json", large);
    folder
        .run("fleet t/large.json t/b01__one.json -o S --memory 100")
        .done();
    assert_eq!(
        folder.statuses(),
        ["b01__one.json ok ", "large.json killed killed"]
    );
}

/// Killed midway, then run again: nothing is missing and nothing is duplicated.
#[cfg(unix)]
#[test]
fn an_ended_run_is_taken_up_again() {
    let folder = traces();
    folder.add("t/endless.json", TRACE.replace("sgemm", "endless"));
    let mut process = Command::new(env!("CARGO_BIN_EXE_dormer"))
        .args(["fleet", "t", "-o", "S", "--timeout", "20"])
        .current_dir(folder.0.path())
        .env("DORMER_TEST_HANG", "endless")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    process.kill().unwrap();
    process.wait().unwrap();
    // A partially written file.
    let half = folder.0.path().join("S/ops/date=unknown");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join(".x.parquet.tmp"), "half").unwrap();
    folder.run("fleet t -o S").done();
    let mut expected: Vec<&str> = ALL.to_vec();
    expected.push("endless.json ok ");
    expected.sort_unstable();
    assert_eq!(folder.statuses(), expected);
    folder.run("fleet compact S").done();
    assert_eq!(folder.statuses(), expected);
    let names = folder.store().into_keys();
    let names = names.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    assert!(names.into_iter().all(|name| name.ends_with(".parquet")));
}

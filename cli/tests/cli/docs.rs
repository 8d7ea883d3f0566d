//! The examples of `docs/ci.md`, run verbatim.

use std::env;
use std::path::Path;
use std::process::{Command, Output};

use super::checks::launch_bound;
use super::{Folder, TRACE};

const PAGE: &str = include_str!("../../../docs/ci.md");

/// The examples in a language, in order.
fn examples(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    let blocks = PAGE.split(start.as_str()).skip(1);
    blocks
        .filter_map(|block| block.split("```").next())
        .collect()
}

/// Runs a script with `dormer` on the path.
fn sh(folder: &Folder, script: &str, arguments: &[&str]) -> Output {
    folder.add("script.sh", script);
    let programs = Path::new(env!("CARGO_BIN_EXE_dormer")).parent().unwrap();
    let others = env::var_os("PATH").unwrap_or_default();
    let others = env::split_paths(&others);
    let path = env::join_paths([programs.to_owned()].into_iter().chain(others)).unwrap();
    let mut command = Command::new("sh");
    command.arg("script.sh").args(arguments);
    command.env("PATH", path).current_dir(folder.0.path());
    command.output().unwrap()
}

/// Whether a program that the examples use is installed; reports if it is not.
#[allow(clippy::print_stdout, reason = "a skipped test is visible")]
fn has(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: {program} is missing");
    }
    is_there
}

#[test]
fn the_examples_for_ci_work() {
    let (scripts, actions) = (examples("sh"), examples("yaml"));
    let &[check, top, limit] = scripts.as_slice() else {
        panic!("{} scripts", scripts.len())
    };
    assert!(actions[0].contains("run: sh ci/check-trace.sh trace.json.gz"));
    if !(has("sh") && has("jq") && has("python3")) {
        return;
    }
    let folder = Folder::with("trace.json", launch_bound());
    folder.add("good.json", TRACE);
    folder.add("cut.json", &TRACE[..TRACE.len() - 4]);
    folder.add("slower.json", TRACE.replace(r#""dur": 60"#, r#""dur": 70"#));
    for (arguments, code, sentence) in [
        (&["good.json"][..], 0, "No finding is high or critical."),
        (&["trace.json"], 4, "Critical: "),
        (
            &["cut.json"],
            3,
            "The trace is incomplete: record it again.",
        ),
        (&["script.sh"], 1, "The trace cannot be analyzed."),
        (
            &["good.json", "good.json"],
            0,
            "GPU time, end to end: 0.060 ms (+0.0 %)",
        ),
        (
            &["slower.json", "good.json"],
            5,
            "GPU time, end to end: 0.070 ms (+16.7 %)",
        ),
    ] {
        let ended = sh(&folder, check, arguments);
        let said = [ended.stdout, ended.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
    let ended = sh(&folder, top, &[]);
    let first = String::from_utf8_lossy(&ended.stdout);
    assert!(first.starts_with("1\tCritical\t"), "{ended:?}");
    let ended = sh(&folder, limit, &[]);
    assert!(ended.status.success(), "{ended:?}");
    let idle = String::from_utf8_lossy(&ended.stdout);
    assert!(
        idle.starts_with("The GPU is idle 98.0 % of 74.9 ms."),
        "{idle}"
    );
}

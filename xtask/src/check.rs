//! `cargo xtask test`: everything that must pass before a change is accepted.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::page::{self, Effort};
use crate::project::{Failure, Project, run, shown};
use crate::skips::{self, Skips};
use crate::{tools, trunk};

/// Sets up what the checks need, runs them all, and ends with the count of tests.
///
/// A failing check does not stop the others: one run shows everything that is wrong.
pub(crate) fn test(project: &Project) -> Result<(), Failure> {
    tools::for_lints(project)?;
    tools::for_page(project)?;
    tools::for_browser(project)?;
    tools::for_accessibility(project)?;

    let (mut failed, mut times) = (Vec::new(), Vec::new());
    let mut time = |name: &str, started: Instant| {
        times.push(format!("{name} {} s", started.elapsed().as_secs()));
    };
    for (name, check) in CHECKS {
        heading(name);
        let started = Instant::now();
        if let Err(why) = check(project) {
            println!("{why}");
            failed.push(*name);
        }
        time(name, started);
    }
    heading("tests");
    let started = Instant::now();
    let skips = Skips::new(project)?;
    let count = run_tests(tests(project).env(skips::FILE, skips.file()))?;
    if !count.succeeded {
        failed.push("tests");
    }
    time("tests", started);

    println!("\n{}.", times.join(", "));
    if count.ignored > 0 {
        println!("{} tests are ignored.", count.ignored);
    }
    for line in skips.lines() {
        println!("{line}");
    }
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    println!("{} passed, {} failed", count.passed, count.failed);
    match failed.is_empty() {
        true => Ok(()),
        // The failure was printed above: the count must be the last line.
        false => Err(Failure::Failed(String::new())),
    }
}

type Check = fn(&Project) -> Result<(), String>;

const CHECKS: &[(&str, Check)] = &[
    ("format", |project| {
        run(project.cargo().args(["fmt", "--all", "--check"]))
    }),
    ("lints", |project| {
        run(&mut clippy(project, &["--workspace", "--all-targets"]))
    }),
    ("lints for wasm32", |project| {
        run(&mut clippy(
            project,
            &[
                "--package=dormer-core",
                "--package=dormer-app",
                "--target=wasm32-unknown-unknown",
            ],
        ))
    }),
    ("lints without Parquet", |project| {
        // The command without its default features: what only they use must be left out with them.
        run(&mut clippy(
            project,
            &["--package=dormer", "--no-default-features", "--all-targets"],
        ))
    }),
    ("docs", |project| {
        run(project
            .cargo()
            .args(["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("page", |project| page::build(project, Effort::Release)),
    ("page by Trunk", trunk::compare),
];

fn clippy(project: &Project, what: &[&str]) -> Command {
    let mut command = project.cargo();
    command.args(["clippy", "--quiet"]).args(what);
    command.args(["--", "-D", "warnings"]);
    command
}

fn tests(project: &Project) -> Command {
    let mut command = project.cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]);
    // A browser test that cannot run must fail here: everything it needs was just set up.
    command.env("CI", "true");
    command.env("DORMER_AXE", tools::axe(project));
    command
}

/// The totals over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
    ignored: u64,
    succeeded: bool,
}

/// Shows the output as it arrives, and adds up the results in it.
fn run_tests(command: &mut Command) -> Result<Count, String> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{}` could not be run: {error}", shown(command)))?;
    let mut count = Count::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            add(&mut count, &line);
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    count.succeeded = status.success();
    Ok(count)
}

/// `test result: ok. 9 passed; 0 failed; 1 ignored; 0 measured; …`
fn add(count: &mut Count, line: &str) {
    let Some(result) = line.strip_prefix("test result: ") else {
        return;
    };
    let number = |what: &str| {
        let before = result.split_once(what).map_or("", |(before, _)| before);
        let number = before.trim_end().rsplit(' ').next();
        number.map_or(0, |number| number.parse().unwrap_or(0))
    };
    count.passed += number(" passed;");
    count.failed += number(" failed;");
    count.ignored += number(" ignored;");
}

fn heading(name: &str) {
    println!("\n── {name}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_programs_add_up() {
        let mut count = Count::default();
        for line in [
            "running 9 tests",
            "test result: ok. 9 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            add(&mut count, line);
        }
        assert_eq!((count.passed, count.failed, count.ignored), (12, 2, 1));
    }
}

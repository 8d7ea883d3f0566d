//! `cargo xtask test`: everything that must pass before a change is accepted.

use std::fmt::Display;
use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::resume_unwind;
use std::process::{Command, Stdio};
use std::thread;
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

    // The first time there is nothing to reuse, and the core compiles in four fifths of the time.
    let project = &Project {
        incremental: has_compiled_core(project),
        ..project.clone()
    };
    let mut results = before_the_tests(project);
    let skips = Skips::new(project)?;
    let mut count = Count::default();
    results.of("tests", || run_tests(project, &skips, &mut count));

    println!("\n{}.", results.times.join(", "));
    if count.ignored > 0 {
        println!("{} tests are ignored.", count.ignored);
    }
    for line in skips.lines() {
        println!("{line}");
    }
    if !results.failed.is_empty() {
        println!("failed: {}", results.failed.join(", "));
    }
    println!("{} passed, {} failed", count.passed, count.failed);
    match results.failed.is_empty() {
        true => Ok(()),
        // The failure was printed above: the count must be the last line.
        false => Err(Failure::Failed(String::new())),
    }
}

/// Whether the tests' target folder holds the core, by an earlier run or by another command.
fn has_compiled_core(project: &Project) -> bool {
    let Ok(compiled) = fs::read_dir(project.target.join("debug/deps")) else {
        return false;
    };
    let mut names = compiled.flatten().map(|file| file.file_name());
    names.any(|name| name.to_string_lossy().starts_with("libdormer_core-"))
}

/// Runs the checks, and the build of the page beside them: it is compiled for another target into other folders, and
/// neither keeps all cores busy.
fn before_the_tests(project: &Project) -> Results {
    thread::scope(|scope| {
        let page = scope.spawn(|| Results::of_all(PAGE, project));
        let mut results = Results::of_all(CHECKS, project);
        let page = page.join();
        results.add(page.unwrap_or_else(|panic| resume_unwind(panic)));
        results
    })
}

/// How the checks ended.
#[derive(Debug, Default)]
struct Results {
    failed: Vec<&'static str>,
    times: Vec<String>,
}

impl Results {
    fn of_all(checks: &[(&'static str, Check)], project: &Project) -> Results {
        let mut results = Results::default();
        for (name, check) in checks {
            results.of(name, || check(project));
        }
        results
    }

    fn of(&mut self, name: &'static str, check: impl FnOnce() -> Result<(), String>) {
        println!("\n── {name}");
        let started = Instant::now();
        if let Err(why) = check() {
            println!("{name}: {why}");
            self.failed.push(name);
        }
        let time = started.elapsed();
        self.times.push(format!("{name} {} s", time.as_secs()));
    }

    fn add(&mut self, other: Results) {
        self.failed.extend(other.failed);
        self.times.extend(other.times);
    }
}

type Check = fn(&Project) -> Result<(), String>;

/// Those of the page, which the tests in a browser open.
const PAGE: &[(&str, Check)] = &[
    ("page", |project| page::build(project, Effort::Release)),
    ("page by Trunk", trunk::compare),
];

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
        // The command without its default features: what only they use must be left out with them. No other package has
        // any, so what was checked before is not checked again.
        run(&mut clippy(
            project,
            &["--workspace", "--no-default-features", "--all-targets"],
        ))
    }),
    ("docs", |project| {
        run(project
            .cargo()
            .args(["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("compiling the tests", |project| {
        let compiled = |tests: &[&str]| run(project.cargo().args(tests).arg("--no-run"));
        TESTS.iter().try_for_each(|tests| compiled(tests))
    }),
];

/// The programs of tests that Cargo compiles, in two parts.
const TESTS: [&[&str]; 2] = [
    // They read small traces: not optimized, they run for seconds more and compile in a third of the time.
    &[
        "test",
        "--package=dormer-core",
        "--lib",
        "--config=profile.dev.package.dormer-core.opt-level=0",
    ],
    &["test", "--workspace", "--exclude=dormer-core", "--tests"],
];

/// The examples in documentation, compiled when they run.
const EXAMPLES: &[&str] = &["test", "--workspace", "--doc"];

fn clippy(project: &Project, what: &[&str]) -> Command {
    let mut command = project.cargo();
    command.args(["clippy", "--quiet"]).args(what);
    command.args(["--", "-D", "warnings"]);
    command
}

/// The totals over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
    ignored: u64,
}

/// Runs all tests, also if some fail.
fn run_tests(project: &Project, skips: &Skips, count: &mut Count) -> Result<(), String> {
    let parts = TESTS.into_iter().chain([EXAMPLES]);
    let results = parts.map(|part| {
        let mut command = project.cargo();
        command.args(part).arg("--no-fail-fast");
        // A browser test that cannot run must fail here: everything it needs was just set up.
        command.env("CI", "true");
        command.env("DORMER_AXE", tools::axe(project));
        command.env(skips::FILE, skips.file());
        run_counted(&mut command, count)
    });
    let failed: Vec<String> = results.filter_map(Result::err).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

/// Shows the output as it arrives, and adds up the results in it.
fn run_counted(command: &mut Command, count: &mut Count) -> Result<(), String> {
    let failure = |why: &dyn Display, command: &Command| format!("`{}`: {why}", shown(command));
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| failure(&error, command))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            add(count, &line);
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failure(&status, command)),
        Err(error) => Err(failure(&error, command)),
    }
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

//! Reports of tests that cannot run here.
//!
//! Cargo does not show the output of passing tests. `cargo xtask test` names a file in `DORMER_SKIPPED`, and ends with
//! the rows that tests have added to it: `all` or `part`, the test's name and the reason, separated by tabs.

use std::fs::OpenOptions;
use std::io::Write;

/// Reports why the running test is skipped.
pub(crate) fn skipped(why: &str) {
    say("all", why);
}

/// Reports why the running test checks less.
pub(crate) fn partly_skipped(why: &str) {
    say("part", why);
}

fn say(what: &str, why: &str) {
    eprintln!("skipped: {why}");
    if let Some(file) = std::env::var_os("DORMER_SKIPPED") {
        // Each test runs in a thread with its name.
        let thread = std::thread::current();
        let row = format!("{what}\t{}\t{why}\n", thread.name().unwrap_or("a test"));
        let file = OpenOptions::new().create(true).append(true).open(file);
        file.unwrap().write_all(row.as_bytes()).unwrap();
    }
}

//! What a test says that cannot run here.
//!
//! Cargo shows nothing of a test that passes. `cargo xtask test` names a file in `DORMER_SKIPPED`, and ends with what the tests
//! have added to it: `all` or `part`, the test's name and the reason, with tabs between them.

use std::fs::OpenOptions;
use std::io::Write;

/// Says why the running test is skipped.
pub(crate) fn skipped(why: &str) {
    say("all", why);
}

/// Says why the running test does less than it would.
pub(crate) fn partly_skipped(why: &str) {
    say("part", why);
}

fn say(what: &str, why: &str) {
    eprintln!("skipped: {why}");
    if let Some(file) = std::env::var_os("DORMER_SKIPPED") {
        // Each test runs in a thread that bears its name.
        let thread = std::thread::current();
        let row = format!("{what}\t{}\t{why}\n", thread.name().unwrap_or("a test"));
        let file = OpenOptions::new().create(true).append(true).open(file);
        file.unwrap().write_all(row.as_bytes()).unwrap();
    }
}

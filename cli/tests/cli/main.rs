//! The built command: what it prints, what it writes, and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod checks;
#[path = "../../../tests/support/command.rs"]
mod command;
mod compare;
mod docs;
#[cfg(feature = "parquet")]
mod fleet;
mod folder;
mod inputs;
mod job;
mod open;
mod page;
mod parts;
#[cfg(feature = "parquet")]
mod regressions;
mod report;
#[cfg(feature = "parquet")]
#[path = "../../../tests/support/skipped.rs"]
#[allow(
    dead_code,
    clippy::print_stderr,
    reason = "shared with the tests of traces, which use more of it and say on standard error what they skip"
)]
mod skipped;
#[cfg(feature = "parquet")]
mod tables;
mod traces;
mod usage;

use folder::{Folder, Said, gzip};
use traces::{GPUS, MINE, STEPS, TRACE};

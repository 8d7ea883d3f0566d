//! The built page in a real Chromium, driven through WebDriver.
//!
//! Each test has its own tab and server. The page must have been built into `dist/`, and Chromium with its driver must
//! be installed; otherwise the tests report that and pass, unless `CI` is set. Screenshots are in `tests/output/`: of what
//! failed, and with `DORMER_SCREENSHOTS` set, of every view and state.

mod accessibility;
mod captures;
mod chromium;
mod columns;
mod command;
mod compare;
mod fetching;
mod findings;
mod fleet;
mod job;
mod keeping;
mod looks;
mod memory;
mod offline;
mod one_file;
mod opening;
mod operation;
mod page;
mod pool;
mod privacy;
mod roofline;
mod senders;
mod states;
mod tables;
mod timeline;
mod traces;
mod tree;
mod views;
mod walk;
mod window;

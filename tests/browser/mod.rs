//! The built page in a real Chromium, driven through WebDriver.
//!
//! Each test has a tab and a server of its own. The page must have been built into `dist/`,
//! and Chromium with its driver be installed; where they are not, the tests say so and pass,
//! except where `CI` is set. What the tests saw lies in `tests/output/`.

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

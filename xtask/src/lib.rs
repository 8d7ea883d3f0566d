//! What the project's commands share with its tests and benchmarks: the web server of `cargo xtask serve`, from which
//! browser tests load the page, the options of `cargo xtask bench`, which the measuring program parses, and the sizes
//! that `cargo xtask dist` prints.
//!
//! The commands themselves are in `main.rs`.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

pub mod bench_options;
pub mod server;
pub mod weight;

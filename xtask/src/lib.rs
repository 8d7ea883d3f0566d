//! What the project's commands share with its tests and its benchmark: the web server that `cargo xtask serve` shows the page with
//! is the one the browser tests load it from, what `cargo xtask bench` is asked is read by the program that measures, and sizes
//! are those that `cargo xtask dist` prints.
//!
//! The commands themselves are in `main.rs`.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

pub mod asked;
pub mod server;
pub mod weight;

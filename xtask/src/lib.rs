//! What the project's commands share with its tests: the web server that `cargo xtask serve` shows the page with is the one
//! the browser tests load it from.
//!
//! The commands themselves are in `main.rs`.

pub mod server;

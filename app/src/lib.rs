//! The page of Dormer and the worker behind it.
//!
//! Two programs share this library. `main.rs` mounts the page; `bin/worker.rs` reads the trace and
//! answers what the page asks. They talk in the messages of [`protocol`], and nothing else
//! crosses: the page never holds a trace, only the rows it shows.
//!
//! ```text
//! page:   app → views → components        worker:   analysis → dormer-core
//!           ↘ state, url                               ↑
//!             engine ───────── protocol ───────── bin/worker
//! ```
//!
//! Start reading at [`app`]. Everything that touches the browser is in [`browser`].

pub mod analysis;
pub mod app;
pub mod browser;
pub mod components;
pub mod engine;
pub mod fuzzy;
pub mod keys;
pub mod protocol;
pub mod state;
pub mod url;
pub mod views;

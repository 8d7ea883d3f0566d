//! The page of Dormer and the worker behind it.
//!
//! Two programs share this library. `main.rs` mounts the page; `bin/worker.rs` starts the worker,
//! which reads the trace and answers what the page asks. They talk in the messages of [`protocol`],
//! and nothing else crosses: the page never holds a trace, only the rows it shows.
//!
//! ```text
//! page:   shell → views → components        worker:   messages → analysis → dormer-core
//!           ↘ state, url                                  ↑
//!             engine ──────────── protocol ───────────────┘
//! ```
//!
//! Start reading at [`page::shell`].

pub mod page;
pub mod protocol;
pub mod worker;

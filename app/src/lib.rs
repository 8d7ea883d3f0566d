//! The page of Dormer and the worker behind it.
//!
//! Two programs share this library. `main.rs` mounts the page; `bin/worker.rs` starts the worker, which reads the trace
//! and answers the page's queries. They exchange only the messages of [`protocol`]: the page never holds a trace, only
//! the rows it shows.
//!
//! ```text
//! page:   shell → views → components        worker:   messages → analysis → dormer-core
//!           ↘ state, url                                  ↑
//!             engine ──────────── protocol ───────────────┘
//! ```
//!
//! A view and its data have the same name everywhere: `page/views/steps.rs` asks a `StepsQuery` of `protocol/steps.rs`;
//! `worker/answer.rs` passes it to `worker/steps.rs`, which answers with values of the core crate; the view shows them with
//! `page/components`.
//!
//! Start reading at [`page::shell`].

#![allow(
    missing_docs,
    reason = "two programs and nobody else use this: what a name says is not said again"
)]

pub mod page;
pub mod protocol;
pub mod worker;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// Adds the source files of a folder that name a module of this library.
    fn add_files_that_name(folder: &Path, module: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add_files_that_name(&path, module, found);
            } else if fs::read_to_string(&path).unwrap().contains(module) {
                found.push(format!("{} names {module}", path.display()));
            }
        }
    }

    #[test]
    fn page_and_worker_share_only_the_protocol() {
        let mut found = Vec::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for (module, other) in [
            ("protocol", "page"),
            ("protocol", "worker"),
            ("worker", "page"),
            ("page", "worker"),
        ] {
            add_files_that_name(&source.join(module), &format!("crate::{other}"), &mut found);
        }
        assert!(found.is_empty(), "{found:#?}");
    }
}

//! Everything that Dormer writes.
//!
//! ```text
//! Profile + Report, Comparison, Job ─┬ documents ─→ document ─→ Markdown, HTML
//!                                    ├ json, replay, sheets ──→ bytes
//!                                    └ export: all of these as files, listed and made one by one
//! Profile ─redact→ Profile without private names ─kineto→ JSON of the profiler
//! Fleet ─regressions→ Markdown, JSON, CSV
//! ```
//!
//! The pages of `docs/` that are generated from code are here, too: `columns_doc`, `findings_doc`, `tables_doc`.

mod columns_doc;
mod findings_doc;
mod tables_doc;
mod title;

pub use columns_doc::columns_markdown;
pub use findings_doc::findings_markdown;
pub use tables_doc::tables_markdown;

pub mod archive;
pub mod document;
pub mod documents;
pub mod embedded;
pub mod export;
pub mod json;
pub mod kineto;
pub mod perfetto;
pub mod redact;
pub mod regressions;
pub mod replay;

/// Compares a page of `docs/` with what it is generated from. With `UPDATE=1` in the environment, writes it instead.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the page is next to the source")]
fn assert_page(name: &str, expected: &str, test: &str) {
    let path = format!("{}/../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read(&path).unwrap_or_default();
    let update = format!("UPDATE=1 cargo test -p dormer-core --lib {test}");
    assert!(
        found == expected.as_bytes(),
        "{name} is out of date: {update}"
    );
}

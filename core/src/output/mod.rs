//! Everything that Dormer writes.
//!
//! ```text
//! Profile + Report, Comparison, Job ─┬ documents ─→ markup ─→ Markdown, HTML
//!                                    ├ json, replay, sheets ──→ bytes
//!                                    └ export: all of these as files, listed and made one by one
//! Profile ─redact→ Profile without private names ─kineto→ JSON of the profiler
//! Fleet ─regressions→ Markdown, JSON, CSV
//! ```
//!
//! The pages of `docs/` that are generated from code are made by `tests` and `json::doc`.

mod title;

pub mod archive;
pub mod documents;
pub mod embedded;
pub mod export;
pub mod json;
pub mod kineto;
pub mod markup;
pub mod perfetto;
pub mod redact;
pub mod regressions;
pub mod replay;

#[cfg(test)]
pub(crate) mod tests;

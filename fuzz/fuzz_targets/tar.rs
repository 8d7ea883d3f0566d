//! Tar archives, whose first header has its mark and its right sum.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run tar fuzz/corpus/tar fuzz/seeds/tar -- -dict=fuzz/import.dict
//! ```
//!
//! What it finds becomes a case of `tests/corpus`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| dormer_fuzz::is_read(input, dormer_fuzz::files::tar));

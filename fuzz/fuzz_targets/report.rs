//! Whatever was read of any format, analyzed and written.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run report fuzz/corpus/report fuzz/seeds/report -- -dict=fuzz/import.dict
//! ```
//!
//! What it finds becomes a test of the module that it is in.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| dormer_fuzz::is_reported(input));

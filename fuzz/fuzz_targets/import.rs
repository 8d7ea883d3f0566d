//! Any bytes.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run import fuzz/corpus/import fuzz/seeds/import -- -dict=fuzz/import.dict
//! ```
//!
//! What it finds becomes a case of `tests/corpus`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| dormer_fuzz::is_read(input, <[u8]>::to_vec));

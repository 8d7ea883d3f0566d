//! Any bytes.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run import fuzz/corpus/import fuzz/seeds/import -- -dict=fuzz/import.dict
//! ```
//!
//! What it finds becomes a case of `tests/corpus`.

#![no_main]

use dormer_fuzz::survives;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| survives(input, <[u8]>::to_vec));

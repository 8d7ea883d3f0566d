//! What rocprofv3 writes, from its first key on.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run rocprof fuzz/corpus/rocprof fuzz/seeds/rocprof -- -dict=fuzz/import.dict
//! ```
//!
//! What it finds becomes a case of `tests/corpus`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| dormer_fuzz::is_read(input, dormer_fuzz::files::rocprof));

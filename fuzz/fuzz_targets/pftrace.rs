//! Perfetto's packets, of any fields.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run pftrace fuzz/corpus/pftrace fuzz/seeds/pftrace -- -dict=fuzz/message.dict
//! ```
//!
//! What it finds becomes a case of `tests/formats`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| dormer_fuzz::is_read(input, dormer_fuzz::files::pftrace));

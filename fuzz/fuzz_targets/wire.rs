//! The wire format below Perfetto's and XLA's: any bytes after a valid record give a trace.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run wire fuzz/corpus/wire fuzz/seeds/wire
//! ```
//!
//! What it finds becomes a case of `tests/formats`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| dormer_fuzz::is_walked(input));

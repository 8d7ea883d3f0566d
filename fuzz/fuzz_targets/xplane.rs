//! XLA's planes, of any fields.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run xplane fuzz/corpus/xplane fuzz/seeds/xplane -- -dict=fuzz/message.dict
//! ```
//!
//! What it finds becomes a case of `tests/formats`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| dormer_fuzz::is_read(input, dormer_fuzz::files::xplane));

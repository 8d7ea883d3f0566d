//! Tar archives, whose first header has its mark and its right sum.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run tar fuzz/corpus/tar fuzz/seeds/tar -- -dict=fuzz/import.dict
//! ```
//!
//! What it finds becomes a case of `tests/corpus`.

#![no_main]

use dormer_fuzz::survives;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    survives(input, |rest| {
        let mut bytes = rest.to_vec();
        if let Some(header) = bytes.first_chunk_mut::<512>() {
            header[257..263].copy_from_slice(b"ustar\0");
            header[148..156].fill(b' ');
            let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
            header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        }
        bytes
    });
});

//! Any records behind a good one end in a trace, in whatever pieces they come: of Perfetto's format and
//! of XLA's, and of the walk over the wire format below both.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run protobuf
//! ```
//!
//! What it finds becomes a case of `tests/formats`.

#![no_main]

use dormer_core::import::{ImportError, Imported, Importer, import};
use libfuzzer_sys::fuzz_target;

/// A packet with a time and a sequence.
const PACKET: &[u8] = b"\x0a\x04\x40\x01\x50\x01";
/// A plane without events.
const PLANE: &[u8] = b"\x0a\x0b\x12\x09/host:CPU";

fuzz_target!(|input: &[u8]| {
    let [which, piece, rest @ ..] = input else {
        return;
    };
    let first = [PACKET, PLANE][usize::from(which % 2)];
    let bytes = [first, rest].concat();
    let whole = import(&bytes);
    let pieces = import_in_pieces(&bytes, usize::from(*piece).max(1));
    assert_eq!(format!("{whole:?}"), format!("{pieces:?}"));
});

fn import_in_pieces(bytes: &[u8], size: usize) -> Result<Imported, ImportError> {
    let mut importer = Importer::new();
    for piece in bytes.chunks(size) {
        importer.push(piece)?;
    }
    importer.finish()
}

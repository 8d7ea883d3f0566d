//! Any bytes end in a trace or in a sentence, in whatever pieces they come; and whatever was
//! read can be analysed and written.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run import fuzz/corpus/import fuzz/seeds/import -- -dict=fuzz/import.dict
//! ```
//!
//! What it finds becomes a case of `tests/corpus`.

#![no_main]

use std::io::Write;

use dormer_core::output::export::{Input, Source};
use dormer_core::import::{ImportError, Imported, Importer, import};
use dormer_core::profile::Profile;
use dormer_core::report::{Report, ReportOptions, SheetEvents};
use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [how, piece, bytes @ ..] = input else {
        return;
    };
    let packed;
    let bytes = match how % 2 {
        0 => bytes,
        _ => {
            packed = gzip(bytes);
            &packed
        }
    };
    let whole = import(bytes);
    let pieces = import_in_pieces(bytes, usize::from(*piece).max(1));
    assert_eq!(format!("{whole:?}"), format!("{pieces:?}"));
    if let Ok(imported) = whole {
        let profile = Profile::new(imported);
        let sheet_events = [SheetEvents::Attributed, SheetEvents::All][usize::from(how / 2 % 2)];
        let report = Report::new(&profile, &ReportOptions { sheet_events, ..ReportOptions::default() });
        Input::new(&profile, &report).artifacts();
        profile.full_tree();
    }
});

fn import_in_pieces(bytes: &[u8], size: usize) -> Result<Imported, ImportError> {
    let mut importer = Importer::new();
    for piece in bytes.chunks(size) {
        importer.push(piece)?;
    }
    importer.finish()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a Vec takes any bytes");
    encoder.finish().expect("a Vec takes any bytes")
}

//! What all targets check: any bytes give a trace or an error, the same in chunks of any size; and any trace can be
//! analyzed and written, which takes a hundred times as long and has a target of its own.

pub mod files;
pub mod message;

use std::io::Write;

use dormer_core::import::{ImportError, ImportErrorKind, Imported, Importer, import};
use dormer_core::output::export::{Input, Source};
use dormer_core::profile::Profile;
use dormer_core::report::{Report, ReportOptions, SheetEvents};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Reads bytes whole and in pieces. The first two of `input` say how; `file` makes a file of the rest.
pub fn is_read(input: &[u8], file: impl FnOnce(&[u8]) -> Vec<u8>) {
    let [how, piece, rest @ ..] = input else {
        return;
    };
    let bytes = file(rest);
    let bytes = if how % 2 == 0 { bytes } else { gzip(&bytes) };
    // Most are no trace.
    let _ = same_in_pieces(&bytes, *piece);
}

/// Reads the input after a valid record, so that there is a trace.
pub fn is_walked(input: &[u8]) {
    let [which, piece, rest @ ..] = input else {
        return;
    };
    match same_in_pieces(&files::records(*which, rest), *piece) {
        // The input contains the magic bytes of an archive by chance.
        Ok(_) | Err(ImportErrorKind::UnreadableTar(_)) => {}
        Err(kind) => panic!("{kind:?}"),
    }
}

/// Analyzes the trace and writes all files. The first two bytes of `input` choose the format and the options.
pub fn is_reported(input: &[u8]) {
    let [which, how, rest @ ..] = input else {
        return;
    };
    let Ok(imported) = import(&files::any(*which, rest)) else {
        return;
    };
    let profile = Profile::new(imported);
    let sheet_events = match how % 2 {
        0 => SheetEvents::Attributed,
        _ => SheetEvents::All,
    };
    let options = ReportOptions {
        sheet_events,
        ..ReportOptions::default()
    };
    let report = Report::new(&profile, &options);
    Input::new(&profile, &report).artifacts();
    profile.full_tree();
}

fn same_in_pieces(bytes: &[u8], size: u8) -> Result<Imported, ImportErrorKind> {
    let whole = import(bytes);
    assert_eq!(said(&whole), said(&import_in_pieces(bytes, size)));
    whole.map_err(|error| error.kind)
}

/// All that was read and said.
fn said(imported: &Result<Imported, ImportError>) -> String {
    format!("{imported:?}")
}

/// Reads bytes in pieces of a size; 0 is 1.
fn import_in_pieces(bytes: &[u8], size: u8) -> Result<Imported, ImportError> {
    let mut importer = Importer::new();
    for piece in bytes.chunks(usize::from(size).max(1)) {
        importer.push(piece)?;
    }
    importer.finish()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a Vec takes any bytes");
    encoder.finish().expect("a Vec takes any bytes")
}

//! What all targets hold: any bytes end in a trace or in a sentence, in whatever pieces they come; and
//! whatever was read can be analysed and written.

use std::io::Write;

use dormer_core::import::{ImportError, Imported, Importer, import};
use dormer_core::output::export::{Input, Source};
use dormer_core::profile::Profile;
use dormer_core::report::{GpuEvents, Report, ReportOptions};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Reads bytes whole and in pieces, and writes what they say. The first two of `input` say how; `bytes`
/// makes a file of the rest.
pub fn survives(input: &[u8], bytes: impl FnOnce(&[u8]) -> Vec<u8>) {
    let [how, piece, rest @ ..] = input else {
        return;
    };
    let bytes = bytes(rest);
    let bytes = match how % 2 {
        0 => bytes,
        _ => gzip(&bytes),
    };
    let whole = import(&bytes);
    let pieces = import_in_pieces(&bytes, usize::from(*piece).max(1));
    assert_eq!(format!("{whole:?}"), format!("{pieces:?}"));
    if let Ok(imported) = whole {
        let profile = Profile::new(imported);
        let gpu_events = [GpuEvents::Linked, GpuEvents::All][usize::from(how / 2 % 2)];
        let report = Report::new(&profile, &ReportOptions { gpu_events, ..ReportOptions::default() });
        Input::new(&profile, &report).artifacts();
        profile.full_tree();
    }
}

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

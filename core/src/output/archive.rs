//! Bundles several files into one archive.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::compare::base_name;

/// The media type of what [`zip()`] makes.
pub const MIME: &str = "application/zip";

/// The name of an archive of redacted traces.
pub const REDACTED: [&str; 1] = ["redacted"];

/// An archive of files by path, in the given order; `None` if it cannot be written. The same files give the same bytes.
pub fn zip(files: &mut dyn Iterator<Item = (String, Vec<u8>)>) -> Option<Vec<u8>> {
    with_method(CompressionMethod::Deflated, files)
}

/// The same without compression, for files that are read once.
pub fn stored(files: &mut dyn Iterator<Item = (String, Vec<u8>)>) -> Option<Vec<u8>> {
    with_method(CompressionMethod::Stored, files)
}

/// Not generic, so it is compiled only once.
fn with_method(
    method: CompressionMethod,
    files: &mut dyn Iterator<Item = (String, Vec<u8>)>,
) -> Option<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(method)
        .unix_permissions(0o644)
        // There is no clock here, and a timestamp would differ from run to run.
        .last_modified_time(DateTime::default());
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        zip.start_file(path, options).ok()?;
        zip.write_all(&bytes).ok()?;
    }
    Some(zip.finish().ok()?.into_inner())
}

/// The file name of an archive of all files about these traces: `dormer-TRACE.zip`.
pub fn file_name<'a>(traces: impl IntoIterator<Item = &'a str>) -> String {
    named(traces, "zip")
}

/// The file name for something about these traces. Folders, extensions and characters that a file system may reject are
/// removed.
pub(super) fn named<'a>(traces: impl IntoIterator<Item = &'a str>, ending: &str) -> String {
    let mut parts = vec!["dormer".to_owned()];
    parts.extend(traces.into_iter().filter_map(plain));
    format!("{}.{ending}", parts.join("-"))
}

/// The name of a single file about these traces when it leaves its folder: `TRACE-report.html`.
pub fn alone<'a>(traces: impl IntoIterator<Item = &'a str>, file: &str) -> String {
    let mut parts: Vec<String> = traces.into_iter().filter_map(plain).collect();
    parts.push(file.to_owned());
    parts.join("-")
}

/// The name of a trace in a form that file systems accept; `None` if nothing remains.
fn plain(trace: &str) -> Option<String> {
    let letters = base_name(trace).chars().take(60);
    let letters = letters.map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() || "._-".contains(letter) => letter,
        _ => '_',
    });
    let name: String = letters.collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
pub(crate) fn unzip(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).ok()?;
    let files = (0..archive.len()).map(|at| {
        let mut file = archive.by_index(at).unwrap();
        let mut bytes = Vec::new();
        std::io::copy(&mut file, &mut bytes).unwrap();
        (file.name().unwrap().into_owned(), bytes)
    });
    Some(files.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_called_after_their_traces() {
        let cases = [
            (&["runs/step 7.pt.trace.json.gz"][..], "dormer-step_7.zip"),
            (&["h100.json", "mi300"], "dormer-h100-mi300.zip"),
            (&[".json"], "dormer.zip"),
            (&["..\\..\\größe.zip"], "dormer-gr__e.zip"),
        ];
        for (traces, expected) in cases {
            assert_eq!(file_name(traces.iter().copied()), expected);
        }
    }

    #[test]
    fn a_file_alone_carries_the_names_of_its_traces() {
        let named = |traces: &[&str]| alone(traces.iter().copied(), "report.html");
        assert_eq!(named(&["runs/step 7.json.gz"]), "step_7-report.html");
        assert_eq!(named(&["h100.json", "mi300"]), "h100-mi300-report.html");
        assert_eq!(named(&[".json"]), "report.html");
        assert_eq!(named(&REDACTED), "redacted-report.html");
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let file = |(path, text): (&str, &str)| (path.to_owned(), text.as_bytes().to_vec());
        let files = [("a.md", "one"), ("b/c.csv", "two")].map(file);
        let made = || zip(&mut files.iter().cloned()).unwrap();
        assert_eq!(made(), made());
        assert_eq!(unzip(&made()).unwrap(), files);
    }
}

//! Archives of several files, such as the ranks of a job: tar, gzipped tar, zip.
//!
//! Files are handed out in archive order, one after the other; an [`Importer`](super::Importer) reads what they hold.

use super::container::{Container, Gunzip, Piece, Untar, Unzip};
use super::error::{ImportError, ImportErrorKind};
use super::format::{Head, Sniffed};
use super::warning::Warnings;
use super::{payload, unsupported};

pub use super::container::Member;

/// Reads an archive in chunks of any size.
///
/// ```
/// use dormer_core::import::{Archive, Member};
///
/// # fn files(chunks: &[&[u8]]) -> Result<Vec<(String, u64)>, dormer_core::import::ImportError> {
/// let mut files: Vec<(String, u64)> = Vec::new();
/// let mut sink = |member: Member| match (member, files.last_mut()) {
///     (Member::Begin(path), _) => files.push((path.to_owned(), 0)),
///     (Member::Bytes(bytes), Some((_, size))) => *size += bytes.len() as u64,
///     _ => {}
/// };
/// let Some(mut archive) = chunks.first().and_then(|head| Archive::of(head)) else {
///     return Ok(Vec::new());
/// };
/// for chunk in chunks {
///     archive.push(chunk, &mut sink)?;
/// }
/// archive.finish(&mut sink);
/// # Ok(files)
/// # }
/// # assert_eq!(files(&[b"{}"]).unwrap(), []);
/// ```
#[derive(Debug)]
pub struct Archive {
    gunzip: Option<Gunzip>,
    packing: Packing,
}

#[derive(Debug)]
enum Packing {
    Tar(Untar),
    Zip(Box<Unzip>),
}

impl Archive {
    /// An archive that starts with these bytes, which must include the first 512 if there are that many; `None` if it
    /// is not an archive.
    pub fn of(head: &[u8]) -> Option<Archive> {
        let tar = |gunzip| Archive {
            gunzip,
            packing: Packing::Tar(Untar::default()),
        };
        if Container::is_zip(head) {
            return Some(Archive {
                gunzip: None,
                packing: Packing::Zip(Box::default()),
            });
        }
        if !Container::is_gzip(head) {
            return Untar::fits(head).then(|| tar(None));
        }
        let mut first = Vec::new();
        let inflated = Gunzip::default().push(head, |text| {
            first.extend_from_slice(text);
            Ok(())
        });
        (inflated.is_ok() && Untar::fits(&first)).then(|| tar(Some(Gunzip::default())))
    }

    /// Reads a chunk and passes the files to `sink`.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Member)) -> Result<(), ImportError> {
        match (&mut self.gunzip, &mut self.packing) {
            (None, Packing::Tar(untar)) => untar.push(bytes, sink),
            (Some(gunzip), Packing::Tar(untar)) => {
                gunzip.push(bytes, |text| untar.push(text, sink))
            }
            (_, Packing::Zip(unzip)) => unzip.push(bytes, |piece| {
                match piece {
                    Piece::Begin(name) => sink(Member::Begin(name)),
                    Piece::Bytes(bytes) => sink(Member::Bytes(bytes)),
                    Piece::End => sink(Member::End),
                }
                // All others may be traces as well.
                false
            }),
        }
    }

    /// Closes a file that was cut off with the archive, once all bytes are pushed, and returns the warnings about the
    /// packing.
    pub fn finish(self, sink: &mut dyn FnMut(Member)) -> Warnings {
        let is_open = match &self.packing {
            Packing::Tar(untar) => untar.is_in_file(),
            Packing::Zip(unzip) => unzip.is_in_member(),
        };
        if is_open {
            sink(Member::End);
        }
        let mut warnings = self.gunzip.map(Gunzip::finish).unwrap_or_default();
        if let Packing::Zip(unzip) = self.packing {
            warnings.extend(&unzip.warnings);
        }
        warnings
    }
}

/// Whether a file that starts with these bytes looks like a trace, as far as the bytes show. Used to list the content
/// of a folder or an archive.
pub fn looks_like_trace(head: &[u8]) -> bool {
    /// Keys of Kineto's JSON. Its objects have no key that must come first.
    const WORDS: [&[u8]; 2] = [b"\"traceEvents\"", b"\"ph\""];
    let mut inflated = Vec::new();
    if Container::is_gzip(head) {
        // An error means that enough was inflated, or that the data is damaged further on.
        let _ = Gunzip::default().push(head, |text| {
            inflated.extend_from_slice(text);
            match inflated.len() < MOST_TEXT {
                true => Ok(()),
                false => Err(ImportError::new(ImportErrorKind::NotJson, None)),
            }
        });
    }
    let text = if inflated.is_empty() { head } else { &inflated };
    let holds = |word: &[u8]| text.windows(word.len()).any(|held| held == word);
    let head = Head::all(text);
    unsupported::sniff(head) != Sniffed::Yes
        && (payload::is_recognized(head) || WORDS.into_iter().any(holds))
}

/// This much text is enough to recognize a trace.
const MOST_TEXT: usize = 1 << 20;

/// Where the files of a tar archive are. Only the headers have to be read.
#[derive(Debug, Default)]
pub struct TarIndex {
    untar: Untar,
    at: u64,
}

/// A file in a tar archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTar {
    /// Its path in the archive.
    pub path: String,
    /// Offset of its first byte.
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
}

impl TarIndex {
    /// The size of the blocks that an archive is made of, in bytes.
    pub const BLOCK: u64 = 512;

    /// Offset of the block that is needed next; `None` after the last file.
    pub fn wanted(&self) -> Option<u64> {
        (!self.untar.is_over()).then_some(self.at)
    }

    /// Reads that block; returns the file that starts in it, if any.
    pub fn push(&mut self, block: &[u8]) -> Result<Option<InTar>, ImportError> {
        let mut path = None;
        self.untar.push(block, &mut |member| {
            if let Member::Begin(of) = member {
                path = Some(of.to_owned());
            }
        })?;
        let start = self.at + block.len() as u64;
        let (size, padding) = self.untar.pass();
        self.at = start.saturating_add(size).saturating_add(padding);
        Ok(path.map(|path| InTar { path, start, size }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    /// A member of a tar archive.
    fn member(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
        let mut header = vec![0_u8; 512];
        header[..name.len()].copy_from_slice(name);
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = kind;
        header[257..263].copy_from_slice(b"ustar\0");
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header.extend_from_slice(content);
        header.resize(header.len().next_multiple_of(512), 0);
        header
    }

    fn tar() -> Vec<u8> {
        let long = format!("runs/{}/rank1.json", "x".repeat(120));
        let attribute = "24 path=runs/rank2.json\n";
        [
            member(b"runs/", b'5', b""),
            member(b"runs/rank0.json", b'0', b"{\"traceEvents\": []}"),
            member(b"././@LongLink", b'L', long.as_bytes()),
            member(b"cut", b'0', &[b'7'; 1024]),
            member(b"PaxHeaders/rank2", b'x', attribute.as_bytes()),
            member(b"short", b'0', b"2"),
            member(b"empty.json", b'0', b""),
            vec![0; 1024],
        ]
        .concat()
    }

    #[test]
    fn headers_tell_where_files_lie() {
        let bytes = tar();
        let mut index = TarIndex::default();
        let mut files = Vec::new();
        while let Some(at) = index.wanted() {
            let block = &bytes[at as usize..][..TarIndex::BLOCK as usize];
            files.extend(index.push(block).unwrap());
        }
        let long = format!("runs/{}/rank1.json", "x".repeat(120));
        let found: Vec<(&str, &[u8])> = (files.iter())
            .map(|file| {
                (
                    &*file.path,
                    &bytes[file.start as usize..][..file.size as usize],
                )
            })
            .collect();
        let expected: [(&str, &[u8]); 4] = [
            ("runs/rank0.json", b"{\"traceEvents\": []}"),
            (&long, &[b'7'; 1024]),
            ("runs/rank2.json", b"2"),
            ("empty.json", b""),
        ];
        assert_eq!(found, expected);
        assert!(TarIndex::default().push(&[7; 512]).is_err(), "no header");
    }

    /// Paths and contents, read in chunks of the given size, and the number of files that were ended.
    fn files(bytes: &[u8], chunk: usize) -> (Vec<(String, Vec<u8>)>, usize) {
        let mut archive = Archive::of(&bytes[..bytes.len().min(4096)]).unwrap();
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        let mut n_ended = 0;
        let mut sink = |member: Member| match member {
            Member::Begin(path) => files.push((path.to_owned(), Vec::new())),
            Member::Bytes(bytes) => files.last_mut().unwrap().1.extend_from_slice(bytes),
            Member::End => n_ended += 1,
        };
        for chunk in bytes.chunks(chunk) {
            archive.push(chunk, &mut sink).unwrap();
        }
        archive.finish(&mut sink);
        (files, n_ended)
    }

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn files_of_a_tar_come_with_their_paths_whatever_the_chunks() {
        let long = format!("runs/{}/rank1.json", "x".repeat(120));
        let expected = [
            ("runs/rank0.json", b"{\"traceEvents\": []}".to_vec()),
            (long.as_str(), vec![b'7'; 1024]),
            ("runs/rank2.json", b"2".to_vec()),
            ("empty.json", Vec::new()),
        ];
        let expected = expected.map(|(path, content)| (path.to_owned(), content));
        for chunk in [1, 7, 512, 100_000] {
            assert_eq!(files(&tar(), chunk), (expected.to_vec(), 4), "{chunk}");
            assert_eq!(
                files(&gzipped(&tar()), chunk),
                (expected.to_vec(), 4),
                "{chunk}"
            );
        }
    }

    #[test]
    fn a_cut_archive_ends_its_last_file() {
        let cut = &tar()[..512 + 512 + 10];
        let (files, n_ended) = files(cut, 100);
        assert_eq!(files[0].1, b"{\"traceEve");
        assert_eq!(n_ended, 1);
    }

    #[test]
    fn a_damaged_header_is_an_error() {
        let mut damaged = tar();
        damaged[512] = b'?';
        let mut archive = Archive::of(&damaged).unwrap();
        let error = archive.push(&damaged, &mut |_| {}).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this tar archive cannot be read: a member's header is damaged"
        );
    }

    #[test]
    fn files_of_a_zip_come_with_their_paths() {
        let mut members = [
            ("a/rank0.json", "0"),
            ("notes.txt", "-"),
            ("rank1.json", "1"),
        ]
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .into_iter();
        let zip = crate::output::archive::zip(&mut members).unwrap();
        let expected = [
            ("a/rank0.json", "0"),
            ("notes.txt", "-"),
            ("rank1.json", "1"),
        ];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
        for chunk in [1, 100_000] {
            assert_eq!(files(&zip, chunk), (expected.to_vec(), 3), "{chunk}");
        }
    }

    #[test]
    fn a_trace_is_no_archive() {
        let trace = b"{\"traceEvents\": []}".repeat(40);
        assert!(Archive::of(&trace).is_none());
        assert!(Archive::of(&gzipped(&trace)).is_none());
        assert!(Archive::of(b"").is_none());
    }

    #[test]
    fn traces_are_told_by_how_they_begin() {
        let kineto = b"{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\"";
        let rocprof = b"{\"rocprofiler-sdk-tool\": [{\"metadata\"";
        for trace in [&kineto[..], b"[{\"name\": \"a\", \"ph\": \"X\"}]", rocprof] {
            assert!(looks_like_trace(trace));
            let packed = gzipped(trace);
            assert!(looks_like_trace(&packed));
            assert!(looks_like_trace(&packed[..packed.len() - 8]), "cut");
        }
        let memory = b"[[-1, 0, 512, 4]]";
        for other in [&b"{\"lr\": 1}"[..], memory, b"PK\x03\x04", b"", b"\x1f\x8b"] {
            assert!(!looks_like_trace(other));
        }
    }
}

//! Archives of ranks: each file in them is read as it comes, and dropped.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use dormer_core::import::{Archive, Importer, Member};
use dormer_core::job::Digest;
use dormer_core::job::digest::SourceFile;
use dormer_core::job::digests;
use dormer_core::output::perfetto::MANIFEST;

use super::files::{MOST_BYTES_OF_DIGEST, ReadFile, is_called_like_a_trace};

const CHUNK_BYTES: usize = 256 << 10;

/// Bytes it takes to tell a digest, which may be compressed.
const HEAD_BYTES: usize = 4096;

/// The ranks in an archive; `None` for a file that is none.
pub(super) fn read(path: &Path, source: &SourceFile) -> io::Result<Option<Vec<ReadFile>>> {
    let mut found: Vec<ReadFile> = Vec::new();
    let mut open: Option<InArchive> = None;
    let walked = walk(path, &mut |member| match (member, &mut open) {
        (Member::Begin(name), _) => {
            let is_wanted = is_called_like_a_trace(name) && name != MANIFEST;
            open = is_wanted.then(|| InArchive::new(format!("{}/{name}", source.name)));
        }
        (Member::Bytes(bytes), Some(open)) => open.push(bytes),
        (Member::End, _) => found.extend(open.take().into_iter().flat_map(InArchive::finish)),
        (Member::Bytes(_), None) => {}
    })?;
    let Some(broken) = walked else {
        return Ok(None);
    };
    if let Err(why) = broken {
        found.push((source.clone(), Err(why)));
    } else if found.is_empty() {
        let why = "the archive holds no .json or .json.gz file";
        found.push((source.clone(), Err(why.to_owned())));
    }
    Ok(Some(found))
}

/// Hands the files of an archive to `sink`, and tells what is wrong with it; `None` for a file that is none.
pub(super) fn walk(
    path: &Path,
    sink: &mut dyn FnMut(Member),
) -> io::Result<Option<Result<(), String>>> {
    let mut file = File::open(path)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut n_bytes = filled(&mut file, &mut chunk)?;
    let Some(mut archive) = Archive::of(chunk.get(..n_bytes).unwrap_or_default()) else {
        return Ok(None);
    };
    let mut pushed = Ok(());
    while n_bytes > 0 && pushed.is_ok() {
        pushed = archive.push(chunk.get(..n_bytes).unwrap_or_default(), sink);
        n_bytes = filled(&mut file, &mut chunk)?;
    }
    archive.finish(sink);
    Ok(Some(pushed.map_err(|error| error.to_string())))
}

/// Reads until a chunk is full or the file is over.
fn filled(file: &mut File, chunk: &mut [u8]) -> io::Result<usize> {
    let mut n = 0;
    while let Some(rest) = chunk.get_mut(n..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n)
}

/// A file of an archive as it comes.
struct InArchive {
    source: SourceFile,
    content: Content,
}

enum Content {
    /// Too little has come to tell.
    Head(Vec<u8>),
    Digest(Vec<u8>),
    Trace(Box<Importer>),
    Broken(String),
}

impl InArchive {
    fn new(name: String) -> InArchive {
        InArchive {
            source: SourceFile { name, bytes: 0 },
            content: Content::Head(Vec::new()),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.source.bytes += bytes.len() as u64;
        match &mut self.content {
            Content::Head(head) => {
                head.extend_from_slice(bytes);
                if head.len() >= HEAD_BYTES {
                    self.tell();
                }
            }
            Content::Digest(all) if self.source.bytes > MOST_BYTES_OF_DIGEST => {
                all.clear();
                self.content = Content::Broken("the digest is larger than any".to_owned());
            }
            Content::Digest(all) => all.extend_from_slice(bytes),
            Content::Trace(importer) => {
                if let Err(error) = importer.push(bytes) {
                    self.content = Content::Broken(error.to_string());
                }
            }
            Content::Broken(_) => {}
        }
    }

    /// Tells what it is by what has come.
    fn tell(&mut self) {
        let Content::Head(head) = &mut self.content else {
            return;
        };
        let head = std::mem::take(head);
        self.content = match Digest::is_file(&head) {
            true => Content::Digest(head),
            false => {
                let mut importer = Box::new(Importer::new());
                match importer.push(&head) {
                    Ok(()) => Content::Trace(importer),
                    Err(error) => Content::Broken(error.to_string()),
                }
            }
        };
    }

    fn finish(mut self) -> Vec<ReadFile> {
        self.tell();
        let read = match self.content {
            Content::Head(_) => Err("it is empty".to_owned()),
            Content::Broken(why) => Err(why),
            Content::Digest(bytes) => match Digest::from_file(&bytes) {
                Some(read) => read.map(|digest| vec![digest]),
                None => Err("the digest cannot be read".to_owned()),
            },
            Content::Trace(importer) => match importer.finish() {
                Ok(imported) => Ok(digests(imported, self.source.clone())),
                Err(error) => Err(error.to_string()),
            },
        };
        match read {
            Err(why) => vec![(self.source, Err(why))],
            Ok(digests) => {
                let digests = digests.into_iter();
                digests
                    .map(|digest| (digest.file.clone(), Ok(digest)))
                    .collect()
            }
        }
    }
}

//! Archives of ranks: each file is read as it arrives, and dropped.

use std::io;
use std::path::Path;

use dormer_core::import::{Importer, Member, is_called_like_a_trace};
use dormer_core::job::digest::SourceFile;
use dormer_core::job::{Digest, digests};
use dormer_core::output::perfetto::MANIFEST;

use super::files::{MOST_BYTES_OF_DIGEST, ReadFile};
use crate::input::each_member;

/// The ranks in an archive; `None` if the file is not an archive.
pub(super) fn read(path: &Path, source: &SourceFile) -> io::Result<Option<Vec<ReadFile>>> {
    let mut found: Vec<ReadFile> = Vec::new();
    let mut open: Option<InArchive> = None;
    let read = each_member(path, |member| {
        match (member, &mut open) {
            (Member::Begin(name), _) => {
                let is_wanted = is_called_like_a_trace(name) && name != MANIFEST;
                open = is_wanted.then(|| InArchive::new(format!("{}/{name}", source.name)));
            }
            (Member::Bytes(bytes), Some(open)) => open.push(bytes),
            (Member::End, _) => found.extend(open.take().into_iter().flat_map(InArchive::finish)),
            (Member::Bytes(_), None) => {}
        }
        true
    })?;
    let Some(read) = read else { return Ok(None) };
    if let Err(error) = read {
        found.push((source.clone(), Err(error.to_string())));
    } else if found.is_empty() {
        let why =
            "the archive holds no file that is called like a trace (.json, .pftrace, .xplane.pb)";
        found.push((source.clone(), Err(why.to_owned())));
    }
    Ok(Some(found))
}

/// A file of an archive as it arrives.
struct InArchive {
    source: SourceFile,
    content: Content,
}

enum Content {
    /// Not enough bytes to identify it yet.
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
                if head.len() >= Digest::HEAD_BYTES {
                    self.identify();
                }
            }
            Content::Digest(all) if self.source.bytes > MOST_BYTES_OF_DIGEST => {
                all.clear();
                self.content = Content::Broken("the digest is too large".to_owned());
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

    /// Identifies the file from the bytes so far.
    fn identify(&mut self) {
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
        self.identify();
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
            Ok(digests) => digests
                .into_iter()
                .map(|digest| (digest.file.clone(), Ok(digest)))
                .collect(),
        }
    }
}

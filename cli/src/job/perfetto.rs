//! `--perfetto`: the traces of a job as one archive for Perfetto, with aligned clocks.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use dormer_core::import::{Inflater, Member, TextBuffer};
use dormer_core::job::Job;
use dormer_core::output::perfetto::{BLOCK, MANIFEST, header, manifest, member, padding};

use super::files::Found;
use crate::Failure;
use crate::input::each_member;
use crate::stdout::complain;

const CHUNK_BYTES: usize = 256 << 10;

/// The number of bytes that identify a file's compression.
const HEAD_BYTES: usize = 512;

/// A rank, and the file or the archive with its trace.
struct Place<'a> {
    at: usize,
    rank: u32,
    name: &'a str,
    file: &'a Found,
}

/// Writes the archive and returns the number of ranks in it. Ranks with only a digest here, or merged into one file,
/// are omitted.
pub(super) fn write(path: &Path, job: &Job, files: &[Found]) -> Result<usize, Failure> {
    let found = job.ranks.iter().enumerate().filter_map(|(at, rank)| {
        let name = rank.digest.file.name.as_str();
        let own = files.iter().find(|file| file.source == rank.digest.file);
        let file = own.or_else(|| {
            let mut files = files.iter();
            files.find(|file| in_archive(name, file).is_some())
        });
        if file.is_none() {
            complain(&format!(
                "rank {}: its trace {name} was not given as a file of its own, so the archive is without it",
                rank.number
            ));
        }
        let file = file?;
        Some(Place {
            at,
            rank: rank.number,
            name,
            file,
        })
    });
    let found: Vec<Place> = found.collect();
    let failed =
        |error: io::Error| Failure::of_file(&format!("cannot write {}", path.display()), &error);
    let places: Vec<usize> = found.iter().map(|place| place.at).collect();
    let mut packed = Packed::new(File::create(path).map_err(failed)?);
    let manifest = packed
        .begin(MANIFEST)
        .and_then(|()| packed.push(&manifest(job, &places)));
    manifest.and_then(|()| packed.end()).map_err(failed)?;
    for file in files {
        let own = found.iter().filter(|of| std::ptr::eq(of.file, file));
        let own: Vec<&Place> = own.collect();
        let added = match own.first() {
            None => Ok(()),
            Some(first) if in_archive(first.name, file).is_none() => add(&mut packed, first),
            Some(_) => add_members(&mut packed, file, &own),
        };
        added.map_err(|error| Failure::of_file(&file.path.display().to_string(), &error))?;
    }
    packed.finish().map_err(failed)?;
    Ok(found.len())
}

/// The archive must not overwrite an input file.
pub(super) fn is_no_input(path: &Path, files: &[Found]) -> Result<(), Failure> {
    let Ok(path) = fs::canonicalize(path) else {
        return Ok(());
    };
    let mut inputs = files.iter();
    match inputs.any(|file| fs::canonicalize(&file.path).is_ok_and(|input| input == path)) {
        false => Ok(()),
        true => Err(Failure::Sentence(format!(
            "{} is one of the files to read: --perfetto needs another name",
            path.display()
        ))),
    }
}

/// The name of a trace within an archive.
fn in_archive<'a>(name: &'a str, archive: &Found) -> Option<&'a str> {
    name.strip_prefix(archive.source.name.as_str())?
        .strip_prefix('/')
}

/// Adds a trace that is a file.
fn add(packed: &mut Packed, place: &Place) -> io::Result<()> {
    packed.begin(&member(place.rank))?;
    let mut source = File::open(&place.file.path)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut trace = Text::default();
    loop {
        let n = source.read(&mut chunk)?;
        if n == 0 {
            break;
        }
        trace.push(chunk.get(..n).unwrap_or_default(), packed)?;
    }
    trace.finish(packed)?;
    packed.end()
}

/// Adds the traces of an archive, which is read once.
fn add_members(packed: &mut Packed, archive: &Found, places: &[&Place]) -> io::Result<()> {
    let mut open: Option<Text> = None;
    let mut written = Ok(());
    // Errors in it were reported when the job was read.
    let _broken = each_member(&archive.path, |piece| {
        written = match (piece, &mut open) {
            (Member::Begin(name), _) => {
                let mut places = places.iter();
                let place = places.find(|of| in_archive(of.name, archive) == Some(name));
                open = place.map(|_| Text::default());
                place.map_or(Ok(()), |of| packed.begin(&member(of.rank)))
            }
            (Member::Bytes(bytes), Some(trace)) => trace.push(bytes, packed),
            (Member::End, Some(_)) => open
                .take()
                .map_or(Ok(()), |trace| trace.finish(packed))
                .and_then(|()| packed.end()),
            (_, None) => Ok(()),
        };
        written.is_ok()
    })?;
    written
}

/// A trace as it arrives, compressed or not; its text is written to the archive.
#[derive(Default)]
struct Text {
    /// The bytes so far, until they identify the file's compression.
    head: Vec<u8>,
    inflater: Option<Inflater>,
}

impl Text {
    fn push(&mut self, bytes: &[u8], packed: &mut Packed) -> io::Result<()> {
        if let Some(inflater) = &mut self.inflater {
            return inflate(inflater, bytes, packed);
        }
        self.head.extend_from_slice(bytes);
        match self.head.len() >= HEAD_BYTES {
            true => self.identify_compression(packed),
            false => Ok(()),
        }
    }

    fn finish(mut self, packed: &mut Packed) -> io::Result<()> {
        match self.inflater {
            Some(_) => Ok(()),
            None => self.identify_compression(packed),
        }
    }

    fn identify_compression(&mut self, packed: &mut Packed) -> io::Result<()> {
        let head = std::mem::take(&mut self.head);
        let Some(mut inflater) = Inflater::of(&head) else {
            return packed.push(&head);
        };
        inflate(&mut inflater, &head, packed)?;
        self.inflater = Some(inflater);
        Ok(())
    }
}

fn inflate(inflater: &mut Inflater, bytes: &[u8], packed: &mut Packed) -> io::Result<()> {
    let mut inflated = TextBuffer::default();
    inflater.push(bytes, &mut inflated);
    packed.push(inflated.bytes())
}

/// The archive being written.
struct Packed {
    archive: BufWriter<File>,
    /// The current file: its name, the position of its header, and its length so far.
    open: Option<(String, u64, u64)>,
}

impl Packed {
    fn new(file: File) -> Packed {
        Packed {
            archive: BufWriter::new(file),
            open: None,
        }
    }

    /// Starts a file. Its length is known at its end: then its header is written.
    fn begin(&mut self, name: &str) -> io::Result<()> {
        let start = self.archive.stream_position()?;
        self.open = Some((name.to_owned(), start, 0));
        self.archive.write_all(&header(name, 0))
    }

    fn push(&mut self, text: &[u8]) -> io::Result<()> {
        if let Some((.., n_bytes)) = &mut self.open {
            *n_bytes += text.len() as u64;
        }
        self.archive.write_all(text)
    }

    fn end(&mut self) -> io::Result<()> {
        let Some((name, start, n_bytes)) = self.open.take() else {
            return Ok(());
        };
        self.archive.write_all(&vec![0; padding(n_bytes)])?;
        let end = self.archive.stream_position()?;
        self.archive.seek(SeekFrom::Start(start))?;
        self.archive.write_all(&header(&name, n_bytes))?;
        self.archive.seek(SeekFrom::Start(end))?;
        Ok(())
    }

    /// Two empty blocks end an archive.
    fn finish(mut self) -> io::Result<()> {
        self.archive.write_all(&[0; 2 * BLOCK])?;
        self.archive.flush()
    }
}

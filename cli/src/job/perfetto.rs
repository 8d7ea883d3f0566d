//! `--perfetto`: the traces of a job as one archive for Perfetto, aligned.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use dormer_core::base::format;
use dormer_core::import::Inflater;
use dormer_core::job::Job;
use dormer_core::output::perfetto::{BLOCK, MANIFEST, header, manifest, member, padding};

use super::files::Found;
use crate::Failure;
use crate::stdout::{Out, complain};

const CHUNK_BYTES: usize = 256 << 10;

/// Writes the archive; ranks of which there is no trace here, but a digest, are left out.
pub(super) fn write(path: &Path, job: &Job, files: &[Found], out: &mut Out) -> Result<(), Failure> {
    let found = job.ranks.iter().enumerate().filter_map(|(at, rank)| {
        let file = files.iter().find(|file| file.source == rank.digest.file);
        if file.is_none() {
            let name = &rank.digest.file.name;
            complain(&format!(
                "rank {}: its trace {name} was not given, so the archive is without it",
                rank.number
            ));
        }
        Some((at, rank.number, file?))
    });
    let found: Vec<(usize, u32, &Found)> = found.collect();
    let failed =
        |error: io::Error| Failure::of_file(&format!("cannot write {}", path.display()), &error);
    let mut archive = BufWriter::new(File::create(path).map_err(failed)?);
    let places: Vec<usize> = found.iter().map(|(at, ..)| *at).collect();
    let manifest = manifest(job, &places);
    let n_bytes = manifest.len() as u64;
    let written = archive.write_all(&header(MANIFEST, n_bytes));
    let written = written.and_then(|()| archive.write_all(&manifest));
    written
        .and_then(|()| fill(&mut archive, n_bytes))
        .map_err(failed)?;
    for (_, rank, file) in &found {
        let added = add(&mut archive, &member(*rank), &file.path);
        added.map_err(|error| Failure::of_file(&file.path.display().to_string(), &error))?;
    }
    // Two empty blocks end an archive.
    let written = archive.write_all(&[0; 2 * BLOCK]);
    written.and_then(|()| archive.flush()).map_err(failed)?;
    let count = format::counted(found.len() as u64, "rank");
    writeln!(
        out,
        "\nWrote {count} to {}, for https://ui.perfetto.dev.",
        path.display()
    )?;
    Ok(())
}

/// Adds the text of a trace. How long it is, is known at its end: then its header is written.
fn add(archive: &mut BufWriter<File>, name: &str, path: &Path) -> io::Result<()> {
    let start = archive.stream_position()?;
    archive.write_all(&header(name, 0))?;
    let mut source = File::open(path)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let n = source.read(&mut chunk)?;
    let head = chunk.get(..n).unwrap_or_default();
    let Some(mut inflater) = Inflater::of(head) else {
        return Err(io::Error::other("it is an archive; unpack it for Perfetto"));
    };
    let mut n_bytes = 0_u64;
    let mut written = Ok(());
    let mut sink = |text: &[u8]| {
        n_bytes += text.len() as u64;
        if written.is_ok() {
            written = archive.write_all(text);
        }
    };
    inflater.push(head, &mut sink);
    loop {
        let n = source.read(&mut chunk)?;
        if n == 0 {
            break;
        }
        inflater.push(chunk.get(..n).unwrap_or_default(), &mut sink);
    }
    written?;
    fill(archive, n_bytes)?;
    let end = archive.stream_position()?;
    archive.seek(SeekFrom::Start(start))?;
    archive.write_all(&header(name, n_bytes))?;
    archive.seek(SeekFrom::Start(end))?;
    Ok(())
}

fn fill(archive: &mut BufWriter<File>, n_bytes: u64) -> io::Result<()> {
    archive.write_all(&vec![0; padding(n_bytes)])
}

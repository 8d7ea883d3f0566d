//! The cost of a job by its number of ranks: `dormer job` and the page, compared with reading the ranks one after
//! another.
//!
//! The ranks are copies of a trace with different rank numbers: as large as a job's real ranks, and similar.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::value::RawValue;

use super::figure::{Record, Role, Table, Unit};
use super::opens::With;
use super::page::Page;
use super::{Outcome, native};

/// Measures a job of each size.
pub(crate) async fn measure(
    with: &With<'_>,
    trace: &Path,
    sizes: &[u32],
    record: &mut Record,
) -> Outcome {
    for n in sizes {
        eprintln!("{n} ranks");
        let files = written(trace, *n)?;
        let folder = files.first().and_then(|file| file.parent());
        let folder = folder.ok_or("a job has a rank at least")?;
        let (mut alone, mut job, mut peak, mut page) = (vec![], vec![], vec![], vec![]);
        for _ in 0..with.n_runs {
            let mut seconds = 0.0;
            for file in &files {
                seconds += native::report(with.dormer, file)?;
            }
            alone.push(seconds);
            let (seconds, bytes) = native::watched(
                Command::new(with.dormer)
                    .arg("job")
                    .arg(folder)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null()),
            )?;
            job.push(seconds);
            peak.extend(bytes);
            let opened = Page::load(with.programs, with.dist).await?;
            let outcome = opened.open_job(&files).await;
            opened.close().await?;
            page.extend(outcome?);
        }
        let of = format!("{n} ranks");
        let row = (Table::Ranks, of.as_str());
        let time = (Unit::Time, Role::Cost);
        record.add(row, "`dormer report` of each in turn", time, alone);
        record.add(row, "`dormer job`", time, job);
        record.add(
            row,
            "most memory of `dormer job`",
            (Unit::Megabytes, Role::Cost),
            peak,
        );
        record.add(row, "page", time, page);
    }
    Ok(())
}

/// The files of a job, cached beside other copies of the trace: generating them takes a while.
fn written(trace: &Path, n: u32) -> Outcome<Vec<PathBuf>> {
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let folder = std::env::temp_dir()
        .join("dormer-bench")
        .join(format!("{name} of {n} ranks"));
    let files: Vec<PathBuf> = (0..n)
        .map(|rank| folder.join(format!("rank{rank:04}.json.gz")))
        .collect();
    if files.iter().all(|file| file.is_file()) {
        return Ok(files);
    }
    fs::create_dir_all(&folder)?;
    let mut text = Vec::new();
    MultiGzDecoder::new(File::open(trace)?).read_to_end(&mut text)?;
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(&text)?;
    for (rank, file) in files.iter().enumerate() {
        let unfinished = file.with_extension("part");
        let mut packed = GzEncoder::new(
            BufWriter::new(File::create(&unfinished)?),
            Compression::fast(),
        );
        write!(
            packed,
            r#"{{"distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {n}}}"#
        )?;
        let others = fields.iter().filter(|(key, _)| *key != "distributedInfo");
        for (key, value) in others {
            write!(
                packed,
                ",\n{}: {}",
                serde_json::to_string(key)?,
                value.get()
            )?;
        }
        packed.write_all(b"}")?;
        packed.finish()?.flush()?;
        fs::rename(unfinished, file)?;
    }
    Ok(files)
}

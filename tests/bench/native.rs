//! The stages of a report natively, each on its own, in a process that does nothing else.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use dormer_core::base::periods::runs;
use dormer_core::import::{Imported, Importer};
use dormer_core::profile::Profile;
use dormer_core::report::{Report, ReportOptions};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use crate::median;

/// What was measured; times are medians, in seconds.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stages {
    pub(crate) text_bytes: f64,
    pub(crate) events: f64,
    /// Compressed bytes to columns.
    pub(crate) import_s: f64,
    /// The same from text that is there already.
    pub(crate) parse_s: f64,
    pub(crate) profile_s: f64,
    pub(crate) report_s: f64,
    /// Finding what repeats in the kernels.
    pub(crate) repeats_s: f64,
    /// The same in a sequence of 16 times that length.
    pub(crate) repeats_16_s: f64,
    /// GPU activity that this is found in.
    pub(crate) n_work: f64,
    /// The most memory the process ever had, after one report; `None` where the system does not tell.
    pub(crate) peak_bytes: Option<f64>,
}

/// Measures in a process of its own, so that its memory is that of one trace.
pub(crate) fn measure(trace: &Path, n_runs: usize) -> io::Result<Stages> {
    let output = Command::new(std::env::current_exe()?)
        .arg("stages")
        .arg(trace)
        .arg(n_runs.to_string())
        .output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(why));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What that process does: prints the measures as JSON.
pub(crate) fn stages(trace: &Path, n_runs: usize) -> io::Result<()> {
    let open = || File::open(trace);
    let imported = import(open()?)?;
    let (text_bytes, events) = (imported.text_bytes, imported.trace.events.len());
    let options = ReportOptions::default();
    let profile = Profile::new(imported);
    let (names, names_16) = (kernel_names(&profile, 1), kernel_names(&profile, 16));
    drop(Report::new(&profile, &options));
    drop(profile);
    let peak_bytes = peak_bytes();

    let [
        mut import_s,
        mut parse_s,
        mut profile_s,
        mut report_s,
        mut repeats_s,
        mut repeats_16_s,
    ] = [const { Vec::new() }; 6];
    let mut text = Vec::new();
    MultiGzDecoder::new(open()?).read_to_end(&mut text)?;
    for _ in 0..n_runs {
        let imported = timed(&mut parse_s, || import(text.as_slice()))?;
        drop(imported);
        let imported = timed(&mut import_s, || import(open()?))?;
        let profile = timed(&mut profile_s, || Profile::new(imported));
        timed(&mut report_s, || Report::new(&profile, &options));
        timed(&mut repeats_s, || runs(&names));
        timed(&mut repeats_16_s, || runs(&names_16));
    }
    let measures = Stages {
        text_bytes: text_bytes as f64,
        events: events as f64,
        import_s: median(import_s),
        parse_s: median(parse_s),
        profile_s: median(profile_s),
        report_s: median(report_s),
        repeats_s: median(repeats_s),
        repeats_16_s: median(repeats_16_s),
        n_work: names.len() as f64,
        peak_bytes,
    };
    println!("{}", serde_json::to_string(&measures)?);
    Ok(())
}

/// The names of all GPU activity, `copies` times, with one that occurs nowhere else after each.
fn kernel_names(profile: &Profile, copies: u32) -> Vec<u32> {
    let copy = |at| {
        let names = profile.gpu.iter().map(|(_, work)| work.name.0);
        names.chain([u32::MAX - at])
    };
    (0..copies).flat_map(copy).collect()
}

/// Reads as the command line does: a piece at a time.
fn import(mut source: impl Read) -> io::Result<Imported> {
    let mut importer = Importer::new();
    let mut piece = vec![0; 256 << 10];
    loop {
        let n = source.read(&mut piece)?;
        if n == 0 {
            return importer.finish().map_err(io::Error::other);
        }
        importer.push(&piece[..n]).map_err(io::Error::other)?;
    }
}

fn timed<T>(seconds: &mut Vec<f64>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    seconds.push(start.elapsed().as_secs_f64());
    result
}

/// `VmHWM:     12345 kB`
fn peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0)
}

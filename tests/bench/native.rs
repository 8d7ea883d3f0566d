//! Measurements without a browser: `gzip`, `dormer report`, and the stages of a report, each separately.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dormer_core::base::periods::runs;
use dormer_core::import::{Imported, Importer};
use dormer_core::profile::Profile;
use dormer_core::report::{Report, ReportOptions};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use super::Outcome;
use super::figure::{Record, Role, Table, Unit};

/// The measured times, in seconds.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Stages {
    pub(crate) text_bytes: f64,
    pub(crate) events: f64,
    /// From compressed bytes to columns, in one thread.
    import: Vec<f64>,
    /// The same from text in memory.
    parse: Vec<f64>,
    profile: Vec<f64>,
    report: Vec<f64>,
    /// Finding repeated sequences of kernels.
    repeats: Vec<f64>,
    /// The same in a sequence 16 times as long.
    repeats_16: Vec<f64>,
}

impl Stages {
    /// Adds them as rows of their table.
    pub(crate) fn add_to(self, record: &mut Record, trace: &str) {
        let stages = (Table::Stages, trace);
        let in_g = (Unit::Time, Role::CostInG);
        let alone = (Unit::Time, Role::Cost);
        for (name, how, values) in [
            ("inflate and parse", in_g, self.import),
            ("parse alone", in_g, self.parse),
            ("profile", alone, self.profile),
            ("report", alone, self.report),
            ("repeated kernels", alone, self.repeats),
            ("of 16 times as many", alone, self.repeats_16),
        ] {
            record.add(stages, name, how, values);
        }
    }
}

/// `gzip -dc TRACE | wc -c`, in seconds.
pub(crate) fn gzip(trace: &Path) -> Outcome<f64> {
    let start = Instant::now();
    let mut gzip = Command::new("gzip")
        .arg("-dc")
        .arg(trace)
        .stdout(Stdio::piped())
        .spawn()?;
    let text = gzip.stdout.take().ok_or("gzip has no output")?;
    let count = Command::new("wc").arg("-c").stdin(text).output()?;
    let (gzip, seconds) = (gzip.wait()?, start.elapsed().as_secs_f64());
    match gzip.success() && count.status.success() {
        true => Ok(seconds),
        false => Err(format!("gzip cannot read {}", trace.display()).into()),
    }
}

/// `dormer report TRACE` without output files, in seconds.
pub(crate) fn report(dormer: &Path, trace: &Path) -> Outcome<f64> {
    let start = Instant::now();
    let output = Command::new(dormer).arg("report").arg(trace).output()?;
    let seconds = start.elapsed().as_secs_f64();
    match output.status.success() {
        true => Ok(seconds),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

/// The peak memory of `dormer report TRACE`, in bytes; `None` if the system does not report it.
pub(crate) fn peak_of_report(dormer: &Path, trace: &Path) -> Outcome<Option<f64>> {
    let mut command = Command::new(dormer);
    command.arg("report").arg(trace);
    let (_, peak) = watched(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    Ok(peak)
}

/// `cat TRACE | dormer tables -`, as an engine calls it: its duration in seconds, and its peak memory in bytes.
pub(crate) fn tables(dormer: &Path, trace: &Path) -> Outcome<(f64, Option<f64>)> {
    let mut cat = Command::new("cat")
        .arg(trace)
        .stdout(Stdio::piped())
        .spawn()?;
    let text = cat.stdout.take().ok_or("cat has no output")?;
    let mut command = Command::new(dormer);
    command.args(["tables", "-"]).stdin(text);
    let taken = watched(command.stdout(Stdio::null()).stderr(Stdio::null()));
    cat.wait()?;
    taken
}

/// Runs a program: its duration in seconds, and its peak memory in bytes if the system reports it.
pub(crate) fn watched(command: &mut Command) -> Outcome<(f64, Option<f64>)> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut peak = None;
    // The high-water mark never falls, so its last value is right, except for the very end of the process.
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        peak = peak_bytes(child.id()).or(peak);
        std::thread::sleep(Duration::from_millis(1));
    };
    match status.success() {
        true => Ok((start.elapsed().as_secs_f64(), peak)),
        false => Err(format!("{status}").into()),
    }
}

/// `VmHWM:     12345 kB`
fn peak_bytes(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0)
}

/// Measures the stages in a process of its own, with nothing else in memory.
pub(crate) fn measure(trace: &Path, n_runs: usize) -> Outcome<Stages> {
    let output = Command::new(std::env::current_exe()?)
        .arg("stages")
        .arg(trace)
        .arg(n_runs.to_string())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The work of that process: prints the measurements as JSON.
pub(crate) fn stages(trace: &Path, n_runs: usize) -> Outcome {
    let open = || File::open(trace);
    let imported = import(open()?)?;
    let mut stages = Stages {
        text_bytes: imported.text_bytes as f64,
        events: imported.trace.events.len() as f64,
        ..Stages::default()
    };
    let options = ReportOptions::default();
    let profile = Profile::new(imported);
    let (names, names_16) = (kernel_names(&profile, 1), kernel_names(&profile, 16));
    drop(Report::new(&profile, &options));
    drop(profile);

    let mut text = Vec::new();
    MultiGzDecoder::new(open()?).read_to_end(&mut text)?;
    for _ in 0..n_runs {
        let imported = timed(&mut stages.parse, || import(text.as_slice()))?;
        drop(imported);
        let imported = timed(&mut stages.import, || import(open()?))?;
        let profile = timed(&mut stages.profile, || Profile::new(imported));
        timed(&mut stages.report, || Report::new(&profile, &options));
        timed(&mut stages.repeats, || runs(&names));
        timed(&mut stages.repeats_16, || runs(&names_16));
    }
    println!("{}", serde_json::to_string(&stages)?);
    Ok(())
}

/// The names of all GPU activity, `copies` times, with a unique name after each copy.
fn kernel_names(profile: &Profile, copies: u32) -> Vec<u32> {
    let copy = |at| {
        let names = profile.gpu.iter().map(|(_, work)| work.name.0);
        names.chain([u32::MAX - at])
    };
    (0..copies).flat_map(copy).collect()
}

/// Reads like the command line: a piece at a time.
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

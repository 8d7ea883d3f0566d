//! How fast a trace is read and analysed, natively and in Chromium, beside `gzip -dc` in the same run.
//!
//! `cargo xtask bench TRACE…` builds what is measured and calls this with
//!
//! ```text
//! bench DIST DORMER TRACE…     measures, prints Markdown
//! frames DIST TRACE…           measures how smooth the page is with each, prints Markdown
//! tile TRACE N OUT             writes OUT.json.gz, the trace N times
//! stages TRACE RUNS            what `bench` runs in a process of its own
//! ```

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what was measured is printed"
)]

#[path = "../browser/chromium.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "shared with the browser tests, which use more of it and fail by panicking"
)]
mod chromium;
mod frames;
mod native;
mod page;
mod tile;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use chromium::Programs;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use frames::quantile;
use native::Stages;
use page::{Opened, Page};

/// Each number is the median of so many runs, after one that only warms up.
const N_RUNS: usize = 5;

/// What is chosen in turns.
const GPUS: [&str; 2] = ["NVIDIA H200", "AMD Instinct MI300X"];

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["stages", trace, runs] => runs
            .parse()
            .map_err(Into::into)
            .and_then(|n_runs| Ok(native::stages(Path::new(trace), n_runs)?)),
        ["tile", trace, n, out] => n
            .parse()
            .map_err(Into::into)
            .and_then(|n| tile_file(Path::new(trace), n, Path::new(out))),
        ["bench", dist, dormer, traces @ ..] if !traces.is_empty() => {
            run(bench(Path::new(dist), Path::new(dormer), traces))
        }
        ["frames", dist, traces @ ..] if !traces.is_empty() => run(frames(Path::new(dist), traces)),
        _ => Err("call it with `cargo xtask bench`".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what waits for the browser.
fn run(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

/// What was measured of one trace.
struct Measures {
    name: String,
    runs: Vec<Run>,
    stages: Stages,
}

impl Measures {
    fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        median(self.runs.iter().map(of).collect())
    }
}

/// Everything once.
struct Run {
    gzip_s: f64,
    opened: Opened,
    gpu_ms: f64,
    compare_s: f64,
    command_s: f64,
}

async fn load(dist: &Path) -> Outcome<Page> {
    let programs = Programs::find().ok_or("Chromium and chromedriver are not on the path")?;
    Ok(Page::load(&programs, dist).await?)
}

async fn bench(dist: &Path, dormer: &Path, traces: &[&str]) -> Outcome {
    let mut page = load(dist).await?;
    let browser = page.browser().await?;
    let out = tempfile::tempdir()?;
    let mut measures = Vec::new();
    for trace in traces {
        eprintln!("measuring {trace}");
        let trace = Path::new(trace).canonicalize()?;
        let mut runs = Vec::new();
        for at in 0..=N_RUNS {
            // One after the other, so that what else the machine does hits them alike.
            runs.push(Run {
                gzip_s: gzip(&trace)?,
                opened: page.open(&trace).await?,
                gpu_ms: page.choose_gpu(GPUS[at % GPUS.len()]).await?,
                compare_s: page.compare_with(&trace).await? / 1e3,
                command_s: report(dormer, &trace, out.path())?,
            });
        }
        let name = trace.file_name().unwrap_or_default().to_string_lossy();
        measures.push(Measures {
            name: name.trim_end_matches(".json.gz").to_owned(),
            runs: runs.split_off(1),
            stages: native::measure(&trace, N_RUNS)?,
        });
    }
    page.close().await?;
    println!("{}", markdown(&machine(&browser), &measures));
    Ok(())
}

/// Opens each trace and does what users do.
async fn frames(dist: &Path, traces: &[&str]) -> Outcome {
    for trace in traces {
        let trace = Path::new(trace).canonicalize()?;
        let mut page = load(dist).await?;
        let browser = page.browser().await?;
        page.open(&trace).await?;
        let table = frames::measure(&page).await?;
        page.close().await?;
        println!("{}, {}\n\n{table}", trace.display(), machine(&browser));
    }
    Ok(())
}

/// `gzip -dc TRACE | wc -c`
fn gzip(trace: &Path) -> Outcome<f64> {
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
        false => Err("gzip failed".into()),
    }
}

/// `dormer report TRACE -o OUT`
fn report(dormer: &Path, trace: &Path, out: &Path) -> Outcome<f64> {
    let start = Instant::now();
    let output = Command::new(dormer)
        .arg("report")
        .arg(trace)
        .arg("-o")
        .arg(out)
        .output()?;
    let seconds = start.elapsed().as_secs_f64();
    match output.status.success() {
        true => Ok(seconds),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

/// The tables of `docs/performance.md`.
fn markdown(machine: &str, measures: &[Measures]) -> String {
    let mut text = format!(
        "{machine} Medians of {N_RUNS} runs, warm. G is `gzip -dc TRACE | wc -c` in the same run.\n\n"
    );
    text += "| trace | JSON | events | G | page: file to Overview | wasm memory | `dormer report` | its memory |\n";
    text += "|---|--:|--:|--:|--:|--:|--:|--:|\n";
    for of in measures {
        let json = of.stages.text_bytes;
        let gzip_s = of.median(|run| run.gzip_s);
        let page_s = of.median(|run| run.opened.seconds);
        let wasm_bytes = of.median(|run| run.opened.wasm_bytes);
        let command_s = of.median(|run| run.command_s);
        text += &format!(
            "| {} | {} | {} | {gzip_s:.2} s | {page_s:.2} s = {:.1} G | {} = {:.2} × JSON | {command_s:.2} s = {:.1} G | {} |\n",
            of.name,
            megabytes(json),
            grouped(of.stages.events),
            page_s / gzip_s,
            megabytes(wasm_bytes),
            wasm_bytes / json,
            command_s / gzip_s,
            of.stages.peak_bytes.map_or("unknown".to_owned(), megabytes),
        );
    }
    text += "\nIn the page, with the trace open:\n\n";
    text += "| trace | another GPU, until nothing changes any more | a second trace (itself), from its file to the comparison |\n";
    text += "|---|--:|--:|\n";
    for of in measures {
        let gpu_ms = of.median(|run| run.gpu_ms);
        let compare_s = of.median(|run| run.compare_s);
        let in_g = compare_s / of.median(|run| run.gzip_s);
        text += &format!(
            "| {} | {gpu_ms:.0} ms | {compare_s:.2} s = {in_g:.1} G |\n",
            of.name
        );
    }
    text += "\nThe stages natively:\n\n";
    text += "| trace | inflate and parse | parse alone | profile | report | what repeats, in so many kernels | in 16 times as many |\n";
    text += "|---|--:|--:|--:|--:|--:|--:|\n";
    for Measures { name, stages, .. } in measures {
        let speed = |seconds: f64| {
            let speed = stages.text_bytes / seconds / 1e6;
            format!("{seconds:.2} s, {speed:.0} MB/s")
        };
        text += &format!(
            "| {name} | {} | {} | {:.2} s | {:.2} s | {:.1} ms in {} | {:.1} × |\n",
            speed(stages.import_s),
            speed(stages.parse_s),
            stages.profile_s,
            stages.report_s,
            stages.repeats_s * 1e3,
            grouped(stages.n_work),
            stages.repeats_16_s / stages.repeats_s,
        );
    }
    text
}

fn machine(browser: &str) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    format!("{cores} cores of {model}; {browser}.")
}

fn megabytes(bytes: f64) -> String {
    match bytes / 1e6 {
        large if large >= 100.0 => format!("{large:.0} MB"),
        small => format!("{small:.1} MB"),
    }
}

/// 1234567 as 1,234,567
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// The middle one. Of none it is not a number.
fn median(mut values: Vec<f64>) -> f64 {
    quantile(&mut values, 0.5)
}

/// Writes a trace `n` times into a new one, gzipped as the profiler does.
fn tile_file(trace: &Path, n: i64, out: &Path) -> Outcome {
    let mut text = Vec::new();
    MultiGzDecoder::new(File::open(trace)?).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let unfinished = out.with_extension("part");
    let file = BufWriter::with_capacity(1 << 20, File::create(&unfinished)?);
    let mut packed =
        BufWriter::with_capacity(256 << 10, GzEncoder::new(file, Compression::default()));
    tile::tile(&text, n, &mut packed)?;
    let file = packed.into_inner().map_err(io::Error::from)?.finish()?;
    file.into_inner().map_err(io::Error::from)?.flush()?;
    std::fs::rename(&unfinished, out)?;
    Ok(())
}

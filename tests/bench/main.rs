//! The speed of reading and analyzing a trace, natively and in Chromium, compared with `gzip -dc` in the same run.
//!
//! `cargo xtask bench TRACE…` builds what is measured and calls this with
//!
//! ```text
//! bench ARGS…                  measures, prints, saves, compares and writes: `xtask::bench_options` has the arguments
//! tile TRACE N OUT             writes OUT.json.gz, the trace N times
//! stages TRACE RUNS            what `bench` runs in a process of its own
//! ```
//!
//! `opens`, `ranks`, `frames` and `size` measure, using `page` and `native`; `machine` describes the machine and its
//! load; `figure` stores figures, `tables` formats them, `noise` compares them.

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
mod figure;
mod frames;
mod machine;
mod native;
mod noise;
mod opens;
mod page;
mod ranks;
mod size;
mod tables;
mod tile;

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use chromium::Programs;
use figure::Record;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use opens::With;
use page::Page;
use xtask::bench_options::BenchOptions;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["stages", trace, runs] => runs
            .parse()
            .map_err(Into::into)
            .and_then(|n_runs| native::stages(Path::new(trace), n_runs)),
        ["tile", trace, n, out] => n
            .parse()
            .map_err(Into::into)
            .and_then(|n| tile_file(Path::new(trace), n, Path::new(out))),
        ["bench", ..] => std::env::current_dir()
            .map_err(Into::into)
            .and_then(|here| Ok(BenchOptions::parse(&args[1..], &here)?))
            .and_then(|options| bench(&options)),
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

/// Measures, and processes the figures as requested. Errors in the arguments are reported before measuring.
fn bench(options: &BenchOptions) -> Outcome {
    let earlier = match &options.check {
        Some(file) => Some(serde_json::from_str::<Record>(&read(file)?)?),
        None => None,
    };
    if let Some(file) = &options.write {
        tables::places(&read(file)?)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut record = Record::default();
    let outcome = runtime.block_on(measure(options, &mut record));
    // Saved first: the reader of the output may stop before its end. If something fails, what was measured until then
    // is saved.
    if let Some(file) = &options.save {
        fs::write(file, serde_json::to_string_pretty(&record)? + "\n")?;
    }
    if outcome.is_err() {
        print!("{}", tables::all(&record));
        return outcome;
    }
    if let Some(file) = &options.write {
        fs::write(file, tables::written(&read(file)?, &record)?)?;
    }
    print!("{}", tables::all(&record));
    let Some(earlier) = earlier else {
        return Ok(());
    };
    let changes = noise::changes(&earlier, &record);
    match changes.worse.is_empty() {
        true => println!("{changes}"),
        false => return Err(changes.to_string().into()),
    }
    Ok(())
}

/// Measures every figure.
async fn measure(options: &BenchOptions, record: &mut Record) -> Outcome {
    let programs = Programs::find().ok_or("Chromium and chromedriver are not on the path")?;
    let dist = options.dist.as_deref().ok_or("there is no page: --dist")?;
    let build = size::build_id(dist)?;
    record.machine = machine::name();
    record.build = match &options.build {
        Some(what) => format!("{what} (page {build})"),
        None => format!("page {build}"),
    };
    record.n_runs = options.n_runs;
    if !options.frames_only {
        size::measure(dist, record)?;
    }
    if let (Some(trace), false) = (options.traces.first(), options.ranks.is_empty()) {
        let with = with(options, &programs, dist)?;
        ranks::measure(&with, trace, &options.ranks, record).await?;
    }
    for trace in &options.traces {
        let name = trace.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_end_matches(".gz").trim_end_matches(".json");
        let busy = machine::busy().filter(|busy| *busy > machine::QUIET);
        if let Some(busy) = busy {
            eprintln!(
                "{name}: other work takes {:.0} % of this machine",
                busy * 100.0
            );
            record.busy = record.busy.max(busy);
        }
        if !options.frames_only {
            eprintln!("{name}: opens and choices");
            let with = with(options, &programs, dist)?;
            opens::measure(&with, trace, name, record).await?;
        }
        eprintln!("{name}: frames");
        let mut page = Page::load(&programs, dist).await?;
        record.browser = page.browser().await?;
        let opened = page.open(trace).await;
        let outcome = match opened {
            Ok(_) => frames::measure(&page, options.n_runs, name, record).await,
            Err(error) => Err(error),
        };
        page.close().await?;
        outcome?;
    }
    Ok(())
}

fn with<'a>(
    options: &'a BenchOptions,
    programs: &'a Programs,
    dist: &'a Path,
) -> Outcome<With<'a>> {
    let dormer = options.dormer.as_deref();
    Ok(With {
        programs,
        dist,
        dormer: dormer.ok_or("there is no dormer: --dormer")?,
        n_runs: options.n_runs,
    })
}

fn read(file: &Path) -> Outcome<String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// Writes a trace that repeats another `n` times, gzipped like the profiler's.
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
    fs::rename(&unfinished, out)?;
    Ok(())
}

//! `dormer report`: the summary on standard output, the files into a folder.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use dormer_core::export::{Artifact, EXPORTERS};
use dormer_core::format;
use dormer_core::gpu;
use dormer_core::profile::Profile;
use dormer_core::report::overview::{OperationTime, Overview, SplitPart};
use dormer_core::report::{GpuEvents, Report, ReportOptions, Thresholds};

use crate::args::{ALL_FORMATS, ReportArgs};
use crate::table::{self, Align};
use crate::{Failure, input};

/// Operations that the summary names.
const TOP: usize = 5;

/// Analyses the trace, writes the files, prints the summary.
pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let profile = Profile::new(input::import(&args.trace)?);
    let mut thresholds = Thresholds::default();
    if let Some(us) = args.micro_idle {
        thresholds.micro_idle_us = us;
    }
    let options = ReportOptions {
        gpu: args
            .gpu
            .clone()
            .or_else(|| gpu::detect(&profile.trace.devices).map(Arc::from)),
        basis: args.basis,
        gpu_events: match args.all_gpu_events {
            true => GpuEvents::All,
            false => GpuEvents::Linked,
        },
        thresholds,
        perf_models: args.perf_models.clone(),
    };
    let report = Report::new(&profile, &options);
    summary(&report.overview, out)?;
    if let Some(folder) = &args.output {
        let files: Vec<Artifact> = EXPORTERS
            .iter()
            .filter(|exporter| {
                args.format
                    .iter()
                    .any(|format| format == exporter.format || format == ALL_FORMATS)
            })
            .flat_map(|exporter| exporter.artifacts(&profile, &report))
            .collect();
        write_files(&files, folder)?;
        let count = format::counted(files.len() as u64, "file");
        writeln!(out, "\nWrote {count} to {}.", folder.display())?;
    } else {
        writeln!(out, "\nTo write the report and its tables, add -o DIR.")?;
    }
    // Freeing millions of events one by one would take longer than the exit that follows.
    std::mem::forget(profile);
    Ok(())
}

fn summary(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", overview.headline)?;
    if !overview.split.is_empty() {
        let header = [
            ("GPU timeline", Align::Left),
            ("time", Align::Right),
            ("share", Align::Right),
        ];
        let rows: Vec<[String; 3]> = overview.split.iter().map(split_row).collect();
        writeln!(out)?;
        table::write(out, header, &rows)?;
    }
    if !overview.operations.is_empty() {
        let header = [
            ("top operations", Align::Left),
            ("calls", Align::Right),
            (overview.measure.label(), Align::Right),
            ("share", Align::Right),
        ];
        let rows: Vec<[String; 4]> = overview
            .operations
            .iter()
            .take(TOP)
            .map(operation_row)
            .collect();
        writeln!(out)?;
        table::write(out, header, &rows)?;
    }
    writeln!(out, "\n{}", overview.quality.sentence)?;
    for line in &overview.quality.lines {
        let sentence = table::printable(&line.sentence);
        match line.detail().as_str() {
            "" => writeln!(out, "- {sentence}")?,
            detail => writeln!(out, "- {sentence} ({detail})")?,
        }
    }
    match &overview.hardware.gpu {
        Some(gpu) => {
            let hardware = &overview.hardware;
            write!(out, "\nJudged by {}. {}", gpu.name, hardware.basis)?;
            match &hardware.caveat {
                Some(caveat) => writeln!(out, " {caveat}"),
                None => writeln!(out),
            }
        }
        None => writeln!(
            out,
            "\n{} `--gpu NAME` chooses one, `--gpu FILE.json` gives its figures; `dormer gpus` lists them.",
            overview.hardware.basis
        ),
    }
}

fn split_row(part: &SplitPart) -> [String; 3] {
    [
        part.kind.label().to_owned(),
        format::time_ns(part.ns),
        format::percent(part.percent),
    ]
}

fn operation_row(operation: &OperationTime) -> [String; 4] {
    let name = table::printable(&format::middle_ellipsis(&operation.name, 60));
    [
        match operation.is_recompute {
            true => format!("{name} (recomputed)"),
            false => name,
        },
        format::count(operation.n_calls),
        format::time_ns(operation.ns),
        format::percent(operation.percent),
    ]
}

/// Writes the files and the folders they belong in; files of the same name are replaced.
fn write_files(files: &[Artifact], folder: &Path) -> Result<(), Failure> {
    for file in files {
        let path = folder.join(&file.path);
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, &file.bytes));
        written.map_err(|error| {
            Failure::Sentence(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    Ok(())
}

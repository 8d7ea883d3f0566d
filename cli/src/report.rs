//! `dormer report`: the summary on standard output, the files into a folder.

use std::io::{self, Write};

use dormer_core::export::{self, archive};
use dormer_core::format;
use dormer_core::profile::Profile;
use dormer_core::report::Report;
use dormer_core::report::overview::{OperationTime, Overview, SplitPart};

use crate::args::ReportArgs;
use crate::table::{self, Align};
use crate::{Failure, choices, input, output, window};

/// Operations that the summary names.
const TOP: usize = 5;

/// Analyses the trace, writes the files, prints the summary.
pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let whole = Profile::new(input::import(&args.trace)?);
    let whole = window::of_step(whole, &args.trace, args.step.as_deref())?;
    let profile = input::redacted(window::of_range(whole, args.window), &args.redact);
    let options = choices::options(&args.judge, args.gpu.as_ref(), &profile);
    let report = Report::new(&profile, &options);
    summary(&report.overview, out)?;
    let files = export::Input::new(&profile, &report);
    let archive = || match args.redact.redact {
        true => archive::file_name(archive::REDACTED),
        false => archive::file_name([&*input::name(&args.trace)]),
    };
    output::write(args.output.as_deref(), &args.format, &files, archive, out)?;
    // Freeing millions of events one by one would take longer than the exit that follows.
    std::mem::forget(profile);
    Ok(())
}

fn summary(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    if let Some(window) = &overview.window {
        writeln!(out, "{}", table::printable(&window.sentence()))?;
    }
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
    writeln!(out)?;
    quality(overview, out)?;
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

/// How far the numbers can be trusted.
pub(crate) fn quality(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", overview.quality.sentence)?;
    for line in &overview.quality.lines {
        let sentence = table::printable(&line.sentence);
        match line.detail().as_str() {
            "" => writeln!(out, "- {sentence}")?,
            detail => writeln!(out, "- {sentence} ({detail})")?,
        }
    }
    Ok(())
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

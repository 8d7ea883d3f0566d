//! `dormer report`: the summary on standard output, the files into a folder.

use std::io::{self, Write};

use dormer_core::base::format;
use dormer_core::output::{archive, export};
use dormer_core::profile::Profile;
use dormer_core::report::Report;
use dormer_core::report::overview::{Measure, Overview, WorkTime};
use dormer_core::report::top::{TopOperation, top_operations};

use crate::args::ReportArgs;
use crate::{Failure, choices, input, output, table, window};

/// Operations that the summary names.
const TOP: usize = 5;

/// Analyzes the trace, writes the files, prints the summary.
pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let whole = Profile::new(input::import(&args.trace)?);
    let whole = window::of_step(whole, &args.trace, args.step.as_deref())?;
    let profile = input::redacted(window::of_range(whole, args.window), &args.redact);
    let options = choices::options(&args.judge, args.gpu.as_ref(), &profile);
    let report = Report::new(&profile, &options);
    summary(&profile, &report, out)?;
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

fn summary(profile: &Profile, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let overview = &report.overview;
    if let Some(window) = &overview.window {
        writeln!(out, "{}", table::printable(&window.sentence()))?;
    }
    writeln!(out, "{}", overview.headline)?;
    let split = overview.split.iter().map(|part| {
        let (time, share) = (format::time_ns(part.ns), format::percent(part.percent));
        [part.kind.label().to_owned(), time, share]
    });
    table::section(out, ["GPU timeline", ">time", ">share"], split)?;
    // The rows of the documents' Top Bottlenecks, with their shares.
    let (rows, share): (Vec<_>, _) = match overview.measure {
        Measure::Gpu => {
            let top = top_operations(profile, report);
            (top.iter().map(top_row).collect(), ">of compute")
        }
        Measure::Host => {
            let top = overview.operations.iter().take(TOP);
            (top.map(operation_row).collect(), ">share")
        }
    };
    let time = format!(">{}", overview.measure.label());
    table::section(out, ["top operations", ">calls", &time, share], rows)?;
    writeln!(out)?;
    quality(overview, out)?;
    match &overview.hardware.gpu {
        // Nothing is judged.
        _ if !profile.has_gpu_events() => Ok(()),
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

fn top_row(top: &TopOperation) -> [String; 4] {
    [
        named(&top.name, top.is_recompute),
        format::count(top.n),
        format::time_ns(top.ns),
        top.percent_of_compute
            .map_or("–".to_owned(), format::percent),
    ]
}

fn operation_row(operation: &WorkTime) -> [String; 4] {
    let name = format::middle_ellipsis(&operation.name, 60);
    [
        named(&name, operation.is_recompute),
        format::count(operation.count),
        format::time_ns(operation.ns),
        format::percent(operation.percent),
    ]
}

fn named(name: &str, is_recompute: bool) -> String {
    let name = table::printable(name);
    match is_recompute {
        true => format!("{name} (recomputed)"),
        false => name.to_string(),
    }
}

//! `dormer report`: the summary on standard output, the files into a folder.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use dormer_core::base::format;
use dormer_core::findings::RankedFinding;
use dormer_core::import::Imported;
use dormer_core::output::documents::Documents;
use dormer_core::output::export::markdown;
use dormer_core::output::{archive, export};
use dormer_core::profile::Profile;
use dormer_core::profile::graphs::shapes::{EagerShapes, ShapeSources};
use dormer_core::report::Report;
use dormer_core::report::cards::{self, Savings};
use dormer_core::report::overview::{Measure, Overview, WorkTime};
use dormer_core::report::top::{TopOperation, top_operations};
#[cfg(feature = "parquet")]
use dormer_core::tables::{Analyzed, RecordingInfo};

#[cfg(feature = "parquet")]
use crate::args::PARQUET;
use crate::args::{FINDINGS, ReportArgs};
use crate::embedded::{self, Embed, Embedded};
use crate::output::Destination;
use crate::stdout::Out;
use crate::{Failure, after, captures, checks, choices, input, output, parallel, text, window};

/// Operations and findings named in the summary.
const TOP: usize = 5;

/// Where the rest is, if no files are written.
const DETAILS: &str =
    "The report has the details: --format md prints it, -o DIR writes it with all tables.";

/// Formats that can be printed, each with its file.
const PRINTED: &[(&str, &str)] = &[
    ("json", "findings.json"),
    (FINDINGS, "findings.json"),
    ("md", markdown::FAIR),
    ("html", "report.html"),
];

/// Analyzes the trace, writes the files, prints the summary.
pub(crate) fn run(args: &ReportArgs, out: &mut Out) -> Result<(), Failure> {
    let destination = check(args)?;
    #[cfg(feature = "parquet")]
    let (imported, bytes) = import(args)?;
    #[cfg(not(feature = "parquet"))]
    let imported = input::import(&args.trace)?;
    let whole = profile_of(args, imported)?;
    #[cfg(feature = "parquet")]
    let recorded = RecordingInfo::new(&whole.trace, &input::name(&args.trace), args.redact.redact);
    let part = window::Part {
        step: args.step.as_deref(),
        device: args.device.as_deref(),
        range: args.window,
        whole: args.whole,
    };
    let (chosen, steps) = part.of(whole, &args.trace, &args.redact)?;
    let profile = steps.as_ref().unwrap_or(&chosen);
    let options = choices::options(&args.analysis, args.gpu.as_ref(), profile);
    let report = parallel::report(profile, &options);
    // Tables cover the whole recording if no part of it was requested.
    let of_tables = steps.as_ref().map(|_| parallel::report(&chosen, &options));
    let name = input::name(&args.trace);
    let (overview, findings) = (&report.overview, &report.analyses.findings.ranked);
    let found = findings.iter().map(|one| &one.finding);
    let found = found.map(|finding| (finding.priority, finding.title.as_str()));
    let verdict = checks::of(&args.check, &[(&name, overview)], found);
    let is_seen = out.is_terminal() && !matches!(destination, Destination::Printed(_));
    if !is_seen {
        checks::warn(&name, overview);
    }
    let tables = of_tables.as_ref().unwrap_or(&report);
    let files = export::Input::new(profile, &report).with_tables_of(&chosen, tables);
    let archive = || match args.redact.redact {
        true => archive::file_name(archive::REDACTED),
        false => archive::file_name([&*name]),
    };
    let printed = match destination {
        Destination::Printed(path) => output::print(path, &files, out),
        _ => summary(profile, &report, destination, out).map_err(Failure::from),
    };
    let printed = printed.and_then(|()| {
        let Destination::Files(folder) = destination else {
            return Ok(());
        };
        output::write(folder, &args.format, &files, archive, out)?;
        if output::wants_page(&args.format) {
            page(args, (&chosen, steps.is_some()), &files, folder, out)?;
        }
        #[cfg(feature = "parquet")]
        if let Some(bytes) = &bytes {
            let analyzed = Analyzed {
                recorded: &recorded,
                profile: &chosen,
                report: tables,
                findings: (profile, &report),
            };
            crate::tables::write_files(folder, args, bytes, analyzed, out)?;
        }
        Ok(())
    });
    // Never freed: that would take longer than exiting, with millions of events.
    std::mem::forget((steps, chosen, report, of_tables));
    after(printed, verdict)
}

/// Rejects what cannot be written before any trace is read; returns where the output goes.
fn check(args: &ReportArgs) -> Result<Destination<'_>, Failure> {
    if !args.others.is_empty() {
        let why = "dormer report takes one trace; dormer compare compares two, and dormer job analyzes the ranks of a job";
        return Err(Failure::Usage(why.to_owned()));
    }
    let destination = output::destination(args.output.as_deref(), &args.format, PRINTED)?;
    if output::wants_page(&args.format) {
        check_page(args)?;
    }
    Ok(destination)
}

/// The trace; for tables, also what identifies its bytes.
#[cfg(feature = "parquet")]
fn import(args: &ReportArgs) -> Result<(Imported, Option<input::hashed::Bytes>), Failure> {
    Ok(match args.format.iter().any(|format| format == PARQUET) {
        true => {
            let (imported, bytes) = input::hashed::import(&args.trace)?;
            (imported, Some(bytes))
        }
        false => (input::import(&args.trace)?, None),
    })
}

/// What the whole trace means, with everything that was recorded besides it.
fn profile_of(args: &ReportArgs, imported: Imported) -> Result<Profile, Failure> {
    let execution = args.execution_trace.as_deref();
    let whole = captures::profile(imported, &args.trace, &args.capture, execution)?;
    Ok(whole.with_sources(ShapeSources {
        config: args.model_config.clone(),
        eager: args.shapes_from.as_deref().map(eager).transpose()?,
    }))
}

/// Rejects options that the page does not support: it only has the trace.
fn check_page(args: &ReportArgs) -> Result<(), Failure> {
    let more = [
        (!args.capture.is_empty(), "--capture"),
        (args.model_config.is_some(), "--model-config"),
        (args.shapes_from.is_some(), "--shapes-from"),
        (args.execution_trace.is_some(), "--execution-trace"),
    ];
    match more.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(embedded::not_taken(option)),
        None => embedded::check(&args.analysis, [None, args.gpu.as_ref()]),
    }
}

/// The page with the embedded trace. `chosen` is the requested part; by default, the page shows only a serving engine's
/// steps in it.
fn page(
    args: &ReportArgs,
    (chosen, shows_steps): (&Profile, bool),
    files: &export::Input,
    folder: &Path,
    out: &mut Out,
) -> Result<(), Failure> {
    let part = match shows_steps {
        true => None,
        false => window::shown(chosen),
    };
    let trace = Embed {
        path: &args.trace,
        profile: chosen,
        redacted_name: "redacted.json.gz",
    };
    let page = Embedded {
        traces: &[trace],
        report: files.illustrated(),
        view: embedded::view("", &args.analysis, [None, args.gpu.as_ref()], part),
        is_redacted: args.redact.redact,
    };
    page.write(folder, out)
}

/// The shapes of an eager trace.
fn eager(path: &Path) -> Result<Arc<EagerShapes>, Failure> {
    EagerShapes::of(&Profile::new(input::import(path)?))
        .map_err(|why| Failure::Sentence(format!("{}: {why}", input::name(path))))
}

fn summary(
    profile: &Profile,
    report: &Report,
    destination: Destination,
    out: &mut Out,
) -> io::Result<()> {
    let overview = &report.overview;
    if let Some(window) = &overview.window {
        writeln!(out, "{}", text::printable(&window.sentence()))?;
    }
    writeln!(out, "{}", overview.headline)?;
    serving(overview, out)?;
    let split = overview.split.iter().map(|part| {
        let (time, share) = (format::time_ns(part.ns), format::percent(part.percent));
        [part.kind.label().to_owned(), time, share]
    });
    text::section(out, ["GPU timeline", ">time", ">share"], split)?;
    findings(profile, report, destination, out)?;
    // The rows of the documents' Top Bottlenecks, with their shares.
    let (rows, share): (Vec<_>, _) = match overview.measure {
        Measure::Gpu => {
            let top = top_operations(profile, report);
            (top.iter().map(top_row).collect(), ">of compute")
        }
        Measure::Cpu => {
            let top = overview.operations.iter().take(TOP);
            (top.map(operation_row).collect(), ">share")
        }
    };
    let time = format!(">{}", overview.measure.label());
    text::section(out, ["~top operations", ">calls", &time, share], rows)?;
    writeln!(out)?;
    quality(overview, out)?;
    match &overview.hardware.gpu {
        // Without GPU activity, there are no findings.
        _ if !profile.has_gpu_events() => Ok(()),
        Some(gpu) => {
            let hardware = &overview.hardware;
            write!(out, "\nRoofline of {}. {}", gpu.name, hardware.basis)?;
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

/// The steps of a serving engine.
fn serving(overview: &Overview, out: &mut Out) -> io::Result<()> {
    let Some(serving) = &overview.serving else {
        return Ok(());
    };
    let facts = serving.all_facts().into_iter();
    let facts = facts.map(|(label, value)| [label, text::printable(&value).to_string()]);
    text::section(out, ["steps", ""], facts)?;
    let stages = serving.stages.iter().map(|stage| {
        let [time, busy, idle] = stage.texts();
        [text::printable(&stage.name).to_string(), time, busy, idle]
    });
    text::section(out, ["stages", ">time", ">GPU busy", ">GPU idle"], stages)?;
    match serving.notes.is_empty() {
        true => Ok(()),
        false => writeln!(out, "\n{}", serving.notes.join(" ")),
    }
}

/// The findings with the largest savings, one line each, and where to find the rest.
fn findings(
    profile: &Profile,
    report: &Report,
    destination: Destination,
    out: &mut Out,
) -> io::Result<()> {
    let ranked = &report.analyses.findings.ranked;
    let asides = cards::asides(profile, report);
    let rows = ranked.iter().take(TOP).map(|one| finding_row(report, one));
    text::section(out, [">", "", "findings", "analysis"], rows)?;
    let rest = rest(ranked.len().saturating_sub(TOP));
    let sentences = [
        asides.together,
        asides.nothing,
        rest,
        asides.small,
        details(destination),
    ];
    write_sentences(sentences, out)
}

/// Where the rest is, if there is any: of the findings, and of everything if no files are written.
pub(crate) fn write_rest(n_more: usize, destination: Destination, out: &mut Out) -> io::Result<()> {
    write_sentences([rest(n_more), details(destination)], out)
}

fn details(destination: Destination) -> Option<String> {
    matches!(destination, Destination::Summary).then(|| DETAILS.to_owned())
}

/// Writes a paragraph; nothing if it has no sentence.
fn write_sentences<const N: usize>(
    sentences: [Option<String>; N],
    out: &mut Out,
) -> io::Result<()> {
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    match sentences.is_empty() {
        true => Ok(()),
        false => writeln!(out, "\n{}", text::printable(&sentences.join(" "))),
    }
}

/// Where the findings are that the summary omits.
fn rest(n: usize) -> Option<String> {
    match n {
        0 => None,
        1 => Some("One more finding is in the report.".to_owned()),
        n => Some(format!(
            "{} more findings are in the report.",
            format::count(n as u64)
        )),
    }
}

fn finding_row(report: &Report, ranked: &RankedFinding) -> [String; 4] {
    let savings = ranked
        .finding
        .impact
        .as_ref()
        .map(|impact| Savings::new(report, impact));
    let no_time = || match ranked.finding.memory_bytes {
        Some(bytes) => format!("{} of GPU memory", format::bytes(bytes)),
        None if ranked.finding.saves_nothing => "no savings".to_owned(),
        None => "savings unknown".to_owned(),
    };
    let saves = savings.map_or_else(no_time, |savings| {
        let up_to = if savings.is_at_most { "up to " } else { "" };
        let share = savings
            .of_run
            .map_or(String::new(), |run| format!(" ({})", run.share));
        format!("saves {up_to}{}{share}", savings.time)
    });
    [
        ranked.number.to_string(),
        saves,
        text::printable(&ranked.finding.title),
        ranked.analysis.title.to_owned(),
    ]
}

/// How far the numbers can be trusted.
pub(crate) fn quality(overview: &Overview, out: &mut Out) -> io::Result<()> {
    writeln!(out, "{}", overview.quality.sentence)?;
    for line in &overview.quality.lines {
        writeln!(out, "- {}", text::printable(&line.with_detail()))?;
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
    let name = text::printable(name);
    match is_recompute {
        true => format!("{name} (recomputed)"),
        false => name.to_string(),
    }
}

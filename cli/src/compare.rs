//! `dormer compare`: the differences between two traces, on standard output; files into a folder.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use dormer_core::base::format;
use dormer_core::compare::{Comparison, Operations, PartKind, Side, Which, names};
use dormer_core::hardware::GpuSpec;
use dormer_core::output::archive;
use dormer_core::output::documents::Documents;
use dormer_core::output::export::pair::{Cache, Input};
use dormer_core::profile::Profile;
use dormer_core::report::Report;
use dormer_core::report::overview::{Measure, Overview, SplitKind};

use crate::args::CompareArgs;
use crate::embedded::{self, Embed, Embedded};
use crate::output::Destination;
use crate::stdout::Out;
use crate::{Failure, after, checks, choices, input, output, parallel, report, text, window};

/// Operations named in the summary.
const TOP: usize = 8;
/// Findings named in the summary.
const TOP_GAPS: usize = 5;

/// Formats that can be printed, each with its file.
const PRINTED: &[(&str, &str)] = &[
    ("json", "comparison.json"),
    ("md", "comparative_analysis_fair.md"),
    ("html", "report.html"),
];

/// Analyzes both traces, prints the differences, writes the files.
pub(crate) fn run(args: &CompareArgs, out: &mut Out) -> Result<(), Failure> {
    let destination = check(args)?;
    let profiles = [
        profile_of(args, Which::Reference)?,
        profile_of(args, Which::Target)?,
    ];
    let [reference, target] = &profiles;
    let report =
        |profile, gpu| parallel::report(profile, &choices::options(&args.analysis, gpu, profile));
    let [of_reference, of_target] = gpus(args);
    let reports = [report(reference, of_reference), report(target, of_target)];
    let names = match &args.names {
        Some(names) => names.clone(),
        None if args.redact.redact => ["reference", "target"].map(str::to_owned),
        None => default_names(args, &reports),
    };
    let cache = Cache::default();
    let input = Input::new(
        Side::new(&names[0], reference, &reports[0]),
        Side::new(&names[1], target, &reports[1]),
        &cache,
    );
    let overviews = reports.each_ref().map(|report| &report.overview);
    let traces = [(&*names[0], overviews[0]), (&*names[1], overviews[1])];
    let gaps = || input.comparison().gaps.ranked.iter();
    let found = gaps().map(|gap| (gap.priority, gap.title.as_str()));
    let verdict = checks::of(&args.check, &traces, found);
    let is_seen = out.is_terminal() && !matches!(destination, Destination::Printed(_));
    if !is_seen {
        for (name, overview) in traces {
            checks::warn(name, overview);
        }
    }
    let archive = || match args.redact.redact {
        true => archive::file_name(archive::REDACTED),
        false => archive::file_name(names.iter().map(String::as_str)),
    };
    let printed = match destination {
        Destination::Printed(path) => output::print(path, &input, out),
        _ => summary(&input, destination, out).map_err(Failure::from),
    };
    let printed = printed.and_then(|()| {
        let Destination::Files(folder) = destination else {
            return Ok(());
        };
        output::write(folder, &args.format, &input, archive, out)?;
        match output::wants_page(&args.format) {
            true => page(args, &input, folder, out),
            false => Ok(()),
        }
    });
    // Never freed: that would take longer than exiting, with millions of events.
    std::mem::forget(profiles);
    after(printed, verdict)
}

/// Rejects what cannot be done before any trace is read; returns where the output goes.
fn check(args: &CompareArgs) -> Result<Destination<'_>, Failure> {
    let destination = output::destination(args.output.as_deref(), &args.format, PRINTED)?;
    if output::wants_page(&args.format) {
        embedded::check(&args.analysis, gpus(args))?;
    }
    if [&args.reference, &args.target]
        .iter()
        .all(|path| input::is_stdin(path))
    {
        let sentence = "only one of the two traces can come from standard input";
        return Err(Failure::Usage(sentence.to_owned()));
    }
    Ok(destination)
}

/// The GPUs given for the reference and for the target.
fn gpus(args: &CompareArgs) -> [Option<&Arc<GpuSpec>>; 2] {
    [args.reference_gpu.as_ref(), args.gpu.as_ref()]
}

/// The requested part of one of the traces. As in a report, only the steps of a serving engine, unless something else
/// was requested.
fn profile_of(args: &CompareArgs, which: Which) -> Result<Profile, Failure> {
    let path = match which {
        Which::Reference => &args.reference,
        Which::Target => &args.target,
    };
    let (whole, redact) = (Profile::new(input::import(path)?), &args.redact);
    let (profile, steps) = part_of(args, which).of(whole, path, redact)?;
    Ok(match steps {
        Some(steps) => {
            // Never freed: that would take longer than exiting.
            std::mem::forget(profile);
            steps
        }
        None => profile,
    })
}

fn part_of(args: &CompareArgs, which: Which) -> window::Part<'_> {
    let at = which as usize;
    window::Part {
        step: args.step.as_ref().and_then(|both| both[at].as_deref()),
        device: args.device.as_ref().and_then(|both| both[at].as_deref()),
        range: args.window.map(|windows| windows[at]),
        whole: args.whole,
    }
}

/// The page with both traces embedded.
fn page(args: &CompareArgs, input: &Input, folder: &Path, out: &mut Out) -> Result<(), Failure> {
    let traces = [
        (
            &args.reference,
            input.reference.profile,
            "reference.json.gz",
        ),
        (&args.target, input.target.profile, "target.json.gz"),
    ];
    let traces = traces.map(|(path, profile, redacted_name)| Embed {
        path,
        profile,
        redacted_name,
    });
    let is_part = args.step.is_some() || args.device.is_some() || args.window.is_some();
    let is_chosen = args.whole || is_part;
    let part = is_chosen.then(|| window::shown(input.target.profile));
    let page = Embedded {
        traces: &traces,
        report: input.comparison().illustrated(),
        view: embedded::view("compare", &args.analysis, gpus(args), part.flatten()),
        is_redacted: args.redact.redact,
    };
    page.write(folder, out)
}

fn default_names(args: &CompareArgs, reports: &[Report; 2]) -> [String; 2] {
    let files = [&args.reference, &args.target].map(|path| input::name(path));
    let devices = reports
        .each_ref()
        .map(|report| report.overview.hardware.recorded_on.as_deref());
    names(files.each_ref().map(String::as_str), devices)
}

fn summary(input: &Input, destination: Destination, out: &mut Out) -> io::Result<()> {
    let sides = [&input.reference, &input.target];
    let [reference, target] = sides.map(|side| &side.report.overview);
    let names = sides.map(|side| text::printable(side.name));
    let [name, other] = [&names[1], &names[0]];
    writeln!(out, "{}", input.comparison().headline(name, other))?;
    if let Some(work) = &input.comparison().work {
        writeln!(out, "{}", work.sentence())?;
    }
    if let Some(other) = input.comparison().different_work() {
        writeln!(out, "{other}")?;
    }
    let [a, b] = names.each_ref().map(|name| format!(">{name}"));
    let heads = ["GPU timeline", &a, &b, ">difference"];
    text::section(out, heads, timeline(reference, target))?;
    let heads = ["steps", &a, &b, ">ratio"];
    text::section(out, heads, steps(input.comparison()))?;
    let what = match input.comparison().per_step() {
        Some(_) => "~what differs most in as many steps",
        None => "~what differs most",
    };
    let heads = [what, &a, &b, ">difference", ""];
    text::section(out, heads, operations(input.comparison(), &names))?;
    gaps(input.comparison(), destination, out)?;
    waste(input.comparison(), out)?;
    let options = ["--reference-gpu", "--gpu"];
    for ((name, overview), option) in names.iter().zip([reference, target]).zip(options) {
        write!(out, "\n{name}: ")?;
        if let Some(window) = &overview.window {
            write!(out, "{} ", text::printable(&window.sentence()))?;
        }
        report::quality(overview, out)?;
        let hardware = &overview.hardware;
        match &hardware.gpu {
            Some(gpu) => writeln!(out, "Roofline of {}. {}", gpu.name, hardware.basis)?,
            None if overview.measure == Measure::Cpu => {}
            None => writeln!(
                out,
                "{} `{option}` chooses one; `dormer gpus` lists them.",
                hardware.basis
            )?,
        }
    }
    Ok(())
}

/// Steps of serving engines by phase and batch size.
fn steps(comparison: &Comparison) -> Vec<[String; 4]> {
    let rows = comparison.steps.iter().map(|row| {
        let ratio = row.ratio().map(|ratio| format!("{ratio:.2}\u{d7}"));
        let [reference, target] = [Which::Reference, Which::Target].map(|which| row.time(which));
        [row.label(), reference, target, ratio.unwrap_or_default()]
    });
    rows.collect()
}

/// Where the target is slower, one line each, and where to find the rest.
fn gaps(comparison: &Comparison, destination: Destination, out: &mut Out) -> io::Result<()> {
    let ranked = &comparison.gaps.ranked;
    let rows = ranked.iter().take(TOP_GAPS).map(|gap| {
        let saves = gap.saving.map_or("savings unknown".to_owned(), |saving| {
            let up_to = if saving.is_at_most() { "up to " } else { "" };
            format!("saves {up_to}{}", format::time_ns(saving.matching_ns))
        });
        let title = text::printable(&gap.title.replace('`', ""));
        [gap.number.to_string(), saves, title]
    });
    text::section(out, [">", "", "findings"], rows)?;
    report::write_rest(ranked.len().saturating_sub(TOP_GAPS), destination, out)
}

/// The components of GPU time, and the total; nothing if neither trace has any.
fn timeline(reference: &Overview, target: &Overview) -> Vec<[String; 4]> {
    let row = |label: &str, times: [Option<i64>; 2]| {
        let difference = times[0].zip(times[1]);
        let difference = difference.map(|(before, after)| after.saturating_sub(before));
        let [before, after] = times.map(|ns| ns.map_or_else(String::new, format::time_ns));
        let difference = difference.map_or_else(String::new, format::signed_time_ns);
        [label.to_owned(), before, after, difference]
    };
    let part = |overview: &Overview, kind: SplitKind| {
        let part = overview.split.iter().find(|part| part.kind == kind);
        part.map(|part| part.ns)
    };
    let of_both = |kind| [reference, target].map(|overview| part(overview, kind));
    let mut longer = [reference, target]
        .map(|overview| &overview.split)
        .into_iter();
    let parts = longer.find(|split| !split.is_empty()).into_iter().flatten();
    let rows = parts.map(|known| row(known.kind.label(), of_both(known.kind)));
    let mut rows: Vec<[String; 4]> = rows.collect();
    if !rows.is_empty() {
        rows.push(row("Total", [reference.total_ns, target.total_ns]));
    }
    rows
}

/// What both traces waste, one line each.
fn waste(comparison: &Comparison, out: &mut Out) -> io::Result<()> {
    let rows = (1..)
        .zip(&comparison.waste)
        .map(|(number, waste): (u32, _)| {
            let title = text::printable(&waste.title.replace('`', ""));
            let saves = format!("saves {}", comparison.savings_of(waste));
            [number.to_string(), saves, title]
        });
    text::section(out, [">", "", "time both traces lose"], rows)
}

/// The operations whose share of the time differs most.
fn operations(comparison: &Comparison, names: &[String; 2]) -> Vec<[String; 5]> {
    let Operations { matched, .. } = &comparison.operations;
    let (parts, _) = comparison.parts.for_as_many_steps();
    let computation = parts.iter();
    let computation = computation
        .filter(|part| part.kind.is_computation() && comparison.parts.is_notable(part.times));
    let rows = computation.take(TOP).map(|part| {
        let [reference, target] = names;
        let remark = match part.kind {
            PartKind::Matched(at) => {
                matched
                    .get(at)
                    .map_or_else(String::new, |op| match op.why_faster() {
                        Some(why) => format!("{}: {why}", op.verdict_label()),
                        None => op.verdict_label().to_owned(),
                    })
            }
            PartKind::Unmatched(Which::Reference, _) => format!("in {reference} alone"),
            PartKind::Unmatched(Which::Target, _) => format!("in {target} alone"),
            _ => String::new(),
        };
        [
            text::printable(&format::middle_ellipsis(&part.label, 60)),
            format::time_ns(part.times.reference),
            format::time_ns(part.times.target),
            format::signed_time_ns(part.times.difference()),
            remark,
        ]
    });
    rows.collect()
}

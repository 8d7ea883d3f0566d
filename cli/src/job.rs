//! `dormer job`: the ranks of one job, each read once and reduced to a digest.

mod archives;
mod files;
mod perfetto;
mod reading;

use std::io::{self, Write};

use dormer_core::base::format;
use dormer_core::import::ENDINGS_IN_WORDS;
use dormer_core::job::files::{Excluded, ExclusionReason, JobFiles};
use dormer_core::job::overview::JobOverview;
use dormer_core::job::{Job, NetworkFigures};
use dormer_core::output::{archive, export};

use crate::args::JobArgs;
use crate::output::Destination;
use crate::stdout::Out;
use crate::{Failure, output, report, stdout, text};
use files::find;

/// Formats that can be printed, each with its file.
const PRINTED: &[(&str, &str)] = &[
    ("json", "job.json"),
    ("md", "job_report.md"),
    ("html", "job_report.html"),
];

/// Findings named in the summary.
const TOP: usize = 5;

/// Reads the ranks, analyzes the job, writes the files, prints the summary.
pub(crate) fn run(args: &JobArgs, out: &mut Out) -> Result<(), Failure> {
    let destination = output::destination(args.output.as_deref(), &args.format, PRINTED)?;
    let files = find(&args.paths)?;
    if let Some(path) = &args.perfetto {
        perfetto::is_no_input(path, &files)?;
    }
    let mut unreadable = Vec::new();
    let mut digests = Vec::new();
    for (file, read) in reading::read(&files) {
        match read {
            Ok(digest) => digests.push(digest),
            Err(why) => unreadable.push(Excluded {
                file,
                why: ExclusionReason::Unreadable(why),
            }),
        }
    }
    let mut job_files = JobFiles::new(digests);
    job_files.excluded.extend(unreadable);
    let n_windows = job_files.windows.len();
    let mut windows = job_files.windows.into_iter();
    let Some(window) = windows.next() else {
        complain_of(&job_files.excluded);
        let reason = match files.is_empty() {
            true => format!("no file is called like {ENDINGS_IN_WORDS}"),
            false => "none of the files is a rank of a job; dormer report reads a single trace"
                .to_owned(),
        };
        return Err(Failure::Sentence(reason));
    };
    let job = Job::new(window);
    let figures = NetworkFigures {
        between_hosts_gbps: args.network_gbps,
    };
    let outputs = export::job::Input::new(&job, &job_files.excluded).with_network(figures);
    if let Destination::Printed(path) = destination {
        complain_of(&job_files.excluded);
        if let Some(path) = &args.perfetto {
            perfetto::write(path, &job, &files)?;
        }
        return output::print(path, &outputs, out);
    }
    summary(outputs.overview(), n_windows, destination, out)?;
    if let Destination::Files(folder) = destination {
        let archive = || archive::file_name(["job"]);
        output::write(folder, &args.format, &outputs, archive, out)?;
    }
    if let Some(path) = &args.perfetto {
        let count = format::counted(perfetto::write(path, &job, &files)? as u64, "rank");
        let place = path.display();
        writeln!(
            out,
            "\nWrote {count} to {place}, for https://ui.perfetto.dev."
        )?;
    }
    Ok(())
}

/// Reports what was excluded, if the summary does not.
fn complain_of(excluded: &[Excluded]) {
    for one in excluded {
        stdout::complain(&format!("{}: {}", one.file.name, one.why));
    }
}

/// The headline, the findings with the largest savings, the ranks.
fn summary(
    overview: &JobOverview,
    n_windows: usize,
    destination: Destination,
    out: &mut Out,
) -> io::Result<()> {
    let about = overview.about.iter();
    let about: Vec<String> = about
        .map(|(label, text)| format!("{label}: {text}"))
        .collect();
    writeln!(out, "{}", text::printable(&overview.headline))?;
    writeln!(out, "\n{}", text::printable(&about.join(", ")))?;
    if n_windows > 1 {
        let count = format::counted(n_windows as u64, "window");
        writeln!(
            out,
            "The files are from {count} of the profiler; only the newest that most ranks recorded is analyzed."
        )?;
    }
    // The job's upper bound always ends the list, even if findings before it are omitted.
    let bound = overview.cards.last().filter(|card| card.is_bound());
    let (cards, n_more) = match overview.cards.len() {
        n if n > TOP => (TOP - usize::from(bound.is_some()), n - TOP),
        n => (n, 0),
    };
    let cards = overview.cards.iter().zip(1..).take(cards);
    let bound = bound.filter(|_| n_more > 0).into_iter();
    let cards = cards.chain(bound.map(|card| (card, overview.cards.len())));
    let cards = cards.map(|(card, number)| {
        let saves = match card.savings.as_str() {
            "" => "-",
            saves => saves,
        };
        [number.to_string(), card.title.clone(), saves.to_owned()]
    });
    text::section(out, ["", "finding", "saves"], cards)?;
    report::write_rest(n_more, destination, out)?;
    let notes = overview.quality.iter();
    if !overview.quality.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        writeln!(out, "{}", text::printable(note))?;
    }
    Ok(())
}

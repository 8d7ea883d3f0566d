//! `dormer fleet summary`: a store as one file, which the page opens.

use std::fs;
use std::io::Write;

use dormer_core::base::format;
use dormer_core::fleet::summary::{MOST_BYTES, Options};
use dormer_core::fleet::{Summary, words};
use dormer_core::tables::TOOL_VERSION;

use super::query;
use crate::args::SummaryArgs;
use crate::stdout::Out;
use crate::{Failure, text};

/// Regressions that are named.
const TOP: usize = 5;

/// Writes the file; prints the summary sentence, what changed, and what was not read.
pub(crate) fn run(args: &SummaryArgs, out: &mut Out) -> Result<(), Failure> {
    let fleet = query::fleet(&args.query, false)?;
    let options = Options {
        by: args.query.tag().to_owned(),
        dormer: TOOL_VERSION.to_owned(),
    };
    let summary = Summary::new(&fleet, &options);
    let file = summary.to_file_within(MOST_BYTES);
    let name = args.output.display().to_string();
    fs::write(&args.output, &file).map_err(|error| Failure::of_file(&name, &error))?;
    writeln!(out, "{}", text::printable(&summary.sentence))?;
    if let Some(note) = fleet.note_on_names() {
        writeln!(out, "{note}")?;
    }
    let regressions = summary.regressions.iter().take(TOP).map(|change| {
        [
            words::title(change, &summary.texts),
            words::scope(change, &summary.texts),
            change.level.label().to_owned(),
        ]
    });
    text::section(out, ["regression", "model", ""], regressions)?;
    let rejected = summary.rejected.iter().map(|rejected| {
        let reason = summary.text_of(rejected.reason_kind).unwrap_or("-");
        let status = rejected.status.label().to_owned();
        [status, reason.to_owned(), rejected.count.to_string()]
    });
    text::section(out, ["not read", "reason", ">files"], rejected)?;
    let size = format::bytes(file.len() as u64);
    let n_runs = format::counted(u64::from(summary.totals.n_runs), "run");
    writeln!(out, "\n{}: {n_runs}, {size}", text::printable(&name))?;
    Ok(())
}

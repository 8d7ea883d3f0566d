//! The sheets of a job. Eight have the reference's names, columns and order of rows, on the clocks that the traces were
//! recorded with; the others are specific to Dormer.
//!
//! To add a sheet, add a module with its columns and rows, and a row to [`SHEETS`].

mod all_to_all;
mod by_rank;
mod calls;
mod clocks;
mod collectives;
mod delays;
mod groups;
mod implicit_sync;
mod nccl_long;
mod nodes;
mod parallelism;
mod quality;
mod ranks;
mod step_times;
mod table;
#[cfg(test)]
mod tests;

use super::analysis::pipeline::{Bubble, bubbles};
use super::analysis::roles::Layout;
use crate::job::files::Excluded;
use crate::job::{Analysis, Job};
use crate::report::sheet::{Cell, Column, Sheet};
use Origin::{Dormer, Reference};
use calls::{Calls, Clock, RanksOfGroups};
pub(in crate::job) use quality::matching_notes;
use step_times::RankStep;
pub(in crate::job) use step_times::{Place, Waits, waits, waits_in};
use table::{Body, described};

/// A sheet of a job; some column names contain the number of a rank.
pub type JobSheet = Sheet<String>;

/// Who defined the columns of a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The reference: names, columns and order of rows are its own.
    Reference,
    /// Dormer.
    Dormer,
}

/// A kind of sheet.
#[derive(Debug)]
pub struct SheetKind {
    /// The reference's name, or Dormer's own name.
    pub name: &'static str,
    /// Its displayed title.
    pub title: &'static str,
    /// Who defined its columns.
    pub origin: Origin,
    /// Its columns; R is a placeholder for the number of a rank.
    pub columns: fn() -> Vec<Column>,
    body: MakeBody,
}

type MakeBody = for<'a> fn(&'a Input<'a>) -> Body<'a>;

/// The inputs of sheets.
struct Input<'a> {
    job: &'a Job,
    excluded: &'a [Excluded],
    calls: Calls<'a>,
    analysis: &'a Analysis,
    steps: Vec<RankStep<'a>>,
    layout: &'a Layout,
    bubbles: Vec<Bubble>,
}

impl<'a> Input<'a> {
    fn new(
        job: &'a Job,
        analysis: &'a Analysis,
        excluded: &'a [Excluded],
        groups: &'a RanksOfGroups,
    ) -> Input<'a> {
        Input {
            calls: Calls::new(job, groups),
            steps: step_times::steps(job, analysis),
            bubbles: bubbles(job, analysis),
            job,
            analysis,
            excluded,
            layout: &analysis.layout,
        }
    }
}

const fn sheet(
    origin: Origin,
    name: &'static str,
    title: &'static str,
    columns: fn() -> Vec<Column>,
    body: MakeBody,
) -> SheetKind {
    SheetKind {
        name,
        title,
        origin,
        columns,
        body,
    }
}

/// All sheets, in the order in which they are written.
#[rustfmt::skip]
pub const SHEETS: &[SheetKind] = &[
    sheet(Dormer, "ranks", "Where the time of each rank went", || described(ranks::ranks()), ranks::ranks_body),
    sheet(Dormer, "rank_steps", "Where the time of each rank went, step by step", || described(ranks::rank_steps()), ranks::rank_steps_body),
    sheet(Dormer, "what_if", "Estimated savings of changes", || described(delays::what_if()), delays::what_if_body),
    sheet(Dormer, "slow_work", "Work that takes longer than on other ranks", || described(delays::slow_work()), delays::slow_work_body),
    sheet(Dormer, "more_work", "Work that other ranks have less of", || described(delays::more_work()), delays::more_work_body),
    sheet(Dormer, "collectives", "Collectives of all ranks, clocks corrected", || described(collectives::collectives()), collectives::collectives_body),
    sheet(Dormer, "links", "Transfer times and bandwidth by process group and message", || described(collectives::links()), collectives::links_body),
    sheet(Dormer, "groups", "Process groups", || described(groups::columns()), groups::groups_body),
    sheet(Dormer, "experts", "What ranks receive for their experts", || described(parallelism::experts()), parallelism::experts_body),
    sheet(Dormer, "pipeline", "How long stages of the pipeline wait", || described(parallelism::stages()), parallelism::stages_body),
    sheet(Dormer, "clocks", "How the clocks of the ranks differ", || described(clocks::clocks()), clocks::clocks_body),
    sheet(Dormer, "job_quality", "What is missing, was set apart or could not be matched", || described(quality::notes_columns()), quality::quality_body),
    sheet(Reference, "straggler_summary", "Waits and arrivals by rank, clocks as recorded", || described(implicit_sync::stragglers()), |input| implicit_sync::straggler_body(input, Clock::Raw)),
    sheet(Dormer, "straggler_summary_corrected", "Waits and arrivals by rank, clocks corrected", || described(implicit_sync::stragglers()), |input| implicit_sync::straggler_body(input, Clock::Corrected)),
    sheet(Reference, "nccl_long", "Every collective of every rank", || described(nccl_long::long()), nccl_long::long_body),
    sheet(Reference, "nccl_summary_long", "Collectives by rank, process group and size", || described(nccl_long::summary()), nccl_long::summary_body),
    sheet(Reference, "nccl_implicit_sync", "Collectives that all ranks leave together, clocks as recorded", || implicit_sync::columns().described(), |input| implicit_sync::sync_body(input, Clock::Raw)),
    sheet(Dormer, "nccl_implicit_sync_corrected", "Collectives that all ranks leave together, clocks corrected", || implicit_sync::columns().described(), |input| implicit_sync::sync_body(input, Clock::Corrected)),
    sheet(Reference, "nccl_summary_implicit_sync", "Collectives that all ranks leave together, by type and size", || described(implicit_sync::summary()), implicit_sync::summary_body),
    sheet(Reference, "nccl_all2allv", "All-to-all exchanges of uneven sizes", || all_to_all::columns().described(), all_to_all::exchange_body),
    sheet(Reference, "nccl_summary_all2allv", "All-to-all exchanges of uneven sizes by process group", || described(all_to_all::summary()), all_to_all::summary_body),
    sheet(Reference, "nccl_all2allv_heatmap", "What each rank sends to each in such exchanges", || described(all_to_all::heatmap()), all_to_all::heatmap_body),
];

/// The sheets of a job that have rows, in the order of [`SHEETS`]; one of them lists the files that were excluded.
pub fn sheets(job: &Job, analysis: &Analysis, excluded: &[Excluded]) -> Vec<JobSheet> {
    let made = sheets_of_at_most(usize::MAX, job, analysis, excluded).into_iter();
    made.map(|made| made.sheet).collect()
}

/// A sheet that has rows.
#[derive(Debug)]
pub struct FilledSheet {
    /// Its rows are empty if there are more than requested.
    pub sheet: JobSheet,
    /// How many there are.
    pub n_rows: usize,
}

impl FilledSheet {
    /// Whether it contains all its rows.
    pub fn is_whole(&self) -> bool {
        self.sheet.rows.len() == self.n_rows
    }
}

/// The most cells a sheet may have: one with columns for each of a thousand ranks has few rows but many cells.
const MOST_CELLS: usize = 8_000_000;

/// Like [`sheets`], but leaves out the rows of sheets with more than `n_rows` rows or more than eight million cells;
/// [`stream`] returns those.
pub fn sheets_of_at_most(
    n_rows: usize,
    job: &Job,
    analysis: &Analysis,
    excluded: &[Excluded],
) -> Vec<FilledSheet> {
    let groups = calls::ranks_of_groups(job);
    let input = Input::new(job, analysis, excluded, &groups);
    let made = SHEETS.iter().map(|kind| {
        let Body { columns, mut rows } = (kind.body)(&input);
        let n = n_rows.min(MOST_CELLS / columns.len().max(1));
        // Rows that are not kept need not be built just to be counted, where their number is known.
        let (least, most) = rows.size_hint();
        let known = most.filter(|most| *most == least && *most > n);
        let mut first: Vec<Vec<Cell>> = match known {
            Some(_) => Vec::new(),
            None => rows.by_ref().take(n).collect(),
        };
        let n_rows = known.unwrap_or_else(|| match rows.next() {
            None => first.len(),
            Some(_) => first.len() + 1 + rows.count(),
        });
        if n_rows > n {
            first = Vec::new();
        }
        FilledSheet {
            sheet: Sheet {
                name: kind.name.to_owned(),
                columns,
                rows: first,
            },
            n_rows,
        }
    });
    made.filter(|made| made.n_rows > 0).collect()
}

/// Passes the columns of a sheet to `head`, then each row to `row` as it is built; false if there is no sheet of this
/// name.
pub fn stream(
    name: &str,
    job: &Job,
    analysis: &Analysis,
    excluded: &[Excluded],
    head: impl FnOnce(&[Column<String>]),
    row: impl FnMut(Vec<Cell>),
) -> bool {
    let Some(kind) = SHEETS.iter().find(|kind| kind.name == name) else {
        return false;
    };
    let groups = calls::ranks_of_groups(job);
    let input = Input::new(job, analysis, excluded, &groups);
    let body = (kind.body)(&input);
    head(&body.columns);
    body.rows.for_each(row);
    true
}

/// The displayed title of a sheet, by its name.
pub fn title(name: &str) -> &'static str {
    let kind = SHEETS.iter().find(|kind| kind.name == name);
    kind.map_or("", |kind| kind.title)
}

//! The sheets of a job. Eight have the reference's names, columns and order of rows, on the clocks that
//! the traces were recorded with; the others are Dormer's own.
//!
//! To add a sheet: a module with its columns and rows, and a row of [`SHEETS`].

mod all_to_all;
mod by_rank;
mod calls;
mod implicit_sync;
mod nccl_long;
mod nodes;
mod table;

use crate::job::Job;
use crate::job::world::SetApart;
use crate::report::sheet::{Column, Sheet};
use calls::{Calls, Clock};
use table::{Body, described};

/// A sheet of a job; some columns carry the number of a rank.
pub type JobSheet = Sheet<String>;

/// A kind of sheet.
#[derive(Debug)]
pub struct SheetKind {
    /// The reference's name, or Dormer's own.
    pub name: &'static str,
    /// What it shows, for people.
    pub title: &'static str,
    /// Whether it is Dormer's own.
    pub is_own: bool,
    /// Its columns; R stands for the number of a rank.
    pub columns: fn() -> Vec<Column>,
    body: fn(&Input) -> Body,
}

/// What sheets are made from.
struct Input<'a> {
    job: &'a Job,
    set_apart: &'a [SetApart],
    calls: Calls<'a>,
}

/// All sheets, in the order in which they are written.
#[rustfmt::skip]
pub const SHEETS: &[SheetKind] = &[
    SheetKind {
        name: "straggler_summary", title: "Waits and arrivals by rank, clocks as recorded", is_own: false,
        columns: || described(implicit_sync::stragglers()),
        body: |input| implicit_sync::straggler_body(input, Clock::Raw),
    },
    SheetKind {
        name: "straggler_summary_corrected", title: "Waits and arrivals by rank, clocks corrected", is_own: true,
        columns: || described(implicit_sync::stragglers()),
        body: |input| implicit_sync::straggler_body(input, Clock::Corrected),
    },
    SheetKind {
        name: "nccl_long", title: "Every collective of every rank", is_own: false,
        columns: || described(nccl_long::long()),
        body: nccl_long::long_body,
    },
    SheetKind {
        name: "nccl_summary_long", title: "Collectives by rank, process group and size", is_own: false,
        columns: || described(nccl_long::summary()),
        body: nccl_long::summary_body,
    },
    SheetKind {
        name: "nccl_implicit_sync", title: "Collectives that all ranks leave together, clocks as recorded", is_own: false,
        columns: || implicit_sync::columns().described(),
        body: |input| implicit_sync::sync_body(input, Clock::Raw),
    },
    SheetKind {
        name: "nccl_implicit_sync_corrected", title: "Collectives that all ranks leave together, clocks corrected", is_own: true,
        columns: || implicit_sync::columns().described(),
        body: |input| implicit_sync::sync_body(input, Clock::Corrected),
    },
    SheetKind {
        name: "nccl_summary_implicit_sync", title: "Collectives that all ranks leave together, by type and size", is_own: false,
        columns: || described(implicit_sync::summary()),
        body: implicit_sync::summary_body,
    },
    SheetKind {
        name: "nccl_all2allv", title: "All-to-all exchanges of uneven sizes", is_own: false,
        columns: || all_to_all::columns().described(),
        body: all_to_all::exchange_body,
    },
    SheetKind {
        name: "nccl_summary_all2allv", title: "All-to-all exchanges of uneven sizes by process group", is_own: false,
        columns: || described(all_to_all::summary()),
        body: all_to_all::summary_body,
    },
    SheetKind {
        name: "nccl_all2allv_heatmap", title: "What each rank sends to each in such exchanges", is_own: false,
        columns: || described(all_to_all::heatmap()),
        body: all_to_all::heatmap_body,
    },
];

/// The sheets of a job that have rows, in the order of [`SHEETS`]; files that were set apart are named
/// among them.
pub fn sheets(job: &Job, set_apart: &[SetApart]) -> Vec<JobSheet> {
    let groups = calls::ranks_of_groups(job);
    let input = Input {
        job,
        set_apart,
        calls: Calls::new(job, &groups),
    };
    let made = SHEETS.iter().map(|kind| {
        let (columns, rows) = (kind.body)(&input);
        Sheet {
            name: kind.name.to_owned(),
            columns,
            rows,
        }
    });
    made.filter(|sheet| !sheet.rows.is_empty()).collect()
}

/// What a sheet shows, for people, by its name.
pub fn title(name: &str) -> &'static str {
    let kind = SHEETS.iter().find(|kind| kind.name == name);
    kind.map_or("", |kind| kind.title)
}

//! The figures of a step: of one collective on one rank, and all of them as tables.

use std::cmp::Reverse;

use dormer_core::base::sort::Arrange;
use dormer_core::job::strip::{StepStrip, StripCollective};
use dormer_core::report::fact_table::{CellKind, FactRow, FactTable};

use super::model::Strip;
use super::scene::{Cell, Kind, part};
use crate::page::prelude::*;

/// Rows of the table of collectives: those with the most waiting time.
const MOST_ROWS: usize = 100;

/// The details of a rank in a collective: a title and figures.
pub(super) fn collective_details(
    strip: &StepStrip,
    cell: Cell,
    rank: String,
) -> Option<(String, Vec<(String, String)>)> {
    let part = part(strip, cell)?;
    let of = strip.collectives.get(part.collective as usize)?;
    let mut pairs = vec![("Rank".to_owned(), rank)];
    let mut add = |label: &str, value: String| pairs.push((label.to_owned(), value));
    if let Some(last) = of.last.filter(|_| of.n_ranks > 1) {
        add("Last to start", format!("rank {last}"));
        add("Start skew", format::time_ns(of.skew_ns));
    }
    if of.n_read < of.n_ranks {
        add("Ranks read", ranks_read(of));
    }
    for kind in Kind::ALL {
        let ns = kind.ns(part);
        if ns > 0 {
            let label = match kind {
                Kind::Work | Kind::Copies | Kind::Idle => {
                    format!("{} before", kind.label())
                }
                _ => kind.label().to_owned(),
            };
            add(&label, format::time_ns(ns));
        }
    }
    Some((title(of), pairs))
}

fn title(of: &StripCollective) -> String {
    match of.between.is_empty() {
        true => of.label.clone(),
        false => format!("{}, {}", format::capitalized(&of.label), of.between),
    }
}

fn ranks_read(of: &StripCollective) -> String {
    format!("{} of {}", of.n_read, of.n_ranks)
}

/// Tables of all ranks and collectives.
pub(super) fn tables(strip: Strip) -> impl IntoView {
    let ranks = strip.with(|step| strip.labels.with(|labels| ranks(step, labels)));
    view! {
        {facts_table(ranks)}
        {facts_table(strip.with(collectives))}
    }
}

fn ranks(strip: &StepStrip, labels: &[String]) -> FactTable {
    let rows = strip.lanes.iter().zip(labels).map(|(lane, label)| {
        let sums = Kind::ALL.map(|kind| {
            let all = lane.parts.iter().map(|part| kind.ns(part));
            format::time_ns(all.fold(0, i64::saturating_add))
        });
        FactRow {
            cells: std::iter::once(label.clone()).chain(sums).collect(),
            ..FactRow::default()
        }
    });
    let sums = Kind::ALL.map(|kind| (kind.label().to_owned(), CellKind::Number));
    FactTable {
        title: "Ranks in this step".to_owned(),
        columns: std::iter::once(("Rank".to_owned(), CellKind::Text))
            .chain(sums)
            .collect(),
        rows: rows.collect(),
    }
}

fn collectives(strip: &StepStrip) -> FactTable {
    let mut all: Vec<&StripCollective> = strip.collectives.iter().collect();
    all.arrange_by_key(|of| Reverse((of.wait_ns, of.transfer_ns)));
    let n_all = all.len();
    all.truncate(MOST_ROWS);
    let rows = all.into_iter().map(|of| {
        let cells = [
            of.label.clone(),
            of.between.clone(),
            of.last.map_or_else(String::new, |last| last.to_string()),
            format::time_ns(of.skew_ns),
            format::time_ns(of.wait_ns),
            format::time_ns(of.transfer_ns),
            ranks_read(of),
        ];
        FactRow {
            cells: cells.into(),
            ..FactRow::default()
        }
    });
    let columns = [
        ("Collective", CellKind::Text),
        ("Between", CellKind::Text),
        ("Last rank", CellKind::Number),
        ("Start skew", CellKind::Number),
        ("Waiting, all ranks", CellKind::Number),
        ("Transfer", CellKind::Number),
        ("Ranks read", CellKind::Number),
    ];
    FactTable {
        title: match n_all > MOST_ROWS {
            true => format!("The {MOST_ROWS} of {n_all} collectives with the most waiting time"),
            false => "Collectives of this step".to_owned(),
        },
        columns: columns.map(|(label, kind)| (label.to_owned(), kind)).into(),
        rows: rows.collect(),
    }
}

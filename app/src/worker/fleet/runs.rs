//! Runs of a summary: filtered, sorted, as text.

use std::cmp::Ordering;

use dormer_core::base::sort::Arrange;
use dormer_core::base::{calendar, format};
use dormer_core::fleet::Summary;
use dormer_core::fleet::summary::Run;

use crate::protocol::{FleetRuns, FleetRunsQuery, RUN_COLUMNS, Sort, TableCell, TableRow};

pub(super) fn runs(of: &Summary, query: &FleetRunsQuery) -> FleetRuns {
    let find = query.find.to_lowercase();
    let words: Vec<&str> = find.split_whitespace().collect();
    let all = of.runs.iter().enumerate();
    let mut matching: Vec<(usize, &Run)> = all
        .filter(|(_, run)| words.is_empty() || has_all(of, run, &words))
        .collect();
    if let Some(sort) = &query.sort {
        matching.arrange_by(|(_, one), (_, other)| compared(of, sort, one, other));
    }
    let located = query
        .locate
        .and_then(|run| matching.iter().position(|(at, _)| *at == run as usize));
    let rows = matching.iter().skip(query.offset).take(query.count);
    FleetRuns {
        matching: matching.len(),
        offset: query.offset,
        rows: rows.map(|(at, run)| row(of, *at, run)).collect(),
        located,
    }
}

/// The texts of a run, for searching and sorting.
fn texts<'a>(of: &'a Summary, run: &Run) -> [&'a str; 7] {
    let texts = [
        run.model,
        run.gpu,
        run.build,
        run.finding,
        run.uri,
        run.host,
        run.job,
    ];
    texts.map(|text| of.text_of(text).unwrap_or_default())
}

fn has_all(of: &Summary, run: &Run, words: &[&str]) -> bool {
    let texts = texts(of, run).map(str::to_lowercase);
    words
        .iter()
        .all(|word| texts.iter().any(|text| text.contains(word)))
}

/// Unknown values come last in either direction.
fn compared(of: &Summary, sort: &Sort, one: &Run, other: &Run) -> Ordering {
    let text = |at: usize| {
        let [one, other] = [one, other].map(|run| texts(of, run).get(at).copied().unwrap_or(""));
        (one.is_empty(), other.is_empty(), one.cmp(other))
    };
    let number = |ns: fn(&Run) -> Option<i64>| {
        let (one, other) = (ns(one), ns(other));
        (one.is_none(), other.is_none(), one.cmp(&other))
    };
    let (one_unknown, other_unknown, order) = match sort.column.as_str() {
        "model" => text(0),
        "gpu" => text(1),
        "build" => text(2),
        "finding" => text(3),
        "uri" => text(4),
        "total" => number(|run| run.total_ns),
        "compute" => number(|run| run.compute_ns),
        "exposed" => number(|run| run.exposed_comm_ns),
        "idle" => number(|run| run.idle_ns),
        _ => number(|run| run.start_ns),
    };
    let order = match sort.descending {
        true => order.reverse(),
        false => order,
    };
    one_unknown.cmp(&other_unknown).then(order)
}

fn row(of: &Summary, at: usize, run: &Run) -> TableRow {
    let text = |text| of.text_of(text).unwrap_or_default().to_owned();
    let time = |ns: Option<i64>| ns.map_or_else(String::new, format::time_ns);
    let cells = RUN_COLUMNS.map(|(key, ..)| TableCell {
        text: match key {
            "recorded" => run.start_ns.map_or_else(String::new, calendar::minute),
            "model" => text(run.model),
            "gpu" => text(run.gpu),
            "build" => text(run.build),
            "total" => time(run.total_ns),
            "compute" => time(run.compute_ns),
            "exposed" => time(run.exposed_comm_ns),
            "idle" => time(run.idle_ns),
            "finding" => text(run.finding).replace('`', ""),
            _ => text(run.uri),
        },
        ..TableCell::default()
    });
    TableRow {
        row: at,
        token: String::new(),
        cells: cells.into(),
    }
}

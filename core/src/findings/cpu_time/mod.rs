//! Runs on the CPU alone: what the thread that computes spends its time on, besides operators.
//!
//! ```text
//! calls of the thread ─walk→ Split: activities, optimizer, operators, functions ─rules→ findings
//! ```

mod observed;
mod rules;
mod split;
#[cfg(test)]
mod tests;
mod walk;

use crate::findings::prelude::*;
use observed::Observed;
use split::{Part, Split};

/// Functions and activities that the table lists at most.
const MOST_ROWS: usize = 20;

pub(super) const DOCS: Docs = || rule::docs(rules::RULES);

pub(super) fn run(input: &Input, _: &[Row], outcome: &mut Outcome) {
    let Some(split) = walk::split(input) else {
        return;
    };
    outcome.status = Status::Done;
    outcome.time_ns = split.run_ns;
    let ns = |part: Part| split.parts.get(&part).map_or(0, |time| time.ns);
    #[rustfmt::skip]
    outcome.facts([
        ("run_time", "Run", Value::Ns(split.run_ns)),
        ("operators_time", "In operators", Value::Ns(ns(Part::Operators))),
        ("optimizer_time", "In steps of the optimizer", Value::Ns(ns(Part::Optimizer))),
        ("outside_time", "Outside of all recorded calls", Value::Ns(ns(Part::Unknown))),
    ]);
    outcome.tables = vec![table(input, &split)];
    let observed = Observed::of(input, &split);
    let each = observed.iter();
    outcome.findings = each
        .flat_map(|observed| rule::find(input, rules::RULES, vec![observed]))
        .collect();
}

/// What the time is spent on, longest first.
fn table(input: &Input, split: &Split) -> Table {
    let columns = [
        ("part", "Spent on"),
        ("place", "In"),
        ("time", "Time"),
        ("share", "Share of the run"),
        ("calls", "Calls"),
    ];
    let rows = Observed::all(split).into_iter().take(MOST_ROWS);
    let rows = rows.map(|one| one.row(input.profile).to_vec());
    Table::new("cpu_time", "What the CPU spends its time on", &columns).with_rows(rows)
}

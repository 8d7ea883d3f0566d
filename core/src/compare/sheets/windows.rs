//! Sheet `windows`: which part of each trace is compared. It is left out if both are compared as a whole.

use super::{ComparisonSheet, diff_stats};
use crate::compare::{Pair, Side, Which};
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::report::sheets::window;

pub(super) const NAME: &str = "windows";

pub(super) const TITLE: &str = "The parts of the traces that are compared";

pub(super) fn columns() -> Vec<Column> {
    let side = "Whether the trace is the reference or the target.";
    let trace = "What it is called in the other sheets.";
    let sides = [
        column("side", Unit::Text, side),
        column("trace", Unit::Text, trace),
    ];
    sides.into_iter().chain(window::COLUMNS).collect()
}

pub(super) fn sheet(sides: Pair<Side>) -> Option<ComparisonSheet> {
    let is_part = sides.map(|side| side.profile.window.is_some());
    let rows = Which::ALL.map(|which| row(which, sides.get(which)));
    (is_part.reference || is_part.target).then(|| diff_stats::sheet(NAME, &columns(), rows.into()))
}

fn row(which: Which, side: &Side) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(text.to_owned());
    let named = [text(which.label()), text(side.name)];
    let analyzed = window::row(side.profile, &side.report.options);
    named.into_iter().chain(analyzed).collect()
}

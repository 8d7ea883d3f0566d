//! The columns of a compared sheet, and its cells.

use super::ComparisonSheet;
use super::join::{HalfRow, Joined, Row};
use super::kinds::Subset;
use crate::report::RoundedTime;
use crate::report::sheet::{Cell, Column, Sheet, Unit};

const REFERENCE: usize = 0;
const TARGET: usize = 1;

/// Where the cells of a column come from.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// Of whichever side has the row, by the places in both sheets.
    Key([Option<usize>; 2]),
    /// Target minus reference.
    Diff(Compared),
    /// That in percent of the reference.
    Percent(Compared),
    /// Of one side.
    Half(usize, usize),
}

/// A number of both sides.
#[derive(Debug, Clone, Copy)]
struct Compared {
    places: [usize; 2],
    /// Reads it as the reference rounds it, where it is a time.
    rounded: Option<fn(RoundedTime) -> f64>,
}

/// A sheet of a join, or of a subset of it. That has no columns that are empty throughout.
pub(super) fn sheet(
    name: String,
    joined: &Joined,
    subset: Option<Subset>,
    names: [&str; 2],
) -> ComparisonSheet {
    let rows: Vec<&Row> = joined
        .rows
        .iter()
        .filter(|row| subset.is_none_or(|subset| row.subset() == subset))
        .collect();
    let all = columns(joined, subset, names);
    let has_cells = |source: &Source| rows.iter().any(|row| source.cell(row) != Cell::Empty);
    let (sources, columns): (Vec<Source>, Vec<Column<String>>) = all
        .into_iter()
        .filter(|(source, _)| subset.is_none() || has_cells(source))
        .unzip();
    let cells = |row: &&Row| sources.iter().map(|source| source.cell(row)).collect();
    Sheet {
        name,
        rows: rows.iter().map(cells).collect(),
        columns,
    }
}

/// All columns: keys, differences, the reference's others, the target's others.
fn columns(
    joined: &Joined,
    subset: Option<Subset>,
    [reference, target]: [&str; 2],
) -> Vec<(Source, Column<String>)> {
    let place = |side: usize, label: &str| joined.halves[side]?.column(label);
    let column = |side: usize, at: usize| joined.halves[side]?.columns.get(at);
    let mut all = Vec::new();
    for label in &joined.keys {
        let places = [place(REFERENCE, label), place(TARGET, label)];
        let known = [REFERENCE, TARGET]
            .into_iter()
            .find_map(|side| column(side, places[side]?));
        let Some(known) = known else { continue };
        all.push((Source::Key(places), known.owned()));
    }
    for label in joined.kind.diffs {
        let (Some(ours), Some(theirs)) = (place(REFERENCE, label), place(TARGET, label)) else {
            continue;
        };
        let Some(known) = column(REFERENCE, ours) else {
            continue;
        };
        let difference = Column {
            label: format!("{label}__{target}_diff"),
            unit: known.unit,
            doc: format!("{target} minus {reference}: {}", known.doc),
        };
        let percent = Column {
            label: format!("{label}__{target}_pct"),
            unit: Unit::Percent,
            doc: format!(
                "{target} minus {reference}, in percent of {reference}: {}",
                known.doc
            ),
        };
        let compared = Compared {
            places: [ours, theirs],
            rounded: rounded(known),
        };
        all.push((Source::Diff(compared), difference));
        all.push((Source::Percent(compared), percent));
    }
    for (side, name) in [(REFERENCE, reference), (TARGET, target)] {
        let Some(sheet) = joined.halves[side] else {
            continue;
        };
        for (at, known) in sheet.columns.iter().enumerate() {
            if joined.keys.contains(&known.label) || is_dropped(joined, side, subset, known.label) {
                continue;
            }
            let column = Column {
                label: format!("{name}::{}", known.label),
                unit: known.unit,
                doc: format!("{name}: {}", known.doc),
            };
            all.push((Source::Half(side, at), column));
        }
    }
    all
}

/// What a column of kernel times says of the time of a row; `None` for other columns.
fn rounded(column: &Column) -> Option<fn(RoundedTime) -> f64> {
    match column.unit {
        Unit::Ms => Some(|time| time.sum_us / 1e3),
        Unit::Us if column.label.ends_with("_mean") => Some(RoundedTime::mean_us),
        Unit::Us => Some(|time| time.sum_us),
        _ => None,
    }
}

/// Where the target is alone, no row of the reference speaks for it.
fn is_dropped(joined: &Joined, side: usize, subset: Option<Subset>, label: &str) -> bool {
    let kind = joined.kind;
    kind.dropped.contains(&label)
        || (side == TARGET
            && subset != Some(Subset::Target)
            && kind.dropped_of_target.contains(&label))
}

impl Source {
    fn cell(self, row: &Row) -> Cell {
        let half = |side: usize| {
            if side == REFERENCE {
                row.reference
            } else {
                row.target
            }
        };
        let at = |side: usize, at: usize| half(side)?.cells.get(at);
        let found = |cell: Option<&Cell>| cell.cloned().unwrap_or(Cell::Empty);
        match self {
            Source::Key(places) => {
                let sides = [REFERENCE, TARGET].into_iter();
                let mut present = sides.filter(|side| half(*side).is_some());
                let cell = present.next().map(|side| match places[side] {
                    Some(place) => found(at(side, place)),
                    // Only a flag of recomputed work joins where one side lacks it.
                    None => Cell::Flag(false),
                });
                cell.unwrap_or(Cell::Empty)
            }
            Source::Diff(compared) => difference(&compared.cells(row)),
            Source::Percent(compared) => percent(&compared.cells(row)),
            Source::Half(side, place) => found(at(side, place)),
        }
    }
}

impl Compared {
    /// What is compared: the cells of both sides, times as the reference rounds them.
    fn cells(self, row: &Row) -> [Option<Cell>; 2] {
        let [ours, theirs] = self.places;
        let cell = |half: Option<HalfRow>, at: usize| {
            let half = half?;
            let rounded = self.rounded.zip(half.time).map(|(read, time)| read(time));
            rounded
                .map(Cell::Float)
                .or_else(|| half.cells.get(at).cloned())
        };
        [cell(row.reference, ours), cell(row.target, theirs)]
    }
}

/// Target minus reference; empty where either is unknown.
fn difference([reference, target]: &[Option<Cell>; 2]) -> Cell {
    if let (Some(Cell::Int(reference)), Some(Cell::Int(target))) = (reference, target) {
        return Cell::Int(target.saturating_sub(*reference));
    }
    match (number(reference), number(target)) {
        (Some(reference), Some(target)) => Cell::Float(target - reference),
        _ => Cell::Empty,
    }
}

/// The difference in percent of the reference; empty where that is nothing.
fn percent([reference, target]: &[Option<Cell>; 2]) -> Cell {
    match (number(reference), number(target)) {
        (Some(reference), Some(target)) if reference.abs() > 0.0 => {
            Cell::Float(100.0 * (target - reference) / reference)
        }
        _ => Cell::Empty,
    }
}

fn number(cell: &Option<Cell>) -> Option<f64> {
    match cell.as_ref()? {
        Cell::Int(number) => Some(*number as f64),
        Cell::Float(number) => Some(*number),
        Cell::Empty | Cell::Text(_) | Cell::Flag(_) => None,
    }
}

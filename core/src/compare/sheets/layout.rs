//! The columns of a compared sheet, and its cells.

use super::ComparisonSheet;
use super::join::{Joined, JoinedRow};
use super::kinds::Subset;
use crate::compare::{Pair, Which};
use crate::report::RoundedTime;
use crate::report::sheet::{Cell, Column, Sheet, Unit};

#[derive(Debug, Clone, Copy)]
enum Source {
    /// From whichever side has the row, with the position in each sheet.
    Key(Pair<Option<usize>>),
    /// Target minus reference.
    Diff(Compared),
    /// The difference in percent of the reference.
    Percent(Compared),
    /// The value of one side.
    Half(Which, usize),
}

#[derive(Debug, Clone, Copy)]
struct Compared {
    places: Pair<usize>,
    /// Reads the value rounded like TraceLens's, if it is a time.
    rounded: Option<fn(RoundedTime) -> f64>,
}

/// A sheet of a join, or of a subset of it. A subset leaves out columns that are entirely empty.
pub(super) fn sheet(
    name: String,
    joined: &Joined,
    subset: Option<Subset>,
    names: Pair<&str>,
) -> ComparisonSheet {
    let rows = joined.rows.iter();
    let rows: Vec<&JoinedRow> = rows
        .filter(|row| subset.is_none_or(|subset| row.subset() == subset))
        .collect();
    let all = columns(joined, subset, names);
    let has_cells = |source: &Source| rows.iter().any(|row| source.cell(row) != Cell::Empty);
    let (sources, columns): (Vec<Source>, Vec<Column<String>>) = all
        .into_iter()
        .filter(|(source, _)| subset.is_none() || has_cells(source))
        .unzip();
    let cells = |row: &&JoinedRow| sources.iter().map(|source| source.cell(row)).collect();
    Sheet {
        name,
        rows: rows.iter().map(cells).collect(),
        columns,
    }
}

/// All columns: keys, differences, the reference's other columns, the target's other columns.
fn columns(
    joined: &Joined,
    subset: Option<Subset>,
    names: Pair<&str>,
) -> Vec<(Source, Column<String>)> {
    let mut all = keys(joined);
    all.extend(differences(joined, names).into_iter().flatten());
    for which in Which::ALL {
        let name = names.get(which);
        let sheet = joined.halves.get(which).iter();
        let columns = sheet.flat_map(|sheet| sheet.columns.iter().enumerate());
        let others = columns.filter(|(_, known)| {
            !joined.keys.contains(&known.label) && !is_dropped(joined, which, subset, known.label)
        });
        all.extend(others.map(|(at, known)| {
            let column = Column {
                label: format!("{name}::{}", known.label),
                unit: known.unit,
                doc: format!("{name}: {}", known.doc),
            };
            (Source::Half(which, at), column)
        }));
    }
    all
}

/// Where both sheets have a column.
fn places(joined: &Joined, label: &str) -> Pair<Option<usize>> {
    joined.halves.map(|half| half?.column(label))
}

fn keys(joined: &Joined) -> Vec<(Source, Column<String>)> {
    let keys = joined.keys.iter().filter_map(|label| {
        let places = places(joined, label);
        let known = Which::ALL.into_iter().find_map(|which| {
            let sheet = joined.halves.get(which).as_ref()?;
            sheet.columns.get((*places.get(which))?)
        });
        Some((Source::Key(places), known?.owned()))
    });
    keys.collect()
}

/// The difference of each compared column, and the same in percent.
fn differences(joined: &Joined, names: Pair<&str>) -> Vec<[(Source, Column<String>); 2]> {
    let Pair { reference, target } = names;
    let differences = joined.kind.diffs.iter().filter_map(|label| {
        let places = places(joined, label).both()?;
        let known = joined.halves.reference?.columns.get(places.reference)?;
        let compared = Compared {
            places,
            rounded: rounded(known),
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
        Some([
            (Source::Diff(compared), difference),
            (Source::Percent(compared), percent),
        ])
    });
    differences.collect()
}

/// How a column of kernel times reads the time of a row; `None` for other columns.
fn rounded(column: &Column) -> Option<fn(RoundedTime) -> f64> {
    match column.unit {
        Unit::Ms => Some(|time| time.sum_us / 1e3),
        Unit::Us if column.label.ends_with("_mean") => Some(RoundedTime::mean_us),
        Unit::Us => Some(|time| time.sum_us),
        _ => None,
    }
}

/// For rows of the target alone, no row of the reference has the value.
fn is_dropped(joined: &Joined, which: Which, subset: Option<Subset>, label: &str) -> bool {
    let kind = joined.kind;
    kind.dropped.contains(&label)
        || (which == Which::Target
            && subset != Some(Subset::Target)
            && kind.dropped_of_target.contains(&label))
}

impl Source {
    fn cell(self, row: &JoinedRow) -> Cell {
        let at = |which: Which, at: usize| {
            let cell = row.get(which).as_ref().and_then(|half| half.cells.get(at));
            cell.cloned().unwrap_or(Cell::Empty)
        };
        match self {
            Source::Key(places) => {
                let mut sides = Which::ALL.into_iter();
                let present = sides.find(|which| row.get(*which).is_some());
                present.map_or(Cell::Empty, |which| match places.get(which) {
                    Some(place) => at(which, *place),
                    // Only the recomputation flag joins if one side lacks it.
                    None => Cell::Flag(false),
                })
            }
            Source::Diff(compared) => difference(&compared.cells(row)),
            Source::Percent(compared) => percent(&compared.cells(row)),
            Source::Half(which, place) => at(which, place),
        }
    }
}

impl Compared {
    /// The compared cells of both sides, with times rounded like TraceLens's.
    fn cells(self, row: &JoinedRow) -> Pair<Option<Cell>> {
        row.zip(self.places).map(|(half, at)| {
            let half = half?;
            let rounded = self.rounded.zip(half.time).map(|(read, time)| read(time));
            rounded
                .map(Cell::Float)
                .or_else(|| half.cells.get(at).cloned())
        })
    }
}

/// Target minus reference; empty where either is unknown.
fn difference(cells: &Pair<Option<Cell>>) -> Cell {
    if let (Some(Cell::Int(reference)), Some(Cell::Int(target))) = (&cells.reference, &cells.target)
    {
        return Cell::Int(target.saturating_sub(*reference));
    }
    let numbers = cells.as_ref().map(number).both();
    numbers.map_or(Cell::Empty, |Pair { reference, target }| {
        Cell::Float(target - reference)
    })
}

/// The difference in percent of the reference; empty if that is zero.
fn percent(cells: &Pair<Option<Cell>>) -> Cell {
    match cells.as_ref().map(number).both() {
        Some(Pair { reference, target }) if reference.abs() > 0.0 => {
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

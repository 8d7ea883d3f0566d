//! Joins the rows of two sheets.

use std::collections::VecDeque;

use super::kinds::{Keys, SheetKind, Subset};
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::compare::{Pair, Which};
use crate::report::RoundedTime;
use crate::report::sheet::{Cell, Sheet};

const RECOMPUTE: &str = "is_recompute";

#[derive(Debug, Clone)]
pub(super) struct Half<'a> {
    pub(super) sheet: &'a Sheet,
    /// The times of its rows, in order; empty if the sheet has other times.
    pub(super) times: Vec<RoundedTime>,
}

impl<'a> Half<'a> {
    fn rows(&self) -> impl Iterator<Item = HalfRow<'a>> {
        let rows = self.sheet.rows.iter().enumerate();
        rows.map(|(at, cells)| HalfRow {
            cells,
            time: self.times.get(at).copied(),
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HalfRow<'a> {
    pub(super) cells: &'a [Cell],
    /// The time used for differences instead of the exact times, if known.
    pub(super) time: Option<RoundedTime>,
}

/// A row of a comparison: a row of the reference's sheet, one of the target's, or both.
pub(super) type JoinedRow<'a> = Pair<Option<HalfRow<'a>>>;

impl JoinedRow<'_> {
    pub(super) fn subset(&self) -> Subset {
        match (self.reference, self.target) {
            (Some(_), None) => Subset::Reference,
            (None, _) => Subset::Target,
            (Some(_), Some(_)) => Subset::Both,
        }
    }
}

#[derive(Debug)]
pub(super) struct Joined<'a> {
    pub(super) kind: &'a SheetKind,
    /// The reference's sheet and the target's; a report leaves out sheets without rows.
    pub(super) halves: Pair<Option<&'a Sheet>>,
    pub(super) keys: Vec<&'static str>,
    /// Each row of either sheet once: those of the reference in order, then those of the target alone.
    pub(super) rows: Vec<JoinedRow<'a>>,
}

impl<'a> Joined<'a> {
    /// Joins two sheets; `None` if neither report has it.
    ///
    /// Several rows of one sheet may have the same key, for example the same operator on two threads. The first of them
    /// is joined with the first one in the other sheet and so on, so that each row counts once.
    pub(super) fn new(kind: &'a SheetKind, sides: Pair<Option<Half<'a>>>) -> Option<Joined<'a>> {
        let halves = sides.as_ref().map(|half| Some(half.as_ref()?.sheet));
        if halves == Pair::default() {
            return None;
        }
        let keys = keys(kind, halves);
        let Pair { reference, target } = sides
            .as_ref()
            .map(|half| half.iter().flat_map(Half::rows).collect::<Vec<HalfRow>>());
        let alone = |row| JoinedRow {
            reference: Some(row),
            target: None,
        };
        let mut joined: Vec<JoinedRow> = reference.into_iter().map(alone).collect();
        let mut free = target;
        if let Some(halves) = halves.both() {
            let exact = [&keys[..], kind.prefer].concat();
            for labels in [&exact, &keys] {
                let key = halves.map(|sheet| Key::new(sheet, labels));
                free = join(&mut joined, free, &key);
            }
        }
        joined.extend(free.into_iter().map(|row| JoinedRow {
            reference: None,
            target: Some(row),
        }));
        if kind.is_by_key {
            sort(&mut joined, halves, &keys);
        }
        Some(Joined {
            kind,
            halves,
            keys,
            rows: joined,
        })
    }
}

/// Gives each unjoined row of the reference the first free row with the same key; returns the rows that remain free.
fn join<'a>(
    rows: &mut [JoinedRow<'a>],
    free: Vec<HalfRow<'a>>,
    key: &Pair<Key>,
) -> Vec<HalfRow<'a>> {
    let mut by_key: Map<Vec<Value>, VecDeque<usize>> = Map::default();
    for (at, row) in free.iter().enumerate() {
        let places = by_key.entry(key.target.of(row.cells)).or_default();
        places.push_back(at);
    }
    let mut is_taken = vec![false; free.len()];
    for row in rows.iter_mut().filter(|row| row.target.is_none()) {
        let Some(reference) = row.reference else {
            continue;
        };
        let partners = by_key.get_mut(&key.reference.of(reference.cells));
        if let Some(at) = partners.and_then(VecDeque::pop_front) {
            row.target = free.get(at).copied();
            is_taken[at] = true;
        }
    }
    let all = free.into_iter().zip(is_taken);
    all.filter(|(_, is_taken)| !is_taken)
        .map(|(row, _)| row)
        .collect()
}

/// Sorts rows by key, regardless of their side.
fn sort(rows: &mut [JoinedRow], halves: Pair<Option<&Sheet>>, labels: &[&str]) {
    let keys = halves.map(|half| half.map(|sheet| Key::new(sheet, labels)));
    rows.arrange_by(|a, b| {
        let [a, b] = [a, b].map(|row| {
            let of =
                |which: Which| Some(keys.get(which).as_ref()?.of(row.get(which).as_ref()?.cells));
            of(Which::Reference).or_else(|| of(Which::Target))
        });
        a.cmp(&b)
    });
}

/// The labels that join two sheets. A column that one sheet lacks cannot join, except `is_recompute`: a trace without
/// recomputation has only ordinary calls.
fn keys(kind: &SheetKind, halves: Pair<Option<&Sheet>>) -> Vec<&'static str> {
    let sheets = || [halves.reference, halves.target].into_iter().flatten();
    let in_all = |label: &str| sheets().all(|sheet| sheet.column(label).is_some());
    let mut keys: Vec<&'static str> = match kind.keys {
        Keys::Columns(labels) => labels
            .iter()
            .copied()
            .filter(|label| in_all(label))
            .collect(),
        Keys::NameAndParams => {
            let columns = sheets().flat_map(|sheet| &sheet.columns);
            let labels = columns.map(|column| column.label);
            let mut params = labels
                .filter(|label| label.starts_with("param: ") && in_all(label))
                .distinct();
            params.insert(0, "name");
            params
        }
    };
    if sheets().any(|sheet| sheet.column(RECOMPUTE).is_some()) {
        keys.push(RECOMPUTE);
    }
    keys
}

struct Key(Vec<Option<usize>>);

impl Key {
    fn new(sheet: &Sheet, labels: &[&str]) -> Key {
        Key(labels.iter().map(|label| sheet.column(label)).collect())
    }

    fn of<'a>(&self, row: &'a [Cell]) -> Vec<Value<'a>> {
        let cells = self.0.iter().map(|column| row.get((*column)?));
        cells
            .map(|cell| cell.map_or(Value::Flag(false), Value::of))
            .collect()
    }
}

/// A cell value that can be hashed and sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Value<'a> {
    Empty,
    Text(&'a str),
    Int(i64),
    Float(u64),
    Flag(bool),
}

impl Value<'_> {
    pub(super) fn of(cell: &Cell) -> Value<'_> {
        match cell {
            Cell::Empty => Value::Empty,
            Cell::Text(text) => Value::Text(text),
            Cell::Int(number) => Value::Int(*number),
            Cell::Float(number) => Value::Float(number.to_bits()),
            Cell::Flag(flag) => Value::Flag(*flag),
        }
    }
}

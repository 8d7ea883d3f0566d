//! Sheets with columns for each rank: `rank_3_ts`.

use std::hash::Hash;

use super::calls::{Call, Joint, Part};
use super::table::{Body, Col, columns, float, known, text, us};
use crate::base::group::grouped;
use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::base::stats::Stats;
use crate::report::sheet::{Cell, Column};

/// The columns of such a sheet. Labels of columns of ranks start with `rank_R_`.
pub(super) struct ByRank<J, P> {
    pub(super) before: Vec<Col<J>>,
    /// Written for all ranks of a row before [`ByRank::then`] of any.
    pub(super) first: Vec<Col<P>>,
    pub(super) then: Vec<Col<P>>,
    pub(super) behind: Vec<Col<J>>,
}

/// A row of such a sheet: what several ranks did together.
pub(super) struct JointRow<'a, F> {
    pub(super) joint: Joint<'a>,
    /// What its first rank did.
    pub(super) first: &'a Call<'a>,
    /// What its columns show of it.
    pub(super) figures: F,
}

/// The columns that identify the collective of a row.
pub(super) fn identity<'a, F>() -> Vec<Col<JointRow<'a, F>>> {
    columns![JointRow<'a, F>:
        "collective_id", Text, |of| text(&of.first.id()), "Process group and position in it.";
        "Process Group Name", Text, |of| text(of.first.group), "The group of ranks that took part.";
        "Process Group Ranks", Text, |of| text(&of.first.ranks_text()), "Its ranks.";
        "Collective name", Text, |of| text(of.first.name), "Kind of collective.";
        "Group size", Number, |of| known(of.first.group_size()), "Number of ranks.";
        "dtype", Text, |of| text(of.first.dtype()), "Type of the elements.";
    ]
}

/// The column that says whether its group spans nodes.
pub(super) fn node_span<'a, F>() -> Vec<Col<JointRow<'a, F>>> {
    columns![JointRow<'a, F>:
        "node_span", Text, |of| text(of.first.node_span), "Whether the group is of one node (intra_node) or several (inter_node).";
    ]
}

/// The columns that say when a rank ran it.
pub(super) fn times<'a>() -> Vec<Col<Part<'a>>> {
    columns![Part:
        "rank_R_ts", Us, |of| us(of.ts_ns), "Start on rank R; empty where it takes no part.";
        "rank_R_dur", Us, |of| float(Some(of.dur_us)), "Duration on rank R.";
    ]
}

/// Rows with the same key, sorted by it.
pub(super) fn alike<'r, R, K: Ord + Hash + Clone>(
    rows: &'r [R],
    key: impl Fn(&'r R) -> K,
) -> Vec<Vec<&'r R>> {
    let mut groups: Vec<(K, Vec<&R>)> = grouped(rows.iter().map(|row| (key(row), row)), Vec::push);
    groups.arrange_by(|(one, _), (other, _)| one.cmp(other));
    groups.into_iter().map(|(_, rows)| rows).collect()
}

/// Statistics of a number over the rows that have it.
pub(super) fn stats<R>(rows: &[&R], number: fn(&R) -> Option<f64>) -> Option<Stats> {
    let known: Vec<f64> = rows.iter().filter_map(|row| number(row)).collect();
    Stats::of(known)
}

impl<'a, F> ByRank<JointRow<'a, F>, Part<'a>> {
    /// The cells of a row.
    fn cells(&self, blocks: &[Block], row: &JointRow<'a, F>) -> Vec<Cell> {
        let parts = row.joint.parts.iter();
        let parts: Map<u32, &Part> = parts.map(|part| (part.call.rank.number, part)).collect();
        let cell = |one: &Col<JointRow<'a, F>>| (one.cell)(row);
        let mut cells: Vec<Cell> = self.before.iter().map(cell).collect();
        for block in blocks {
            let part = parts.get(&block.rank);
            let of = if block.is_first {
                &self.first
            } else {
                &self.then
            };
            cells.extend(
                of.iter()
                    .map(|one| part.map_or(Cell::Empty, |part| (one.cell)(part))),
            );
        }
        cells.extend(self.behind.iter().map(cell));
        cells
    }
}

impl<J, P> ByRank<J, P> {
    /// The columns, with R for the number of a rank, which the labels already contain.
    pub(super) fn described(self) -> Vec<Column> {
        let of_ranks = self.first.into_iter().chain(self.then);
        let of_ranks: Vec<Column> = of_ranks.map(|one| one.column).collect();
        let of = |columns: Vec<Col<J>>| columns.into_iter().map(|one| one.column);
        of(self.before)
            .chain(of_ranks)
            .chain(of(self.behind))
            .collect()
    }
}

/// The columns of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Block {
    rank: u32,
    is_first: bool,
}

/// A sheet of these rows. Columns of ranks are in the order in which rows need them, as in the reference.
pub(super) fn body<'a, F: 'a>(
    columns: ByRank<JointRow<'a, F>, Part<'a>>,
    rows: Vec<JointRow<'a, F>>,
) -> Body<'a> {
    let blocks = blocks(&rows);
    let of = |block: &Block| match block.is_first {
        true => &columns.first,
        false => &columns.then,
    };
    let named = blocks.iter().flat_map(|block| {
        let of_rank = of(block).iter();
        of_rank.map(|one| of_number(&one.column, block.rank))
    });
    let owned = |one: &Col<JointRow<'a, F>>| one.column.owned();
    let before = columns.before.iter().map(owned);
    let behind = columns.behind.iter().map(owned);
    let labels = before.chain(named).chain(behind).collect();
    let rows = rows.into_iter();
    Body {
        columns: labels,
        rows: Box::new(rows.map(move |row| columns.cells(&blocks, &row))),
    }
}

/// The first columns of all ranks of a row, then the others; in the order in which rows need them.
fn blocks<F>(rows: &[JointRow<F>]) -> Vec<Block> {
    let mut blocks: Set<Block> = Set::default();
    for row in rows {
        for is_first in [true, false] {
            for part in &row.joint.parts {
                let rank = part.call.rank.number;
                blocks.insert(Block { rank, is_first });
            }
        }
    }
    blocks.into_iter().collect()
}

/// Turns a generic column of ranks into that of one rank.
fn of_number(column: &Column, rank: u32) -> Column<String> {
    let label = column
        .label
        .replacen("rank_R_", &format!("rank_{rank}_"), 1);
    Column {
        label,
        unit: column.unit,
        doc: column.doc.to_owned(),
    }
}

//! The comparison of two traces: what the Compare view shows, and its tables.

mod facts;
mod gaps;
mod places;
mod tables;
#[cfg(test)]
mod tests;
mod tree;

use dormer_core::base::format;
use dormer_core::compare::Side;
use dormer_core::output::export::pair::{Cache, Input};
use dormer_core::report::sheet::Field;

use super::rows::{self, Rows};
use super::table::Table;
use crate::protocol::{
    CompareFacts, ComparedTable, RowsPage, RowsQuery, Total, TotalsQuery, sheet,
};
use tables::CompareTable;
use tree::DiffTree;

/// A comparison with its tables.
pub(super) struct Compared {
    /// Shared by views, tables and files.
    cache: Cache,
    tables: Vec<CompareTable>,
    rows: Rows,
    trees: DiffTree,
}

impl Compared {
    /// Compares two traces.
    pub(super) fn new(reference: Side, target: Side) -> Compared {
        let cache = Cache::default();
        let input = Input::new(reference, target, &cache);
        let mut tables = tables::tables(input.comparison());
        tables.push(places::table(input.tree()));
        let trees = DiffTree::new(input.tree().clone());
        Compared {
            cache,
            tables,
            rows: Rows::default(),
            trees,
        }
    }

    /// The input of the comparison's files; the sides must be those that were compared.
    pub(super) fn input<'a>(&'a self, [reference, target]: [Side<'a>; 2]) -> Input<'a> {
        Input::new(reference, target, &self.cache)
    }

    /// Everything that the view shows besides its tables.
    pub(super) fn facts(&self) -> CompareFacts {
        let known = self.cache.comparison().map(facts::facts);
        let mut tables = tables::list(&self.tables);
        // The trees contain calls with GPU activity.
        let sides = self.cache.comparison().map(|comparison| &comparison.sides);
        let has_gpu = sides.is_some_and(|sides| {
            sides.reference.timeline.is_some() || sides.target.timeline.is_some()
        });
        if has_gpu {
            tables.push(ComparedTable {
                key: sheet::TREE.to_owned(),
                count: format::count(self.trees.n_calls() as u64),
            });
        }
        CompareFacts {
            tables,
            ..known.unwrap_or_default()
        }
    }

    /// Both call trees, side by side.
    pub(super) fn trees(&mut self) -> &mut DiffTree {
        &mut self.trees
    }

    /// Whether a sheet belongs to the comparison.
    pub(super) fn has(sheet: &str) -> bool {
        sheet.starts_with("compare_")
    }

    /// A window of a table's rows.
    pub(super) fn rows(&mut self, query: &RowsQuery) -> RowsPage {
        let table = find(&self.tables, &query.sheet);
        self.rows.page(table.as_ref(), query)
    }

    /// The totals of some rows of a table.
    pub(super) fn totals(&self, query: &TotalsQuery) -> Vec<Total> {
        let table = find(&self.tables, &query.sheet);
        table.map_or_else(Vec::new, |table| rows::totals(&table, query))
    }

    /// All fields of one row of a table.
    pub(super) fn row(&self, sheet: &str, row: usize) -> Vec<Field> {
        let table = find(&self.tables, sheet);
        table.map_or_else(Vec::new, |table| rows::fields(&table, row))
    }
}

fn find<'a>(tables: &'a [CompareTable], name: &str) -> Option<Table<'a>> {
    let table = tables.iter().find(|table| table.sheet.name == name)?;
    Some(Table::of_kinds(&table.sheet, &table.kinds))
}

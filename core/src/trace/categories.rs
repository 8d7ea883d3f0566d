//! The category of each event, and the categories in which each name occurs.
//!
//! A file lists most events of a category together, so a pass over events of some categories skips whole blocks of
//! rows; and one that looks for names reads no row if no name matches.

use serde::{Deserialize, Serialize};

use super::{Category, Column, StringId};

/// Rows per block; a segment of a column consists of whole blocks.
const BLOCK_ROWS: usize = 1 << 10;

/// Some categories, one bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CategorySet(u16);

impl CategorySet {
    pub(super) fn of(is_of: impl Fn(Category) -> bool) -> CategorySet {
        let mut set = CategorySet::default();
        let all = Category::ALL
            .into_iter()
            .filter(|category| is_of(*category));
        all.for_each(|category| set.insert(category));
        set
    }

    fn insert(&mut self, category: Category) {
        self.0 |= 1 << category as u16;
    }

    fn has(self, category: Category) -> bool {
        self.0 >> category as u16 & 1 != 0
    }

    fn overlaps(self, other: CategorySet) -> bool {
        self.0 & other.0 != 0
    }
}

/// The category of each row.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Categories {
    rows: Column<Category>,
    /// Those of each block.
    of_block: Vec<CategorySet>,
    /// Those of the rows with each name.
    of_name: Vec<CategorySet>,
}

impl Categories {
    #[inline]
    pub(super) fn push(&mut self, category: Category, name: StringId) {
        if self.rows.len().is_multiple_of(BLOCK_ROWS) {
            self.of_block.push(CategorySet::default());
        }
        if let Some(of_block) = self.of_block.last_mut() {
            of_block.insert(category);
        }
        self.rows.push(category);
        match self.of_name.get_mut(name.0 as usize) {
            Some(of_name) => of_name.insert(category),
            None => self.add_name(category, name),
        }
    }

    #[cold]
    fn add_name(&mut self, category: Category, name: StringId) {
        self.of_name.resize(name.0 as usize, CategorySet::default());
        self.of_name.push(CategorySet::of(|of| of == category));
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<Category> {
        self.rows.get(row)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Category> + '_ {
        self.rows.iter()
    }

    /// The rows with one of these categories, in order.
    pub(super) fn places(&self, wanted: CategorySet) -> impl Iterator<Item = usize> + '_ {
        let mut blocks = self.of_block.iter().enumerate();
        let mut block: &[Category] = &[];
        // The row at which the current block ends.
        let mut end = 0;
        std::iter::from_fn(move || {
            loop {
                if let Some(at) = block.iter().position(|category| wanted.has(*category)) {
                    block = block.get(at + 1..).unwrap_or_default();
                    return Some(end - block.len() - 1);
                }
                let (at, _) = blocks.find(|(_, of_block)| of_block.overlaps(wanted))?;
                block = self.rows.slice(at * BLOCK_ROWS, BLOCK_ROWS);
                end = at * BLOCK_ROWS + block.len();
            }
        })
    }

    /// Whether a row with a name has one of these categories.
    pub(super) fn has_name(&self, name: StringId, wanted: CategorySet) -> bool {
        let of_name = self.of_name.get(name.0 as usize);
        of_name.is_some_and(|of_name| of_name.overlaps(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn blocks_without_a_wanted_category_are_skipped() {
        let category = |row: usize| match row {
            3 | 70_000 => Category::Kernel,
            row if row / 5_000 % 2 == 0 => Category::PythonFunction,
            _ => Category::CpuOp,
        };
        let mut categories = Categories::default();
        (0..80_001).for_each(|row| categories.push(category(row), StringId(7)));
        let places = |is_of: fn(Category) -> bool| -> Vec<usize> {
            categories.places(CategorySet::of(is_of)).collect()
        };
        assert_eq!(places(Category::is_gpu), [3, 70_000]);
        assert_eq!(places(Category::is_runtime), [0; 0]);
        let of_cpu = |row: &usize| category(*row) == Category::CpuOp;
        let expected: Vec<usize> = (0..80_001).filter(of_cpu).collect();
        assert_eq!(places(|of| of == Category::CpuOp), expected);
    }

    #[test]
    fn a_name_occurs_in_the_categories_of_its_rows() {
        let mut categories = Categories::default();
        categories.push(Category::CpuOp, StringId(2));
        categories.push(Category::Kernel, StringId(2));
        let kernels = CategorySet::of(|of| of == Category::Kernel);
        assert!(categories.has_name(StringId(2), kernels));
        let frames = CategorySet::of(|of| of == Category::PythonFunction);
        assert!(!categories.has_name(StringId(2), frames));
        assert!(
            ![0, 1, 3]
                .into_iter()
                .any(|name| categories.has_name(StringId(name), kernels))
        );
    }

    #[test]
    fn events_are_found_by_category_and_name() {
        let mm = Timetable::new()
            .op("mm", 0..5)
            .work("aten::mm", "mm", 10..20);
        let trace = mm.profile().trace;
        let times = |is_of: fn(Category) -> bool, name: &str| -> Vec<i64> {
            let found = trace.named(is_of, |other| other == name);
            found.map(|event| trace.events.ts_ns(event)).collect()
        };
        assert_eq!(times(|of| of == Category::CpuOp, "mm").len(), 1);
        assert_eq!(times(Category::is_gpu, "mm").len(), 1);
        assert_eq!(times(|_| true, "mm").len(), 2);
        assert_eq!(times(Category::is_gpu, "aten::mm"), [0; 0]);
    }
}

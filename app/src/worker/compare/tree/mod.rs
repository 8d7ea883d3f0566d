//! Both call trees side by side, with some nodes open.
//!
//! | module | content |
//! |---|---|
//! | [`outline`] | where the trees differ, and how the nodes are arranged |
//! | [`row`] | the content of one row |
//!
//! Rows are queried one window at a time: two traces may have several hundred thousand nodes.

mod outline;
mod row;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use dormer_core::compare::Pair;
use dormer_core::compare::tree::{DiffId, TreeDiff};
use dormer_core::{Profile, base::format};

use crate::protocol::{DiffRow, DiffRowsQuery, TreeChange, TreePage, TreeStep};
use crate::worker::tree::search::Search;
use crate::worker::tree::unfolded::Unfolded;
use outline::{Outline, Visible};

/// This many of the largest differences are initially open.
const OPEN_AT_FIRST: usize = 3;

/// Both call trees, side by side.
pub(in crate::worker) struct DiffTree {
    diff: Arc<TreeDiff>,
    /// Built when rows are first queried.
    outline: Option<Outline>,
    only_differences: bool,
    unfolded: Unfolded,
    search: Search,
}

impl DiffTree {
    pub(super) fn new(diff: Arc<TreeDiff>) -> DiffTree {
        DiffTree {
            diff,
            outline: None,
            only_differences: false,
            unfolded: Unfolded::default(),
            search: Search::default(),
        }
    }

    /// The number of calls; those in both traces count once.
    pub(super) fn n_calls(&self) -> usize {
        self.diff.len()
    }

    /// A window of rows.
    pub(in crate::worker) fn rows(
        &mut self,
        profiles: Pair<&Profile>,
        query: &DiffRowsQuery,
    ) -> TreePage<DiffRow> {
        let tree = shown(
            &self.diff,
            prepared(&mut self.outline, &self.diff, profiles, &mut self.unfolded),
            self.only_differences,
        );
        let unfolded = &self.unfolded;
        unfolded.page(query.offset, query.count, |row| {
            row::row(&tree, profiles, row.node, unfolded.branch(&tree, row))
        })
    }

    /// Opens, closes or finds nodes.
    pub(in crate::worker) fn step(
        &mut self,
        profiles: Pair<&Profile>,
        step: &TreeStep,
    ) -> TreeChange {
        let DiffTree {
            diff,
            outline,
            only_differences,
            unfolded,
            search,
        } = self;
        let outline = prepared(outline, diff, profiles, unfolded);
        if let TreeStep::OnlyDifferences(only) = step
            && only != only_differences
        {
            *only_differences = *only;
            *search = Search::default();
            unfolded.renew(&shown(diff, outline, *only));
        }
        let tree = shown(diff, outline, *only_differences);
        let mut change = TreeChange {
            of: outline.differences.len(),
            ..TreeChange::default()
        };
        let node = match step {
            TreeStep::Find(query) => {
                let contains = &mut |node: u32, text: &str| {
                    let name = row::name(diff, node);
                    name.to_lowercase().contains(text)
                };
                change = search
                    .find(unfolded, &tree, query, contains)
                    .unwrap_or_default();
                None
            }
            TreeStep::CloseAll => {
                unfolded.open_only(&tree, HashSet::from([DiffId::ROOT.0]));
                None
            }
            TreeStep::Difference(number) => {
                let at = number.saturating_sub(1) % change.of.max(1);
                outline.differences.get(at).map(|node| {
                    unfolded.reveal(&tree, *node);
                    change.position = at + 1;
                    *node
                })
            }
            step => unfolded.step(&tree, step),
        };
        TreeChange {
            total: unfolded.rows().len(),
            summary: outline.summary(),
            target: node
                .and_then(|node| unfolded.target(node))
                .or(change.target),
            ..change
        }
    }
}

/// The outline of the differences; when it is first built, the path to the largest one is opened.
fn prepared<'a>(
    outline: &'a mut Option<Outline>,
    diff: &TreeDiff,
    profiles: Pair<&Profile>,
    unfolded: &mut Unfolded,
) -> &'a Outline {
    outline.get_or_insert_with(|| {
        let outline = Outline::new(diff, profiles);
        let tree = shown(diff, &outline, false);
        unfolded.open_only(&tree, HashSet::from([DiffId::ROOT.0]));
        for node in outline.differences.iter().take(OPEN_AT_FIRST) {
            unfolded.reveal(&tree, *node);
        }
        // The calls are the same, but not their times.
        if outline.differences.is_empty() {
            for id in outline.way_to_largest(diff) {
                unfolded.reveal(&tree, id.0);
            }
        }
        outline
    })
}

fn shown<'a>(diff: &'a TreeDiff, outline: &'a Outline, only_differences: bool) -> Visible<'a> {
    Visible {
        diff,
        outline,
        only_differences,
    }
}

impl Outline {
    /// Whether the trees differ, in a sentence.
    fn summary(&self) -> String {
        match self.differences.len() as u64 {
            0 if self.is_same() && self.largest_ns > 0 => {
                "The same calls, which launch the same kernels; only times differ.".to_owned()
            }
            0 if self.is_same() => {
                "No difference: both traces make the same calls, and these launch the same kernels."
                    .to_owned()
            }
            0 => "The traces differ only in wrapper calls: calls that one trace makes around the same kernels."
                .to_owned(),
            1 => "1 difference".to_owned(),
            n => format!("{}, the largest first", format::counted(n, "difference")),
        }
    }
}

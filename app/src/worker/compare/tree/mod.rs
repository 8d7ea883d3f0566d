//! Both call trees side by side, with some nodes open.
//!
//! | module | what is in it |
//! |---|---|
//! | [`outline`] | where the trees differ, and how the nodes lie |
//! | [`row`] | what is said of one node |
//!
//! A window of rows is asked for at a time: two traces may have some hundred thousand nodes.

mod outline;
mod row;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use dormer_core::compare::Pair;
use dormer_core::compare::tree::{DiffId, TreeDiff};
use dormer_core::{Profile, base::format};

use crate::protocol::{DiffChange, DiffPage, DiffRowsQuery, DiffStep, FindInTree, TreeTarget};
use crate::worker::tree::search::Search;
use crate::worker::tree::unfolded::{Branches, Unfolded};
use outline::{Outline, Shown};

/// So many of the largest differences are open at first.
const OPEN_AT_FIRST: usize = 3;

/// Both call trees, side by side.
pub(in crate::worker) struct DiffTree {
    diff: Arc<TreeDiff>,
    /// Made when rows are first asked for.
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

    /// How many calls there are, those of both counted once.
    pub(super) fn n_calls(&self) -> usize {
        self.diff.len()
    }

    /// A window of rows.
    pub(in crate::worker) fn rows(
        &mut self,
        profiles: Pair<&Profile>,
        query: &DiffRowsQuery,
    ) -> DiffPage {
        self.prepare(profiles);
        let rows = self.unfolded.rows();
        let window = rows.iter().skip(query.offset).take(query.count);
        let of = self.outline.iter().flat_map(|outline| {
            let is_open = |node| self.unfolded.is_open(node);
            let shown = self.shown(outline);
            window
                .clone()
                .map(move |row| row::row(&shown, profiles, *row, is_open(row.node)))
        });
        DiffPage {
            total: rows.len(),
            offset: query.offset,
            rows: of.collect(),
        }
    }

    /// Opens, closes or finds nodes.
    pub(in crate::worker) fn step(
        &mut self,
        profiles: Pair<&Profile>,
        step: &DiffStep,
    ) -> DiffChange {
        self.prepare(profiles);
        let Some(outline) = self.outline.take() else {
            return DiffChange::default();
        };
        let change = self.stepped(&outline, step);
        let change = DiffChange {
            total: self.unfolded.rows().len(),
            summary: outline.summary(),
            ..change
        };
        self.outline = Some(outline);
        change
    }

    fn stepped(&mut self, outline: &Outline, step: &DiffStep) -> DiffChange {
        let mut change = DiffChange {
            of: outline.differences.len(),
            ..DiffChange::default()
        };
        match step {
            DiffStep::Look { only_differences } => {
                if self.only_differences != *only_differences {
                    self.only_differences = *only_differences;
                    self.search = Search::default();
                    self.with_branches(outline, |unfolded, tree| unfolded.renew(tree));
                }
            }
            DiffStep::Toggle(node) => {
                self.with_branches(outline, |unfolded, tree| unfolded.toggle(tree, *node));
                change.target = self.target(*node);
            }
            DiffStep::Reveal(node) => {
                self.with_branches(outline, |unfolded, tree| unfolded.reveal(tree, *node));
                change.target = self.target(*node);
            }
            DiffStep::Parent(node) => {
                let parent = self.shown(outline).parent(*node);
                change.target = parent.and_then(|parent| self.target(parent));
            }
            DiffStep::CloseAll => {
                let root = HashSet::from([DiffId::ROOT.0]);
                self.with_branches(outline, |unfolded, tree| unfolded.open_only(tree, root));
            }
            DiffStep::Difference(number) => {
                let n_differences = change.of.max(1);
                let at = number.saturating_sub(1) % n_differences;
                if let Some(node) = outline.differences.get(at) {
                    self.with_branches(outline, |unfolded, tree| unfolded.reveal(tree, *node));
                    change.target = self.target(*node);
                    change.position = at + 1;
                }
            }
            DiffStep::Find(query) => return self.find(outline, query),
        }
        change
    }

    fn find(&mut self, outline: &Outline, query: &FindInTree) -> DiffChange {
        let tree = shown(&self.diff, outline, self.only_differences);
        let contains = &mut |node: u32, text: &str| {
            let name = row::name(&self.diff, node);
            name.to_lowercase().contains(text)
        };
        let Some(found) = self.search.find(&tree, query, contains) else {
            return DiffChange::default();
        };
        self.unfolded.reveal(&tree, found.node);
        DiffChange {
            target: self.target(found.node),
            position: found.position,
            of: found.matches,
            ..DiffChange::default()
        }
    }

    /// Finds the differences, and opens what leads to the largest.
    fn prepare(&mut self, profiles: Pair<&Profile>) {
        if self.outline.is_some() {
            return;
        }
        let outline = Outline::new(&self.diff, profiles);
        self.with_branches(&outline, |unfolded, tree| {
            unfolded.open_only(tree, HashSet::from([DiffId::ROOT.0]));
            for node in outline.differences.iter().take(OPEN_AT_FIRST) {
                unfolded.reveal(tree, *node);
            }
        });
        // The calls are the same, but not their times.
        if outline.differences.is_empty() {
            for id in outline.way_to_largest(&self.diff) {
                self.with_branches(&outline, |unfolded, tree| unfolded.reveal(tree, id.0));
            }
        }
        self.outline = Some(outline);
    }

    fn shown<'a>(&'a self, outline: &'a Outline) -> Shown<'a> {
        shown(&self.diff, outline, self.only_differences)
    }

    fn with_branches(
        &mut self,
        outline: &Outline,
        change: impl FnOnce(&mut Unfolded, &dyn Branches),
    ) {
        let tree = shown(&self.diff, outline, self.only_differences);
        change(&mut self.unfolded, &tree);
    }

    fn target(&self, node: u32) -> Option<TreeTarget> {
        let row = self.unfolded.position(node)?;
        Some(TreeTarget { row, node })
    }
}

fn shown<'a>(diff: &'a TreeDiff, outline: &'a Outline, only_differences: bool) -> Shown<'a> {
    Shown {
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
            0 => "No difference but wrappers: calls that one trace makes around the same work."
                .to_owned(),
            1 => "1 difference".to_owned(),
            n => format!("{}, the largest first", format::counted(n, "difference")),
        }
    }
}

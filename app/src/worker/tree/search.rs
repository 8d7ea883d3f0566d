//! Going from one matching node to the next.

use super::unfolded::{Branches, Row, Unfolded, unfold};
use crate::protocol::{Direction, FindInTree, TreeChange};

/// The last search: usually the next match of the same text is requested.
#[derive(Debug, Default)]
pub(in crate::worker) struct Search {
    /// All rows, depth first, as if everything were open, unless other rows were given.
    everything: Vec<u32>,
    text: Option<String>,
    /// The rows whose name contains the text, as positions among all rows.
    matches: Vec<usize>,
}

/// A node whose name contains the text.
#[derive(Debug, Clone, Copy)]
pub(in crate::worker) struct Match {
    pub(in crate::worker) node: u32,
    /// The match's position among all matches, from 1.
    pub(in crate::worker) position: usize,
    /// The number of matches.
    pub(in crate::worker) of: usize,
}

impl Search {
    /// Searches only these rows instead of all.
    pub(in crate::worker) fn over(&mut self, rows: &[Row]) {
        let is_known = self.everything.len() == rows.len();
        let nodes = || rows.iter().map(|row| row.node);
        if !(is_known && nodes().eq(self.everything.iter().copied())) {
            *self = Search {
                everything: nodes().collect(),
                ..Search::default()
            };
        }
    }

    /// Goes to the next node whose name contains a text, and opens everything above it; `contains` receives the text in
    /// lower case.
    pub(in crate::worker) fn find(
        &mut self,
        unfolded: &mut Unfolded,
        tree: &dyn Branches,
        query: &FindInTree,
        contains: &mut dyn FnMut(u32, &str) -> bool,
    ) -> Option<TreeChange> {
        let found = self.next(tree, query, contains)?;
        unfolded.reveal(tree, found.node);
        Some(TreeChange {
            target: unfolded.target(found.node),
            position: found.position,
            of: found.of,
            ..TreeChange::default()
        })
    }

    /// The next node whose name contains a text.
    pub(in crate::worker) fn next(
        &mut self,
        tree: &dyn Branches,
        query: &FindInTree,
        contains: &mut dyn FnMut(u32, &str) -> bool,
    ) -> Option<Match> {
        if self.everything.is_empty() {
            let all = unfold(tree, None, &|_| true);
            self.everything = all.iter().map(|row| row.node).collect();
        }
        let text = query.text.trim().to_lowercase();
        if self.text.as_ref() != Some(&text) {
            let rows = self.everything.iter().enumerate();
            let matches = rows.filter(|(_, node)| contains(**node, &text));
            self.matches = matches.map(|(row, _)| row).collect();
            self.text = Some(text);
        }
        let place = |node: u32| self.everything.iter().position(|other| *other == node);
        let from = query.from.map(|node| place(node).unwrap_or(0));
        let n_matches = self.matches.len();
        let before = |limit: usize| self.matches.partition_point(|row| *row < limit);
        let position = match (from, query.direction) {
            (None, Direction::Previous) => n_matches.checked_sub(1)?,
            (None, _) => 0,
            (Some(from), Direction::Here) => before(from),
            (Some(from), Direction::Next) => before(from.saturating_add(1)),
            (Some(from), Direction::Previous) => match before(from) {
                0 => n_matches.checked_sub(1)?,
                position => position - 1,
            },
        };
        let position = if position < n_matches { position } else { 0 };
        let node = *self.everything.get(*self.matches.get(position)?)?;
        Some(Match {
            node,
            position: position + 1,
            of: n_matches,
        })
    }
}

//! Which calls the table shows: from the first branching, and without those that launched no GPU activity.

use std::collections::{HashMap, HashSet};

use super::shape::{Calls, Item};
use super::unfolded::{Branches, Row, Unfolded};

/// Fewer calls than this around all others are normal rows.
const FOLD_FROM: usize = 3;

/// The shown part of a tree.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Calls around everything else, outermost first. They are shown above the table.
    stack: Vec<Item>,
    /// How many of them are folded.
    folded: usize,
    /// Whether calls without GPU activity are hidden.
    pub(super) hides: bool,
    /// Calls that are shown although such calls are hidden: those that were navigated to, and everything above them.
    anyway: HashSet<Item>,
    /// For each call, how many of its children are hidden.
    hidden: HashMap<Option<Item>, usize>,
}

impl Part {
    /// Starts over with a tree.
    pub(super) fn start(&mut self, calls: &Calls, hides: bool) {
        *self = Part {
            hides,
            ..Part::default()
        };
        self.stack = stack(&Visible { calls, part: self });
        self.fold();
    }

    /// The folded calls, outermost first.
    pub(super) fn folded(&self) -> &[Item] {
        self.stack.get(..self.folded).unwrap_or_default()
    }

    /// The innermost call of the stack, folded or not.
    pub(super) fn innermost(&self) -> Option<Item> {
        self.stack.last().copied()
    }

    /// Whether more of the stack can be folded.
    pub(super) fn can_fold(&self) -> bool {
        self.folded < self.foldable()
    }

    /// Folds the whole stack.
    pub(super) fn fold(&mut self) {
        self.folded = self.foldable();
    }

    fn foldable(&self) -> usize {
        match self.stack.len() {
            0..FOLD_FROM => 0,
            n => n,
        }
    }

    /// Makes a folded call the first row; `None` shows all rows. `false` if the call is not folded.
    pub(super) fn start_at(&mut self, item: Option<Item>) -> bool {
        let at = match item {
            None => Some(0),
            Some(item) => self.folded().iter().position(|folded| *folded == item),
        };
        if let Some(at) = at {
            self.folded = at;
        }
        at.is_some()
    }

    /// Makes an item visible; `true` if the rows have changed.
    pub(super) fn show(&mut self, calls: &Calls, item: Item) -> bool {
        let above: Vec<Item> =
            std::iter::successors(Some(item), |item| calls.parent(*item)).collect();
        let around = self.folded().iter();
        let kept = around
            .zip(above.iter().skip(1).rev())
            .take_while(|(one, other)| one == other)
            .count();
        let mut is_changed = kept < self.folded;
        self.folded = kept;
        if self.hides {
            for item in above {
                if !calls.has_work(item) {
                    is_changed |= self.anyway.insert(item);
                }
            }
        }
        if is_changed {
            self.hidden.clear();
        }
        is_changed
    }

    /// How many rows are hidden below the open ones.
    pub(super) fn n_hidden(&mut self, calls: &Calls, unfolded: &Unfolded) -> usize {
        if !self.hides {
            return 0;
        }
        let is_open = |row: &&Row| unfolded.is_open(row.node);
        let open: Vec<Item> = unfolded
            .rows()
            .iter()
            .filter(is_open)
            .map(|row| row.node)
            .collect();
        let mut hidden = std::mem::take(&mut self.hidden);
        let visible = Visible { calls, part: self };
        let above = std::iter::once(self.base()).chain(open.into_iter().map(Some));
        let of_each = above.map(|above| {
            *hidden
                .entry(above)
                .or_insert_with(|| visible.n_hidden(above))
        });
        let n_hidden = of_each.sum();
        self.hidden = hidden;
        n_hidden
    }

    fn base(&self) -> Option<Item> {
        self.folded().last().copied()
    }
}

/// The calls of a part.
pub(super) struct Visible<'a> {
    pub(super) calls: &'a Calls<'a>,
    pub(super) part: &'a Part,
}

impl Visible<'_> {
    fn is_shown(&self, item: Item) -> bool {
        !self.part.hides || self.part.anyway.contains(&item) || self.calls.has_work(item)
    }

    /// Below a call without GPU activity, all calls are shown.
    fn shows_all_below(&self, above: Option<Item>) -> bool {
        !self.part.hides || above.is_some_and(|above| !self.calls.has_work(above))
    }

    fn n_hidden(&self, above: Option<Item>) -> usize {
        if self.shows_all_below(above) {
            return 0;
        }
        let all = match above {
            Some(above) => self.calls.children(above),
            None => self.calls.roots(),
        };
        all.into_iter().filter(|item| !self.is_shown(*item)).count()
    }
}

impl Branches for Visible<'_> {
    fn below(&self, above: Option<Item>) -> Vec<Item> {
        let above = above.or(self.part.base());
        let mut below = match above {
            Some(above) => self.calls.children(above),
            None => self.calls.roots(),
        };
        if !self.shows_all_below(above) {
            below.retain(|item| self.is_shown(*item));
        }
        self.calls.sort(&mut below);
        below
    }

    fn has_children(&self, item: Item) -> bool {
        self.calls.has_children(item)
            && (self.shows_all_below(Some(item))
                || self
                    .calls
                    .children(item)
                    .into_iter()
                    .any(|item| self.is_shown(item)))
    }

    fn parent(&self, item: Item) -> Option<Item> {
        let parent = self.calls.parent(item);
        parent.filter(|parent| Some(*parent) != self.part.base())
    }

    fn depth(&self, item: Item) -> u32 {
        let folded = u32::try_from(self.part.folded).unwrap_or(u32::MAX);
        self.calls.depth(item).saturating_sub(folded)
    }
}

/// The calls around everything shown, down to the first one that has several children, stands for several modules, or
/// has GPU activity of its own.
fn stack(visible: &Visible) -> Vec<Item> {
    let below = |above: Option<Item>| {
        let mut below = match above {
            Some(above) => visible.calls.children(above),
            None => visible.calls.roots(),
        };
        below.retain(|item| visible.is_shown(*item));
        below
    };
    let mut stack = Vec::new();
    let mut siblings = below(None);
    while let [only] = *siblings {
        if visible.calls.instances(only).is_some() {
            break;
        }
        siblings = below(Some(only));
        if siblings.is_empty() {
            // Nothing branches.
            return Vec::new();
        }
        if siblings.len() != 1 || visible.calls.figures(only).own.n_work > 0 {
            break;
        }
        stack.push(only);
    }
    stack
}

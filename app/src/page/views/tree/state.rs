//! What the Call tree view shows and what happens to it.

use std::sync::Arc;

use leptos::prelude::*;

use crate::page::components::{RowAct, TreeAct, TreeLine, VirtualRow, VirtualRows, tree_act};
use crate::page::engine::Engine;
use crate::page::state::AppState;
use crate::page::url::Focus;
use crate::protocol::{
    Direction, FindInTree, Sort, TreeChange, TreeFacts, TreeLook, TreeMode, TreeRow, TreeRowsQuery,
    TreeTarget, Unfold, tree_sort,
};

impl VirtualRow for TreeRow {
    fn id(&self) -> u32 {
        self.node
    }
}

impl TreeLine for TreeRow {
    fn open(&self) -> Option<bool> {
        self.open
    }
}

/// How the place in the URL wants the tree. Calls put together come with the most GPU time first.
fn look(focus: &Focus) -> TreeLook {
    let mode = TreeMode::of(&focus.table);
    let usual = || {
        (mode != TreeMode::Recorded).then(|| Sort {
            column: tree_sort::GPU.to_owned(),
            descending: true,
        })
    };
    let sort = focus.sort.clone().or_else(usual);
    TreeLook {
        mode,
        sort: sort.filter(|sort| sort.column != tree_sort::RECORDED),
        keep: None,
    }
}

/// How the tree is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Drawing {
    /// Rows.
    #[default]
    Table,
    /// Blocks as wide as their GPU time.
    FlameByGpu,
    /// Blocks as wide as their CPU time.
    FlameByCpu,
}

impl Drawing {
    /// All of them, with what the URL and the page call them.
    pub(super) const ALL: [(Drawing, &'static str, &'static str); 3] = [
        (Drawing::Table, "", "Table"),
        (Drawing::FlameByGpu, "flame", "Flame graph by GPU time"),
        (Drawing::FlameByCpu, "flame-cpu", "Flame graph by CPU time"),
    ];

    /// Its word in the URL.
    pub(super) fn slug(self) -> &'static str {
        let known = Drawing::ALL.iter().find(|(drawing, ..)| *drawing == self);
        known.map(|(_, slug, _)| *slug).unwrap_or_default()
    }

    /// The one of a word in the URL.
    fn of(slug: &str) -> Drawing {
        let named = Drawing::ALL.iter().find(|(_, known, _)| *known == slug);
        named.map(|(drawing, ..)| *drawing).unwrap_or_default()
    }
}

/// What the tree is doing. Copy: pass it around.
#[derive(Clone, Copy)]
pub(super) struct TreeState {
    pub(super) state: AppState,
    pub(super) engine: Engine,
    pub(super) rows: VirtualRows<TreeRow>,
    /// Position of the selected node.
    pub(super) cursor: RwSignal<Option<usize>>,
    /// The how many-eth of how many matches the search stands on.
    pub(super) found: RwSignal<Option<(usize, usize)>>,
    /// How it is shown.
    pub(super) look: Memo<TreeLook>,
    /// How it is drawn.
    pub(super) drawing: Memo<Drawing>,
    /// Why there is nothing to show.
    pub(super) missing: RwSignal<Option<String>>,
    /// The node that is to stay selected when the tree is shown in another way.
    keep: StoredValue<Option<u32>>,
}

impl TreeState {
    /// Asks for the tree that the place names, and for the node or event that it names.
    pub(super) fn new(state: AppState, engine: Engine) -> TreeState {
        let rows = VirtualRows::new(state, move |rows, list, offset, count| {
            engine.ask(TreeRowsQuery { offset, count }, move |page| {
                rows.accept(list, page.total, page.offset, page.rows);
            });
        });
        let tree = TreeState {
            state,
            engine,
            rows,
            cursor: rows.window.cursor,
            found: RwSignal::new(None),
            look: Memo::new(move |_| state.place.with(|place| look(&place.focus))),
            drawing: Memo::new(move |_| {
                state.place.with(|place| Drawing::of(&place.focus.section))
            }),
            missing: RwSignal::new(None),
            keep: StoredValue::new(None),
        };
        tree.send_look(None);
        // The URL may name a node that lies in a closed part of the tree, or an event.
        let (event, node) = state
            .place
            .with_untracked(|place| (place.focus.event, place.focus.row));
        if let Some(reveal) = event.map(Unfold::RevealEvent).or(node.map(Unfold::Reveal)) {
            tree.unfold(reveal);
        }
        Effect::watch(
            move || (tree.look.get(), state.report.get()),
            move |new, old, _| {
                tree.found.set(None);
                match old {
                    Some(old) if old.0 != new.0 => {
                        tree.cursor.set(None);
                        let keep = tree.keep.try_update_value(Option::take).flatten();
                        tree.send_look(keep);
                        rows.restart();
                    }
                    _ => {
                        tree.send_look(None);
                        rows.renew();
                    }
                }
            },
            false,
        );
        tree
    }

    /// Tells the worker how the tree is to be shown; every later question is about that. A call of
    /// the tree before stays selected where the new one has it.
    fn send_look(self, keep: Option<u32>) {
        let look = TreeLook {
            keep,
            ..self.look.get_untracked()
        };
        self.engine.ask(look, move |facts: TreeFacts| {
            if self.rows.are_gone() {
                return;
            }
            self.missing.set(facts.missing);
            self.rows.window.total.set(facts.total);
            if let Some(target) = facts.target {
                self.select(target, true);
            }
        });
    }

    /// Shows the tree in another way; the selected call stays selected where that way has it.
    pub(super) fn show_as(self, change: impl FnOnce(&mut Focus)) {
        self.state.look_at(|focus| {
            // A node of one tree is another one in the next.
            self.keep.set_value(focus.row.take());
            focus.event = None;
            focus.top = None;
            change(focus);
        });
    }

    /// Opens or closes nodes, or goes to one.
    pub(super) fn unfold(self, unfold: Unfold) {
        self.engine.ask(unfold, move |change: TreeChange| {
            if self.rows.are_gone() {
                return;
            }
            if matches!(unfold, Unfold::CloseAll | Unfold::ToDepth(_)) {
                self.cursor.set(None);
                self.rows.restart();
            } else {
                self.rows.renew();
            }
            self.rows.window.total.set(change.total);
            if let Some(target) = change.target {
                self.select(
                    target,
                    matches!(
                        unfold,
                        Unfold::Reveal(_) | Unfold::RevealEvent(_) | Unfold::Hottest(_)
                    ),
                );
            }
        });
    }

    /// Selects a row.
    pub(super) fn select(self, target: TreeTarget, from_afar: bool) {
        self.cursor.set(Some(target.row));
        self.state.look_at(|focus| {
            focus.row = Some(target.node);
            focus.event = None;
        });
        if from_afar {
            self.rows.window.show_in_middle(target.row);
        } else {
            self.rows.window.show(target.row);
        }
    }

    /// Goes to a call of the name that is searched.
    pub(super) fn find(self, direction: Direction) {
        let text = self
            .state
            .place
            .with_untracked(|place| place.focus.find.clone());
        if text.is_empty() {
            self.found.set(None);
            return;
        }
        let from = self.state.place.with_untracked(|place| place.focus.row);
        let query = FindInTree {
            text,
            from,
            direction,
        };
        self.engine.ask(query, move |answer| match answer {
            _ if self.rows.are_gone() => {}
            None => self.found.set(Some((0, 0))),
            Some(found) => {
                self.found.set(Some((found.position, found.matches)));
                self.rows.renew();
                self.select(found.target, true);
            }
        });
    }

    /// The selected row, once it is here.
    pub(super) fn selected(self) -> Option<Arc<TreeRow>> {
        self.rows.at_cursor()
    }

    /// What is done with a row or a key of the table.
    pub(super) fn act(self, act: RowAct) -> bool {
        tree_act(self.rows, act, |act| {
            match act {
                TreeAct::Select(target) => self.select(target, false),
                TreeAct::Toggle(node) => self.unfold(Unfold::Toggle(node)),
                TreeAct::Parent(node) => self.unfold(Unfold::Parent(node)),
                TreeAct::Press("h", node) => self.unfold(Unfold::Hottest(node)),
                TreeAct::Press(..) => return false,
            }
            true
        })
    }
}

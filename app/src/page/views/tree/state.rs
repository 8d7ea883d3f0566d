//! The state of the Call tree view.

use crate::page::prelude::*;
use crate::protocol::{
    Branch, Sort, TreeMode, TreeRow, TreeRowsQuery, TreeSettings, TreeStep, tree_sort,
};

impl VirtualRow for TreeRow {
    fn id(&self) -> u32 {
        self.node
    }

    fn branch(&self) -> Option<Branch> {
        Some(self.branch)
    }
}

/// The tree's settings for a place in the URL. Aggregated calls are sorted by GPU time, highest first.
fn settings(focus: &Focus) -> TreeSettings {
    let mode = TreeMode::of(&focus.table);
    let usual = || {
        (mode != TreeMode::Recorded).then(|| Sort {
            column: tree_sort::GPU.to_owned(),
            descending: true,
        })
    };
    let sort = focus.sort.clone().or_else(usual);
    TreeSettings {
        mode,
        sort: sort.filter(|sort| sort.column != tree_sort::RECORDED),
        keep: None,
        all_rows: focus.all_rows,
    }
}

/// How the tree is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Drawing {
    /// As rows.
    #[default]
    Table,
    /// As blocks as wide as their GPU time.
    FlameByGpu,
    /// As blocks as wide as their CPU time.
    FlameByCpu,
}

impl Drawing {
    /// All of them, with their names in the URL and on the page.
    pub(super) const ALL: [(Drawing, &'static str, &'static str); 3] = [
        (Drawing::Table, "", "Table"),
        (Drawing::FlameByGpu, "flame", "GPU flame graph"),
        (Drawing::FlameByCpu, "flame-cpu", "CPU flame graph"),
    ];

    pub(super) fn slug(self) -> &'static str {
        let known = Drawing::ALL.iter().find(|(drawing, ..)| *drawing == self);
        known.map(|(_, slug, _)| *slug).unwrap_or_default()
    }

    /// The variant for a name in the URL.
    pub(super) fn of(slug: &str) -> Drawing {
        let named = Drawing::ALL.iter().find(|(_, known, _)| *known == slug);
        named.map(|(drawing, ..)| *drawing).unwrap_or_default()
    }
}

/// The state of the tree. `Copy`, so pass it around.
#[derive(Clone, Copy)]
pub(super) struct TreeState {
    pub(super) list: TreeRows<TreeRow>,
    pub(super) settings: Memo<TreeSettings>,
    pub(super) drawing: Memo<Drawing>,
    /// The node to keep selected when the tree's settings change.
    keep: StoredValue<Option<u32>>,
    /// Counts rearrangements of the rows that the place does not describe.
    pub(super) rearranged: RwSignal<u32>,
}

impl TreeState {
    /// Requests the tree that the place describes, and the node or event that it names.
    pub(super) fn new(state: AppState, engine: Engine) -> TreeState {
        let query = |offset, count| TreeRowsQuery { offset, count };
        let list = TreeRows::new(state, engine, false, query);
        let tree = TreeState {
            list,
            settings: state.of_place(|place| settings(&place.focus)),
            drawing: state.of_place(|place| Drawing::of(&place.focus.section)),
            keep: StoredValue::new(None),
            rearranged: RwSignal::new(0),
        };
        tree.send_settings(None);
        // The URL may name a node in a folded part of the tree, or an event.
        let (event, node) = state
            .place
            .with_untracked(|place| (place.focus.event, place.focus.row));
        let event = event.map(TreeStep::RevealEvent);
        if let Some(reveal) = event.or(node.map(TreeStep::Reveal)) {
            list.step(reveal);
        }
        Effect::watch(
            move || (tree.settings.get(), state.report.get()),
            move |new, old, _| {
                list.found.set(None);
                match old {
                    Some(old) if old.0 != new.0 => {
                        list.rows.window.cursor.set(None);
                        let keep = tree.keep.try_update_value(Option::take).flatten();
                        tree.send_settings(keep);
                        list.rows.restart();
                    }
                    _ => {
                        tree.send_settings(None);
                        list.rows.renew();
                    }
                }
            },
            false,
        );
        tree
    }

    /// Sends the tree's settings to the worker; all later queries use them. A selected call stays selected if the new
    /// tree contains it.
    fn send_settings(self, keep: Option<u32>) {
        let settings = self.settings.get_untracked();
        self.list
            .step(TreeStep::Settings(TreeSettings { keep, ..settings }));
    }

    /// Changes the tree's settings; the selected call stays selected if the new tree contains it.
    pub(super) fn show_as(self, change: impl FnOnce(&mut Focus)) {
        self.list.state.look_at(|focus| {
            // A node has another number in another tree.
            self.keep.set_value(focus.row.take());
            focus.event = None;
            focus.top = None;
            change(focus);
        });
    }

    /// Draws the same tree differently. A flame graph of calls as recorded would have thousands of blocks, so the calls
    /// are aggregated first.
    pub(super) fn draw_as(self, drawing: Drawing) {
        let slug = drawing.slug().to_owned();
        let is_recorded = self
            .settings
            .with_untracked(|settings| settings.mode == TreeMode::Recorded);
        let was_table = self.drawing.get_untracked() == Drawing::Table;
        if drawing != Drawing::Table && was_table && is_recorded {
            self.show_as(|focus| {
                focus.section = slug;
                focus.table = TreeMode::TopDown.slug().to_owned();
            });
        } else {
            self.list.state.look_at(|focus| focus.section = slug);
        }
    }

    /// Shows or hides calls without GPU time.
    pub(super) fn show_all_rows(self, all_rows: bool) {
        self.show_as(|focus| focus.all_rows = all_rows);
    }

    /// Performs a step that also changes the flame graph.
    pub(super) fn rearrange(self, step: TreeStep) {
        self.list.step(step);
        self.rearranged.update(|times| *times += 1);
    }

    /// Handles an action on rows or a key.
    pub(super) fn act(self, act: RowAct) -> bool {
        self.list.act(act, |key, node| {
            match key {
                "h" => self.list.step(TreeStep::Hottest(node)),
                "i" => match node {
                    Some(node) => self.rearrange(TreeStep::Instances(node)),
                    None => return false,
                },
                _ => return false,
            }
            true
        })
    }
}

//! What the tables of trees share: steps and keys, search, indentation, the fold marker of a node.

use super::table_tools::search_field;
use crate::page::prelude::*;
use crate::protocol::{
    Direction, FindInTree, Query, TreeChange, TreePage, TreeQuery, TreeStep, TreeTarget,
};

/// Indentation of a level.
const STEP_PX: u32 = 16;
/// Beyond this depth, levels are indented less and less: calls nest hundreds deep, and names must stay visible.
const DEEP: u32 = 12;
/// The indentation that all deeper levels share.
const DEEP_PX: u32 = 96;

/// The left indentation of a name: never more than a percentage of the table.
pub fn indent(depth: u32, most_percent: u32) -> String {
    let deeper = depth.saturating_sub(DEEP);
    let px = depth.min(DEEP) * STEP_PX + DEEP_PX * deeper / (deeper + 20);
    format!("calc(8px + min({px}px, {most_percent}cqi))")
}

/// The fold marker of a node; for a leaf, a space of the same width.
pub fn fold_mark(open: Option<bool>) -> AnyView {
    let class = match open {
        None => "leaf",
        Some(false) => "fold",
        Some(true) => "fold open",
    };
    view! { <i class=class aria-hidden="true"></i> }.into_any()
}

/// A tree in a table: its rows, its search and its selection. `Copy`, so pass it around.
pub struct TreeRows<T: VirtualRow> {
    /// The page.
    pub state: AppState,
    engine: Engine,
    /// The shown rows.
    pub rows: VirtualRows<T>,
    /// Whether it is the tree of two traces.
    of_both: bool,
    /// The current match of the search, and the number of matches.
    pub found: RwSignal<Option<(usize, usize)>>,
    /// The current difference, from 1, and their number; zero for none.
    pub difference: RwSignal<(usize, usize)>,
    /// Why it has no rows, or whether there are differences.
    pub summary: RwSignal<String>,
    /// The result of the last step.
    pub last_change: RwSignal<TreeChange>,
}

impl<T: VirtualRow> Clone for TreeRows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: VirtualRow> Copy for TreeRows<T> {}

impl<T: VirtualRow> TreeRows<T> {
    /// A tree whose rows `query` requests, by first row and count.
    pub fn new<Q: Query<Answer = TreePage<T>> + 'static>(
        state: AppState,
        engine: Engine,
        of_both: bool,
        query: fn(usize, usize) -> Q,
    ) -> TreeRows<T> {
        let rows = VirtualRows::new(state, move |rows, list, offset, count| {
            engine.ask(query(offset, count), move |page| {
                rows.accept(list, page.total, page.offset, page.rows);
            });
        });
        TreeRows {
            state,
            engine,
            rows,
            of_both,
            found: RwSignal::new(None),
            difference: RwSignal::new((0, 0)),
            summary: RwSignal::new(String::new()),
            last_change: RwSignal::new(TreeChange::default()),
        }
    }

    /// Has the worker perform a step, and shows the result.
    pub fn step(self, step: TreeStep) {
        let is_search = matches!(step, TreeStep::Find(_));
        let is_other_list = matches!(step, TreeStep::CloseAll | TreeStep::ToDepth(_));
        let is_near = matches!(step, TreeStep::Toggle(_) | TreeStep::Parent(_));
        // With another look, the caller renews the rows at once.
        let is_renewed = matches!(step, TreeStep::Settings(_));
        let of_both = self.of_both;
        self.engine.ask(TreeQuery { of_both, step }, move |change| {
            if self.rows.are_gone() {
                return;
            }
            self.last_change.set(change.clone());
            self.summary.set(change.summary);
            match is_search {
                true => self.found.set(Some((change.position, change.of))),
                false => self.difference.update(|(here, of)| {
                    *of = change.of;
                    if change.position > 0 {
                        *here = change.position;
                    }
                }),
            }
            if is_other_list {
                self.rows.window.cursor.set(None);
                self.rows.restart();
            } else if !is_renewed {
                self.rows.renew();
            }
            self.rows.window.total.set(change.total);
            if let Some(target) = change.target {
                self.select(target, !is_near);
            }
        });
    }

    /// Goes to a call of the searched name.
    pub fn find(self, direction: Direction) {
        let focus = self.state.place.with_untracked(|place| place.focus.clone());
        match focus.find.is_empty() {
            true => self.found.set(None),
            false => self.step(TreeStep::Find(FindInTree {
                text: focus.find,
                from: focus.row,
                direction,
            })),
        }
    }

    fn select(self, target: TreeTarget, from_afar: bool) {
        self.rows.window.cursor.set(Some(target.row));
        self.state.look_at(|focus| {
            focus.row = Some(target.node);
            focus.event = None;
        });
        match from_afar {
            true => self.rows.window.show_in_middle(target.row),
            false => self.rows.window.show(target.row),
        }
    }

    /// Handles an action on rows or a key. `press` handles keys specific to this tree, at the selected node; it returns
    /// `false` if it does not handle the key.
    pub fn act(self, act: RowAct, press: impl FnOnce(&str, Option<u32>) -> bool) -> bool {
        let drawn = |position| self.rows.drawn(position).map(|row| row.id());
        let step = match act {
            RowAct::Pick(row) | RowAct::Mark(row) | RowAct::MarkTo(row) => {
                let node = drawn(row);
                node.inspect(|node| self.select(TreeTarget { row, node: *node }, false));
                return node.is_some();
            }
            RowAct::Toggle(row) => drawn(row).map(TreeStep::Toggle),
            RowAct::Press(event) => {
                let here = untrack(|| self.rows.at_cursor());
                let node = here.as_ref().map(|row| row.id());
                let open = here.and_then(|row| row.branch()?.open);
                match (event.key().as_str(), open) {
                    ("ArrowRight", Some(true)) => {
                        self.rows.window.go_on();
                        return true;
                    }
                    ("ArrowRight", Some(false))
                    | ("ArrowLeft", Some(true))
                    | ("Enter" | " ", Some(_)) => node.map(TreeStep::Toggle),
                    ("ArrowLeft", _) => node.map(TreeStep::Parent),
                    ("/", _) => {
                        browser::focus_on("search");
                        return true;
                    }
                    (key, _) => return press(key, node),
                }
            }
        };
        let is_done = step.is_some();
        step.into_iter().for_each(|step| self.step(step));
        is_done
    }
}

const STEPS: [StepButton; 2] = [
    ("find-previous", "Previous match", ""),
    ("find-next", "Next match", ""),
];

/// A search field for a name, with buttons to go through the matches and the current position. Its text is that of the
/// place's focus.
pub fn tree_search(
    find: Callback<Direction>,
    found: Signal<Option<(usize, usize)>>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let set = move |text| {
        state.look_at(|focus| focus.find = text);
        find.run(Direction::Here);
    };
    let pressed = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            find.run(match event.shift_key() {
                true => Direction::Previous,
                false => Direction::Next,
            });
        }
    };
    let go = Callback::new(move |on| {
        find.run(if on {
            Direction::Next
        } else {
            Direction::Previous
        })
    });
    let status = Signal::derive(move || match found.get() {
        None => String::new(),
        Some((_, 0)) => "No match".to_owned(),
        Some((position, matches)) => {
            let count = |number: usize| format::count(number as u64);
            format!("{} of {}", count(position), count(matches))
        }
    });
    let label = "Search by name";
    view! {
        {search_field("search", label.to_owned(), label, None, set, pressed)}
        <Steps steps=STEPS none=Signal::stored(false) go status testid="matches"/>
    }
}

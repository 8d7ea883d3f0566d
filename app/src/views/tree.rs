//! Tree: who called what, and the time it led to: as it was recorded, or put together by name.
//!
//! The worker keeps which nodes are open and answers with rows of the unfolded tree, so the page
//! holds a screenful whatever the size of the trace.

use std::sync::Arc;

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use crate::browser;
use crate::components::{
    CopyButton, Icon, Name, ROW_PX, Share, StoryButton, TreeKey, TreeSearch, VirtualRows,
    fold_mark, indent, tree_key,
};
use crate::engine::Engine;
use crate::protocol::{
    Direction, FindInTree, Sort, TreeChange, TreeFacts, TreeLook, TreeMode, TreeRow, TreeRowsQuery,
    TreeTarget, Unfold, tree_sort,
};
use crate::state::AppState;
use crate::url::Focus;

/// Names are indented by this share of the table at most.
const INDENT_PERCENT: u32 = 25;

/// Levels that one button opens.
const LEVELS: std::ops::RangeInclusive<u32> = 1..=8;

/// What the columns are called, what they are sorted by, and what they mean.
#[rustfmt::skip]
const COLUMNS: [(&str, &str, &str); 6] = [
    ("GPU time", tree_sort::GPU, "Durations of the kernels, copies and fills launched there and below, summed"),
    ("GPU, own", tree_sort::GPU_OWN, "Durations of the kernels, copies and fills that it launched itself"),
    ("Kernels", tree_sort::KERNELS, "Kernels, copies and fills launched there and below"),
    ("CPU time", tree_sort::CPU, "Time on the host with calls below"),
    ("CPU, own", tree_sort::CPU_OWN, "Time on the host in no call below"),
    ("Calls", tree_sort::CALLS, "Calls that are put together"),
];

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
    }
}

/// What the tree is doing. Copy: pass it around.
#[derive(Clone, Copy)]
struct TreeState {
    state: AppState,
    engine: Engine,
    rows: VirtualRows<TreeRow>,
    /// Position of the selected node.
    cursor: RwSignal<Option<usize>>,
    /// The how many-eth of how many matches the search stands on.
    found: RwSignal<Option<(usize, usize)>>,
    /// How it is shown.
    look: Memo<TreeLook>,
    /// Why there is nothing to show.
    missing: RwSignal<Option<String>>,
}

impl TreeState {
    /// Tells the worker how the tree is to be shown; every later question is about that.
    fn send_look(self) {
        let look = self.look.get_untracked();
        self.engine.ask(look, move |facts: TreeFacts| {
            if self.missing.try_set(facts.missing).is_none() {
                self.rows.total.set(facts.total);
            }
        });
    }

    fn unfold(self, unfold: Unfold) {
        self.engine.ask(unfold, move |change: TreeChange| {
            if matches!(unfold, Unfold::CloseAll | Unfold::ToDepth(_)) {
                self.cursor.set(None);
                self.rows.restart();
            } else {
                self.rows.renew();
            }
            self.rows.total.set(change.total);
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

    fn select(self, target: TreeTarget, from_afar: bool) {
        self.cursor.set(Some(target.row));
        self.state.look_at(|focus| {
            focus.row = Some(target.node);
            focus.event = None;
        });
        if from_afar {
            self.rows.show_in_middle(target.row);
        } else {
            self.rows.show(target.row);
        }
    }

    fn find(self, direction: Direction) {
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
            None => self.found.set(Some((0, 0))),
            Some(found) => {
                self.found.set(Some((found.position, found.matches)));
                self.rows.renew();
                self.select(found.target, true);
            }
        });
    }

    /// The selected row, once it is here.
    fn selected(self) -> Option<Arc<TreeRow>> {
        self.cursor
            .get()
            .and_then(|position| self.rows.row(position))
    }

    fn go_to(self, position: usize) {
        let last = self.rows.total.get_untracked().saturating_sub(1);
        let position = position.min(last);
        self.cursor.set(Some(position));
        self.rows.show(position);
    }

    fn press(self, event: &KeyboardEvent) {
        let here = self.cursor.get_untracked();
        let row = untrack(|| self.selected());
        let open = row.as_ref().map(|row| row.open);
        let screen = self.rows.rows_per_screen();
        match (tree_key(event, here, screen, open), row) {
            (Some(TreeKey::To(position)), _) => self.go_to(position),
            (Some(TreeKey::Toggle), Some(row)) => self.unfold(Unfold::Toggle(row.node)),
            (Some(TreeKey::Parent), Some(row)) => self.unfold(Unfold::Parent(row.node)),
            (Some(TreeKey::Search), _) => browser::focus_on("search"),
            (Some(_), None) => {}
            (None, _) if event.ctrl_key() || event.meta_key() || event.alt_key() => return,
            (None, row) => match event.key().as_str() {
                "h" => self.unfold(Unfold::Hottest(row.map(|row| row.node))),
                _ => return,
            },
        }
        event.prevent_default();
    }
}

/// The calls as they were recorded.
#[component]
pub fn Tree() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let accept: StoredValue<Option<VirtualRows<TreeRow>>> = StoredValue::new(None);
    let rows = VirtualRows::new(move |list, offset, count| {
        engine.ask(TreeRowsQuery { offset, count }, move |page| {
            // The view may be gone by now.
            if let Some(Some(rows)) = accept.try_get_value() {
                rows.accept(list, page.total, page.offset, page.rows);
            }
        });
    });
    accept.set_value(Some(rows));
    let tree = TreeState {
        state,
        engine,
        rows,
        cursor: RwSignal::new(None),
        found: RwSignal::new(None),
        look: Memo::new(move |_| state.place.with(|place| look(&place.focus))),
        missing: RwSignal::new(None),
    };
    tree.send_look();
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
            tree.send_look();
            tree.found.set(None);
            match old {
                Some(old) if old.0 != new.0 => {
                    tree.cursor.set(None);
                    rows.restart();
                }
                _ => rows.renew(),
            }
        },
        false,
    );
    rows.keep_in_sight(tree.cursor);
    // The cursor may stand on a row that is still on its way.
    Effect::new(move || {
        if let Some(row) = tree.selected() {
            state.look_at(|focus| focus.row = Some(row.node));
        }
    });
    let selected = Memo::new(move |_| state.place.with(|place| place.focus.row));

    view! {
        <h1 class="unseen">"Call tree"</h1>
        <Modes tree/>
        <Search tree/>
        <div class="scroller" node_ref=rows.scroller on:scroll=move |_| rows.scrolled()>
            <table
                class="sheet tree"
                role="treegrid"
                tabindex="0"
                aria-label="Call tree"
                aria-rowcount=move || rows.total.get() + 1
                aria-activedescendant=move || selected.get().map(|node| format!("node-{node}"))
                on:keydown=move |event| tree.press(&event)
            >
                <colgroup>
                    <col class="w-rest"/>
                    <col class="w-label"/>
                    <col class="w-share"/>
                    <col class="w-number"/>
                    <col class="w-small"/>
                    <col class="w-number"/>
                    <col class="w-number"/>
                    <col class="w-small"/>
                </colgroup>
                <thead>
                    <tr aria-rowindex="1">
                        {heading(tree, ("Call", tree_sort::NAME, "By name, then in the order of the trace"))}
                        <th scope="col"><span>"Kind"</span></th>
                        {COLUMNS.into_iter().map(|column| heading(tree, column)).collect_view()}
                    </tr>
                </thead>
                <tbody>
                    <tr class="space" aria-hidden="true">
                        <td colspan="8" style:height=move || rows.space_above()></td>
                    </tr>
                    <For
                        each=move || rows.rows()
                        key=|(position, list, row)| (*position, *list, row.is_some())
                        children=move |(position, _, row)| view! { <Node tree position row selected/> }
                    />
                    <tr class="space" aria-hidden="true">
                        <td colspan="8" style:height=move || rows.space_below()></td>
                    </tr>
                </tbody>
            </table>
            <Show when=move || rows.arrived.get() && rows.total.get() == 0>
                <p class="none" data-testid="tree-missing">{move || tree.missing.get()}</p>
            </Show>
        </div>
        <Path tree/>
    }
}

/// How calls are put together.
#[component]
fn Modes(
    /// The tree.
    tree: TreeState,
) -> impl IntoView {
    let state = tree.state;
    let button = |(mode, slug, title): (TreeMode, &'static str, &'static str)| {
        let choose = move |_| {
            state.look_at(|focus| {
                focus.table = slug.to_owned();
                // A node of one tree is another one in the next.
                focus.row = None;
                focus.event = None;
            });
        };
        let is_shown = move || tree.look.with(|look| look.mode == mode).to_string();
        view! { <button type="button" class="small" data-mode=slug aria-pressed=is_shown on:click=choose>{title}</button> }
    };
    view! {
        <div class="tabs tree-modes" role="group" aria-label="How calls are put together">
            {TreeMode::ALL.map(button).into_iter().collect_view()}
        </div>
    }
    .into_any()
}

/// A column's head: a button that changes the order.
fn heading(
    tree: TreeState,
    (title, column, doc): (&'static str, &'static str, &'static str),
) -> AnyView {
    let is_name = column == tree_sort::NAME;
    let direction = Memo::new(move |_| {
        tree.look.with(|look| {
            let sort = look.sort.as_ref().filter(|sort| sort.column == column);
            sort.map(|sort| sort.descending)
        })
    });
    let sort = move |column: &str, descending| Sort {
        column: column.to_owned(),
        descending,
    };
    // The useful direction first, then the other one, then the tree's own order.
    let turn = move |_| {
        let next = match direction.get_untracked() {
            None => Some(sort(column, !is_name)),
            Some(descending) if descending != is_name => Some(sort(column, !descending)),
            Some(_) if is_name => Some(sort(tree_sort::RECORDED, false)),
            Some(_) => None,
        };
        tree.state.look_at(|focus| {
            focus.sort = next;
            focus.row = None;
        });
    };
    let said = move || match direction.get() {
        None => "none",
        Some(true) => "descending",
        Some(false) => "ascending",
    };
    view! {
        <th scope="col" class:n=!is_name aria-sort=said>
            <button type="button" title=doc data-sort=column on:click=turn>
                <span>{title}</span>
                <i class="arrow" aria-hidden="true"></i>
            </button>
        </th>
    }
    .into_any()
}

/// Search, and the ways around the tree.
#[component]
fn Search(
    /// The tree.
    tree: TreeState,
) -> impl IntoView {
    let hottest = move |_| {
        let from = tree.state.place.with_untracked(|place| place.focus.row);
        tree.unfold(Unfold::Hottest(from));
    };
    view! {
        <div class="tools">
            <TreeSearch find=move |direction| tree.find(direction) found=tree.found/>
            <span class="grow"></span>
            <button type="button" id="hottest" title="Open the calls with the most GPU time, level by level (H)" on:click=hottest>
                <Icon name="flame"/>
                "Hottest path"
            </button>
            <label class="go-to">
                <span>"Open to level"</span>
                <select id="to-depth" on:change=move |event| {
                    if let Ok(depth) = event_target_value(&event).parse() {
                        tree.unfold(Unfold::ToDepth(depth));
                    }
                }>
                    <option value="">"…"</option>
                    {LEVELS.map(|level| view! { <option value=level.to_string()>{level}</option> }).collect_view()}
                </select>
            </label>
            <button type="button" id="close-all" on:click=move |_| tree.unfold(Unfold::CloseAll)>
                "Close all"
            </button>
        </div>
    }
}

/// One node.
#[component]
fn Node(
    /// The tree.
    tree: TreeState,
    /// Where the row stands.
    position: usize,
    /// The node; `None` while it is on its way.
    row: Option<Arc<TreeRow>>,
    /// The node that is selected.
    selected: Memo<Option<u32>>,
) -> impl IntoView {
    let Some(row) = row else {
        return view! {
            <tr aria-rowindex=position + 2 class="coming">
                <td colspan="8" style:height=format!("{ROW_PX}px")></td>
            </tr>
        }
        .into_any();
    };
    let node = row.node;
    let fold = fold_mark(row.open, move || tree.unfold(Unfold::Toggle(node)));
    let dot = (!row.token.is_empty())
        .then(|| view! { <i class=format!("dot c-{}", row.token) aria-hidden="true"></i> });
    view! {
        <tr
            id=format!("node-{node}")
            class:thread=row.uid.is_none()
            aria-rowindex=position + 2
            attr:aria-level=row.depth + 1
            attr:aria-posinset=row.position
            attr:aria-setsize=row.siblings
            aria-expanded=row.open.map(|open| open.to_string())
            aria-selected=move || (selected.get() == Some(node)).to_string()
            on:click=move |_| tree.select(TreeTarget { row: position, node }, false)
            on:dblclick=move |_| tree.unfold(Unfold::Toggle(node))
        >
            <td class="mono" title=row.whole.clone().unwrap_or_else(|| row.name.clone()) style:padding-left=indent(row.depth, INDENT_PERCENT)>
                <span class="line">{fold} {dot} <Name text=row.name.clone()/></span>
            </td>
            <td class="soft">{row.kind.clone()}</td>
            <td class="n share"><Share percent=row.gpu_percent text=row.gpu_time.clone()/></td>
            <td class="n">{row.gpu_own.clone()}</td>
            <td class="n">{row.gpu_count.clone()}</td>
            <td class="n">{row.cpu_time.clone()}</td>
            <td class="n">{row.cpu_own.clone()}</td>
            <td class="n">{row.calls.clone()}</td>
        </tr>
    }
    .into_any()
}

/// The selected call, whole.
#[component]
fn Path(
    /// The tree.
    tree: TreeState,
) -> impl IntoView {
    view! {
        <section
            class="details low"
            class:some=move || tree.cursor.get().is_some()
            aria-label="The selected call"
            data-testid="details"
        >
            {move || match tree.selected() {
                None => view! {
                    <p class="hint">
                        "Arrow keys move, right opens, left closes, H follows the hottest path, / searches."
                    </p>
                }
                .into_any(),
                Some(row) => {
                    let name = row.whole.clone().unwrap_or_else(|| row.name.clone());
                    let in_timeline = row.uid.map(|uid| {
                        let focus = Focus {
                            event: Some(uid),
                            ..Focus::default()
                        };
                        let link = tree.state.link_into("timeline", focus);
                        view! { <StoryButton uid/> <a href=link data-testid="in-timeline">"Show in timeline"</a> }
                    });
                    let uid = row.uid.map(|uid| format!("event {uid} of the trace"));
                    view! {
                        <div class="long">
                            <h3>{row.kind.clone()} <span class="soft">{uid}</span> <CopyButton text=name.clone()/> {in_timeline}</h3>
                            <p class="mono">{name}</p>
                        </div>
                    }
                    .into_any()
                }
            }}
        </section>
    }
}

//! Both call trees side by side: what both call spans the row, what one calls alone stands on its
//! side.

use std::sync::Arc;

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use crate::browser;
use crate::components::{
    CopyButton, Icon, Name, ROW_PX, TreeKey, TreeSearch, VirtualRows, fold_mark, indent, tree_key,
};
use crate::engine::Engine;
use crate::protocol::{
    DiffChange, DiffRow, DiffRowsQuery, DiffStep, Direction, FindInTree, TreeTarget,
};
use crate::state::AppState;
use crate::url::Focus;

/// The filter's word in the URL.
const DIFFERENT: &str = "different";
/// Names are indented by this share of the table at most: each side has half a column.
const INDENT_PERCENT: u32 = 12;

/// What both trees are doing. Copy: pass it around.
#[derive(Clone, Copy)]
struct Trees {
    state: AppState,
    engine: Engine,
    rows: VirtualRows<DiffRow>,
    /// Position of the selected row.
    cursor: RwSignal<Option<usize>>,
    /// The how many-eth of how many matches the search stands on.
    found: RwSignal<Option<(usize, usize)>>,
    /// The difference that was gone to, from 1; zero for none.
    difference: RwSignal<usize>,
    /// Places that differ.
    of: RwSignal<usize>,
    summary: RwSignal<String>,
    only_differences: Memo<bool>,
}

impl Trees {
    fn step(self, step: DiffStep) {
        let is_search = matches!(step, DiffStep::Find(_));
        let is_from_afar = matches!(
            step,
            DiffStep::Find(_) | DiffStep::Difference(_) | DiffStep::Reveal(_)
        );
        self.engine.ask(step, move |change: DiffChange| {
            // The view may be gone by now.
            if self.summary.try_set(change.summary).is_some() {
                return;
            }
            match is_search {
                true => self.found.set(Some((change.position, change.of))),
                false => {
                    self.of.set(change.of);
                    if change.position > 0 {
                        self.difference.set(change.position);
                    }
                }
            }
            self.rows.renew();
            self.rows.total.set(change.total);
            if let Some(target) = change.target {
                self.select(target, is_from_afar);
            }
        });
    }

    fn look(self) {
        self.step(DiffStep::Look {
            only_differences: self.only_differences.get_untracked(),
        });
    }

    fn select(self, target: TreeTarget, from_afar: bool) {
        self.cursor.set(Some(target.row));
        self.state.look_at(|focus| focus.row = Some(target.node));
        match from_afar {
            true => self.rows.show_in_middle(target.row),
            false => self.rows.show(target.row),
        }
    }

    fn find(self, direction: Direction) {
        let focus = self.state.place.with_untracked(|place| place.focus.clone());
        match focus.find.is_empty() {
            true => self.found.set(None),
            false => self.step(DiffStep::Find(FindInTree {
                text: focus.find,
                from: focus.row,
                direction,
            })),
        }
    }

    /// Goes to the next smaller difference, or to the next larger one, and around.
    fn go_to_difference(self, next: bool) {
        let (here, of) = (
            self.difference.get_untracked(),
            self.of.get_untracked().max(1),
        );
        self.step(DiffStep::Difference(match next {
            true => here % of + 1,
            false if here <= 1 => of,
            false => here - 1,
        }));
    }

    fn selected(self) -> Option<Arc<DiffRow>> {
        self.rows.row(self.cursor.get()?)
    }

    fn press(self, event: &KeyboardEvent) {
        let here = self.cursor.get_untracked();
        let row = untrack(|| self.selected());
        let open = row.as_ref().map(|row| row.open);
        match (
            tree_key(event, here, self.rows.rows_per_screen(), open),
            row,
        ) {
            (Some(TreeKey::To(position)), _) => {
                let last = self.rows.total.get_untracked().saturating_sub(1);
                let position = position.min(last);
                self.cursor.set(Some(position));
                self.rows.show(position);
            }
            (Some(TreeKey::Toggle), Some(row)) => self.step(DiffStep::Toggle(row.node)),
            (Some(TreeKey::Parent), Some(row)) => self.step(DiffStep::Parent(row.node)),
            (Some(TreeKey::Search), _) => browser::focus_on("search"),
            (Some(_), None) => {}
            (None, _) if event.ctrl_key() || event.meta_key() || event.alt_key() => return,
            (None, _) => match event.key().as_str() {
                "n" => self.go_to_difference(true),
                "p" => self.go_to_difference(false),
                _ => return,
            },
        }
        event.prevent_default();
    }
}

/// Both call trees.
pub(super) fn both_trees() -> AnyView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let accept: StoredValue<Option<VirtualRows<DiffRow>>> = StoredValue::new(None);
    let rows = VirtualRows::new(move |list, offset, count| {
        engine.ask(DiffRowsQuery { offset, count }, move |page| {
            // The view may be gone by now.
            if let Some(Some(rows)) = accept.try_get_value() {
                rows.accept(list, page.total, page.offset, page.rows);
            }
        });
    });
    accept.set_value(Some(rows));
    let trees = Trees {
        state,
        engine,
        rows,
        cursor: RwSignal::new(None),
        found: RwSignal::new(None),
        difference: RwSignal::new(0),
        of: RwSignal::new(0),
        summary: RwSignal::new(String::new()),
        only_differences: Memo::new(move |_| {
            state
                .place
                .with(|place| place.focus.only.iter().any(|only| only == DIFFERENT))
        }),
    };
    trees.look();
    if let Some(node) = state.place.with_untracked(|place| place.focus.row) {
        trees.step(DiffStep::Reveal(node));
    }
    Effect::watch(
        move || (trees.only_differences.get(), state.report.get()),
        move |new, old, _| {
            if old.is_some_and(|old| old.0 != new.0) {
                trees.cursor.set(None);
                rows.restart();
            }
            trees.found.set(None);
            trees.look();
        },
        false,
    );
    rows.keep_in_sight(trees.cursor);
    // The cursor may stand on a row that is still on its way.
    Effect::new(move || {
        if let Some(row) = trees.selected() {
            state.look_at(|focus| focus.row = Some(row.node));
        }
    });
    let selected = Memo::new(move |_| state.place.with(|place| place.focus.row));
    view! {
        <Tools trees/>
        <div class="scroller" node_ref=rows.scroller on:scroll=move |_| rows.scrolled()>
            <table
                class="sheet tree diff"
                role="treegrid"
                tabindex="0"
                aria-label="Both call trees"
                aria-rowcount=move || rows.total.get() + 1
                aria-activedescendant=move || selected.get().map(|node| format!("both-{node}"))
                on:keydown=move |event| trees.press(&event)
            >
                <colgroup>
                    <col class="w-rest"/>
                    <col class="w-figure"/>
                    <col class="w-figure"/>
                    <col class="w-number"/>
                    <col class="diff-bars"/>
                </colgroup>
                <thead>
                    <tr aria-rowindex="1">
                        <th scope="col">
                            <span class="diff-call"><span>"The reference calls"</span><span>"The target calls"</span></span>
                        </th>
                        <th scope="col" class="n" title="GPU time of the call and all below it"><span>"Reference"</span></th>
                        <th scope="col" class="n" title="GPU time of the call and all below it"><span>"Target"</span></th>
                        <th scope="col" class="n" title="Target minus reference: above zero the target is slower"><span>"Difference"</span></th>
                        <td></td>
                    </tr>
                </thead>
                <tbody>
                    <tr class="space" aria-hidden="true">
                        <td colspan="5" style:height=move || rows.space_above()></td>
                    </tr>
                    <For
                        each=move || rows.rows()
                        key=|(position, list, row)| (*position, *list, row.is_some())
                        children=move |(position, _, row)| row_view(trees, position, row, selected)
                    />
                    <tr class="space" aria-hidden="true">
                        <td colspan="5" style:height=move || rows.space_below()></td>
                    </tr>
                </tbody>
            </table>
            <Show when=move || rows.arrived.get() && rows.total.get() == 0>
                <p class="none">{move || trees.summary.get()}</p>
            </Show>
        </div>
        {about(trees)}
    }
    .into_any()
}

/// Search, the filter, and the way from difference to difference.
#[component]
fn Tools(
    /// Both trees.
    trees: Trees,
) -> impl IntoView {
    let filter = move |_| {
        trees.state.look_at(|focus| {
            focus.only = match focus.only.is_empty() {
                true => vec![DIFFERENT.to_owned()],
                false => Vec::new(),
            };
            focus.row = None;
        });
    };
    let has_none = move || trees.of.get() == 0;
    view! {
        <p class="soft" role="status" data-testid="trees-summary">{move || trees.summary.get()}</p>
        <div class="tools">
            <TreeSearch find=move |direction| trees.find(direction) found=trees.found/>
            <span class="grow"></span>
            <button
                type="button"
                id="only-differences"
                title="Calls that differ, and the calls around them"
                aria-pressed=move || trees.only_differences.get().to_string()
                on:click=filter
            >
                "Only differences"
            </button>
            <span class="count" aria-live="polite" data-testid="difference">
                {move || match trees.difference.get() {
                    0 => String::new(),
                    here => format!("Difference {here} of {}", trees.of.get()),
                }}
            </span>
            <div class="steps">
                <button
                    type="button"
                    id="difference-previous"
                    aria-label="The next larger difference"
                    title="The next larger difference (P)"
                    disabled=has_none
                    on:click=move |_| trees.go_to_difference(false)
                >
                    <Icon name="up"/>
                </button>
                <button
                    type="button"
                    id="difference-next"
                    aria-label="The next difference, the largest first"
                    title="The next difference, the largest first (N)"
                    disabled=has_none
                    on:click=move |_| trees.go_to_difference(true)
                >
                    <Icon name="down"/>
                </button>
            </div>
            <button type="button" id="close-trees" on:click=move |_| trees.step(DiffStep::CloseAll)>
                "Close all"
            </button>
        </div>
    }
}

/// One row; blank while it is on its way.
fn row_view(
    trees: Trees,
    position: usize,
    row: Option<Arc<DiffRow>>,
    selected: Memo<Option<u32>>,
) -> AnyView {
    let Some(row) = row else {
        return view! {
            <tr aria-rowindex=position + 2 class="coming">
                <td colspan="5" style:height=format!("{ROW_PX}px")></td>
            </tr>
        }
        .into_any();
    };
    let node = row.node;
    let class = match row.percent {
        percent if percent > 0.0 => "n slower",
        percent if percent < 0.0 => "n faster",
        _ => "n",
    };
    let bar = (row.percent.abs() > 0.0).then(|| {
        let half = (row.percent.abs() / 2.0).clamp(0.8, 50.0);
        let left = if row.percent < 0.0 { 50.0 - half } else { 50.0 };
        view! { <span style:left=format!("{left:.2}%") style:width=format!("{half:.2}%")></span> }
    });
    let bar_class = if row.percent < 0.0 {
        "diff-bar faster"
    } else {
        "diff-bar slower"
    };
    let [reference, target] = row.times.clone();
    view! {
        <tr
            id=format!("both-{node}")
            class:thread=row.is_heading
            aria-rowindex=position + 2
            attr:aria-level=row.depth + 1
            attr:aria-posinset=row.position
            attr:aria-setsize=row.siblings
            aria-expanded=row.open.map(|open| open.to_string())
            aria-selected=move || (selected.get() == Some(node)).to_string()
            on:click=move |_| trees.select(TreeTarget { row: position, node }, false)
            on:dblclick=move |_| trees.step(DiffStep::Toggle(node))
        >
            <td class="mono" title=row.name.clone()>{call(trees, &row)}</td>
            <td class="n">{reference}</td>
            <td class="n">{target}</td>
            <td class=class>{row.difference.clone()}</td>
            <td class=bar_class aria-hidden="true">{bar}</td>
        </tr>
    }
    .into_any()
}

/// The name on the side or sides that have the call, and in words where it is not.
fn call(trees: Trees, row: &DiffRow) -> AnyView {
    let node = row.node;
    let fold = fold_mark(row.open, move || trees.step(DiffStep::Toggle(node)));
    let dot = (!row.token.is_empty())
        .then(|| view! { <i class=format!("dot c-{}", row.token) aria-hidden="true"></i> });
    let is_of_both = row.only.is_empty();
    let other = (is_of_both && !row.mark.is_empty())
        .then(|| view! { <b class="diff-other">{row.mark.clone()}</b> });
    let tag = (!is_of_both).then(|| {
        let short = match row.only.as_str() {
            "reference" => "ref.",
            _ => "target",
        };
        view! { <b class="diff-tag" aria-hidden="true">{short}</b> }
    });
    let missing =
        (!is_of_both).then(|| view! { <span class="diff-missing">{row.mark.clone()}</span> });
    view! {
        <span class="diff-call" data-only=row.only.clone()>
            <span class="line" style:padding-left=indent(row.depth, INDENT_PERCENT)>
                {fold} {tag} {dot} <Name text=row.name.clone()/> {other}
            </span>
            {missing}
        </span>
    }
    .into_any()
}

/// The selected row, whole.
fn about(trees: Trees) -> AnyView {
    let shown = move || {
        let Some(row) = trees.selected() else {
            return view! {
                <p class="hint">
                    "Arrow keys move, right opens, left closes, N goes to the next difference, / searches."
                </p>
            }
            .into_any();
        };
        let link = row.uid.map(|uid| {
            let focus = Focus {
                event: Some(uid),
                ..Focus::default()
            };
            view! { <a href=trees.state.link_into("tree", focus)>"Show in the target\u{2019}s tree"</a> }
        });
        let sides = |what: &'static str, texts: [String; 2]| {
            let lines = ["reference", "target"].into_iter().zip(texts);
            let lines = lines.filter(|(_, text)| !text.is_empty());
            let lines = lines.map(|(side, text)| {
                view! { <div><dt>{format!("{what} {side}")}</dt><dd class="mono">{text}</dd></div> }
            });
            lines.collect_view()
        };
        view! {
            <div class="long">
                <h3>
                    {match row.mark.as_str() {
                        "" => "In both".to_owned(),
                        mark => mark.to_owned(),
                    }}
                    <CopyButton text=row.name.clone()/>
                    {link}
                </h3>
                <p class="mono">{row.name.clone()}</p>
            </div>
            <dl class="diff-facts">
                {sides("Recorded in the", row.recorded.clone())}
                {sides("Launches in the", row.kernels.clone())}
            </dl>
        }
        .into_any()
    };
    view! {
        <section
            class="details"
            class:some=move || trees.cursor.get().is_some()
            aria-label="The selected call"
            data-testid="details"
        >
            {shown}
        </section>
    }
    .into_any()
}

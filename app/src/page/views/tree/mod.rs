//! Call tree: who called what, and its time; as recorded, or aggregated by name; as a table or as a flame graph.
//!
//! ```text
//! worker ─rows──→ VirtualRows ─ table ┐
//!        ─blocks→ Scene ────── flame  ├─ one selection, described in `about`
//! tools, keys ──→ TreeState ──────────┘
//! ```
//!
//! The worker tracks which nodes are open and answers with rows of the unfolded tree, or with the visible blocks, so
//! the page holds one screenful regardless of the trace's size.

mod flame;
mod state;
mod table;

use dormer_core::names::frames::file_of;

use crate::page::prelude::*;
use crate::protocol::{TreeMode, TreeStep};
use flame::flame;
use state::{Drawing, TreeState};
use table::{has_gpu, instances_title, spread, table};

/// The calls.
pub fn tree() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let tree = TreeState::new(state, engine);
    let is_table = Memo::new(move |_| tree.drawing.get() == Drawing::Table);
    let by_cpu = Memo::new(move |_| tree.drawing.get() == Drawing::FlameByCpu);
    view! {
        <h1 class="unseen">"Call tree"</h1>
        {modes(tree)}
        {tools(tree)}
        {stack(tree)}
        {move || {
            let is_table = is_table.get();
            untrack(|| if is_table { table(tree) } else { flame(tree, engine, by_cpu) })
        }}
        {about(tree)}
    }
}

/// The numbers of levels that a button opens at once.
const LEVELS: std::ops::RangeInclusive<u32> = 1..=8;

/// The tree's layout, and how it is drawn.
fn modes(tree: TreeState) -> AnyView {
    let tabs = |name, label, options: Vec<Choosable>, shown: Signal<String>, choose| {
        one_of("tabs tree-modes", name, label, options, shown, choose)
    };
    let mode = move || {
        tree.settings
            .with(|settings| settings.mode.slug().to_owned())
    };
    let drawing = move || tree.drawing.get().slug().to_owned();
    view! {
        <div class="tree-choices">
            {tabs(
                "mode",
                "Tree layout",
                TreeMode::ALL.map(|(_, slug, title)| choosable(slug, title)).into(),
                Signal::derive(mode),
                Callback::new(move |slug| tree.show_as(|focus| focus.table = slug)),
            )}
            {tabs(
                "drawing",
                "Display",
                Drawing::ALL.map(|(_, slug, title)| choosable(slug, title)).into(),
                Signal::derive(drawing),
                Callback::new(move |slug: String| tree.draw_as(Drawing::of(&slug))),
            )}
        </div>
    }
    .into_any()
}

/// Search, and navigation in the tree.
fn tools(tree: TreeState) -> AnyView {
    let hottest = move |_| tree.list.step(TreeStep::Hottest(None));
    view! {
        <div class="tools">
            {tree_search(Callback::new(move |direction| tree.list.find(direction)), tree.list.found.into())}
            <span class="grow"></span>
            <button type="button" id="hottest" title="Expand the path with the most GPU time from the top; press H to start at the selected call" on:click=hottest>
                {icon("flame")}
                "Hottest path"
            </button>
            <Show when=move || tree.drawing.get() == Drawing::Table>
            {has_gpu().then(|| hiding(tree))}
            <select id="to-depth" aria-label="Expand to level" on:change=move |event| {
                if let Ok(depth) = event_target_value(&event).parse() {
                    tree.list.step(TreeStep::ToDepth(depth));
                }
            }>
                <option value="">"Expand to level…"</option>
                {LEVELS.map(|level| view! { <option value=level.to_string()>{format!("Level {level}")}</option> }).collect_view()}
            </select>
            <button type="button" id="close-all" on:click=move |_| tree.list.step(TreeStep::CloseAll)>
                "Collapse all"
            </button>
            </Show>
        </div>
    }
    .into_any()
}

/// The switch for rows without GPU time, with their number.
fn hiding(tree: TreeState) -> AnyView {
    let all_rows = Memo::new(move |_| tree.settings.with(|settings| settings.all_rows));
    let hidden = Memo::new(move |_| tree.list.last_change.with(|change| change.hidden));
    let count = move || match (all_rows.get(), hidden.get()) {
        (true, _) | (false, 0) => String::new(),
        (false, n) => format!("({} hidden)", format::count(n as u64)),
    };
    view! {
        <label class="check" title="Calls that launched no kernel, copy or fill, directly or below">
            <input
                type="checkbox"
                id="all-rows"
                prop:checked=move || all_rows.get()
                on:change=move |_| tree.show_all_rows(!all_rows.get_untracked())
            />
            "Rows without GPU time "
            <span class="count" data-testid="hidden-rows">{count}</span>
        </label>
    }
    .into_any()
}

/// The calls above everything that the table shows: a click on one shows the tree from there.
fn stack(tree: TreeState) -> AnyView {
    let last_change = tree.list.last_change;
    let steps = move || {
        last_change
            .with(|change| change.stack.clone())
            .into_iter()
            .map(|(node, name)| {
                view! {
                    <li>
                        <button
                            type="button"
                            class="small ghost"
                            title=name.clone()
                            on:click=move |_| tree.list.step(TreeStep::StartAt(Some(node)))
                        >
                            {format::middle_ellipsis(file_of(&name), 40)}
                        </button>
                    </li>
                }
            })
            .collect_view()
    };
    let is_shown = Memo::new(move |_| {
        let folds = last_change.with(|change| change.can_fold || !change.stack.is_empty());
        folds && tree.drawing.get() == Drawing::Table
    });
    let count = move || last_change.with(|change| change.stack.len());
    view! {
        <Show when=move || is_shown.get()>
            <nav class="breadcrumb" aria-label="Common stack" data-testid="stack">
                <span class="fine">
                    {move || match count() {
                        0 => "Common stack shown".to_owned(),
                        n => format!("Common stack, {} folded:", format::counted(n as u64, "call")),
                    }}
                </span>
                <ol>{steps}</ol>
                <Show when=move || last_change.with(|change| change.can_fold)>
                    <button type="button" class="small" id="fold-stack" on:click=move |_| tree.list.step(TreeStep::FoldStack)>
                        "Fold common stack"
                    </button>
                </Show>
            </nav>
        </Show>
    }
    .into_any()
}

/// Everything about the selected call.
fn about(tree: TreeState) -> AnyView {
    let shown = move || {
        let Some(row) = tree.list.rows.at_cursor() else {
            return view! {
                <p class="hint">
                    {move || match tree.drawing.get() {
                        Drawing::Table => "Arrow keys move, right expands, left collapses, H follows the hottest path, / searches",
                        _ => "Click or Enter zooms into a call, Escape zooms out, arrow keys move, / searches",
                    }}
                    {move || match tree.settings.with(|settings| settings.mode) {
                        TreeMode::BottomUp => " names and the visible callers.",
                        _ => ".",
                    }}
                </p>
            }
            .into_any();
        };
        let name = row.whole.clone().unwrap_or_else(|| row.name.clone());
        let in_timeline = row.uid.map(|uid| {
            view! { {details_button(uid)} <ViewLink view="timeline" focus=Focus::at_event(uid)>"Show in timeline"</ViewLink> }
        });
        let gpu_time = match row.gpu_of_all.is_empty() {
            true => row.gpu_time.clone(),
            false => format!("{} ({} of all)", row.gpu_time, row.gpu_of_all),
        };
        let node = row.node;
        let instances = row.instances.as_ref().map(|of| {
            view! {
                <button type="button" class="small" id="instances" on:click=move |_| tree.rearrange(TreeStep::Instances(node))>
                    {instances_title(of)}
                </button>
            }
        });
        let figures = [
            ("GPU time", gpu_time),
            (
                "Per module",
                row.instances.as_ref().map(spread).unwrap_or_default(),
            ),
            ("GPU self time", row.gpu_own.clone()),
            ("Kernels", row.gpu_count.clone()),
            ("CPU time", row.cpu_time.clone()),
            ("CPU self time", row.cpu_own.clone()),
            ("Calls", row.calls.clone()),
        ];
        let figures = figures.into_iter().filter(|(_, value)| !value.is_empty());
        let figures = figures.map(|(label, value)| (label.to_owned(), value));
        let uid = row.uid.map(|uid| format!("event {uid} of the trace"));
        view! {
            <div class="long">
                <h2>{row.kind.clone()} <span class="soft">{uid}</span> {copy_button(name.clone(), "Copy")} {instances} {in_timeline}</h2>
                <p class="mono">{name}</p>
            </div>
            {pairs("figures", figures.collect())}
        }
        .into_any()
    };
    let is_some = move || tree.list.rows.window.cursor.get().is_some();
    selection("The selected call", None, is_some, shown).into_any()
}

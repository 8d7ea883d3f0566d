//! Both call trees side by side: a call of both spans the row, a call of one is on its side.

use std::sync::Arc;

use crate::page::prelude::*;
use crate::protocol::{Branch, DiffRow, DiffRowsQuery, TreeStep};

/// The filter's word in the URL.
const DIFFERENT: &str = "different";
/// Names are indented by at most this percentage of the table: each side has half a column.
const INDENT_PERCENT: u32 = 12;

const STEPS: [StepButton; 2] = [
    ("difference-previous", "Previous (larger) difference", "P"),
    ("difference-next", "Next difference, largest first", "N"),
];

impl VirtualRow for DiffRow {
    fn id(&self) -> u32 {
        self.node
    }

    fn branch(&self) -> Option<Branch> {
        Some(self.branch)
    }
}

/// The state of both trees. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct Trees {
    list: TreeRows<DiffRow>,
    only_differences: Memo<bool>,
}

impl Trees {
    fn show_differences(self) {
        let only = self.only_differences.get_untracked();
        self.list.step(TreeStep::OnlyDifferences(only));
    }

    /// Goes to the next smaller difference, or to the next larger one, wrapping around.
    fn go_to_difference(self, next: bool) {
        let (here, of) = self.list.difference.get_untracked();
        let of = of.max(1);
        self.list.step(TreeStep::Difference(match next {
            true => here % of + 1,
            false if here <= 1 => of,
            false => here - 1,
        }));
    }

    /// Handles an action on rows or a key.
    fn act(self, act: RowAct) -> bool {
        self.list.act(act, |key, _| {
            match key {
                "n" => self.go_to_difference(true),
                "p" => self.go_to_difference(false),
                _ => return false,
            }
            true
        })
    }
}

pub(super) fn both_trees() -> AnyView {
    let state = expect_context::<AppState>();
    let query = |offset, count| DiffRowsQuery { offset, count };
    let list = TreeRows::new(state, expect_context::<Engine>(), true, query);
    let trees = Trees {
        list,
        only_differences: state
            .of_place(|place| place.focus.only.iter().any(|only| only == DIFFERENT)),
    };
    trees.show_differences();
    if let Some(node) = state.place.with_untracked(|place| place.focus.row) {
        list.step(TreeStep::Reveal(node));
    }
    Effect::watch(
        move || (trees.only_differences.get(), state.report.get()),
        move |new, old, _| {
            if old.is_some_and(|old| old.0 != new.0) {
                list.rows.window.cursor.set(None);
                list.rows.restart();
            }
            list.found.set(None);
            trees.show_differences();
        },
        false,
    );
    let table = VirtualTable {
        act: Arc::new(move |act| trees.act(act)),
        label: "Both call trees".to_owned(),
        class: "tree diff",
        ids: "both",
        widths: Signal::stored(vec![
            "w-rest",
            "w-figure",
            "w-figure",
            "w-number",
            "diff-bars",
        ]),
        layout: None,
        head: Box::new(head),
        empty: list.summary.into(),
        is_alone: false,
    };
    view! {
        {tools(trees)}
        {table.view(list.rows, line)}
        {selected_call(list.rows)}
    }
    .into_any()
}

fn head() -> AnyView {
    view! {
        <th scope="col">
            <span class="diff-call"><span>"The reference calls"</span><span>"The target calls"</span></span>
        </th>
        <th scope="col" class="n" title="GPU time of the call and its children"><span>"Reference"</span></th>
        <th scope="col" class="n" title="GPU time of the call and its children"><span>"Target"</span></th>
        <th scope="col" class="n" title="Target minus reference: positive means the target is slower"><span>"Difference"</span></th>
        <td></td>
    }
    .into_any()
}

/// Search, the filter, and buttons to go through the differences.
fn tools(trees: Trees) -> impl IntoView {
    let filter = move |_| {
        trees.list.state.look_at(|focus| {
            focus.only = match focus.only.is_empty() {
                true => vec![DIFFERENT.to_owned()],
                false => Vec::new(),
            };
            focus.row = None;
        });
    };
    let has_none = Signal::derive(move || trees.list.difference.get().1 == 0);
    let go = move |on| trees.go_to_difference(on);
    let status = Signal::derive(move || match trees.list.difference.get() {
        (0, _) => String::new(),
        (here, of) => format!("Difference {here} of {of}"),
    });
    view! {
        <p class="soft" role="status" data-testid="trees-summary">{move || trees.list.summary.get()}</p>
        <div class="tools">
            {tree_search(Callback::new(move |direction| trees.list.find(direction)), trees.list.found.into())}
            <span class="grow"></span>
            <button
                type="button"
                id="only-differences"
                title="Show only calls that differ, with their callers"
                aria-pressed=move || trees.only_differences.get().to_string()
                on:click=filter
            >
                "Only differences"
            </button>
            <Steps steps=STEPS none=has_none go status testid="difference"/>
            <button type="button" id="close-trees" on:click=move |_| trees.list.step(TreeStep::CloseAll)>
                "Collapse all"
            </button>
        </div>
    }
}

fn line(row: &DiffRow) -> Line {
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
    let name = view! { <td class="mono" title=row.name.clone()>{call(row)}</td> };
    let bar = view! { <td class=bar_class aria-hidden="true">{bar}</td> };
    let heading = if row.is_heading { "thread" } else { "" };
    Line {
        class: heading.to_owned(),
        cells: vec![
            name.into_any(),
            text_cell("n", reference),
            text_cell("n", target),
            text_cell(class, row.difference.clone()),
            bar.into_any(),
        ],
    }
}

/// The name on the side or sides that have the call, and a note on which side lacks it.
fn call(row: &DiffRow) -> AnyView {
    let fold = fold_mark(row.branch.open);
    let dot = (!row.token.is_empty()).then(|| dot(&row.token));
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
            <span class="line" style:padding-left=indent(row.branch.depth, INDENT_PERCENT)>
                {fold} {tag} {dot} {cut_name(row.name.clone())} {other}
            </span>
            {missing}
        </span>
    }
    .into_any()
}

/// Everything about the call at the cursor.
fn selected_call(rows: VirtualRows<DiffRow>) -> AnyView {
    let shown = move || {
        let Some(row) = rows.at_cursor() else {
            return view! {
                <p class="hint">
                    "Arrow keys move, right expands, left collapses, N goes to the next difference, / searches."
                </p>
            }
            .into_any();
        };
        let link = row.uid.map(|uid| {
            let focus = Focus::at_event(uid);
            view! { <ViewLink view="tree" focus>"Show in the target\u{2019}s call tree"</ViewLink> }
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
                    {copy_button(row.name.clone(), "Copy")}
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
    let is_some = move || rows.window.cursor.get().is_some();
    selection("The selected call", None, is_some, shown).into_any()
}

//! The tree as a table: rows that open and close.

use std::sync::Arc;

use leptos::prelude::*;

use super::state::TreeState;
use crate::components::{Name, ROW_PX, Share, fold_mark, indent};
use crate::protocol::{Sort, TreeMode, TreeRow, TreeTarget, Unfold, tree_sort};

/// Names are indented by this share of the table at most.
const INDENT_PERCENT: u32 = 25;

/// A column after the name.
struct Column {
    title: &'static str,
    /// What it is sorted by; empty for one that is not sorted.
    sort: &'static str,
    doc: &'static str,
    /// The class of its `col`.
    width: &'static str,
    /// In a narrower table it is left out: what a row has is told below the table.
    least_px: f64,
    cell: fn(&TreeRow) -> AnyView,
}

impl Column {
    const fn number(
        title: &'static str,
        sort: &'static str,
        least_px: f64,
        doc: &'static str,
        cell: fn(&TreeRow) -> AnyView,
    ) -> Column {
        Column {
            title,
            sort,
            doc,
            width: "w-number",
            least_px,
            cell,
        }
    }
}

fn number(text: &str) -> AnyView {
    view! { <td class="n">{text.to_owned()}</td> }.into_any()
}

/// The columns after the name, from left to right.
const COLUMNS: [Column; 7] = [
    Column {
        width: "w-label",
        ..Column::number("Kind", "", 700.0, "", |row| {
            view! { <td class="soft">{row.kind.clone()}</td> }.into_any()
        })
    },
    Column {
        width: "w-share",
        ..Column::number(
            "GPU time",
            tree_sort::GPU,
            0.0,
            "Durations of the kernels, copies and fills launched there and below, summed",
            |row| {
                view! {
                    <td class="n share"><Share percent=row.gpu_percent text=row.gpu_time.clone()/></td>
                }
                .into_any()
            },
        )
    },
    Column::number(
        "GPU, own",
        tree_sort::GPU_OWN,
        960.0,
        "Durations of the kernels, copies and fills that it launched itself",
        |row| number(&row.gpu_own),
    ),
    Column {
        width: "w-small",
        ..Column::number(
            "Kernels",
            tree_sort::KERNELS,
            860.0,
            "Kernels, copies and fills launched there and below",
            |row| number(&row.gpu_count),
        )
    },
    Column::number(
        "CPU time",
        tree_sort::CPU,
        560.0,
        "Time on the host with calls below",
        |row| number(&row.cpu_time),
    ),
    Column::number(
        "CPU, own",
        tree_sort::CPU_OWN,
        1070.0,
        "Time on the host in no call below",
        |row| number(&row.cpu_own),
    ),
    Column {
        width: "w-small",
        ..Column::number(
            "Calls",
            tree_sort::CALLS,
            780.0,
            "Calls that are put together",
            |row| number(&row.calls),
        )
    },
];

/// The columns that a table of some width has room for. Of calls as they were recorded each is one.
fn fitting(width_px: f64, mode: TreeMode) -> Vec<&'static Column> {
    let columns = COLUMNS.iter();
    let fitting = columns.filter(|column| {
        let says_nothing = mode == TreeMode::Recorded && column.sort == tree_sort::CALLS;
        column.least_px <= width_px && !says_nothing
    });
    fitting.collect()
}

/// The rows.
pub(super) fn table(tree: TreeState) -> AnyView {
    let rows = tree.rows;
    let state = tree.state;
    let selected = Memo::new(move |_| state.place.with(|place| place.focus.row));
    let mode = Memo::new(move |_| tree.look.with(|look| look.mode));
    let n_fitting = Memo::new(move |_| fitting(rows.width_px.get(), mode.get()).len());
    let columns = move || {
        n_fitting.track();
        fitting(rows.width_px.get_untracked(), mode.get())
    };
    let span = move || n_fitting.get() + 1;
    view! {
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
                    {move || columns().into_iter().map(|column| view! { <col class=column.width/> }).collect_view()}
                </colgroup>
                <thead>
                    <tr aria-rowindex="1">
                        {heading(tree, ("Call", tree_sort::NAME, "By name, then in the order of the trace"))}
                        {move || columns().into_iter().map(|column| match column.sort {
                            "" => view! { <th scope="col"><span>{column.title}</span></th> }.into_any(),
                            sort => heading(tree, (column.title, sort, column.doc)),
                        }).collect_view()}
                    </tr>
                </thead>
                <tbody>
                    <tr class="space" aria-hidden="true">
                        <td colspan=span style:height=move || rows.space_above()></td>
                    </tr>
                    <For
                        each=move || rows.rows()
                        key=|(position, list, row)| (*position, *list, row.is_some())
                        children=move |(position, _, row)| {
                            node(tree, position, row, selected, columns)
                        }
                    />
                    <tr class="space" aria-hidden="true">
                        <td colspan=span style:height=move || rows.space_below()></td>
                    </tr>
                </tbody>
            </table>
            <Show when=move || rows.arrived.get() && rows.total.get() == 0>
                <p class="none" data-testid="tree-missing">{move || tree.missing.get()}</p>
            </Show>
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
        tree.show_as(|focus| focus.sort = next);
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

/// One node; blank while it is on its way.
fn node(
    tree: TreeState,
    position: usize,
    row: Option<Arc<TreeRow>>,
    selected: Memo<Option<u32>>,
    columns: impl Fn() -> Vec<&'static Column> + Send + Sync + 'static,
) -> AnyView {
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
    let (cells, whole) = (row.clone(), row.whole.clone());
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
            <td
                class="mono"
                title=whole.unwrap_or_else(|| row.name.clone())
                style:padding-left=indent(row.depth, INDENT_PERCENT)
            >
                <span class="line">{fold} {dot} <Name text=row.name.clone()/></span>
            </td>
            {move || columns().into_iter().map(|column| (column.cell)(&cells)).collect_view()}
        </tr>
    }
    .into_any()
}

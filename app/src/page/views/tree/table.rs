//! The tree as a table with rows that open and close.

use std::sync::Arc;

use dormer_core::names::frames::file_of;

use super::state::TreeState;
use crate::page::prelude::*;
use crate::protocol::{Sort, TreeInstances, TreeMode, TreeRow, TreeStep, tree_sort};

/// Names are indented by at most this percentage of the table.
const INDENT_PERCENT: u32 = 14;

/// A column after the name.
struct Column {
    title: &'static str,
    /// Its sort key; empty if it is not sortable.
    sort: &'static str,
    doc: &'static str,
    /// The class of its `col`.
    width: &'static str,
    /// It is hidden in a narrower table: the panel below the table has the values.
    least_px: f64,
    cell: fn(&TreeRow) -> AnyView,
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        self.title == other.title
    }
}

/// Whether GPU activity was recorded.
pub(super) fn has_gpu() -> bool {
    let state = expect_context::<AppState>();
    untrack(|| state.of_opened(|opened| opened.has_gpu_events))
}

/// Mean, minimum and maximum over the modules of one class.
pub(super) fn spread(of: &TreeInstances) -> String {
    format!("{} ({})", of.mean, of.range)
}

fn number(text: &str) -> AnyView {
    text_cell("n", text.to_owned())
}

/// The columns after the name, from left to right.
#[rustfmt::skip]
const COLUMNS: [Column; 8] = [
    Column { title: "Kind", sort: "", width: "w-label", least_px: 700.0, doc: "", cell: |row| text_cell("soft", row.kind.clone()) },
    Column { title: "GPU time", sort: tree_sort::GPU, width: "w-share", least_px: 0.0, doc: "Total duration of the kernels, copies and fills launched by the call and its children. The bar is the share of the row above", cell: |row| share_cell(row.gpu_percent, row.gpu_time.clone()) },
    Column { title: "GPU self time", sort: tree_sort::GPU_SELF, width: "w-number", least_px: 960.0, doc: "Total duration of the kernels, copies and fills that the call launched itself", cell: |row| number(&row.gpu_own) },
    Column { title: "Kernels", sort: tree_sort::KERNELS, width: "w-small", least_px: 860.0, doc: "Kernels, copies and fills launched by the call and its children", cell: |row| number(&row.gpu_count) },
    Column { title: "CPU time", sort: tree_sort::CPU, width: "w-number", least_px: 560.0, doc: "CPU time of the call and its children", cell: |row| number(&row.cpu_time) },
    Column { title: "CPU self time", sort: tree_sort::CPU_SELF, width: "w-number", least_px: 1290.0, doc: "CPU time of the call without its children", cell: |row| number(&row.cpu_own) },
    Column { title: "Per module", sort: "", width: "w-spread", least_px: 1080.0, doc: "", cell: |row| text_cell("n", row.instances.as_ref().map(spread).unwrap_or_default()) },
    Column { title: "Calls", sort: tree_sort::CALLS, width: "w-small", least_px: 780.0, doc: "Number of merged calls", cell: |row| number(&row.calls) },
];

/// Columns about the GPU, which make room for others if no GPU activity was recorded.
const OF_GPU: [&str; 3] = [tree_sort::GPU, tree_sort::GPU_SELF, tree_sort::KERNELS];
const OF_GPU_PX: f64 = 330.0;

/// The columns that fit a table of this width. Calls as recorded have no count.
fn fitting(width_px: f64, mode: TreeMode, has_gpu: bool) -> Vec<&'static Column> {
    let width_px = if has_gpu {
        width_px
    } else {
        width_px + OF_GPU_PX
    };
    let columns = COLUMNS.iter();
    let columns = columns.filter(|column| has_gpu || !OF_GPU.contains(&column.sort));
    let fitting = columns.filter(|column| {
        let is_merged = !matches!(mode, TreeMode::Recorded | TreeMode::BottomUp);
        let says_nothing = match column.width {
            "w-spread" => !is_merged,
            _ => mode == TreeMode::Recorded && column.sort == tree_sort::CALLS,
        };
        column.least_px <= width_px && !says_nothing
    });
    fitting.collect()
}

pub(super) fn table(tree: TreeState) -> AnyView {
    let rows = tree.list.rows;
    let columns = Memo::new(move |_| {
        let mode = tree.settings.with(|settings| settings.mode);
        fitting(rows.window.width_px.get(), mode, has_gpu())
    });
    let widths = move || {
        let columns = columns.get();
        let widths = columns.iter().map(|column| column.width);
        std::iter::once("w-rest").chain(widths).collect()
    };
    let head = move || {
        let heads = columns.get().into_iter().map(|column| match column.sort {
            "" => view! { <th scope="col"><span>{column.title}</span></th> }.into_any(),
            sort => heading(tree, column.title, sort, column.doc),
        });
        let name = heading(
            tree,
            "Call",
            tree_sort::NAME,
            "Sort by name, then by trace order",
        );
        std::iter::once(name).chain(heads).collect_view().into_any()
    };
    VirtualTable {
        act: Arc::new(move |act| tree.act(act)),
        label: "Call tree".to_owned(),
        class: "tree",
        ids: "node",
        widths: Signal::derive(widths),
        layout: None,
        head: Box::new(head),
        empty: Signal::derive(move || tree.list.summary.get()),
        is_alone: false,
    }
    .view(rows, move |row| line(tree, row, &columns.get_untracked()))
}

/// In a narrower table, files are shown without their folders, which are in the tooltip and the panel.
const NARROW_PX: f64 = 620.0;

fn shown_name(tree: TreeState, row: &TreeRow) -> String {
    let is_narrow = tree.list.rows.window.width_px.get_untracked() < NARROW_PX;
    match is_narrow && !row.code.is_empty() {
        true => file_of(&row.name).to_owned(),
        false => row.name.clone(),
    }
}

/// The number of modules in a row: a button that splits them into rows of their own, or merges them again.
fn instances(tree: TreeState, node: u32, of: &TreeInstances) -> AnyView {
    let step = move |event: MouseEvent| {
        event.stop_propagation();
        tree.rearrange(TreeStep::Instances(node));
    };
    let title = format!("{}, {} each. Key: I", instances_title(of), spread(of));
    view! {
        <button
            type="button"
            class="small instances"
            tabindex="-1"
            aria-pressed=of.split.to_string()
            title=title
            on:click=step
            on:dblclick=|event| event.stop_propagation()
        >
            {format!("\u{d7}{}", of.n)}
        </button>
    }
    .into_any()
}

/// What the button does.
pub(super) fn instances_title(of: &TreeInstances) -> String {
    let n = format::counted(u64::from(of.n), "module");
    match of.split {
        false => format!("Show {n} separately"),
        true => format!("Merge {n}"),
    }
}

fn heading(
    tree: TreeState,
    title: &'static str,
    column: &'static str,
    doc: &'static str,
) -> AnyView {
    let is_name = column == tree_sort::NAME;
    let recorded = move || Sort {
        column: tree_sort::RECORDED.to_owned(),
        descending: false,
    };
    sort_heading(
        (title, ""),
        column,
        !is_name,
        Signal::stored(Some(doc.to_owned())),
        Signal::derive(move || tree.settings.with(|settings| settings.sort.clone())),
        move |sort| {
            let sort = sort.or_else(|| is_name.then(recorded));
            tree.show_as(|focus| focus.sort = sort);
        },
        None,
    )
}

fn line(tree: TreeState, row: &TreeRow, columns: &[&'static Column]) -> Line {
    let dot = (!row.token.is_empty()).then(|| dot(&row.token));
    let title = row.whole.clone().unwrap_or_else(|| row.name.clone());
    let instances = row
        .instances
        .as_ref()
        .map(|of| instances(tree, row.node, of));
    let name = view! {
        <td class="mono" title=title style:padding-left=indent(row.branch.depth, INDENT_PERCENT)>
            <span class="line">{fold_mark(row.branch.open)} {dot} {cut_name(shown_name(tree, row))} {instances}</span>
        </td>
    };
    let class = match (row.uid, &*row.code) {
        (None, _) => "thread",
        (Some(_), "own") => "code-own",
        (Some(_), "pytorch") => "code-pytorch",
        (Some(_), "library") => "code-library",
        (Some(_), _) => "",
    };
    let cells = columns.iter().map(|column| (column.cell)(row));
    Line {
        class: class.to_owned(),
        cells: std::iter::once(name.into_any()).chain(cells).collect(),
    }
}

//! A sheet as a virtualized table: sort, filter, select, copy; by mouse or by keyboard.

use std::sync::Arc;

use dormer_core::names::Family;
use dormer_core::report::sheet::Field;

use super::column_list::column_list;
use super::op_details::{LONG, field_list};
use super::pivot::{group_choice, groups};
use super::sheet_columns::ShownColumns;
use super::sheet_rows::SheetRows;
use super::table_column::{fitted_cell, two_lines_cell};
use super::table_tools::{copy_table, search_field, search_help, search_remarks, totals};
use crate::page::prelude::*;
use crate::protocol::{RowQuery, TableCell, TableRow};

/// A sheet as a table. The first column has the category's color.
#[component]
pub fn SheetTable(
    /// The sheet's name.
    sheet: &'static str,
    /// What the rows are, in the plural: "operations".
    noun: &'static str,
    /// The columns shown; the details of a selected row show all fields.
    columns: &'static [TableColumn],
    /// The message if the trace has no such sheet.
    #[prop(into)]
    empty: Signal<String>,
    /// Elements beside the filter.
    #[prop(optional)]
    tools: Option<AnyView>,
    /// An explanation of the figures, if there are rows.
    #[prop(optional, into)]
    note: ViewFn,
    /// A link to another view, if the trace has no such sheet.
    #[prop(optional, into)]
    elsewhere: ViewFn,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let list = SheetRows::new(sheet, columns);
    let window = list.rows.window;
    let (n_all, marked, selected) = (list.n_all, window.marked, list.selected);
    let ShownColumns {
        shown,
        below,
        layout,
        ..
    } = list.in_window;
    // The selected row has details beside the view, or its values below the table.
    let has_details = op_details::has_details(sheet);
    let is_grouped = state.of_place(move |place| has_details && !place.focus.group.is_empty());
    let line = move |row: &TableRow| {
        shown.with_untracked(|shown| line_of(row, columns, shown, below.get_untracked()))
    };
    let nothing = move || match n_all.get() {
        0 => empty.get(),
        n_all => format!("None of the {n_all} {noun} match the filter."),
    };
    let table = VirtualTable {
        act: Arc::new(move |act| list.act(&act)),
        label: format!("All {noun}"),
        class: "",
        ids: sheet,
        widths: Signal::derive(move || {
            shown.with(|shown| shown.iter().map(|column| column.width.class()).collect())
        }),
        layout: Some(layout.into()),
        head: Box::new(move || each(shown.get(), |column| list.heading(column)).into_any()),
        empty: Signal::derive(nothing),
        is_alone: has_details,
    };

    view! {
        <div class="tools">
            {filter(noun, n_all, window)}
            <span class="grow"></span>
            {tools}
            {has_details.then(|| group_choice(columns))}
            {copy_table(sheet, shown, marked)}
            {column_list(list.arrangement, shown)}
        </div>
        {search_remarks(list.remarks)}
        <div class="rows" class:grouped=move || is_grouped.get()>
            {table.view(list.rows, line)}
        </div>
        <Show when=move || is_grouped.get()>{groups(sheet, columns)}</Show>
        {totals(sheet, columns, marked)}
        {(!has_details).then(|| selected_row(sheet, selected))}
        {move || match (window.arrived.get(), n_all.get()) {
            (false, _) => ().into_any(),
            (true, 0) => elsewhere.run(),
            (true, _) => view! {
                <Show when=move || has_details && selected.get().is_none()>
                    <p class="fine under on-screen">"Select a row to see its details." <span class="by-keys">" Arrow keys move, Enter moves to the details, Space marks rows to add up, Escape clears the selection."</span></p>
                </Show>
                {note.run()}
            }
            .into_any(),
        }}
    }
}

/// The filter and the number of matching rows.
fn filter(noun: &'static str, of_all: RwSignal<usize>, window: RowWindow) -> impl IntoView {
    let state = expect_context::<AppState>();
    let find = state.of_place(|place| place.focus.find.clone());
    let set = move |text| {
        state.look_at(|focus| {
            focus.find = text;
            focus.row = None;
        });
    };
    let hint = "All words must match; fields such as dur>1ms or category:gemm compare columns. The question mark lists them.";
    view! {
            {search_field("filter", format!("Filter {noun}"), "mm 2816, dur>1ms", Some(hint), set, |_| {})}
            {search_help()}
            {only()}
            <p class="count" role="status" data-testid="count">
                {move || {
                    let (matching, of_all) = (window.total.get(), of_all.get());
                    let count = |n: usize| format::count(n as u64);
                    if of_all == 0 && !window.arrived.get() {
                        String::new()
                    } else if matching == of_all && find.with(String::is_empty) {
                        let noun = if of_all == 1 { singular(noun) } else { noun.to_owned() };
                        format!("{} {noun}", count(of_all))
                    } else {
                        format!("{} of {} {noun}", count(matching), count(of_all))
                    }
                }}
            </p>
    }
}

/// The shown categories, if a link chose some, and a button to show all. Views with category switches of their own show
/// them there.
fn only() -> impl IntoView {
    let state = expect_context::<AppState>();
    let only = state.of_place(|place| {
        let shown = Family::ALL.into_iter().filter(|family| {
            let is_it = |token: &String| token == family.token();
            place.view != "roofline" && place.focus.only.iter().any(is_it)
        });
        shown.map(Family::label).collect::<Vec<_>>().join(", ")
    });
    view! {
        <Show when=move || !only.with(String::is_empty)>
            <button
                type="button"
                id="only"
                aria-label=move || format!("Only {}: show all categories", only.get())
                on:click=move |_| state.look_at(|focus| focus.only.clear())
            >
                {move || format!("Only {} \u{2715}", only.get())}
            </button>
        </Show>
    }
}

/// A row with the cells of the shown columns.
fn line_of(
    row: &TableRow,
    columns: &'static [TableColumn],
    shown: &[&'static TableColumn],
    below: Option<&'static TableColumn>,
) -> Line {
    let place = |column: &TableColumn| columns.iter().position(|one| one == column);
    let below = below.and_then(|below| row.cells.get(place(below)?));
    let below = below.filter(|cell| !cell.text.is_empty());
    let cell = |column: &&'static TableColumn| {
        let at = place(column)?;
        let cell = row.cells.get(at)?;
        Some(match below.filter(|_| at == 0) {
            Some(below) => two_lines_cell(cell, below),
            None => cell_view(column, cell, at == 0),
        })
    };
    Line {
        class: format!("c-{}", row.token),
        cells: shown.iter().filter_map(cell).collect(),
    }
}

fn cell_view(column: &TableColumn, cell: &TableCell, is_first: bool) -> AnyView {
    let (text, note) = (cell.text.clone(), cell.note.clone());
    match column.width {
        Width::Share => share_cell(cell.number, text),
        Width::Gauge => gauge_cell(cell.number, text, note),
        Width::Signed => match cell.number {
            Some(number) if number > 0.0 => text_cell("n slower", format::with_sign(&text, true)),
            Some(number) if number < 0.0 => text_cell("n faster", format::with_sign(&text, false)),
            _ => text_cell("n", text),
        },
        Width::Number | Width::Figure | Width::Small => text_cell("n", text),
        Width::Label | Width::Phrase | Width::Word => category_cell(text, note),
        Width::Rest | Width::Name if is_first => fitted_cell("mono dotted", cell),
        Width::Rest | Width::Name => fitted_cell("mono", cell),
    }
}

/// The singular of a plural noun: "category" of "categories".
fn singular(noun: &str) -> String {
    match noun.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => noun.strip_suffix('s').unwrap_or(noun).to_owned(),
    }
}

/// The sheet of CPU operators: its rows have calls, but no details if there is no GPU activity.
const CPU_OPERATORS: &str = "cpu_ops_summary";

/// All fields of the selected row.
fn selected_row(sheet: &'static str, selected: Memo<Option<u32>>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let known = RwSignal::new(Vec::<Field>::new());
    Effect::new(move || {
        state.report.track();
        let Some(row) = selected.get() else {
            known.set(Vec::new());
            return;
        };
        let query = RowQuery {
            sheet: sheet.to_owned(),
            row: row as usize,
        };
        engine.ask(query, move |fields| {
            if selected.try_get_untracked() == Some(Some(row)) {
                known.set(fields);
            }
        });
    });
    let shown = move || {
        let fields = known.get();
        if fields.is_empty() {
            return view! {
                <p class="hint">
                    "Select a row to see its full name and every value." <span class="by-keys">" Arrow keys move, Escape clears the selection."</span>
                </p>
            }
            .into_any();
        }
        let operator = fields
            .iter()
            .find(|field| sheet == CPU_OPERATORS && field.label == "Name");
        let calls = operator.map(|field| {
            let focus = Focus::finding(field.value.clone());
            view! { <p><ViewLink view="tree" focus>"Show its calls in the call tree"</ViewLink></p> }
        });
        let (long, short) = fields
            .into_iter()
            .partition(|field| field.value.len() > LONG);
        view! { {field_list(short, long)} {calls} }.into_any()
    };
    let is_some = move || known.with(|known| !known.is_empty());
    selection("The selected row", None, is_some, shown)
}

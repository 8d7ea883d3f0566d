//! A sheet as a virtualized table: sort, filter, select, copy; by mouse or by keyboard.

use std::collections::BTreeSet;
use std::sync::Arc;

use dormer_core::names::Family;
use dormer_core::report::sheet::Field;
use gloo::timers::callback::Timeout;

use super::column_list::column_list;
use super::op_details::{LONG, field_list};
use super::pivot::{group_choice, groups};
use super::sheet_columns::{SheetColumns, ShownColumns};
use super::table_column::fitted_cell;
use super::table_tools::{copy_table, search_help, search_remarks, totals};
use crate::page::prelude::*;
use crate::protocol::{RowQuery, RowsQuery, Sort, TableCell, TableRow};

impl VirtualRow for TableRow {
    fn id(&self) -> u32 {
        self.row as u32
    }
}

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
    let engine = expect_context::<Engine>();
    let focus = state.focus();
    let of_all = RwSignal::new(0_usize);
    let order = Memo::new(move |_| {
        focus.with(|focus| (focus.find.clone(), focus.only.clone(), focus.sort.clone()))
    });
    let docs = RwSignal::new(Vec::<Option<String>>::new());
    let remarks = RwSignal::new(Vec::<String>::new());
    let own_order = RwSignal::new(None::<Sort>);
    // The URL may name a row: its position is known once the first rows arrive.
    let wanted = StoredValue::new(focus.with_untracked(|focus| focus.row));

    let parts = SheetColumns::new(state, sheet, columns, docs);
    let asked_rooms = StoredValue::new(Vec::new());

    let rows = VirtualRows::new(state, move |rows, list, offset, count| {
        let (find, only, sort) = order.get_untracked();
        let rooms = untrack(|| parts.rooms_in(rows.window.width_px.get()));
        asked_rooms.set_value(rooms.clone());
        let query = RowsQuery {
            rooms,
            sheet: sheet.to_owned(),
            columns: columns
                .iter()
                .map(|column| column.label.to_owned())
                .collect(),
            find,
            only,
            sort,
            offset,
            count,
            locate: wanted.get_value().map(|row| row as usize),
        };
        engine.ask(query, move |page| {
            if !rows.accept(list, page.matching, page.offset, page.rows) {
                return;
            }
            of_all.set(page.total);
            if docs.with_untracked(|docs| *docs != page.docs) {
                docs.set(page.docs);
            }
            if remarks.with_untracked(|remarks| *remarks != page.remarks) {
                remarks.set(page.remarks);
            }
            if own_order.with_untracked(|order| *order != page.own_order) {
                own_order.set(page.own_order);
            }
            rows.show_wanted(wanted, page.located);
        });
    });
    let window = rows.window;
    let marked = window.marked;
    // Another report may have other rows.
    Effect::watch(
        move || state.report.get(),
        move |_, _, _| marked.update(BTreeSet::clear),
        false,
    );
    let mark = move |position: usize| {
        if let Some(row) = rows.drawn(position) {
            marked.update(|marked| {
                if !marked.remove(&row.id()) {
                    marked.insert(row.id());
                }
            });
        }
    };
    Effect::watch(
        move || (order.get(), state.report.get()),
        move |new, old, _| {
            // Another report of the same trace keeps the scroll position; another order starts at the top.
            match old {
                Some(old) if old.0 != new.0 => rows.restart(),
                _ => rows.renew(),
            }
        },
        false,
    );

    // The selected row has details beside the view, or its values below the table.
    let has_details = op_details::has_details(sheet);
    let is_grouped = Memo::new(move |_| focus.with(|focus| has_details && !focus.group.is_empty()));
    let selected = Memo::new(move |_| focus.with(|focus| focus.row));
    Effect::watch(
        move || order.get(),
        move |_, _, _| window.cursor.set(None),
        false,
    );
    rows.follow(selected, wanted);
    let act = move |act: RowAct| {
        match act {
            RowAct::Pick(position) => window.cursor.set(Some(position)),
            RowAct::Toggle(_) => {}
            RowAct::Mark(position) => mark(position),
            RowAct::MarkTo(position) => {
                let from = window.cursor.get_untracked().unwrap_or(position);
                let between = from.min(position)..=from.max(position);
                let ids = between.filter_map(|at| Some(rows.drawn(at)?.id()));
                marked.update(|marked| marked.extend(ids));
            }
            RowAct::Press(event) => match event.key().as_str() {
                "Enter" if has_details && selected.get_untracked().is_some() => {
                    op_details::enter(state);
                    return true;
                }
                " " => {
                    window.cursor.get_untracked().into_iter().for_each(mark);
                    return true;
                }
                "Escape" if marked.with_untracked(|marked| !marked.is_empty()) => {
                    marked.update(BTreeSet::clear);
                }
                "Escape" => {
                    window.cursor.set(None);
                    state.look_at(|focus| focus.row = None);
                }
                _ => {}
            },
        }
        false
    };

    let in_window = parts.shown(window.width_px);
    let ShownColumns {
        shown,
        layout,
        rooms,
    } = in_window;
    // Names are shortened again once the column widths have been stable for a moment.
    let cut_anew = StoredValue::new_local(None::<Timeout>);
    Effect::watch(
        move || rooms.get(),
        move |_, _, _| {
            let cut = move || {
                let is_other = asked_rooms.try_with_value(|asked| {
                    rooms.try_with_untracked(|rooms| rooms != asked) == Some(true)
                });
                if is_other == Some(true) {
                    rows.renew();
                }
            };
            cut_anew.set_value(Some(Timeout::new(150, cut)));
        },
        false,
    );
    let doc_of = move |label: &'static str| {
        let position = columns.iter().position(|column| column.label == label);
        docs.with(|docs| docs.get(position?).cloned().flatten())
    };
    let heading = move |column: &'static TableColumn| {
        sort_heading(
            (column.heading, column.unit),
            column.label,
            column.width.is_number(),
            Signal::derive(move || doc_of(column.label)),
            Signal::derive(move || {
                let chosen = order.with(|(.., sort)| sort.clone());
                chosen.or_else(|| own_order.get())
            }),
            move |sort| state.look_at(|focus| focus.sort = sort),
            Some(parts.edge(state, in_window, column)),
        )
    };
    let line = move |row: &TableRow| {
        let cell = |column: &&'static TableColumn| {
            let at = columns.iter().position(|one| one == *column)?;
            Some(cell_view(column, row.cells.get(at)?, at == 0))
        };
        Line {
            class: format!("c-{}", row.token),
            cells: shown.with_untracked(|shown| shown.iter().filter_map(cell).collect()),
        }
    };
    let nothing = move || match of_all.get() {
        0 => empty.get(),
        of_all => format!("None of the {of_all} {noun} match the filter."),
    };
    let table = VirtualTable {
        act: Arc::new(act),
        label: format!("All {noun}"),
        class: "",
        ids: sheet,
        widths: Signal::derive(move || {
            shown.with(|shown| shown.iter().map(|column| column.width.class()).collect())
        }),
        layout: Some(layout.into()),
        head: Box::new(move || each(shown.get(), heading).into_any()),
        empty: Signal::derive(nothing),
        is_alone: has_details,
    };

    view! {
        <div class="tools">
            {filter(noun, of_all, window.total)}
            <span class="grow"></span>
            {tools}
            {has_details.then(|| group_choice(columns))}
            {copy_table(sheet, shown, marked)}
            {column_list(parts, shown)}
        </div>
        {search_remarks(remarks)}
        <div class="rows" class:grouped=move || is_grouped.get()>
            {table.view(rows, line)}
        </div>
        <Show when=move || is_grouped.get()>{groups(sheet, columns)}</Show>
        {totals(sheet, columns, marked)}
        {(!has_details).then(|| selected_row(sheet, selected))}
        {move || match (window.arrived.get(), of_all.get()) {
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
fn filter(noun: &'static str, of_all: RwSignal<usize>, matching: RwSignal<usize>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let find = state.of_place(|place| place.focus.find.clone());
    let wait = StoredValue::new_local(None::<Timeout>);
    let typed = move |event| {
        let text = event_target_value(&event);
        // Debounce: typing is faster than reading.
        wait.set_value(Some(Timeout::new(60, move || {
            state.look_at(|focus| {
                focus.find = text;
                focus.row = None;
            });
        })));
    };
    view! {
            <label class="search">
                {icon("search")}
                <span class="unseen">{format!("Filter {noun}")}</span>
                <input
                    id="filter"
                    type="search"
                    autocomplete="off"
                    spellcheck="false"
                    placeholder=format!("Filter {noun}: mm 2816, dur>1ms")
                    title="All words must match; fields such as dur>1ms or category:gemm compare columns. The question mark lists them."
                    prop:value=move || find.get()
                    on:input=typed
                />
            </label>
            {search_help()}
            {only()}
            <p class="count" role="status" data-testid="count">
                {move || {
                    let (matching, of_all) = (matching.get(), of_all.get());
                    if matching == of_all && find.with(String::is_empty) {
                        let noun = if of_all == 1 { singular(noun) } else { noun.to_owned() };
                        format!("{of_all} {noun}")
                    } else {
                        format!("{matching} of {of_all} {noun}")
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
        Width::Label | Width::Phrase => category_cell(text, note),
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

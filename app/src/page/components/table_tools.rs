//! The elements around a table: search help, copying, and the totals of marked rows.

use std::collections::BTreeSet;

use gloo::timers::callback::Timeout;
use leptos::ev::FocusEvent;
use leptos::html::Details;

use super::table_text::TableText;
use crate::page::prelude::*;
use crate::protocol::search::{FIELDS, FieldKind};
use crate::protocol::{RowsPage, RowsQuery, TableCell, TableRow, Total, TotalsQuery};

/// The most rows that are copied.
const MOST_COPIED: usize = 20_000;

/// Examples of searches, with their results.
const EXAMPLES: &[(&str, &str)] = &[
    ("mm 2816", "both words, anywhere in the row"),
    ("8944×2816", "a shape as it is displayed"),
    ("\"flash fwd\" -backward", "words together, without another"),
    ("dur>1ms calls<10", "numbers, times with their unit"),
    ("category:gemm module:attn", "fields by their text"),
];

/// A menu of a view's tools.
pub fn menu(
    id: &'static str,
    summary: impl IntoView + 'static,
    inside: impl IntoView + 'static,
) -> AnyView {
    popup("menu".to_owned(), id.to_owned(), summary, inside)
}

/// A summary that opens something in front of the view. It closes when the focus leaves it, and with Escape.
pub fn popup(
    class: String,
    id: String,
    summary: impl IntoView + 'static,
    inside: impl IntoView + 'static,
) -> AnyView {
    let menu = NodeRef::<Details>::new();
    let left = move |event: FocusEvent| {
        // The focus also leaves it when its view is left.
        if let Some(menu) = menu.try_get_untracked().flatten()
            && browser::focus_leaves(&menu, &event)
        {
            menu.set_open(false);
        }
    };
    let summary_id = id.clone();
    let on_key = move |event: KeyboardEvent| {
        if let Some(menu) = menu.get_untracked().filter(|menu| menu.open())
            && event.key() == "Escape"
        {
            menu.set_open(false);
            browser::focus_on(&summary_id);
            event.prevent_default();
        }
    };
    view! {
        <details class=class node_ref=menu on:focusout=left on:keydown=on_key>
            <summary id=id>{summary}</summary>
            {inside}
        </details>
    }
    .into_any()
}

/// A field for the text that the place looks for; `set` gets it as soon as typing pauses.
pub fn search_field(
    id: &'static str,
    label: String,
    placeholder: &'static str,
    hint: Option<&'static str>,
    set: impl Fn(String) + Copy + 'static,
    press: impl Fn(KeyboardEvent) + 'static,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let text = state.of_place(|place| place.focus.find.clone());
    let wait = StoredValue::new_local(None::<Timeout>);
    let typed = move |event| {
        let text = event_target_value(&event);
        wait.set_value(Some(Timeout::new(60, move || set(text))));
    };
    view! {
        <label class="search">
            {icon("search")}
            <span class="unseen">{label}</span>
            <input
                id=id
                type="search"
                autocomplete="off"
                spellcheck="false"
                placeholder=placeholder
                title=hint
                prop:value=move || text.get()
                on:input=typed
                on:keydown=press
            />
        </label>
    }
}

/// A field that filters runs.
pub fn run_filter(
    id: &'static str,
    placeholder: &'static str,
    text: impl Fn() -> String + Send + 'static,
    set: impl Fn(String) + 'static,
) -> impl IntoView {
    view! {
        <label class="run-filter">
            <span class="unseen">"Filter runs"</span>
            <input
                type="search"
                id=id
                placeholder=placeholder
                prop:value=text
                on:input=move |event| set(event_target_value(&event))
            />
        </label>
    }
}

/// The search help of a table.
pub fn search_help() -> impl IntoView {
    let example = |(typed, leaves): &(&'static str, &'static str)| {
        view! { <div><dt><code>{*typed}</code></dt><dd>{*leaves}</dd></div> }
    };
    let field = |kind: FieldKind| match kind {
        FieldKind::Text => ":",
        FieldKind::Time | FieldKind::Number => "> < =",
    };
    let fields = each(FIELDS, |one| {
        let names = one.names.join(", ");
        view! { <div><dt><code>{names}</code> " " <small>{field(one.kind)}</small></dt><dd>{one.what}</dd></div> }
    });
    let inside = view! {
        <div class="search-help" data-testid="search-help" tabindex="0" role="region" aria-label="How to search">
            <dl>{each(EXAMPLES, example)}</dl>
            <p class="of-fields">"Fields"</p>
            <dl>{fields}</dl>
        </div>
    };
    menu(
        "search-help",
        view! { <span class="unseen">"How to search"</span> <span aria-hidden="true">"?"</span> },
        inside,
    )
}

/// Hints about a search that probably does not do what the user meant.
pub fn search_remarks(remarks: RwSignal<Vec<String>>) -> impl IntoView {
    view! {
        <div class="remarks" role="status" data-testid="search-remarks">
            {move || each(remarks.get(), |remark| view! { <p class="fine">{remark}</p> })}
        </div>
    }
}

/// The buttons that copy a table as shown: the filtered rows, or the marked ones.
pub fn copy_table(
    sheet: &'static str,
    shown: Memo<Vec<&'static TableColumn>>,
    marked: RwSignal<BTreeSet<u32>>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let focus = state.focus();
    let message = RwSignal::new(String::new());
    let copy = move |is_plain: bool, write: fn(&TableText) -> String| {
        let columns = shown.get_untracked();
        let query = focus.with_untracked(|focus| RowsQuery {
            sheet: sheet.to_owned(),
            columns: columns
                .iter()
                .map(|column| column.label.to_owned())
                .collect(),
            find: focus.find.clone(),
            only: focus.only.clone(),
            sort: focus.sort.clone(),
            count: MOST_COPIED,
            is_plain,
            ..RowsQuery::default()
        });
        engine.ask(query, move |page| {
            let table = copied(page, &columns, &marked.get_untracked());
            let n_rows = format::counted(table.rows.len() as u64, "row");
            browser::copy(&write(&table), move |copied| {
                let _ = message.try_set(match copied {
                    true => format!("{n_rows} copied"),
                    false => "The browser does not allow copying".to_owned(),
                });
                Timeout::new(2400, move || {
                    let _ = message.try_set(String::new());
                })
                .forget();
            });
        });
    };
    view! {
        <span class="copy-table">
            <span class="fine" role="status" data-testid="copied">{message}</span>
            <button type="button" id="copy-table" title="Copy what is shown for a spreadsheet: tabs between cells, units in the headings" on:click=move |_| copy(true, TableText::tabbed)>"Copy table"</button>
            <button type="button" id="copy-markdown" title="Copy what is shown as a Markdown table" on:click=move |_| copy(false, TableText::markdown)>"Markdown"</button>
        </span>
    }
}

/// A page of a table as text: its marked rows, or all if none is marked.
fn copied(page: RowsPage, columns: &[&TableColumn], marked: &BTreeSet<u32>) -> TableText {
    let mut units = page.units.into_iter();
    let heads = columns.iter().map(|column| {
        let of_numbers = units.next().unwrap_or_default();
        let heading = column.heading;
        match &*[column.unit, &of_numbers].concat() {
            "" => heading.to_owned(),
            "%" if heading.contains('%') => heading.to_owned(),
            unit => format!("{heading} ({unit})"),
        }
    });
    let whole = |cell: TableCell| cell.whole.unwrap_or(cell.text);
    let is_wanted = |row: &TableRow| marked.is_empty() || marked.contains(&(row.row as u32));
    let rows = page.rows.into_iter().filter(is_wanted);
    let rows = rows.map(|row| row.cells.into_iter().map(whole).collect());
    TableText {
        heads: heads.collect(),
        rows: rows.collect(),
    }
}

/// The totals of the marked rows; nothing if there are none.
pub fn totals(
    sheet: &'static str,
    columns: &'static [TableColumn],
    marked: RwSignal<BTreeSet<u32>>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let known = RwSignal::new(Vec::<Total>::new());
    Effect::new(move || {
        state.report.track();
        let rows: Vec<u32> = marked.with(|marked| marked.iter().copied().collect());
        if rows.is_empty() {
            known.set(Vec::new());
            return;
        }
        let query = TotalsQuery {
            sheet: sheet.to_owned(),
            rows,
            columns: columns
                .iter()
                .map(|column| column.label.to_owned())
                .collect(),
        };
        engine.ask(query, move |totals| {
            let _ = known.try_set(totals);
        });
    });
    let total = move |total: Total| {
        let column = columns.iter().find(|column| column.label == total.column);
        let heading = column.map_or("", |column| column.heading);
        view! { <span class="total">{heading} " " <b>{total.text}</b></span> }
    };
    view! {
        <Show when=move || marked.with(|marked| !marked.is_empty())>
            <p class="totals" role="status" data-testid="totals">
                <b>{move || format!("{} marked", format::counted(marked.with(BTreeSet::len) as u64, "row"))}</b>
                {move || each(known.get(), total)}
                <button type="button" class="small" id="unmark" on:click=move |_| marked.update(BTreeSet::clear)>"Unmark all"</button>
            </p>
        </Show>
    }
}

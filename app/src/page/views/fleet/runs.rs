//! The runs of a fleet: a long table, filtered and sorted by the worker.

use std::sync::Arc;

use crate::page::components::table_tools::run_filter;
use crate::page::prelude::*;
use crate::protocol::{FleetRunsQuery, RUN_COLUMNS, Sort, TableRow};

/// Classes of the columns, which set their widths.
const WIDTHS: [&str; 10] = [
    "run-day",
    "run-name",
    "run-gpu",
    "run-build",
    "run-n",
    "run-n",
    "run-n",
    "run-n",
    "run-finding",
    "run-uri",
];

/// The runs, and the details of the selected one.
pub(super) fn runs(n_runs: u32) -> AnyView {
    let state = expect_context::<AppState>();
    let order = state.of_place(|place| (place.focus.find.clone(), place.focus.sort.clone()));
    let rows = requested_rows(state, order);
    let window = rows.window;
    // The row at the cursor is the selected one.
    let chosen = Memo::new(move |_| rows.at_cursor().map(|row| (*row).clone()));
    Effect::watch(
        move || chosen.get().map(|row| row.row as u32),
        move |row, _, _| {
            if row.is_some() {
                state.look_at(|focus| focus.row = *row);
            }
        },
        false,
    );
    let n_matching = move || {
        let (n, all) = (window.total.get() as u64, format::count(u64::from(n_runs)));
        match window.arrived.get() {
            true => format!("{} of {all}", format::count(n)),
            false => all,
        }
    };
    let find = move |find: String| {
        state.look_at(|focus| {
            focus.find = find;
            focus.row = None;
        });
    };
    let filter = run_filter(
        "run-filter",
        "Model, GPU, build, machine, finding, file",
        move || order.with(|(find, _)| find.clone()),
        find,
    );
    let sort = Signal::derive(move || order.with(|(_, sort)| sort.clone()));
    view! {
        <section class="card flush" data-testid="fleet-runs">
            <header>
                <h3>"Runs"</h3>
                {filter}
                <span class="fine" role="status" data-testid="run-count">{n_matching}</span>
            </header>
            <div class="chart-table">{table(state, rows, sort)}</div>
            <div class="heat-chosen run-chosen" role="status" data-testid="run-chosen">
                {move || chosen.get().map(|row| about(&row))}
            </div>
        </section>
    }
    .into_any()
}

/// The rows, requested from the worker again whenever filter or order change.
fn requested_rows(state: AppState, order: Memo<(String, Option<Sort>)>) -> VirtualRows<TableRow> {
    let engine = expect_context::<Engine>();
    let wanted = StoredValue::new(state.place.with_untracked(|place| place.focus.row));
    let rows = VirtualRows::<TableRow>::new(state, move |rows, list, offset, count| {
        let (find, sort) = order.get_untracked();
        let query = FleetRunsQuery {
            find,
            sort,
            offset,
            count,
            locate: wanted.get_value(),
        };
        engine.ask_fleet(query, move |page| {
            if rows.accept(list, page.matching, page.offset, page.rows) {
                rows.show_wanted(wanted, page.located);
            }
        });
    });
    Effect::watch(
        move || order.get(),
        move |_, _, _| {
            rows.window.cursor.set(None);
            rows.restart();
        },
        false,
    );
    rows.follow(state.of_place(|place| place.focus.row), wanted);
    rows
}

fn table(state: AppState, rows: VirtualRows<TableRow>, sort: Signal<Option<Sort>>) -> AnyView {
    let cursor = rows.window.cursor;
    let act = move |act: RowAct| {
        match act {
            RowAct::Pick(position) | RowAct::Toggle(position) => cursor.set(Some(position)),
            RowAct::Press(event) if event.key() == "Escape" => {
                cursor.set(None);
                state.look_at(|focus| focus.row = None);
                return true;
            }
            _ => {}
        }
        false
    };
    let turn = move |sort| {
        state.look_at(|focus| {
            focus.sort = sort;
            focus.row = None;
        });
    };
    let head = move || {
        each(RUN_COLUMNS, |(key, title, is_number)| {
            let doc = Signal::stored(None);
            sort_heading((title, ""), key, is_number, doc, sort, turn, None)
        })
        .into_any()
    };
    let table = VirtualTable {
        act: Arc::new(act),
        label: "Runs".to_owned(),
        class: "runs",
        ids: "run",
        widths: Signal::stored(WIDTHS.to_vec()),
        layout: None,
        head: Box::new(head),
        empty: Signal::stored("No run matches the filter.".to_owned()),
        is_alone: false,
    };
    table.view(rows, |row: &TableRow| Line {
        class: String::new(),
        cells: each(row.cells.iter().zip(RUN_COLUMNS), |(cell, (key, _, is_number))| {
            let title = (key == "uri" || key == "finding").then(|| cell.text.clone());
            view! { <td class:n=is_number class:mono=key == "uri" title=title>{cell.text.clone()}</td> }
                .into_any()
        }),
    })
}

/// Where the trace of a run lies.
fn about(row: &TableRow) -> AnyView {
    let uri = row.cells.last().map(|cell| cell.text.clone());
    match uri.filter(|uri| !uri.is_empty()) {
        None => view! { <p class="soft">"The summary does not say where this run was read."</p> }
            .into_any(),
        Some(uri) => view! {
            <p><b class="mono">{uri.clone()}</b></p>
            {copy_button(uri, "Copy the path")}
            <p class="soft">"Drop this file here to open it. The page fetches nothing."</p>
        }
        .into_any(),
    }
}

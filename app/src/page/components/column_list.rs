//! The list of a table's columns: which are shown, in which order, and which are pinned at the left.

use super::sheet_columns::SheetColumns;
use super::table_layout::ColumnChoice;
use super::table_tools::menu;
use crate::page::prelude::*;
use crate::page::url;

/// The action of a button in the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Up,
    Down,
    Pin,
}

impl Act {
    /// The prefix of its buttons' ids.
    fn word(self) -> &'static str {
        match self {
            Act::Up => "column-up",
            Act::Down => "column-down",
            Act::Pin => "column-pin",
        }
    }
}

/// Performs the action of a button.
fn act(columns: SheetColumns, state: AppState, column: &TableColumn, act: Act) {
    let known = columns.known.get_untracked();
    columns.choose(state, |choice| match act {
        Act::Up => choice.move_by_one(&known, column, false),
        Act::Down => choice.move_by_one(&known, column, true),
        Act::Pin => choice.pin(&known, column),
    });
}

/// Whether a button has no effect.
fn is_idle(columns: SheetColumns, column: &TableColumn, act: Act) -> bool {
    let choice = columns.choice.read();
    columns.known.with(|known| match act {
        Act::Up => !choice.can_move(known, column, false),
        Act::Down => !choice.can_move(known, column, true),
        Act::Pin => !choice.is_pinned(known, column) && !choice.can_pin(),
    })
}

/// The column menu. Until the user chooses, a table shows the columns that fit.
pub fn column_list(columns: SheetColumns, shown: Memo<Vec<&'static TableColumn>>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let SheetColumns {
        sheet,
        known,
        choice,
        arranged,
        ..
    } = columns;
    let announced = RwSignal::new(String::new());
    let toggle = move |label: &'static str| {
        let mut labels: Vec<&'static str> =
            shown.with_untracked(|shown| shown.iter().map(|column| column.label).collect());
        url::toggle(&mut labels, label);
        columns.choose(state, |choice| choice.show(labels));
    };
    let press = move |column: &'static TableColumn, what: Act| {
        if untrack(|| is_idle(columns, column, what)) {
            return;
        }
        act(columns, state, column, what);
        let place = arranged.with_untracked(|all| {
            let at = all.iter().position(|one| one.label == column.label);
            at.map_or(0, |at| at + 1)
        });
        let n = arranged.with_untracked(Vec::len);
        let pinned = match (what, untrack(|| columns.is_pinned(column))) {
            (Act::Pin, true) => "pinned, ",
            (Act::Pin, false) => "no longer pinned, ",
            _ => "",
        };
        announced.set(format!("{}: {pinned}column {place} of {n}", column.heading));
        // The list is redrawn.
        let id = id_of(what, column);
        browser::after_paint(move || browser::focus_on(&id));
    };
    let button = move |column: &'static TableColumn, what: Act, label: String, shows: AnyView| {
        let pressed = move || (what == Act::Pin).then(|| columns.is_pinned(column).to_string());
        view! {
            <button
                type="button"
                class="ghost small"
                id=id_of(what, column)
                aria-label=label.clone()
                title=label
                aria-pressed=pressed
                aria-disabled=move || is_idle(columns, column, what).to_string()
                on:click=move |_| press(column, what)
            >
                {shows}
            </button>
        }
    };
    let item = move |column: &'static TableColumn| {
        let is_shown = move || shown.with(|shown| shown.contains(&column));
        let heading = column.heading;
        view! {
            <li>
                <label>
                    <input
                        type="checkbox"
                        prop:checked=is_shown
                        disabled=column.rank == 0
                        on:change=move |_| toggle(column.label)
                    />
                    <span>
                        {heading}
                        {(!column.unit.is_empty()).then(|| view! { " " <small>{column.unit}</small> })}
                    </span>
                </label>
                {button(column, Act::Up, format!("Move {heading} up"), icon("up").into_any())}
                {button(column, Act::Down, format!("Move {heading} down"), icon("down").into_any())}
                {button(column, Act::Pin, format!("Pin {heading} at the left"), "Pin".into_any())}
            </li>
        }
    };
    let summary = view! {
        "Columns"
        <small>{move || {
            let (shown, known) = (shown.with(Vec::len), known.with(Vec::len));
            (shown < known).then(|| format!("{shown} of {known}"))
        }}</small>
    };
    let is_usual = move || choice.with(|choice| *choice == ColumnChoice::default());
    let reset = move |_| {
        state.columns.update(|all| {
            all.remove(sheet);
        });
    };
    let inside = view! {
        <fieldset class="column-list">
            <legend class="unseen">"Columns to show, in order"</legend>
            <button
                type="button"
                class="small"
                id="reset-columns"
                title="Those that fit, in their own order and width"
                disabled=is_usual
                on:click=reset
            >"Reset columns"</button>
            <ol>{move || each(arranged.get(), item)}</ol>
            <p class="unseen" role="status">{announced}</p>
        </fieldset>
    };
    menu("columns", summary, inside)
}

/// The id of a button of the list.
fn id_of(act: Act, column: &TableColumn) -> String {
    let name: String = column
        .label
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    format!("{}-{name}", act.word())
}

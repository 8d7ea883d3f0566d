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

/// The columns of a table, with the page's state. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct ColumnMenu {
    state: AppState,
    columns: SheetColumns,
    shown: Memo<Vec<&'static TableColumn>>,
    /// What a screen reader says after an action.
    announced: RwSignal<String>,
}

impl ColumnMenu {
    /// Whether a button has no effect.
    fn is_idle(self, column: &TableColumn, act: Act) -> bool {
        let choice = self.columns.choice.read();
        self.columns.known.with(|known| match act {
            Act::Up => !choice.can_move(known, column, false),
            Act::Down => !choice.can_move(known, column, true),
            Act::Pin => !choice.is_pinned(known, column) && !choice.can_pin(),
        })
    }

    /// Performs the action of a button, and announces the new position.
    fn press(self, column: &'static TableColumn, act: Act) {
        if untrack(|| self.is_idle(column, act)) {
            return;
        }
        let known = self.columns.known.get_untracked();
        self.columns.choose(self.state, |choice| match act {
            Act::Up => choice.move_by_one(&known, column, false),
            Act::Down => choice.move_by_one(&known, column, true),
            Act::Pin => choice.pin(&known, column),
        });
        let arranged = self.columns.arranged.get_untracked();
        let at = arranged.iter().position(|one| one.label == column.label);
        let (place, n) = (at.map_or(0, |at| at + 1), arranged.len());
        let pinned = match (act, untrack(|| self.columns.is_pinned(column))) {
            (Act::Pin, true) => "pinned, ",
            (Act::Pin, false) => "no longer pinned, ",
            _ => "",
        };
        let heading = column.heading;
        self.announced
            .set(format!("{heading}: {pinned}column {place} of {n}"));
        // The list is redrawn.
        let id = id_of(act, column);
        browser::after_paint(move || browser::focus_on(&id));
    }

    /// Shows or hides a column.
    fn toggle(self, label: &'static str) {
        let mut labels = self
            .shown
            .with_untracked(|shown| each(shown, |column| column.label));
        url::toggle(&mut labels, label);
        self.columns
            .choose(self.state, |choice| choice.show(labels));
    }

    fn button(
        self,
        column: &'static TableColumn,
        act: Act,
        label: String,
        inside: impl IntoView + 'static,
    ) -> impl IntoView {
        let is_pressed =
            move || (act == Act::Pin).then(|| self.columns.is_pinned(column).to_string());
        view! {
            <button
                type="button"
                class="ghost small"
                id=id_of(act, column)
                aria-label=label.clone()
                title=label
                aria-pressed=is_pressed
                aria-disabled=move || self.is_idle(column, act).to_string()
                on:click=move |_| self.press(column, act)
            >
                {inside}
            </button>
        }
    }

    fn item(self, column: &'static TableColumn) -> impl IntoView {
        let heading = column.heading;
        view! {
            <li>
                <label>
                    <input
                        type="checkbox"
                        prop:checked=move || self.shown.with(|shown| shown.contains(&column))
                        disabled=column.rank == 0
                        on:change=move |_| self.toggle(column.label)
                    />
                    <span>
                        {heading}
                        {(!column.unit.is_empty()).then(|| view! { " " <small>{column.unit}</small> })}
                    </span>
                </label>
                {self.button(column, Act::Up, format!("Move {heading} up"), icon("up"))}
                {self.button(column, Act::Down, format!("Move {heading} down"), icon("down"))}
                {self.button(column, Act::Pin, format!("Pin {heading} at the left"), "Pin")}
            </li>
        }
    }
}

/// The column menu. Until the user chooses, a table shows the columns that fit.
pub fn column_list(columns: SheetColumns, shown: Memo<Vec<&'static TableColumn>>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let list = ColumnMenu {
        state,
        columns,
        shown,
        announced: RwSignal::new(String::new()),
    };
    let count = move || {
        let (shown, known) = (shown.with(Vec::len), columns.known.with(Vec::len));
        (shown < known).then(|| format!("{shown} of {known}"))
    };
    let is_usual = move || {
        columns
            .choice
            .with(|choice| *choice == ColumnChoice::default())
    };
    let reset = move |_| state.columns.update(|all| _ = all.remove(columns.sheet));
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
            <ol>{move || each(columns.arranged.get(), |column| list.item(column))}</ol>
            <p class="unseen" role="status">{list.announced}</p>
        </fieldset>
    };
    menu(
        "columns",
        view! { "Columns" <small>{count}</small> },
        inside,
    )
}

/// The id of a button of the list.
fn id_of(act: Act, column: &TableColumn) -> String {
    let name = column
        .label
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    format!("{}-{name}", act.word())
}

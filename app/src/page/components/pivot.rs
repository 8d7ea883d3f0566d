//! A table's rows grouped by one of their fields: a choice beside the filter, and a table of the groups in place of the
//! rows.

use crate::page::prelude::*;
use crate::protocol::search::FIELDS;
use crate::protocol::{GroupsQuery, RowGroup, STEP};

/// The fields by which rows can be grouped.
const BY: &[&str] = &["category", "module", "lib", "stream", "by", "bound", "type"];

/// The choice of the grouping: fields whose column the table has, and steps if the trace has some.
pub fn group_choice(columns: &'static [TableColumn]) -> impl IntoView {
    let state = expect_context::<AppState>();
    let chosen = state.of_place(|place| place.focus.group.clone());
    let has = |name: &&&str| {
        let field = FIELDS
            .iter()
            .find(|field| field.names.first() == Some(*name));
        field.is_some_and(|field| {
            let mut labels = field.columns.iter();
            labels.any(|label| columns.iter().any(|column| column.label == *label))
        })
    };
    let has_steps = Memo::new(move |_| state.of_opened(|opened| !opened.steps.is_empty()));
    let option = move |name: &&'static str| {
        let name = *name;
        let is_chosen = chosen.get_untracked() == name;
        view! { <option value=name selected=is_chosen>{format!("By {}", title(name))}</option> }
    };
    let choose = move |event| {
        let by = event_target_value(&event);
        state.look_at(|focus| {
            focus.group = by;
            focus.row = None;
        });
    };
    view! {
        <select id="group" aria-label="Group rows" on:change=choose prop:value=move || chosen.get()>
            <option value="">"Not grouped"</option>
            {each(BY.iter().filter(has), option)}
            {move || has_steps.get().then(|| option(&STEP))}
        </select>
    }
}

/// The heading of a field above the groups.
fn title(by: &str) -> &'static str {
    match by {
        "category" => "category",
        "module" => "module",
        "lib" => "library",
        "stream" => "stream",
        "by" => "launching operator",
        "bound" => "bound",
        "type" => "shapes and types",
        STEP => "step",
        _ => "value",
    }
}

/// The groups, largest first; a click filters the table to the rows of one.
pub fn groups(sheet: &'static str, columns: &'static [TableColumn]) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let focus = state.focus();
    let known = RwSignal::new(Vec::<RowGroup>::new());
    Effect::new(move || {
        state.report.track();
        let query = focus.with(|focus| GroupsQuery {
            sheet: sheet.to_owned(),
            by: focus.group.clone(),
            find: focus.find.clone(),
            only: focus.only.clone(),
            // Times first: they determine the order.
            columns: columns
                .iter()
                .filter(|column| column.rank == 1)
                .chain(columns.iter().filter(|column| column.rank != 1))
                .map(|column| column.label.to_owned())
                .collect(),
        });
        engine.ask(query, move |groups| {
            let _ = known.try_set(groups);
        });
    });
    let summed = Memo::new(move |_| {
        known.with(|known| {
            let totals = known.first().map(|group| group.totals.clone());
            let totals = totals.unwrap_or_default().into_iter();
            let column = |label: String| columns.iter().find(|column| column.label == label);
            totals
                .filter_map(|total| column(total.column))
                .collect::<Vec<_>>()
        })
    });
    let line = move |group: RowGroup| group_row(state, &group, &summed.get_untracked());
    let heading = move || title(&focus.with(|focus| focus.group.clone()));
    let label = move || format!("Rows by {}", heading());
    view! {
        <div class="groups" data-testid="groups" tabindex="0" role="region" aria-label=label>
            <table class="list">
                <thead>
                    <tr>
                        <th scope="col">{move || format::capitalized(heading())}</th>
                        <th scope="col" class="n">"Rows"</th>
                        {move || each(summed.get(), |column| view! { <th scope="col" class="n">{column.heading}</th> })}
                    </tr>
                </thead>
                <tbody>{move || { summed.track(); each(known.get(), line) }}</tbody>
            </table>
        </div>
    }
}

/// A group with its totals; its name filters the table to its rows, or analyzes its step.
fn group_row(
    state: AppState,
    group: &RowGroup,
    columns: &[&'static TableColumn],
) -> impl IntoView + use<> {
    let cells = each(columns, |column| {
        let mut totals = group.totals.iter();
        let total = totals.find(|total| total.column == column.label);
        view! { <td class="n">{total.map(|total| total.text.clone())}</td> }
    });
    let dot = (!group.token.is_empty()).then(|| dot(""));
    let name = match group.name.is_empty() {
        true => "unknown".to_owned(),
        false => group.name.clone(),
    };
    let (find, window) = (group.find.clone(), group.window);
    let hint = match window {
        Some(_) => "Analyze this step alone and show its rows",
        None => "Show its rows",
    };
    let open = move |_| {
        state.look_at(|focus| {
            focus.group = String::new();
            if window.is_none() {
                focus.find = format!("{} {find}", focus.find).trim().to_owned();
            }
        });
        if window.is_some() {
            state.analyze(window);
        }
    };
    let name = match group.find.is_empty() && window.is_none() {
        true => view! { <span class="soft">{name}</span> }.into_any(),
        false => view! { <button type="button" class="ghost small" title=hint on:click=open>{name}</button> }.into_any(),
    };
    view! {
        <tr class=format!("c-{}", group.token)>
            <th scope="row">{dot}{name}</th>
            <td class="n">{format::count(group.n_rows as u64)}</td>
            {cells}
        </tr>
    }
}

//! The details of one operation, operator, kernel or call, beside the view or below it.
//!
//! ```text
//! selected row of a table ─────────────────┐
//! finding, event, call ─→ focus.details ───┴→ subject ─ask→ OpDetails → DetailsPanel
//! ```
//!
//! The URL encodes what is shown, so a link opens it and the browser's Back closes it.

mod parts;
mod subject;

use dormer_core::report::details::OpDetails;
use dormer_core::report::sheet::Field;

use crate::page::components::gap_chart::gap_chart;
use crate::page::prelude::*;
use crate::page::views::operations::SHEET;
use crate::protocol::DetailsQuery;

pub use subject::has_details;

const PANEL: &str = "op-details";
/// Longer values get a line of their own, and a copy button.
pub(super) const LONG: usize = 48;
/// The columns that name a row: the panel's title shows the name.
const NAMES: [&str; 2] = ["name", "Kernel name"];
/// The parts of a view that handle arrow keys. A table farther down the view is not one: the focus would scroll past
/// the top of the view.
pub const IN_VIEW: [&str; 3] = ["main.fills table.sheet", "#lanes", "#roofline-chart"];

/// Moves the keyboard focus to the details when they appear.
pub fn enter(state: AppState) {
    browser::remember_focus();
    state.enters_details.set(true);
}

/// For elements that open details: if activated by keyboard, the focus follows.
pub fn opened_by(state: AppState, event: &web_sys::MouseEvent) {
    // A keyboard click has a click count of zero.
    if event.detail() == 0 {
        enter(state);
    }
}

/// Closes the panel; a table clears its selection.
pub(super) fn close(state: AppState) {
    state.look_at(|focus| match focus.details {
        Some(_) => focus.details = None,
        None => focus.row = None,
    });
    browser::return_focus(&IN_VIEW);
}

/// Opens and closes the details of an event; while open, they follow the selected event.
pub fn details_button(uid: u32) -> impl IntoView {
    let state = expect_context::<AppState>();
    let shown_details = state.of_place(|place| place.focus.details);
    let this = Some(DetailsOf::Event(uid));
    if shown_details.get_untracked().is_some() {
        state.look_at(|focus| focus.details = this);
    }
    let toggle = move |event| {
        let is_open = shown_details.get_untracked() == this;
        state.look_at(|focus| focus.details = this.filter(|_| !is_open));
        if !is_open {
            opened_by(state, &event);
        }
    };
    view! {
        <button
            type="button"
            class="small"
            data-testid="open-op-details"
            aria-expanded=move || (shown_details.get() == this).to_string()
            aria-controls=PANEL
            on:click=toggle
        >
            "Details"
        </button>
    }
}

/// The panel; nothing while nothing is selected.
pub fn details_panel() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let subject = state.of_place(subject::of);
    // The previous details stay until the answer arrives, so that nothing jumps while arrow keys move.
    let known = RwSignal::new(None::<(DetailsQuery, OpDetails)>);
    Effect::new(move || {
        state.report.track();
        let Some(query) = subject.get() else {
            known.set(None);
            return;
        };
        engine.ask(query.clone(), move |details| {
            if subject.get_untracked().as_ref() == Some(&query) {
                if details.is_none() {
                    state.enters_details.set(false);
                }
                known.set(details.map(|details| (query, details)));
            }
        });
    });
    Effect::new(move || {
        let has_details = known.with(|known| {
            let known = known.as_ref().map(|(query, _)| query);
            known.is_some() && known == subject.get().as_ref()
        });
        if has_details && state.enters_details.get() {
            state.enters_details.set(false);
            browser::after_paint(|| browser::focus_on(PANEL));
        }
    });
    let on_key = move |event: leptos::ev::KeyboardEvent| {
        if event.key() == "Escape" {
            event.prevent_default();
            close(state);
        }
    };
    let view = Memo::new(move |_| state.view().slug);
    let body =
        move || known.with(|known| Some(details_body(known.as_ref()?.1.clone(), view.get())));
    view! {
        <Show when=move || known.with(Option::is_some)>
            <aside id=PANEL class="op-details-panel" tabindex="-1" aria-label="Details" data-testid="op-details" on:keydown=on_key>
                <button type="button" id="close-op-details" class="ghost square close" aria-label="Close details" title="Close (Esc)" on:click=move |_| close(state)>
                    "\u{d7}"
                </button>
                {body}
            </aside>
        </Show>
    }
    .into_any()
}

fn details_body(details: OpDetails, view: &'static str) -> AnyView {
    let row = details.row.as_ref().filter(|(sheet, _)| sheet == SHEET);
    let reproduce = row.map(|(_, row)| parts::reproduce(*row));
    // The title has the name, and the headline figures have the most important values.
    let fields = details.fields.iter();
    let fields = fields.filter(|field| !NAMES.contains(&field.label.as_str()));
    let (long, short): (Vec<Field>, Vec<Field>) =
        fields.cloned().partition(|field| field.value.len() > LONG);
    let every = (!details.fields.is_empty()).then(|| {
        view! {
            <details class="more every">
                <summary>"All values"</summary>
                {field_list(short, long)}
            </details>
        }
    });
    view! {
        {parts::head(&details)}
        {parts::links(&details, view)}
        {parts::verdict(&details)}
        {details.gap.clone().map(gap_chart)}
        {reproduce}
        {parts::findings(&details)}
        {parts::runs_and_tables(details)}
        {every}
    }
    .into_any()
}

/// The fields of a row: the short ones side by side, each long one on a line of its own.
pub fn field_list(short: Vec<Field>, long: Vec<Field>) -> AnyView {
    let short = short.into_iter().map(|field| {
        view! { <div title=field.doc><dt>{field.label}</dt><dd>{field.value}</dd></div> }
    });
    let long = long.into_iter().map(|field| {
        view! {
            <div class="long" title=field.doc>
                <h3>{field.label} {copy_button(field.value.clone(), "Copy")}</h3>
                <p class="mono">{field.value}</p>
            </div>
        }
    });
    view! {
        <dl class="figures">{short.collect_view()}</dl>
        {long.collect_view()}
    }
    .into_any()
}

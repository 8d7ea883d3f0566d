//! The selected row of a table, whole.

use leptos::prelude::*;

use super::story::{Story, Verdict};
use super::{CopyButton, Reproduce};
use crate::engine::Engine;
use crate::protocol::{Field, OpStory, RowQuery, StoryQuery};
use crate::state::AppState;

/// Values longer than this get a line of their own, and a button that copies them.
const LONG: usize = 48;

/// The columns that say what a row is.
const NAMES: [&str; 3] = ["name", "Kernel name", "shapes"];

/// The sheet whose rows are operations that can be run alone.
const OPERATIONS: &str = "unified_perf_summary";

/// What is known of a row.
#[derive(Clone, Default)]
struct Known {
    fields: Vec<Field>,
    story: Option<OpStory>,
}

/// Everything about the selected row.
#[component]
pub fn Details(
    /// The sheet's name.
    sheet: &'static str,
    /// What the rows are, in the plural.
    noun: &'static str,
    /// The sheet's row that is selected.
    selected: Memo<Option<u32>>,
    /// Tell its story too: times of the calls, kernels, callers.
    #[prop(optional)]
    with_story: bool,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let known = RwSignal::new(Known::default());
    // Until all of an answer is there the last row stays: nothing jumps while arrow keys walk, and
    // of rows that were passed in the meantime no story is told.
    let is_wanted = move |row| selected.try_get_untracked() == Some(Some(row));
    let tell = move |row: u32, fields: Vec<Field>| {
        let query = StoryQuery {
            sheet: sheet.to_owned(),
            row: row as usize,
        };
        engine.ask(query, move |story| {
            if is_wanted(row) {
                known.set(Known { fields, story });
            }
        });
    };
    Effect::new(move || {
        state.report.track();
        match selected.get() {
            None => known.set(Known::default()),
            Some(row) => {
                let query = RowQuery {
                    sheet: sheet.to_owned(),
                    row: row as usize,
                };
                engine.ask(query, move |fields| match is_wanted(row) {
                    true if with_story => tell(row, fields),
                    true => known.set(Known {
                        fields,
                        story: None,
                    }),
                    false => {}
                });
            }
        }
    });
    view! {
        <section
            class="details"
            class:some=move || known.with(|known| !known.fields.is_empty())
            class:told=move || known.with(|known| known.story.is_some())
            aria-label="The selected row"
            data-testid="details"
        >
            {move || {
                let Known { fields, mut story } = known.get();
                if fields.is_empty() {
                    return view! {
                        <p class="hint">
                            {format!("Select one of the {noun} to read its whole name and every figure. Arrow keys move, Escape lets go.")}
                        </p>
                    }
                    .into_any();
                }
                let (long, short): (Vec<_>, Vec<_>) =
                    fields.into_iter().partition(|field| field.value.len() > LONG);
                // What it is called comes first, lists of everything about it last.
                let (names, lists): (Vec<_>, Vec<_>) = long
                    .into_iter()
                    .partition(|field| NAMES.contains(&field.label.as_str()));
                let reproduce = selected
                    .get_untracked()
                    .filter(|_| sheet == OPERATIONS)
                    .map(|row| view! { <Reproduce row/> });
                let verdict = story.as_mut().map(|story| {
                    let verdict = std::mem::take(&mut story.verdict);
                    let worth = std::mem::take(&mut story.worth);
                    view! { <Verdict verdict worth/> }
                });
                view! {
                    {names.into_iter().map(long_view).collect_view()}
                    {verdict}
                    {reproduce}
                    {story.map(|story| view! { <Story story/> }.into_any())}
                    <dl class="figures">
                        {short.into_iter().map(field_view).collect_view()}
                    </dl>
                    {lists.into_iter().map(long_view).collect_view()}
                }
                .into_any()
            }}
        </section>
    }
}

fn long_view(field: Field) -> impl IntoView {
    view! {
        <div class="long" title=field.doc>
            <h3>{field.label} <CopyButton text=field.value.clone()/></h3>
            <p class="mono">{field.value}</p>
        </div>
    }
}

fn field_view(field: Field) -> impl IntoView {
    view! {
        <div title=field.doc>
            <dt>{field.label}</dt>
            <dd>{field.value}</dd>
        </div>
    }
}

//! The story of one operation, operator, kernel or call, beside the view or below it.
//!
//! ```text
//! selected row of a table ───────────────┐
//! finding, event, call ─→ focus.story ───┴→ subject ─ask→ OpStory → StoryPanel
//! ```
//!
//! The URL says whose story is told, so a link opens it and the browser's Back closes it.

mod parts;
mod subject;

use leptos::prelude::*;

use super::{CopyButton, Reproduce};
use crate::page::browser;
use crate::page::engine::Engine;
use crate::page::state::AppState;
use crate::page::url::Told;
use crate::page::views::operations::SHEET;
use crate::protocol::{Field, OpStory, StoryQuery};

pub use subject::is_told;

/// The id of the panel.
const PANEL: &str = "story";
/// Values longer than this get a line of their own, and a button that copies them.
pub(super) const LONG: usize = 48;
/// The columns that say what a row is: the panel's title says it.
const NAMES: [&str; 2] = ["name", "Kernel name"];
/// What a view has that takes arrow keys. A table that stands farther down a view is none: the
/// focus would scroll past what the view says first.
pub const IN_VIEW: [&str; 3] = ["main.fills table.sheet", "#lanes", "#roof"];

/// Puts the keyboard focus into the story as soon as it is told.
pub fn go_in(state: AppState) {
    browser::remember_focus();
    state.enters_story.set(true);
}

/// For what opens a story when it is activated: by keyboard, the focus follows.
pub fn opened_by(state: AppState, event: &web_sys::MouseEvent) {
    // A click that no pointer made counts no clicks.
    if event.detail() == 0 {
        go_in(state);
    }
}

/// Tells nothing any more; a table lets go of its row.
pub(super) fn close(state: AppState) {
    state.look_at(|focus| match focus.story {
        Some(_) => focus.story = None,
        None => focus.row = None,
    });
    browser::return_focus(&IN_VIEW);
}

/// Opens and closes the story of an event; while a story is open, it is that of the event shown.
#[component]
pub fn StoryButton(
    /// The event.
    uid: u32,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let told = Memo::new(move |_| state.place.with(|place| place.focus.story));
    let this = Some(Told::Event(uid));
    if told.get_untracked().is_some() {
        state.look_at(|focus| focus.story = this);
    }
    let toggle = move |event| {
        let is_open = told.get_untracked() == this;
        state.look_at(|focus| focus.story = this.filter(|_| !is_open));
        if !is_open {
            opened_by(state, &event);
        }
    };
    view! {
        <button
            type="button"
            class="small"
            data-testid="open-story"
            aria-expanded=move || (told.get() == this).to_string()
            aria-controls=PANEL
            on:click=toggle
        >
            "Details"
        </button>
    }
}

/// The panel; nothing while no story is told.
#[component]
pub fn StoryPanel() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let subject = Memo::new(move |_| state.place.with(subject::of));
    // Until an answer is there the last story stays: nothing jumps while arrow keys walk.
    let known = RwSignal::new(None::<(StoryQuery, OpStory)>);
    Effect::new(move || {
        state.report.track();
        let Some(query) = subject.get() else {
            known.set(None);
            return;
        };
        engine.ask(query.clone(), move |story| {
            if subject.get_untracked().as_ref() == Some(&query) {
                if story.is_none() {
                    state.enters_story.set(false);
                }
                known.set(story.map(|story| (query, story)));
            }
        });
    });
    Effect::new(move || {
        let is_told = known.with(|known| {
            let known = known.as_ref().map(|(query, _)| query);
            known.is_some() && known == subject.get().as_ref()
        });
        if is_told && state.enters_story.get() {
            state.enters_story.set(false);
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
    let body = move || known.with(|known| Some(told(known.as_ref()?.1.clone(), view.get())));
    view! {
        <Show when=move || known.with(Option::is_some)>
            <aside id=PANEL class="story-panel" tabindex="-1" aria-label="Details" data-testid="story" on:keydown=on_key>
                <button type="button" id="close-story" class="ghost square" aria-label="Close details" title="Close (Esc)" on:click=move |_| close(state)>
                    "\u{d7}"
                </button>
                {body}
            </aside>
        </Show>
    }
    .into_any()
}

/// A whole story, beside a view.
fn told(story: OpStory, view: &'static str) -> AnyView {
    let row = story.row.as_ref().filter(|row| row.sheet == SHEET);
    let reproduce = row.map(|row| view! { <Reproduce row=row.row/> });
    // The title has the name, and the figures above have what the story tells first.
    let fields = story.fields.iter();
    let fields = fields.filter(|field| !NAMES.contains(&field.label.as_str()));
    let (long, short): (Vec<Field>, Vec<Field>) =
        fields.cloned().partition(|field| field.value.len() > LONG);
    let every = (!story.fields.is_empty()).then(|| {
        view! {
            <details class="more every">
                <summary>"All values"</summary>
                <Fields short long/>
            </details>
        }
    });
    view! {
        {parts::head(&story)}
        {parts::ways(&story, view)}
        {parts::verdict(&story)}
        {reproduce}
        {parts::findings(&story)}
        {parts::runs_and_tables(story)}
        {every}
    }
    .into_any()
}

/// Figures of a row: the short ones side by side, each long one with its own line.
#[component]
pub fn Fields(
    /// Short values.
    short: Vec<Field>,
    /// Long values.
    long: Vec<Field>,
) -> AnyView {
    let short = short.into_iter().map(|field| {
        view! { <div title=field.doc><dt>{field.label}</dt><dd>{field.value}</dd></div> }
    });
    let long = long.into_iter().map(|field| {
        view! {
            <div class="long" title=field.doc>
                <h3>{field.label} <CopyButton text=field.value.clone()/></h3>
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

//! Finds anything by typing: views, operations, GPUs, files to export, actions.
//!
//! Views, GPUs, files and actions are matched here; the worker finds operations. To add an action: a
//! variant of `Act`, a row in `actions`, an arm in `act`.

use gloo::timers::callback::Timeout;
use leptos::html::Dialog;

use crate::page::engine::TraceSource;
use crate::page::prelude::*;
use crate::page::state::Stage;
use crate::page::url::Theme;
use crate::page::views::{VIEWS, export};
use crate::protocol::{
    About, ArtifactLine, ArtifactQuery, ArtifactsQuery, FindOperations, Offer, OperationFound,
    fuzzy,
};

/// What the names of exported files end with.
const ENDINGS: &[&str] = &["csv", "html", "json", "md", "xlsx", "zip"];

/// Entries of views, GPUs, files and actions together.
const MOST: usize = 40;

/// What an entry does.
#[derive(Debug, Clone, PartialEq)]
enum Act {
    /// Goes to a hash.
    Go(String),
    /// The same, and moves the focus to the details there.
    Tell(String),
    /// Judges by a GPU.
    Gpu(String),
    /// Analyses a part of the time; `None` for all of it.
    Analyze(Option<(u64, u64)>),
    /// Makes a file and hands it over, under a name.
    Download(ArtifactQuery, String),
    OpenFile,
    OpenSample,
    CompareWith,
    Swap,
    CloseReference,
    Theme(Theme),
    Keys,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    /// What it is, in a word.
    kind: &'static str,
    /// The color token of an operation's family; empty for all else.
    token: String,
    text: String,
    /// What is said beside it.
    note: String,
    act: Act,
}

impl Entry {
    fn new(kind: &'static str, text: &str, act: Act) -> Entry {
        Entry {
            kind,
            token: String::new(),
            text: text.to_owned(),
            note: String::new(),
            act,
        }
    }
}

/// The dialog. It is shown while [`AppState::palette`] says so.
pub fn palette() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let dialog = NodeRef::<Dialog>::new();
    let text = RwSignal::new(String::new());
    let operations = RwSignal::new(Vec::<OperationFound>::new());
    let files = RwSignal::new(Vec::<Entry>::new());
    let cursor = RwSignal::new(0_usize);
    show_while(dialog, state.palette);
    Effect::new(move || {
        if state.palette.get() {
            text.set(String::new());
            operations.set(Vec::new());
            files.set(Vec::new());
            cursor.set(0);
            if state.is_open() {
                let query = ArtifactsQuery { is_redacted: false };
                engine.ask(query, move |offers| files.set(downloads(state, &offers)));
            }
        }
    });
    let entries = Memo::new(move |_| match state.palette.get() {
        true => text.with(|text| entries(state, text, files.get(), &operations.get())),
        false => Vec::new(),
    });
    let wait = StoredValue::new_local(None::<Timeout>);
    let typed = move |event| {
        text.set(event_target_value(&event));
        cursor.set(0);
        // Typing is faster than anyone reads.
        wait.set_value(Some(Timeout::new(60, move || {
            if untrack(|| state.of_opened(|opened| opened.has_gpu_events)) {
                let text = text.get_untracked();
                engine.ask(FindOperations { text }, move |found| operations.set(found));
            }
        })));
    };
    let choose = move |position: usize| {
        let chosen = entries.with_untracked(|entries| entries.get(position).cloned());
        if let Some(entry) = chosen {
            // What it does may want the focus, or another dialog.
            if let Some(dialog) = dialog.get_untracked() {
                dialog.close();
            }
            state.palette.set(false);
            act(state, engine, entry.act);
        }
    };
    let on_key = move |event: KeyboardEvent| {
        let last = entries.with_untracked(Vec::len).saturating_sub(1);
        let here = cursor.get_untracked();
        match event.key().as_str() {
            "ArrowDown" => cursor.set(if here >= last { 0 } else { here + 1 }),
            "ArrowUp" => cursor.set(here.checked_sub(1).unwrap_or(last)),
            "Enter" => choose(here),
            "Escape" => state.palette.set(false),
            _ => return,
        }
        event.prevent_default();
        browser::after_paint(|| browser::bring_into_view("#palette [aria-selected=true]"));
    };
    let options = move || {
        let option = |(position, entry): (usize, Entry)| {
            let is_here = move || (cursor.get() == position).to_string();
            let dot =
                (!entry.token.is_empty()).then(|| view! { <i class="dot" aria-hidden="true"></i> });
            view! {
                <li
                    id=option_id(position)
                    role="option"
                    class=format!("c-{}", entry.token)
                    aria-selected=is_here
                    on:click=move |_| choose(position)
                >
                    <span class="what">{dot}{entry.text}</span>
                    <span class="soft">{entry.note}</span>
                    <span class="kind-of">{entry.kind}</span>
                </li>
            }
        };
        each(entries.get().into_iter().enumerate(), option)
    };
    let active = move || {
        entries
            .with(|entries| !entries.is_empty())
            .then(|| option_id(cursor.get()))
    };
    view! {
        <dialog class="dialog palette" id="palette" aria-label="Find anything" node_ref=dialog on:close=move |_| state.palette.set(false)>
            <div>
                <input
                    id="palette-find"
                    type="text"
                    role="combobox"
                    aria-label="Views, operations, GPUs, files, actions"
                    aria-autocomplete="list"
                    aria-expanded="true"
                    aria-controls="palette-list"
                    aria-activedescendant=active
                    autocomplete="off"
                    spellcheck="false"
                    placeholder="Views, operations, GPUs, files, actions"
                    prop:value=move || text.get()
                    on:input=typed
                    on:keydown=on_key
                />
                <ul id="palette-list" role="listbox" aria-label="Results">{options}</ul>
                <p class="fine" role="status">
                    {move || entries.with(|entries| match entries.len() {
                        0 => "No matches.".to_owned(),
                        n => format::counted(n as u64, "result"),
                    })}
                </p>
            </div>
        </dialog>
    }
    .into_any()
}

fn option_id(position: usize) -> String {
    format!("palette-{position}")
}

/// What answers to the text: views, GPUs and actions by how well they do, then operations and files.
fn entries(
    state: AppState,
    text: &str,
    files: Vec<Entry>,
    operations: &[OperationFound],
) -> Vec<Entry> {
    let mut all = Vec::new();
    if let Stage::Open(opened) = state.stage.get() {
        let views = VIEWS.iter();
        all.extend(
            views.map(|view| Entry::new("View", view.title, Act::Go(state.link_to(view.slug)))),
        );
        all.extend(actions(state));
        // Without a word typed they would be most of the list.
        if !text.trim().is_empty() {
            let gpus = opened.gpus.iter();
            all.extend(gpus.map(|name| Entry::new("GPU", name, Act::Gpu(name.clone()))));
            all.extend(opened.steps.iter().map(|step| Entry {
                note: step.window_length.clone(),
                ..Entry::new(
                    "Step",
                    &format!("Analyze {}", step.name),
                    Act::Analyze(Some(step.window)),
                )
            }));
        }
    } else {
        all.extend(actions(state));
    }
    let best = |entries: Vec<Entry>| {
        let scored = entries.into_iter().filter_map(|entry| {
            let score = fuzzy::score(text, &format!("{} {}", entry.text, entry.kind))?;
            Some((score, entry))
        });
        fuzzy::best(scored, MOST)
    };
    let mut found = best(all);
    let operation = |one: &OperationFound| {
        let focus = Focus::at_row(one.row);
        Entry {
            kind: "Operation",
            token: one.token.clone(),
            text: one.name.clone(),
            note: [one.shapes.as_str(), one.time.as_str()]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" \u{b7} "),
            act: Act::Tell(state.link_into("operations", focus)),
        }
    };
    let files = match text.trim() {
        "" => Vec::new(),
        _ => best(files),
    };
    let operations = operations.iter().map(operation).collect();
    // Whoever types the ending of a file looks for one.
    let is_file = text.split([' ', '.']).any(|word| ENDINGS.contains(&word));
    found.extend(match is_file {
        true => [files, operations].concat(),
        false => [operations, files].concat(),
    });
    found
}

/// Every file that the Export view offers, the archives of them all first.
fn downloads(state: AppState, offers: &[Offer]) -> Vec<Entry> {
    let entry = |about, path: Option<&str>, name: String, title: &str| {
        let saved = match path {
            Some(_) => export::saved_name(state, about, false, &name),
            None => name.clone(),
        };
        let query = ArtifactQuery::new(about, path, false);
        Entry {
            note: match about {
                About::Target => title.to_owned(),
                About::Comparison => format!("{title} (comparison)"),
            },
            ..Entry::new("Export", &name.clone(), Act::Download(query, saved))
        }
    };
    let archives = offers.iter().map(|offer| {
        let name = export::archive_name(state, offer.about);
        entry(offer.about, None, name, "All files")
    });
    let groups = offers.iter().flat_map(|offer| &offer.groups);
    let lines = groups
        .flat_map(|group| &group.kinds)
        .flat_map(|kind| &kind.lines);
    let lines = lines.map(|line: &ArtifactLine| {
        let name = line.path.rsplit('/').next().unwrap_or(&line.path);
        entry(line.about, Some(&line.path), name.to_owned(), &line.title)
    });
    archives.chain(lines).collect()
}

/// What can be done now.
fn actions(state: AppState) -> Vec<Entry> {
    let is_open = state.is_open();
    let has_reference = state.reference.with(Stage::is_open);
    let has_window = state
        .overview
        .with(|overview| is_open && overview.window.is_some());
    let rows = [
        (true, "Open a file\u{2026}", Act::OpenFile),
        (true, "Open the sample", Act::OpenSample),
        (is_open, "Compare with\u{2026}", Act::CompareWith),
        (has_window, "Analyze the whole trace", Act::Analyze(None)),
        (has_reference, "Swap target and reference", Act::Swap),
        (has_reference, "Close the reference", Act::CloseReference),
        (true, "Colors: light", Act::Theme(Theme::Light)),
        (true, "Colors: dark", Act::Theme(Theme::Dark)),
        (true, "Colors: system", Act::Theme(Theme::System)),
        (true, "Keyboard shortcuts", Act::Keys),
    ];
    let possible = rows.into_iter().filter(|(is_possible, ..)| *is_possible);
    possible
        .map(|(_, text, act)| Entry::new("Action", text, act))
        .collect()
}

fn act(state: AppState, engine: Engine, act: Act) {
    match act {
        Act::Go(hash) => browser::go_to_hash(&hash),
        Act::Tell(hash) => {
            state.enters_details.set(true);
            browser::go_to_hash(&hash);
        }
        Act::Gpu(name) => state.go(|place| place.choice.gpu = Some(name)),
        Act::Analyze(window) => state.analyze(window),
        Act::Download(query, name) => export::download(engine, query, name, |_| {}),
        Act::OpenFile => browser::choose_file(),
        Act::OpenSample => engine.open(TraceSource::Sample),
        Act::CompareWith => browser::choose_reference(),
        Act::Swap => engine.swap(),
        Act::CloseReference => engine.close_reference(),
        Act::Theme(theme) => state.go(|place| place.theme = theme),
        Act::Keys => state.key_sheet.set(true),
    }
}

//! The shell: header, navigation, and the state of the page's file.

use leptos::attr::custom::custom_attribute;
use web_sys::File;

use crate::page::browser::{Drag, Dropped, Half};
use crate::page::components::dialog::file_input;
use crate::page::components::file_chooser::file_chooser;
use crate::page::components::header::{header, navigation};
use crate::page::components::key_sheet::{self, key_sheet};
use crate::page::components::models_dialog::{self, models_dialog};
use crate::page::components::offline::{look_for_copy, offline_dialog};
use crate::page::components::op_details::{IN_VIEW, details_panel};
use crate::page::components::palette::palette;
use crate::page::components::recent::recent_dialog;
use crate::page::components::sender_question::sender_question;
use crate::page::components::thresholds::thresholds_panel;
use crate::page::components::trace_bars::bars;
use crate::page::fleet::VIEW as FLEET;
use crate::page::prelude::*;
use crate::page::ranks::{JobStage, VIEW as JOB};
use crate::page::runs::VIEW as RUNS;
use crate::page::state::Stage;
use crate::page::unseen;
use crate::page::views::start::{empty, failed, loading};
use crate::page::views::{fleet, job, runs};
use crate::protocol::Choice;

/// The page. If you understand this function, you understand the page.
pub fn app() -> impl IntoView {
    let state = AppState::new();
    let engine = Engine::new(state, unseen::draw);
    provide_context(state);
    provide_context(engine);
    engine.start();
    engine.listen_to_senders();
    look_for_copy(state);
    listen(state, engine);
    Effect::new(move || browser::set_theme(state.theme().get()));
    Effect::new(move || browser::set_title(&title(state)));
    Effect::watch(
        move || state.choice().get(),
        move |choice, _, _| analyze_again(state, engine, choice),
        false,
    );
    let is_open = Memo::new(move |_| state.shows_trace());
    let is_shown = Memo::new(move |_| {
        state.shows_job() && state.job.with(JobStage::is_shown)
            || state.shows_fleet()
            || state.shows_runs()
            || is_open.get()
    });
    // The button that opened a trace is gone once it is open.
    Effect::new(move || {
        if is_shown.get() {
            browser::catch_focus(None, &IN_VIEW, "main");
        }
    });

    view! {
        <a class="skip" href="#main" on:click=move |event| {
            event.prevent_default();
            browser::focus_on("main");
        }>"Skip to content"</a>
        {header()}
        {bars()}
        <Show when=move || is_open.get()>
            {navigation()}
        </Show>
        <main
            id="main"
            tabindex="-1"
            class:fills=move || is_open.get() && state.view().fills
            class:alone=move || !is_shown.get()
            class:of-job=move || state.shows_many()
            data-view=move || shown_slug(state)
        >
            {file_inputs()}
            <p class="on-paper">{move || on_paper(state)}</p>
            <ErrorBoundary fallback=broken>
                {stages()}
            </ErrorBoundary>
        </main>
        <Show when=move || is_open.get()>
            {details_panel()}
            {thresholds_panel()}
            {models_dialog()}
        </Show>
        {recent_dialog()}
        {offline_dialog()}
        {sender_question()}
        {file_chooser()}
        {key_sheet()}
        {palette()}
        {drop_zones()}
    }
}

/// Follows what the browser reports: links, keys, files, and that the page is being closed.
fn listen(state: AppState, engine: Engine) {
    if browser::served_for().is_some() {
        browser::notify_on_close();
    }
    browser::on_system_colors(move || state.system_colors.update(|switches| *switches += 1));
    browser::ask_before_leaving(move || state.would_lose());
    browser::copy_whole_names();
    browser::follow_links();
    browser::on_hash_change(move |hash, left| {
        let shown = || {
            untrack(|| {
                (
                    state.view().slug,
                    state.place.with(|place| place.is_of_many()),
                )
            })
        };
        let before = shown();
        if let Some(link) = state.follow(&hash) {
            engine.open_link(link);
        }
        // The followed link is gone with its view, or remains beside the new one.
        let has_left = shown() != before;
        match left.filter(|_| has_left) {
            Some(left) => browser::return_to(left),
            None if has_left => browser::scroll_to_top("main"),
            None => {}
        }
        browser::catch_focus(has_left.then_some("#op-details"), &IN_VIEW, "main");
    });
    key_sheet::listen_to_keys(state);
    browser::on_drag(move |drag| {
        state.dragging.set(match drag {
            Drag::Over(half) => Some(half),
            _ => None,
        });
        if let Drag::Dropped(dropped, half) = drag {
            take_dropped(state, engine, dropped, half);
        }
    });
    browser::on_launch(move |files| engine.open_together(files));
    browser::take_waiting_drop(move |dropped| take_dropped(state, engine, dropped, Half::Left));
}

/// The slug of the shown view; empty while there is none.
fn shown_slug(state: AppState) -> &'static str {
    match state.shows_trace() {
        true => state.view().slug,
        false if state.shows_job() => JOB,
        false if state.shows_fleet() => FLEET,
        false if state.shows_runs() => RUNS,
        false => "",
    }
}

/// The file types that the file dialogs offer: browsers compare what follows the last dot.
const TRACES: &str = ".json,.pftrace,.perfetto-trace,.pb,.gz,.zip,.tar,.tgz,application/json,application/gzip,application/zip,application/x-tar";

/// The file inputs behind the buttons that open files; inside the content, so that every element is in a landmark.
fn file_inputs() -> impl IntoView {
    let engine = expect_context::<Engine>();
    let open = move |files: Vec<File>| engine.open_together(files);
    let compare =
        move |files: Vec<File>| files.into_iter().for_each(|file| engine.compare_with(file));
    view! {
        {file_input("file-input".to_owned(), TRACES, true, open)}
        {file_input("reference-input".to_owned(), TRACES, false, compare)}
        <input
            {..custom_attribute("webkitdirectory", "")}
            id="folder-input"
            class="unseen"
            type="file"
            tabindex="-1"
            aria-hidden="true"
            on:change=move |event| {
                engine.take_together(browser::take_folder(&event), move |chosen| engine.choose_among(chosen));
            }
        />
    }
}

/// Opens dropped files: a trace with its captures, or two to compare; on the right half of the window, the reference of
/// the open trace; or performance models.
fn take_dropped(state: AppState, engine: Engine, dropped: Dropped, half: Half) {
    engine.take_together(dropped, move |dropped| {
        take_traces(state, engine, dropped, half)
    });
}

/// For files that are not ranks of one job.
fn take_traces(state: AppState, engine: Engine, dropped: Dropped, half: Half) {
    if dropped.is_to_choose() {
        engine.choose_among(dropped);
        return;
    }
    let files: Vec<File> = dropped.files.into_iter().map(|(_, file)| file).collect();
    let is_open = untrack(|| state.shows_trace());
    let only = match files.as_slice() {
        [file] => Some(file.clone()),
        _ => None,
    };
    match only.filter(|_| is_open) {
        Some(file) if file.name().ends_with(models_dialog::ENDING) => {
            models_dialog::take_models(state, engine, file);
        }
        Some(file) if half == Half::Right => engine.compare_with(file),
        _ => engine.open_all(files),
    }
}

/// The drop zones, while a file is dragged over the window.
fn drop_zones() -> impl IntoView {
    let state = expect_context::<AppState>();
    move || {
        let half = state.dragging.get()?;
        let is_open = state.shows_trace();
        Some(match is_open {
            false => view! { <div class="drop" aria-hidden="true"><p>"Drop to open"</p></div> }.into_any(),
            true => view! {
                <div class="drop two" aria-hidden="true">
                    <p class:here=half == Half::Left>{match state.takes_captures() {
                        true => "Merge a capture, or replace the open trace",
                        false => "Replace the open trace",
                    }}</p>
                    <p class:here=half == Half::Right>{format!("Compare with {}", state.file_name.get())}</p>
                </div>
            }
            .into_any(),
        })
    }
}

fn title(state: AppState) -> String {
    if state.shows_job() {
        return state.job.with(job::title);
    }
    if state.shows_fleet() {
        return "Fleet \u{b7} Dormer".to_owned();
    }
    if state.shows_runs() {
        return "Runs \u{b7} Dormer".to_owned();
    }
    let file = state.file_name.get();
    state.stage.with(|stage| match stage {
        Stage::Open(_) => format!("{file} · {} · Dormer", state.view().title),
        Stage::Loading(_) => format!("Reading {file} · Dormer"),
        Stage::Empty | Stage::Failed(_) => "Dormer".to_owned(),
    })
}

/// The line on a printed view: file, GPU, and time range.
fn on_paper(state: AppState) -> String {
    let file = state.file_name.get();
    state.overview.with(|overview| {
        let window = overview.window.as_ref();
        let window = window.map(|of| format!("{} \u{b7} {}", of.name, of.length));
        let parts = [Some(file), overview.gpu.name.clone(), window];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(" \u{b7} ")
    })
}

/// Another GPU, population of GPU events or threshold: the same trace, analyzed again.
fn analyze_again(state: AppState, engine: Engine, choice: &Choice) {
    let is_open = untrack(|| state.is_open());
    if is_open {
        engine.ask(choice.clone(), move |overview| {
            state.overview.set(overview);
            state.report.update(|report| *report += 1);
        });
    }
}

/// A [`Stage`] without its data.
#[derive(Clone, Copy, PartialEq)]
enum StageKind {
    Empty,
    Loading,
    Failed,
    Open,
}

/// What the page is doing with a file.
fn stages() -> impl IntoView {
    let state = expect_context::<AppState>();
    // Progress changes several times a second; only another stage redraws.
    let kind = Memo::new(move |_| {
        state.stage.with(|stage| match stage {
            Stage::Empty => StageKind::Empty,
            Stage::Loading(_) => StageKind::Loading,
            Stage::Failed(_) => StageKind::Failed,
            Stage::Open(_) => StageKind::Open,
        })
    });
    let view = Memo::new(move |_| state.view());
    let shows_job = Memo::new(move |_| state.shows_job());
    let shows_fleet = Memo::new(move |_| state.shows_fleet());
    let shows_runs = Memo::new(move |_| state.shows_runs());
    move || match kind.get() {
        _ if shows_job.get() => job::job().into_any(),
        _ if shows_fleet.get() => fleet::fleet().into_any(),
        _ if shows_runs.get() => runs::runs().into_any(),
        StageKind::Empty => empty().into_any(),
        StageKind::Loading => loading().into_any(),
        StageKind::Failed => failed().into_any(),
        StageKind::Open => {
            // With another trace, every view starts over.
            state.loads.track();
            let view = view.get();
            untrack(view.draw)
        }
    }
}

/// A view failed; the rest of the page still works.
fn broken(errors: ArcRwSignal<Errors>) -> impl IntoView {
    let text = move || {
        let sentences = errors.get().into_iter();
        let sentences = sentences.map(|(_, error)| error.to_string());
        sentences.collect::<Vec<_>>().join("; ")
    };
    view! {
        <section class="start" role="alert">
            <h1>"This view failed."</h1>
            <p class="lede">{text}</p>
        </section>
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::import::ENDINGS;

    use super::TRACES;

    #[test]
    fn every_file_that_a_folder_is_looked_through_for_can_be_chosen() {
        for (ending, _) in ENDINGS {
            let (_, last) = ending.rsplit_once('.').unwrap();
            let is_offered = |offered: &str| offered.strip_prefix('.') == Some(last);
            assert!(TRACES.split(',').any(is_offered), "{ending}");
        }
    }
}

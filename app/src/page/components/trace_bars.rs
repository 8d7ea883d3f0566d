//! The bars below the header: which trace is which while two are open or another one is loading, the GPU used for each,
//! and buttons to swap and close; what could not be opened; the analyzed time range; the choices kept from the previous
//! trace; and the trace that a link refers to.

use super::gpu_picker::gpu_options;
use crate::page::prelude::*;
use crate::page::state::{LoadingFile, Stage};
use crate::protocol::{Progress, ReferenceOpened, Rejected, WindowChoice};

/// All bars.
pub fn bars() -> impl IntoView {
    view! {
        <div class="bars">
            {fetching()}
            {adding()}
            {open_error()}
            {comparison_bar()}
            {window_bar()}
            {carried_bar()}
            {linked_trace_bar()}
        </div>
    }
}

/// Which trace is which; nothing if there is only one.
fn comparison_bar() -> impl IntoView {
    let state = expect_context::<AppState>();
    // Progress changes several times a second; only another stage redraws.
    let kind = Memo::new(move |_| state.reference.with(std::mem::discriminant));
    let is_open = Memo::new(move |_| state.shows_trace());
    let engine = expect_context::<Engine>();
    move || {
        // An unread memo does not follow its sources: it must be read, not only tracked.
        let _ = kind.get();
        if !is_open.get() {
            return None;
        }
        let inside = match state.reference.get_untracked() {
            Stage::Empty => return None,
            Stage::Loading(_) => reading().into_any(),
            Stage::Failed(failure) => {
                let (name, id) = (state.reference_name.get_untracked(), "reference-error");
                let close = move || engine.close_reference();
                let rejected = vec![Rejected::new(name, failure)];
                unreadable(id, rejected, browser::choose_reference, close)
            }
            Stage::Open(_) => pair().into_any(),
        };
        Some(
            view! { <section class="trace-bar" aria-label="Comparison" data-testid="comparison-bar">{inside}</section> },
        )
    }
}

fn reading() -> impl IntoView {
    let state = expect_context::<AppState>();
    let name = state.reference_name;
    let engine = expect_context::<Engine>();
    let progress = Memo::new(move |_| {
        state.reference.with(|stage| match stage {
            Stage::Loading(progress) => Some(*progress),
            _ => None,
        })
    });
    let cancel = move || engine.cancel_reference();
    reading_bar(
        "cancel-reference".to_owned(),
        move || name.get(),
        progress,
        cancel,
    )
}

/// The progress of reading a file while another is open.
fn reading_bar(
    cancel_id: String,
    name: impl Fn() -> String + Send + 'static,
    progress: Memo<Option<Progress>>,
    cancel: impl Fn() + 'static,
) -> AnyView {
    let share = move || {
        let Progress {
            step,
            bytes_read,
            bytes_total,
            ..
        } = progress.get()?;
        (step.counts_bytes() && bytes_total > 0.0)
            .then(|| format!("{:.4}", bytes_read / bytes_total))
    };
    let label = move || progress.get().map_or("", |progress| progress.step.label());
    view! {
        <p role="status">{label} " \u{b7} " <b>{name}</b></p>
        <progress aria-label="Bytes read" max="1" value=share></progress>
        <button type="button" class="small" id=cancel_id on:click=move |_| cancel()>"Cancel"</button>
    }
    .into_any()
}

/// Files that are being added to the open trace; nothing while there are none.
fn adding() -> impl IntoView {
    let (state, engine) = (expect_context::<AppState>(), expect_context::<Engine>());
    let cancel = move || engine.cancel_adding();
    loading_bar(state.adding, "adding", "File being added", cancel)
}

/// Files that are being fetched while something is open; nothing while there are none.
fn fetching() -> impl IntoView {
    let (state, engine) = (expect_context::<AppState>(), expect_context::<Engine>());
    let cancel = move || engine.stop_fetching();
    loading_bar(state.fetching, "fetching", "File being fetched", cancel)
}

/// The progress of loading files while something else is open; nothing if there are none.
fn loading_bar(
    files: RwSignal<Option<LoadingFile>>,
    id: &'static str,
    label: &'static str,
    cancel: impl Fn() + Copy + Send + 'static,
) -> impl IntoView {
    let is_coming = Memo::new(move |_| files.with(Option::is_some));
    let progress = Memo::new(move |_| files.with(|files| Some(files.as_ref()?.1)));
    let name = move || {
        let name = files.with(|files| Some(files.as_ref()?.0.clone()));
        name.unwrap_or_default()
    };
    move || {
        is_coming.get().then(|| {
            let bar = reading_bar(format!("cancel-{id}"), name, progress, cancel);
            view! { <section class="trace-bar" aria-label=label data-testid=id>{bar}</section> }
        })
    }
}

/// What could not be opened while the open trace stays open; nothing if everything could.
fn open_error() -> impl IntoView {
    let state = expect_context::<AppState>();
    move || {
        let rejected = state.open_error.get();
        if rejected.is_empty() {
            return None;
        }
        let close = move || state.open_error.set(Vec::new());
        Some(view! {
            <section class="trace-bar" aria-label="File error">
                {unreadable("open-error", rejected, browser::choose_file, close)}
            </section>
        })
    }
}

/// Files that cannot be analyzed, and a button to choose another.
fn unreadable(
    id: &'static str,
    rejected: Vec<Rejected>,
    choose: fn(),
    close: impl Fn() + 'static,
) -> AnyView {
    let sentences = each(rejected, |Rejected { name, failure }| {
        let at = failure.at_byte.map(|byte| format!(" (at byte {byte})"));
        let name = name.map(|name| view! { <b>{name}</b> " cannot be analyzed: " });
        view! { <span>{name} {failure.sentence} {at} ". "</span> }
    });
    view! {
        <p class="odd" role="alert" id=id tabindex="-1">{sentences}</p>
        <span class="grow"></span>
        <button type="button" class="small" on:click=move |_| choose()>"Choose another file"</button>
        {close_button(close)}
    }
    .into_any()
}

fn pair() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let reference = move || {
        state.reference.with(|stage| match stage {
            Stage::Open(opened) => Some(opened.clone()),
            _ => None,
        })
    };
    let of_reference = move || {
        reference().map(
            |ReferenceOpened {
                 rank,
                 detected,
                 events,
                 ..
             }| {
                view! {
                    <p class="trace" data-role="reference" title=format!("{events} events")>
                        <span class="role">"Reference"</span>
                        {trace_label(rank, state.reference_name.get())}
                    </p>
                    {reference_gpu(detected)}
                }
            },
        )
    };
    let gpu_name = move || {
        state
            .overview
            .with(|overview| overview.gpu.name.clone())
            .unwrap_or_else(|| "no GPU chosen".to_owned())
    };
    view! {
        {of_reference}
        <button
            type="button"
            class="small"
            id="swap"
            title="Swap target and reference"
            on:click=move |_| engine.swap()
        >
            "\u{21c4} Swap"
        </button>
        <p class="trace" data-role="target">
            <span class="role">"Target (to optimize)"</span>
            {move || trace_label(state.of_opened(|opened| opened.rank), state.file_name.get())}
            <span class="soft">{gpu_name}</span>
        </p>
        <span class="grow"></span>
        <button type="button" class="small" id="close-reference" title="Close the comparison and keep the target" on:click=move |_| engine.close_reference()>
            {icon("close")}
            "Close"
        </button>
    }
}

/// The GPU used for the reference.
fn reference_gpu(detected: Option<String>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let names = untrack(|| state.of_opened(|opened| opened.gpus.clone()));
    let chosen = state.of_place(|place| place.choice.reference_gpu.clone().unwrap_or_default());
    let pick = move |event| {
        let value = event_target_value(&event);
        state.go(|place| place.choice.reference_gpu = (!value.is_empty()).then_some(value));
    };
    view! {
        <select id="reference-gpu" aria-label="GPU of the reference" on:change=pick prop:value=move || chosen.get()>
            {gpu_options(state, names, detected.as_deref(), chosen)}
        </select>
    }
}

/// The time range that the whole page is limited to, and the way back to the full trace.
fn window_bar() -> impl IntoView {
    let state = expect_context::<AppState>();
    let window = Memo::new(move |_| {
        let is_open = state.shows_trace();
        let window = state.overview.with(|overview| overview.window.clone());
        window.filter(|_| is_open)
    });
    move || {
        window.get().map(|window| {
            let only = if window.is_whole { "Showing " } else { "Showing only " };
            let button = |choice: Option<WindowChoice>, id: &'static str, label: &'static str| {
                choice.map(|choice| {
                    view! {
                        <button type="button" class="small" id=id on:click=move |_| state.analyze(choice.window)>
                            {label}
                        </button>
                    }
                })
            };
            view! {
                <section class="trace-bar" aria-label="Analyzed time range">
                    <p id="window">{only} <b>{window.name}</b> {format!(" ({})", window.length)}</p>
                    <span class="grow"></span>
                    {button(window.steps, "all-steps", "Show the steps")}
                    {button(window.whole, "whole-trace", "Show the whole trace")}
                </section>
            }
        })
    }
}

/// The choices carried over from the previous trace; nothing if there are none.
fn carried_bar() -> impl IntoView {
    let state = expect_context::<AppState>();
    let is_open = Memo::new(move |_| state.shows_trace());
    move || {
        let carried = state.carried.get();
        (is_open.get() && !carried.is_empty()).then(|| {
            view! {
                <section class="trace-bar" aria-label="Settings kept" data-testid="carried">
                    <p role="status">{format!("Kept from the previous trace: {}.", carried.join(", "))}</p>
                    <span class="grow"></span>
                    <button type="button" class="small" id="drop-carried" on:click=move |_| state.drop_carried()>"Use the defaults"</button>
                    {close_button(move || state.carried.set(Vec::new()))}
                </section>
            }
        })
    }
}

/// The trace that a link refers to, if it is not open.
fn linked_trace_bar() -> impl IntoView {
    let state = expect_context::<AppState>();
    move || {
        let wanted = state.linked_trace.get()?;
        Some(view! {
            <section class="trace-bar" aria-label="The trace of this link" data-testid="wanted">
                <p role="status">"This link belongs to " <b>{wanted}</b> ", which is not open. Choose or drop that file to go to the linked place."</p>
                <span class="grow"></span>
                <button type="button" class="small" on:click=|_| browser::choose_file()>"Choose the file"</button>
                {close_button(move || state.linked_trace.set(None))}
            </section>
        })
    }
}

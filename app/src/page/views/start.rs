//! What is shown while no trace is open: how to open one, progress, and why a file cannot be read.

use crate::page::browser::PageSource;
use crate::page::components::offline::offline_line;
use crate::page::components::recent::recent_list;
use crate::page::engine::TraceSource;
use crate::page::prelude::*;
use crate::page::state::Stage;
use crate::protocol::{Pace, Progress};

/// Nothing was opened yet.
pub fn empty() -> impl IntoView {
    view! {
        <section class="start" data-testid="empty">
            <p class="mark">{icon("dormer")}</p>
            <h1>"See where your GPU time goes"</h1>
            <p class="lede">
                "Drop a PyTorch profiler trace anywhere on this page. In seconds, Dormer shows how busy the GPU was, which operations took the time, and what to optimize first."
            </p>
            {open_buttons()}
            {recent_list()}
            <ul class="promises">
                <li>
                    <b>"Nothing leaves your computer"</b>
                    <span>{prose(where_traces_go().to_owned())}</span>
                </li>
                <li>
                    <b>"Reads PyTorch profiler traces"</b>
                    <span>
                        <code>".json"</code> " (of rocprofv3, too), Perfetto " <code>".pftrace"</code> ", XPlane "
                        <code>".xplane.pb"</code> ", with gzip or in a " <code>".zip"</code> " or " <code>".tar"</code>
                        ". Truncated or damaged files are read too, with a note on what is missing. With GPU graphs, drop the trace and its graph captures together."
                    </span>
                </li>
                <li>
                    <b>"No trace yet?"</b>
                    <span>
                        "Record one with " <code>"torch.profiler.profile()"</code> " and "
                        <code>"export_chrome_trace(\"trace.json.gz\")"</code> ", or open the sample."
                    </span>
                </li>
            </ul>
            {offline_line()}
        </section>
    }
}

/// Why no data leaves the computer, depending on where the page comes from.
fn where_traces_go() -> &'static str {
    match browser::page_source() {
        PageSource::Site => {
            "Traces are analyzed in this browser, and the content security policy of the page blocks requests to any server but its own. The counter above shows every request."
        }
        PageSource::Command => {
            "`dormer open` serves this page and the traces that it was given, and the content security policy of the page blocks all other requests. The counter above shows every request."
        }
        PageSource::OneFile => {
            "This page is one file, and its content security policy blocks every request. The counter above shows it."
        }
    }
}

/// The two ways to open a trace besides dropping it.
fn open_buttons() -> impl IntoView {
    let engine = expect_context::<Engine>();
    view! {
        <div class="start-actions">
            <button type="button" class="main" id="choose-file" on:click=|_| browser::choose_file()>
                {icon("file")}
                "Choose a file"
            </button>
            <button type="button" id="choose-folder" on:click=|_| browser::choose_folder()>
                "Choose a folder"
            </button>
            <button type="button" id="open-sample" on:click=move |_| engine.open(TraceSource::Sample)>
                "Open the sample"
            </button>
        </div>
    }
}

/// A file is being read.
pub fn loading() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let progress = Memo::new(move |old: Option<&Progress>| {
        state.stage.with(|stage| match stage {
            Stage::Loading(progress) => *progress,
            _ => old.copied().unwrap_or_default(),
        })
    });
    let began_ms = browser::now_ms();
    let pace = Memo::new(move |_| progress.get().pace(browser::now_ms() - began_ms));
    // Unknown values keep their place, so that nothing moves.
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "\u{2013}".to_owned());
    let speed = move || {
        let speed = |pace: Pace| format!("{}/s", format::bytes(pace.bytes_per_s as u64));
        or_dash(pace.get().map(speed))
    };
    let left = move || {
        let left = pace.get().and_then(|pace| pace.left_s);
        or_dash(left.map(|seconds| format!("{seconds:.1} s")))
    };
    let share = move || {
        let progress = progress.get();
        match progress.step.counts_bytes() {
            true if progress.bytes_total > 0.0 => Some(progress.bytes_read / progress.bytes_total),
            true => None,
            false => Some(1.0),
        }
    };
    view! {
        <section class="start loading" data-testid="loading" aria-busy="true">
            <h1>{move || progress.get().step.label()}</h1>
            <p class="what">{move || state.file_name.get()}</p>
            <progress
                aria-label="Bytes read"
                max="1"
                value=move || share().map(|share| format!("{share:.4}"))
            ></progress>
            <dl class="read">
                <div><dt>"Read"</dt><dd data-testid="bytes">{move || bytes_read(&progress.get())}</dd></div>
                <div><dt>"Events"</dt><dd data-testid="events">{move || format::count(progress.get().events as u64)}</dd></div>
                <div><dt>"Speed"</dt><dd data-testid="speed">{speed}</dd></div>
                <div><dt>"Left to read"</dt><dd data-testid="left">{left}</dd></div>
            </dl>
            <button type="button" id="cancel" on:click=move |_| engine.cancel()>"Cancel"</button>
        </section>
    }
}

fn bytes_read(progress: &Progress) -> String {
    let bytes = |number: f64| format::bytes(number as u64);
    let read = bytes(progress.bytes_read);
    match progress.bytes_total > 0.0 {
        true => format!("{read} of {}", bytes(progress.bytes_total)),
        false => read,
    }
}

/// A file could not be analyzed.
pub fn failed() -> impl IntoView {
    let state = expect_context::<AppState>();
    let why = move || {
        let failure = state.stage.with(|stage| match stage {
            Stage::Failed(failure) => Some(failure.clone()),
            _ => None,
        })?;
        let (title, text) = fault_and_remedy(&failure.sentence);
        let at_byte = failure.at_byte.filter(|byte| byte != "0").map(|byte| {
            view! { <p class="fine" data-testid="at-byte">{format!("At byte {byte}.")}</p> }
        });
        Some(
            view! {
                <h1>{title_line(&title)}</h1>
                <p class="lede" data-testid="reason">{prose(text)}</p>
                {at_byte}
            }
            .into_any(),
        )
    };
    view! {
        <section class="start" id="error" role="alert">
            <p class="what">{move || state.file_name.get()}</p>
            {why}
            {open_buttons()}
        </section>
    }
}

/// Files that cannot be opened as what they were taken for.
pub fn cannot_open(
    title: &'static str,
    reason: impl IntoView,
    choose_label: &'static str,
) -> impl IntoView {
    view! {
        <section class="start" id="error" role="alert">
            <h1>{title}</h1>
            {reason}
            <div class="start-actions">
                <button type="button" class="main" on:click=|_| browser::choose_file()>{choose_label}</button>
            </div>
        </section>
    }
}

/// A failure's message as a title and a text: "the file is empty; record again" says in its first part what is wrong.
fn fault_and_remedy(message: &str) -> (String, String) {
    /// A longer first part is no title.
    const TITLE: usize = 80;
    match message.split_once("; ") {
        Some((fault, remedy)) if fault.len() <= TITLE => {
            (format::capitalized(fault), sentence(remedy))
        }
        _ => ("This file cannot be analyzed".to_owned(), sentence(message)),
    }
}

/// Turns a message that starts with a lower-case letter and has no full stop into a sentence.
fn sentence(message: &str) -> String {
    let end = match message.ends_with(['.', '!', '?']) {
        true => "",
        false => ".",
    };
    format!("{}{end}", format::capitalized(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_what_is_wrong_with_a_file() {
        let cases = [
            (
                "the file is empty; expected a trace",
                ("The file is empty", "Expected a trace."),
            ),
            (
                "no file was given",
                ("This file cannot be analyzed", "No file was given."),
            ),
        ];
        for (message, (title, text)) in cases {
            assert_eq!(
                fault_and_remedy(message),
                (title.to_owned(), text.to_owned())
            );
        }
    }
}

//! Export: every file that the analysis generates, by purpose.

use std::collections::VecDeque;

use dormer_core::output::{archive, embedded};
use gloo::timers::callback::Timeout;
use wasm_bindgen_futures::spawn_local;

use crate::page::prelude::*;
use crate::page::state::Stage;
use crate::protocol::{
    About, ArtifactKind, ArtifactLine, ArtifactQuery, ArtifactsQuery, MadeArtifact, Offer,
};

/// Groups with more files than this are folded.
const FEW: usize = 3;

/// The pause between two files that are generated only to determine their size, so that the worker can answer queries.
const REST_MS: u32 = 40;

/// Has the worker generate a file and downloads it; `made` receives the outcome.
pub fn download(
    engine: Engine,
    query: ArtifactQuery,
    file_name: String,
    made: impl FnOnce(Option<MadeArtifact>) + 'static,
) {
    engine.ask_for_bytes(query, move |answer, bytes| {
        if let (Some(artifact), Some(bytes)) = (&answer, bytes) {
            browser::download(&file_name, &artifact.mime, &bytes);
        }
        made(answer);
    });
}

/// Lists the files, as long as they are wanted.
pub fn list_files(
    engine: Engine,
    is_redacted: bool,
    is_wanted: impl Fn() -> bool + 'static,
    listed: impl FnOnce(Vec<Offer>) + 'static,
) {
    engine.ask(ArtifactsQuery { is_redacted }, move |offers| match offers {
        Some(offers) => listed(offers),
        None if is_wanted() => list_files(engine, is_redacted, is_wanted, listed),
        None => {}
    });
}

/// Every file that the analysis generates.
pub fn export() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let offers = RwSignal::new(None::<Vec<Offer>>);
    let is_redacted = RwSignal::new(false);
    let measuring = Measuring::new(engine);
    let reference = Memo::new(move |_| reference_name(state));
    Effect::new(move || {
        state.report.track();
        reference.track();
        let with = is_redacted.get();
        let is_wanted = move || is_redacted.try_get_untracked() == Some(with);
        list_files(engine, with, is_wanted, move |answer| {
            measuring.forget();
            let _ = offers.try_set(Some(answer));
        });
    });
    let redact = move |event| {
        // The offered files are named differently from now on.
        offers.set(None);
        is_redacted.set(event_target_checked(&event));
    };
    on_cleanup(move || {
        // The redacted files take as much memory as the trace.
        if is_redacted.try_get_untracked() == Some(true) {
            engine.ask(ArtifactsQuery { is_redacted: false }, |_| {});
        }
    });
    view! {
        <article class="page" data-testid="artifacts">
            <h1>"Export"</h1>
            <p class="lede">
                "The same files that the command line writes, generated in this page: nothing leaves this computer."
            </p>
            <label class="redact">
                <input type="checkbox" id="redact" prop:checked=is_redacted on:change=redact/>
                <span>
                    "Replace my names"
                    <span class="fine">
                        "For files you share externally. Your own modules, Python files and functions, operators, kernels, annotations, hosts and devices become module_1, file_1, kernel_1 \u{2026} Times, shapes, types and the names of PyTorch and well-known libraries stay."
                    </span>
                </span>
            </label>
            {browser::is_sandboxed().then(|| view! {
                <p class="fine" role="note" data-testid="framed">
                    "Downloads may be blocked in this frame: if none comes, open the page in a tab."
                </p>
            })}
            {move || {
                reference.track();
                one_file(state, engine, is_redacted.get())
            }}
            {move || match offers.get() {
                Some(offers) => each(offers, |offer| whole(state, measuring, offer))
                    .into_any(),
                None => view! { <p class="coming soft" role="status">"Listing files\u{2026}"</p> }.into_any(),
            }}
        </article>
    }
}

/// The page as one file, with the report and the open traces.
fn one_file(state: AppState, engine: Engine, is_redacted: bool) -> AnyView {
    let about = match untrack(|| reference_name(state)).is_some() {
        true => About::Comparison,
        false => About::Target,
    };
    let name = match is_redacted {
        true => embedded::file_name(archive::REDACTED),
        false => embedded::file_name(traces(state, about).iter().map(String::as_str)),
    };
    let making = RwSignal::new(FileState::NotRequested);
    let error = RwSignal::new(None::<String>);
    let title = name.clone();
    let save = move |_| {
        if making.get_untracked() == FileState::Generating {
            return;
        }
        making.set(FileState::Generating);
        error.set(None);
        let name = name.clone();
        spawn_local(async move {
            let made = engine.embed(is_redacted).await;
            if let Ok(file) = &made {
                browser::download_file(&name, file);
            }
            let size = made.as_ref().map(|file| format::bytes(file.size() as u64));
            let _ = making.try_set(size.map_or(FileState::Failed, FileState::Done));
            let _ = error.try_set(made.err());
        });
    };
    let asks = (!browser::is_one_file()).then_some(
        " To make it, this page requests one more file from its own server, unless a copy is saved for offline use: dormer.html.",
    );
    let holds = match is_redacted {
        true => "the trace with your names replaced",
        false => "the trace as it was recorded, with all names in it",
    };
    view! {
        <section class="card one-file" aria-label="One file">
            <div>
                <h2>"One file with page, report and trace"</h2>
                <p class="fine">
                    {format!("Opens without a server and shows this page with this trace, at the view shown last; where scripts are blocked, it shows the report. It contains {holds}.")}
                    {asks}
                </p>
                {move || error.get().map(|why| view! { <p class="fine" role="alert">{format!("It could not be made: {why}.")}</p> })}
            </div>
            <span class="made fine" role="status">{move || making.get().word()}</span>
            <button type="button" data-one-file="" title=title on:click=save>
                {icon("download")}
                "Download"
            </button>
        </section>
    }
    .into_any()
}

/// All files about one subject, with their archive on top.
fn whole(state: AppState, measuring: Measuring, offer: Offer) -> AnyView {
    let Offer {
        about, is_redacted, ..
    } = offer;
    let kinds = offer.groups.iter().flat_map(|group| &group.kinds);
    let n_files: usize = kinds.map(|kind| kind.lines.len()).sum();
    let (title, slug) = match about {
        About::Target => ("This trace", "target"),
        About::Comparison => ("The comparison", "comparison"),
    };
    let name = match is_redacted {
        true => archive::file_name(archive::REDACTED),
        false => archive_name(state, about),
    };
    let query = ArtifactQuery::new(about, None, is_redacted);
    let making = RwSignal::new(FileState::NotRequested);
    let save = on_make(measuring.engine, query, name.clone(), making);
    let groups = offer.groups.into_iter().map(|group| {
        let kinds = group.kinds.into_iter();
        let kinds = kinds.map(|kind| kind_view(state, measuring, kind, is_redacted));
        view! {
            <h3>{group.title}</h3>
            <div class="card flush">{kinds.collect_view()}</div>
        }
    });
    view! {
        <section class="offer" data-offer=slug aria-label=title>
            <header>
                <h2>{title}</h2>
                <span class="grow fine">{format!("{n_files} files")}</span>
                <span class="made fine" role="status">{move || making.get().word()}</span>
                <button type="button" class="main" data-archive=slug title=name on:click=move |_| save()>
                    {icon("download")}
                    "Download all as a zip"
                </button>
            </header>
            {groups.collect_view()}
        </section>
    }
    .into_any()
}

/// The name of the reference's file; read as a signal.
fn reference_name(state: AppState) -> Option<String> {
    let is_open = state.reference.with(Stage::is_open);
    is_open.then(|| state.reference_name.get())
}

/// The name of the archive, derived from the open files.
pub fn archive_name(state: AppState, about: About) -> String {
    archive::file_name(traces(state, about).iter().map(String::as_str))
}

/// The name under which a file is saved, derived from the open files.
pub fn saved_name(state: AppState, about: About, is_redacted: bool, file: &str) -> String {
    match is_redacted {
        true => archive::alone(archive::REDACTED, file),
        false => archive::alone(traces(state, about).iter().map(String::as_str), file),
    }
}

/// The files of the subject, the reference first.
fn traces(state: AppState, about: About) -> Vec<String> {
    let reference = untrack(|| reference_name(state));
    let reference = reference.filter(|_| about == About::Comparison);
    let target = state.file_name.get_untracked();
    reference.into_iter().chain([target]).collect()
}

/// The files of one kind, folded if there are many.
fn kind_view(
    state: AppState,
    measuring: Measuring,
    kind: ArtifactKind,
    is_redacted: bool,
) -> AnyView {
    let n_files = kind.lines.len();
    let engine = measuring.engine;
    let measuring = kind.is_quick.then_some(measuring);
    let lines = each(kind.lines, |line| {
        line_view((state, engine), line, measuring, is_redacted)
    });
    let lines = view! { <ul class="artifacts">{lines}</ul> };
    let lines = match n_files > FEW {
        true => view! {
            <details data-format=kind.format>
                <summary>{format!("{n_files} files")}</summary>
                {lines}
            </details>
        }
        .into_any(),
        false => lines.into_any(),
    };
    view! {
        <div class="artifact-kind">
            <h4>{kind.title}</h4>
            <p class="fine">{kind.purpose}</p>
            {lines}
        </div>
    }
    .into_any()
}

fn line_view(
    (state, engine): (AppState, Engine),
    line: ArtifactLine,
    measuring: Option<Measuring>,
    is_redacted: bool,
) -> AnyView {
    let (folder, name) = line.path.rsplit_once('/').unwrap_or(("", &line.path));
    let folder = (!folder.is_empty()).then(|| format!("{folder}/"));
    let name = name.to_owned();
    let label = format!("Download {name}");
    let making = RwSignal::new(FileState::NotRequested);
    let query = ArtifactQuery::new(line.about, Some(&line.path), is_redacted);
    if let Some(measuring) = measuring {
        measuring.add(query.clone(), making);
    }
    let saved = saved_name(state, line.about, is_redacted, &name);
    let save = on_make(engine, query, saved.clone(), making);
    // A size that nobody asked for is not announced by screen readers.
    let is_asked = RwSignal::new(false);
    let live = move || if is_asked.get() { "polite" } else { "off" };
    let save = move |_| {
        is_asked.set(true);
        save();
    };
    view! {
        <li>
            <span class="mono">
                <span class="soft">{folder}</span>
                {name}
            </span>
            <span class="soft">{line.title}</span>
            <span class="soft made" aria-live=live>{move || making.get().word()}</span>
            <button type="button" class="small" aria-label=label title=saved data-path=line.path on:click=save>
                {icon("download")}
                "Download"
            </button>
        </li>
    }
    .into_any()
}

/// The state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileState {
    /// Not requested.
    NotRequested,
    /// The worker is generating it.
    Generating,
    /// Generated, with its size.
    Done(String),
    Failed,
}

impl FileState {
    fn of(made: Option<MadeArtifact>) -> FileState {
        match made {
            Some(made) => FileState::Done(made.size),
            None => FileState::Failed,
        }
    }

    fn word(self) -> String {
        match self {
            FileState::NotRequested => String::new(),
            FileState::Generating => "Generating\u{2026}".to_owned(),
            FileState::Done(size) => size,
            FileState::Failed => "Failed".to_owned(),
        }
    }
}

/// The action of a button: generates a file and downloads it, one at a time.
fn on_make(
    engine: Engine,
    query: ArtifactQuery,
    file_name: String,
    making: RwSignal<FileState>,
) -> impl Fn() + Copy + 'static {
    let what = StoredValue::new((query, file_name));
    move || {
        if making.get_untracked() == FileState::Generating {
            return;
        }
        making.set(FileState::Generating);
        let (query, file_name) = what.get_value();
        download(engine, query, file_name, move |made| {
            let _ = making.try_set(FileState::of(made));
        });
    }
}

/// Files that are generated one by one only to determine their size, while nothing else is requested.
#[derive(Clone, Copy)]
struct Measuring {
    engine: Engine,
    waiting: StoredValue<VecDeque<(ArtifactQuery, RwSignal<FileState>)>>,
    /// The pause before the next one.
    rest: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Measuring {
    fn new(engine: Engine) -> Measuring {
        Measuring {
            engine,
            waiting: StoredValue::new(VecDeque::new()),
            rest: StoredValue::new_local(None),
        }
    }

    /// Clears the queue; the files have changed.
    fn forget(self) {
        let _ = self.waiting.try_update_value(VecDeque::clear);
        let _ = self.rest.try_update_value(|rest| *rest = None);
    }

    fn add(self, query: ArtifactQuery, making: RwSignal<FileState>) {
        let query = ArtifactQuery {
            is_measured: true,
            ..query
        };
        self.waiting
            .update_value(|waiting| waiting.push_back((query, making)));
        if self.rest.with_value(Option::is_none) {
            self.rest();
        }
    }

    fn rest(self) {
        let next = Timeout::new(REST_MS, move || self.next());
        let _ = self.rest.try_update_value(|rest| *rest = Some(next));
    }

    fn next(self) {
        let next = self.waiting.try_update_value(VecDeque::pop_front).flatten();
        let Some((query, making)) = next else {
            let _ = self.rest.try_update_value(|rest| *rest = None);
            return;
        };
        // The user requested it first.
        if making.try_get_untracked() != Some(FileState::NotRequested) {
            self.rest();
            return;
        }
        self.engine.ask(query, move |made| {
            let is_shown = making.try_get_untracked();
            if is_shown == Some(FileState::NotRequested) {
                let _ = making.try_set(FileState::of(made));
            }
            if is_shown.is_some() {
                self.rest();
            }
        });
    }
}

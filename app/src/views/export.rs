//! Export: every file the analysis makes.

use leptos::prelude::*;

use crate::browser;
use crate::components::Icon;
use crate::engine::Engine;
use crate::protocol::{ArtifactLine, ArtifactQuery, ArtifactsQuery, MadeArtifact};
use crate::state::AppState;

/// Has the worker make a file and hands it to the user; `made` hears what became of it.
pub fn download(engine: Engine, path: &str, made: impl FnOnce(Option<MadeArtifact>) + 'static) {
    let path = path.to_owned();
    let query = ArtifactQuery { path: path.clone() };
    engine.ask_for_bytes(query, move |answer, bytes| {
        if let (Some(artifact), Some(bytes)) = (&answer, bytes) {
            let file_name = path.rsplit('/').next().unwrap_or(&path);
            browser::download(file_name, &artifact.mime, &bytes);
        }
        made(answer);
    });
}

/// Every file the analysis makes.
#[component]
pub fn Export() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let lines = RwSignal::new(None::<Vec<ArtifactLine>>);
    Effect::new(move || {
        state.report.track();
        engine.ask(ArtifactsQuery, move |answer| {
            let _ = lines.try_set(Some(answer));
        });
    });
    view! {
        <article class="page">
            <h1>"Export"</h1>
            <p class="lede">
                "The same files as the command line writes, made in this page. A download is not a request: nothing leaves the machine."
            </p>
            <table class="list" data-testid="artifacts">
                <thead>
                    <tr>
                        <th scope="col">"File"</th>
                        <th scope="col">"What it holds"</th>
                        <th scope="col"><span class="unseen">"Download"</span></th>
                    </tr>
                </thead>
                <tbody>
                    {move || match lines.get() {
                        Some(lines) => lines
                            .into_iter()
                            .map(|line| view! { <Line engine line/> })
                            .collect_view()
                            .into_any(),
                        None => view! {
                            <tr class="coming">
                                <td colspan="3" class="soft" role="status">"Looking what there is\u{2026}"</td>
                            </tr>
                        }
                        .into_any(),
                    }}
                </tbody>
            </table>
        </article>
    }
}

/// How far a file has come.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Making {
    /// It was not asked for.
    No,
    /// The worker makes it.
    Now,
    /// It was handed over; its size.
    Done(String),
    /// It could not be made.
    Failed,
}

/// One file.
#[component]
pub fn Line(
    /// The door to the worker.
    engine: Engine,
    /// The file.
    line: ArtifactLine,
) -> impl IntoView {
    let (folder, name) = line.path.rsplit_once('/').unwrap_or(("", &line.path));
    let folder = (!folder.is_empty()).then(|| format!("{folder}/"));
    let name = name.to_owned();
    let label = format!("Download {name}");
    let path = StoredValue::new(line.path.clone());
    let making = RwSignal::new(Making::No);
    let make = move |_| {
        if making.get_untracked() == Making::Now {
            return;
        }
        making.set(Making::Now);
        path.with_value(|path| {
            download(engine, path, move |made| {
                let _ = making.try_set(match made {
                    Some(made) => Making::Done(made.size),
                    None => Making::Failed,
                });
            });
        });
    };
    let word = move || match making.get() {
        Making::No => String::new(),
        Making::Now => "Making it\u{2026}".to_owned(),
        Making::Done(size) => size,
        Making::Failed => "It could not be made".to_owned(),
    };
    view! {
        <tr>
            <th scope="row" class="mono"><span class="soft">{folder}</span>{name}</th>
            <td class="soft">{line.title}</td>
            <td class="n">
                <span class="soft made" role="status">{word}</span>
                <button type="button" class="small" aria-label=label data-path=line.path on:click=make>
                    <Icon name="download"/>
                    "Download"
                </button>
            </td>
        </tr>
    }
}

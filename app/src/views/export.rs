//! Export: every file the analysis makes.

use leptos::prelude::*;

use crate::browser;
use crate::components::Icon;
use crate::engine::Engine;
use crate::protocol::{ArtifactLine, ArtifactQuery, ArtifactsQuery};
use crate::state::AppState;

/// Asks the worker for a file and hands it to the user.
pub fn download(engine: Engine, line: &ArtifactLine) {
    let (path, mime) = (line.path.clone(), line.mime.clone());
    let query = ArtifactQuery { path: path.clone() };
    engine.ask_for_bytes(query, move |_, bytes| {
        if let Some(bytes) = bytes {
            let file_name = path.rsplit('/').next().unwrap_or(&path);
            browser::download(file_name, &mime, &bytes);
        }
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
                        <th scope="col" class="n">"Size"</th>
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
                                <td colspan="3" class="soft" role="status">"Making the files\u{2026}"</td>
                            </tr>
                        }
                        .into_any(),
                    }}
                </tbody>
            </table>
        </article>
    }
}

/// One file.
#[component]
fn Line(
    /// The door to the worker.
    engine: Engine,
    /// The file.
    line: ArtifactLine,
) -> impl IntoView {
    let path = line.path.clone();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let folder = (!folder.is_empty()).then(|| format!("{folder}/"));
    let label = format!("Download {name}");
    let name = name.to_owned();
    let size = line.size.clone();
    view! {
        <tr>
            <th scope="row" class="mono"><span class="soft">{folder}</span>{name}</th>
            <td class="n">{size}</td>
            <td class="n">
                <button
                    type="button"
                    class="small"
                    aria-label=label
                    data-path=path
                    on:click=move |_| download(engine, &line)
                >
                    <Icon name="download"/>
                    "Download"
                </button>
            </td>
        </tr>
    }
}

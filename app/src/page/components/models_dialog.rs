//! The user's own performance models: a file with them, what they do in this trace, and how to remove them.
//!
//! The worker parses the text and reports errors; until a file is valid, the previous one stays in use. It is kept in
//! memory until the page is closed, and is not part of any address.

use dormer_core::perf::user::MAX_FILE_BYTES;
use web_sys::File;

use super::thresholds::badge;
use crate::page::prelude::*;
use crate::page::state::{OwnModels, Shown};
use crate::protocol::{CheckedModels, ModelUse, ModelsText};

const TITLE: &str = "Custom perf models";

/// The file extension of models.
pub const ENDING: &str = ".toml";

/// An example of the file format.
const EXAMPLE: &str = r#"[[model]]
op = "my_lib::fused_mlp"
let = ["hidden = in0[-1]", "tokens = in0.n / hidden", "inner = in1[0]"]
flops = "4*tokens*hidden*inner + 8*tokens*inner"
bytes = "2*in0.bytes + in1.bytes + in2.bytes"
compute = "matrix"
precision = "in0""#;

/// A button that opens the dialog, with the number of models in use.
pub fn models_button() -> impl IntoView {
    let state = expect_context::<AppState>();
    let n_models = move || {
        let n_models = state.own_models.with(|own| Some(own.as_ref()?.n_models));
        n_models.map(|n_models| badge(n_models, " in use"))
    };
    dialog_button(
        Shown::Models,
        "models-button",
        TITLE,
        "Custom performance models: FLOPs and bytes of an operation",
        n_models,
    )
}

/// Reads a file of models and applies it; the dialog shows the outcome.
pub fn take_models(state: AppState, engine: Engine, file: File) {
    state.dialog.set(Some(Shown::Models));
    let name = file.name();
    let fail = move |what: &str| state.models_error.set(Some(what.to_owned()));
    if !name.ends_with(ENDING) {
        fail(&format!(
            "{name} is not used: custom perf models are TOML files ({ENDING})."
        ));
        return;
    }
    if file.size() > MAX_FILE_BYTES as f64 {
        fail(&format!("{name} is too large for a model file."));
        return;
    }
    browser::read_text(&file, move |text| match text {
        None => fail("Cannot read the file."),
        Some(text) => {
            engine.ask(
                ModelsText { text: text.clone() },
                move |checked| match checked {
                    Err(why) => fail(&format!("{name} is not used: {why}.")),
                    Ok(checked) => {
                        state.models_error.set(None);
                        state.own_models.set(Some(OwnModels {
                            file_name: name,
                            text,
                            n_models: checked.models.len(),
                        }));
                    }
                },
            );
        }
    });
}

/// The dialog.
pub fn models_dialog() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let checked = RwSignal::new(CheckedModels::default());
    Effect::new(move || {
        if state.dialog.get() != Some(Shown::Models) {
            state.models_error.set(None);
        }
    });
    // The operations that count depend on the trace and on the chosen population of GPU events.
    Effect::new(move || {
        state.report.track();
        if let Some(own) = state.own_models.get() {
            engine.ask(ModelsText { text: own.text }, move |answer| {
                let _ = checked.try_set(answer.unwrap_or_default());
            });
        }
    });
    let in_use = move || {
        state.own_models.get().map(|own| {
            let CheckedModels { sentence, models } = checked.get();
            view! {
                <section class="in-use" data-testid="models-in-use">
                    <header>
                        <h3>{own.file_name}</h3>
                        <button type="button" class="small" id="models-remove" on:click=move |_| {
                            state.own_models.set(None);
                        }>"Remove"</button>
                    </header>
                    <p role="status">{sentence}</p>
                    {uses(models)}
                </section>
            }
        })
    };
    let inside = view! {
                <p>"FLOPs and bytes for operations that Dormer has no model for, or models differently. They fill in FLOPs, bytes and % of roofline."</p>
                <ReadFile
                    id="models-file"
                    text="Read a TOML file\u{2026}"
                    note="A .toml file, the same as for the command line. It stays on this computer, until you close this page."
                    accept=ENDING
                    on_file=move |file| take_models(state, engine, file)
                />
                <p id="models-error" class="wrong" role="alert">{move || state.models_error.get()}</p>
                {in_use}
                <details>
                    <summary>"File format"</summary>
                    <pre class="mono">{EXAMPLE}</pre>
                    <p class="fine">"in0, in1 \u{2026} are the recorded arguments: in0[-1] is a dimension, in0.n the number of elements, in0.bytes their size in bytes. Expressions are plain arithmetic."</p>
                </details>
    };
    dialog(Shown::Models, "models-dialog", "models", TITLE, inside)
}

fn uses(models: Vec<ModelUse>) -> impl IntoView {
    let lines = each(models, |model| {
        view! {
            <tr>
                <th scope="row" class="mono">
                    {model.op}
                    {model.note.map(|note| view! { <span class="fine">{note}</span> })}
                </th>
                <td class="n">{model.operations}</td>
                <td class="n">{model.time}</td>
            </tr>
        }
    });
    view! {
        <table class="list" aria-label="Models in use">
            <thead>
                <tr>{heads([("Model", false), ("Operations", true), ("GPU time", true)])}</tr>
            </thead>
            <tbody>{lines}</tbody>
        </table>
    }
}

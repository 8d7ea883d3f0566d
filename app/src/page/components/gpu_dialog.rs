//! A GPU of the user's own: specs from a file or typed in.
//!
//! Either way they become one text, the JSON that the command line reads too; the worker parses it and reports errors.
//! It is kept in the browser only if the user checks the box.

use dormer_core::hardware::{Basis, GpuSpec, Unit};
use leptos::html::Dialog;
use web_sys::File;

use crate::page::prelude::*;
use crate::page::state::OwnGpu;
use crate::protocol::GpuText;

/// A spec: its key in the file, its label, its unit.
type Figure = (&'static str, &'static str, &'static str);

const MEMORY: [Figure; 2] = [
    ("mem_bw_gbps", "Memory bandwidth", "GB/s"),
    ("memory_gb", "Memory", "GB"),
];

const MATRIX: [Figure; 8] = [
    ("matrix_bf16", "BF16", "TFLOPS"),
    ("matrix_fp16", "FP16", "TFLOPS"),
    ("matrix_fp8", "FP8", "TFLOPS"),
    ("matrix_fp4", "FP4", "TFLOPS"),
    ("matrix_tf32", "TF32", "TFLOPS"),
    ("matrix_fp32", "FP32", "TFLOPS"),
    ("matrix_fp64", "FP64", "TFLOPS"),
    ("matrix_int8", "INT8", "TOPS"),
];

const VECTOR: [Figure; 2] = [
    ("vector_fp32", "FP32", "TFLOPS"),
    ("vector_fp64", "FP64", "TFLOPS"),
];

/// The largest file that is read: a GPU profile has a few hundred bytes.
const MAX_BYTES: f64 = 65_536.0;

/// The dialog and its error. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct GpuForm {
    state: AppState,
    engine: Engine,
    dialog: NodeRef<Dialog>,
    error: RwSignal<Option<String>>,
}

impl GpuForm {
    fn close(self) {
        self.error.set(None);
        if let Some(dialog) = self.dialog.get_untracked() {
            dialog.close();
        }
    }

    /// Uses the GPU of a text, once the worker has checked it.
    fn take(self, text: String, is_typed: bool) {
        let keep = browser::is_checked("gpu-keep");
        let query = GpuText { text: text.clone() };
        self.engine.ask(query, move |checked| match checked {
            Ok(name) => {
                self.state.set_own_gpu(Some(OwnGpu { name, text }), keep);
                self.close();
            }
            Err(why) => self.error.set(Some(match is_typed {
                true => in_words(&why),
                false => format!("The file is not used: {why}."),
            })),
        });
    }

    fn read(self, file: &File) {
        if file.size() > MAX_BYTES {
            let why = format!("{} is too large for a GPU profile.", file.name());
            self.error.set(Some(why));
            return;
        }
        browser::read_text(file, move |text| match text {
            Some(text) => self.take(text, false),
            None => self.error.set(Some("Cannot read the file.".to_owned())),
        });
    }

    /// Marks the field that the error is about.
    fn is_wrong(self, subject: &str) -> Option<&'static str> {
        let is_wrong = self.error.with(|error| is_about(error.as_deref(), subject));
        is_wrong.then_some("true")
    }

    fn fields(self, figures: &'static [Figure]) -> impl IntoView {
        each(figures, move |(key, label, unit)| {
            view! {
                <label class="figure">
                    <span>{*label}</span>
                    <input
                        id=format!("gpu-{key}")
                        type="text"
                        inputmode="decimal"
                        autocomplete="off"
                        aria-invalid=move || self.is_wrong(&name_of(key, label))
                    />
                    <span class="soft">{*unit}</span>
                </label>
            }
        })
    }

    /// The note that the GPU is stored here, and the way to delete it.
    fn stored(self) -> impl IntoView {
        let delete = move |_| {
            self.state.set_own_gpu(None, false);
            self.close();
        };
        view! {
            <Show when=move || self.state.own_gpu_is_stored.get()>
                <p class="kept">
                    <span>"This GPU is saved on this computer."</span>
                    <button type="button" id="gpu-delete" class="small" on:click=delete>"Delete"</button>
                </p>
            </Show>
        }
    }
}

/// The dialog; `wants_file` says whether it starts with a file.
pub fn gpu_dialog(dialog: NodeRef<Dialog>, wants_file: RwSignal<bool>) -> impl IntoView {
    let form = GpuForm {
        state: expect_context::<AppState>(),
        engine: expect_context::<Engine>(),
        dialog,
        error: RwSignal::new(None),
    };
    Effect::new(move || {
        if wants_file.get() {
            wants_file.set(false);
            browser::click("gpu-file-input");
        }
    });
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        form.take(typed(), true);
    };
    view! {
        <dialog class="dialog gpu-dialog" id="gpu-dialog" aria-labelledby="gpu-dialog-title" node_ref=dialog on:close=move |_| form.error.set(None)>
            <form novalidate on:submit=submit>
                {dialog_header("gpu-dialog-title", "Custom GPU", move || form.close())}
                <p class="soft fine">"Starts with the figures of the chosen GPU."</p>
                <ReadFile
                    id="gpu-file"
                    text="Read a file\u{2026}"
                    note="JSON, in the format that TraceLens and the command line accept. It stays on this computer."
                    accept=".json,application/json"
                    on_file=move |file| form.read(&file)
                />
                <label class="figure name">
                    <span>"Name"</span>
                    <input id="gpu-name" type="text" maxlength="100" autocomplete="off" aria-invalid=move || form.is_wrong("Name")/>
                </label>
                <div class="figures memory">{form.fields(&MEMORY)}</div>
                <fieldset>
                    <legend>"Matrix units, dense"</legend>
                    <div class="figures">{form.fields(&MATRIX)}</div>
                </fieldset>
                <fieldset>
                    <legend>"Vector units"</legend>
                    <div class="figures">{form.fields(&VECTOR)}</div>
                </fieldset>
                <fieldset class="row">
                    <legend>"These peaks are"</legend>
                    <label><input type="radio" name="gpu-basis" id="gpu-basis-achievable" checked/>"measured (achievable)"</label>
                    <label><input type="radio" name="gpu-basis" id="gpu-basis-peak"/>"from the data sheet (peak)"</label>
                </fieldset>
                <p class="soft fine">"Leave unknown or unsupported fields empty."</p>
                <p id="gpu-error" class="wrong" role="alert">{move || form.error.get()}</p>
                <footer role="presentation">
                    <label><input type="checkbox" id="gpu-keep" prop:checked=move || form.state.own_gpu_is_stored.get()/>"Save on this computer"</label>
                    <span class="grow"></span>
                    <button type="button" on:click=move |_| form.close()>"Cancel"</button>
                    <button type="submit" id="gpu-use" class="main">"Use this GPU"</button>
                </footer>
                {form.stored()}
            </form>
        </dialog>
    }
}

/// Fills the form with the specs of a GPU, on this basis if known, so that one can be changed and the others stay;
/// clears it if there is no GPU.
pub fn fill(gpu: Option<&GpuSpec>, basis: Basis) {
    let on = |basis: Basis| gpu.is_some_and(|gpu| gpu.rates.iter().any(|of| of.basis == basis));
    let basis = if on(basis) { basis } else { basis.other() };
    browser::check(match gpu.is_some() && basis == Basis::Peak {
        true => "gpu-basis-peak",
        false => "gpu-basis-achievable",
    });
    browser::set_input_value("gpu-name", gpu.map_or("", |gpu| &*gpu.name));
    for (key, ..) in MEMORY.iter().chain(&MATRIX).chain(&VECTOR) {
        let value = gpu.and_then(|gpu| figure(gpu, key, basis));
        let text = value.map(|value| value.to_string()).unwrap_or_default();
        browser::set_input_value(&format!("gpu-{key}"), &text);
    }
}

/// A GPU's spec by its key in the file.
fn figure(gpu: &GpuSpec, key: &str, basis: Basis) -> Option<f64> {
    let unit = match key.split_once('_')? {
        ("matrix", _) => Unit::Matrix,
        ("vector", _) => Unit::Vector,
        _ if key == "memory_gb" => return gpu.memory_gb,
        _ => return Some(gpu.mem_bw_gbps),
    };
    let mut rates = gpu.rates.iter();
    let rates = rates.find(|rates| rates.unit == unit && rates.basis == basis)?;
    let (_, precision) = key.split_once('_')?;
    let mut known = rates.tflops.iter();
    let (_, tflops) = known.find(|(known, _)| known.key() == precision)?;
    Some(*tflops)
}

/// The form's values, as the text of a file.
fn typed() -> String {
    let pair = |key: &str| -> Option<String> {
        let typed = browser::input_value(&format!("gpu-{key}"));
        let typed = typed.trim().replace(',', ".");
        let value = match typed.parse::<f64>() {
            _ if typed.is_empty() => return None,
            Ok(number) if number.is_finite() => number.to_string(),
            // Passed on even if invalid, so that the error is about this key.
            _ => browser::json_text(&typed),
        };
        Some(format!("\"{key}\": {value}"))
    };
    let join = |figures: &[Figure]| -> Vec<String> {
        figures.iter().filter_map(|(key, ..)| pair(key)).collect()
    };
    let section = match browser::is_checked("gpu-basis-peak") {
        true => "peak_tflops",
        false => "max_achievable_tflops",
    };
    let rates = [join(&MATRIX), join(&VECTOR)].concat().join(", ");
    let name = browser::json_text(&browser::input_value("gpu-name"));
    let mut pairs = vec![format!("\"name\": {name}")];
    pairs.extend(join(&MEMORY));
    pairs.push(format!("\"{section}\": {{{rates}}}"));
    pairs.push("\"source\": \"entered by hand\"".to_owned());
    format!("{{{}}}", pairs.join(", "))
}

/// The name of a form field in errors.
fn name_of(key: &str, label: &str) -> String {
    let unit = match key.split('_').next() {
        Some("matrix") => " of the matrix units",
        Some("vector") => " of the vector units",
        _ => "",
    };
    format!("{label}{unit}")
}

/// Whether a sentence of [`in_words`] is about a field, as [`name_of`] names it.
fn is_about(error: Option<&str>, subject: &str) -> bool {
    let rest = error.and_then(|error| error.strip_prefix(subject));
    rest.is_some_and(|rest| rest.starts_with(" is ") || rest.starts_with(" must "))
}

/// An error about the form, with fields named as in the form. The text has one line, which the user never sees.
fn in_words(error: &str) -> String {
    let error = error.strip_prefix("line 1: ").unwrap_or(error);
    let (subject, rest) = error.split_once(' ').unwrap_or((error, ""));
    let mut known = MEMORY.iter().chain(&MATRIX).chain(&VECTOR);
    let named = known.find(|(key, ..)| *key == subject);
    let sentence = match named {
        Some((key, label, _)) => format!("{} {rest}", name_of(key, label)),
        None if error.starts_with("no peak above 0") => {
            "Enter at least one peak for matrix or vector units".to_owned()
        }
        None => error.to_owned(),
    };
    format!("{}.", format::capitalized(&sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every spec with a form field is found by its key.
    #[test]
    fn figures_are_found_by_their_keys() {
        let h100 = dormer_core::hardware::find("H100").unwrap();
        assert_eq!(figure(h100, "mem_bw_gbps", Basis::Peak), Some(3350.0));
        assert_eq!(figure(h100, "memory_gb", Basis::Peak), Some(80.0));
        let bf16 = |basis| figure(h100, "matrix_bf16", basis);
        let listed = |basis| {
            let known = h100.matrix(dormer_core::hardware::Precision::Bf16, basis);
            known.map(|figure| figure.tflops)
        };
        for basis in [Basis::Peak, Basis::Achievable] {
            assert_eq!(bf16(basis), listed(basis));
        }
        assert!(bf16(Basis::Peak).is_some());
        assert_eq!(figure(h100, "matrix_fp4", Basis::Peak), None);
    }

    #[test]
    fn errors_speak_of_the_form() {
        let cases = [
            (
                "mem_bw_gbps is missing: the memory bandwidth, GB/s",
                "Memory bandwidth is missing: the memory bandwidth, GB/s.",
            ),
            (
                "line 1: matrix_bf16 must be a number",
                "BF16 of the matrix units must be a number.",
            ),
            ("name is missing", "Name is missing."),
            (
                "no peak above 0 in max_achievable_tflops or peak_tflops",
                "Enter at least one peak for matrix or vector units.",
            ),
        ];
        for (error, words) in cases {
            assert_eq!(in_words(error), words);
        }
        let missing = Some(cases[0].1);
        assert!(is_about(missing, "Memory bandwidth"));
        assert!(!is_about(missing, "Memory"));
        assert!(!is_about(None, "Memory"));
    }
}

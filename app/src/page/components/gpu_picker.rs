//! The GPU used for analysis: a built-in one, or the user's own.

use dormer_core::hardware::{self, Basis};
use leptos::html::Dialog;

use super::gpu_dialog::{fill, gpu_dialog};
use crate::page::prelude::*;
use crate::protocol::OWN;

/// The values of the last two entries of the list. No GPU has such a name.
const FROM_FILE: &str = "+file";
const BY_HAND: &str = "+hand";

/// Chooses the GPU, and whether peak or achievable figures are used.
pub fn gpu_picker(names: Vec<String>, detected: Option<String>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let dialog = NodeRef::<Dialog>::new();
    let wants_file = RwSignal::new(false);
    let chosen = Memo::new(move |_| match state.missing_gpu() {
        Some(_) => String::new(),
        None => state.place.with(|place| {
            let gpu = place.choice.gpu.as_deref().unwrap_or_default();
            // A link may use another name of a GPU.
            match hardware::find(gpu) {
                Some(known) => known.name.to_string(),
                None if gpu.starts_with(OWN) => gpu.to_owned(),
                None => String::new(),
            }
        }),
    });
    let of_trace = StoredValue::new(detected.clone());
    let open = move |file: bool| {
        wants_file.set(file);
        fill_from_chosen(state, of_trace.get_value());
        if let Some(dialog) = dialog.get_untracked() {
            let _ = dialog.show_modal();
        }
    };
    let pick = move |event: web_sys::Event| {
        let select = event_target::<web_sys::HtmlSelectElement>(&event);
        let value = select.value();
        match value.as_str() {
            FROM_FILE | BY_HAND => {
                select.set_value(&chosen.get_untracked());
                open(value == FROM_FILE);
            }
            _ => state.go(|place| place.choice.gpu = (!value.is_empty()).then_some(value)),
        }
    };
    let listed = names.clone();
    let missing = move || {
        state.missing_gpu().map(|name| {
            view! {
                <button type="button" id="gpu-missing" class="ghost missing" on:click=move |_| open(false)>
                    {format!("Custom GPU “{name}” is not saved here: enter it again")}
                </button>
            }
        })
    };
    view! {
        {basis_switch()}
        <label class="pick">
            <span>"GPU"</span>
            <select id="gpu" aria-label="GPU" on:change=pick prop:value=move || chosen.get()>
                {gpu_options(state, names, detected.as_deref(), chosen)}
                <option value=FROM_FILE>"From a file…"</option>
                <option value=BY_HAND>"Enter values…"</option>
            </select>
        </label>
        {pin(state)}
        {move || unknown(state, &listed)}
        {missing}
        {gpu_dialog(dialog, wants_file)}
    }
}

/// Says that a link names a GPU that is not known.
fn unknown(state: AppState, listed: &[String]) -> Option<impl IntoView + use<>> {
    let gpu = state.place.with(|place| place.choice.gpu.clone())?;
    let is_known = gpu.starts_with(OWN) || hardware::find(&gpu).is_some() || listed.contains(&gpu);
    (!is_known).then(|| {
        view! { <p class="odd" id="gpu-unknown" role="status">{format!("Unknown GPU “{gpu}”")}</p> }
    })
}

/// Keeps the chosen GPU for traces opened next; nothing while the trace's own GPU is used.
fn pin(state: AppState) -> impl IntoView {
    let is_chosen = state.of_place(|place| place.choice.gpu.is_some());
    view! {
        <Show when=move || is_chosen.get()>
            <button
                type="button"
                id="pin-gpu"
                class="ghost pin"
                aria-pressed=move || state.gpu_is_pinned.get().to_string()
                title="Keep this GPU when another trace is opened"
                on:click=move |_| state.gpu_is_pinned.update(|is| *is = !*is)
            >
                {move || if state.gpu_is_pinned.get() { "Pinned" } else { "Pin" }}
            </button>
        </Show>
    }
}

/// Fills the form with the specs of the current GPU: the chosen one, or else the one that the trace names.
fn fill_from_chosen(state: AppState, detected: Option<String>) {
    let choice = untrack(|| state.whole_choice());
    let basis = if choice.peak {
        Basis::Peak
    } else {
        Basis::Achievable
    };
    let own = choice.profile.as_deref().map(hardware::parse);
    let name = choice.gpu.or(detected);
    match (own, name.as_deref().and_then(hardware::find)) {
        (Some(Ok(own)), _) => fill(Some(&own), basis),
        (_, known) => fill(known, basis),
    }
}

/// The GPUs to choose from: the one that the trace names, the user's own, and the built-in ones.
pub(super) fn gpu_options(
    state: AppState,
    names: Vec<String>,
    detected: Option<&str>,
    chosen: Memo<String>,
) -> AnyView {
    let automatic = match detected {
        Some(name) => format!("{name} (detected)"),
        None => "Choose a GPU".to_owned(),
    };
    let own = move || {
        state.own_gpu.get().map(|own| {
            let value = format!("{OWN}{}", own.name);
            let is_chosen = chosen.get() == value;
            view! { <option value=value selected=is_chosen>{format!("{} (custom)", own.name)}</option> }
        })
    };
    let known = names.into_iter().map(|name| {
        let value = name.clone();
        let is_chosen = chosen.get_untracked() == name;
        view! { <option value=value selected=is_chosen>{name}</option> }
    });
    view! {
        <option value="">{automatic}</option>
        {own}
        {known.collect_view()}
    }
    .into_any()
}

/// Chooses which figures of the GPU are used, if both are known.
fn basis_switch() -> impl IntoView {
    let state = expect_context::<AppState>();
    let peak = state.of_place(|place| place.choice.peak);
    let options = [("achievable", "Achievable"), ("peak", "Peak")];
    let choose = move |peak| state.go(|place| place.choice.peak = peak);
    view! {
        <div class="basis" title="Roofline peaks: measured with tuned libraries (achievable), or from the vendor's data sheet (peak)">
            {on_or_off("seg", "basis", "Peaks for the roofline", options, peak, choose)}
        </div>
    }
}

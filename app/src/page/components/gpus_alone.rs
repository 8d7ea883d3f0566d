//! The GPUs of a multi-GPU trace, each of which can be analyzed alone.

use crate::page::prelude::*;
use crate::protocol::GpuLine;

/// A button for each GPU; nothing for a single GPU. Pressed again, it selects all of them.
pub fn gpus_alone() -> impl IntoView {
    let state = expect_context::<AppState>();
    let gpus = Memo::new(move |_| state.of_opened(|opened| opened.gpus_alone.clone()));
    move || {
        let gpus = gpus.get();
        (!gpus.is_empty()).then(|| {
            let buttons = each(gpus.into_iter().enumerate(), |(at, gpu)| {
                button(state, at, gpu)
            });
            view! {
                <section class="card" data-testid="gpus-alone" aria-labelledby="gpus-alone">
                    <h2 id="gpus-alone">"Analyze one GPU alone"</h2>
                    <div class="median">{buttons}</div>
                    <p class="fine">"What runs on it, from its first to its last activity, with the calls that launched it."</p>
                </section>
            }
        })
    }
}

fn button(state: AppState, at: usize, gpu: GpuLine) -> impl IntoView {
    let GpuLine {
        device,
        name,
        length,
    } = gpu;
    let own = device.clone();
    let is_analyzed = Memo::new(move |_| {
        state
            .place
            .with(|place| place.choice.device.as_ref() == Some(&own))
    });
    let press = move |_| match is_analyzed.get_untracked() {
        true => state.analyze(None),
        false => state.analyze_gpu(device.clone()),
    };
    view! {
        <button
            type="button"
            id=format!("gpu-alone-{at}")
            class="small gpu-alone"
            aria-pressed=move || is_analyzed.get().to_string()
            on:click=press
        >
            {name}
            <span class="fine">{length}</span>
        </button>
    }
}

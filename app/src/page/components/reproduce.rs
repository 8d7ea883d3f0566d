//! Offers a program that runs one operation alone.

use leptos::prelude::*;

use super::icon;
use crate::page::browser;
use crate::page::engine::Engine;
use crate::protocol::{Reproducer, ReproducerQuery};

/// A button that downloads the reproducer of an operation; where it cannot be rebuilt, the reason.
pub fn reproduce(row: u32) -> impl IntoView {
    let engine = expect_context::<Engine>();
    let offered = RwSignal::new(None::<Reproducer>);
    engine.ask(ReproducerQuery { row, make: false }, move |answer| {
        let _ = offered.try_set(answer);
    });
    let make = move |_| {
        let query = ReproducerQuery { row, make: true };
        engine.ask_for_bytes(query, move |answer, bytes| {
            let made = answer.and_then(|answer| Some((answer.file_name, answer.made?.mime)));
            if let Some(((file_name, mime), bytes)) = made.zip(bytes) {
                browser::download(&file_name, &mime, &bytes);
            }
        });
    };
    move || {
        let offered = offered.get()?;
        Some(match offered.reason {
            None => view! {
                <p class="reproduce" data-testid="reproduce">
                    <button type="button" class="small" id="reproduce" on:click=make title=offered.file_name>
                        {icon("download")}
                        "Reproducer"
                    </button>
                    <span class="fine">"A PyTorch script that runs this operation alone. It contains only names, shapes, types and scalars."</span>
                </p>
            }
            .into_any(),
            Some(reason) => view! {
                <p class="reproduce fine" data-testid="reproduce">{format!("No reproducer: {reason}.")}</p>
            }
            .into_any(),
        })
    }
}

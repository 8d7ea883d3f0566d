//! Dialogs that a signal shows and hides.

use leptos::html::Dialog;
use leptos::prelude::*;

/// Shows a dialog while `wanted` says so. The dialog's `close` event has to take it back: the
/// browser closes dialogs by itself.
pub fn show_while(dialog: NodeRef<Dialog>, wanted: RwSignal<bool>) {
    Effect::new(move || {
        let wanted = wanted.get();
        if let Some(dialog) = dialog.get() {
            match wanted {
                true if !dialog.open() => drop(dialog.show_modal()),
                false if dialog.open() => dialog.close(),
                _ => {}
            }
        }
    });
}

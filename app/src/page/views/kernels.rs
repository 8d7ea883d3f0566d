//! Kernels: every kernel by the op that launched it.

use crate::page::prelude::*;
use crate::protocol::{FAMILY, SHARE};

const SHEET: &str = "kernel_summary";
/// Its table, whose rows have details.
pub(super) const SHEETS: &[(&str, &str)] = &[("", SHEET)];

#[rustfmt::skip]
const COLUMNS: &[TableColumn] = &[
    TableColumn::new("Kernel name", "Kernel", Width::Rest),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(4),
    TableColumn::new("Parent cpu_op", "Launched by", Width::Name).rank(3),
    TableColumn::new("Kernel stream", "Stream", Width::Figure).rank(7),
    TableColumn::new("Kernel duration (µs)_count", "Count", Width::Figure).rank(5),
    TableColumn::new("Kernel duration (µs)_sum", "GPU time", Width::Number).rank(1),
    TableColumn::new("Kernel duration (µs)_mean", "Mean", Width::Number).rank(6),
    TableColumn::new(SHARE, "Share", Width::Share).rank(2),
];

/// Every kernel by the op that launched it.
pub fn kernels() -> impl IntoView {
    let state = expect_context::<AppState>();
    let has_unlinked = untrack(|| state.of_opened(|opened| opened.unlinked.is_some()));
    let has_guesses =
        move || has_unlinked || state.overview.with(|overview| overview.guessed.is_some());
    let empty = Signal::derive(move || {
        let none = state.overview.with(|overview| overview.no_gpu);
        none.map_or_else(String::new, |none| {
            format!("{} {}", none.why(), none.hint())
        })
    });
    let notes = move || {
        view! {
            <Show when=has_guesses>
                {category_legend()}
            </Show>
        }
    };
    view! {
        <h1 class="unseen">"Kernels"</h1>
        <SheetTable
            sheet=SHEET
            noun="kernels"
            columns=COLUMNS
            empty
            note=notes
        />
    }
}

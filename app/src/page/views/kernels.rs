//! Kernels: every kernel by the op that launched it.

use crate::page::prelude::*;
use crate::protocol::{
    BLOCK, FAMILY, GRID, MEDIAN, OCCUPANCY, P95, REGISTERS, SHARE, SHARED_MEMORY,
};

const SHEET: &str = "kernel_summary";
/// Its table, whose rows have details.
pub(super) const SHEETS: &[(&str, &str)] = &[("", SHEET)];

#[rustfmt::skip]
const COLUMNS: &[TableColumn] = &[
    TableColumn::new("Kernel name", "Kernel", Width::Rest),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(4),
    TableColumn::new("Parent cpu_op", "Launched by", Width::Name).rank(3).below(),
    TableColumn::new("library", "Library", Width::Label).rank(12),
    TableColumn::new("Kernel stream", "Stream", Width::Small).rank(8),
    TableColumn::new(GRID, "Grid", Width::Label).rank(9),
    TableColumn::new(BLOCK, "Block", Width::Word).rank(10),
    TableColumn::new(REGISTERS, "Registers", Width::Figure).rank(13),
    TableColumn::new(SHARED_MEMORY, "Shared mem.", Width::Figure).unit("B").rank(14),
    TableColumn::new(OCCUPANCY, "Est. occupancy", Width::Figure).rank(11),
    TableColumn::new("Kernel duration (µs)_count", "Count", Width::Figure).rank(5),
    TableColumn::new("Kernel duration (µs)_sum", "GPU time", Width::Number).rank(1),
    TableColumn::new("Kernel duration (µs)_mean", "Mean", Width::Figure).rank(7),
    TableColumn::new(MEDIAN, "Median", Width::Figure).rank(6),
    TableColumn::new(P95, "p95", Width::Figure).rank(15),
    TableColumn::new("Kernel duration (µs)_max", "Longest", Width::Figure).rank(16),
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

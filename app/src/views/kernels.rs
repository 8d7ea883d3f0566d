//! Kernels: every kernel by the op that launched it.

use leptos::prelude::*;

use crate::components::{SheetTable, TableColumn, Width};

const COLUMNS: &[TableColumn] = &[
    TableColumn {
        label: "Kernel name",
        heading: "Kernel",
        width: Width::Rest,
    },
    TableColumn {
        label: "Parent cpu_op",
        heading: "Launched by",
        width: Width::Name,
    },
    TableColumn {
        label: "Kernel stream",
        heading: "Stream",
        width: Width::Number,
    },
    TableColumn {
        label: "Kernel duration (µs)_count",
        heading: "Count",
        width: Width::Number,
    },
    TableColumn {
        label: "Kernel duration (µs)_sum",
        heading: "GPU time",
        width: Width::Number,
    },
    TableColumn {
        label: "Kernel duration (µs)_mean",
        heading: "Mean",
        width: Width::Number,
    },
    TableColumn {
        label: "Percent of kernels time (%)",
        heading: "Share",
        width: Width::Share,
    },
];

/// Every kernel by the op that launched it.
#[component]
pub fn Kernels() -> impl IntoView {
    view! {
        <h1 class="unseen">"Kernels"</h1>
        <SheetTable
            sheet="kernel_summary"
            noun="kernels"
            columns=COLUMNS
            empty="No GPU activity was recorded. Record with ProfilerActivity.CUDA to see kernels."
        />
    }
}

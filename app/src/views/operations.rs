//! Operations: every op that ran GPU work, by name.

use leptos::prelude::*;

use crate::components::{SheetTable, TableColumn, Width};

const COLUMNS: &[TableColumn] = &[
    TableColumn {
        label: "name",
        heading: "Operation",
        width: Width::Rest,
    },
    TableColumn {
        label: "Categories",
        heading: "Category",
        width: Width::Label,
    },
    TableColumn {
        label: "Count",
        heading: "Count",
        width: Width::Number,
    },
    TableColumn {
        label: "total_direct_kernel_time_ms",
        heading: "GPU time",
        width: Width::Number,
    },
    TableColumn {
        label: "total_subtree_kernel_time_ms",
        heading: "With calls below",
        width: Width::Number,
    },
    TableColumn {
        label: "Percentage (%)",
        heading: "Share",
        width: Width::Share,
    },
    TableColumn {
        label: "Cumulative Percentage (%)",
        heading: "Cumulative",
        width: Width::Number,
    },
];

/// Every op that ran GPU work.
#[component]
pub fn Operations() -> impl IntoView {
    view! {
        <h1 class="unseen">"Operations"</h1>
        <SheetTable sheet="ops_summary" noun="operations" columns=COLUMNS/>
    }
}

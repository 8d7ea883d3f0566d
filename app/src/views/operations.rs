//! Operations: every op by name, with its time on the GPU.

use leptos::prelude::*;

use crate::components::{SheetTable, TableColumn, Width};
use crate::protocol::FAMILY;
use crate::state::{AppState, Stage};

const ON_GPU: &[TableColumn] = &[
    TableColumn {
        label: "name",
        heading: "Operation",
        width: Width::Rest,
    },
    TableColumn {
        label: FAMILY,
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

const ON_HOST: &[TableColumn] = &[
    TableColumn {
        label: "name",
        heading: "Operation",
        width: Width::Rest,
    },
    TableColumn {
        label: FAMILY,
        heading: "Category",
        width: Width::Label,
    },
    TableColumn {
        label: "Count",
        heading: "Count",
        width: Width::Number,
    },
    TableColumn {
        label: "self_cpu_time_ms",
        heading: "CPU time, own",
        width: Width::Number,
    },
    TableColumn {
        label: "total_cpu_time_ms",
        heading: "With calls below",
        width: Width::Number,
    },
    TableColumn {
        label: "Percentage (%)",
        heading: "Share",
        width: Width::Share,
    },
];

/// Every op that ran GPU work; every op, where no GPU activity was recorded.
#[component]
pub fn Operations() -> impl IntoView {
    let state = expect_context::<AppState>();
    let has_gpu_events = state.stage.with_untracked(|stage| match stage {
        Stage::Open(opened) => opened.has_gpu_events,
        _ => false,
    });
    let (sheet, columns) = match has_gpu_events {
        true => ("ops_summary", ON_GPU),
        false => ("cpu_ops_summary", ON_HOST),
    };
    view! {
        <h1 class="unseen">"Operations"</h1>
        <SheetTable
            sheet
            noun="operations"
            columns
            empty="No PyTorch operators were recorded; Kernels shows where the GPU time went. Record with ProfilerActivity.CPU to see operators."
        />
    }
}

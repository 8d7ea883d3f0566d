//! Operations: what ran, with its GPU time and how close it comes to the GPU's limits.

use crate::page::prelude::*;
use crate::protocol::{BOUND, FAMILY, MODULE, SHAPES, SHARE, SIZES, TIME};

#[rustfmt::skip]
const BY_ARGUMENTS: &[TableColumn] = &[
    TableColumn::new("name", "Operation", Width::Rest),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(10),
    TableColumn::new("library", "Library", Width::Label).rank(12),
    TableColumn::new(SHAPES, "Shapes", Width::Rest).rank(2).below(),
    TableColumn::new(SIZES, "M×N×K", Width::Name).rank(8),
    TableColumn::new(MODULE, "Module", Width::Name).rank(13),
    TableColumn::new("operation_count", "Calls", Width::Small).rank(6),
    TableColumn::new(TIME, "GPU time", Width::Figure).rank(1),
    TableColumn::new("Kernel Time (µs)_median", "Median", Width::Figure).rank(14),
    TableColumn::new("Kernel Time (µs)_max", "Longest", Width::Figure).rank(15),
    TableColumn::new(SHARE, "Share", Width::Small).rank(4),
    TableColumn::new("Pct Roofline", "% roofline", Width::Gauge).rank(3),
    TableColumn::new(BOUND, "Bound by", Width::Word).rank(5),
    TableColumn::new("FLOPS/Byte", "Intensity", Width::Figure).unit("FLOP/byte").rank(11),
    TableColumn::new("TB/s_mean", "Memory", Width::Small).unit("TB/s").rank(7),
    TableColumn::new("TFLOPS/s_mean", "Compute", Width::Figure).unit("TFLOPS").rank(9),
];

#[rustfmt::skip]
const BY_OPERATOR: &[TableColumn] = &[
    TableColumn::new("name", "Operation", Width::Rest),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(3),
    TableColumn::new("Count", "Calls", Width::Figure).rank(4),
    TableColumn::new("total_direct_kernel_time_ms", "GPU time", Width::Number).rank(1),
    TableColumn::new("total_subtree_kernel_time_ms", "With children", Width::Number).rank(5),
    TableColumn::new(MODULE, "Module", Width::Name).rank(6),
    TableColumn::new(SHARE, "Share", Width::Share).rank(2),
];

#[rustfmt::skip]
const ON_HOST: &[TableColumn] = &[
    TableColumn::new("name", "Operation", Width::Rest),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(3),
    TableColumn::new("Count", "Calls", Width::Figure).rank(4),
    TableColumn::new("self_cpu_time_ms", "CPU self time", Width::Number).rank(1),
    TableColumn::new("total_cpu_time_ms", "With children", Width::Number).rank(5),
    TableColumn::new("Percentage (%)", "Share", Width::Share).rank(2),
];

#[rustfmt::skip]
const BY_LAYER: &[TableColumn] = &[
    TableColumn::new("name", "Layers and role", Width::Rest),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(9),
    TableColumn::new("Kernel name", "Kernel", Width::Name).rank(4),
    TableColumn::new("Kernel duration (µs)_count", "Count", Width::Small).rank(6),
    TableColumn::new("Kernel duration (µs)_sum", "GPU time", Width::Figure).rank(1),
    TableColumn::new(SHARE, "Share", Width::Small).rank(2),
    TableColumn::new("Kernel duration (µs)_median", "Median", Width::Figure).rank(3),
    TableColumn::new("Kernel duration (µs)_max", "Longest", Width::Figure).rank(7),
    TableColumn::new("outliers", "Outliers", Width::Figure).rank(5),
    TableColumn::new("slowest layer", "Slowest layer", Width::Label).rank(8),
];

/// The sheet of operations, each an operator with its arguments.
pub const SHEET: &str = "unified_perf_summary";
pub const OPERATORS_SHEET: &str = "ops_summary";
const LAYERS_SHEET: &str = "kernels_by_layer";
/// The names of the table by layer and the table by operator in the URL.
const LAYERS: &str = "layers";
pub(super) const OPERATORS: &str = "operators";
/// The tables of the view whose rows have details.
pub(super) const SHEETS: &[(&str, &str)] = &[("", SHEET), (OPERATORS, OPERATORS_SHEET)];

const NO_GRAPHS: &str = "No GPU graph is replayed.";
const NO_OPERATORS: &str =
    "No operators were recorded. PyTorch's profiler records them with ProfilerActivity.CPU.";

/// Every operation with its arguments, or every operator; CPU times if no GPU activity was recorded.
pub fn operations() -> impl IntoView {
    let state = expect_context::<AppState>();
    let has_gpu_events = untrack(|| state.of_opened(|opened| opened.has_gpu_events));
    let grouped_by = state.of_place(|place| match place.focus.table.as_str() {
        OPERATORS => OPERATORS,
        LAYERS => LAYERS,
        _ => "",
    });
    let guesses = move || {
        let has_guesses = state.overview.with(|overview| overview.guessed.is_some());
        has_guesses.then(category_legend)
    };
    let table = move || {
        if !has_gpu_events {
            return view! {
                <SheetTable sheet="cpu_ops_summary" noun="operations" columns=ON_HOST empty=NO_OPERATORS/>
            }
            .into_any();
        }
        let tools = grouping(grouped_by).into_any();
        let kernels = move || {
            view! {
                <p class="under">
                    <a href=move || state.link_to("kernels")>"Kernels"</a>
                    " shows the GPU time by kernel."
                </p>
            }
        };
        let notes = move || view! { {basis()} {guesses()} };
        match grouped_by.get() {
            LAYERS => view! {
                <SheetTable sheet=LAYERS_SHEET noun="kernels" columns=BY_LAYER empty=NO_GRAPHS tools note=layers elsewhere=kernels/>
            }
            .into_any(),
            OPERATORS => view! {
                <SheetTable sheet=OPERATORS_SHEET noun="operators" columns=BY_OPERATOR empty=NO_OPERATORS tools note=guesses elsewhere=kernels/>
            }
            .into_any(),
            _ => view! {
                <SheetTable sheet=SHEET noun="operations" columns=BY_ARGUMENTS empty=NO_OPERATORS tools note=notes elsewhere=kernels/>
            }
            .into_any(),
        }
    };
    view! {
        <h1 class="unseen">"Operations"</h1>
        {table}
    }
}

/// What a row is: an operator with its arguments, an operator, or a kernel of a GPU graph at one place in its layers.
fn grouping(grouped_by: Memo<&'static str>) -> impl IntoView {
    let state = expect_context::<AppState>();
    // Rows and columns of one table do not apply to the other; Back restores them.
    let choose = Callback::new(move |table: String| {
        if grouped_by.get_untracked() == table {
            return;
        }
        let focus = state.place.with_untracked(|place| Focus {
            find: place.focus.find.clone(),
            only: place.focus.only.clone(),
            table,
            ..Focus::default()
        });
        browser::go_to_hash(&state.link_into("operations", focus));
    });
    let has_graphs = Memo::new(move |_| {
        let taken = state
            .overview
            .with(|overview| overview.captures.are_taken());
        taken || grouped_by.get() == LAYERS
    });
    let pressed = Signal::derive(move || grouped_by.get().to_owned());
    move || {
        let by_layer = has_graphs.get().then_some((LAYERS, "By layer"));
        let options = [("", "By arguments"), (OPERATORS, "By operator")];
        let options = options.into_iter().chain(by_layer);
        let options = options.map(|(table, label)| choosable(table, label));
        one_of("seg", "rows", "Rows", options, pressed, choose)
    }
}

/// An explanation of the figures of kernels by layer.
fn layers() -> impl IntoView {
    view! {
        <p class="fine under">
            "Kernels of GPU graphs, in the order in which they run. Layers are counted from 0; an outlier takes at least 1.5 times the median of its row."
        </p>
    }
}

/// What "of the roofline" is relative to.
fn basis() -> impl IntoView {
    let state = expect_context::<AppState>();
    view! {
        <p class="fine under" data-testid="basis">
            {move || state.overview.with(|overview| match &overview.gpu.name {
                Some(name) => {
                    let mark = if overview.gpu.mixed { " \u{2020} marks values that use another peak." } else { "" };
                    format!("% of roofline of {name}. {}{mark}", overview.gpu.basis)
                }
                None => format!("Choose a GPU to see % of roofline. {}", overview.gpu.basis),
            })}
        </p>
    }
}

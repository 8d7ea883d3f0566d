//! Roofline: every operation on the roofline of the chosen GPU.

use dormer_core::report::overview::FamilyTime;

use super::operations::SHEET;
use crate::page::components::roofline_chart::roofline_chart;
use crate::page::prelude::*;
use crate::protocol::{BOUND, FAMILY, Missing, RooflineChart, RooflineQuery, SHAPES, TIME};

/// Its table, whose rows have details.
pub(super) const SHEETS: &[(&str, &str)] = &[("", SHEET)];

#[rustfmt::skip]
const COLUMNS: &[TableColumn] = &[
    TableColumn::new("name", "Operation", Width::Rest),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(8),
    TableColumn::new(SHAPES, "Shapes", Width::Rest).rank(2),
    TableColumn::new(TIME, "GPU time", Width::Figure).rank(1),
    TableColumn::new("FLOPS/Byte", "Intensity", Width::Figure).unit("FLOP/byte").rank(4),
    TableColumn::new("TFLOPS/s_mean", "Compute", Width::Figure).unit("TFLOPS").rank(5),
    TableColumn::new("TB/s_mean", "Memory", Width::Figure).unit("TB/s").rank(6),
    TableColumn::new(BOUND, "Bound by", Width::Figure).rank(7),
    TableColumn::new("Pct Roofline", "% roofline", Width::Gauge).rank(3),
];

/// The chart, its legend, and the table of the same operations.
pub fn roofline() -> impl IntoView {
    let engine = expect_context::<Engine>();
    let answer = engine.follow(|| RooflineQuery);
    let chart = Memo::new(move |_| answer.get().unwrap_or_default());
    // A changed chart is updated in place; nothing is shown until the first one arrives.
    let missing = Memo::new(move |_| answer.with(|chart| chart.as_ref().map(|one| one.missing)));
    let body = move || match missing.get() {
        None => ().into_any(),
        Some(Some(missing)) => no_chart(missing).into_any(),
        Some(None) => drawn(chart).into_any(),
    };
    view! {
        <div class="roofline" data-testid="roofline">
            {body}
        </div>
    }
}

fn drawn(chart: Memo<RooflineChart>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let focus = state.focus();
    let only = Memo::new(move |_| focus.with(|focus| focus.only.clone()));
    let selected = Memo::new(move |_| focus.with(|focus| focus.row));
    let families = Memo::new(move |_| chart.with(|chart| chart.families.clone()));
    let sentences = move || {
        chart.with(|chart| {
            let sentences = [
                chart.without_flops.clone(),
                chart.left_out.clone(),
                chart.without_roofline.clone(),
            ];
            let sentences = sentences.into_iter().flatten();
            sentences.map(|text| view! { <p>{text}</p> }).collect_view()
        })
    };
    let roof = move || {
        chart.with(|chart| {
            let memory = chart.memory.iter().map(|memory| memory.label());
            let ceilings = chart.ceilings.iter().map(|ceiling| ceiling.label());
            let labels: Vec<String> = memory.chain(ceilings).collect();
            format!("Roofline: {}.", labels.join("; "))
        })
    };
    view! {
        <h1 class="unseen">"Roofline"</h1>
        <p class="lead-line" data-testid="roofline-lead">{move || chart.with(|chart| chart.lead.clone())}</p>
        {legend(families, only)}
        <section class="card chart">
            {roofline_chart(chart, only, selected, move |row| state.look_at(|focus| focus.row = row))}
        </section>
        <div class="fine asides" data-testid="roofline-asides">
            <p>"Mark area is GPU time; the smallest marks are enlarged."</p>
            <p class="roofline-key">{roof}</p>
            {sentences}
        </div>
        <h2>"As a table"</h2>
        <div class="chart-table">
            <SheetTable sheet=SHEET noun="operations" columns=COLUMNS empty="No GPU activity."/>
        </div>
    }
}

/// The categories, as toggles.
fn legend(families: Memo<Vec<FamilyTime>>, only: Memo<Vec<String>>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let chip = move |time: FamilyTime| {
        let token = time.family.token();
        let is_on = move || only.with(|only| only.iter().any(|one| one == token));
        let toggle = move |_| {
            state.look_at(|focus| {
                focus.toggle(token.to_owned());
                focus.row = None;
            });
        };
        view! {
            <button type="button" class="chip" data-token=token aria-pressed=move || is_on().to_string() on:click=toggle>
                {dot(token)}
                {time.family.label()}
                <b>{time.share()}</b>
            </button>
        }
    };
    view! {
        <div class="chips" class:some=move || only.with(|only| !only.is_empty()) role="group" aria-label="Filter by category">
            {move || families.get().into_iter().map(chip).collect_view()}
            <Show when=move || only.with(|only| !only.is_empty())>
                <button type="button" class="ghost small" on:click=move |_| state.look_at(|focus| focus.only.clear())>
                    "Show all"
                </button>
            </Show>
        </div>
    }
}

/// Why there is no chart, and how to get one.
fn no_chart(missing: Missing) -> impl IntoView {
    let of_overview = expect_context::<AppState>().overview;
    let (why, how) = match missing {
        Missing::Gpu => {
            let basis = of_overview.with_untracked(|overview| overview.gpu.basis.clone());
            let how = format!("Choose one at the top of the page to see every operation against its roofline. {basis}");
            ("No GPU is chosen.", how)
        }
        Missing::Activity => {
            let none = of_overview.with_untracked(|overview| overview.no_gpu);
            none.map_or_else(Default::default, |none| (none.why(), none.hint().to_owned()))
        }
        Missing::Operators => (
            "No operators were recorded.",
            "Kernels alone have no FLOP or byte counts. PyTorch's profiler records operators with `ProfilerActivity.CPU`, and their shapes with `record_shapes=True`.".to_owned(),
        ),
        Missing::Work => (
            "No operation has a FLOP or byte model.",
            "FLOPs and bytes are computed from argument shapes, which PyTorch's profiler records with `record_shapes=True`.".to_owned(),
        ),
    };
    nothing_shown("no-roofline", why, how)
}

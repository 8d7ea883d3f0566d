//! The Operations and Roofline views.

use serde_json::json;
use thirtyfour::prelude::*;

use super::page::with_page;
use super::traces::{kernels, product};

const MARKS: &str = "$$('#roofline-chart .mark').length";

#[test]
fn operations_say_how_close_they_come_to_the_roof() {
    with_page("operations", async |page| {
        page.open_sample_at("#/operations", "[id^=unified_perf_summary-]")
            .await;
        for wanted in ["Operation", "Shapes", "GPU time", "% roofline", "Bound by"] {
            // Each has an explanation.
            page.wait_for(&format!(
                "$$('table.sheet thead th').some(head => head.innerText.startsWith({}) && head.querySelector('button').title.length > {})",
                json!(wanted),
                if wanted == "Operation" { -1 } else { 10 }
            ))
            .await;
        }
        page.wait_text("tbody tr[id] td.share", " %").await;
        page.wait_text("[data-testid=basis]", "H100").await;
        page.click("#rows-operators").await;
        page.find("[id^=ops_summary-]").await;
        page.wait_hash("table=operators").await;
    });
}

#[test]
fn columns_are_as_many_as_fit_or_as_chosen() {
    with_page("columns", async |page| {
        page.open_sample_at("#/operations", "[id^=unified_perf_summary-]")
            .await;
        let heads = "$$('table.sheet thead th').length";
        let cells = "$$('tbody tr[id]:nth-child(2) td').length";
        page.resize(1900, 900).await;
        page.wait_for(&format!("{heads} >= 9 && {heads} === {cells}"))
            .await;
        page.resize(320, 700).await;
        // The shapes are below the names.
        page.wait_for(&format!("{heads} === 2 && {cells} === 2"))
            .await;
        let overflow = "document.documentElement.scrollWidth - window.innerWidth";
        page.wait_value(overflow, 0).await;
        page.click("#columns").await;
        page.click(".column-list li:nth-of-type(2) input").await;
        page.wait_for(&format!("{heads} === 3 && {cells} === 3"))
            .await;
        page.click("#reset-columns").await;
        page.wait_for(&format!("{heads} === 2")).await;
    });
}

#[test]
fn every_operation_is_on_the_roof_or_said_to_be_left_out() {
    with_page("roof", async |page| {
        page.open_sample_at("#/roofline", "#roofline-chart .mark")
            .await;
        let starts = format!(
            "$('[data-testid=roofline-lead]').innerText.startsWith({MARKS} + ' operations (')"
        );
        page.wait_for(&starts).await;
        let n_marks = page.value::<u64>(MARKS).await;
        // The table below has the same rows, plus those without a roofline.
        let asides = page.text("[data-testid=roofline-asides]").await;
        let without_roof = asides
            .split_once("Copies between host and GPU (")
            .unwrap()
            .1;
        let n_without_roof: u64 = without_roof.split_once(' ').unwrap().0.parse().unwrap();
        let count = format!("{} operations", n_marks + n_without_roof);
        page.wait_says("[data-testid=count]", &count).await;
        for roofline in ["memory, peak 3.35 TB/s", "matrix BF16, peak 989 TFLOPS"] {
            page.wait_for(&format!(
                "$$('#roofline-chart text.name').some(name => name.textContent === {})",
                json!(roofline)
            ))
            .await;
        }
    });
}

#[test]
fn the_roof_is_walked_by_keyboard_and_leads_to_operations() {
    with_page("roof-keys", async |page| {
        page.open_sample_at("#/roofline", "#roofline-chart .mark")
            .await;
        page.enter("#roofline-chart", Key::Right + Key::Right).await;
        // The second mark by time is the second row of the table.
        page.wait_for(
            "$('#roofline-chart [role=status]').textContent.startsWith($('#roofline-chart .tip h3').innerText)",
        )
        .await;
        page.enter("#roofline-chart", Key::Enter).await;
        page.find("[data-testid=op-details] dl").await;
        page.find("#roofline-chart .ring.chosen").await;
        page.wait_for("$('tbody tr[aria-selected=true]')?.id === 'unified_perf_summary-1'")
            .await;
        page.click(".op-details-links [data-to=operations]").await;
        page.wait_for("location.hash.startsWith('#/operations') && $('tbody tr[aria-selected=true]')?.id === 'unified_perf_summary-1'").await;
    });
}

#[test]
fn the_pointer_shows_and_selects_a_mark() {
    with_page("roof-pointer", async |page| {
        page.open_sample_at("#/roofline", "#roofline-chart .mark")
            .await;
        page.act(
            "const mark = $('#roofline-chart .mark'), box = mark.getBoundingClientRect();
             for (const kind of ['mousemove', 'click'])
               mark.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 }))",
        )
        .await;
        page.find("#roofline-chart .tip").await;
        page.find("#roofline-chart .ring.chosen").await;
        page.wait_hash("row=").await;
    });
}

#[test]
fn the_legend_filters_chart_and_table() {
    with_page("roof-legend", async |page| {
        page.open_sample_at("#/roofline", "#roofline-chart .mark")
            .await;
        let all = page.value::<u64>(MARKS).await;
        page.click(".chip[data-token=gemm]").await;
        page.wait_for(&format!("{MARKS} < {all}")).await;
        page.wait_for(&format!(
            "{MARKS} === $$('#roofline-chart .mark.c-gemm').length"
        ))
        .await;
        let some = page.value::<u64>(MARKS).await;
        page.wait_for(&format!(
            "$('[data-testid=count]').textContent.startsWith('{some} of ')"
        ))
        .await;
        page.wait_hash("only=gemm").await;
        page.click(".chips .ghost").await;
        page.wait_for(&format!("{MARKS} === {all}")).await;
    });
}

#[test]
fn without_a_gpu_the_roofline_says_how_to_choose_one() {
    with_page("roof-missing", async |page| {
        page.open("product.json", &product()).await;
        page.go("#/roofline").await;
        page.wait_text("[data-testid=no-roofline]", "No GPU is chosen")
            .await;
        page.go("#/roofline?gpu=MI300X").await;
        page.find("#roofline-chart .mark").await;
        // Without shapes, FLOPs and bytes are unknown.
        page.open("kernels.json", &kernels(&[30])).await;
        // The GPU of the previous trace is not kept.
        page.wait_text("[data-testid=no-roofline]", "No GPU is chosen")
            .await;
        page.wait_for("!location.hash.includes('gpu=')").await;
        page.go("#/roofline?gpu=MI300X").await;
        page.wait_text("[data-testid=no-roofline]", "record_shapes")
            .await;
    });
}

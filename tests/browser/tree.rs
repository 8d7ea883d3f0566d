//! The Call tree view: its modes, and the order of calls.

use dormer_core::testing::Timetable;
use serde_json::Value;
use thirtyfour::Key;

use super::page::with_page;

#[test]
fn the_tree_is_shown_in_every_way_and_the_link_keeps_it() {
    with_page("tree-modes", async |page| {
        page.open_sample().await;
        page.go("#/tree").await;
        for mode in ["top-down", "bottom-up", "modules", "backward"] {
            page.click(&format!("#mode-{mode}")).await;
            page.find(&format!("#mode-{mode}[aria-pressed=true]")).await;
            page.find("[id^=node-][aria-level='1'][aria-posinset='1']")
                .await;
            // The address follows a moment later.
            page.wait_for(&format!("location.hash.startsWith('#/tree?table={mode}')"))
                .await;
        }
        page.go("#/tree?table=modules&sort=name").await;
        page.find("th[aria-sort=ascending] [data-sort=name]").await;
        page.find("#mode-modules[aria-pressed=true]").await;
    });
}

#[test]
fn a_trace_without_modules_or_a_backward_pass_says_so() {
    with_page("tree-missing", async |page| {
        let trace = Timetable::new().op("aten::mm", 0..9).json();
        page.open("plain.json", &trace).await;
        for mode in ["modules", "backward"] {
            page.go(&format!("#/tree?table={mode}")).await;
            page.find(&format!("#mode-{mode}[aria-pressed=true]")).await;
            page.text_when(".scroller .none", |said| said.starts_with("This trace "))
                .await;
        }
    });
}

#[test]
fn the_flame_is_walked_by_key_and_leads_back_to_the_table() {
    with_page("tree-flame", async |page| {
        page.open_sample().await;
        page.go("#/tree").await;
        page.click("#drawing-flame").await;
        page.wait_hash("section=flame").await;
        let path = "$$('[data-testid=flame-path] li').length";
        let says = "$('[data-testid=flame-status]').textContent";
        page.wait_for("$('[data-testid=flame-total]').textContent.endsWith(' GPU time')")
            .await;
        page.enter("#flame", Key::Home).await;
        page.wait_for(&format!("{says}.includes('GPU ')")).await;
        let thread = page.value::<Value>(says).await;
        page.enter("#flame", Key::Down).await;
        page.wait_for(&format!("{says} !== {thread}")).await;
        page.enter("#flame", Key::Enter).await;
        page.wait_for(&format!("{path} === 3")).await;
        page.wait_for(&format!("{says}.endsWith('100 % of what is shown')"))
            .await;
        let name = page
            .value::<Value>(&format!("{says}.split(': GPU')[0]"))
            .await;
        page.enter("#flame", Key::Escape).await;
        page.wait_for(&format!("{path} === 2")).await;
        page.enter("#flame", Key::Backspace).await;
        page.wait_for(&format!("{path} === 1")).await;

        // The same call is selected in the table.
        page.click("#drawing-").await;
        page.wait_for(&format!(
            "$('[id^=node-][aria-selected=true] .cut')?.textContent === {name}"
        ))
        .await;
        // Every aggregating mode has a flame graph, by either time.
        for mode in ["top-down", "bottom-up", "modules", "backward"] {
            for (drawing, time) in [("flame", "GPU"), ("flame-cpu", "CPU")] {
                page.go(&format!("#/tree?table={mode}&section={drawing}"))
                    .await;
                page.wait_for(&format!(
                    "$('[data-testid=flame-total]')?.textContent.endsWith(' {time} time')"
                ))
                .await;
                page.wait_for("!$('.flame .none')").await;
            }
        }
    });
}

#[test]
fn the_selected_call_stays_selected_when_calls_are_put_together() {
    with_page("tree-keep", async |page| {
        page.open_sample().await;
        page.go("#/tree").await;
        page.click("#hottest").await;
        let selected = "$('[id^=node-][aria-selected=true] .cut')?.textContent";
        let name = page.wait_for(selected).await;
        // Calls as recorded have no count.
        let headings = "$$('.sheet.tree th').some(head => head.innerText.startsWith('Calls'))";
        page.wait_value(headings, false).await;
        page.click("#mode-top-down").await;
        // What a runtime call launched belongs to its operator.
        let operator = page
            .wait_for(&format!(
                "{headings} && {selected} !== {name} && {selected}"
            ))
            .await;
        page.click("#mode-").await;
        page.wait_for(&format!("!{headings} && {selected} === {operator}"))
            .await;
    });
}

/// Three layers of one class with a kernel each, 10, 20 and 30 µs, below four frames, and a call without GPU activity.
fn three_layers() -> String {
    let table = Timetable::new()
        .frame("train.py(1): <module>", 0..1000)
        .frame("train.py(9): main", 1..999)
        .frame("torch/nn/modules/module.py(5): _call_impl", 2..998)
        .frame("model/net.py(7): forward", 3..997)
        .op("aten::empty", 4..6);
    let layer = |table: Timetable, layer: u32| {
        let start = 100 * layer + 10;
        table
            .frame(&format!("nn.Module: Layer_{layer}"), start..start + 90)
            .op("aten::mm", start + 10..start + 20)
            .launched(
                "gemm",
                start + 11..start + 12,
                start + 30..start + 40 + 10 * layer,
            )
    };
    (0..3).fold(table, layer).json()
}

const NAMES: &str = "$$('[id^=node-] .cut').map(name => name.textContent).join()";

#[test]
fn modules_of_one_class_are_merged_and_opened_into_instances() {
    with_page("tree-classes", async |page| {
        page.open("layers.json", &three_layers()).await;
        page.go("#/tree?table=top-down").await;
        page.wait_for(&format!("{NAMES} === 'Layer,aten::mm'"))
            .await;
        page.click("[id^=node-] .instances").await;
        let split = format!("{NAMES} === 'Layer,Layer_2,Layer_1,Layer_0'");
        page.wait_for(&split).await;
        // The panel shows the spread per module, and merges them again.
        page.text_when("[data-testid=details]", |text| {
            text.contains("20.0 µs (10.0–30.0 µs)")
        })
        .await;
        page.click("#instances").await;
        page.wait_for(&format!("{NAMES} === 'Layer,aten::mm'"))
            .await;
        page.enter("table.tree", "i").await;
        page.wait_for(&split).await;
    });
}

#[test]
fn the_common_stack_is_a_breadcrumb_and_rows_without_gpu_time_come_by_a_switch() {
    with_page("tree-stack", async |page| {
        page.open("layers.json", &three_layers()).await;
        page.go("#/tree?table=top-down").await;
        page.wait_for("$$('[data-testid=stack] li').length === 4")
            .await;
        page.wait_text("[data-testid=hidden-rows]", "(1 hidden)")
            .await;
        page.click("[data-testid=stack] li:nth-child(3) button")
            .await;
        page.wait_for("$$('[data-testid=stack] li').length === 2")
            .await;
        page.find("tr.code-pytorch").await;
        page.find("tr.code-own").await;
        page.click("#fold-stack").await;
        page.wait_for("$$('[data-testid=stack] li').length === 4")
            .await;
        page.click("#all-rows").await;
        page.wait_hash("rows=all").await;
        page.wait_for(&format!("{NAMES}.includes('aten::empty')"))
            .await;
    });
}

#[test]
fn a_search_shows_its_hit() {
    with_page("tree-hit", async |page| {
        page.open_sample().await;
        page.go("#/tree?rows=all").await;
        page.enter("#search", "aten::addmm").await;
        page.wait_text("[data-testid=matches]", "1 of ").await;
        let is_seen = "(() => {
            const row = $('tr[aria-selected=true]')?.getBoundingClientRect();
            const box = $('.scroller').getBoundingClientRect();
            const head = $('.scroller thead').getBoundingClientRect();
            return !!row && row.top >= head.bottom - 1 && row.bottom <= box.bottom + 1
                && $('tr[aria-selected=true] .cut').textContent === 'aten::addmm';
        })()";
        for next in ["2 of ", "3 of ", "4 of "] {
            page.wait_for(is_seen).await;
            page.click("#find-next").await;
            page.wait_text("[data-testid=matches]", next).await;
        }
        page.wait_for(is_seen).await;
    });
}

#[test]
fn bottom_up_after_the_hottest_path_shows_the_operator_and_its_time() {
    with_page("tree-bottom-up", async |page| {
        page.open_sample().await;
        page.go("#/tree").await;
        page.click("#hottest").await;
        page.find("tr[aria-selected=true]").await;
        page.click("#mode-bottom-up").await;
        page.wait_for("/\\d/.test($('tr[aria-selected=true] .share')?.textContent ?? '')")
            .await;
        page.wait_for("$('tr[aria-selected=true] .cut').textContent.startsWith('aten::')")
            .await;
    });
}

#[test]
fn deep_rows_stay_readable_on_a_phone() {
    with_page("tree-phone", async |page| {
        page.resize(390, 844).await;
        page.open_sample().await;
        page.go("#/tree?rows=all").await;
        page.click("#hottest").await;
        page.find("tr[aria-selected=true]").await;
        page.wait_for("$('tr[aria-selected=true] .cut').getBoundingClientRect().width >= 100")
            .await;
    });
}

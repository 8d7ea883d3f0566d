//! The Tree view: the ways its calls are put together, and their order.

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
            page.click(&format!("[data-mode={mode}]")).await;
            page.find(&format!("[data-mode={mode}][aria-pressed=true]"))
                .await;
            page.find("[id^=node-][aria-level='1'][aria-posinset='1']")
                .await;
            // The address follows a moment later.
            page.wait_for(&format!("location.hash === '#/tree?table={mode}'"))
                .await;
        }
        page.go("#/tree?table=modules&sort=name").await;
        page.find("th[aria-sort=ascending] [data-sort=name]").await;
        page.find("[data-mode=modules][aria-pressed=true]").await;
    });
}

#[test]
fn a_trace_without_modules_or_a_backward_pass_says_so() {
    with_page("tree-missing", async |page| {
        let trace = Timetable::new().op("aten::mm", 0..9).json();
        page.open("plain.json", &trace).await;
        for mode in ["modules", "backward"] {
            page.go(&format!("#/tree?table={mode}")).await;
            let said = page.text(".scroller .none").await;
            assert!(said.starts_with("This trace "), "{said}");
        }
    });
}

#[test]
fn the_flame_is_walked_by_key_and_leads_back_to_the_table() {
    with_page("tree-flame", async |page| {
        page.open_sample().await;
        page.go("#/tree").await;
        page.click("[data-drawing=flame]").await;
        page.wait_hash("section=flame").await;
        let path = "$$('[data-testid=flame-path] li').length";
        let says = "$('[data-testid=flame-says]').textContent";
        page.wait_for("$('[data-testid=flame-total]').textContent.endsWith(' GPU time')")
            .await;
        let flame = page.find("#flame").await;
        flame.send_keys(Key::Home).await.unwrap();
        page.wait_for(&format!("{says}.includes('GPU ')")).await;
        let thread = page.value::<Value>(says).await;
        flame.send_keys(Key::Down).await.unwrap();
        page.wait_for(&format!("{says} !== {thread}")).await;
        flame.send_keys(Key::Enter).await.unwrap();
        page.wait_for(&format!("{path} === 3")).await;
        page.wait_for(&format!("{says}.endsWith('100 % of what is shown')"))
            .await;
        let name = page
            .value::<Value>(&format!("{says}.split(': GPU')[0]"))
            .await;
        flame.send_keys(Key::Escape).await.unwrap();
        page.wait_for(&format!("{path} === 2")).await;
        flame.send_keys(Key::Backspace).await.unwrap();
        page.wait_for(&format!("{path} === 1")).await;

        // The same call is selected in the table.
        page.click("[data-drawing='']").await;
        page.wait_for(&format!(
            "$('[id^=node-][aria-selected=true] .cut')?.textContent === {name}"
        ))
        .await;
        // Every way to put calls together has blocks, by either time.
        for mode in ["top-down", "bottom-up", "modules", "backward"] {
            for (drawing, time) in [("flame", "GPU"), ("flame-cpu", "CPU")] {
                page.go(&format!("#/tree?table={mode}&section={drawing}"))
                    .await;
                page.wait_for(&format!(
                    "$('[data-testid=flame-total]')?.textContent.endsWith(' {time} time')"
                ))
                .await;
                assert!(!page.value::<bool>("!!$('.flame .none')").await);
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
        // Each call is one, so how many there are is not said.
        let headings = "$$('.sheet.tree th').some(head => head.innerText.startsWith('Calls'))";
        assert!(!page.value::<bool>(headings).await);
        page.click("[data-mode=top-down]").await;
        page.wait_for(&format!("{headings} && {selected} === {name}"))
            .await;
        page.click("[data-mode='']").await;
        page.wait_for(&format!("!{headings} && {selected} === {name}"))
            .await;
    });
}

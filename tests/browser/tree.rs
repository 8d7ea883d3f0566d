//! The Tree view: the ways its calls are put together, and their order.

use serde_json::json;

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
            page.find("[id^=node-]").await;
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
        let event = json!({
            "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 9
        });
        let trace = json!({ "traceEvents": [event] });
        page.drop_file("plain.json", &trace.to_string()).await;
        page.wait_until_shown(1).await;
        for mode in ["modules", "backward"] {
            page.go(&format!("#/tree?table={mode}")).await;
            let said = page.text("[data-testid=tree-missing]").await;
            assert!(said.starts_with("This trace "), "{said}");
        }
    });
}

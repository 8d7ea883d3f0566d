//! User actions in the views: sorting, filtering, keyboard navigation, searching, changing the GPU.

use serde_json::json;
use thirtyfour::prelude::*;

use super::page::with_page;
use super::traces::{host_only, kernels, many_operations, shows, slow_product, unlinked};
use crate::support::text::trace;

#[test]
fn a_click_on_a_heading_sorts() {
    with_page("sort", async |page| {
        page.open_sample_at("#/operations?table=operators", "[id^=ops_summary-]")
            .await;
        // Rows come from the worker, a moment after the heading shows their order.
        let counts = "$$('tbody tr[id] td:nth-child(3)').map(cell => Number(cell.textContent))";
        let sorted = |order: &str| {
            format!(
                "{counts}.length > 5 && {counts}.every((n, at, all) => !at || all[at - 1] {order} n)"
            )
        };
        for (direction, order) in [("descending", ">="), ("ascending", "<=")] {
            page.click("th:nth-child(3) button").await;
            page.find(&format!("th:nth-child(3)[aria-sort={direction}]"))
                .await;
            page.wait_for(&sorted(order)).await;
        }
    });
}

#[test]
fn a_filter_leaves_what_fits() {
    with_page("filter", async |page| {
        page.open_sample().await;
        page.go("#/operations?table=operators").await;
        page.enter("#filter", "backward").await;
        page.wait_text("[data-testid=count]", " of ").await;
        let names = "$$('tbody tr[id] td:first-child').map(cell => cell.textContent.toLowerCase())";
        page.wait_for(&format!(
            "{names}.length > 0 && {names}.every(name => name.includes('backward'))"
        ))
        .await;
        page.enter("#filter", "zzz").await;
        page.wait_for("$('.none')?.textContent.startsWith('None of')")
            .await;
    });
}

#[test]
fn a_table_is_walked_by_keyboard() {
    with_page("keyboard", async |page| {
        page.open_sample_at("#/kernels", "[id^=kernel_summary-]")
            .await;
        page.enter("table.sheet", Key::Down + Key::Down).await;
        page.wait_for("$('tbody tr[aria-selected=true]')?.matches('[aria-rowindex=\"3\"]')")
            .await;
        page.find("[data-testid=op-details] dl").await;
        page.wait_hash("row=").await;
        page.enter("table.sheet", Key::Escape).await;
        page.wait_for("!$('tbody tr[aria-selected=true]')").await;
    });
}

#[test]
fn the_tree_opens_closes_and_is_searched() {
    with_page("tree", async |page| {
        page.open("tree.json", &kernels(&[30, 20])).await;
        page.go("#/tree").await;
        page.find("[id^=node-]").await;
        let rows = "$$('tbody tr[id]').length";

        page.click("#close-all").await;
        let closed = page.wait_for(&format!("{rows} === 1 && {rows}")).await;
        page.enter("table.tree", Key::Home + Key::Right).await;
        page.wait_for(&format!("{rows} > {closed}")).await;
        page.enter("table.tree", Key::Left).await;
        page.wait_for(&format!("{rows} === {closed}")).await;

        page.enter("#search", "cudaLaunch").await;
        page.wait_for("$('[data-testid=matches]').textContent === '1 of 2'")
            .await;
        page.click("#find-next").await;
        page.wait_for("$('[data-testid=matches]').textContent === '2 of 2'")
            .await;
    });
}

#[test]
fn the_system_view_says_why_the_gpu_idles_and_leads_into_the_tree() {
    with_page("system", async |page| {
        page.open_sample().await;
        // A finding about the system links here.
        page.unfold_finding("[data-to=system]").await;
        page.click("[data-testid=finding][open] [data-to=system]")
            .await;
        page.text_when("[data-testid=system-headline]", |headline| {
            headline.starts_with("The GPU is idle ")
                && headline.ends_with("mostly waiting for data loading.")
        })
        .await;
        let sections = "$$('[data-section]').map(section => [section.dataset.section, !!section.querySelector('[data-testid=missing]')])";
        let none_is_missing = json!([
            ["idle", false],
            ["cpu", false],
            ["communication", false],
            ["copies", false]
        ]);
        page.wait_value(sections, none_is_missing).await;
        page.wait_text("[data-testid=gaps] li:first-child", "aten::copy_")
            .await;
        page.click("[data-testid=gaps] li:first-child [data-to=tree]")
            .await;
        page.wait_text("tbody tr[aria-selected=true]", "cudaMemcpyAsync")
            .await;
        // A trace with only kernels has neither copies nor communication.
        page.open("kernels.json", &kernels(&[30, 20])).await;
        page.go("#/system").await;
        page.wait_for("$$('[data-testid=missing]').length === 2")
            .await;
    });
}

#[test]
fn another_gpu_judges_anew() {
    with_page("gpu", async |page| {
        page.open_sample().await;
        let before = page.text("[data-testid=this-gpu]").await;
        page.choose_option("#gpu", "MI300X").await;
        page.wait_text("[data-testid=this-gpu]", "MI300X").await;
        page.text_when("[data-testid=this-gpu]", |now| now != before)
            .await;
        page.wait_hash("gpu=").await;
        // The trace was not read again.
        page.wait_value("document.documentElement.dataset.ready", "1")
            .await;
    });
}

#[test]
fn a_user_may_bring_figures_of_a_gpu() {
    with_page("own-gpu", async |page| {
        page.open_sample().await;
        page.choose_option("#gpu", "Enter values…").await;
        page.wait_for("$('#gpu-dialog').open").await;
        // It starts with the specs of the current GPU.
        let has = |field: &str, value: &str| format!("$('#gpu-{field}').value === '{value}'");
        page.wait_for(&has("name", "NVIDIA H100 SXM")).await;
        page.wait_for(&has("mem_bw_gbps", "3350")).await;
        for field in ["name", "matrix_bf16", "mem_bw_gbps"] {
            page.find(&format!("#gpu-{field}"))
                .await
                .clear()
                .await
                .unwrap();
        }
        page.enter("#gpu-name", "Mine").await;
        page.enter("#gpu-matrix_bf16", "500").await;
        page.click("#gpu-use").await;
        page.wait_for("$('#gpu-error').textContent.startsWith('Memory bandwidth is missing')")
            .await;
        page.enter("#gpu-mem_bw_gbps", "2500").await;
        page.click("#gpu-use").await;
        page.wait_for("!$('#gpu-dialog').open").await;
        let shows =
            |what: &str| format!("$('[data-testid=this-gpu]').innerText.includes('{what}')");
        page.wait_for(&shows("Mine")).await;
        page.wait_for(&shows("2.50")).await;
        page.click("#basis-peak").await;
        page.wait_hash("gpu=own:Mine").await;
        let hash = page.hash().await;
        assert!(!hash.contains("500"), "{hash}");
        // Nothing is kept unless the user asks.
        page.wait_value("localStorage.length", 0).await;
        // A link to specs that are not here says so, and the report is still shown.
        page.go("#/overview?gpu=own:Other").await;
        let missing = "$('#gpu-missing')?.textContent.includes('Other')";
        page.wait_for(missing).await;
        page.wait_for(&shows("H100")).await;
    });
}

#[test]
fn a_user_may_bring_performance_models() {
    with_page("own-models", async |page| {
        page.load("#/?gpu=NVIDIA%20H100%20SXM").await;
        page.open("slow.json", &slow_product(&[])).await;
        let badge = "($('#models-button .badge')?.textContent ?? '')";
        let open = "$('#models-dialog').open";
        let error = "$('#models-error').textContent";

        // A file with an error, dropped on an open trace.
        let model = "[[model]]\nop = \"aten::*\"\nbytes = \"1000000\"\nprecision = \"fp32\"\n";
        page.drop_file("mine.toml", &format!("{model}flops = \"2*hiden\"\n"))
            .await;
        page.wait_for(&format!(
            "{open} && {error}.includes('line 5') && {error}.includes('hiden')"
        ))
        .await;
        page.wait_value(badge, "").await;

        page.drop_file("mine.toml", &format!("{model}flops = \"1e6\"\n"))
            .await;
        page.wait_for(&format!("{badge}.startsWith('1')")).await;
        page.wait_text("[data-testid=models-in-use] [role=status]", "1 operation,")
            .await;
        page.wait_value(error, "").await;
        // An invalid file after a valid one: the valid one stays.
        page.drop_file("worse.toml", "[[model]]").await;
        page.wait_for(&format!("{error}.includes('worse.toml is not used')"))
            .await;
        page.wait_for(&format!("{badge}.startsWith('1')")).await;
        page.screenshot("models.png").await;
        page.click("#models-dialog header button").await;
        page.wait_for(&format!("!{open}")).await;

        // The address contains none of it. An operation with one FLOP per byte is memory-bound, and the GEMM that it
        // replaces is compute-bound.
        assert!(!page.hash().await.contains("model"));
        page.go("#/operations?gpu=NVIDIA%20H100%20SXM").await;
        let shows = "$$('table.sheet td').some(cell => cell.textContent === 'memory')";
        page.wait_for(shows).await;
        page.click("#models-button").await;
        page.click("#models-remove").await;
        page.wait_for(&format!("!{shows}")).await;
        page.wait_value(badge, "").await;
    });
}

#[test]
fn an_operation_can_be_had_as_a_program() {
    with_page("reproduce", async |page| {
        page.open("slow.json", &slow_product(&["my::op"])).await;
        page.go("#/operations?row=0").await;
        page.click("#reproduce").await;
        let file = page.downloaded("slow-replay_aten_mm.zip").await;
        assert!(file.starts_with(b"PK"));
        // Its arguments were not recorded.
        page.go("#/operations?row=1").await;
        page.wait_for("$('[data-testid=reproduce]')?.textContent.startsWith('No reproducer: ')")
            .await;
    });
}

#[test]
fn unattributed_gpu_activity_counts_and_its_chip_explains_it() {
    with_page("unattributed", async |page| {
        let trace = unlinked();
        page.open("unlinked.json", &trace).await;
        shows(page, &trace).await;
        let chip = "[data-testid=limits] [data-limit=unattributed]";
        page.wait_text(chip, "Unattributed").await;
        page.click(&format!("{chip} summary")).await;
        page.wait_text(chip, "All views show it").await;
        // Sheets with TraceLens's names count it on request.
        page.click("#events-all").await;
        page.wait_for("location.hash.includes('events=all')").await;
        page.wait_for("$('#events-all').getAttribute('aria-pressed') === 'true'")
            .await;
        // It is shown under every headline.
        for (view, headline) in [
            ("system", "h1"),
            ("report", "[data-testid=report] > h1"),
            ("report?table=rough", "[data-testid=report] > h1"),
        ] {
            page.go(&format!("#/{view}")).await;
            page.wait_text(&format!("{headline} + {chip}"), "Unattributed")
                .await;
        }
    });
}

#[test]
fn a_trace_of_the_host_alone_is_shown() {
    with_page("host", async |page| {
        let trace = host_only();
        page.open("host.json", &trace).await;
        shows(page, &trace).await;
        page.wait_text("[data-testid=quality]", "No GPU activity was recorded")
            .await;
        // Every view shows something, or says why not.
        for (view, mark) in [
            ("report", "[data-testid=report]"),
            ("operations", "tbody tr[id]"),
            ("roofline", "[data-testid=no-roofline]"),
            ("kernels", ".none"),
            ("tree", "[id^=node-]"),
            ("system", "[data-testid=missing]"),
            ("compare", "[data-testid=compare-empty]"),
            ("export", "[data-testid=artifacts]"),
        ] {
            page.go(&format!("#/{view}")).await;
            page.find(mark).await;
        }
    });
}

#[test]
fn a_trace_without_events_says_so() {
    with_page("no-events", async |page| {
        page.open("none.json", &trace("")).await;
        shows(page, &trace("")).await;
        page.screenshot("no-events.png").await;
    });
}

#[test]
fn a_long_table_draws_only_what_is_seen() {
    with_page("long", async |page| {
        page.open("long.json", &many_operations(5_000)).await;
        page.go("#/operations").await;
        page.find("tbody tr[id]").await;
        let count = "$('[data-testid=count]').textContent.replace(/\\D/g, '') === '5000'";
        page.wait_for(count).await;
        let few_are_drawn = "$$('tbody tr').length < 300";
        page.wait_for(few_are_drawn).await;
        page.enter("table.sheet", Key::End).await;
        page.find("tr[id][aria-rowindex='5001']").await;
        page.wait_for(few_are_drawn).await;
    });
}

//! What a user can do in the views: sort, filter, walk by keyboard, search, judge anew.

use serde_json::json;
use thirtyfour::prelude::*;

use super::page::{Page, with_page};
use super::traces::{headline, host_only, kernels, many_operations, slow_product, unlinked};
use crate::support::text::trace;

/// The texts of a column of the shown table, from 1.
async fn column(page: &Page, number: u32) -> Vec<String> {
    let script = format!(
        "return [...document.querySelectorAll('tbody tr[id] td:nth-child({number})')].map(cell => cell.textContent)"
    );
    serde_json::from_value(page.js(&script, vec![]).await).unwrap()
}

/// The keyboard's target.
async fn press(page: &Page, css: &str, keys: &[Key]) {
    let element = page.find(css).await;
    for key in keys {
        element.send_keys(key.clone()).await.unwrap();
    }
}

#[test]
fn a_click_on_a_heading_sorts() {
    with_page("sort", async |page| {
        page.open_sample().await;
        page.go("#/operations?table=operators").await;
        page.find("[id^=ops_summary-]").await;
        let counts = async |page: &Page| -> Vec<u32> {
            let counts = column(page, 3).await;
            counts.iter().map(|count| count.parse().unwrap()).collect()
        };
        let count_heading = "th:nth-child(3) button";
        page.click(count_heading).await;
        page.wait_for("!!document.querySelector('th:nth-child(3)[aria-sort=descending]')")
            .await;
        page.wait_for("!document.querySelector('.coming')").await;
        let falling = counts(page).await;
        assert!(
            falling.len() > 5 && falling.is_sorted_by(|a, b| a >= b),
            "{falling:?}"
        );
        page.click(count_heading).await;
        page.wait_for("!!document.querySelector('th:nth-child(3)[aria-sort=ascending]')")
            .await;
        page.wait_for("!document.querySelector('.coming')").await;
        let rising = counts(page).await;
        assert!(rising.len() > 5 && rising.is_sorted(), "{rising:?}");
    });
}

#[test]
fn a_filter_leaves_what_fits() {
    with_page("filter", async |page| {
        page.open_sample().await;
        page.go("#/operations?table=operators").await;
        let filter = page.find("#filter").await;
        filter.send_keys("backward").await.unwrap();
        page.wait_for("document.querySelector('[data-testid=count]').textContent.includes(' of ')")
            .await;
        page.wait_for("!document.querySelector('.coming')").await;
        let names = column(page, 1).await;
        assert!(!names.is_empty());
        assert!(
            names
                .iter()
                .all(|name| name.to_lowercase().contains("backward")),
            "{names:?}"
        );
        filter.send_keys("zzz").await.unwrap();
        page.wait_for("document.querySelector('.none')?.textContent.startsWith('None of')")
            .await;
    });
}

#[test]
fn a_table_is_walked_by_keyboard() {
    with_page("keyboard", async |page| {
        page.open_sample().await;
        page.go("#/kernels").await;
        page.find("[id^=kernel_summary-]").await;
        press(page, "table.sheet", &[Key::Down, Key::Down]).await;
        page.wait_for("document.querySelector('tbody tr[aria-selected=true]')?.matches('[aria-rowindex=\"3\"]')")
            .await;
        page.find("[data-testid=op-details] dl").await;
        assert!(page.hash().await.contains("row="));
        press(page, "table.sheet", &[Key::Escape]).await;
        page.wait_for("!document.querySelector('tbody tr[aria-selected=true]')")
            .await;
    });
}

#[test]
fn the_tree_opens_closes_and_is_searched() {
    with_page("tree", async |page| {
        page.drop_file("tree.json", &kernels(&[30, 20])).await;
        page.wait_until_shown(1).await;
        page.go("#/tree").await;
        page.find("[id^=node-]").await;
        let rows = "document.querySelectorAll('tbody tr[id]').length";

        page.click("#close-all").await;
        let closed = page.wait_for(&format!("{rows} === 1 && {rows}")).await;
        press(page, "table.tree", &[Key::Home, Key::Right]).await;
        page.wait_for(&format!("{rows} > {closed}")).await;
        press(page, "table.tree", &[Key::Left]).await;
        page.wait_for(&format!("{rows} === {closed}")).await;

        page.find("#search")
            .await
            .send_keys("cudaLaunch")
            .await
            .unwrap();
        page.wait_for("document.querySelector('[data-testid=matches]').textContent === '1 of 2'")
            .await;
        page.click("#find-next").await;
        page.wait_for("document.querySelector('[data-testid=matches]').textContent === '2 of 2'")
            .await;
    });
}

#[test]
fn the_system_view_says_why_the_gpu_idles_and_leads_into_the_tree() {
    with_page("system", async |page| {
        page.open_sample().await;
        // A finding about the system leads here.
        page.click("[data-testid=finding] [data-to=system]").await;
        let headline = page.text("[data-testid=system-headline]").await;
        assert!(headline.starts_with("The GPU is idle "), "{headline}");
        assert!(
            headline.ends_with("mostly waiting for data loading."),
            "{headline}"
        );
        let sections = page
            .js(
                "return [...document.querySelectorAll('[data-section]')].map(section => [section.dataset.section, !!section.querySelector('[data-testid=missing]')])",
                vec![],
            )
            .await;
        assert_eq!(
            sections,
            json!([["idle", false], ["communication", false], ["copies", false]])
        );
        let longest = page.text("[data-testid=gaps] li:first-child").await;
        assert!(longest.contains("aten::copy_"), "{longest}");
        page.click("[data-testid=gaps] li:first-child [data-to=tree]")
            .await;
        page.wait_for("document.querySelector('tbody tr[aria-selected=true]')?.textContent.includes('cudaMemcpyAsync')")
            .await;
        // One trace of kernels has neither copies nor communication.
        page.drop_file("kernels.json", &kernels(&[30, 20])).await;
        page.wait_until_shown(2).await;
        page.go("#/system").await;
        page.wait_for("document.querySelectorAll('[data-testid=missing]').length === 2")
            .await;
    });
}

#[test]
fn another_gpu_judges_anew() {
    with_page("gpu", async |page| {
        page.open_sample().await;
        let before = page.text("[data-testid=this-gpu]").await;
        page.js(
            "const select = document.querySelector('#gpu');
             select.value = [...select.options].find(option => option.text.includes('MI300X')).value;
             select.dispatchEvent(new Event('change', { bubbles: true }));",
            vec![],
        )
        .await;
        page.wait_for(
            "document.querySelector('[data-testid=this-gpu]').innerText.includes('MI300X')",
        )
        .await;
        assert_ne!(page.text("[data-testid=this-gpu]").await, before);
        assert!(page.hash().await.contains("gpu="));
        // The trace was not read again.
        let loads = page
            .js("return document.documentElement.dataset.ready", vec![])
            .await;
        assert_eq!(loads, json!("1"));
    });
}

#[test]
fn a_user_may_bring_figures_of_a_gpu() {
    with_page("own-gpu", async |page| {
        page.open_sample().await;
        let enter = "const select = document.querySelector('#gpu');
             select.value = [...select.options].find(option => option.text === 'Enter values…').value;
             select.dispatchEvent(new Event('change', { bubbles: true }));";
        page.js(enter, vec![]).await;
        page.wait_for("document.querySelector('#gpu-dialog').open")
            .await;
        page.find("#gpu-name")
            .await
            .send_keys("Mine")
            .await
            .unwrap();
        page.find("#gpu-matrix_bf16")
            .await
            .send_keys("500")
            .await
            .unwrap();
        page.click("#gpu-use").await;
        page.wait_for("document.querySelector('#gpu-error').textContent.startsWith('Memory bandwidth is missing')")
            .await;
        page.find("#gpu-mem_bw_gbps")
            .await
            .send_keys("2500")
            .await
            .unwrap();
        page.click("#gpu-use").await;
        page.wait_for("!document.querySelector('#gpu-dialog').open")
            .await;
        let shows = |what: &str| {
            format!("document.querySelector('[data-testid=this-gpu]').innerText.includes('{what}')")
        };
        page.wait_for(&shows("Mine")).await;
        page.wait_for(&shows("2.50")).await;
        page.click("#basis-peak").await;
        let hash = page.hash().await;
        assert!(
            hash.contains("gpu=own:Mine") && !hash.contains("500"),
            "{hash}"
        );
        // Nothing is kept unless the user asks.
        let kept = "return localStorage.length";
        assert_eq!(page.js(kept, vec![]).await, json!(0));
        // A link to figures that are not here says so, and the report stands all the same.
        page.go("#/overview?gpu=own:Other").await;
        let missing = "document.querySelector('#gpu-missing')?.textContent.includes('Other')";
        page.wait_for(missing).await;
        page.wait_for(&shows("H100")).await;
    });
}

#[test]
fn a_user_may_bring_performance_models() {
    with_page("own-models", async |page| {
        page.load("#/?gpu=NVIDIA%20H100%20SXM").await;
        page.drop_file("slow.json", &slow_product(&[])).await;
        page.wait_until_shown(1).await;
        let badge = "(document.querySelector('#models-button .badge')?.textContent ?? '')";
        let open = "document.querySelector('#models-dialog').open";
        let error = "document.querySelector('#models-error').textContent";

        // A file that is dropped on an open trace, with a mistake in it.
        let model = "[[model]]\nop = \"aten::*\"\nbytes = \"1000000\"\nprecision = \"fp32\"\n";
        page.drop_file("mine.toml", &format!("{model}flops = \"2*hiden\"\n"))
            .await;
        page.wait_for(&format!(
            "{open} && {error}.includes('line 5') && {error}.includes('hiden')"
        ))
        .await;
        assert_eq!(page.js(&format!("return {badge}"), vec![]).await, json!(""));

        page.drop_file("mine.toml", &format!("{model}flops = \"1e6\"\n"))
            .await;
        page.wait_for(&format!("{badge}.startsWith('1')")).await;
        page.wait_for(
            "document.querySelector('[data-testid=models-in-use] [role=status]').textContent.includes('1 operation,')",
        )
        .await;
        assert_eq!(page.js(&format!("return {error}"), vec![]).await, json!(""));
        // A bad file after a good one: the good one stays.
        page.drop_file("worse.toml", "[[model]]").await;
        page.wait_for(&format!("{error}.includes('worse.toml is not used')"))
            .await;
        assert_eq!(
            page.js(&format!("return {badge}.startsWith('1')"), vec![])
                .await,
            json!(true)
        );
        page.screenshot("models.png").await;
        page.click("#models-dialog header button").await;
        page.wait_for(&format!("!{open}")).await;

        // Nothing of it stands in the address. One operation a byte is bound by memory, and the
        // product of matrices that it is by arithmetic.
        assert!(!page.hash().await.contains("model"));
        page.go("#/operations?gpu=NVIDIA%20H100%20SXM").await;
        let shows = "[...document.querySelectorAll('table.sheet td')].some(cell => cell.textContent === 'memory')";
        page.wait_for(shows).await;
        page.click("#models-button").await;
        page.click("#models-remove").await;
        page.wait_for(&format!("!{shows}")).await;
        assert_eq!(page.js(&format!("return {badge}"), vec![]).await, json!(""));
    });
}

#[test]
fn an_operation_can_be_had_as_a_program() {
    with_page("reproduce", async |page| {
        page.drop_file("slow.json", &slow_product(&["my::op"]))
            .await;
        page.wait_until_shown(1).await;
        page.go("#/operations?row=0").await;
        page.click("#reproduce").await;
        let file = page.chromium.downloads.join("replay_aten_mm.zip");
        for _ in 0..200 {
            if file.is_file() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert!(std::fs::read(&file).unwrap().starts_with(b"PK"));
        // Its arguments were not recorded.
        page.go("#/operations?row=1").await;
        page.wait_for("document.querySelector('[data-testid=reproduce]')?.textContent.startsWith('No reproducer: ')")
            .await;
    });
}

#[test]
fn unlinked_gpu_work_counts_on_request() {
    with_page("unlinked", async |page| {
        let trace = unlinked();
        page.drop_file("unlinked.json", &trace).await;
        page.wait_until_shown(1).await;
        assert_eq!(page.text("[data-testid=headline]").await, headline(&trace));
        page.click("#events-all").await;
        let unlike = format!(
            "document.querySelector('[data-testid=headline]').innerText !== {}",
            json!(headline(&trace))
        );
        page.wait_for(&unlike).await;
        assert!(page.hash().await.contains("events=all"));
    });
}

#[test]
fn a_trace_of_the_host_alone_is_shown() {
    with_page("host", async |page| {
        let trace = host_only();
        page.drop_file("host.json", &trace).await;
        page.wait_until_shown(1).await;
        assert_eq!(page.text("[data-testid=headline]").await, headline(&trace));
        let quality = page.text("[data-testid=quality]").await;
        assert!(
            quality.contains("No GPU activity was recorded"),
            "{quality}"
        );
        // Every view has something to show, or says why not.
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
        page.drop_file("none.json", &trace("")).await;
        page.wait_until_shown(1).await;
        assert_eq!(
            page.text("[data-testid=headline]").await,
            headline(&trace(""))
        );
        page.screenshot("no-events.png").await;
    });
}

#[test]
fn a_long_table_draws_only_what_is_seen() {
    with_page("long", async |page| {
        page.drop_file("long.json", &many_operations(5_000)).await;
        page.wait_until_shown(1).await;
        page.go("#/operations").await;
        page.find("tbody tr[id]").await;
        let count = "document.querySelector('[data-testid=count]').textContent.replace(/\\D/g, '') === '5000'";
        page.wait_for(count).await;
        let rows = page
            .js(
                "return document.querySelectorAll('tbody tr').length",
                vec![],
            )
            .await;
        assert!(rows.as_u64().unwrap() < 300, "{rows} rows are drawn");
        press(page, "table.sheet", &[Key::End]).await;
        page.wait_for("!!document.querySelector('tr[id][aria-rowindex=\"5001\"]')")
            .await;
        let last = page
            .js(
                "return document.querySelectorAll('tbody tr').length",
                vec![],
            )
            .await;
        assert!(last.as_u64().unwrap() < 300, "{last} rows are drawn");
    });
}

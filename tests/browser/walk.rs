//! From a file to the conclusion and to its evidence: finding, details, row, tree, timeline, and back. Once by mouse,
//! once by keyboard alone.

use serde_json::json;
use thirtyfour::prelude::*;

use super::page::{Page, with_page};
use super::traces::slow_product_in_python;

/// The links in order: what is activated, and the start of the resulting address.
const WAY: [(&str, &str); 4] = [
    (FINDING, "#/?story="),
    (
        "#op-details .op-details-links :is([data-to=operations], [data-to=kernels])",
        "#/",
    ),
    ("#op-details .op-details-links [data-to=tree]", "#/tree?"),
    (".details [data-to=timeline]", "#/timeline?event="),
];

/// The evidence of the finding that was opened; the first one, about idle time, is open from the start.
pub(super) const FINDING: &str =
    "[data-testid=finding][open] ~ [data-testid=finding][open] [data-to=op-details]";

/// A finding about operations, before it is opened.
pub(super) const FOLDED: &str =
    "[data-testid=finding]:not([open]):has([data-to=op-details]) > summary";

/// Waits until the address starts with a text and differs from the previous one.
async fn arrive(page: &Page, begins: &str, before: &str) -> String {
    page.wait_for(&format!(
        "location.hash.startsWith({}) && location.hash !== {}",
        json!(begins),
        json!(before)
    ))
    .await;
    page.hash().await
}

/// Goes back with the browser's button: timeline, tree, table, finding with its details, findings.
async fn go_back(page: &Page) {
    let driver = &page.chromium.driver;
    driver.back().await.unwrap();
    page.wait_for("location.hash.startsWith('#/tree') && !!$('tbody tr[aria-selected=true]')")
        .await;
    driver.back().await.unwrap();
    page.wait_for(
        "/^#.(operations|kernels)/.test(location.hash) && !!$('tbody tr[aria-selected=true]')",
    )
    .await;
    page.find("#op-details").await;
    driver.back().await.unwrap();
    page.wait_for("location.hash.startsWith('#/?story=') && !!$('#op-details')")
        .await;
    driver.back().await.unwrap();
    page.wait_for("!$('#op-details')").await;
    page.find(FINDING).await;
}

#[test]
fn by_mouse() {
    with_page("walk-mouse", async |page| {
        page.open_sample().await;
        let mut hash = page.hash().await;
        page.click(FOLDED).await;
        for (css, begins) in WAY {
            page.click(css).await;
            hash = arrive(page, begins, &hash).await;
        }
        page.wait_for("$('#lanes') && !!$('[data-testid=details].some')")
            .await;
        go_back(page).await;
    });
}

#[test]
fn back_leads_to_where_a_view_was_left() {
    with_page("walk-scrolled", async |page| {
        page.open_sample().await;
        page.resize(1000, 500).await;
        let link = "[data-testid=finding][open] .evidence [data-to=timeline]";
        page.find(link).await;
        page.js(&format!(
            "$('{link}').scrollIntoView({{ block: 'center' }}); window.left = $('main').scrollTop;"
        ))
        .await;
        page.click(link).await;
        page.wait_hash("#/timeline").await;
        page.js("history.back()").await;
        page.wait_for(&format!(
            "window.left > 0 && $('main').scrollTop === window.left && document.activeElement === $('{link}')"
        ))
        .await;
    });
}

/// Tabs to an element, and presses Enter.
async fn enter(page: &Page, css: &str) {
    /// The most tab stops that are acceptable for a keyboard user.
    const STOPS: usize = 60;
    page.find(css).await;
    let is_there = format!("document.activeElement.matches({})", json!(css));
    for _ in 0..STOPS {
        if page.value(&is_there).await {
            return page.press(Key::Enter).await;
        }
        page.press(Key::Tab).await;
    }
    panic!("{css} is more than {STOPS} stops away");
}

#[test]
fn by_keyboard_alone() {
    with_page("walk-keys", async |page| {
        enter(page, "#open-sample").await;
        page.wait_until_shown(1).await;
        let mut hash = page.hash().await;
        let [finding, row, tree, timeline] = WAY;
        enter(page, FOLDED).await;
        enter(page, finding.0).await;
        hash = arrive(page, finding.1, &hash).await;
        page.wait_for("document.activeElement.id === 'op-details'")
            .await;
        enter(page, row.0).await;
        hash = arrive(page, row.1, &hash).await;
        // The row is selected, and arrow keys would continue from it; Enter moves into its details.
        page.wait_for(
            "document.activeElement.matches('table.sheet') && !!$('tbody tr[aria-selected=true]')",
        )
        .await;
        page.press(Key::Enter).await;
        page.wait_for("document.activeElement.id === 'op-details'")
            .await;
        enter(page, tree.0).await;
        hash = arrive(page, tree.1, &hash).await;
        page.wait_for("document.activeElement.matches('table.tree')")
            .await;
        enter(page, timeline.0).await;
        arrive(page, timeline.1, &hash).await;
        page.wait_for("document.activeElement.id === 'lanes'").await;
        go_back(page).await;
    });
}

/// What a new user wants to see, the clicks to get there from the Overview, and the condition that then holds.
type Wanted = (&'static str, &'static [&'static str], &'static str);

/// For the sample.
#[rustfmt::skip]
const WANTED: &[Wanted] = &[
    ("the best finding", &[], "!!$('[data-testid=finding][open] .advice')"),
    ("the place in the timeline", &[WORK, "#op-details [data-to=timeline]"], "!!$('main[data-view=timeline] [data-testid=details].some')"),
    ("why the GPU is idle", &["[data-nav=system]"], "/CPU|launch/i.test($('[data-testid=system]')?.innerText ?? '')"),
    ("one step alone", &["[data-testid=step-bars] .bar"], "!!$('#window')"),
];

/// For a GEMM called from Python.
#[rustfmt::skip]
const WANTED_OF_PYTHON: &[Wanted] = &[
    ("a line of Python", &[WORK], r"/\bmodel\.py\b/.test($('#op-details')?.innerText ?? '')"),
    ("code that reproduces it", &[WORK, "#copy-python button"], "/Copied/.test($('#copy-python')?.innerText ?? '')"),
];

/// The operation of a finding.
const WORK: &str = "[data-testid=finding][open] [data-to=op-details]";

#[test]
fn a_new_user_needs_few_clicks() {
    with_page("clicks", async |page| {
        page.open_sample().await;
        // There, the first finding is about idle time, the next one about operations.
        page.click(FOLDED).await;
        few_clicks(page, "#/overview", WANTED).await;
        page.open("python.json", &slow_product_in_python()).await;
        few_clicks(page, "#/overview?gpu=NVIDIA%20H100%20SXM", WANTED_OF_PYTHON).await;
    });
}

async fn few_clicks(page: &Page, overview: &str, wanted: &[Wanted]) {
    for (wanted, clicks, is_seen) in wanted {
        eprintln!("{wanted}");
        page.go(overview).await;
        page.wait_for("!$('#op-details') && !!$('[data-testid=findings]')")
            .await;
        for css in *clicks {
            page.click(css).await;
        }
        page.wait_for(is_seen).await;
    }
}

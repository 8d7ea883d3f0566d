//! The screenshots of `docs/guide.md`, taken of the page with the built-in sample: `cargo xtask screenshots` builds the
//! page and calls this.
//!
//! To add one: a row of [`PICTURES`].

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers, which says what it writes and stops where it cannot go on"
)]

#[path = "../browser/chromium.rs"]
#[allow(
    dead_code,
    reason = "shared with the browser tests, which use more of it"
)]
mod chromium;
#[path = "../browser/page/mod.rs"]
#[allow(
    dead_code,
    reason = "shared with the browser tests, which use more of it"
)]
mod page;
#[path = "../browser/pool.rs"]
mod pool;
#[path = "../support/skipped.rs"]
#[allow(
    dead_code,
    clippy::print_stderr,
    reason = "shared with the tests, which use more of it and say on standard error what they skip"
)]
mod skipped;
#[path = "../support/slower.rs"]
mod slower;

/// At the path where `page` expects it.
mod support {
    pub(crate) use super::skipped;
}

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dormer_core::sample;
use page::{Page, with_page};
use serde_json::json;
use slower::slower;

/// Width and height in CSS pixels.
const SIZE: (u32, u32) = (1280, 800);
/// Quality of the compressed screenshots: text stays sharp, and each is about 50 KB.
const QUALITY: u32 = 84;
/// The kernels that are slower in the second trace, and the factor.
const SLOWER: (&str, f64) = ("nvjet", 1.25);

#[derive(PartialEq)]
enum Open {
    Nothing,
    Sample,
    Two,
}

struct Picture {
    name: &'static str,
    open: Open,
    hash: &'static str,
    /// An element that exists once the view is drawn.
    mark: &'static str,
    /// A script to run then; its result is awaited.
    script: &'static str,
}

#[rustfmt::skip]
const PICTURES: &[Picture] = &[
    Picture { name: "start", open: Open::Nothing, hash: "#/", mark: "[data-testid=empty]", script: "" },
    Picture { name: "overview", open: Open::Sample, hash: "#/overview", mark: "[data-testid=headline]", script: "" },
    Picture { name: "report", open: Open::Sample, hash: "#/report", mark: "[data-testid=report]", script: "" },
    Picture { name: "operation", open: Open::Sample, hash: "#/operations", mark: "[id^=unified_perf_summary-]", script: "
        $('[id^=unified_perf_summary-]').click();" },
    Picture { name: "roofline", open: Open::Sample, hash: "#/roofline", mark: "#roofline-chart circle", script: "" },
    Picture { name: "tree", open: Open::Sample, hash: "#/tree", mark: "[id^=node-]", script: "
        $('#hottest').click();" },
    Picture { name: "flame", open: Open::Sample, hash: "#/tree", mark: "[id^=node-]", script: "
        $('#drawing-flame').click();" },
    Picture { name: "timeline", open: Open::Sample, hash: "#/timeline", mark: "#step", script: "
        const steps = $('#step');
        steps.value = [...steps.options].find(step => step.text.startsWith('ProfilerStep')).value;
        steps.dispatchEvent(new Event('change', { bubbles: true }));" },
    Picture { name: "system", open: Open::Sample, hash: "#/system", mark: "[data-testid=system]", script: "" },
    Picture { name: "compare", open: Open::Two, hash: "#/compare", mark: "[data-testid=compare]", script: "" },
    Picture { name: "trees", open: Open::Two, hash: "#/compare", mark: "#table-compare_tree", script: "
        const trees = $('#table-compare_tree');
        trees.click();
        trees.scrollIntoView({ block: 'start' });" },
    Picture { name: "export", open: Open::Sample, hash: "#/export", mark: "[data-testid=artifacts]", script: "" },
    Picture { name: "palette", open: Open::Sample, hash: "#/overview?theme=dark", mark: "[data-testid=headline]", script: "
        dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));" },
];

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide");
    std::fs::create_dir_all(&folder).unwrap();
    let (name, factor) = SLOWER;
    let (second, _) = slower(sample::TRACE, name, factor).unwrap();
    with_page("guide", async |page| {
        page.resize(SIZE.0, SIZE.1).await;
        for picture in PICTURES {
            page.load("#/?theme=light").await;
            if picture.open != Open::Nothing {
                page.open_sample().await;
            }
            if picture.open == Open::Two {
                drop_second(page, &second).await;
            }
            page.go(picture.hash).await;
            page.find(picture.mark).await;
            page.wait_for("!$('.coming')").await;
            page.js(picture.script).await;
            // Answers come from the worker, and canvases are drawn in a separate frame.
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let file = folder.join(format!("{}.webp", picture.name));
            let bytes = photograph(page).await;
            println!("{} ({} KB)", file.display(), bytes.len() / 1000);
            std::fs::write(file, bytes).unwrap();
        }
    });
}

/// Opens a second trace to compare with the first one.
async fn drop_second(page: &Page, trace: &str) {
    page.drop_reference("slower.json", trace).await;
    page.find("[data-testid=compare]").await;
    // A file dropped there is the reference, but the slower one should be the target. By script, because the header is
    // redrawn while the comparison loads.
    page.js("$('#swap').click()").await;
    page.wait_text("[data-testid=compare-headline]", "+").await;
}

/// A screenshot as WebP.
async fn photograph(page: &Page) -> Vec<u8> {
    let tools = page.chromium.driver.cdp();
    let options = json!({"format": "webp", "quality": QUALITY});
    let command = tools.send_raw("Page.captureScreenshot", options);
    let picture = command.await.unwrap();
    let text = picture["data"].as_str().unwrap_or_default();
    BASE64_STANDARD.decode(text).unwrap()
}

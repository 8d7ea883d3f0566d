//! Findings: the cards of the Overview, their links, the documents, the thresholds.

use dormer_core::hardware;
use serde_json::json;
use thirtyfour::prelude::*;

use super::page::{Page, with_page};
use super::traces::{host_only, slow_product};
use crate::support::opened::{profile, report_on};

/// Part of the hash: the GPU used for the findings.
fn on_h100() -> String {
    format!(
        "gpu={}",
        hardware::find("H100").unwrap().name.replace(' ', "%20")
    )
}

/// The title of the first finding on an H100, as in the report.
fn first_title(trace: &str) -> String {
    let profile = profile(trace);
    let report = report_on(&profile, hardware::find("H100"));
    let ranked = &report.analyses.findings.ranked;
    ranked[0].finding.title.clone()
}

/// Opens a trace with an H100 as the GPU.
async fn open(page: &mut Page, trace: &str) {
    page.load(&format!("#/?{}", on_h100())).await;
    page.open("slow.json", trace).await;
}

#[test]
fn the_first_finding_says_what_to_do_and_leads_to_its_evidence() {
    with_page("findings", async |page| {
        let trace = slow_product(&[]);
        open(page, &trace).await;
        let card = "[data-testid=finding]:first-child";
        for part in [
            &*first_title(&trace),
            "Severity:",
            "Model:",
            "Kernel:",
            "of the run",
        ] {
            page.text_when(card, |text| text.contains(part)).await;
        }
        page.click(&format!("{card} [data-to=op-details]")).await;
        page.click(".op-details-links [data-to=operations]").await;
        page.wait_text("tbody tr[aria-selected=true]", "aten::mm")
            .await;
        page.go(&format!("#/?{}", on_h100())).await;
        page.click(&format!("{card} [data-to=tree]")).await;
        page.wait_text("tbody tr[aria-selected=true]", "aten::mm")
            .await;
        page.go(&format!("#/?{}", on_h100())).await;
        // It folds, and stays folded when another GPU is chosen.
        page.click(&format!("{card} summary")).await;
        page.wait_for(&format!("!$('{card}').open")).await;
        let h200 = hardware::find("H200").unwrap().name.replace(' ', "%20");
        page.go(&format!("#/?gpu={h200}")).await;
        page.wait_text("[data-testid=this-gpu]", "H200").await;
        page.wait_for(&format!("!$('{card}')?.open")).await;
    });
}

#[test]
fn where_there_is_nothing_to_do_the_page_says_why() {
    with_page("nothing", async |page| {
        page.open("slow.json", &slow_product(&[])).await;
        page.wait_text("[data-testid=findings]", "Choose a GPU")
            .await;
        page.act("$$('button').find(one => one.textContent === 'Choose a GPU').click()")
            .await;
        page.wait_for("document.activeElement.id === 'gpu'").await;
        page.open("host.json", &host_only()).await;
        page.wait_text(
            "[data-testid=nothing-found]",
            "No GPU activity was recorded",
        )
        .await;
        // An empty trace says once what to record.
        page.open("empty.json", r#"{"traceEvents": []}"#).await;
        page.wait_text("[data-testid=quality]", "Record with").await;
        page.wait_for("!$('[data-testid=findings], [data-testid=this-gpu]')")
            .await;
    });
}

#[test]
fn a_report_is_walked_by_its_headings() {
    with_page("report", async |page| {
        // A name that would be a link if names were markup.
        let name = "[click](#executive-summary)";
        open(page, &slow_product(&[name])).await;
        page.click("[data-nav=report]").await;
        page.find("[data-testid=report] h2").await;
        let hash = page.hash().await;
        let in_sight = |id: &str| {
            format!(
                "document.activeElement.id === '{id}' && document.activeElement.getBoundingClientRect().top < innerHeight"
            )
        };
        page.click("[data-slug=appendix]").await;
        page.wait_for(&in_sight("h-appendix")).await;
        page.click("[data-testid=report] a").await;
        page.wait_for("document.activeElement.id.startsWith('h-p1-')")
            .await;
        assert_eq!(page.hash().await, hash);
        let links = "$$('[data-testid=report] a').map(link => link.textContent).filter(text => text !== 'Details')";
        // Links to the finding's evidence are ours; the name that looks like one is text.
        let of_idle_time = ["sgemm_128x64", "Call tree", "Timeline"];
        let of_product = ["aten::mm", "First call"];
        page.wait_value(links, json!([&of_idle_time[..], &of_product[..]].concat()))
            .await;

        page.click("#report-rough").await;
        page.wait_for("$('[data-testid=report] h1').textContent.endsWith('(Rough)')")
            .await;
        page.wait_hash("table=rough").await;
        page.click("#report-").await;
        page.wait_for("!$('[data-testid=report] h1').textContent.endsWith('(Rough)')")
            .await;
        // From a card to its section in the report.
        page.go(&format!("#/?{}", on_h100())).await;
        page.click("[data-testid=finding] .body .fine a").await;
        page.wait_for("document.activeElement.id.startsWith('h-p1-')")
            .await;
    });
}

#[test]
fn a_threshold_is_changed_and_put_back() {
    with_page("thresholds", async |page| {
        let severity =
            |word: &str| format!("$('[data-testid=finding] .severity')?.textContent === '{word}'");
        let trace = slow_product(&[]);
        open(page, &trace).await;
        page.wait_for(&severity("Critical")).await;
        page.click("#thresholds-button").await;
        page.click("#thresholds [data-group=Priority] summary")
            .await;
        let input = "#threshold-critical_efficiency_percent";
        page.enter(input, Key::Control + "a").await;
        page.enter(input, "0" + Key::Enter).await;
        page.wait_for(&severity("High")).await;
        page.wait_hash("t.critical_efficiency_percent=0").await;
        page.text_when(".side .badge", |count| count.starts_with('1'))
            .await;
        // Invalid input changes nothing.
        page.enter(input, Key::Control + "a").await;
        page.enter(input, "-5" + Key::Enter).await;
        page.wait_for(&format!("$('{input}').value === '0'")).await;
        page.click("#thresholds .threshold.changed button").await;
        page.wait_for(&severity("Critical")).await;
        page.wait_for("!location.hash.includes('t.')").await;

        // The address restores it, and all are reset at once.
        page.load(&format!("#/?{}&t.critical_efficiency_percent=0", on_h100()))
            .await;
        page.open("slow.json", &trace).await;
        page.wait_for(&severity("High")).await;
        page.click("#thresholds-button").await;
        page.click("#reset-thresholds").await;
        page.wait_for(&severity("Critical")).await;
    });
}

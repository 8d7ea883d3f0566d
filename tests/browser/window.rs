//! A part of the time that is analyzed alone.

use serde_json::Value;

use super::page::with_page;

const HEADLINE: &str = "$('[data-testid=headline]').innerText";

#[test]
fn a_step_of_the_table_is_analysed_alone() {
    with_page("steps", async |page| {
        page.open_sample().await;
        page.click("[data-nav=steps]").await;
        page.click(".step-times tbody tr:nth-child(2) button").await;
        let chip = page.text("#window").await;
        assert!(chip.starts_with("Showing only Step "), "{chip}");
        page.find(".step-times tr:nth-child(2)[aria-current]").await;
    });
}

#[test]
fn a_step_is_analysed_alone_and_the_whole_again() {
    with_page("window", async |page| {
        page.open_sample().await;
        let whole: Value = page.value(HEADLINE).await;
        page.click("[data-nav=timeline]").await;
        page.choose_option("#step", "ProfilerStep").await;
        let button = page.find("#analyze-range").await;
        assert_eq!(button.text().await.unwrap(), "Analyze this step");
        page.click("#analyze-range").await;
        let chip = page.text("#window").await;
        assert!(chip.starts_with("Showing only Step "), "{chip}");
        // The timeline goes on showing all of the trace.
        page.wait_text("[data-testid=timeline-lead]", "is analyzed")
            .await;

        page.click("[data-nav=overview]").await;
        let differs = format!("{HEADLINE} !== {whole}");
        page.wait_for(&differs).await;
        let of_step: Value = page.value(HEADLINE).await;
        page.wait_hash("window=").await;
        page.click("[data-nav=report]").await;
        page.wait_text("main", "after the trace begins").await;

        // The same address and the same file show the same.
        page.click("[data-nav=overview]").await;
        let hash = page.hash().await;
        page.load(&hash).await;
        page.open_sample().await;
        page.wait_for(&format!("{HEADLINE} === {of_step}")).await;
        assert_eq!(page.text("#window").await, chip);

        page.click("#whole-trace").await;
        let same = format!("{HEADLINE} === {whole}");
        page.wait_for(&same).await;
        page.wait_for("!$('#window')").await;
        page.wait_for("!location.hash.includes('window=')").await;
    });
}

#[test]
fn the_palette_analyses_a_step_and_the_whole() {
    with_page("window-palette", async |page| {
        page.open_sample().await;
        page.command("analyze profilerstep", "Analyze").await;
        page.find("#window").await;
        page.command("analyze whole", "Analyze").await;
        page.wait_for("!$('#window')").await;
    });
}

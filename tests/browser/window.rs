//! A part of the time that is analyzed alone.

use thirtyfour::prelude::*;

use super::page::{Page, with_page};

const HEADLINE: &str = "document.querySelector('[data-testid=headline]').innerText";

/// Chooses a step of the timeline's list.
async fn choose_step(page: &Page, position: u32) {
    let script = format!(
        "const list = document.querySelector('#step');
         list.value = '{position}';
         list.dispatchEvent(new Event('change', {{ bubbles: true }}));"
    );
    page.find("#step").await;
    page.js(&script, vec![]).await;
}

#[test]
fn a_step_of_the_table_is_analysed_alone() {
    with_page("steps", async |page| {
        page.open_sample().await;
        page.click("[data-nav=steps]").await;
        page.click(".steps tbody tr:nth-child(2) button").await;
        let chip = page.text("#window").await;
        assert!(chip.starts_with("Showing only Step "), "{chip}");
        page.find(".steps tr:nth-child(2)[aria-current]").await;
    });
}

#[test]
fn a_step_is_analysed_alone_and_the_whole_again() {
    with_page("window", async |page| {
        page.open_sample().await;
        let read = format!("return {HEADLINE}");
        let whole = page.js(&read, vec![]).await;
        page.click("[data-nav=timeline]").await;
        choose_step(page, 0).await;
        let button = page.find("#analyze-range").await;
        assert_eq!(button.text().await.unwrap(), "Analyze this step");
        page.click("#analyze-range").await;
        let chip = page.text("#window").await;
        assert!(chip.starts_with("Showing only Step "), "{chip}");
        // The timeline goes on showing all of the trace.
        page.wait_for(
            "document.querySelector('[data-testid=timeline-lead]').innerText.includes('is analyzed')",
        )
        .await;

        page.click("[data-nav=overview]").await;
        let differs = format!("{HEADLINE} !== {whole}");
        page.wait_for(&differs).await;
        let of_step = page.js(&read, vec![]).await;
        page.wait_for("location.hash.includes('window=')").await;
        page.click("[data-nav=report]").await;
        page.wait_for(
            "document.querySelector('main').innerText.includes('after the trace begins')",
        )
        .await;

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
        page.wait_for("!document.querySelector('#window')").await;
        page.wait_for("!location.hash.includes('window=')").await;
    });
}

#[test]
fn the_palette_analyses_a_step_and_the_whole() {
    with_page("window-palette", async |page| {
        page.open_sample().await;
        let choose = async |text: &str| {
            let body = page.find("body").await;
            body.send_keys(Key::Control + "k").await.unwrap();
            let field = page.find("#palette[open] input").await;
            field.send_keys(text).await.unwrap();
            page.wait_for(
                "document.querySelector('#palette-0 .what')?.innerText.startsWith('Analyze')",
            )
            .await;
            field.send_keys(Key::Enter + "").await.unwrap();
        };
        choose("analyze profilerstep").await;
        page.find("#window").await;
        choose("analyze whole").await;
        page.wait_for("!document.querySelector('#window')").await;
    });
}

//! Analyzing only a time range.

use dormer_core::testing::Timetable;
use serde_json::Value;

use super::page::with_page;

/// Whether the text about the time range says that it is a step.
fn of_step(chip: &str) -> bool {
    chip.starts_with("Showing only Step ")
}

const HEADLINE: &str = "$('[data-testid=headline]').innerText";

#[test]
fn a_step_of_the_table_is_analyzed_alone() {
    with_page("steps", async |page| {
        page.open_sample().await;
        page.click("[data-nav=steps]").await;
        page.click(".step-times tbody tr:nth-child(2) button").await;
        page.text_when("#window", of_step).await;
        page.find(".step-times tr:nth-child(2)[aria-current]").await;
    });
}

#[test]
fn a_step_is_analyzed_alone_and_the_whole_again() {
    with_page("window", async |page| {
        page.open_sample().await;
        let whole: Value = page.value(HEADLINE).await;
        page.click("[data-nav=timeline]").await;
        page.choose_option("#step", "ProfilerStep").await;
        page.wait_says("#analyze-range", "Analyze this step").await;
        page.click("#analyze-range").await;
        let chip = page.text_when("#window", of_step).await;
        // The timeline still shows the whole trace.
        page.wait_text("[data-testid=timeline-lead]", "is analyzed")
            .await;

        page.click("[data-nav=overview]").await;
        let differs = format!("{HEADLINE} !== {whole}");
        page.wait_for(&differs).await;
        let alone: Value = page.value(HEADLINE).await;
        page.wait_hash("window=").await;
        page.click("[data-nav=report]").await;
        page.wait_text("main", "after the trace begins").await;

        // The same address with the same file shows the same.
        page.click("[data-nav=overview]").await;
        let hash = page.hash().await;
        page.load(&hash).await;
        page.open_sample().await;
        page.wait_for(&format!("{HEADLINE} === {alone}")).await;
        page.wait_says("#window", &chip).await;

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

#[test]
fn a_bar_of_the_overview_is_analyzed_alone_or_a_range_of_them() {
    with_page("step-bars", async |page| {
        page.open_sample().await;
        page.find("[data-testid=step-bars] #step-bar-0").await;
        let n = page
            .value::<u32>("$$('[data-testid=step-bars] .bar').length")
            .await;
        assert!(n > 1);
        page.click("#step-bar-0").await;
        page.wait_text("#window", "Showing only Step ").await;
        page.wait_for("$$('.step-bars .bar[aria-pressed=true]').length === 1")
            .await;
        page.wait_for("!!$('#step-bar-1')").await;
        page.act(
            "$('#step-bar-1').dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: true }))",
        )
        .await;
        page.wait_for("$$('.step-bars .bar[aria-pressed=true]').length === 2")
            .await;
    });
}

#[test]
fn the_median_of_many_equal_steps_is_offered_and_not_chosen() {
    with_page("median-step", async |page| {
        let step = |trace: Timetable, number: u32| {
            let start = 1000 + number * 100;
            trace
                .annotation(&format!("ProfilerStep#{number}"), start..start + 100)
                .op("aten::mm", start + 2..start + 12)
                .launched(
                    "gemm",
                    start + 4..start + 6,
                    start + 20..start + 60 + number % 2,
                )
        };
        let trace = (1..=8).fold(Timetable::new(), step).json();
        page.open("steps.json", &trace).await;
        page.find("#median-step").await;
        assert!(!page.hash().await.contains("window="));
        page.click("#median-step").await;
        page.wait_hash("window=").await;
    });
}

#[test]
fn one_of_several_gpus_is_analyzed_alone() {
    with_page("gpu-alone", async |page| {
        let trace = Timetable::new()
            .op("aten::mm", 0..10)
            .launched("gemm", 4..6, 30..60)
            .gpu(5)
            .op("aten::add", 12..22)
            .launched("add", 14..16, 40..50);
        page.open("gpus.json", &trace.json()).await;
        page.click("#gpu-alone-1").await;
        page.wait_says("#window", "Showing only GPU 5 (10.0 µs)")
            .await;
        page.wait_hash("device=5").await;
        page.find("#gpu-alone-1[aria-pressed=true]:focus").await;
        // Pressed again, it selects all of them.
        page.click("#gpu-alone-1").await;
        page.wait_for("!$('#window')").await;
        page.command("analyze gpu 0 alone", "Analyze").await;
        page.wait_hash("device=0").await;
        page.click("#whole-trace").await;
        page.wait_for("!location.hash.includes('device=')").await;
    });
}

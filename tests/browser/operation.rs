//! The details of an operation: opened from every view that names one, and the links in it.

use dormer_core::testing::Timetable;
use thirtyfour::prelude::*;

use super::page::{Page, with_page};
use super::walk::{FINDING, FOLDED};

const DETAILS: &str = "[data-testid=op-details]";

/// The subject of the details.
async fn subject(page: &Page) -> String {
    let name = page.wait_for(&format!("$('{DETAILS} h2').innerText")).await;
    name.as_str().unwrap().to_owned()
}

/// Waits until the details have this subject.
async fn wait_for_subject(page: &Page, name: &str) {
    page.wait_value(&format!("$('{DETAILS} h2').innerText"), name)
        .await;
}

const GONE: &str = "!$('[data-testid=op-details]')";

#[test]
fn a_row_of_a_table_and_a_mark_of_the_roofline_have_the_same_details() {
    with_page("details-row", async |page| {
        page.open_sample().await;
        page.go("#/operations").await;
        page.click("#unified_perf_summary-1 td").await;
        let name = subject(page).await;
        for part in [
            "Operation",
            "GPU time",
            "% of GPU time",
            "Kernels",
            "Reproducer",
        ] {
            page.wait_text(DETAILS, part).await;
        }
        // The mark of the same row.
        page.click(&format!("{DETAILS} .op-details-links [data-to=roofline]"))
            .await;
        page.wait_hash("#/roofline").await;
        page.find("#roofline-chart .ring.chosen").await;
        wait_for_subject(page, &name).await;
        page.click("#close-op-details").await;
        page.wait_for(GONE).await;
        // A kernel links to the operations that it is a part of.
        page.go("#/kernels").await;
        page.click("[id^=kernel_summary-] td").await;
        page.find(&format!(
            "{DETAILS} .op-details-operations [data-to=operations]"
        ))
        .await;
    });
}

#[test]
fn a_call_of_the_tree_and_an_event_of_the_timeline_have_stories() {
    with_page("details-event", async |page| {
        page.open_sample().await;
        page.go("#/operations?row=0").await;
        let name = subject(page).await;
        for view in ["tree", "timeline"] {
            page.go("#/operations?row=0").await;
            let way = format!("{DETAILS} .op-details-links [data-to={view}]");
            page.click(&way).await;
            page.wait_hash(&format!("#/{view}")).await;
            page.wait_for(GONE).await;
            page.click("[data-testid=open-op-details]").await;
            page.wait_hash("story=event-").await;
            wait_for_subject(page, &name).await;
            page.click("[data-testid=open-op-details]").await;
            page.wait_for(GONE).await;
        }
    });
}

#[test]
fn a_finding_opens_the_details_of_its_evidence() {
    with_page("details-finding", async |page| {
        page.open_sample().await;
        page.click(FOLDED).await;
        page.click(FINDING).await;
        page.wait_hash("story=").await;
        let name = subject(page).await;
        // It links to the finding, and the report lists the same evidence there.
        page.click(&format!("{DETAILS} .op-details-findings a"))
            .await;
        page.wait_hash("#/report").await;
        page.click("[data-testid=report] [data-to=op-details]")
            .await;
        wait_for_subject(page, &name).await;
        // Back closes it, and then returns to the previous place.
        page.js("history.back()").await;
        page.wait_for(GONE).await;
        page.js("history.back()").await;
        wait_for_subject(page, &name).await;
    });
}

#[test]
fn by_keyboard_the_focus_goes_into_the_details_and_back() {
    with_page("details-keys", async |page| {
        page.open_sample_at("#/operations", "[id^=unified_perf_summary-]")
            .await;
        page.enter("table.sheet", Key::Down).await;
        page.find(DETAILS).await;
        let in_table = "document.activeElement.matches('table.sheet')";
        page.wait_for(in_table).await;
        page.press(Key::Enter).await;
        page.wait_for("document.activeElement.id === 'op-details'")
            .await;
        page.press(Key::Escape).await;
        page.wait_for(GONE).await;
        page.wait_for(in_table).await;
    });
}

#[test]
fn the_details_stand_beside_a_wide_view_and_below_a_narrow_one() {
    with_page("details-place", async |page| {
        page.open_sample().await;
        page.go("#/operations?row=0").await;
        page.find(DETAILS).await;
        let boxes = "const story = $('[data-testid=op-details]').getBoundingClientRect(), main = $('#main').getBoundingClientRect();";
        page.resize(1440, 900).await;
        let to_the_right = format!("(() => {{ {boxes} return story.left >= main.right - 1; }})()");
        page.wait_for(&to_the_right).await;
        for width in [320, 390, 768, 1000] {
            page.resize(width, 900).await;
            let below = format!("(() => {{ {boxes} return story.top >= main.bottom - 1; }})()");
            page.wait_for(&below).await;
            page.wait_value(
                "document.documentElement.scrollWidth - window.innerWidth",
                0,
            )
            .await;
        }
    });
}

#[test]
fn a_table_of_the_details_shows_where_it_goes_on() {
    let kernel = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)";
    let trace = Timetable::new().work("aten::mm", kernel, 100..130).json();
    with_page("details-kernels", async |page| {
        page.open("mm.json", &trace).await;
        page.go("#/operations?row=0").await;
        for width in [320, 390] {
            page.resize(width, 900).await;
            let kernels = "[data-testid=op-details] .wide[aria-label=Kernels]";
            page.find(kernels).await;
            // It overflows its box, which can be focused by keyboard and scrolls.
            page.wait_for(&format!(
                "$('{kernels}').scrollWidth > $('{kernels}').clientWidth + 1"
            ))
            .await;
            page.enter(kernels, Key::Right).await;
            page.wait_for(&format!("$('{kernels}').scrollLeft > 0"))
                .await;
            // Shadows stay at its edges, and the covers over them scroll with the content.
            let moves = format!("getComputedStyle($('{kernels}')).backgroundAttachment");
            page.wait_value(&moves, "local, local, scroll, scroll")
                .await;
            // Truncated names can be read in full.
            page.wait_for(&format!(
                "$$('{kernels} td.mono').every(cell => cell.title.includes('Functor_add'))"
            ))
            .await;
            page.act(&format!("$('{kernels}').scrollLeft = 0")).await;
        }
    });
}

//! The Memory view: the peak, the curve with its figures, what makes up the peak, and its links.

use dormer_core::testing::Timetable;

use super::page::{Page, with_page};

const MB: i64 = 1_000_000;

/// 100 MB from before, 80 MB by `aten::mul` at the peak, two steps, and a kernel.
fn trace() -> String {
    Timetable::new()
        .memory(100 * MB, 240 * MB)
        .annotation("ProfilerStep#1", 0..500)
        .op("aten::mul", 10..400)
        .block(0x20, 80 * MB, 20)
        .launched("mul_kernel", 30..32, 40..400)
        .block(0x20, -80 * MB, 390)
        .annotation("ProfilerStep#2", 500..1000)
        .op("aten::add", 510..900)
        .block(0x30, 20 * MB, 520)
        .launched("add_kernel", 530..532, 540..900)
        .json()
}

async fn open(page: &Page) {
    page.open("memory.json", &trace()).await;
    page.click("[data-nav=memory]").await;
    page.find("[data-testid=memory-headline]").await;
}

#[test]
fn the_peak_is_said_drawn_and_listed() {
    with_page("memory", async |page| {
        open(page).await;
        page.text_when("[data-testid=memory-headline]", |text| {
            text.contains("180 MB")
        })
        .await;
        // Both curves, two steps, and a legend.
        let drawn = "[$$('.memory-chart path').length, $$('.memory-chart rect.step').length]";
        page.wait_for(&format!("String({drawn}) === '4,2'")).await;
        for word in ["In use", "Reserved", "Peak", "2 steps"] {
            page.text_when("[data-testid=memory-legend]", |text| text.contains(word))
                .await;
        }
        page.click("[data-testid=memory-figures] summary").await;
        page.wait_for("$$('[data-testid=memory-figures] tbody tr').length === 20")
            .await;
        for held in ["(before the recording)", "aten::mul"] {
            page.wait_text("[data-testid=memory-device] > .card.flush table", held)
                .await;
        }
    });
}

#[test]
fn an_operator_leads_to_the_call_tree() {
    with_page("memory-tree", async |page| {
        open(page).await;
        page.click("[data-testid=memory-device] a[data-to=tree]")
            .await;
        page.wait_hash("#/tree").await;
        page.wait_text("main", "aten::mul").await;
    });
}

#[test]
fn without_memory_events_the_view_says_how_to_record_them() {
    with_page("memory-none", async |page| {
        page.open("none.json", &super::traces::kernels(&[40, 50]))
            .await;
        page.click("[data-nav=memory]").await;
        page.wait_text("[data-testid=missing]", "profile_memory=True")
            .await;
    });
}

//! What a user can do with the timeline.

use thirtyfour::prelude::*;

use super::page::with_page;
use super::traces::{kernels, product};

/// Whether the middle of the first lane is drawn, below its title.
const IS_DRAWN: &str = "(() => {
    const canvas = $('.lanes .tall canvas');
    if (canvas.width <= 300) return false;
    const dense = canvas.width / canvas.clientWidth;
    const pixel = canvas.getContext('2d').getImageData(Math.round(canvas.width / 2), 31 * dense, 1, 1);
    return pixel.data[3] === 255;
})()";

#[test]
fn the_lanes_of_a_trace_are_drawn_and_a_key_goes_from_the_call_to_its_kernel() {
    with_page("timeline", async |page| {
        page.open("product.json", &product()).await;
        page.go("#/timeline").await;
        page.find("#lanes .lane").await;
        page.wait_text("[data-testid=timeline-lead]", "the GPU is idle for")
            .await;
        // The first lane is the stream: its kernel lies in the middle.
        page.wait_for(IS_DRAWN).await;
        page.enter("#lanes", Key::Right).await;
        page.find(".details [data-to=tree]").await;
        let about = page.text("[data-testid=details]").await;
        assert!(about.contains("kernel"), "{about}");
        assert!(about.contains("Launched for"), "{about}");
        page.wait_hash("event=").await;
        page.enter("#lanes", Key::Escape).await;
        page.wait_for("!$('.details [data-to=tree]')").await;
        page.wait_for("!location.hash.includes('event=')").await;
    });
}

#[test]
fn a_marked_range_is_summed_up_and_the_hash_keeps_the_zoom() {
    with_page("range", async |page| {
        page.open("kernels.json", &kernels(&[30; 200])).await;
        page.go("#/timeline").await;
        page.find("#lanes .lane").await;
        page.js(
            "const ruler = $('.lanes .ruler'), box = ruler.getBoundingClientRect();
             const at = (type, x) => ruler.dispatchEvent(new PointerEvent(type, {
               bubbles: true, pointerId: 1, button: 0, clientX: box.left + x, clientY: box.top + 5 }));
             at('pointerdown', 100); at('pointermove', 200); at('pointermove', 400); at('pointerup', 400);",
        )
        .await;
        page.find("#clear-range").await;
        let about = page.text("[data-testid=details]").await;
        for wanted in ["Range of", "GPU busy", "GPU idle", "GPU events"] {
            assert!(about.contains(wanted), "{wanted}: {about}");
        }
        page.click("#clear-range").await;
        page.wait_for("!$('#clear-range')").await;
        page.enter("#lanes", "www").await;
        page.wait_hash("span=").await;
        let before = page.hash().await;
        page.go("#/overview").await;
        page.go(&before).await;
        page.find("#lanes .lane").await;
        assert_eq!(page.hash().await, before);
    });
}

#[test]
fn the_tree_leads_to_the_timeline_and_back() {
    with_page("tree-timeline", async |page| {
        page.open_sample().await;
        page.go("#/tree?event=40").await;
        page.click(".details [data-to=timeline]").await;
        page.find(".details [data-to=tree]").await;
        assert!(page.hash().await.starts_with("#/timeline"));
        page.click(".details [data-to=tree]").await;
        page.find(".details [data-to=timeline]").await;
        assert!(page.hash().await.starts_with("#/tree"));
    });
}

#[test]
fn the_minimap_shows_the_whole_run_and_moves_the_window() {
    with_page("minimap", async |page| {
        page.open("kernels.json", &kernels(&[30; 200])).await;
        page.go("#/timeline").await;
        page.find("#lanes .lane").await;
        page.enter("#lanes", "wwwww").await;
        page.wait_hash("span=").await;
        let before = page.hash().await;
        page.js(
            "const map = $('.minimap'), box = map.getBoundingClientRect();
             const at = (type, x) => map.dispatchEvent(new PointerEvent(type, {
               bubbles: true, pointerId: 1, button: 0, clientX: box.left + x, clientY: box.top + 9 }));
             at('pointerdown', 40); at('pointermove', 60); at('pointerup', 60);",
        )
        .await;
        let before = serde_json::json!(before);
        page.wait_for(&format!("location.hash !== {before}")).await;
    });
}

#[test]
fn events_are_searched_by_name_with_next_and_previous() {
    with_page("timeline-search", async |page| {
        page.open("kernels.json", &kernels(&[30; 20])).await;
        page.go("#/timeline").await;
        page.find("#lanes .lane").await;
        page.enter("#search", "aten::mm").await;
        page.wait_text("[data-testid=matches]", " of 20").await;
        page.wait_text("[data-testid=details]", "aten::mm").await;
        let first = page.text("[data-testid=matches]").await;
        page.click("#find-next").await;
        let first = serde_json::json!(first);
        page.wait_for(&format!("$('[data-testid=matches]').innerText !== {first}"))
            .await;
        page.enter("#lanes", "N").await;
        page.wait_for(&format!("$('[data-testid=matches]').innerText === {first}"))
            .await;
        page.wait_hash("find=").await;
    });
}

#[test]
fn tracks_fold_hide_are_pinned_and_filtered() {
    with_page("tracks", async |page| {
        page.open("kernels.json", &kernels(&[30; 20])).await;
        page.go("#/timeline").await;
        let names = "$$('#lanes .lane .title').map(title => title.innerText.trim().split(/[\\s,]/)[0]).join()";
        page.wait_for(&format!("{names} === 'GPU,Launch,Thread'"))
            .await;
        page.click("#lanes .lane .title").await;
        page.wait_hash("tracks=f0").await;
        page.find("#lanes .lane [aria-expanded=false]").await;
        page.click("#tracks summary").await;
        page.click("#tracks li:nth-child(3) button").await;
        page.wait_for(&format!("{names} === 'Thread,GPU,Launch'"))
            .await;
        page.click("#tracks li:nth-child(2) input").await;
        page.wait_for(&format!("{names} === 'Thread,GPU'")).await;
        page.enter("#track-filter", "gpu").await;
        page.wait_for(&format!("{names} === 'GPU'")).await;
    });
}

#[test]
fn a_range_is_kept_with_its_note_in_the_link() {
    with_page("kept", async |page| {
        page.open("kernels.json", &kernels(&[30; 200])).await;
        page.go("#/timeline").await;
        page.find("#lanes .lane").await;
        page.js(
            "const ruler = $('.lanes .ruler'), box = ruler.getBoundingClientRect();
             const at = (type, x) => ruler.dispatchEvent(new PointerEvent(type, {
               bubbles: true, pointerId: 1, button: 0, clientX: box.left + x, clientY: box.top + 5 }));
             at('pointerdown', 100); at('pointermove', 200); at('pointerup', 300);",
        )
        .await;
        page.enter("#range-note", "look here").await;
        page.click("#keep-range").await;
        page.wait_text("[data-testid=kept-ranges]", "look here")
            .await;
        page.wait_hash("kept=").await;
        let link = page.hash().await;
        page.go("#/overview").await;
        page.go(&link).await;
        page.wait_text("[data-testid=kept-ranges]", "look here")
            .await;
        page.click("[data-testid=kept-ranges] button:last-child")
            .await;
        page.wait_for("!location.hash.includes('kept=')").await;
    });
}

#[test]
fn the_longest_gap_is_marked_where_it_is() {
    with_page("gap-link", async |page| {
        page.open_sample().await;
        page.go("#/system").await;
        let length = "$('[data-testid=gaps] li b').innerText";
        let length = page.wait_for(length).await;
        page.click("[data-testid=gaps] li:first-child [data-to=timeline]")
            .await;
        page.wait_for(&format!(
            "$('[data-testid=details]')?.innerText.includes('Range of ' + {length})"
        ))
        .await;
    });
}

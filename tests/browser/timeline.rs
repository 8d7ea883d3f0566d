//! The Timeline view.

use thirtyfour::prelude::*;

use dormer_core::testing::Timetable;
use serde_json::{Value, json};

use super::page::{Page, with_page};
use super::traces::{kernels, product};

/// Runs a test on the timeline of a trace with kernels of these durations in microseconds.
fn on_timeline(name: &str, durations_us: &[u32], test: impl AsyncFnOnce(&mut Page)) {
    with_page(name, async |page| {
        page.open("kernels.json", &kernels(durations_us)).await;
        page.go("#/timeline").await;
        page.find("#lanes .lane").await;
        test(page).await;
    });
}

/// Drags over an element from one pixel to another.
async fn drag(page: &Page, css: &str, from: u32, to: u32) {
    let css = json!(css);
    page.act(&format!(
        "const element = $({css}), box = element.getBoundingClientRect();
         const at = (type, x) => element.dispatchEvent(new PointerEvent(type, {{
           bubbles: true, pointerId: 1, button: 0, clientX: box.left + x, clientY: box.top + 5 }}));
         at('pointerdown', {from}); at('pointermove', {from} + 20); at('pointermove', {to}); at('pointerup', {to})"
    ))
    .await;
}

/// Marks a range on the ruler.
async fn mark(page: &Page) {
    drag(page, ".lanes .ruler", 100, 400).await;
    page.find("#clear-range").await;
}

const COPIES: &str =
    "navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }";

/// Whether something is drawn in the middle of the first lane, below its title.
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
        // The first lane is the stream: its kernel is in the middle.
        page.wait_for(IS_DRAWN).await;
        page.enter("#lanes", Key::Right).await;
        page.find(".details [data-to=tree]").await;
        for words in ["kernel", "Launched for"] {
            page.wait_text("[data-testid=details]", words).await;
        }
        page.wait_hash("event=").await;
        page.enter("#lanes", Key::Escape).await;
        page.wait_for("!$('.details [data-to=tree]')").await;
        page.wait_for("!location.hash.includes('event=')").await;
    });
}

#[test]
fn a_marked_range_is_summed_up_and_the_hash_keeps_the_zoom() {
    on_timeline("range", &[30; 200], async |page| {
        mark(page).await;
        for wanted in ["Range of", "GPU busy", "GPU idle", "GPU events"] {
            page.wait_text("[data-testid=details]", wanted).await;
        }
        page.click("#clear-range").await;
        page.wait_for("!$('#clear-range')").await;
        page.enter("#lanes", "www").await;
        page.wait_hash("span=").await;
        let before = page.hash().await;
        page.go("#/overview").await;
        page.go(&before).await;
        page.find("#lanes .lane").await;
        page.wait_value("location.hash", before).await;
    });
}

#[test]
fn the_tree_leads_to_the_timeline_and_back() {
    with_page("tree-timeline", async |page| {
        page.open_sample().await;
        page.go("#/tree?event=40").await;
        page.click(".details [data-to=timeline]").await;
        page.find(".details [data-to=tree]").await;
        page.wait_hash_begins("#/timeline").await;
        page.click(".details [data-to=tree]").await;
        page.find(".details [data-to=timeline]").await;
        page.wait_hash_begins("#/tree").await;
    });
}

#[test]
fn the_minimap_shows_the_whole_run_and_moves_the_window() {
    on_timeline("minimap", &[30; 200], async |page| {
        page.enter("#lanes", "wwwww").await;
        page.wait_hash("span=").await;
        let before = page.hash().await;
        drag(page, ".minimap", 40, 60).await;
        let before = json!(before);
        page.wait_for(&format!("location.hash !== {before}")).await;
    });
}

#[test]
fn another_theme_redraws_the_lanes() {
    on_timeline("timeline-theme", &[30; 20], async |page| {
        let drawn = "$('#lanes canvas').toDataURL()";
        page.go("#/timeline?theme=light").await;
        page.wait_for("document.documentElement.dataset.theme === 'light'")
            .await;
        let light = page.value::<Value>(drawn).await;
        page.go("#/timeline?theme=dark").await;
        page.wait_for(&format!("{drawn} !== {light}")).await;
    });
}

#[test]
fn lanes_follow_the_colors_of_the_system() {
    on_timeline("timeline-system", &[30; 20], async |page| {
        let system =
            |colors: &str| json!({"features": [{"name": "prefers-color-scheme", "value": colors}]});
        // The ground of the minimap is drawn in a color of text.
        let drawn = "$('.minimap canvas').toDataURL()";
        page.emulate_media(system("light")).await;
        page.wait_for(IS_DRAWN).await;
        let light = page.value::<Value>(drawn).await;
        page.emulate_media(system("dark")).await;
        page.wait_for(&format!("{drawn} !== {light}")).await;
        page.emulate_media(system("light")).await;
        page.wait_for(&format!("{drawn} === {light}")).await;
    });
}

#[test]
fn two_fingers_zoom_and_one_pans() {
    on_timeline("timeline-touch", &[30; 200], async |page| {
        page.become_phone().await;
        page.find("#lanes .lane").await;
        page.wait_for("$('#lanes canvas').clientWidth > 300 && innerWidth === 390")
            .await;
        let [x, y] = page
            .value::<[f64; 2]>(
                "(box => [box.left, box.top + 53])($('#lanes').getBoundingClientRect())",
            )
            .await;
        page.touch("touchStart", &[(x + 150.0, y)]).await;
        page.touch("touchStart", &[(x + 150.0, y), (x + 200.0, y)])
            .await;
        page.touch("touchMove", &[(x + 60.0, y), (x + 300.0, y)])
            .await;
        page.touch("touchEnd", &[]).await;
        page.wait_hash("span=").await;
        let zoomed = page.hash().await;
        page.touch("touchStart", &[(x + 200.0, y)]).await;
        page.touch("touchMove", &[(x + 120.0, y)]).await;
        page.touch("touchEnd", &[]).await;
        page.wait_for(&format!("location.hash !== {}", json!(zoomed)))
            .await;
    });
}

#[test]
fn events_are_searched_by_name_with_next_and_previous() {
    on_timeline("timeline-search", &[30; 20], async |page| {
        page.enter("#search", "aten::mm").await;
        page.wait_text("[data-testid=matches]", " of 20").await;
        page.wait_text("[data-testid=details]", "aten::mm").await;
        let matches = "$('[data-testid=matches]').innerText";
        let first = page.value::<Value>(matches).await;
        page.click("#find-next").await;
        page.wait_for(&format!("{matches} !== {first}")).await;
        page.enter("#lanes", "N").await;
        page.wait_value(matches, first).await;
        page.wait_hash("find=").await;
    });
}

#[test]
fn tracks_fold_hide_are_pinned_and_filtered() {
    on_timeline("tracks", &[30; 20], async |page| {
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
    on_timeline("kept", &[30; 200], async |page| {
        mark(page).await;
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
        let length = "$('[data-testid=gaps] li b')?.innerText";
        let length = page.wait_for(length).await;
        page.click("[data-testid=gaps] li:first-child [data-to=timeline]")
            .await;
        page.wait_for(&format!(
            "$('[data-testid=details]')?.innerText.includes('Range of ' + {length})"
        ))
        .await;
    });
}

/// Whether the page asks before it is left.
const ASKS: &str = "!window.dispatchEvent(new Event('beforeunload', { cancelable: true }))";

#[test]
fn leaving_asks_for_kept_ranges_until_their_link_is_copied() {
    on_timeline("kept-leave", &[30; 200], async |page| {
        page.wait_value(ASKS, false).await;
        mark(page).await;
        page.wait_value(ASKS, false).await;
        page.enter("#range-note", "why so slow").await;
        page.click("#keep-range").await;
        page.wait_hash("kept=").await;
        page.wait_value(ASKS, true).await;
        let link = page.hash().await;
        // Another view's address has no ranges.
        page.click("[data-nav=overview]").await;
        page.find("[data-testid=headline]").await;
        page.wait_value(ASKS, true).await;
        page.click("[data-nav=timeline]").await;
        page.js(COPIES).await;
        page.click("#copy-link button").await;
        page.wait_for("window.copied?.includes('/#/timeline?') && window.copied.includes('kept=')")
            .await;
        page.wait_value(ASKS, false).await;
        page.click("[data-nav=overview]").await;
        page.find("[data-testid=headline]").await;
        page.wait_value(ASKS, false).await;

        // Whoever follows the link has it.
        page.load(&link).await;
        page.open("kernels.json", &kernels(&[30; 200])).await;
        page.wait_text("[data-testid=kept-ranges]", "why so slow")
            .await;
        page.wait_value(ASKS, false).await;
        page.click("[data-testid=kept-ranges] [aria-label^=Remove]")
            .await;
        page.wait_for("!$('[data-testid=kept-ranges]')").await;
        page.wait_value(ASKS, false).await;
    });
}

/// The number of pixels in the lanes that have the selection color.
const CHOSEN: &str = "(() => {
    const canvas = $('.lanes .tall canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const [red, green, blue] = getComputedStyle($('.probe.strokes')).backgroundColor.match(/\\d+/g).map(Number);
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255) count += 1;
    return count;
})()";

#[test]
fn hits_that_are_too_short_to_be_drawn_are_marked() {
    // 400 kernels of 1 µs in 400 ms, one of which has another name.
    let trace = (0..400_u32).fold(Timetable::new(), |all, at| {
        let start = 1000 * at;
        let name = if at == 200 { "needle" } else { "hay" };
        all.kernel(at, name, start..start + 1)
    });
    let trace = trace.json();
    with_page("short-hits", async |page| {
        page.open("short.json", &trace).await;
        page.go("#/timeline?find=needle").await;
        page.find("#lanes .lane").await;
        page.wait_text("[data-testid=matches]", "1 of 1").await;
        page.wait_for(&format!("{CHOSEN} > 20")).await;
        let one = page.value::<u32>(CHOSEN).await;
        page.screenshot("short-hits.png").await;
        page.go("#/timeline").await;
        page.wait_for(&format!("{CHOSEN} === 0")).await;
        page.go("#/timeline?find=hay").await;
        page.wait_for(&format!("{CHOSEN} > 20 * {one}")).await;
    });
}

/// Two traces of kernels: one to improve, and a slower reference.
async fn open_two(page: &Page) {
    let (new, old) = (kernels(&[30, 30]), kernels(&[40; 6]));
    page.drop_files(&[("new.json", &new), ("old.json", &old)])
        .await;
    page.wait_until_shown(1).await;
}

const LANES: &str = "$$('#lanes .lane .title').map(title => title.innerText.trim().split(/[\\s,]/)[0] + ' ' + (title.querySelector('.trace-name')?.innerText ?? '')).join()";

#[test]
fn the_timeline_of_the_reference_stands_below_on_the_same_scale() {
    with_page("timelines", async |page| {
        page.open("new.json", &kernels(&[30, 30])).await;
        page.go("#/timeline").await;
        page.find("#lanes .lane").await;
        page.wait_for("!$('#show-reference')").await;
        page.drop_reference("old.json", &kernels(&[40; 6])).await;
        page.find("[data-testid=compare-headline]").await;
        page.click("[data-nav=timeline]").await;
        page.wait_for(&format!("{LANES} === 'GPU ,Launch ,Thread '"))
            .await;
        page.click("#show-reference").await;
        page.wait_hash("below=start").await;
        page.wait_for(&format!(
            "{LANES} === 'GPU new,Launch new,Thread new,GPU old,Launch old,Thread old'"
        ))
        .await;
        page.wait_text("[data-testid=reference-below]", "Reference old")
            .await;
        page.click("#show-all").await;
        page.screenshot("timelines.png").await;

        // An event of the reference says so, and links to no view of the target.
        select(page, "GPU", "old").await;
        page.wait_text("[data-testid=details] .trace-name", "old")
            .await;
        page.wait_for("!$('.details [data-to=tree]') && !location.hash.includes('event=')")
            .await;
        select(page, "GPU", "new").await;
        page.wait_text("[data-testid=details] .trace-name", "new")
            .await;
        page.find(".details [data-to=tree]").await;
        page.wait_hash("event=").await;

        // A range is summarized for both.
        mark(page).await;
        page.wait_text("[data-testid=details] h3 .trace-name", "new")
            .await;
        page.wait_text("[data-testid=range-below]", "old").await;
        page.click("#clear-range").await;

        // The link contains the switch; closing the reference also removes it.
        page.choose_option("#align-reference", "first GPU activity")
            .await;
        page.wait_hash("below=gpu").await;
        page.click("#close-reference").await;
        page.wait_for(&format!("{LANES} === 'GPU ,Launch ,Thread '"))
            .await;
        page.wait_for("!$('#show-reference')").await;
    });
}

/// Frames inside of each other, down to below the window. The call before them keeps them from being folded as common to
/// all calls.
fn nested_frames() -> String {
    let before = Timetable::new().op("aten::add", 0..5);
    let frames = (0_u32..60).fold(before, |trace, depth| {
        let name = format!("model.py({depth}): a_function_with_a_rather_long_name_{depth}");
        trace.frame(&name, 10 + depth..1000 - depth)
    });
    let frames = frames.op("aten::mm", 400..420);
    frames.launched("gemm", 405..410, 420..900).json()
}

#[test]
fn a_tooltip_is_where_there_is_room_for_it() {
    with_page("tooltip", async |page| {
        page.open("nested.json", &nested_frames()).await;
        page.go("#/timeline").await;
        page.find("#lanes .lane").await;
        for (from_left, class) in [(0.3, "hint-card above"), (0.8, "hint-card left above")] {
            // Calls are hovered once they have arrived.
            let hover = format!(
                "(() => {{
                   const lanes = $('#lanes'), box = lanes.getBoundingClientRect();
                   lanes.dispatchEvent(new PointerEvent('pointermove', {{
                     bubbles: true, pointerId: 1, clientX: box.left + {from_left} * box.width, clientY: box.bottom - 12 }}));
                   return $('.hint-card')?.className;
                 }})()"
            );
            page.wait_value(&hover, class).await;
            page.wait_for(
                "(() => {
                   const card = $('.hint-card').getBoundingClientRect(), lanes = $('.lanes').getBoundingClientRect();
                   return card.left >= lanes.left && card.right <= lanes.right
                     && card.top >= lanes.top && card.bottom <= lanes.bottom && card.width > 150;
                 })()",
            )
            .await;
        }
    });
}

/// Clicks the middle of the first event of a trace's lane.
async fn select(page: &Page, lane: &str, trace: &str) {
    let (lane, trace) = (json!(lane), json!(trace));
    page.act(&format!(
        "const head = $$('#lanes .lane').find(lane => lane.innerText.trim().startsWith({lane}) && lane.querySelector('.trace-name').innerText === {trace});
         const box = head.getBoundingClientRect(), lanes = $('#lanes');
         const at = type => lanes.dispatchEvent(new PointerEvent(type, {{
           bubbles: true, pointerId: 1, button: 0, clientX: lanes.getBoundingClientRect().left + 10, clientY: box.bottom + 9 }}));
         at('pointerdown'); at('pointerup')"
    ))
    .await;
}

#[test]
fn a_search_goes_through_both_timelines() {
    with_page("timelines-search", async |page| {
        open_two(page).await;
        page.go("#/timeline?below=start&find=aten::mm").await;
        page.wait_text("[data-testid=reference-below]", "old").await;
        page.wait_text("[data-testid=matches]", " of 2").await;
        page.wait_for(&format!("{CHOSEN} > 0")).await;
    });
}

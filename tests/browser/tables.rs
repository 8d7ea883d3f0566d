//! Tables: filter syntax, marking, copying, sort order; and the palette.

use dormer_core::testing::Timetable;
use serde_json::json;
use thirtyfour::prelude::*;

use super::page::{Page, VIEWS, with_page};
use super::traces::{kernels, slow_product};

/// Stores copied text as `window.copied`.
const CATCH_COPIES: &str =
    "navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }";

async fn open_product(page: &Page, hash: &str) {
    page.open("slow.json", &slow_product(&["my::op", "my::second"]))
        .await;
    page.go(hash).await;
    page.find("table.sheet tbody tr[id]").await;
}

/// Replaces the text of the filter.
async fn filter(page: &Page, text: &str) {
    let text = json!(text);
    page.act(&format!(
        "$('#filter').value = {text}; $('#filter').dispatchEvent(new Event('input', {{ bubbles: true }}))"
    ))
    .await;
}

#[test]
fn a_search_combines_words_shapes_and_fields() {
    with_page("search", async |page| {
        open_product(page, "#/operations").await;
        for (typed, n_rows) in [
            ("mm 1024", 1),
            ("1024×1024", 1),
            ("1024×1024×1024", 1),
            ("dur>1ms", 1),
            ("dur<1ms", 2),
            ("category:gemm dur>1ms", 1),
            ("my -second", 1),
        ] {
            filter(page, typed).await;
            let count = format!("{n_rows} of 3 operations");
            page.wait_text("[data-testid=count]", &count).await;
        }
        // An unknown field is reported, and the fields are listed.
        filter(page, "famly:gemm").await;
        page.wait_text("[data-testid=search-remarks]", "famly")
            .await;
        filter(page, "stream:7").await;
        page.wait_text("[data-testid=search-remarks]", "This table has no")
            .await;
        page.click("#search-help").await;
        page.wait_text("[data-testid=search-help]", "category")
            .await;
    });
}

#[test]
fn a_table_says_its_order_and_is_marked_and_copied() {
    with_page("marks", async |page| {
        open_product(page, "#/operations").await;
        page.resize(1500, 900).await;
        page.js(CATCH_COPIES).await;
        // The default order.
        page.wait_for("$('th[aria-sort=descending]')?.innerText.includes('GPU time')")
            .await;
        page.wait_for("$$('thead th').some(head => head.innerText.includes('Shapes'))")
            .await;
        page.enter("table.sheet", Key::Down + " ").await;
        page.enter("table.sheet", Key::Down + " ").await;
        page.wait_text("[data-testid=totals]", "2 rows marked")
            .await;
        page.wait_text("[data-testid=totals]", "GPU time 90.0 ms")
            .await;
        page.screenshot("marked.png").await;
        page.click("#copy-table").await;
        page.wait_for("window.copied?.startsWith('Operation\\t')")
            .await;
        page.wait_value("window.copied.trim().split('\\n').length", 3)
            .await;
        page.click("#unmark").await;
        page.wait_for("!$('[data-testid=totals]')").await;
        page.click("#copy-markdown").await;
        page.wait_for("window.copied?.startsWith('| Operation |')")
            .await;
        page.wait_for("window.copied.trim().split('\\n').length === 5")
            .await;
    });
}

#[test]
fn a_filter_that_leaves_no_row_is_cleared_where_the_rows_were() {
    with_page("none-match", async |page| {
        open_product(page, "#/operations").await;
        filter(page, "nothing_has_this_name").await;
        page.wait_text(".none", "match the filter").await;
        page.click("#clear-filter").await;
        page.find("table.sheet tbody tr[id]").await;
        page.wait_for(
            "!$('.none') && $('#filter').value === '' && !location.hash.includes('find=')",
        )
        .await;
        page.wait_for("document.activeElement === $('#filter')")
            .await;
    });
}

#[test]
fn rows_are_grouped_and_separated_again() {
    with_page("groups", async |page| {
        open_product(page, "#/operations").await;
        page.choose_option("#group", "By category").await;
        page.wait_text("[data-testid=groups]", "GEMM").await;
        page.wait_text("[data-testid=groups]", "90.1").await;
        page.wait_hash("group=category").await;
        page.wait_for("$('table.sheet').offsetHeight === 0").await;
        page.screenshot("groups.png").await;
        // The rows of one of them.
        page.click("[data-testid=groups] tbody button").await;
        page.wait_for("!location.hash.includes('group=')").await;
        page.wait_for("$('#filter').value.toLowerCase().includes('gemm')")
            .await;
    });
}

#[test]
fn rows_are_taken_together_by_step() {
    with_page("by-step", async |page| {
        let step = |trace: Timetable, number: u32| {
            let start = 1000 * number;
            trace
                .annotation(&format!("ProfilerStep#{number}"), start..start + 500)
                .op("aten::mm", start + 2..start + 12)
                .launched("gemm", start + 4..start + 6, start + 30..start + 70)
        };
        let before = Timetable::new().work("aten::copy_", "copy_kernel", 100..110);
        let trace = (1..=2).fold(before, step).json();
        page.open("steps.json", &trace).await;
        page.go("#/kernels").await;
        page.choose_option("#group", "By step").await;
        let rows = "$$('[data-testid=groups] tbody tr').map(row => [...row.cells].slice(0, 2).map(cell => cell.innerText.trim()).join(' '))";
        page.wait_for(&format!(
            "String({rows}) === 'ProfilerStep#1 1,ProfilerStep#2 1,Outside of steps 1'"
        ))
        .await;
        // 40 µs in each of the steps, 10 µs outside.
        let sums = "$$('[data-testid=groups] tbody tr').map(row => row.innerText.match(/[\\d.]+ µs/)?.[0])";
        page.wait_for(&format!("String({sums}) === '40.0 µs,40.0 µs,10.0 µs'"))
            .await;
        page.wait_hash("group=step").await;
        page.screenshot("by-step.png").await;
        // One step only.
        page.click("[data-testid=groups] tbody tr:nth-child(2) button")
            .await;
        page.wait_hash("window=").await;
        page.wait_text("[data-testid=count]", "1 kernel").await;
        page.wait_value("location.hash.includes('group=')", false)
            .await;
    });
}

#[test]
fn kernels_say_how_they_spread() {
    with_page("kernel-columns", async |page| {
        page.open("kernels.json", &kernels(&[10, 20, 90])).await;
        page.resize(2000, 900).await;
        page.go("#/kernels").await;
        let heads = "$$('thead th').map(head => head.innerText.trim().split('\\n')[0])";
        for head in ["Median", "Mean"] {
            page.wait_for(&format!("{heads}.includes('{head}')")).await;
        }
        let shows = "$$('tbody tr[id] td').some(cell => cell.textContent === '20.0 µs')";
        page.wait_for(shows).await;
    });
}

#[test]
fn an_operation_is_copied_as_python() {
    with_page("python", async |page| {
        page.open("slow.json", &slow_product(&[])).await;
        page.js(CATCH_COPIES).await;
        page.go("#/operations?row=0").await;
        page.click("#copy-python button").await;
        page.wait_for("window.copied?.includes('torch.ops.aten.mm.default(self, mat2)')")
            .await;
    });
}

#[test]
fn the_palette_finds_what_the_trace_has_before_files() {
    with_page("palette-kinds", async |page| {
        page.open_sample().await;
        let kinds = "$$('#palette [role=option] .kind-of').map(kind => kind.textContent)";
        page.enter("body", Key::Control + "k").await;
        page.enter("#palette[open] input", "gemm").await;
        for kind in ["Category", "Threshold"] {
            page.wait_for(&format!("{kinds}.includes('{kind}')")).await;
        }
        // Files come last, if there are any.
        let last = format!("(at => at < 0 ? Infinity : at)({kinds}.indexOf('Export'))");
        for kind in ["Category", "Threshold"] {
            page.wait_for(&format!(
                "{kinds}.includes('{kind}') && {kinds}.indexOf('{kind}') < {last}"
            ))
            .await;
        }
        page.enter("#palette[open] input", Key::Escape + "").await;

        // A setting, a threshold at its position, and a module.
        page.command("custom perf", "Custom perf models").await;
        page.find("#models-dialog[open]").await;
        page.click("#models-dialog header button").await;
        page.enter("body", Key::Control + "k").await;
        page.enter("#palette[open] input", "idle threshold").await;
        page.wait_for(&format!("{kinds}.includes('Threshold')"))
            .await;
        page.act("$$('#palette [role=option]').find(one => one.textContent.includes('Threshold') && one.querySelector('.soft').textContent).click()")
            .await;
        page.wait_for("document.activeElement?.id.startsWith('threshold-')")
            .await;
    });
}

#[test]
fn printed_tables_have_heads_and_no_buttons() {
    with_page("print-heads", async |page| {
        page.open_sample_at("#/operations", "[id^=unified_perf_summary-]")
            .await;
        page.emulate_media(json!({"media": "print"})).await;
        let shown = "$$('main thead th button').every(head => head.offsetHeight > 0)";
        page.wait_for(shown).await;
        page.wait_for("$$('main button').filter(one => !one.closest('thead')).every(one => one.offsetHeight === 0)")
            .await;
    });
}

#[test]
fn a_phone_has_a_low_header_and_no_hints_of_keys() {
    with_page("phone", async |page| {
        page.open_sample_at("#/operations", "[id^=unified_perf_summary-]")
            .await;
        page.resize(390, 844).await;
        page.wait_for("$('header.top').offsetHeight < 120").await;
        page.wait_for("document.documentElement.scrollWidth <= innerWidth")
            .await;
        page.screenshot("phone.png").await;
        page.find(".by-keys").await;
        page.become_phone().await;
        page.wait_for("$('.by-keys').offsetHeight === 0").await;
    });
}

#[test]
fn on_a_phone_everything_is_large_enough_for_a_finger() {
    with_page("touch-targets", async |page| {
        page.become_phone().await;
        page.open_sample().await;
        for (view, mark) in VIEWS {
            page.go(&format!("#/{view}")).await;
            page.find(mark).await;
            // Links within text may be smaller.
            page.wait_value(
                "$$('.top, .bars, .side, main').flatMap(part => [...part.querySelectorAll('button, select, input, summary, .side a, .sheet tbody tr[id]')])
                   .filter(one => one.checkVisibility({ visibilityProperty: true }) && one.offsetHeight && one.offsetHeight < 44)
                   .filter(one => !one.matches('.unseen, .bar, p *, label *, .sentences *'))
                   .map(one => one.outerHTML.slice(0, 80))",
                json!([]),
            )
            .await;
        }
    });
}

#[test]
fn a_phone_shows_names_whole_and_what_tells_them_apart_below() {
    with_page("phone-names", async |page| {
        open_product(page, "#/operations").await;
        page.resize(390, 844).await;
        page.wait_text(".sheet tbody .two", "1024×1024").await;
        page.wait_for("!$('.sheet tbody .two > :first-child .gone')")
            .await;
        // As columns again where there is room.
        page.resize(1280, 844).await;
        page.wait_for("!$('.sheet tbody .two') && $('.sheet thead').innerText.includes('Shapes')")
            .await;
    });
}

#[test]
fn escape_closes_a_menu_and_the_focus_is_on_its_button() {
    with_page("menu-escape", async |page| {
        open_product(page, "#/operations?row=0").await;
        page.find("#op-details").await;
        page.click("#columns").await;
        page.find(".menu[open] fieldset").await;
        page.js("$('.menu[open] fieldset input:not(:disabled)').focus()")
            .await;
        page.press(Key::Escape).await;
        page.wait_for("!$('.menu[open]') && document.activeElement.id === 'columns'")
            .await;
        // It closes nothing else.
        page.find("#op-details").await;
    });
}

/// The request count stays beside the GPU choice, in windows of every width.
#[test]
fn nothing_of_the_header_lies_over_another() {
    with_page("header", async |page| {
        page.open_sample().await;
        for width in [320, 640, 901, 960, 1024, 1100, 1241, 1400] {
            page.resize(width, 800).await;
            let over = "(() => {
                const parts = $$('header.top > *').filter(one => one.offsetWidth).flatMap(one => one.matches('label') ? [...one.children] : [one]);
                const boxes = parts.filter(one => one.offsetWidth).map(one => one.getBoundingClientRect());
                const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
                return boxes.some((a, at) => boxes.slice(at + 1).some(b => overlap(a, b)));
            })()";
            page.wait_for(&format!("innerWidth === {width} && !{over}"))
                .await;
        }
    });
}

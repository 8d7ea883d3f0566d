//! The columns of tables: their widths, their order, which are pinned, and the names in them.

use dormer_core::testing::Timetable;
use serde_json::json;
use thirtyfour::prelude::*;

use super::page::{Page, with_page};

/// The shown columns, by their sort keys.
const SHOWN: &str = "$$('table.sheet thead button').map(head => head.dataset.sort)";
/// The resizing edge of a column.
const GRIP: &str = ".grip[aria-label=\"Width of GPU time\"]";

async fn open_operations(page: &Page, (width, height): (u32, u32)) {
    page.resize(width, height).await;
    page.open_sample_at("#/operations", "[id^=unified_perf_summary-]")
        .await;
}

/// Waits until the GPU time column has a width: its heading, its cells, and its announced value.
async fn wait_width(page: &Page, width: i64) {
    page.wait_for(&format!(
        "(() => {{
            const grip = $({}), head = grip?.closest('th');
            const cell = head && $$('tbody tr[id]')[1]?.cells[head.cellIndex];
            const px = [head, cell].map(one => one && Math.round(one.getBoundingClientRect().width));
            return px.every(px => px === {width}) && grip.getAttribute('aria-valuenow') === '{width}';
        }})()",
        json!(GRIP)
    ))
    .await;
}

#[test]
fn a_column_is_resized_by_pointer_and_by_keys() {
    with_page("resize", async |page| {
        open_operations(page, (1200, 800)).await;
        let said = format!("+$({}).getAttribute('aria-valuenow')", json!(GRIP));
        page.find(GRIP).await;
        wait_width(page, page.value(&said).await).await;
        let automatic: i64 = page.value(&said).await;

        page.enter(GRIP, Key::Right + "").await;
        wait_width(page, automatic + 16).await;
        page.enter(GRIP, Key::Left + (Key::Left + "")).await;
        wait_width(page, automatic - 16).await;
        page.enter(GRIP, Key::Home + "").await;
        wait_width(page, 48).await;
        // Enter resets the width.
        page.enter(GRIP, Key::Enter + "").await;
        wait_width(page, automatic).await;
        page.wait_for("!$('.grip.own')").await;

        let grip = page.find(GRIP).await;
        let drag = page.chromium.driver.action_chain();
        let drag = drag.move_to_element_center(&grip).click_and_hold();
        let drag = drag.move_by_offset(30, 0).move_by_offset(30, 0);
        drag.release().perform().await.unwrap();
        wait_width(page, automatic + 60).await;
        page.screenshot("resized.png").await;
        // Resizing has not sorted the rows.
        assert!(!page.hash().await.contains("sort="));
        let twice = page.chromium.driver.action_chain();
        twice.double_click_element(&grip).perform().await.unwrap();
        wait_width(page, automatic).await;
        assert!(!page.hash().await.contains("sort="));
    });
}

#[test]
fn columns_are_put_in_order_pinned_and_put_back() {
    with_page("column-order", async |page| {
        open_operations(page, (700, 800)).await;
        page.js("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }").await;
        page.wait_for(&format!("{SHOWN}.includes('gpu_time')"))
            .await;
        let usual: Vec<String> = page.value(SHOWN).await;

        page.click("#columns").await;
        let up = "#column-up-gpu-time";
        for _ in 0..20 {
            page.wait_for("!!$('#column-up-gpu-time')").await;
            if page
                .value(&format!("$('{up}').ariaDisabled === 'true'"))
                .await
            {
                break;
            }
            page.enter(up, Key::Enter + "").await;
            // The button keeps the focus when the list is redrawn.
            page.wait_for("document.activeElement?.id === 'column-up-gpu-time'")
                .await;
        }
        page.wait_for(&format!("{SHOWN}[1] === 'gpu_time'")).await;
        page.wait_for("/ (ns|µs|ms|s)$/.test($$('tbody tr[id]')[1]?.cells[1].textContent)")
            .await;
        page.click("#copy-table").await;
        page.wait_for("window.copied?.startsWith('Operation\\tGPU time (ms)\\t')")
            .await;

        // To another view and back.
        page.go("#/kernels").await;
        page.find("[id^=kernel_summary-]").await;
        page.go("#/operations").await;
        page.find("[id^=unified_perf_summary-]").await;
        page.wait_for(&format!("{SHOWN}[1] === 'gpu_time'")).await;

        // Not all columns fit; two of them stay fixed.
        page.click("#columns").await;
        page.find(".column-list input").await;
        page.js("$$('.column-list input:not(:checked)').forEach(box => box.click())")
            .await;
        page.click("#column-pin-gpu-time").await;
        page.wait_for("!!$('table.pinned-2')").await;
        page.screenshot("column-list.png").await;
        page.enter("#columns", Key::Escape + "").await;
        page.act("$('.scroller').scrollLeft = 300").await;
        let lefts = "(() => {
            const from = $('.scroller').getBoundingClientRect().left + 1;
            const cells = row => [...row.cells].slice(0, 3).map(cell => Math.round(cell.getBoundingClientRect().left - from));
            return [cells($('thead tr')), cells($$('tbody tr[id]')[1])];
        })()";
        page.wait_for(&format!(
            "(() => {{
                const [head, row] = {lefts};
                return String(head) === String(row) && row[0] === 0 && row[1] > 0 && row[2] < row[1];
            }})()"
        ))
        .await;
        page.screenshot("pinned.png").await;

        page.click("#columns").await;
        page.click("#reset-columns").await;
        let usual = json!(usual);
        page.wait_for(&format!("String({SHOWN}) === String({usual})"))
            .await;
        page.wait_for("$('#reset-columns').disabled && !$('table.pinned')")
            .await;
    });
}

#[test]
fn the_list_of_columns_fits_a_phone() {
    with_page("column-list-phone", async |page| {
        open_operations(page, (320, 700)).await;
        page.click("#columns").await;
        page.find(".column-list").await;
        page.wait_for("document.documentElement.scrollWidth <= innerWidth")
            .await;
        page.wait_for(
            "$$('.column-list, .column-list button').every(one => one.getBoundingClientRect().right <= innerWidth)",
        )
        .await;
        page.screenshot("column-list-phone.png").await;
    });
}

/// The names in the first column, without the second lines of a narrow window.
const NAMES: &str = "$$('tbody tr[id] td:first-child').map(cell => cell.matches('.two') ? cell.firstElementChild : cell)";

/// Their visible parts.
const LOOKS: &str = ".map(name =>
    [...name.childNodes].map(node => node.className === 'gone' ? '…' : node.textContent).join(''))";

#[test]
fn names_that_differ_never_look_equal() {
    with_page("long-names", async |page| {
        let name = |op: &str| {
            format!("triton_poi_fused_layer_norm_of_many_words_{op}_and_more_of_the_same_0")
        };
        let names = ["add", "mul", "div"].map(name);
        let trace = names
            .iter()
            .zip(1_u32..)
            .fold(Timetable::new(), |all, (name, at)| {
                all.work("aten::op", name, 100 * at..100 * at + 10 * at)
            });
        page.open("long.json", &trace.json()).await;
        page.resize(390, 844).await;
        page.go("#/kernels").await;
        page.find("tbody tr[id] .gone").await;
        page.wait_for(&format!(
            "new Set({NAMES}{LOOKS}).size === 3 && {NAMES}{LOOKS}.every(look => look.includes('…') && look.length < 40)"
        ))
        .await;
        // They fit, and copying or searching uses the full names.
        page.wait_for(
            "$$('tbody tr[id] td:first-child').every(cell => cell.scrollWidth <= cell.clientWidth)",
        )
        .await;
        let mut expected = names.to_vec();
        expected.sort();
        let whole = format!("{NAMES}.map(name => name.textContent).sort()");
        page.wait_value(&whole, json!(expected)).await;
        page.screenshot("long-names.png").await;
        // In a wider column, they are shown in full.
        let grip = ".grip[aria-label=\"Width of Kernel\"]";
        page.enter(grip, Key::End + "").await;
        page.wait_for(&format!(
            "!$('.gone') && {NAMES}{LOOKS}.every(look => look.length > 60)"
        ))
        .await;
    });
}

//! What carries over from one trace to the next, and traces kept on this computer; folders, and many files at once.

use serde_json::json;

use super::page::{Page, with_page};
use super::traces::kernels;

/// Drops a folder with these files.
async fn drop_folder(page: &Page, folder: &str, files: &[(&str, &str)]) {
    let (folder, files) = (json!(folder), json!(files));
    page.js(&format!(
        "const files = {files}.map(([name, text]) => ({{
           isFile: true, isDirectory: false, name, fullPath: '/' + {folder} + '/' + name,
           file: then => then(new File([text], name)),
         }}));
         const reader = () => {{ let left = [files, []]; return {{ readEntries: then => then(left.shift()) }}; }};
         const entry = {{ isFile: false, isDirectory: true, name: {folder}, createReader: reader }};
         const data = {{ types: ['Files'], items: [{{ webkitGetAsEntry: () => entry }}], files: null }};
         const event = new DragEvent('drop', {{ bubbles: true, cancelable: true }});
         Object.defineProperty(event, 'dataTransfer', {{ value: data }});
         $('#main').dispatchEvent(event);"
    ))
    .await;
}

#[test]
fn a_dropped_folder_gives_a_list_to_choose_from() {
    with_page("folder", async |page| {
        drop_folder(page, "empty", &[("notes.txt", "hello")]).await;
        page.wait_text("#open-error", "empty cannot be analyzed")
            .await;
        page.wait_text("#open-error", ".json").await;

        let (first, second) = (kernels(&[10, 20]), kernels(&[30]));
        let files = [
            ("rank0.json", first.as_str()),
            ("rank1.json", second.as_str()),
            ("readme.md", "# no trace"),
        ];
        drop_folder(page, "run", &files).await;
        page.wait_text("#file-chooser[open] h2", "2 files").await;
        page.screenshot("file-chooser.png").await;
        page.click("#candidate-target-1").await;
        page.click("#candidate-reference-0").await;
        page.click("#open-candidates").await;
        page.wait_until_shown(1).await;
        page.wait_text("[data-role=target]", "rank1.json").await;
        page.wait_text("[data-role=reference]", "rank0.json").await;

        // A folder with one trace needs no list.
        drop_folder(page, "one", &files[..1]).await;
        page.wait_until_shown(2).await;
        page.wait_text(".file", "rank0.json").await;
    });
}

#[test]
fn the_halves_to_drop_on_fill_the_window() {
    with_page("halves", async |page| {
        page.open("one.json", &kernels(&[10])).await;
        page.js("const data = new DataTransfer();
                 data.items.add(new File(['x'], 'x.json'));
                 for (const kind of ['dragenter', 'dragover'])
                   $('#main').dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data, clientX: 10 }));")
            .await;
        page.find(".drop.two").await;
        page.wait_for("$$('.drop.two p').every(half => half.offsetWidth > 0.44 * innerWidth && half.offsetHeight > 0.9 * innerHeight)")
            .await;
    });
}

#[test]
fn another_trace_keeps_no_gpu_unless_it_is_pinned() {
    with_page("pin", async |page| {
        page.open("one.json", &kernels(&[10])).await;
        page.choose_option("#gpu", "MI300X").await;
        page.wait_hash("gpu=AMD").await;
        page.go("#/operations?gpu=AMD%20Instinct%20MI300X&find=mm")
            .await;
        page.wait_for("$('#filter')?.value === 'mm'").await;
        page.open("two.json", &kernels(&[20])).await;
        page.wait_for("!location.hash.includes('gpu=') && !location.hash.includes('find=')")
            .await;
        page.wait_for("!$('[data-testid=carried]')").await;

        page.choose_option("#gpu", "MI300X").await;
        page.click("#pin-gpu").await;
        page.open("three.json", &kernels(&[30])).await;
        page.wait_text("[data-testid=carried]", "MI300X (pinned)")
            .await;
        page.wait_hash("gpu=AMD").await;
        page.click("#drop-carried").await;
        page.wait_for("!location.hash.includes('gpu=')").await;
    });
}

#[test]
fn a_link_says_which_file_it_wants() {
    with_page("wanted", async |page| {
        page.load("#/kernels?file=mine.json&find=gemm").await;
        page.wait_text("[data-testid=wanted]", "mine.json").await;
        page.open("mine.json", &kernels(&[10, 20])).await;
        page.find("[id^=kernel_summary-]").await;
        page.wait_for("$('#filter')?.value === 'gemm' && !$('[data-testid=wanted]')")
            .await;
        // A link to another trace, followed while this one is open.
        page.go("#/operations?file=other.json").await;
        page.wait_text("[data-testid=wanted]", "other.json").await;
    });
}

#[test]
fn traces_are_kept_where_the_user_wants_it() {
    with_page("recent", async |page| {
        page.open("kept.json", &kernels(&[10, 20])).await;
        page.click("#recent-button").await;
        page.find("#recent-dialog[open]").await;
        page.wait_for("!$('[data-testid=recent]')").await;
        page.click("#keep-traces").await;
        page.wait_text("[data-testid=recent]", "kept.json").await;
        page.screenshot("recent.png").await;
        page.click("#recent-dialog header button").await;
        page.go("#/kernels").await;
        page.find("[id^=kernel_summary-]").await;
        page.click("[data-nav=operations]").await;
        page.wait_hash("file=kept.json").await;

        // A link or a reload opens the same place.
        page.load("#/kernels?file=kept.json").await;
        page.wait_until_shown(1).await;
        page.find("[id^=kernel_summary-]").await;

        page.load("").await;
        page.wait_text("[data-testid=recent]", "kept.json").await;
        page.click("#delete-all").await;
        page.wait_for("!$('[data-testid=recent]')").await;
    });
}

//! Opening traces: every way to open one, what is shown, and errors.

use serde_json::Value;
use tempfile::NamedTempFile;

use super::page::{VIEWS, with_page};
use super::traces::{endless, kernels, overlong, shows};
use crate::support::container::gzip;

/// A file on disk, for the file dialog.
fn file(bytes: &[u8]) -> NamedTempFile {
    let suffixed = tempfile::Builder::new().suffix(".json.gz").tempfile();
    let file = suffixed.unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

#[test]
fn a_chosen_file_is_shown() {
    with_page("choose", async |page| {
        let trace = kernels(&[300, 200, 100]);
        let file = file(&gzip(&trace));
        page.choose(file.path()).await;
        page.wait_until_shown(1).await;
        shows(page, &trace).await;
        page.wait_text(".file", "15 events").await;
    });
}

#[test]
fn a_dropped_file_is_shown() {
    with_page("drop", async |page| {
        let trace = kernels(&[10, 20]);
        page.open("dropped.json", &trace).await;
        shows(page, &trace).await;
        page.wait_text(".file", "dropped.json").await;
    });
}

#[test]
fn a_file_that_is_dropped_while_the_page_loads_is_opened_then() {
    with_page("early-drop", async |page| {
        // The loader has run once the document is parsed, but nothing else has.
        let trace = kernels(&[10, 20]);
        let hook = format!(
            "addEventListener('DOMContentLoaded', () => {{
               globalThis.wasEarly = !document.querySelector('#file-input');
               const dataTransfer = new DataTransfer();
               dataTransfer.items.add(new File([{trace:?}], 'early.json'));
               document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer, bubbles: true, cancelable: true }}));
             }})"
        );
        page.before_load(&hook).await;
        page.load("").await;
        shows(page, &trace).await;
        page.wait_text(".file", "early.json").await;
        let was_early = page.js("return globalThis.wasEarly").await;
        assert_eq!(was_early, true);
    });
}

#[test]
fn the_sample_is_shown() {
    with_page("sample", async |page| {
        page.open_sample().await;
        shows(page, dormer_core::sample::TRACE).await;
    });
}

#[test]
fn a_second_file_replaces_the_first() {
    with_page("second", async |page| {
        let (first, second) = (kernels(&[100]), kernels(&[5, 500]));
        page.open("first.json", &first).await;
        page.open("second.json", &second).await;
        shows(page, &second).await;
        page.wait_text(".file", "second.json").await;
    });
}

#[test]
fn a_file_dropped_while_another_is_read_replaces_it() {
    with_page("replace", async |page| {
        let file = file(&endless());
        page.choose(file.path()).await;
        page.find("[data-testid=loading]").await;
        let trace = kernels(&[40]);
        page.open("short.json", &trace).await;
        shows(page, &trace).await;
    });
}

#[test]
fn what_is_no_trace_is_said_where_the_user_looks() {
    with_page("error", async |page| {
        page.drop_file("login.json", "<html>please log in</html>")
            .await;
        for words in ["login.json", "This is a web page"] {
            page.text_when("#error", |error| error.contains(words))
                .await;
        }
        page.screenshot("error.png").await;
        // The place is said where it is not the start.
        assert!(!page.text("#error").await.contains("byte"));
        page.drop_file("cut.json", r#"{"a": [1,2,"#).await;
        page.text_when("#error", |error| error.contains("At byte 11."))
            .await;

        // The page keeps working.
        page.open("good.json", &kernels(&[1])).await;
    });
}

#[test]
fn damage_is_shown_beside_the_numbers() {
    with_page("damaged", async |page| {
        let whole = kernels(&[100, 200]);
        page.open("cut.json", &whole[..whole.len() - 60]).await;
        page.wait_text(
            "[data-testid=quality]",
            "The trace ends before it is closed",
        )
        .await;
    });
}

#[test]
fn repairs_stand_beside_what_was_recorded() {
    with_page("repaired", async |page| {
        page.open("damaged.json", &overlong()).await;
        // One of two kernels of 100 µs claims three days.
        let rows = "$$('[data-testid=repaired] tbody tr').map(row => [...row.cells].map(cell => cell.innerText.replace(/\\s/g, ' ')))";
        let rows = page.wait_for(&format!("{rows}.length > 0 && {rows}")).await;
        let rows: Vec<[String; 3]> = serde_json::from_value(rows).unwrap();
        let row = |label: &str| {
            rows.iter()
                .find(|row| row[0] == label)
                .unwrap_or_else(|| panic!("{rows:?}"))
        };
        assert_eq!(row("GPU busy")[1..], ["259 200 s", "100 µs"]);
        assert!(
            row("Idle")[1..].iter().all(|time| time.ends_with("µs")),
            "{rows:?}"
        );
        page.find("[data-testid=limits] [data-limit=repaired]")
            .await;
        page.open("whole.json", &kernels(&[100, 200])).await;
        page.wait_for("$('[data-testid=quality]') && !$('[data-testid=repaired]')")
            .await;
    });
}

#[test]
fn reading_can_be_canceled_at_once() {
    with_page("cancel", async |page| {
        let file = file(&endless());
        page.choose(file.path()).await;
        // Wait until it has started: it reports progress.
        page.wait_for("$('[data-testid=events]')?.textContent.length > 4")
            .await;
        page.screenshot("loading.png").await;
        let n_frames = page
            .js_async(
                "let frames = 0;
                 $('#cancel').click();
                 const look = () => $('[data-testid=empty]')
                   ? done(frames) : (frames += 1, requestAnimationFrame(look));
                 look();",
                vec![],
            )
            .await;
        assert!(
            n_frames.as_u64().unwrap() <= 2,
            "canceled after {n_frames} frames"
        );

        // The next trace needs a new worker.
        page.open_sample().await;
    });
}

#[test]
fn a_file_that_cannot_be_opened_leaves_the_open_trace_as_it_is() {
    with_page("instead", async |page| {
        page.load("#/operations?find=mm&gpu=NVIDIA%20H100%20SXM")
            .await;
        page.open_sample().await;
        page.wait_for("$('#filter')?.value === 'mm'").await;
        let hash = page.hash().await;

        page.drop_file("broken.json", "no JSON at all").await;
        page.text_when("#open-error", |error| {
            error.starts_with("broken.json cannot be analyzed")
        })
        .await;
        page.find("[id^=unified_perf_summary-]").await;
        page.wait_text(".file", "sample trace").await;
        // Written a moment after the change.
        page.wait_value("location.hash", &*hash).await;
        page.click("#open-error ~ [aria-label=Close]").await;
        page.wait_for("!$('#open-error')").await;

        // If it is not waited for, it is closed, too.
        let file = file(&endless());
        page.choose(file.path()).await;
        page.click("#cancel").await;
        page.find("[id^=unified_perf_summary-]").await;
        // Written a moment after the change.
        page.wait_value("location.hash", &*hash).await;

        // The previous worker still answers.
        page.go("#/kernels").await;
        page.find("[id^=kernel_summary-]").await;
    });
}

#[test]
fn the_page_goes_on_drawing_while_it_reads() {
    with_page("drawing", async |page| {
        let file = file(&endless());
        // Records the progress shown in each frame.
        page.js("window.seen = [];
             const look = () => {
               const events = $('[data-testid=events]')?.textContent;
               if (events) window.seen.push(events);
               requestAnimationFrame(look);
             };
             look();")
            .await;
        page.choose(file.path()).await;
        // Several frames per message of the worker, and several messages.
        page.wait_for("new Set(window.seen).size >= 5 && window.seen.length >= 10")
            .await;
        page.find("[data-testid=loading]").await;
        page.click("#cancel").await;
    });
}

#[test]
fn the_hash_says_what_is_shown() {
    with_page("hash", async |page| {
        page.open_sample().await;
        for (view, mark) in VIEWS {
            page.click(&format!("[data-nav={view}]")).await;
            page.find(mark).await;
            let hash = format!("#/{view}?file=sample%20trace");
            page.wait_value("location.hash", hash).await;
        }
        page.go("#/operations?find=mm").await;
        page.wait_for("$('#filter')?.value === 'mm'").await;

        // A link opens its place.
        page.load("#/kernels?theme=dark").await;
        page.open_sample().await;
        page.find("[id^=kernel_summary-]").await;
        page.wait_value("document.documentElement.dataset.theme", "dark")
            .await;
    });
}

#[test]
fn the_split_is_shown_before_the_findings_and_stays_where_it_is() {
    with_page("answer-first", async |page| {
        // Records positions whenever something changes, and whether the findings are shown.
        page.js(
            "const parts = ['h1', '.split', '[data-testid=legend]', '[data-testid=most]', '.facts'];
             const box = css => Object.values($(css).getBoundingClientRect().toJSON());
             window.seen = [];
             new MutationObserver(() => {
               if ($('.facts')) window.seen.push({ found: !!$('[data-testid=findings]'), boxes: parts.map(box) });
             }).observe(document.body, { childList: true, subtree: true });",
        )
        .await;
        page.open_sample().await;
        page.wait_for("!seen[0].found && seen.at(-1).found").await;
        let before = "seen.filter(one => !one.found).at(-1).boxes";
        let boxes = page.value::<Value>(before).await;
        page.wait_value("seen.at(-1).boxes", boxes).await;
        page.wait_for("!$('[data-testid=findings-coming]')").await;
    });
}

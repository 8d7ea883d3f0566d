//! `dormer.html`: the whole page as one file, opened without a server, with or without an embedded trace.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dormer_core::Profile;
use dormer_core::output::documents::Documents;
use dormer_core::output::embedded::{BLOCK_END, Parts, View, block_start};
use dormer_core::output::markup::html;
use dormer_core::output::redact::redact;
use dormer_core::output::{export, kineto};
use flate2::read::GzDecoder;
use serde_json::json;

use super::page::{Page, with_files, with_page};
use super::traces::kernels;
use crate::support::container::gzip;
use crate::support::opened::{Opened, report};
use crate::support::shared;

const ONE_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../dist/dormer.html");

#[test]
fn one_file_shows_the_same_as_the_served_page() {
    with_page("one-file", async |page| {
        page.open_sample().await;
        let served = page.text("[data-testid=headline]").await;

        page.stop_server();
        page.load_file(Path::new(ONE_FILE)).await;
        page.open_sample().await;
        page.wait_says("[data-testid=headline]", &served).await;
        page.visit_all_views().await;
        page.open("own.json", &kernels(&[300, 100])).await;
        page.click("[data-nav=export]").await;
        page.click("[data-archive=target]").await;
        assert!(page.downloaded("dormer-own.zip").await.starts_with(b"PK"));
        assert_eq!(page.console_errors().await, [""; 0]);
        // The only fetch since then is a worker from a blob.
        let fetched: Vec<String> = page
            .value("performance.getEntriesByType('resource').map(e => e.name)")
            .await;
        assert!(
            fetched.iter().all(|url| url.starts_with("blob:")),
            "{fetched:?}"
        );
        for url in ["https://example.invalid/", "data:,x"] {
            let refused = "fetch(arguments[0]).then(() => done(false), () => done(true))";
            assert_eq!(
                page.js_async(refused, vec![json!(url)]).await,
                json!(true),
                "{url}"
            );
        }
        // They are reported on the console.
        page.wait_console_error("").await;
    });
}

#[test]
fn a_trace_in_the_file_opens_at_the_place_in_its_address() {
    with_page("one-file-trace", async |page| {
        let folder = tempfile::tempdir().unwrap();
        let compressed = gzip(kernels(&[300, 100]).as_bytes());
        let file = with_traces(folder.path(), &[("own run.json.gz", &compressed)]);
        page.load_file_at(&file, "#/kernels").await;
        page.wait_until_shown(1).await;
        page.find("[id^=kernel_summary-]").await;
        page.wait_text("#main", "own run.json.gz").await;

        // The reference comes first.
        let other = kernels(&[100]);
        let two = [
            ("a.json.gz", compressed.as_slice()),
            ("b.json", other.as_bytes()),
        ];
        page.load_file(&with_traces(folder.path(), &two)).await;
        page.wait_text("[data-testid=compare-headline]", "The target takes 100")
            .await;
    });
}

#[test]
fn one_file_opens_in_a_frame_that_may_do_nothing_but_run_scripts() {
    with_page("one-file-frame", async |page| {
        let folder = tempfile::tempdir().unwrap();
        let trace = gzip(kernels(&[300, 100]).as_bytes());
        let file = with_traces(folder.path(), &[("own.json.gz", &trace)]);
        let name = file.file_name().unwrap().to_str().unwrap();
        // As embedded in a notebook.
        let text = fs::read_to_string(&file).unwrap();
        let text = text.replace('&', "&amp;").replace('"', "&quot;");
        for (name, source) in [
            ("src", format!("src=\"{name}\"")),
            ("srcdoc", format!("srcdoc=\"{text}\"")),
        ] {
            let outer = folder.path().join(format!("{name}.html"));
            let frame = format!(
                "<!DOCTYPE html><iframe width=1200 height=800 sandbox=\"allow-scripts\" {source}></iframe>"
            );
            fs::write(&outer, frame).unwrap();
            page.go_to_file(&outer, "").await;
            page.enter_frame().await;
            page.wait_until_shown(1).await;
            page.click("[data-nav=export]").await;
            page.wait_text("[data-testid=framed]", "Downloads may be blocked")
                .await;
            page.chromium.driver.enter_default_frame().await.unwrap();
        }
    });
}

#[test]
fn a_file_that_the_page_saves_shows_the_same_where_its_sender_was() {
    with_page("one-file-saved", async |page| {
        page.open("own.json", &kernels(&[300, 100])).await;
        let headline = page.text("[data-testid=headline]").await;
        page.click("[data-nav=kernels]").await;
        page.find("[id^=kernel_summary-]").await;
        page.click("[data-nav=export]").await;
        page.wait_text(".one-file", "requests one more file").await;
        page.wait_for("!$('[data-testid=framed]')").await;
        let folder = tempfile::tempdir().unwrap();
        let hosted = saved(page, "dormer-own.html", folder.path()).await;
        // It was announced and counted, and is the only one.
        page.wait_for("$('#requests').dataset.count === '1'").await;
        let asked = page.requests_after_load();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(
            asked[0].target.starts_with("/a/b/dormer.html?v="),
            "{asked:?}"
        );

        page.stop_server();
        let mut file = hosted;
        for _ in 0..2 {
            page.load_file(&file).await;
            page.wait_until_shown(1).await;
            page.find("[id^=kernel_summary-]").await;
            page.wait_text("#requests", "opened as a file").await;
            page.click("[data-nav=overview]").await;
            assert_eq!(page.text("[data-testid=headline]").await, headline);
            // So does a file saved from it.
            page.click("[data-nav=kernels]").await;
            page.find("[id^=kernel_summary-]").await;
            page.click("[data-nav=export]").await;
            file = saved(page, "dormer-own.html", folder.path()).await;
        }
    });
}

/// The server was updated to another build since the page was loaded.
#[test]
fn a_file_of_another_build_is_not_made_into_one() {
    with_files("one-file-newer", &[], async |page, folder| {
        let build: String = page.value("dormer.build").await;
        let file = folder.join("dormer.html");
        let newer = fs::read_to_string(&file)
            .unwrap()
            .replace(&build, &"7".repeat(build.len()));
        fs::write(&file, newer).unwrap();
        page.open_sample().await;
        page.click("[data-nav=export]").await;
        page.click("[data-one-file]").await;
        page.wait_text(".one-file [role=alert]", "dormer.html is of another build")
            .await;
    });
}

#[test]
fn a_file_that_is_saved_without_names_has_none() {
    with_page("one-file-redacted", async |page| {
        let trace = kernels(&[300, 100]).replace("aten::mm", "acme::secret");
        page.stop_server();
        page.load_file(Path::new(ONE_FILE)).await;
        page.open("acme.json", &trace).await;
        let headline = page.text("[data-testid=headline]").await;
        page.click("[data-nav=export]").await;
        page.click("#redact").await;
        page.wait_text(".one-file", "names replaced").await;
        let folder = tempfile::tempdir().unwrap();
        let file = saved(page, "dormer-redacted.html", folder.path()).await;
        let text = fs::read_to_string(&file).unwrap();
        // Long enough not to occur in a module by chance.
        assert!(!text.contains("acme::secret") && !text.contains("acme.json"));
        let all = traces_in(&text);
        let [(name, trace)] = all.as_slice() else {
            panic!("one trace");
        };
        assert_eq!(name, "redacted.json.gz");
        assert!(trace.contains("op_1") && !trace.contains("acme"), "{trace}");
        page.load_file(&file).await;
        page.wait_until_shown(1).await;
        assert_eq!(page.text("[data-testid=headline]").await, headline);
    });
}

#[test]
fn what_the_command_writes_opens_and_has_no_name_where_none_is_wanted() {
    let Some(shared) = shared::folder() else {
        return;
    };
    with_page("one-file-command", async |page| {
        let folder = tempfile::tempdir().unwrap();
        let bytes = shared::trace(&shared, "h100_qwen");
        let plain = Opened::new("h100_qwen", &bytes);
        page.stop_server();
        for is_redacted in [false, true] {
            let file = folder.path().join(format!("{is_redacted}.html"));
            let text = of_command(&plain.profile, &bytes, is_redacted);
            if is_redacted {
                let decoded: Vec<String> = traces_in(&text)
                    .into_iter()
                    .map(|(_, trace)| trace)
                    .collect();
                let own = own_names(&plain.profile);
                assert!(own.len() > 10 && decoded.len() == 1);
                for name in own {
                    assert!(!text.contains(name) && !decoded[0].contains(name), "{name}");
                }
            }
            fs::write(&file, text).unwrap();
            page.load_file(&file).await;
            page.wait_until_shown(1).await;
            let shown = page.text("[data-testid=headline]").await;
            // Numbers are joined to their units by no-break spaces.
            let shown = shown.replace('\u{a0}', " ");
            assert_eq!(shown, plain.report.overview.headline);
        }
    });
}

/// Saves the page with what is open, and stores the file in a folder.
async fn saved(page: &Page, name: &str, folder: &Path) -> PathBuf {
    page.click("[data-one-file]").await;
    page.downloaded(name).await;
    let n_files = fs::read_dir(folder).unwrap().count();
    let file = folder.join(format!("{n_files}.html"));
    fs::rename(page.chromium.downloads.join(name), &file).unwrap();
    file
}

/// The output of `dormer report --format page`, as text.
fn of_command(profile: &Profile, recorded: &[u8], is_redacted: bool) -> String {
    let redacted = is_redacted.then(|| redact(profile));
    let profile = redacted.as_ref().unwrap_or(profile);
    let report = report(profile);
    let document = export::Input::new(profile, &report).illustrated();
    let parts = Parts::new(&html::part(&document), &View::default(), is_redacted);
    let page = parts.page(&fs::read_to_string(ONE_FILE).unwrap()).unwrap();
    let (name, bytes) = match is_redacted {
        true => ("redacted.json.gz", kineto::gzipped(&profile.trace).unwrap()),
        false => ("h100_qwen.json.gz", recorded.to_vec()),
    };
    let (start, data) = (block_start(name, false), STANDARD.encode(bytes));
    format!("{page}{start}{data}{BLOCK_END}")
}

/// The event names that are replaced by redaction.
fn own_names(profile: &Profile) -> BTreeSet<&str> {
    let (plain, redacted) = (&profile.trace, redact(profile));
    let events = plain.events.ids();
    let changed = events.filter(|event| plain.name(*event) != redacted.trace.name(*event));
    let names = changed.map(|event| plain.name(event));
    // Shorter ones are words that occur anywhere.
    names.filter(|name| name.len() > 12).collect()
}

/// The traces in a file, with their names.
fn traces_in(page: &str) -> Vec<(String, String)> {
    let blocks = page
        .split("class=\"trace\" data-codec=\"none\" data-name=\"")
        .skip(1);
    let trace = |block: &str| {
        let (name, rest) = block.split_once("\">")?;
        let (data, _) = rest.split_once("</script>")?;
        let bytes = STANDARD.decode(data).ok()?;
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice())
            .read_to_string(&mut text)
            .ok()?;
        Some((name.to_owned(), text))
    };
    // Matches that are not blocks are text of the script that writes them.
    blocks.filter_map(trace).collect()
}

#[test]
fn a_file_that_was_changed_does_not_start() {
    with_page("one-file-changed", async |page| {
        let folder = tempfile::tempdir().unwrap();
        let html = fs::read_to_string(ONE_FILE).unwrap();
        let changed = html.replacen("const build = ", "const build  = ", 1);
        assert_ne!(changed, html);
        let file = folder.path().join("changed.html");
        fs::write(&file, changed).unwrap();
        page.go_to_file(&file, "").await;
        page.wait_text("#boot-text", "Loading…").await;
        page.wait_console_error("Content Security Policy").await;
    });
}

/// The one-file page with embedded traces, in the format that `boot.js` reads; each continues in a second block, like
/// traces that are too long for one.
fn with_traces(folder: &Path, traces: &[(&str, &[u8])]) -> PathBuf {
    let mut html = fs::read_to_string(ONE_FILE).unwrap();
    for (name, bytes) in traces {
        let (first, second) = bytes.split_at(bytes.len() / 2);
        for (bytes, goes_on) in [(first, false), (second, true)] {
            html += &block_start(name, goes_on);
            html += &STANDARD.encode(bytes);
            html += BLOCK_END;
        }
    }
    let file = folder.join(format!("with {} traces.html", traces.len()));
    fs::write(&file, html).unwrap();
    file
}

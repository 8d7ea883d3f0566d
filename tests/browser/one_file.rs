//! `dormer.html`: the whole page as one file, opened without any server, with or without a trace in it.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::page::with_page;
use super::traces::kernels;
use crate::support::container::gzip;

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
        // A worker from a blob is all that the browser fetched since.
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
        // They are said on the console.
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
        let outer = folder.path().join("outer.html");
        fs::write(
            &outer,
            format!("<!DOCTYPE html><iframe sandbox=\"allow-scripts\" src=\"{name}\">"),
        )
        .unwrap();
        page.go_to_file(&outer, "").await;
        page.enter_frame().await;
        page.wait_until_shown(1).await;
    });
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

/// The one file with traces in it, as `boot.js` finds them.
fn with_traces(folder: &Path, traces: &[(&str, &[u8])]) -> PathBuf {
    let mut html = fs::read_to_string(ONE_FILE).unwrap();
    for (name, bytes) in traces {
        let data = STANDARD.encode(bytes);
        html += &format!(
            "<script type=\"application/octet-stream\" class=\"trace\" data-codec=\"none\" data-name=\"{name}\">{data}</script>\n"
        );
    }
    let file = folder.join(format!("with {} traces.html", traces.len()));
    fs::write(&file, html).unwrap();
    file
}

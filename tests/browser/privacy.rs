//! Nothing leaves the machine: no requests after load, and none to other servers at all.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use dormer_core::output::export::{Input, Source};
use dormer_core::output::redact::redact;
use dormer_core::profile::Profile;
use serde_json::{Value, json};
use xtask::server::{Server, Site};
use zip::ZipArchive;

use super::page::{Page, with_page, with_site};
use super::traces::kernels;
use crate::support::opened::{NO_GPU, profile, report_on};

#[test]
fn no_request_is_made_after_the_page_is_loaded() {
    with_page("requests", async |page| {
        assert!(
            page.log().iter().all(|request| request.status == 200),
            "{:?}",
            page.log()
        );
        page.open_sample().await;
        page.visit_all_views().await;
        page.open("second.json", &kernels(&[7])).await;
        page.drop_file("bad.json", "nonsense").await;
        page.find("#open-error").await;
        assert_eq!(page.requests_after_load(), []);
        page.wait_value("$('#requests').dataset.count", "0").await;
    });
}

#[test]
fn everything_works_without_the_server() {
    with_page("offline", async |page| {
        page.open_sample().await;
        page.stop_server();
        let trace = kernels(&[300, 100]);
        page.open("offline.json", &trace).await;

        page.click("[data-nav=export]").await;
        page.click("[data-format=csv] > summary").await;
        let path = "perf_report_csvs/gpu_timeline.csv";
        page.click(&format!("button[data-path='{path}']")).await;
        assert_eq!(
            page.downloaded("offline-gpu_timeline.csv").await,
            artifact(&trace, path)
        );

        // The palette also finds every file.
        page.command("kernel_summary csv", "kernel_summary.csv")
            .await;
        assert_eq!(
            page.downloaded("offline-kernel_summary.csv").await,
            artifact(&trace, "perf_report_csvs/kernel_summary.csv")
        );
    });
}

#[test]
fn all_files_are_one_archive_and_names_can_be_replaced() {
    with_page("archive", async |page| {
        let trace = kernels(&[300, 100]);
        page.open("own run.json", &trace).await;
        page.click("[data-nav=export]").await;
        // Files that are quickly generated show their size without being requested.
        page.wait_for("/[0-9] [kM]?B/.test($('.artifacts .made')?.textContent)")
            .await;
        page.click("[data-archive=target]").await;
        let profile = profile(&trace);
        let found = page.downloaded("dormer-own_run.zip").await;
        assert_same(&found, &archive(&profile));

        page.click("#redact").await;
        page.wait_for("$('[data-archive]')?.title === 'dormer-redacted.zip'")
            .await;
        page.click("[data-archive=target]").await;
        let found = page.downloaded("dormer-redacted.zip").await;
        let expected = archive(&redact(&profile));
        assert_same(&found, &expected);
    });
}

/// Asserts that two archives contain the same files.
fn assert_same(one: &[u8], other: &[u8]) {
    let (one, other) = (unpacked(one), unpacked(other));
    assert!(one.keys().eq(other.keys()), "other files");
    for (name, text) in &one {
        assert_eq!(Some(text), other.get(name), "{name}");
    }
}

/// The content of an archive, including nested archives. Builds differ in how they deflate, and in the order of JSON
/// keys.
fn unpacked(bytes: &[u8]) -> BTreeMap<String, Value> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut files = BTreeMap::new();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).unwrap();
        let name = file.name().unwrap().into_owned();
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        if content.starts_with(b"PK") {
            let inner = unpacked(&content).into_iter();
            files.extend(inner.map(|(inner, text)| (format!("{name}/{inner}"), text)));
            continue;
        }
        let text = String::from_utf8(content).unwrap();
        let json = name.ends_with(".json").then(|| serde_json::from_str(&text));
        let content = json.and_then(Result::ok).unwrap_or(Value::String(text));
        files.insert(name, content);
    }
    files
}

#[test]
fn the_page_may_not_call_another_server() {
    with_page("foreign-page", async |page| {
        assert_refused(page, &format!("({CALL})(arguments[0]).then(done)")).await;
    });
}

#[test]
fn the_worker_may_not_call_another_server() {
    with_page("foreign-worker", async |page| {
        // The page creates its worker's script as a Blob: add a hook to call into it, and keep a reference to the
        // worker.
        let hook = format!(
            "const probe = `addEventListener('message', event => {{
               if (!event.data?.call) return;
               event.stopImmediatePropagation();
               ({CALL})(event.data.call).then(answer => event.ports[0].postMessage(answer));
             }});\\n`;
             const BlobBefore = Blob, WorkerBefore = Worker;
             Blob = class extends BlobBefore {{
               constructor(parts, options) {{
                 super(options?.type === 'text/javascript' ? [probe, ...parts] : parts, options);
               }}
             }};
             Worker = class extends WorkerBefore {{
               constructor(...rest) {{ super(...rest); window.workerOfPage ??= this; }}
             }};"
        );
        page.before_load(&hook).await;
        page.load("").await;
        page.open_sample().await;

        let ask = "const channel = new MessageChannel();
             channel.port1.onmessage = event => done(event.data);
             window.workerOfPage.postMessage({ call: arguments[0] }, [channel.port2]);";
        assert_refused(page, ask).await;
    });
}

#[test]
fn a_wrong_mime_type_of_the_wasm_files_is_tolerated() {
    with_site(
        "mime",
        |site| site.wasm_type("text/plain"),
        async |page| page.open_sample().await,
    );
}

#[test]
fn the_policy_is_the_one_that_is_promised() {
    with_page("policy", async |page| {
        page.wait_value(
            "$('meta[http-equiv=Content-Security-Policy]').content",
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; font-src 'self'; worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'",
        )
        .await;
    });
}

/// Fetches a URL; the response would not be readable, but the request would have been made.
const CALL: &str = "url => fetch(url, { mode: 'no-cors' }).then(() => 'called', () => 'refused')";

/// Makes a script call another server, which the browser must block.
async fn assert_refused(page: &Page, script: &str) {
    let foreign = Server::start(Site::new("."), 0).unwrap();
    let answer = page.js_async(script, vec![json!(foreign.url())]).await;
    assert_eq!(answer, json!("refused"));
    assert_eq!(foreign.log(), []);
    // The browser reports it on the console; nothing else may be there.
    let policy = "Content Security Policy";
    for error in page.wait_console_error(policy).await {
        assert!(error.contains(policy), "{error}");
    }
}

/// All files as the command line writes them.
fn archive(profile: &Profile) -> Vec<u8> {
    let report = report_on(profile, NO_GPU);
    Input::new(profile, &report).archive().unwrap()
}

/// The file as the command line writes it.
fn artifact(trace: &str, path: &str) -> Vec<u8> {
    let profile = profile(trace);
    let report = report_on(&profile, NO_GPU);
    Input::new(&profile, &report).artifact(path).unwrap().bytes
}

//! The offline copy of the page, as seen in the server's log, and the page as an installed app.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use thirtyfour::Key;
use xtask::server::{Server, Site};
use xtask::weight;

use super::page::{Page, with_files, with_page};
use super::traces::{kernels, shows};

/// Keeps a copy.
async fn keep(page: &Page) {
    page.click("#offline-line").await;
    page.click("#offline-dialog[open] #keep-copy").await;
    page.wait_text("[data-testid=offline-said]", "Saved.").await;
}

/// The id of the running build.
async fn build(page: &Page) -> String {
    page.value("dormer.build").await
}

/// The files of a copy, without their build ids.
async fn kept_files(page: &Page, folder: &str) -> Vec<String> {
    let script = format!(
        "caches.open('dormer-kept:' + new URL({}, location).href)
           .then(cache => cache.keys())
           .then(keys => done(keys.map(key => key.url.slice(new URL({0}, location).href.length)).sort()))",
        json!(folder)
    );
    serde_json::from_value(page.js_async(&script, vec![]).await).unwrap()
}

/// Gives the files of a site another build id, like a new release.
fn release(folder: &Path, old: &str, new: &str) {
    for name in weight::files(folder).unwrap() {
        let file = folder.join(&name);
        let mut bytes = fs::read(&file).unwrap();
        let starts: Vec<usize> = (0..bytes.len().saturating_sub(old.len() - 1))
            .filter(|at| bytes[*at..].starts_with(old.as_bytes()))
            .collect();
        for at in starts {
            bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
        }
        if name == "sw.js" {
            bytes.extend_from_slice(b"// changed\n");
        }
        fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn a_kept_copy_needs_no_server() {
    with_files("offline", &[], async |page, folder| {
        let n_loaded = page.log().len();
        keep(page).await;
        page.screenshot("offline.png").await;
        let build = build(page).await;
        let mut expected: Vec<String> = weight::files(folder).unwrap();
        expected.retain(|name| !["sw.js", "index.html"].contains(&name.as_str()));
        for name in &mut expected {
            *name += &format!("?v={build}");
        }
        expected.extend(["".to_owned(), "index.html".to_owned()]);
        expected.sort();
        assert_eq!(kept_files(page, "./").await, expected);
        // Files that the browser already had were not requested again.
        let asked: Vec<String> = page.log()[n_loaded..]
            .iter()
            .map(|request| request.target.clone())
            .collect();
        assert!(asked.contains(&"/a/b/?newest".to_owned()), "{asked:?}");
        assert!(
            asked.contains(&format!("/a/b/sw.js?v={build}")),
            "{asked:?}"
        );
        assert!(asked.len() <= 9, "{asked:?}");

        // From now on the server receives no requests, whatever the query.
        let n_asked = page.log().len();
        page.load("").await;
        page.open_sample().await;
        // The palette offers the actions for an existing copy.
        page.enter("body", Key::Control + "k").await;
        page.enter("#palette[open] input", "offline").await;
        page.wait_text("#palette-list", "Offline copy: delete it")
            .await;
        page.wait_for("!$('#palette-list').innerText.includes('Save this version')")
            .await;
        page.load("?from=a-link#/kernels").await;
        page.open_sample().await;
        assert_eq!(page.log()[n_asked..], []);

        page.stop_server();
        page.load("").await;
        page.open_sample().await;
        page.visit_all_views().await;
        // The manifest is loaded late, and from the copy like the rest.
        let has_come = "performance.getEntriesByType('resource').some(of => of.name.includes('manifest.json'))";
        page.wait_for(has_come).await;
        page.wait_value("$('#requests').dataset.count", "0").await;
        page.go("#/overview").await;
        let trace = kernels(&[300, 100]);
        page.open("offline.json", &trace).await;
        shows(page, &trace).await;

        // Export builds its file from the copy.
        page.click("[data-nav=export]").await;
        page.click("[data-one-file]").await;
        let file = page.downloaded("dormer-offline.html").await;
        assert!(file.starts_with(b"<!-- This file holds"));
    });
}

#[test]
fn a_newer_build_is_used_when_the_user_asks_for_it() {
    with_files("offline-newer", &[], async |page, folder| {
        keep(page).await;
        let old = build(page).await;
        let new: String = old.chars().rev().collect();
        assert_ne!(old, new);
        release(folder, &old, &new);

        // The server has another build and another service worker: the page keeps using the copy.
        page.js_async(
            "navigator.serviceWorker.getRegistration().then(kept => kept.update()).then(() => done())",
            vec![],
        )
        .await;
        let n_asked = page.log().len();
        page.load("").await;
        assert_eq!(build(page).await, old);
        assert_eq!(page.log()[n_asked..], []);

        // One request reveals that there is a newer build, and the copy stays unchanged.
        page.click("#offline-line").await;
        page.wait_text("#offline-dialog", &old).await;
        page.click("#look-for-newer").await;
        page.wait_text("[data-testid=offline-said]", &new).await;
        let asked: Vec<_> = page.log()[n_asked..].to_vec();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0].target, "/a/b/?newest");
        page.screenshot("offline-newer.png").await;
        page.load("").await;
        assert_eq!(build(page).await, old);

        // It is replaced when the user asks.
        page.click("#offline-line").await;
        page.click("#look-for-newer").await;
        page.click("#replace-copy").await;
        page.wait_text("[data-testid=offline-said]", "Reload the page")
            .await;
        let n_asked = page.log().len();
        page.load("").await;
        assert_eq!(build(page).await, new);
        page.open_sample().await;
        assert_eq!(page.log()[n_asked..], []);
        let kept = kept_files(page, "./").await;
        assert!(!kept.iter().any(|file| file.contains(&old)), "{kept:?}");

        // A server in the middle of an update changes nothing.
        page.load("").await;
        fs::write(
            folder.join("index.html"),
            fs::read_to_string(folder.join("index.html"))
                .unwrap()
                .replace(&new, &"3".repeat(new.len())),
        )
        .unwrap();
        page.click("#offline-line").await;
        page.click("#look-for-newer").await;
        page.click("#replace-copy").await;
        page.wait_text("[data-testid=offline-said]", "of another build")
            .await;
        page.load("").await;
        assert_eq!(build(page).await, new);

        // The question is also answered without a server.
        page.click("#offline-line").await;
        page.stop_server();
        page.click("#look-for-newer").await;
        page.wait_text("[data-testid=offline-said]", "cannot be reached")
            .await;
        page.click("#delete-copy").await;
        page.wait_text("[data-testid=offline-said]", "The copy is deleted.")
            .await;
        let left: Value = page.js_async("caches.keys().then(done)", vec![]).await;
        assert_eq!(left, json!([]));
        page.console_errors().await;
    });
}

#[test]
fn two_copies_on_one_host_are_apart() {
    with_files("offline-apart", &[], async |page, folder| {
        // One folder within the other, so that the service worker of one could answer for both.
        let inner = folder.join("inner");
        for name in weight::files(folder).unwrap() {
            let copy = inner.join(&name);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(folder.join(&name), copy).unwrap();
        }
        keep(page).await;
        let outer = page.url().to_owned();
        page.go_to(&format!("{outer}inner/")).await;
        page.wait_text("#offline-line", "Save this version").await;
        let old = build(page).await;
        release(&inner, &old, &"7".repeat(old.len()));
        page.go_to("about:blank").await;
        page.go_to(&format!("{outer}inner/")).await;
        page.find("#offline-line").await;
        assert_eq!(build(page).await, "7".repeat(old.len()));
        keep(page).await;

        page.load("").await;
        assert_eq!(build(page).await, old);
        page.click("#offline-line").await;
        page.click("#delete-copy").await;
        page.wait_text("[data-testid=offline-said]", "The copy is deleted.")
            .await;
        page.stop_server();
        page.go_to(&format!("{outer}inner/")).await;
        page.wait_text("#offline-line", "Saved for offline use")
            .await;
    });
}

#[test]
fn a_copy_can_be_installed_as_an_app() {
    with_files("offline-app", &[], async |page, _| {
        // Until then, the browser is not given a manifest, and requests none.
        assert!(page.value::<bool>("!$('link[rel=manifest]')").await);
        keep(page).await;
        page.find("link[rel=manifest]").await;
        let cdp = page.chromium.driver.cdp();
        let found = cdp
            .send_raw("Page.getAppManifest", json!({}))
            .await
            .unwrap();
        assert_eq!(found["errors"], json!([]), "{found}");
        let manifest: Value = serde_json::from_str(found["data"].as_str().unwrap()).unwrap();
        assert_eq!(manifest["start_url"], "./");
        assert_eq!(manifest["id"], Value::Null);
        let found = cdp
            .send_raw("Page.getInstallabilityErrors", json!({}))
            .await
            .unwrap();
        assert_eq!(found["installabilityErrors"], json!([]), "{found}");
        for icon in manifest["icons"].as_array().unwrap() {
            let script = format!(
                "const icon = new Image();
                 icon.onload = () => done(`${{icon.naturalWidth}}x${{icon.naturalHeight}}`);
                 icon.onerror = () => done('no picture');
                 icon.src = {};",
                icon["src"]
            );
            assert_eq!(page.js_async(&script, vec![]).await, icon["sizes"]);
        }
    });
}

#[test]
fn an_app_opens_the_files_it_is_launched_with() {
    with_page("offline-launch", async |page| {
        let (target, reference) = (kernels(&[100]), kernels(&[50]));
        page.before_load(
            "Object.defineProperty(window, 'launchQueue', { value: { setConsumer: then => window.launch = then } })",
        )
        .await;
        page.load("").await;
        page.js("window.launch({ files: [] })").await;
        let script = format!(
            "const handle = (name, text) => ({{ getFile: async () => new File([text], name) }});
             window.launch({{ files: [handle('target.json', {}), handle('reference.json', {})] }});",
            json!(target),
            json!(reference)
        );
        page.js(&script).await;
        page.wait_text("[data-testid=compare-headline]", "The target takes")
            .await;
    });
}

#[test]
fn a_page_opened_as_a_file_needs_no_copy() {
    with_page("offline-file", async |page| {
        let one_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist/dormer.html");
        page.load_file(&one_file).await;
        page.find("[data-testid=empty]").await;
        page.wait_for("!$('#offline-line')").await;
        // It is served by itself: its policy permits no service worker.
        let server = Server::start(Site::new(one_file.parent().unwrap()), 0).unwrap();
        page.go_to(&format!("{}dormer.html", server.url())).await;
        page.find("[data-testid=empty]").await;
        page.wait_for("!$('#offline-line')").await;
        page.open_sample().await;
        page.click("#offline-button").await;
        page.wait_text("#offline-dialog[open]", "one file with everything in it")
            .await;
    });
}

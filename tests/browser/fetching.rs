//! Links that name the files to open: `#/?url=traces/rank0.json.gz`.

use serde_json::json;
use xtask::server::{Server, Site};

use super::job::ranks;
use super::page::{Page, with_files, with_page};
use super::traces::{kernels, shows};
use crate::support::container::gzip;

/// The requests since the page was loaded.
fn asked(page: &Page) -> Vec<String> {
    let requests = page.log().into_iter();
    let targets = requests.map(|request| request.target);
    targets
        .filter(|target| target.contains("traces/"))
        .collect()
}

#[test]
fn a_link_opens_a_file_of_the_same_site() {
    let trace = kernels(&[300, 200, 100]);
    let packed = gzip(trace.as_bytes());
    let files: &[(&str, &[u8])] = &[("traces/rank 0.json.gz", &packed)];
    with_files("url", files, async |page, _| {
        page.load("#/kernels?url=traces/rank%200.json.gz").await;
        page.wait_until_shown(1).await;
        page.find("[id^=kernel_summary-]").await;
        page.wait_text(".file", "rank 0.json.gz").await;
        page.wait_text("#requests", "1 request: rank 0.json.gz")
            .await;
        assert_eq!(asked(page), ["/a/b/traces/rank%200.json.gz"]);

        // The address opens it again, also from another view.
        page.click("[data-nav=overview]").await;
        page.wait_hash("url=traces/rank%200.json.gz").await;
        let hash = page.hash().await;
        page.load(&hash).await;
        page.wait_until_shown(1).await;
        shows(page, &trace).await;

        // Another trace from elsewhere.
        page.open("dropped.json", &kernels(&[5])).await;
        page.wait_for("!location.hash.includes('url=')").await;
    });
}

#[test]
fn a_link_that_is_followed_replaces_what_is_open() {
    let (first, second) = (kernels(&[100]), kernels(&[5, 500]));
    let files: &[(&str, &[u8])] = &[
        ("traces/a.json", first.as_bytes()),
        ("traces/b.json", second.as_bytes()),
    ];
    with_files("url-followed", files, async |page, _| {
        page.load("#/?url=traces/a.json").await;
        page.wait_until_shown(1).await;
        page.go("#/kernels?url=./traces/b.json").await;
        page.wait_until_shown(2).await;
        page.wait_text(".file", "b.json").await;
        page.find("[id^=kernel_summary-]").await;

        // A link that cannot be fetched leaves the open trace unchanged.
        page.go("#/?url=traces/none.json").await;
        page.wait_text("#open-error", "none.json").await;
        page.wait_text("#open-error", "404").await;
        page.wait_text(".file", "b.json").await;
        assert!(!page.console_errors().await.is_empty());
    });
}

#[test]
fn two_addresses_are_compared_and_ranks_are_a_job() {
    let (target, reference) = (kernels(&[100]), kernels(&[50]));
    let ranks = ranks();
    let mut files: Vec<(String, &[u8])> = vec![
        ("traces/target.json".to_owned(), target.as_bytes()),
        ("traces/reference.json".to_owned(), reference.as_bytes()),
    ];
    for (name, text) in &ranks {
        files.push((format!("traces/{name}"), text.as_bytes()));
    }
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), *bytes))
        .collect();
    with_files("url-several", &files, async |page, _| {
        page.load("#/?url=traces/target.json&url=traces/reference.json")
            .await;
        page.wait_text("[data-testid=compare-headline]", "The target takes")
            .await;
        page.wait_hash("url=traces/target.json&url=traces/reference.json")
            .await;
        page.wait_text("#requests", "2 requests: target.json, …")
            .await;

        let urls = ranks.iter().map(|(name, _)| format!("url=traces/{name}"));
        let urls: Vec<String> = urls.collect();
        page.load(&format!("#/?{}", urls.join("&"))).await;
        page.find("[data-testid=job]").await;

        // Missing files are reported next to what was opened.
        page.load("#/?url=traces/target.json&url=traces/none.json")
            .await;
        page.wait_until_shown(1).await;
        page.wait_text("#open-error", "none.json").await;
        assert!(!page.console_errors().await.is_empty());
    });
}

#[test]
fn what_cannot_be_fetched_is_said() {
    let page_of_login = b"<!DOCTYPE html><p>please log in</p>";
    let files: &[(&str, &[u8])] = &[("traces/login.json", page_of_login)];
    with_files("url-errors", files, async |page, _| {
        let foreign = Server::start(Site::new("."), 0).unwrap();
        let elsewhere = format!("#/?url={}Cargo.toml", foreign.url());
        // A server that disconnects midway.
        page.before_load(
            "const fetchBefore = fetch;
             fetch = (url, ...rest) => String(url).endsWith('cut.json')
               ? Promise.resolve(new Response(new ReadableStream({
                   pull(to) { this.sent ? to.error(new TypeError('network error')) : to.enqueue(new Uint8Array(7)); this.sent = true; },
                 })))
               : fetchBefore(url, ...rest);",
        )
        .await;
        for (hash, sentence) in [
            (
                "#/?url=traces/none.json",
                "The server has no such file (status 404).",
            ),
            ("#/?url=traces/login.json", "This is a web page"),
            ("#/?url=cut.json", "The connection broke off after 7 bytes."),
            (
                "#/?url=http://[",
                "The address in the link is not a valid URL.",
            ),
            ("#/?url=data:application/json,%7B%7D", "another site"),
            (elsewhere.as_str(), foreign.url().trim_end_matches('/')),
        ] {
            page.load(hash).await;
            page.wait_text("#error", sentence).await;
        }
        assert_eq!(foreign.log(), []);
        page.screenshot("url-elsewhere.png").await;
        // A missing file is reported on the console, but there are no policy violations.
        let errors = page.console_errors().await;
        assert!(
            errors.iter().all(|error| error.contains("404")),
            "{errors:?}"
        );
        // The page keeps working.
        page.open("good.json", &kernels(&[1])).await;
    });
}

/// A file is fetched without the credentials that the browser has for the site, and only from the address in the link.
#[test]
fn a_link_sends_no_login_and_follows_nobody() {
    let trace = kernels(&[100]);
    let files: &[(&str, &[u8])] = &[
        ("traces/a.json", trace.as_bytes()),
        // A folder, for which the server redirects.
        ("traces/moved.json/index.html", b""),
    ];
    with_files("url-login", files, async |page, _| {
        page.js("document.cookie = 'login=secret; path=/'").await;
        page.load("#/?url=traces/a.json").await;
        page.wait_until_shown(1).await;
        let log = page.log().into_iter();
        let requests = log.map(|request| (request.target, request.identifying));
        let requests: Vec<(String, Vec<&str>)> = requests.collect();
        // The page itself is requested with credentials.
        assert!(
            requests.contains(&("/a/b/".to_owned(), vec!["cookie"])),
            "{requests:?}"
        );
        assert!(
            requests.contains(&("/a/b/traces/a.json".to_owned(), vec![])),
            "{requests:?}"
        );

        page.load("#/?url=traces/moved.json").await;
        page.wait_text("[data-testid=reason]", "redirects the request")
            .await;
        assert_eq!(
            asked(page),
            ["/a/b/traces/a.json", "/a/b/traces/moved.json"]
        );
        // The browser reports it, too.
        page.console_errors().await;
    });
}

#[test]
fn fetching_can_be_canceled() {
    with_page("url-cancel", async |page| {
        page.before_load(
            "fetch = (before => (url, options) => String(url).endsWith('slow.json')
               ? new Promise((_, fail) => options.signal.addEventListener('abort', () => { globalThis.ended = true; fail(options.signal.reason); }))
               : before(url, options))(fetch);",
        )
        .await;
        page.load("#/?url=slow.json").await;
        page.wait_text("[data-testid=loading]", "Fetching the trace")
            .await;
        page.wait_text("[data-testid=loading]", "slow.json").await;
        page.click("#cancel").await;
        page.find("[data-testid=empty]").await;
        assert_eq!(page.js("return globalThis.ended").await, json!(true));

        // A trace dropped in the meantime is not replaced.
        page.load("#/?url=slow.json").await;
        page.find("[data-testid=loading]").await;
        page.open("own.json", &kernels(&[1])).await;
        assert_eq!(page.js("return globalThis.ended").await, json!(true));
    });
}

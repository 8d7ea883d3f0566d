//! The page from a test's perspective: user actions, and what is on screen.

mod elements;
mod navigation;
mod traces;
mod waiting;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use xtask::server::{Request, Server, Site};
use xtask::weight;

use super::chromium::{Chromium, Programs};
use super::pool::{self, RUNTIME};
use crate::support::skipped::skipped;

/// How long anything may take before the test fails. Machines that build and test at the same time are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// The polling interval. At 20 ms, polling took a fifth of the time of all tests.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The views, each with an element that only it has.
pub(crate) const VIEWS: [(&str, &str); 12] = [
    ("overview", "[data-testid=headline]"),
    ("report", "[data-testid=report]"),
    ("operations", "[id^=unified_perf_summary-]"),
    ("roofline", "#roofline-chart circle"),
    ("kernels", "[id^=kernel_summary-]"),
    ("tree", "[id^=node-]"),
    ("system", "[data-testid=system]"),
    ("timeline", "#lanes .lane"),
    ("memory", "[data-testid=memory]"),
    ("steps", "[data-testid=steps]"),
    ("compare", "[data-testid^=compare]"),
    ("export", "[data-testid=artifacts]"),
];

/// Runs a test on the page, served under `/a/b/` and loaded in a fresh browser. Errors on the console at the end fail
/// the test.
pub(crate) fn with_page(name: &str, test: impl AsyncFnOnce(&mut Page)) {
    with_site(name, |site| site, test);
}

/// The same, served differently.
pub(crate) fn with_site(
    name: &str,
    change: impl FnOnce(Site) -> Site,
    test: impl AsyncFnOnce(&mut Page),
) {
    let Some(programs) = programs() else {
        return;
    };
    let site = change(Site::new(dist()).under("/a/b/"));
    let mut page = RUNTIME.block_on(Page::start(&programs, site));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        RUNTIME.block_on(async {
            page.load("").await;
            test(&mut page).await;
            let errors = page.console_errors().await;
            assert!(errors.is_empty(), "errors on the console: {errors:#?}");
        });
    }));
    RUNTIME.block_on(async {
        if outcome.is_ok() {
            return pool::leave(page.chromium, &[&page.url, "file://"]).await;
        }
        page.screenshot(&format!("failed-{name}.png")).await;
        pool::end(page.chromium).await;
    });
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

/// The same, served from a copy of the page in a folder of its own, with additional files.
pub(crate) fn with_files(
    name: &str,
    files: &[(&str, &[u8])],
    test: impl AsyncFnOnce(&mut Page, &Path),
) {
    if programs().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    copy_page(folder.path());
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let site = |_| Site::new(folder.path()).under("/a/b/");
    with_site(name, site, async |page| test(page, folder.path()).await);
}

/// Copies the built page into a folder.
fn copy_page(folder: &Path) {
    for name in weight::files(&dist()).unwrap() {
        let copy = folder.join(&name);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(dist().join(&name), copy).unwrap();
    }
}

/// What the tests need to run; if it is missing, reports that, or fails if `CI` is set.
fn programs() -> Option<Programs> {
    let missing = if !dist().join("index.html").is_file() {
        "the page is not built; `cargo xtask dist` builds it"
    } else if let Some(programs) = Programs::find() {
        return Some(programs);
    } else {
        "Chromium and chromedriver are not installed; `cargo xtask test` installs them"
    };
    skip(missing);
    None
}

/// Reports why a test is skipped; fails if `CI` is set.
pub(crate) fn skip(missing: &str) {
    assert!(std::env::var_os("CI").is_none(), "not tested: {missing}");
    skipped(missing);
}

/// The folder of the built page.
pub(crate) fn dist() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist")
}

/// The problems on screen once it is stable: checks again as long as there are some.
pub(crate) async fn settled(look: impl AsyncFn() -> Vec<String>) -> Vec<String> {
    const LOOKS: usize = 20;
    let mut wrong = look().await;
    for _ in 1..LOOKS {
        if wrong.is_empty() {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS * 2).await;
        wrong = look().await;
    }
    wrong
}

/// A browser tab with the page, and the page's server.
pub(crate) struct Page {
    pub(crate) chromium: Chromium,
    server: Option<Server>,
    url: String,
    /// Requests answered until everything was loaded.
    n_load_requests: usize,
}

impl Page {
    async fn start(programs: &Programs, site: Site) -> Page {
        let server = Server::start(site, 0).unwrap();
        let url = server.url();
        let chromium = pool::take(programs).await;
        let driver = &chromium.driver;
        driver.set_script_timeout(PATIENCE).await.unwrap();
        Page {
            chromium,
            server: Some(server),
            url,
            n_load_requests: 0,
        }
    }

    /// Reloads the page at a hash, and waits until it has everything it will ever need.
    pub(crate) async fn load(&mut self, hash: &str) {
        let driver = &self.chromium.driver;
        // A changed hash alone would not reload the page.
        driver.goto("about:blank").await.unwrap();
        driver.goto(format!("{}{hash}", self.url)).await.unwrap();
        self.find("#main").await;
        self.js_async("dormer.worker.then(done, done)", vec![])
            .await;
        self.n_load_requests = self.log().len();
    }

    /// Sets the size of the page in CSS pixels.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tell_browser("Emulation.setDeviceMetricsOverride", size)
            .await;
    }

    /// Saves a screenshot as `tests/output/NAME`.
    pub(crate) async fn screenshot(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("output");
        std::fs::create_dir_all(&folder).unwrap();
        self.chromium
            .driver
            .screenshot(&folder.join(name))
            .await
            .unwrap();
    }

    /// All requests to the server.
    pub(crate) fn log(&self) -> Vec<Request> {
        self.server.as_ref().map(Server::log).unwrap_or_default()
    }

    /// The requests to the server after the page was loaded.
    pub(crate) fn requests_after_load(&self) -> Vec<Request> {
        self.log().split_off(self.n_load_requests)
    }

    /// Stops the server.
    pub(crate) fn stop_server(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

//! Addresses, windows and frames.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{BETWEEN_LOOKS, PATIENCE, Page, VIEWS};

/// How long the address must be unchanged before it counts: the page writes a change up to 0.4 s later
/// (`app/src/page/browser/address.rs`).
const HASH_RESTS: Duration = Duration::from_millis(600);

impl Page {
    /// The URL of the page.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Navigates to any address.
    pub(crate) async fn go_to(&self, url: &str) {
        self.chromium.driver.goto(url).await.unwrap();
    }

    /// Switches to one of the windows, in the order in which they were opened.
    pub(crate) async fn enter_window(&self, number: usize) {
        let driver = &self.chromium.driver;
        let start = Instant::now();
        let window = loop {
            if let Some(window) = driver.windows().await.unwrap().get(number) {
                break window.clone();
            }
            assert!(start.elapsed() < PATIENCE, "there is no window {number}");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        };
        driver.switch_to_window(window).await.unwrap();
    }

    /// Switches to the page that contains the frame.
    pub(crate) async fn leave_frame(&self) {
        self.chromium.driver.enter_default_frame().await.unwrap();
    }

    /// Switches to the first frame of the page.
    pub(crate) async fn enter_frame(&self) {
        self.find("iframe").await;
        self.chromium.driver.enter_frame(0).await.unwrap();
    }

    /// Navigates to a file on this machine, at a hash.
    pub(crate) async fn go_to_file(&self, file: &Path, hash: &str) {
        let url = format!("file://{}{hash}", file.display()).replace(' ', "%20");
        self.chromium.driver.goto(url).await.unwrap();
    }

    /// Loads the page from another server, and waits until it has everything it will ever need.
    pub(crate) async fn load_url(&self, url: &str) {
        let driver = &self.chromium.driver;
        // A changed hash alone would not reload the page.
        driver.goto("about:blank").await.unwrap();
        driver.goto(url).await.unwrap();
        self.find("#main").await;
        self.js_async("dormer.worker.then(done, done)", vec![])
            .await;
    }

    /// Loads the page from a file on this machine, at a hash, and waits until it has everything it will ever need.
    pub(crate) async fn load_file_at(&self, file: &Path, hash: &str) {
        self.go_to_file(file, hash).await;
        self.find("#main").await;
        self.js_async("dormer.worker.then(done, done)", vec![])
            .await;
    }

    /// The same without a hash.
    pub(crate) async fn load_file(&self, file: &Path) {
        self.load_file_at(file, "").await;
    }

    /// Goes to a hash, like a link.
    pub(crate) async fn go(&self, hash: &str) {
        self.js(&format!("location.hash = {}", json!(hash))).await;
    }

    /// Goes to every view by its link, one after another.
    pub(crate) async fn visit_all_views(&self) {
        for (view, mark) in VIEWS {
            self.click(&format!("[data-nav={view}]")).await;
            self.find(mark).await;
        }
    }

    /// The URL's hash, once the page has no pending change to it.
    pub(crate) async fn hash(&self) -> String {
        let start = Instant::now();
        let (mut hash, mut since) = (String::new(), start);
        while since.elapsed() < HASH_RESTS {
            let now: String = self.value("location.hash").await;
            if now != hash {
                (hash, since) = (now, Instant::now());
            }
            assert!(start.elapsed() < PATIENCE, "the hash goes on changing");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        hash
    }

    /// What the page is to be told about its medium and its user: as in the tool's `Emulation.setEmulatedMedia`.
    pub(crate) async fn emulate_media(&self, media: Value) {
        self.tell_browser("Emulation.setEmulatedMedia", media).await;
    }

    /// A phone in place of a window: narrow, without a pointer, used with fingers.
    pub(crate) async fn become_phone(&self) {
        let touch = json!({"enabled": true, "maxTouchPoints": 2});
        self.tell_browser("Emulation.setTouchEmulationEnabled", touch)
            .await;
        let mobile = json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true});
        self.tell_browser("Emulation.setDeviceMetricsOverride", mobile)
            .await;
        self.wait_for("matchMedia('(hover: none) and (pointer: coarse)').matches")
            .await;
    }

    /// Fingers at positions of the window; none to lift them.
    pub(crate) async fn touch(&self, kind: &str, fingers: &[(f64, f64)]) {
        let points = fingers.iter().zip(0..);
        let points = points.map(|((x, y), id)| json!({"x": x, "y": y, "id": id}));
        let points: Vec<Value> = points.collect();
        let event = json!({"type": kind, "touchPoints": points});
        self.tell_browser("Input.dispatchTouchEvent", event).await;
    }

    pub(super) async fn tell_browser(&self, command: &str, arguments: Value) {
        let tools = self.chromium.driver.cdp();
        tools.send_raw(command, arguments).await.unwrap();
    }

    /// Runs a script in each page loaded from now on, before the page's own scripts.
    pub(crate) async fn before_load(&self, script: &str) {
        let cdp = self.chromium.driver.cdp();
        let source = json!({"source": script});
        cdp.send_raw("Page.addScriptToEvaluateOnNewDocument", source)
            .await
            .unwrap();
    }
}

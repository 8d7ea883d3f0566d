//! The page from a test's perspective: user actions, and what is on screen.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thirtyfour::prelude::*;
use xtask::server::{Request, Server, Site};
use xtask::weight;

use super::chromium::{Chromium, Programs};
use super::pool::{self, RUNTIME};
use crate::support::skipped::skipped;

/// How long anything may take before the test fails. Machines that build and test at the same time are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// The polling interval. At 20 ms, polling took a fifth of the time of all tests.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// How long the address must be unchanged before it counts: the page writes a change up to 0.4 s later
/// (`app/src/page/browser/address.rs`).
const HASH_RESTS: Duration = Duration::from_millis(600);

const FINDERS: &str = "const $ = css => document.querySelector(css);
    const $$ = css => [...document.querySelectorAll(css)];
    ";

/// The views, each with an element that only it has.
pub(crate) const VIEWS: [(&str, &str); 12] = [
    ("overview", "[data-testid=headline]"),
    ("report", "[data-testid=report]"),
    ("operations", "[id^=unified_perf_summary-]"),
    ("roofline", "#roof circle"),
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

    /// Switches to the first frame of the page.
    pub(crate) async fn enter_frame(&self) {
        self.find("iframe").await;
        self.chromium.driver.enter_frame(0).await.unwrap();
    }

    /// Runs a script in each page loaded from now on, before the page's own scripts.
    pub(crate) async fn before_load(&self, script: &str) {
        let cdp = self.chromium.driver.cdp();
        let source = json!({"source": script});
        cdp.send_raw("Page.addScriptToEvaluateOnNewDocument", source)
            .await
            .unwrap();
    }

    /// Runs a script in the page, where `$` finds an element and `$$` all matching ones.
    pub(crate) async fn js(&self, script: &str) -> Value {
        self.js_with(script, vec![]).await
    }

    /// The same; `arguments` holds the arguments.
    async fn js_with(&self, script: &str, arguments: Vec<Value>) -> Value {
        let script = format!("{FINDERS}{script}");
        let result = self.chromium.driver.execute(&*script, arguments).await;
        let result = result.unwrap_or_else(|error| panic!("{script}: {error}"));
        result.json().clone()
    }

    /// Runs a script that uses elements, as soon as they exist: until it does not throw.
    pub(crate) async fn act(&self, script: &str) {
        let script = format!("(() => {{ {script}; return true; }})()");
        self.wait_for(&script).await;
    }

    pub(crate) async fn value<T: DeserializeOwned>(&self, expression: &str) -> T {
        let value = self.js(&format!("return {expression}")).await;
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Runs a script that calls `done` with its result.
    pub(crate) async fn js_async(&self, script: &str, arguments: Vec<Value>) -> Value {
        let script = format!("{FINDERS}const done = arguments[arguments.length - 1];\n{script}");
        let driver = &self.chromium.driver;
        let result = driver.execute_async(&*script, arguments).await;
        let result = result.unwrap_or_else(|error| panic!("{script}: {error}"));
        result.json().clone()
    }

    /// Waits until an expression is neither `null` nor `false`. An expression that throws is retried.
    pub(crate) async fn wait_for(&self, expression: &str) -> Value {
        let is_so = |value: &Value| !value.is_null() && *value != json!(false);
        self.wait_until(expression, is_so, "waited in vain").await
    }

    /// Waits until an expression has this value.
    pub(crate) async fn wait_value(&self, expression: &str, value: impl Into<Value>) {
        let value = value.into();
        let wanted = format!("waited in vain for {value}");
        self.wait_until(expression, |now| *now == value, &wanted)
            .await;
    }

    async fn wait_until(
        &self,
        expression: &str,
        is_so: impl Fn(&Value) -> bool,
        wanted: &str,
    ) -> Value {
        let start = Instant::now();
        let look = format!("try {{ return {expression} }} catch {{ return null }}");
        loop {
            let value = self.js(&look).await;
            if is_so(&value) {
                return value;
            }
            if start.elapsed() > PATIENCE {
                // If it throws, report that.
                let value: Value = self.value(expression).await;
                panic!("{wanted}: {expression} is {value}");
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Waits until an element's text contains some words.
    pub(crate) async fn wait_text(&self, css: &str, words: &str) {
        let (css, words) = (json!(css), json!(words));
        self.wait_for(&format!(
            "[$({css})?.innerText, $({css})?.textContent].some(text => text?.includes({words}))"
        ))
        .await;
    }

    /// Waits until the URL's hash contains some words.
    pub(crate) async fn wait_hash(&self, words: &str) {
        let words = json!(words);
        self.wait_for(&format!("location.hash.includes({words})"))
            .await;
    }

    /// Waits until the URL's hash starts with some words.
    pub(crate) async fn wait_hash_begins(&self, words: &str) {
        let words = json!(words);
        self.wait_for(&format!("location.hash.startsWith({words})"))
            .await;
    }

    /// Uses an element as soon as it exists and nothing covers it. If it is redrawn in the meantime, it is looked up
    /// again.
    async fn with_element<T>(
        &self,
        css: &str,
        act: impl AsyncFn(WebElement) -> WebDriverResult<T>,
    ) -> T {
        const PASSING: [&str; 4] = [
            "no such element",
            "stale element",
            "click intercepted",
            "not interactable",
        ];
        let start = Instant::now();
        loop {
            self.wait_for(&format!("!!$({})", json!(css))).await;
            let found = self.chromium.driver.find(By::Css(css)).await;
            let done = match found {
                Ok(element) => act(element).await,
                Err(error) => Err(error),
            };
            let error = match done {
                Ok(done) => return done,
                Err(error) => error.to_string(),
            };
            let is_passing = PASSING.iter().any(|passing| error.contains(passing));
            assert!(is_passing && start.elapsed() < PATIENCE, "{css}: {error}");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// An element, as soon as it exists.
    pub(crate) async fn find(&self, css: &str) -> WebElement {
        self.with_element(css, async |element| Ok(element)).await
    }

    /// The text of an element, as soon as it exists.
    pub(crate) async fn text(&self, css: &str) -> String {
        self.with_element(css, async |element| element.text().await)
            .await
    }

    /// The text of an element, as soon as it meets a condition.
    pub(crate) async fn text_when(&self, css: &str, is_so: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text(css).await;
            if is_so(&text) {
                return text;
            }
            let waited = start.elapsed();
            assert!(waited < PATIENCE, "waited in vain: {css} says {text:?}");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Waits until an element has exactly this text.
    pub(crate) async fn wait_says(&self, css: &str, words: &str) {
        self.text_when(css, |text| text == words).await;
    }

    /// Clicks an element, as soon as it exists.
    pub(crate) async fn click(&self, css: &str) {
        self.with_element(css, async |element| element.click().await)
            .await;
    }

    /// Opens the first finding that contains an element, unless it is open.
    pub(crate) async fn unfold_finding(&self, css: &str) {
        let holds = format!("[data-testid=finding]:has({css})");
        self.find(&holds).await;
        if self.value(&format!("!$({}).open", json!(holds))).await {
            self.click(&format!("{holds}:not([open]) > summary")).await;
            self.wait_for(&format!("$({}).open", json!(holds))).await;
        }
    }

    /// Sends keys to an element, as soon as it exists.
    pub(crate) async fn enter(&self, css: &str, keys: impl Into<TypingData>) {
        let keys = keys.into().to_string();
        self.with_element(css, async |element| element.send_keys(&*keys).await)
            .await;
    }

    /// Chooses the first option of a list that contains these words, as soon as it exists.
    pub(crate) async fn choose_option(&self, list: &str, words: &str) {
        let (list, words) = (json!(list), json!(words));
        self.act(&format!(
            "const list = $({list});
             list.value = [...list.options].find(option => option.text.includes({words})).value;
             list.dispatchEvent(new Event('change', {{ bubbles: true }}))"
        ))
        .await;
    }

    /// Types some words into the palette and chooses the first matching command.
    pub(crate) async fn command(&self, words: &str, command: &str) {
        self.enter("body", Key::Control + "k").await;
        self.enter("#palette[open] input", words).await;
        let first = format!("$('#palette-0 .what').innerText.startsWith('{command}')");
        self.wait_for(&first).await;
        self.enter("#palette[open] input", Key::Enter + "").await;
    }

    /// Presses a key on the focused element.
    pub(crate) async fn press(&self, key: Key) {
        let keys = self.chromium.driver.action_chain().send_keys(key);
        keys.perform().await.unwrap();
    }

    /// Chooses a file like the file dialog.
    pub(crate) async fn choose(&self, file: &Path) {
        self.enter("#file-input", file.to_str().unwrap()).await;
    }

    /// Drops a file onto the page.
    pub(crate) async fn drop_file(&self, name: &str, text: &str) {
        self.drop_files(&[(name, text)]).await;
    }

    /// Drops files onto the page together: their names and texts.
    pub(crate) async fn drop_files(&self, files: &[(&str, &str)]) {
        self.drop_at("0", files).await;
    }

    /// Drops a file on the right half of the window, as the reference.
    pub(crate) async fn drop_reference(&self, name: &str, text: &str) {
        self.drop_at("innerWidth - 10", &[(name, text)]).await;
    }

    async fn drop_at(&self, x: &str, files: &[(&str, &str)]) {
        let script = format!(
            "const data = new DataTransfer();
             for (const [name, text] of arguments[0])
               data.items.add(new File([text], name));
             for (const kind of ['dragenter', 'dragover', 'drop'])
               $('#main').dispatchEvent(
                 new DragEvent(kind, {{ bubbles: true, cancelable: true, dataTransfer: data, clientX: {x} }}));"
        );
        self.js_with(&script, vec![json!(files)]).await;
    }

    /// A downloaded file, as soon as it is complete.
    pub(crate) async fn downloaded(&self, name: &str) -> Vec<u8> {
        let file = self.chromium.downloads.join(name);
        let start = Instant::now();
        // The browser reserves the name with an empty file.
        while std::fs::metadata(&file).map_or(0, |file| file.len()) == 0 {
            assert!(start.elapsed() < PATIENCE, "{name} was not downloaded");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        std::fs::read(file).unwrap()
    }

    /// Waits until this many traces were opened and shown.
    pub(crate) async fn wait_until_shown(&self, n_loads: u32) {
        let shown = format!("document.documentElement.dataset.ready === '{n_loads}'");
        let error = "!!$('#error')";
        self.wait_for(&format!("{shown} || {error}")).await;
        if self.value(error).await {
            panic!("the page says: {}", self.text("#error").await);
        }
    }

    /// Opens the built-in sample and waits until it is shown.
    pub(crate) async fn open_sample(&self) {
        self.click("#open-sample").await;
        self.wait_until_shown(1).await;
    }

    /// The same, then goes to a hash and waits until an element exists.
    pub(crate) async fn open_sample_at(&self, hash: &str, css: &str) {
        self.open_sample().await;
        self.go(hash).await;
        self.find(css).await;
    }

    /// Drops a trace onto the page and waits until it is shown.
    pub(crate) async fn open(&self, name: &str, text: &str) {
        let shown: Option<String> = self.value("document.documentElement.dataset.ready").await;
        let n_before: u32 = shown.map_or(0, |n| n.parse().unwrap());
        self.drop_file(name, text).await;
        self.wait_until_shown(n_before + 1).await;
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

    /// Sets the size of the page in CSS pixels.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        let command = "Emulation.setDeviceMetricsOverride";
        self.chromium
            .driver
            .cdp()
            .send_raw(command, size)
            .await
            .unwrap();
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

    /// Errors on the console since the last call, including policy violations.
    pub(crate) async fn console_errors(&self) -> Vec<String> {
        let log = self.chromium.driver.browser_log().await.unwrap();
        let errors = log.into_iter().filter(|entry| entry.level == "SEVERE");
        errors.map(|entry| entry.message).collect()
    }

    /// Waits until there is an error on the console that contains some words; returns the errors until then.
    pub(crate) async fn wait_console_error(&self, words: &str) -> Vec<String> {
        let start = Instant::now();
        let mut errors = Vec::new();
        loop {
            errors.extend(self.console_errors().await);
            if errors.iter().any(|error| error.contains(words)) {
                return errors;
            }
            assert!(start.elapsed() < PATIENCE, "no {words:?} in {errors:?}");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
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

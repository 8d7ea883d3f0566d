//! The page in Chromium: how long it takes from what a user does to what is on screen.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use thirtyfour::prelude::*;
use xtask::server::{Server, Site};

use crate::chromium::{Chromium, Programs};

/// The page, loaded and ready for a file.
pub(crate) struct Page {
    chromium: Chromium,
    _server: Server,
    n_opened: u32,
}

/// One file opened.
#[derive(Deserialize)]
pub(crate) struct Opened {
    /// From the choice to the drawn Overview.
    pub(crate) seconds: f64,
    /// The memory of the worker, which never shrinks.
    pub(crate) wasm_bytes: f64,
}

impl Page {
    /// Loads the page from `dist`.
    pub(crate) async fn load(programs: &Programs, dist: &Path) -> WebDriverResult<Page> {
        let server = Server::start(Site::new(dist), 0)?;
        let chromium = Chromium::start(programs).await;
        let driver = &chromium.driver;
        driver.set_script_timeout(Duration::from_secs(600)).await?;
        driver.goto(server.url()).await?;
        let loaded = "const done = arguments[arguments.length - 1];
            const look = () => document.querySelector('#file-input') ? dormer.worker.then(() => done()) : setTimeout(look, 50);
            look();";
        driver.execute_async(loaded, vec![]).await?;
        Ok(Page {
            chromium,
            _server: server,
            n_opened: 0,
        })
    }

    /// Opens a file as a user does. The page itself takes the time and says so when it is done.
    pub(crate) async fn open(&mut self, file: &Path) -> WebDriverResult<Opened> {
        let driver = &self.chromium.driver;
        driver
            .execute("location.hash = '#/overview'", vec![])
            .await?;
        self.give("#file-input", file).await?;
        self.n_opened += 1;
        // Waits for the mark without looking all the time: the two cores have better things to do.
        let wait = "const [ready, done] = arguments, root = document.documentElement;
            const look = () => {
                if (root.dataset.ready === ready) done({ seconds: +root.dataset.openedMs / 1e3, wasm_bytes: +root.dataset.wasmBytes });
                const error = document.querySelector('#error');
                if (error) done({ error: error.textContent });
            };
            new MutationObserver(look).observe(root, { attributes: true, childList: true, subtree: true });
            look();";
        let ready = vec![json!(self.n_opened.to_string())];
        let marks: Value = driver.execute_async(wait, ready).await?.json().clone();
        let opened = serde_json::from_value(marks.clone());
        Ok(opened.unwrap_or_else(|_| panic!("the page says: {marks}")))
    }

    /// Chooses a GPU. Gives the milliseconds until nothing on the page changed any more.
    pub(crate) async fn choose_gpu(&self, name: &str) -> WebDriverResult<f64> {
        let choose = "const [name, done] = arguments, select = document.querySelector('#gpu');
            const start = performance.now();
            let last = start;
            const watch = new MutationObserver(() => last = performance.now());
            watch.observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });
            const look = () => {
                if (performance.now() - last < 1000) return setTimeout(look, 100);
                watch.disconnect();
                done(last - start);
            };
            select.value = name;
            select.dispatchEvent(new Event('change', { bubbles: true }));
            look();";
        self.milliseconds(choose, vec![json!(name)]).await
    }

    /// Compares the open trace with another one. Gives the milliseconds from choosing its file to the comparison on screen.
    pub(crate) async fn compare_with(&self, file: &Path) -> WebDriverResult<f64> {
        let driver = &self.chromium.driver;
        let hear = "document.querySelector('#reference-input')
                .addEventListener('input', () => globalThis.chosen = performance.now(), { once: true });";
        driver.execute(hear, vec![]).await?;
        self.give("#reference-input", file).await?;
        let wait = "const [done] = arguments;
            const look = () => {
                if (document.querySelector('[data-testid=compare-headline]'))
                    requestAnimationFrame(() => setTimeout(() => done(performance.now() - chosen)));
                else setTimeout(look, 5);
            };
            look();";
        self.milliseconds(wait, vec![]).await
    }

    /// Gives a file to an element that takes one, the same file again included.
    async fn give(&self, input: &str, file: &Path) -> WebDriverResult<()> {
        let driver = &self.chromium.driver;
        let forget = format!("document.querySelector('{input}').value = ''");
        driver.execute(forget, vec![]).await?;
        let input = driver.find(By::Css(input)).await?;
        input.send_keys(file.to_string_lossy()).await
    }

    async fn milliseconds(&self, script: &str, args: Vec<Value>) -> WebDriverResult<f64> {
        let driver = &self.chromium.driver;
        let measured = driver.execute_async(script, args).await?;
        Ok(measured.json().as_f64().unwrap_or(f64::NAN))
    }

    /// What controls the browser.
    pub(crate) fn driver(&self) -> &WebDriver {
        &self.chromium.driver
    }

    /// What the browser calls itself.
    pub(crate) async fn browser(&self) -> WebDriverResult<String> {
        let script = "return navigator.userAgentData?.brands?.map(b => `${b.brand} ${b.version}`).join(', ') ?? navigator.userAgent";
        let name = self.chromium.driver.execute(script, vec![]).await?;
        Ok(name.json().as_str().unwrap_or("unknown").to_owned())
    }

    /// Ends the browser, which would outlive its driver otherwise.
    pub(crate) async fn close(self) -> WebDriverResult<()> {
        self.chromium.driver.clone().quit().await
    }
}

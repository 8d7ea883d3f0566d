//! The page in Chromium: from choosing a file to the Overview being on screen.

use std::path::Path;
use std::time::Duration;

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
        let forget = "document.querySelector('#file-input').value = ''";
        driver.execute(forget, vec![]).await?;
        let input = driver.find(By::Css("#file-input")).await?;
        input.send_keys(file.to_string_lossy()).await?;
        self.n_opened += 1;
        // Waits for the mark without looking all the time: the two cores have better things to do.
        let wait = "const [ready, done] = arguments, root = document.documentElement;
            const look = () => {
                if (root.dataset.ready === ready) done({ ms: +root.dataset.openedMs, bytes: +root.dataset.wasmBytes });
                const error = document.querySelector('#error');
                if (error) done({ error: error.textContent });
            };
            new MutationObserver(look).observe(root, { attributes: true, childList: true, subtree: true });
            look();";
        let ready = vec![json!(self.n_opened.to_string())];
        let marks: Value = driver.execute_async(wait, ready).await?.json().clone();
        match (marks["ms"].as_f64(), marks["bytes"].as_f64()) {
            (Some(ms), Some(wasm_bytes)) => Ok(Opened {
                seconds: ms / 1e3,
                wasm_bytes,
            }),
            _ => panic!("the page says: {marks}"),
        }
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

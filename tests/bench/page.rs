//! The page in Chromium: the time from a user's action to the result on screen.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use thirtyfour::prelude::*;
use xtask::server::{Server, Site};

use super::Outcome;
use super::chromium::{Chromium, Programs};

/// The page, loaded and ready for a file.
pub(crate) struct Page {
    chromium: Chromium,
    server: Server,
    n_opened: u32,
}

/// The result of opening a file.
#[derive(Deserialize)]
pub(crate) struct Opened {
    /// From choosing the file to the ranked findings on screen.
    pub(crate) seconds: f64,
    /// The memory of the worker, which never shrinks.
    pub(crate) wasm_bytes: f64,
}

/// A choice that is changed while a trace is open.
#[derive(Clone, Copy)]
pub(crate) enum Choice {
    Gpu,
    Step,
    Threshold,
}

impl Page {
    /// Loads the page from `dist` in a new browser.
    pub(crate) async fn load(programs: &Programs, dist: &Path) -> Outcome<Page> {
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
            server,
            n_opened: 0,
        })
    }

    /// Opens a file like a user.
    pub(crate) async fn open(&mut self, file: &Path) -> Outcome<Opened> {
        self.n_opened += 1;
        // The page sets a mark after the frame that shows the Overview. Only that mark is watched, to leave the CPU to
        // the page.
        let hear = "const [ready] = arguments, root = document.documentElement;
            location.hash = '#/overview';
            globalThis.shown = undefined;
            document.querySelector('#file-input').addEventListener('input', () => globalThis.chosen = performance.now(), { once: true });
            new MutationObserver((_, watch) => {
                if (root.dataset.ready !== ready) return;
                globalThis.shown = performance.now();
                watch.disconnect();
            }).observe(root, { attributes: true });";
        let ready = vec![json!(self.n_opened.to_string())];
        self.driver().execute(hear, ready).await?;
        self.give("#file-input", file).await?;
        let wait = "const [done] = arguments;
            const look = () => {
                const error = document.querySelector('#error');
                if (error) return done({ error: error.textContent });
                if (!globalThis.shown) return setTimeout(look, 100);
                if (!document.querySelector('[data-testid=findings]')) return done({ error: 'no findings on screen' });
                done({ seconds: (shown - chosen) / 1e3, wasm_bytes: +document.documentElement.dataset.wasmBytes });
            };
            look();";
        let said = self.driver().execute_async(wait, vec![]).await?;
        let opened = Opened::deserialize(said.json());
        opened.map_err(|_| format!("{}: the page says {}", file.display(), said.json()).into())
    }

    /// Opens the ranks of a job. Returns the seconds from choosing the files to the job with all ranks on screen.
    pub(crate) async fn open_job(&self, files: &[PathBuf]) -> Outcome<Option<f64>> {
        let hear = "document.querySelector('#file-input').addEventListener('input', () => globalThis.chosen = performance.now(), { once: true });";
        self.driver().execute(hear, vec![]).await?;
        let paths: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        let input = self.driver().find(By::Css("#file-input")).await?;
        input.send_keys(paths.join("\n")).await?;
        let wait = "const [done] = arguments;
            const $ = id => document.querySelector(`[data-testid=${id}]`);
            const look = () => {
                const error = document.querySelector('#error, #open-error');
                if (error) return done(error.textContent);
                if (!$('job') || $('job-loading')) return setTimeout(look, 20);
                requestAnimationFrame(() => setTimeout(() => done(performance.now() - chosen)));
            };
            look();";
        self.seconds(wait, vec![]).await
    }

    /// Changes a choice. Returns the seconds until the last change is on screen; `None` if the trace does not offer the
    /// choice.
    pub(crate) async fn choose(&self, choice: Choice) -> Outcome<Option<f64>> {
        let choice = match choice {
            Choice::Gpu => "gpu",
            Choice::Step => "step",
            Choice::Threshold => "threshold",
        };
        let script = include_str!("choices.js");
        self.seconds(script, vec![json!(choice)]).await
    }

    /// Compares the open trace with another one. Returns the seconds from choosing its file to the comparison on
    /// screen.
    pub(crate) async fn compare_with(&self, file: &Path) -> Outcome<Option<f64>> {
        let hear = "const input = document.querySelector('#reference-input');
            globalThis.compared = undefined;
            input.addEventListener('input', () => globalThis.chosen = performance.now(), { once: true });
            new MutationObserver((_, watch) => {
                if (!document.querySelector('[data-testid=compare-headline]')) return;
                watch.disconnect();
                requestAnimationFrame(() => setTimeout(() => globalThis.compared = performance.now()));
            }).observe(document.body, { childList: true, subtree: true });";
        self.driver().execute(hear, vec![]).await?;
        self.give("#reference-input", file).await?;
        let wait = "const [done] = arguments;
            const look = () => globalThis.compared ? done(compared - chosen) : setTimeout(look, 100);
            look();";
        self.seconds(wait, vec![]).await
    }

    /// The number of requests that the page and its workers have made so far.
    pub(crate) fn requests(&self) -> usize {
        self.server.log().len()
    }

    /// Passes a file to an input element, even if it is the same file again.
    async fn give(&self, input: &str, file: &Path) -> Outcome {
        let forget = format!("document.querySelector('{input}').value = ''");
        self.driver().execute(forget, vec![]).await?;
        let input = self.driver().find(By::Css(input)).await?;
        Ok(input.send_keys(file.to_string_lossy()).await?)
    }

    /// The milliseconds that a script returns, in seconds; an error is its sentence.
    async fn seconds(&self, script: &str, args: Vec<Value>) -> Outcome<Option<f64>> {
        let measured = self.driver().execute_async(script, args).await?;
        match measured.json() {
            Value::String(wrong) => Err(wrong.clone().into()),
            measured => Ok(measured.as_f64().map(|ms| ms / 1e3)),
        }
    }

    /// The driver of the browser.
    pub(crate) fn driver(&self) -> &WebDriver {
        &self.chromium.driver
    }

    /// The browser's name and version: `Chromium 156`.
    pub(crate) async fn browser(&self) -> Outcome<String> {
        let script = "const brand = navigator.userAgentData?.brands?.find(({ brand }) => brand === 'Chromium');
            return brand ? `${brand.brand} ${brand.version}` : navigator.userAgent";
        let name = self.driver().execute(script, vec![]).await?;
        Ok(name.json().as_str().unwrap_or("unknown").to_owned())
    }

    /// Closes the browser, which would otherwise outlive its driver.
    pub(crate) async fn close(self) -> Outcome {
        Ok(self.chromium.driver.clone().quit().await?)
    }
}

//! A pool of browsers that tests use one after another: starting one takes as long as most tests.
//!
//! A test gets a new tab, without leftovers of other tests: no storage, files, scripts, or other windows.

use std::fs;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::json;
use thirtyfour::prelude::*;
use tokio::runtime::{Builder, Runtime};

use super::chromium::{Chromium, Programs};

/// The runtime of all tests: a connection to a driver belongs to the runtime that created it.
pub(super) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
});

/// The browsers not in use.
static WAITING: Mutex<Vec<Chromium>> = Mutex::new(Vec::new());

/// A fresh browser.
pub(super) async fn take(programs: &Programs) -> Chromium {
    let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner).pop();
    match waiting {
        Some(chromium) => chromium,
        None => Chromium::start(programs).await,
    }
}

/// Returns a browser to the pool after a reset; `origins` are the visited ones. If the reset fails, the browser is
/// closed.
pub(super) async fn leave(chromium: Chromium, origins: &[&str]) {
    match clean(&chromium, origins).await {
        Ok(()) => {
            let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push(chromium);
        }
        Err(_) => end(chromium).await,
    }
}

/// Closes a browser.
pub(super) async fn end(chromium: Chromium) {
    // It may have exited already.
    let _ = chromium.driver.clone().quit().await;
}

async fn clean(chromium: &Chromium, origins: &[&str]) -> WebDriverResult<()> {
    let driver = &chromium.driver;
    let old = driver.windows().await?;
    let new = driver.new_tab().await?;
    for window in old {
        driver.switch_to_window(window).await?;
        driver.close_window().await?;
    }
    driver.switch_to_window(new).await?;
    let tools = driver.cdp();
    for origin in origins {
        let all = json!({"origin": origin, "storageTypes": "all"});
        tools.send_raw("Storage.clearDataForOrigin", all).await?;
    }
    tools
        .send_raw("Network.clearBrowserCache", json!({}))
        .await?;
    for file in fs::read_dir(&chromium.downloads)? {
        fs::remove_file(file?.path())?;
    }
    // Reading the console log clears it.
    driver.browser_log().await?;
    Ok(())
}

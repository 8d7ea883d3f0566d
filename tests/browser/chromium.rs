//! A headless Chromium and the driver that controls it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use thirtyfour::common::log::LoggingPrefsLogLevel;
use thirtyfour::prelude::*;
use thirtyfour::{ChromeCapabilities, ChromiumLikeCapabilities};

/// A running browser with a temporary profile and download folder.
pub(crate) struct Chromium {
    pub(crate) driver: WebDriver,
    /// The files that the page lets the user save.
    pub(crate) downloads: PathBuf,
    _chromedriver: Chromedriver,
}

/// The programs that browser tests need.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    chromium: PathBuf,
    chromedriver: PathBuf,
}

impl Programs {
    /// Searches for them on the path.
    pub(crate) fn find() -> Option<Programs> {
        let chromium = ["chromium", "chromium-browser", "google-chrome"];
        Some(Programs {
            chromium: chromium.iter().find_map(|name| which::which(name).ok())?,
            chromedriver: which::which("chromedriver").ok()?,
        })
    }
}

impl Chromium {
    /// Starts a browser with a fresh profile.
    pub(crate) async fn start(programs: &Programs) -> Chromium {
        let chromedriver = Chromedriver::start(&programs.chromedriver);
        let downloads = chromedriver.folder.join("downloads");
        std::fs::create_dir(&downloads).unwrap();
        let capabilities = capabilities(programs, &chromedriver.folder, &downloads).unwrap();
        let driver = WebDriver::new(&chromedriver.url, capabilities)
            .await
            .unwrap();
        Chromium {
            driver,
            downloads,
            _chromedriver: chromedriver,
        }
    }
}

fn capabilities(
    programs: &Programs,
    folder: &Path,
    downloads: &Path,
) -> WebDriverResult<ChromeCapabilities> {
    let mut capabilities = DesiredCapabilities::chrome();
    capabilities.set_binary(&programs.chromium.to_string_lossy())?;
    for argument in [
        "--headless",
        "--no-sandbox", // Root in a container has no sandbox.
        "--disable-gpu",
        "--window-size=1280,900",
        "--disable-dev-shm-usage", // Containers limit it to 64 MB.
        // Chromium exits with its driver, however that exits.
        "--remote-debugging-pipe",
        // Requests that Chromium would otherwise send to its vendor:
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ] {
        capabilities.add_arg(argument)?;
    }
    let profile = folder.join("profile");
    capabilities.add_arg(&format!("--user-data-dir={}", profile.display()))?;
    capabilities.add_experimental_option(
        "prefs",
        json!({"download.default_directory": downloads, "download.prompt_for_download": false}),
    )?;
    capabilities.set_browser_log_level(LoggingPrefsLogLevel::All)?;
    Ok(capabilities)
}

/// Runs a driver until the other end of its input is closed, as when the process that started it is gone for any
/// reason. Then its folder is removed as well: an exiting browser writes into it until the end.
const WATCH: &str = r#"
    trap "" INT
    "$0" --port=0 &
    exec > /dev/null
    cat
    kill $!
    wait
    for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$1"; sleep 0.5; [ -e "$1" ] || break; done
"#;

/// A `chromedriver` process, and a folder for its browser's files; both end with the value, or with this program.
struct Chromedriver {
    process: Child,
    url: String,
    folder: PathBuf,
}

impl Chromedriver {
    /// Starts one. If another program takes the port between its selection and its use, tries again.
    fn start(program: &Path) -> Chromedriver {
        const ATTEMPTS: usize = 3;
        let mut started = (0..ATTEMPTS).filter_map(|_| Chromedriver::try_start(program));
        started.next().expect("chromedriver says its port")
    }

    /// Starts one on a free port that it selects and prints; `None` if it exits before.
    fn try_start(program: &Path) -> Option<Chromedriver> {
        let folder = tempfile::tempdir().unwrap().keep();
        let mut process = Command::new("sh")
            .args(["-c", WATCH])
            .arg(program)
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let port = output.lines().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let driver = Chromedriver {
            process,
            url: port.map_or_else(String::new, |port| format!("http://127.0.0.1:{port}")),
            folder,
        };
        port.is_some().then_some(driver)
    }
}

impl Drop for Chromedriver {
    fn drop(&mut self) {
        // This closes its input.
        let _ = self.process.wait();
    }
}

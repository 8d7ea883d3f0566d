//! The page served by `dormer open`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dormer_core::base::format;

use super::job::ranks;
use super::page::{Page, dist, skip, with_page};
use super::traces::{headline, kernels, shows};
use crate::support::command::OpenCommand;
use crate::support::container::gzip;

/// Starts `dormer open` in a folder, with the built page.
fn start(program: &Path, folder: &Path, arguments: &[&str]) -> OpenCommand {
    let page = fs::canonicalize(dist()).unwrap();
    OpenCommand::start(program, folder, &page, arguments)
}

/// The command, which Cargo builds together with the tests of the whole workspace; reports if it is missing.
fn program() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let name = format!("dormer{}", std::env::consts::EXE_SUFFIX);
    let program = test.parent().unwrap().parent().unwrap().join(name);
    let help = Command::new(&program).args(["open", "--help"]).output();
    if help.is_ok_and(|help| help.status.success()) {
        return Some(program);
    }
    skip("the command line is not built; `cargo build --package dormer` builds it");
    None
}

/// Runs a test with the command and files in a folder.
fn with_command(
    name: &str,
    files: &[(&str, &str)],
    test: impl AsyncFnOnce(&mut Page, &Path, &Path),
) {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    with_page(name, async |page| {
        // Only the command serves anything here.
        page.stop_server();
        test(page, &program, folder.path()).await;
    });
}

/// Writes a compressed trace.
fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, gzip(text.as_bytes())).unwrap();
}

#[test]
fn a_trace_opens_and_the_command_ends_with_the_page() {
    let trace = kernels(&[300, 100]);
    let files = [("my run #1.json.gz", trace.as_str())];
    with_command("command", &files, async |page, program, folder| {
        let mut opened = start(program, folder, &["my run #1.json.gz"]);
        page.load_url(&opened.url).await;
        page.wait_until_shown(1).await;
        shows(page, &trace).await;
        page.wait_text(".file", "my run #1.json.gz").await;
        page.wait_text("#requests", "1 request").await;
        // A dropped trace causes no requests.
        page.open("own.json", &kernels(&[5])).await;
        assert_eq!(
            page.value::<u32>("Number($('#requests').dataset.count)")
                .await,
            1
        );

        // Saving causes no requests.
        page.click("[data-nav=export]").await;
        page.click("[data-one-file]").await;
        let saved = page.downloaded("dormer-own.html").await;
        let saved = String::from_utf8(saved).unwrap();
        let (head, _) = saved.split_once("<style").unwrap();
        assert!(head.contains("connect-src 'none'"), "{head}");
        assert!(!head.contains("dormer-open"), "{head}");

        // After a reload, the command is still there.
        page.load_url(&opened.url).await;
        page.wait_until_shown(1).await;
        page.chromium.driver.goto("about:blank").await.unwrap();
        opened.end();
    });
}

#[test]
fn a_log_directory_lists_its_runs_and_opens_them() {
    let [old, new] = [kernels(&[300, 100]), kernels(&[300])];
    let mut files = vec![
        (
            "logs/tune/old.1764000000000000000.pt.trace.json.gz".to_owned(),
            old.as_str(),
        ),
        (
            "logs/tune/new.1764000900000000000.pt.trace.json.gz".to_owned(),
            new.as_str(),
        ),
    ];
    let ranks = ranks();
    for (name, text) in &ranks {
        files.push((format!("logs/train/{name}.gz"), text.as_str()));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    with_command("command-runs", &files, async |page, program, folder| {
        let opened = start(program, folder, &["logs"]);
        page.load_url(&opened.url).await;
        let all = format::counted(files.len() as u64, "trace");
        page.wait_text("[data-testid=headline]", &format!("2 runs with {all}"))
            .await;
        page.wait_text("[data-run=tune] tbody tr:first-child", "new")
            .await;

        // One trace.
        page.click("[data-run=tune] tbody tr:nth-child(2) a").await;
        page.wait_until_shown(1).await;
        shows(page, &old).await;

        // Two traces: the newer one is the target.
        page.click("#back-to-runs").await;
        for row in [1, 2] {
            page.click(&format!("[data-run=tune] tbody tr:nth-child({row}) input"))
                .await;
        }
        page.wait_text("[data-testid=chosen-runs]", "compared with the older old.")
            .await;
        page.screenshot("command-runs.png").await;
        page.click("#open-chosen").await;
        page.wait_until_shown(2).await;
        page.find("[data-testid=compare-headline]").await;
        page.wait_text(".trace-bar", "new.1764000900000000000")
            .await;
        page.click("[data-nav=overview]").await;
        assert_eq!(page.text("[data-testid=headline]").await, headline(&new));

        // All ranks.
        page.click("#back-to-runs").await;
        page.click("[data-open-run=train]").await;
        page.find("[data-testid=job] [data-testid=headline]").await;

        // New files in the folder are listed.
        page.click("#back-to-runs").await;
        write(folder, "logs/later/trace.json.gz", &new);
        page.wait_text("[data-run=later]", "trace").await;
        page.enter("#runs-filter", "TUNE").await;
        page.wait_for("$$('[data-testid=run]').length === 1").await;

        // After the command exits, the last list stays.
        drop(opened);
        page.wait_text("[data-testid=runs-error]", "dormer open")
            .await;
        page.find("[data-run=tune]").await;
        assert!(!page.console_errors().await.is_empty());
    });
}

#[test]
fn runs_are_calm_on_a_phone_and_in_the_dark() {
    let files: Vec<(String, String)> = (0..30)
        .map(|n| {
            let time = 1_764_000_000_u64 + 60 * n;
            let name = format!("a-node-with-a-rather-long-name-{n:02}.cluster.local_12345");
            let file = format!(
                "logs/experiments/7b-{}/{name}.{time}000000000.pt.trace.json.gz",
                n / 12
            );
            (file, kernels(&[100]))
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    with_command("command-looks", &files, async |page, program, folder| {
        let opened = start(program, folder, &["logs"]);
        for (width, theme) in [(1280, "light"), (1280, "dark"), (390, "light")] {
            page.resize(width, 900).await;
            page.load_url(
                &opened
                    .url
                    .replace("#/runs", &format!("#/runs?theme={theme}")),
            )
            .await;
            page.find("[data-run='experiments/7b-1']").await;
            page.click("[data-run='experiments/7b-2'] tbody input")
                .await;
            page.find("#open-chosen").await;
            let wide: bool = page
                .value("document.documentElement.scrollWidth > innerWidth")
                .await;
            assert!(!wide, "{width}");
            page.screenshot(&format!("command-runs-{width}-{theme}.png"))
                .await;
        }
    });
}

//! The files of a job: archives, merged, damaged and endless ones.

use std::path::PathBuf;

use serde_json::json;
use tempfile::NamedTempFile;
use thirtyfour::prelude::*;

use super::{drop_job, info, ranks};
use crate::browser::page::{Page, with_page};
use crate::browser::traces::kernels;
use crate::support::container::{gzip, tar, zip};
use crate::support::text::event;

#[test]
fn a_damaged_file_is_set_apart_and_the_rest_is_a_job() {
    with_page("job-damaged", async |page| {
        let mut files = ranks();
        files[2].1 = format!("{{{}, \"traceEvents\": nonsense", info(2));
        drop_job(page, &files).await;
        page.find("[data-testid=job]").await;
        page.wait_text("[data-testid=job-quality]", "r2.json").await;
        page.wait_text("[data-testid=job-quality]", "Rank 2 of 4 not given")
            .await;
        page.wait_for("$$('[data-testid=job-ranks] tbody tr').length === 3")
            .await;

        // If no file can be read, there is no job, and the page says why.
        let files = [0, 1].map(|number| {
            (
                format!("bad{number}.json"),
                format!("{{{}, x", info(number)),
            )
        });
        drop_job(page, &files).await;
        page.wait_text("#error", "bad1.json").await;
    });
}

#[test]
fn files_that_may_be_a_job_are_offered_as_one() {
    with_page("job-offer", async |page| {
        let files: Vec<(String, String)> = (0..5)
            .map(|number| (format!("rank{number}.json"), kernels(&[10 + number])))
            .collect();
        drop_job(page, &files).await;
        page.wait_text("#open-as-job", "Analyze all 5 as ranks of one job")
            .await;
        page.click("#open-as-job").await;
        page.wait_text(".file", "Job of 5 ranks").await;
        assert_eq!(page.requests_after_load(), []);
    });
}

/// Chooses an archive like the file dialog. Its ranks can be opened as long as the returned file exists.
async fn choose_archive(page: &Page, suffix: &str, bytes: &[u8]) -> NamedTempFile {
    let archive = tempfile::Builder::new().suffix(suffix).tempfile().unwrap();
    std::fs::write(archive.path(), bytes).unwrap();
    page.choose(archive.path()).await;
    page.wait_text(".file", "Job of 3 ranks").await;
    archive
}

/// Opens the trace of a rank by its row in the table of ranks.
async fn open_rank(page: &Page, row: &str, file: &str) {
    let button = format!("[data-testid=job-ranks] tbody tr:{row} button");
    page.click(&button).await;
    page.wait_until_shown(1).await;
    page.wait_text(".file", file).await;
}

#[test]
fn an_archive_of_ranks_is_a_job() {
    with_page("job-zip", async |page| {
        let files = ranks();
        let members: Vec<(&str, &[u8])> = (files.iter().take(3))
            .map(|(name, text)| (&**name, text.as_bytes()))
            .collect();
        let _archive = choose_archive(page, ".zip", &zip(&members)).await;
        open_rank(page, "last-child", "r2.json").await;
    });
}

#[test]
fn a_tar_archive_of_ranks_is_a_job() {
    with_page("job-tar", async |page| {
        let files = ranks();
        let long = format!("run/{}/r2.json.gz", "x".repeat(150));
        let third = gzip(&files[2].1);
        let members: Vec<(&str, &[u8])> = vec![
            ("run/r0.json", files[0].1.as_bytes()),
            ("run/notes.txt", b"of no use"),
            ("run/r1.json", files[1].1.as_bytes()),
            (&long, &third),
        ];
        let whole = tar(&members);
        // The last rank is truncated in the middle of its bytes.
        let start = whole.windows(third.len()).position(|bytes| bytes == third);
        let cut = gzip(&whole[..start.unwrap() + third.len() / 2]);
        let cases = [
            (".tar", whole.clone()),
            (".tar.gz", gzip(&whole)),
            (".tgz", cut),
        ];
        for (suffix, bytes) in cases {
            page.load("").await;
            let _archive = choose_archive(page, suffix, &bytes).await;
            // The slow rank is first.
            open_rank(page, "first-child", "r1.json").await;
        }
        assert_eq!(page.requests_after_load(), []);
    });
}

/// The ranks in one file, as a tool merges them: each event has its rank, and processes have other numbers.
fn merged() -> String {
    let ranks = ranks().into_iter().zip(0_u64..);
    let events = ranks.flat_map(|((_, text), rank)| {
        let mut trace: serde_json::Value = serde_json::from_str(&text).unwrap();
        let events = trace["traceEvents"].take();
        let events = events.as_array().unwrap().clone().into_iter();
        events.map(move |mut event| {
            if let Some(pid) = event["pid"].as_u64() {
                event["pid"] = json!(pid + rank * 10_000);
            }
            event["args"]["rank"] = json!(rank);
            event
        })
    });
    json!({ "traceEvents": events.collect::<Vec<_>>() }).to_string()
}

#[test]
fn a_file_into_which_ranks_are_merged_is_a_job() {
    with_page("job-merged", async |page| {
        page.drop_files(&[("merged.json", &merged())]).await;
        page.wait_text(".file", "Job of 4 ranks").await;
        page.wait_text("[data-testid=job-ranks]", "merged.json, rank 3")
            .await;
        // One of them is opened, and only that one is read.
        open_rank(page, "nth-child(2)", "merged.json, rank ").await;
        page.click("#back-to-job").await;
        page.wait_text(".file", "Job of 4 ranks").await;
        assert_eq!(page.requests_after_load(), []);
    });
}

/// A rank that takes seconds to read.
fn endless(rank: u32) -> Vec<u8> {
    let events: String = (0..50_000)
        .map(|at| event(&format!(r#""name": "aten::op_{at}""#)) + ",\n")
        .collect();
    let head = gzip(format!("{{{}, \"traceEvents\": [", info(rank)));
    [head, gzip(events).repeat(60), gzip("]}")].concat()
}

#[test]
fn what_was_read_is_kept_when_reading_is_canceled() {
    with_page("job-cancel", async |page| {
        // Several are read at once, so that the endless one does not block the others.
        page.before_load(
            "Object.defineProperty(Navigator.prototype, 'hardwareConcurrency', { get: () => 4 })",
        )
        .await;
        page.load("").await;
        let folder = tempfile::tempdir().unwrap();
        let mut paths: Vec<PathBuf> = Vec::new();
        for (name, text) in ranks().into_iter().take(2) {
            paths.push(folder.path().join(name));
            std::fs::write(paths.last().unwrap(), text).unwrap();
        }
        paths.push(folder.path().join("r2.json.gz"));
        std::fs::write(paths.last().unwrap(), endless(2)).unwrap();
        let paths: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        page.enter("#file-input", paths.join("\n")).await;
        page.wait_text("[data-testid=ranks-read]", "2 of 3 ranks")
            .await;
        // The partial result is shown, with the number of files it covers; opened parts stay open.
        page.wait_text("[data-testid=headline] .read-of", "2 of 3 read")
            .await;
        page.wait_for("$$('.job :is(h2, h3) .read-of').length > 4")
            .await;
        page.find("[data-testid=job-loading] #cancel").await;
        page.enter("#heatmap", Key::Down + "").await;
        page.wait_text("[data-testid=heat-chosen]", "Rank 0").await;
        page.click("#cancel").await;
        page.wait_for("!$('[data-testid=job-loading]')").await;
        page.wait_text(".file", "Job of 2 ranks").await;
        page.wait_text("[data-testid=headline] .read-of", "2 of 3 read")
            .await;
        page.wait_text("[data-testid=heat-chosen]", "Rank 0").await;
        page.wait_text("[data-testid=job-quality]", "canceled after 2 of 3 files")
            .await;
        page.wait_value("document.title", "Job \u{b7} Dormer").await;
        page.wait_value("$('#requests').dataset.count", "0").await;
    });
}

//! Many ranks of one job: read, put together, shown, and opened one by one.

use std::path::PathBuf;

use dormer_core::testing::Timetable;
use serde_json::json;
use thirtyfour::prelude::*;

use super::page::{Page, with_page};
use super::traces::kernels;
use crate::support::container::{gzip, zip};
use crate::support::text::event;

/// What a trace of a rank says of itself, before its events.
fn info(rank: u32) -> String {
    format!(
        r#""distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 4, "pg_config": [{{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 4, "ranks": [0, 1, 2, 3]}}]}}, "host_name": "node{}""#,
        rank / 2
    )
}

/// A rank with two steps; in each it computes for so many microseconds, and all ranks meet 2 ms after the
/// step has started.
fn rank(rank: u32, work_us: u32) -> String {
    const COMMS: &str = r#""Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 4, "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]""#;
    let all = [4, 5]
        .into_iter()
        .zip(0..)
        .fold(Timetable::new(), |all, (step, at)| {
            let start = 10_000 * at;
            let (work, comms) = (start + 100, start + 100 + work_us);
            all.annotation(&format!("ProfilerStep#{step}"), start..start + 9_000)
                .op("aten::mm", start + 10..start + 50)
                .launched("sgemm_128x64", start + 20..start + 30, work..work + work_us)
                .op("record_param_comms", start + 60..start + 90)
                .args(COMMS)
                .launched(
                    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                    start + 70..start + 80,
                    comms..start + 2_000,
                )
                .args(COMMS)
        });
    all.json().replacen('{', &format!("{{{}, ", info(rank)), 1)
}

/// Four ranks, of which the second computes longer.
fn ranks() -> Vec<(String, String)> {
    let work_us = [400, 900, 400, 420];
    let ranks = (0..).zip(work_us);
    let files = ranks.map(|(number, work_us)| (format!("r{number}.json"), rank(number, work_us)));
    files.collect()
}

async fn drop_job(page: &Page, files: &[(String, String)]) {
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    page.drop_files(&files).await;
}

#[test]
fn ranks_of_one_world_are_one_job_and_a_cell_opens_its_rank() {
    with_page("job", async |page| {
        drop_job(page, &ranks()).await;
        page.find("[data-testid=job]").await;
        page.wait_text(".file", "Job of 4 ranks").await;
        page.wait_text(".facts", "4").await;
        page.screenshot("job.png").await;

        // Another measure; its figures are in a table.
        page.click("[data-measure=idle]").await;
        page.wait_hash("table=idle").await;
        page.click("[data-testid=heat-figures] > summary").await;
        page.wait_for("$$('[data-testid=heat-figures] tbody tr').length === 4")
            .await;
        page.wait_text("[data-testid=heat-figures] thead", "Step 5")
            .await;

        // By keyboard to rank 1, step 5, and into its trace.
        page.enter("#heatmap", Key::Down + Key::Down + Key::Right)
            .await;
        page.wait_text("[data-testid=heat-chosen]", "Rank 1 on node0, step 5")
            .await;
        page.wait_hash("row=1&step=1").await;
        page.enter("#heatmap", Key::Enter + "").await;
        page.wait_until_shown(1).await;
        page.wait_text(".file", "r1.json").await;
        page.wait_text("#window", "Step 5").await;

        // The job is as it was left; nothing is read, and nothing was ever asked of the server.
        page.click("#back-to-job").await;
        page.find("[data-testid=job]").await;
        page.wait_hash("row=1&step=1").await;
        page.wait_for("$('[data-measure=idle]').ariaPressed === 'true'")
            .await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn two_ranks_are_compared() {
    with_page("job-compare", async |page| {
        drop_job(page, &ranks()).await;
        page.click("#pick-1").await;
        page.click("#pick-3").await;
        page.wait_text("#compare-ranks", "rank 1 with rank 3").await;
        page.click("#compare-ranks").await;
        page.wait_until_shown(1).await;
        page.wait_text("[data-role=target]", "r1.json").await;
        page.wait_text("[data-role=reference]", "r3.json").await;
        page.find("#back-to-job").await;
    });
}

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

        // Without any that can be read there is no job, and the page says why.
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

#[test]
fn an_archive_of_ranks_is_a_job() {
    with_page("job-zip", async |page| {
        let files = ranks();
        let members: Vec<(&str, &[u8])> = (files.iter().take(3))
            .map(|(name, text)| (&**name, text.as_bytes()))
            .collect();
        let archive = tempfile::Builder::new().suffix(".zip").tempfile().unwrap();
        std::fs::write(archive.path(), zip(&members)).unwrap();
        page.choose(archive.path()).await;
        page.wait_text(".file", "Job of 3 ranks").await;

        // A rank opens out of the archive.
        page.click("[data-testid=job-ranks] tbody tr:last-child button")
            .await;
        page.wait_until_shown(1).await;
        page.wait_text(".file", "r2.json").await;
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
        // Several are read at once, so that the endless one does not keep the others waiting.
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
        page.click("#cancel").await;
        page.wait_text(".file", "Job of 2 ranks").await;
        page.wait_text("[data-testid=job-quality]", "canceled after 2 of 3 files")
            .await;
        assert_eq!(
            page.value::<String>("document.title").await,
            "Job \u{b7} Dormer"
        );
        assert_eq!(
            page.wait_for("$('#requests')?.dataset.count").await,
            json!("0")
        );
    });
}

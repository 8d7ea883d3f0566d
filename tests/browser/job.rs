//! Many ranks of one job: read, combined, shown, and opened individually.

use std::path::PathBuf;

use dormer_core::testing::Timetable;
use serde_json::json;
use thirtyfour::prelude::*;

use super::page::{Page, with_page};
use super::traces::kernels;
use crate::support::container::{gzip, tar, zip};
use crate::support::text::event;

/// The header of a rank's trace, before its events.
fn info(rank: u32) -> String {
    format!(
        r#""distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 4, "pg_config": [{{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 4, "ranks": [0, 1, 2, 3]}}]}}, "host_name": "node{}""#,
        rank / 2
    )
}

/// A rank with two steps; in each it computes for this many microseconds, and all ranks meet 2 ms after the step has
/// started.
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

/// Four ranks; the second computes longer.
pub(super) fn ranks() -> Vec<(String, String)> {
    let work_us = [400, 900, 400, 420];
    let ranks = (0..).zip(work_us);
    let files = ranks.map(|(number, work_us)| (format!("r{number}.json"), rank(number, work_us)));
    files.collect()
}

pub(super) async fn drop_job(page: &Page, files: &[(String, String)]) {
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
        page.wait_text("[data-testid=job-ranks] tbody tr:first-child", "r1.json")
            .await;
        page.wait_text("[data-testid=job-hosts] tbody tr:first-child", "node0")
            .await;
        page.wait_text("[data-testid=job-groups]", "default_pg 0")
            .await;
        page.screenshot("job.png").await;

        // Another measure, with its figures as a table.
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
        page.wait_hash("window=").await;
        page.wait_hash("file=").await;

        // The job is as it was left; nothing was read again, and nothing was ever requested from the server.
        page.click("#back-to-job").await;
        page.find("[data-testid=job]").await;
        page.wait_hash("row=1&step=1").await;
        page.wait_for("$('[data-measure=idle]').ariaPressed === 'true'")
            .await;
        // The address refers to the job, not to a trace.
        page.wait_for("!/window=|file=/.test(location.hash)").await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn a_step_is_shown_rank_by_rank_and_leads_to_a_collective() {
    with_page("job-strip", async |page| {
        drop_job(page, &ranks()).await;
        page.choose_option("#strip-step", "Step 5").await;
        page.wait_hash("step=1").await;

        // Rank 1 computes 500 µs longer than rank 0, which waits for it; then the transfer takes 1 ms.
        page.click("[data-testid=strip-figures] > summary").await;
        let cells = "[...$$('[data-testid=strip-figures] tbody')[0]?.rows ?? []]
            .slice(0, 2).map(row => [1, 5, 6].map(at => row.cells[at].innerText).join()).join(' ')";
        page.wait_for(&format!(
            "/^400.µs,500.µs,1.00.ms 900.µs,0[^,]*,1.00.ms$/.test({cells})"
        ))
        .await;

        // By keyboard to rank 1, zoom in and out, and into its trace.
        page.enter("#strip", Key::Down + Key::Down).await;
        page.wait_text("[data-testid=strip-chosen]", "Rank 1").await;
        page.wait_text("[data-testid=strip-chosen]", "Last to start rank 1")
            .await;
        page.enter("#strip", "+").await;
        page.wait_hash("span=").await;
        page.enter("#strip", "0").await;
        page.wait_for("!location.hash.includes('span=')").await;
        page.enter("#strip", Key::Enter + "").await;
        page.wait_until_shown(1).await;
        page.wait_text(".file", "r1.json").await;
        page.wait_text("#window", "Step 5").await;
        page.wait_text("[data-testid=details]", "ncclDevKernel_AllReduce")
            .await;
        page.wait_hash("#/timeline").await;

        // A click does the same.
        page.click("#back-to-job").await;
        page.find("#strip").await;
        page.wait_for("$('#strip canvas').height > 40").await;
        page.act(
            "const frame = $('#strip').getBoundingClientRect();
             for (const kind of ['mousedown', 'mouseup'])
               $('#strip').dispatchEvent(new MouseEvent(kind,
                 { bubbles: true, clientX: frame.right - 20, clientY: frame.top + 5 }))",
        )
        .await;
        page.wait_until_shown(2).await;
        page.wait_text(".file", "r0.json").await;
    });
}

#[test]
fn bandwidth_is_drawn_by_message_size() {
    with_page("job-bandwidth", async |page| {
        drop_job(page, &ranks()).await;
        page.wait_for("$$('#bandwidth path.mark').length === 1")
            .await;
        page.enter("#bandwidth", Key::Right + "").await;
        page.wait_text("#bandwidth [role=status]", "All-reduce of")
            .await;
        page.wait_text("#bandwidth .tip", "Bus bandwidth").await;
        page.click("[data-testid=bandwidth-figures] > summary")
            .await;
        page.wait_for("$$('[data-testid=bandwidth-figures] tbody tr').length === 1")
            .await;

        // A rank's bandwidth to other nodes is drawn as a line, and messages are compared with it.
        page.enter("#network-gbps", "50").await;
        page.enter("#network-gbps", Key::Enter + "").await;
        page.wait_text("#bandwidth svg", "between hosts, 50").await;
        page.enter("#bandwidth", Key::Right + "").await;
        page.wait_text("#bandwidth .tip", "% of link").await;
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

        // Or their timelines, one below the other on the job's corrected clock.
        page.click("#back-to-job").await;
        page.click("#pick-0").await;
        page.click("#pick-2").await;
        page.click("#timelines-of-ranks").await;
        page.wait_until_shown(2).await;
        page.wait_hash("#/timeline").await;
        page.wait_hash("below=clock").await;
        page.wait_text("[data-testid=reference-below]", "r2").await;
        page.wait_for("$('#align-reference')?.value === 'clock'")
            .await;

        // Up to four of them; the third and the fourth are read one after the other.
        page.click("#back-to-job").await;
        for rank in 0..4 {
            page.click(&format!("#pick-{rank}")).await;
        }
        page.click("#timelines-of-ranks").await;
        page.wait_until_shown(3).await;
        page.wait_for("$$('[data-testid=reference-below]').length === 3")
            .await;
        page.wait_for("$$('[data-testid=reference-below]')[2].innerText.includes('r3')")
            .await;
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

        // A rank is opened from the archive.
        page.click("[data-testid=job-ranks] tbody tr:last-child button")
            .await;
        page.wait_until_shown(1).await;
        page.wait_text(".file", "r2.json").await;
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
            let archive = tempfile::Builder::new().suffix(suffix).tempfile().unwrap();
            std::fs::write(archive.path(), bytes).unwrap();
            page.choose(archive.path()).await;
            page.wait_text(".file", "Job of 3 ranks").await;
            // The slow rank is first.
            page.click("[data-testid=job-ranks] tbody tr:first-child button")
                .await;
            page.wait_until_shown(1).await;
            page.wait_text(".file", "r1.json").await;
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
        page.click("[data-testid=job-ranks] tbody tr:nth-child(2) button")
            .await;
        page.wait_until_shown(1).await;
        page.wait_text(".file", "merged.json, rank ").await;
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

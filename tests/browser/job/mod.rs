//! Many ranks of one job: read, combined, shown, and opened individually.

mod files;
mod views;

use dormer_core::testing::Timetable;

use super::page::Page;

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

//! Sheets of jobs compared with the reference's.

use super::{Row, files, rows, sheet};
use crate::golden::{difference, shared_with_python};
use crate::support::shared;

/// Sheets with the reference's names, except the heatmap, which names receivers differently.
const SHEETS: &str = "nccl_long,nccl_summary_long,nccl_implicit_sync,nccl_summary_implicit_sync,\
    straggler_summary,nccl_all2allv,nccl_summary_all2allv";

/// The rows of a sheet of the reference; `None`, and the test is skipped, if real traces are missing.
fn golden(job: &str, sheet: &str) -> Option<Vec<Row>> {
    let path = shared::folder()?.join(format!("jobs/golden/{job}/{sheet}.csv"));
    Some(rows(&std::fs::read_to_string(path).unwrap()))
}

#[test]
fn sheets_of_jobs_agree_with_the_reference() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let mut differences = Vec::new();
    for name in ["ranks4", "ranks8"] {
        let golden = shared.join("jobs/golden").join(name);
        let Some(files) = files(name) else {
            return;
        };
        differences.extend(difference(&shared, &golden, &files, "job_csvs", SHEETS));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The reference identifies receivers by their position in the group: what a rank sends to all receivers at a position
/// is what it sends to the ranks at it.
#[test]
fn the_heatmap_names_receivers_by_their_rank() {
    let name = "nccl_all2allv_heatmap";
    let (Some(files), Some(theirs)) = (files("ranks8"), golden("ranks8", name)) else {
        return;
    };
    let ours = sheet(&files, name);
    // Groups are [0, 2], [1, 3], [4, 6], [5, 7].
    let position = |row: &Row| match row["dst_rank"].parse::<u32>().unwrap() {
        rank if rank % 4 < 2 => "0",
        _ => "1",
    };
    let ours: Vec<Row> = ours
        .into_iter()
        .map(|mut row| {
            row.insert("dst_rank".to_owned(), position(&row).to_owned());
            row
        })
        .collect();
    assert_eq!(ours, theirs);
}

/// Skews and waits on corrected clocks, compared with a job whose clocks never differed.
#[test]
fn corrected_sheets_agree_with_those_of_equal_clocks() {
    const MOST_US: f64 = 6.0;
    for name in ["ranks4", "ranks8"] {
        let theirs = golden(&format!("{name}_aligned"), "nccl_implicit_sync");
        let (Some(files), Some(theirs)) = (files(name), theirs) else {
            return;
        };
        let ours = sheet(&files, "nccl_implicit_sync_corrected");
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for theirs in theirs {
            let key = |row: &Row| {
                (
                    row["collective_id"].clone(),
                    row["Process Group Ranks"].clone(),
                )
            };
            let ours = ours.iter().find(|ours| key(ours) == key(&theirs)).unwrap();
            for (label, value) in &theirs {
                let is_time = label.contains("skew") || label.contains("wait");
                let Some(value) = value.parse::<f64>().ok().filter(|_| is_time) else {
                    continue;
                };
                let own: f64 = ours[label].parse().unwrap();
                let place = format!("{name} {} {label}", theirs["collective_id"]);
                assert!(
                    (own - value).abs() <= MOST_US,
                    "{place}: {own}, not {value}"
                );
            }
        }
    }
}

/// Who came last and who waited, on corrected clocks: as in the job whose clocks never differed.
#[test]
fn corrected_clocks_show_who_holds_the_others_up() {
    // For each rank: how often it came last, and the tolerance of that count.
    type Last = (&'static str, &'static [(&'static str, f64)], f64);
    const JOBS: [Last; 2] = [
        (
            "ranks4",
            &[("1", 6.0), ("0", 0.0), ("2", 0.0), ("3", 0.0)],
            0.0,
        ),
        ("ranks8", &[("1", 74.0), ("2", 28.0)], 4.0),
    ];
    for (name, last, most_off) in JOBS {
        let theirs = golden(&format!("{name}_aligned"), "straggler_summary");
        let (Some(files), Some(theirs)) = (files(name), theirs) else {
            return;
        };
        let ours = sheet(&files, "straggler_summary_corrected");
        let number = |row: &Row, label: &str| row[label].parse::<f64>().unwrap();
        let of = |rank: &str| ours.iter().find(|row| row["rank"] == rank).unwrap();
        for (rank, n) in last {
            let own = number(of(rank), "times_arrived_last");
            assert!((own - n).abs() <= most_off, "{name} rank {rank}: {own}");
        }
        for theirs in theirs {
            let label = "total_wait_time_us";
            let (own, value) = (number(of(&theirs["rank"]), label), number(&theirs, label));
            let most_us = (value * 0.003).max(if name == "ranks4" { 15.0 } else { 60.0 });
            let rank = &theirs["rank"];
            assert!(
                (own - value).abs() <= most_us,
                "{name} rank {rank}: {own} µs, not {value}"
            );
        }
    }
}

//! Summaries of fleets that are written run by run.

use super::*;
use crate::fleet::rows::{FindingRow, Status};
use crate::fleet::testing::{FleetOf, US};
use crate::fleet::words;

fn summary(fleet: &FleetOf) -> Summary {
    let options = Options {
        by: "build".to_owned(),
        dormer: "0.1.0".to_owned(),
    };
    Summary::new(&fleet.0, &options)
}

/// Three models over eight builds, two runs each; GEMMs of the first two are slower from b7 on.
fn three_models() -> FleetOf {
    let mut fleet = FleetOf::default();
    for build in 1..=8 {
        for (at, model) in (0..).zip(["llama", "mixtral", "resnet"]) {
            for repeat in 0..2 {
                let noise = (build * 3 + repeat * 2 + at) % 5;
                let slower = if build >= 7 && model != "resnet" {
                    100
                } else {
                    0
                };
                fleet.run(model, &format!("b{build}"), 10_000 + noise + slower);
                fleet.op("aten::mm", "GEMM", 1_000 + noise + slower);
            }
        }
    }
    fleet
}

#[test]
fn the_sentence_names_the_build_that_made_most_models_slower() {
    let summary = summary(&three_models());
    assert_eq!(
        summary.sentence,
        "40.0 % of 0.481 GPU seconds are idle; build b7 made GEMM 10.0 % slower on MI300X in 2 of 3 models"
    );
    assert_eq!(summary.regressions.len(), 2);
    let mut titles = summary
        .regressions
        .iter()
        .map(|change| words::title(change, &summary.texts));
    assert!(titles.all(|title| title.ends_with(" slower on MI300X in build b7")));
    assert_eq!(summary.carriers_of(1).count(), 1);
    assert_eq!(summary.history_of(1).count(), 8);
}

#[test]
fn a_fleet_without_changes_or_runs_says_so() {
    let mut fleet = FleetOf::default();
    fleet.run("llama", "b1", 1_000);
    assert_eq!(
        summary(&fleet).sentence,
        "40.0 % of 0.001 GPU seconds are idle"
    );
    fleet.run("llama", "b2", 1_000);
    let unchanged = "40.0 % of 0.002 GPU seconds are idle; nothing became slower in 2 builds";
    assert_eq!(summary(&fleet).sentence, unchanged);
    let mut fleet = FleetOf::default();
    fleet.run("llama", "b1", 1_000).status = Status::Timeout;
    assert_eq!(
        summary(&fleet).sentence,
        "1 file, none of them a trace that could be read"
    );
}

#[test]
fn sums_and_medians() {
    let summary = summary(&three_models());
    let totals = &summary.totals;
    assert_eq!(
        (totals.n_files, totals.n_runs, totals.n_models),
        (48, 48, 3)
    );
    let median = &summary.medians[0];
    assert_eq!(summary.text_of(median.model), Some("llama"));
    assert_eq!(summary.text_of(median.build), Some("b1"));
    assert_eq!((median.n_runs, median.total_ns), (2, Some(10_001_500)));
    // The newest run is first.
    assert_eq!(summary.text_of(summary.runs[0].build), Some("b8"));
    assert_eq!(summary.ops[0].n_runs, 48);
    assert!((summary.kernels[0].share_percent - 100.0).abs() < 1e-9);
}

#[test]
fn lost_time_has_its_cause_and_the_model_that_loses_most() {
    let mut fleet = FleetOf::default();
    fleet.run("llama", "b1", 1_000);
    fleet.run("resnet", "b1", 500).exposed_comm_ns = Some(400 * US);
    let summary = summary(&fleet);
    let lost = summary.lost.iter().map(|lost| {
        let model = summary.text_of(lost.model).unwrap();
        (
            lost.cause,
            lost.lost_ns / US,
            model,
            lost.model_lost_ns / US,
        )
    });
    let expected = [
        (Cause::Idle, 600, "llama", 400),
        (Cause::ExposedComm, 500, "resnet", 400),
    ];
    assert!(lost.eq(expected));
}

#[test]
fn findings_add_up_by_pattern() {
    let mut fleet = FleetOf::default();
    for (saving, title) in [(Some(3), "small"), (Some(9), "large"), (None, "unknown")] {
        fleet.run("llama", "b1", 1_000);
        let run = u32::try_from(fleet.0.runs.len() - 1).unwrap();
        let mut text = |text| fleet.0.texts.id(text);
        let row = FindingRow {
            run,
            number: 1,
            analysis: text("idle"),
            pattern: text("host_bound"),
            title: text(title),
            low_ns: saving.map(|ns| ns - 1),
            mid_ns: saving,
            high_ns: saving.map(|ns| ns + 1),
        };
        fleet.0.findings.push(row);
    }
    let summary = summary(&fleet);
    let [pattern] = &summary.findings[..] else {
        panic!("{:?}", summary.findings)
    };
    assert_eq!(summary.text(pattern.title), "large");
    assert_eq!(summary.text(pattern.run), "r1");
    assert_eq!(
        (pattern.n_findings, pattern.n_runs, pattern.n_estimated),
        (3, 3, 2)
    );
    assert_eq!(
        (pattern.low_ns, pattern.mid_ns, pattern.high_ns),
        (10, 12, 14)
    );
}

#[test]
fn a_slow_machine_is_an_outlier() {
    let mut fleet = FleetOf::default();
    for (at, host) in (0..).zip(["n1", "n2", "n3", "n4"]) {
        for repeat in 0..5 {
            let slower = if host == "n3" { 80 } else { 0 };
            for (model, total) in [("llama", 1_000), ("resnet", 5_000)] {
                let noise = (at * 3 + repeat * 2) % 7;
                let host = Some(fleet.0.texts.id(host));
                let total = total + (slower + noise) * total / 1_000;
                fleet.run(model, "b1", total).host = host;
            }
        }
    }
    let summary = summary(&fleet);
    let [outlier] = &summary.outliers[..] else {
        panic!("{:?}", summary.outliers)
    };
    assert_eq!(summary.text(outlier.host), "n3");
    assert_eq!((outlier.n_runs, outlier.n_models), (10, 2));
    assert!((outlier.ratio - 1.08).abs() < 0.005, "{outlier:?}");
}

#[test]
fn the_slowest_job_is_that_with_the_longest_run() {
    let mut fleet = FleetOf::default();
    for (job, total) in [("a", 900), ("a", 1_000), ("b", 3_000), ("b", 100)] {
        let job = Some(fleet.0.texts.id(job));
        fleet.run("llama", "b1", total).job_id = job;
    }
    fleet.run("resnet", "b1", 2_000);
    let summary = summary(&fleet);
    let jobs = summary.slowest.iter().map(|job| {
        let ratio = job.ratio.map(|ratio| (ratio * 100.0).round() / 100.0);
        (
            summary.text_of(job.job),
            job.n_runs,
            job.total_ns / US,
            ratio,
        )
    });
    // The median of the four is 950; the other model has one run.
    let expected = [
        (Some("b"), 2, 3_000, Some(3.16)),
        (None, 1, 2_000, None),
        (Some("a"), 2, 1_000, Some(1.05)),
    ];
    assert!(jobs.eq(expected));
}

#[test]
fn what_was_not_read_is_counted_by_reason() {
    let mut fleet = FleetOf::default();
    for kind in ["empty", "not_json", "not_json"] {
        let kind = fleet.0.texts.id(kind);
        let run = fleet.run("llama", "b1", 1);
        run.status = Status::Rejected;
        run.reason_kind = Some(kind);
    }
    let summary = summary(&fleet);
    let reasons = summary.rejected.iter();
    let reasons = reasons.map(|of| (summary.text_of(of.reason_kind), of.count));
    assert!(reasons.eq([(Some("not_json"), 2), (Some("empty"), 1)]));
    assert_eq!(summary.text_of(summary.rejected[0].uri), Some("r1.json"));
}

#[test]
fn a_file_that_would_be_too_large_has_weeks_in_place_of_old_runs() {
    const DAY: i64 = 86_400_000_000_000;
    let mut fleet = FleetOf::default();
    for day in 0..700 {
        // From Monday, the 5th of January 1970, on.
        fleet.run("llama", "b1", 1_000 + day % 7).start_ns = Some((day + 4) * DAY);
    }
    let whole = summary(&fleet);
    let file = whole.to_file_within(MOST_BYTES);
    let read = Summary::read(&file).unwrap();
    assert_eq!((read.runs.len(), read.weeks.len()), (700, 0));

    let most = file.len() / 2;
    let file = whole.to_file_within(most);
    assert!(file.len() <= most, "{} of {most}", file.len());
    let read = Summary::read(&file).unwrap();
    let in_weeks: u32 = read.weeks.iter().map(|week| week.n_runs).sum();
    assert_eq!(read.runs.len() + in_weeks as usize, 700);
    assert!(read.runs.len() > 100, "{}", read.runs.len());
    // The oldest week is complete: its median is the fourth of seven.
    let oldest = read.weeks.last().unwrap();
    assert_eq!((oldest.week_ns, oldest.n_runs), (Some(4 * DAY), 7));
    assert_eq!(oldest.total_ns, Some(1_003 * US));
    // Texts of removed runs are removed.
    assert!(read.texts.len() < whole.texts.len() / 2 + 50);
    assert_eq!(read.sentence, whole.sentence);
}

//! Ranks of one job, real and synthetic: their sheets compared with the reference's.

use std::collections::BTreeMap;
use std::path::Path;

use dormer_core::import::import;
use dormer_core::job::digest::SourceFile;
use dormer_core::job::overview::JobOverview;
use dormer_core::job::world::World;
use dormer_core::job::{Analysis, Digest, Job};
use dormer_core::output::export::{self, Artifact, Source};
use dormer_core::profile::Profile;

use crate::golden::{difference, shared_with_python};
use crate::support::csv;
use crate::support::skipped::skipped;

/// Sheets with the reference's names, except the heatmap, which names receivers differently.
const SHEETS: &str = "nccl_long,nccl_summary_long,nccl_implicit_sync,nccl_summary_implicit_sync,\
    straggler_summary,nccl_all2allv,nccl_summary_all2allv";

#[test]
fn sheets_of_jobs_agree_with_the_reference() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let mut differences = Vec::new();
    for name in ["ranks4", "ranks8"] {
        let golden = shared.join("jobs/golden").join(name);
        let Some(files) = files(&shared, name) else {
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
    let Some(shared) = shared_with_python() else {
        return;
    };
    let Some(files) = files(&shared, "ranks8") else {
        return;
    };
    let ours = cells(&text_of(&files, "nccl_all2allv_heatmap"));
    let golden = shared.join("jobs/golden/ranks8/nccl_all2allv_heatmap.csv");
    let theirs = cells(&std::fs::read_to_string(golden).unwrap());
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
    let Some(shared) = shared_with_python() else {
        return;
    };
    for name in ["ranks4", "ranks8"] {
        let Some(files) = files(&shared, name) else {
            return;
        };
        let ours = cells(&text_of(&files, "nccl_implicit_sync_corrected"));
        let golden = shared.join(format!("jobs/golden/{name}_aligned/nccl_implicit_sync.csv"));
        let theirs = cells(&std::fs::read_to_string(golden).unwrap());
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
    let Some(shared) = shared_with_python() else {
        return;
    };
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
        let Some(files) = files(&shared, name) else {
            return;
        };
        let ours = cells(&text_of(&files, "straggler_summary_corrected"));
        let golden = shared.join(format!("jobs/golden/{name}_aligned/straggler_summary.csv"));
        let theirs = cells(&std::fs::read_to_string(golden).unwrap());
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

/// The offsets of the ranks' clocks: within 3 µs in the middle of the recording.
#[test]
fn clocks_of_hosts_are_found() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    const JOBS: [(&str, &[f64]); 2] = [
        ("ranks4", &[0.0, -0.7, 2_280.0, 2_281.0]),
        (
            "ranks8",
            &[0.0, -1.2, 0.2, 1.2, 1_759.1, 1_761.3, 1_760.8, 1_761.4],
        ),
    ];
    for (name, expected) in JOBS {
        let Some(files) = files(&shared, name) else {
            return;
        };
        let ranks = cells(&text_of(&files, "ranks"));
        assert_eq!(ranks.len(), expected.len(), "{name}");
        for (row, expected) in ranks.iter().zip(expected) {
            let offset: f64 = row["offset µs"].parse().unwrap();
            assert!(
                (offset - expected).abs() <= 3.0,
                "{name}: {offset}, not {expected}"
            );
        }
    }
}

/// A missing or truncated rank does not affect the others.
#[test]
fn a_job_goes_on_without_a_rank() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let Some(whole) = digests(&shared, "ranks4") else {
        return;
    };
    let rest: Vec<Digest> = whole
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != 2)
        .map(|(_, one)| one.clone())
        .collect();
    let files = made(rest);
    let long = cells(&text_of(&files, "nccl_long"));
    let mut ranks: Vec<&str> = long.iter().map(|row| row["rank"].as_str()).collect();
    ranks.dedup();
    assert_eq!(ranks, ["0", "1", "3"]);
    let collectives = cells(&text_of(&files, "collectives"));
    let of_group = collectives.iter().filter(|row| row["group"] == "0");
    let counts: Vec<(&str, &str)> = of_group
        .map(|row| (row["ranks read"].as_str(), row["ranks"].as_str()))
        .collect();
    assert_eq!(counts, [("3", "4"); 12]);
}

#[test]
fn files_of_a_job_do_not_depend_on_the_order_of_its_traces() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let Some(mut digests) = digests(&shared, "ranks8") else {
        return;
    };
    let one = made(digests.clone());
    digests.reverse();
    assert!(one == made(digests));
}

/// The issues of a job, and the savings of fixing them over all its steps: the faults that it was generated with, from
/// `truth.json` beside its sheets.
#[test]
fn the_faults_of_a_job_are_found_with_their_worth() {
    /// Key, ranks, milliseconds, and their tolerance.
    type Fault = (&'static str, &'static [u32], f64, f64);
    const JOBS: [(&str, &[Fault]); 3] = [
        (
            "ranks4",
            &[
                ("slow_period", &[], 22.7, 1.0),
                ("slow_rank", &[1], 3.3, 0.3),
                ("clocks_apart", &[3], 0.0, 0.0),
            ],
        ),
        (
            "ranks8",
            &[
                ("slow_rank", &[5], 66.0, 2.0),
                ("late_host", &[2], 25.0, 0.1),
                ("hot_experts", &[0, 1, 4, 5], 82.5, 12.0),
                ("slow_link", &[3, 7], 14.3, 3.0),
            ],
        ),
        ("gloo4", &[("uneven_work", &[2], 56.0, 15.0)]),
    ];
    let Some(shared) = shared_with_python() else {
        return;
    };
    for (name, faults) in JOBS {
        let Some(digests) = digests(&shared, name) else {
            return;
        };
        let world = World::new(digests);
        let job = Job::new(world.windows.into_iter().next().unwrap());
        let overview = JobOverview::new(&job, &Analysis::new(&job), &world.set_apart);
        for (key, ranks, ms, most_off) in faults {
            let mut cards = overview.cards.iter().filter(|card| card.key == *key);
            let card = cards.next().unwrap_or_else(|| panic!("{name}: no {key}"));
            assert_eq!(
                (&card.ranks[..], cards.next()),
                (*ranks, None),
                "{name} {key}"
            );
            let worth = card.worth_ns.map_or(0.0, |ns| ns as f64 / 1e6);
            assert!((worth - ms).abs() <= *most_off, "{name} {key}: {worth} ms");
        }
    }
}

/// A figure of a sheet: the key of its row, its column, its value, and the tolerance.
type Figure = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    f64,
    f64,
);

const OF_RANKS4: &[Figure] = &[
    (
        "ranks",
        &[("rank", "0")],
        "exposed communication ms",
        84.0,
        0.1,
    ),
    (
        "ranks",
        &[("rank", "1")],
        "exposed communication ms",
        72.6,
        0.1,
    ),
    (
        "ranks",
        &[("rank", "2")],
        "exposed communication ms",
        83.7,
        0.1,
    ),
    (
        "ranks",
        &[("rank", "3")],
        "exposed communication ms",
        84.0,
        0.1,
    ),
    (
        "ranks",
        &[("rank", "0")],
        "exposed communication (linked) ms",
        61.9,
        0.1,
    ),
    (
        "ranks",
        &[("rank", "1")],
        "exposed communication (linked) ms",
        54.1,
        0.1,
    ),
    (
        "ranks",
        &[("rank", "2")],
        "exposed communication (linked) ms",
        61.7,
        0.1,
    ),
    (
        "ranks",
        &[("rank", "3")],
        "exposed communication (linked) ms",
        61.9,
        0.1,
    ),
    (
        "rank_steps",
        &[("rank", "1"), ("step", "15")],
        "same-work ratio",
        1.36,
        0.01,
    ),
    (
        "rank_steps",
        &[("rank", "1"), ("step", "16")],
        "same-work ratio",
        1.36,
        0.01,
    ),
    (
        "rank_steps",
        &[("rank", "1"), ("step", "17")],
        "same-work ratio",
        1.36,
        0.01,
    ),
    (
        "rank_steps",
        &[("rank", "0"), ("step", "16")],
        "same-work ratio",
        1.0,
        0.01,
    ),
    (
        "rank_steps",
        &[("rank", "2"), ("step", "16")],
        "same-work ratio",
        1.0,
        0.01,
    ),
    (
        "rank_steps",
        &[("rank", "3"), ("step", "16")],
        "same-work ratio",
        1.0,
        0.01,
    ),
    (
        "collectives",
        &[("bytes", "17632384"), ("step", "15")],
        "transfer µs",
        8_930.0,
        10.0,
    ),
    (
        "collectives",
        &[("bytes", "17632384"), ("step", "16")],
        "transfer µs",
        9_210.0,
        10.0,
    ),
    (
        "collectives",
        &[("bytes", "17632384"), ("step", "17")],
        "transfer µs",
        21_640.0,
        10.0,
    ),
    (
        "collectives",
        &[("bytes", "17632384"), ("step", "15")],
        "bus bandwidth GB/s",
        2.96,
        0.01,
    ),
    (
        "collectives",
        &[("bytes", "17632384"), ("step", "16")],
        "bus bandwidth GB/s",
        2.87,
        0.01,
    ),
    (
        "collectives",
        &[("bytes", "17632384"), ("step", "17")],
        "bus bandwidth GB/s",
        1.22,
        0.01,
    ),
];

const OF_RANKS8: &[Figure] = &[
    (
        "rank_steps",
        &[("rank", "5"), ("step", "5")],
        "same-work ratio",
        1.01,
        0.015,
    ),
    (
        "rank_steps",
        &[("rank", "5"), ("step", "6")],
        "same-work ratio",
        1.30,
        0.015,
    ),
    (
        "rank_steps",
        &[("rank", "5"), ("step", "7")],
        "same-work ratio",
        1.30,
        0.015,
    ),
    (
        "rank_steps",
        &[("rank", "2"), ("step", "6")],
        "data loading ms",
        25.4,
        0.1,
    ),
    ("experts", &[("rank", "0")], "times mean", 1.28, 0.01),
    ("experts", &[("rank", "1")], "times mean", 1.29, 0.01),
    ("experts", &[("rank", "2")], "times mean", 0.72, 0.01),
    ("experts", &[("rank", "3")], "times mean", 0.71, 0.01),
    ("links", &[("pair", "3, 7")], "times siblings", 1.97, 0.02),
    (
        "rank_steps",
        &[("rank", "2"), ("step", "6")],
        "delay by late launches ms",
        25.0,
        0.1,
    ),
    (
        "pipeline",
        &[("rank", "0"), ("step", "5")],
        "receiving ms",
        37.5,
        0.1,
    ),
    (
        "pipeline",
        &[("rank", "0"), ("step", "5")],
        "receiving (%)",
        20.9,
        0.05,
    ),
    (
        "pipeline",
        &[("rank", "0"), ("step", "5")],
        "step time ms",
        179.3,
        0.1,
    ),
    (
        "pipeline",
        &[("rank", "0"), ("step", "5")],
        "inevitable (%)",
        20.0,
        0.01,
    ),
];

#[test]
fn sheets_of_ours_have_the_figures_of_the_shared_jobs() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let mut wrong = Vec::new();
    for (name, figures) in [("ranks4", OF_RANKS4), ("ranks8", OF_RANKS8)] {
        let Some(files) = files(&shared, name) else {
            return;
        };
        for (sheet, keys, label, value, most_off) in figures {
            let rows = cells(&text_of(&files, sheet));
            let row = rows
                .iter()
                .find(|row| keys.iter().all(|(key, of)| row[*key] == *of));
            let actual = row.map_or("", |row| &row[*label]);
            let is_right = actual
                .parse::<f64>()
                .is_ok_and(|own| (own - value).abs() <= *most_off);
            if !is_right {
                wrong.push(format!(
                    "{name} {sheet} {keys:?} {label}: {actual:?}, not {value}"
                ));
            }
        }
        let collectives = cells(&text_of(&files, "collectives"));
        let of_groups = collectives.iter().filter(|row| !row["group"].is_empty());
        let complete = of_groups
            .filter(|row| row["ranks"] == row["ranks read"])
            .count();
        assert_eq!(complete, if name == "ranks4" { 12 } else { 1_275 });
    }
    assert_eq!(wrong, [""; 0]);
}

/// In a ResNet job, half of the collectives reduce gradient buckets, and half broadcast the initial state; five kernels
/// of each rank name no process group.
#[test]
fn collectives_are_distinguished_by_what_they_do() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let Some(files) = files(&shared, "ranks4") else {
        return;
    };
    let collectives = cells(&text_of(&files, "collectives"));
    let n = |kind: &str, has_group: bool| {
        let own = collectives.iter();
        let own = own.filter(|row| row["group"].is_empty() != has_group);
        own.filter(|row| row["type"] == kind).count()
    };
    assert_eq!((n("all-reduce", true), n("broadcast", true)), (6, 6));
    let unlabelled = collectives.iter().filter(|row| row["group"].is_empty());
    let counts = unlabelled.map(|row| (row["ranks read"].as_str(), row["ranks"].as_str()));
    assert_eq!(counts.collect::<Vec<_>>(), [("4", "4"); 5]);
}

/// Two pipeline stages with two replicas, each of two ranks; experts are distributed over the replicas.
#[test]
fn groups_are_labelled_with_what_they_are_for() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let Some(files) = files(&shared, "ranks8") else {
        return;
    };
    let groups = cells(&text_of(&files, "groups"));
    let of = |role: &str| {
        let own = groups.iter().filter(|row| row["role"] == role);
        let own: Vec<&str> = own.map(|row| row["numbers"].as_str()).collect();
        own
    };
    assert_eq!(of("tensor parallel"), ["0, 1", "2, 3", "4, 5", "6, 7"]);
    // Gradients are reduced by a reduce-scatter.
    assert_eq!(
        of("sharded data parallel"),
        ["0, 2", "1, 3", "4, 6", "5, 7"]
    );
    assert_eq!(of("expert parallel"), ["0, 2", "1, 3", "4, 6", "5, 7"]);
    assert_eq!(of("pipeline parallel"), ["0, 4", "1, 5", "2, 6", "3, 7"]);
}

pub(crate) type Row = BTreeMap<String, String>;

pub(crate) fn cells(text: &str) -> Vec<Row> {
    let mut rows = csv::rows(text).into_iter();
    let head = rows.next().unwrap_or_default();
    let named = rows.map(|row| head.iter().cloned().zip(row).collect());
    named.collect()
}

pub(crate) fn text_of(files: &[Artifact], sheet: &str) -> String {
    let path = format!("job_csvs/{sheet}.csv");
    let found = files.iter().find(|file| file.path == path);
    let file = found.unwrap_or_else(|| panic!("no {path}"));
    String::from_utf8(file.bytes.clone()).unwrap()
}

/// The files of a job; `None`, and the test is skipped, if its traces are missing.
fn files(shared: &Path, name: &str) -> Option<Vec<Artifact>> {
    Some(made(digests(shared, name)?))
}

pub(crate) fn made(digests: Vec<Digest>) -> Vec<Artifact> {
    let world = World::new(digests);
    let window = world.windows.into_iter().next().unwrap();
    let job = Job::new(window);
    export::job::Input::new(&job, &world.set_apart).artifacts()
}

/// By file name.
fn digests(shared: &Path, name: &str) -> Option<Vec<Digest>> {
    digests_of(&shared.join("jobs").join(name))
}

/// The digests of the files in a folder, by name; `None`, and the test is skipped, if it is missing.
pub(crate) fn digests_of(folder: &Path) -> Option<Vec<Digest>> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        skipped(&format!("there is no {}", folder.display()));
        return None;
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    Some(paths.iter().map(|path| digest_of(path)).collect())
}

pub(crate) fn digest_of(path: &Path) -> Digest {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    digest(name, &bytes)
}

pub(crate) fn digest(name: &str, bytes: &[u8]) -> Digest {
    let file = SourceFile {
        name: name.to_owned(),
        bytes: bytes.len() as u64,
    };
    Digest::new(&Profile::new(import(bytes).unwrap()), file)
}

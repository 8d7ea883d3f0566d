//! Ranks of one job, real and made: their sheets against those of the reference.

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

/// What sheets have the reference's name, but for the heatmap: there receivers are named otherwise.
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

/// The reference names receivers by their position in the group: what a rank sends to all of them in a
/// position is what it sends to the ranks that have it.
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

/// Skews and waits on corrected clocks, against a job whose clocks never differed.
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

/// A rank that is missing or was cut takes nothing from the others.
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

/// What is wrong with a job, and what fixing it is worth over all its steps: the faults that it was made
/// with, by `truth.json` beside its sheets.
#[test]
fn the_faults_of_a_job_are_found_with_their_worth() {
    /// Key, ranks, milliseconds, and by how much these may be off.
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

/// The files of a job; `None`, and the test is skipped, where its traces are missing.
fn files(shared: &Path, name: &str) -> Option<Vec<Artifact>> {
    Some(made(digests(shared, name)?))
}

pub(crate) fn made(digests: Vec<Digest>) -> Vec<Artifact> {
    let world = World::new(digests);
    let window = world.windows.into_iter().next().unwrap();
    let job = Job::new(window);
    export::job::Input::new(&job, &world.set_apart).artifacts()
}

/// By name of the file.
fn digests(shared: &Path, name: &str) -> Option<Vec<Digest>> {
    digests_of(&shared.join("jobs").join(name))
}

/// Of the files of a folder, by name; `None`, and the test is skipped, where there is none.
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

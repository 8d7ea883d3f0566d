//! Inputs of jobs: ranks that are missing, truncated or start late, many ranks, in any order and in any chunks.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use dormer_core::import::Importer;
use dormer_core::job::Digest;
use dormer_core::job::digest::SourceFile;
use dormer_core::job::files::JobFiles;
use dormer_core::output::export::Artifact;
use dormer_core::profile::Profile;
use serde_json::Value;

use super::{digest, digest_of, digests, digests_in, files_of, overview_of, sheet};
use crate::golden::shared_with_python;
use crate::support::shared;

/// For collectives with a process group: how many of how many ranks were read, with counts.
fn counts(files: &[Artifact]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for row in sheet(files, "collectives") {
        if row["group"].is_empty() {
            continue;
        }
        let skew: f64 = row["start skew µs"].parse().unwrap();
        // The straggler is at most 1.1 ms late; an offset of a step would be 20 ms.
        assert!(skew < 1_150.0, "{row:?}");
        let count = format!("{} of {}", row["ranks read"], row["ranks"]);
        match counts.iter_mut().find(|(known, _)| *known == count) {
            Some((_, n)) => *n += 1,
            None => counts.push((count, 1)),
        }
    }
    counts.sort();
    counts
}

/// A rank is missing, truncated, or lacks its first step: the others are analyzed, and the slow one is named.
#[test]
fn a_damaged_rank_hides_no_straggler() {
    let Some(shared) = shared::folder() else {
        return;
    };
    let folder = shared.join("jobs/ranks4");
    let Some(whole) = digests_in(&folder) else {
        return;
    };
    let without = |rank: usize| {
        let mut rest = whole.clone();
        rest.remove(rank);
        rest
    };
    let with = |rank: usize, digest: Digest| {
        let mut changed = whole.clone();
        changed[rank] = digest;
        changed
    };
    let cut = digest_of(&folder.join("damaged/rank3_trace.json.gz"));
    let late = without_first_collectives(&folder.join("rank1_trace.json.gz"), 4);
    let count = |text: &str, n: usize| (text.to_owned(), n);
    let cases = [
        ("whole", whole.clone(), vec![count("4 of 4", 12)]),
        (
            "rank 3 is cut",
            with(3, cut),
            vec![count("3 of 4", 2), count("4 of 4", 10)],
        ),
        ("rank 2 is missing", without(2), vec![count("3 of 4", 12)]),
        (
            "rank 1 lacks its first step",
            with(1, digest("rank1_trace.json", &late)),
            vec![count("3 of 4", 4), count("4 of 4", 8)],
        ),
    ];
    for (name, digests, expected) in cases {
        assert_eq!(counts(&files_of(digests.clone())), expected, "{name}");
        let cards = overview_of(digests).cards;
        let slow: Vec<&[u32]> = (cards.iter())
            .filter(|card| card.key == "slow_rank")
            .map(|card| &card.ranks[..])
            .collect();
        assert_eq!(slow, [[1]], "{name}");
    }
}

/// The text of a trace without its first kernels that name a process group.
fn without_first_collectives(path: &Path, n: usize) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let mut text = String::new();
    let mut gzip = flate2::read::GzDecoder::new(&bytes[..]);
    gzip.read_to_string(&mut text).unwrap();
    let mut trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array_mut().unwrap();
    let is_labeled = |event: &Value| {
        event["cat"] == "kernel" && event["args"].get("Process Group Name").is_some()
    };
    let mut starts: Vec<f64> = (events.iter())
        .filter(|event| is_labeled(event))
        .map(|event| event["ts"].as_f64().unwrap())
        .collect();
    starts.sort_by(f64::total_cmp);
    events.retain(|event| !is_labeled(event) || event["ts"].as_f64().unwrap() >= starts[n]);
    trace.to_string().into_bytes()
}

/// 64 ranks on 8 nodes, 5 ms and 10 ppm apart: kernels of rank 37 take 1.25 times as long, transfers over the NIC of
/// rank 12 1.5 times.
#[test]
fn faults_of_64_ranks_are_found() {
    let Some(shared) = shared_with_python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("m64");
    let output = Command::new("python3")
        .arg(shared.join("tools/make_ranks.py"))
        .arg(&out)
        .args(["--model", "4x8x2", "--seed", "3", "--gpus-per-node", "8"])
        .args(["--clock", "5000", "--drift", "10"])
        .args(["--straggler", "37:1.25", "--slow-nic", "12:1.5"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let truth: Value = serde_json::from_slice(&output.stdout).unwrap();
    let Some(digests) = digests_in(&out) else {
        return;
    };
    let files = files_of(digests.clone());
    let ranks = sheet(&files, "ranks");
    assert_eq!(ranks.len(), 64);
    let ratio: f64 = ranks[37]["same-work ratio"].parse().unwrap();
    assert!((ratio - 1.24).abs() <= 0.01, "{ratio}");
    for (row, clock) in ranks.iter().zip(truth["clock"].as_array().unwrap()) {
        let offset: f64 = row["offset µs"].parse().unwrap();
        // In the middle of the window, a drifting clock is ahead by more.
        let drift = clock["drift_ppm"].as_f64().unwrap();
        let start = clock["offset_us"].as_f64().unwrap();
        let most = 6.0 + drift.abs();
        assert!(
            (offset - start).abs() <= most,
            "{offset}, not {start}: {row:?}"
        );
    }
    // The profiler truncates lists of more than 30 ranks.
    let groups = sheet(&files, "groups");
    let world = groups.iter().find(|row| row["group"] == "0").unwrap();
    assert_eq!((&*world["ranks"], &*world["ranks read"]), ("64", "64"));

    let links = sheet(&files, "links");
    let slow = links.iter().filter(|row| !row["times siblings"].is_empty());
    let mut slow: Vec<(&str, &str)> = slow
        .map(|row| {
            let times: f64 = row["times siblings"].parse().unwrap();
            assert!((1.48..1.505).contains(&times), "{row:?}");
            (row["group"].as_str(), row["pair"].as_str())
        })
        .collect();
    slow.dedup();
    assert_eq!(slow, [("33", ""), ("41", ""), ("61", "12, 28")]);

    let cards = overview_of(digests).cards;
    let of = |key: &str| {
        let card = cards.iter().find(|card| card.key == key);
        card.map(|card| card.ranks.clone())
    };
    assert_eq!(of("slow_link"), Some(vec![12]));
    assert_eq!(of("slow_rank"), Some(vec![37]));
}

/// A real CPU job with two profiler windows: its groups are listed although its collectives name none, no clock is
/// corrected, and rank 2 has matrix multiplications that others lack.
#[test]
fn windows_and_groups_of_a_job_without_gpus_are_reported() {
    let Some(digests) = digests("gloo4") else {
        return;
    };
    let job_files = JobFiles::new(digests.clone());
    let windows = job_files.windows.iter();
    let windows = windows.map(|window| (window.ranks.len(), window.steps));
    assert_eq!(
        windows.collect::<Vec<_>>(),
        [(4, Some((8, 11))), (4, Some((2, 5)))]
    );
    let files = files_of(digests);
    let groups = sheet(&files, "groups");
    let groups = groups.iter().map(|row| {
        let labels = ["group description", "role", "numbers"];
        labels.map(|label| row[label].as_str())
    });
    assert_eq!(
        groups.collect::<Vec<_>>(),
        [
            ["default_pg", "all ranks", "0, 1, 2, 3"],
            ["mesh_dp", "data parallel", "0, 2"],
            ["mesh_dp", "data parallel", "1, 3"],
            ["mesh_tp", "tensor parallel", "0, 1"],
            ["mesh_tp", "tensor parallel", "2, 3"],
        ]
    );
    let clocks = sheet(&files, "clocks");
    assert!(
        clocks.iter().all(|row| row["applied"] == "False"),
        "{clocks:?}"
    );
    let more = sheet(&files, "more_work");
    let products = more
        .iter()
        .find(|row| row["operator"] == "aten::mm")
        .unwrap();
    let actual = ["rank", "shapes", "calls"].map(|label| products[label].as_str());
    assert_eq!(actual, ["2", "500×500, 500×500", "32"]);
}

/// A job gives the same files for inputs in any order, in chunks of any size, and given once or twice; duplicates are
/// named and change nothing else.
#[test]
fn a_job_gives_the_same_files_however_it_is_given() {
    let Some(shared) = shared::folder() else {
        return;
    };
    let folder = shared.join("jobs/ranks8");
    let Some(whole) = digests_in(&folder) else {
        return;
    };
    let files = files_of(whole.clone());
    let again = files_of(whole.clone());
    assert!(files == again);

    let chunked = |size: usize| {
        let entries = std::fs::read_dir(&folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let digests = paths.filter(|path| path.is_file()).map(|path| {
            let bytes = std::fs::read(&path).unwrap();
            let mut importer = Importer::new();
            for chunk in bytes.chunks(size) {
                importer.push(chunk).unwrap();
            }
            let source = SourceFile {
                name: path.file_name().unwrap().to_str().unwrap().to_owned(),
                bytes: bytes.len() as u64,
            };
            Digest::new(&Profile::new(importer.finish().unwrap()), source)
        });
        digests.collect::<Vec<Digest>>()
    };
    assert!(files == files_of(chunked(977)));

    let mut twice = whole.clone();
    twice.rotate_left(3);
    twice.extend(whole.iter().rev().map(|digest| {
        let mut copy = digest.clone();
        copy.file.name = format!("z copy of {}", copy.file.name);
        copy
    }));
    let twice = files_of(twice);
    let is_same = |file: &&Artifact| twice.contains(file);
    let differing = files.iter().filter(|file| !is_same(file));
    let differing: Vec<&str> = differing.map(|file| file.path.as_str()).collect();
    // The places where duplicates are named.
    let named = [
        "job_report.md",
        "job_report.html",
        "job.json",
        "job_csvs/job_quality.csv",
        "job.xlsx",
    ];
    assert!(
        differing.iter().all(|path| named.contains(path)),
        "{differing:?}"
    );
}

/// A missing or truncated rank does not affect the others.
#[test]
fn a_job_goes_on_without_a_rank() {
    let Some(whole) = digests("ranks4") else {
        return;
    };
    let rest: Vec<Digest> = whole
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != 2)
        .map(|(_, one)| one.clone())
        .collect();
    let files = files_of(rest);
    let long = sheet(&files, "nccl_long");
    let mut ranks: Vec<&str> = long.iter().map(|row| row["rank"].as_str()).collect();
    ranks.dedup();
    assert_eq!(ranks, ["0", "1", "3"]);
    let collectives = sheet(&files, "collectives");
    let of_group = collectives.iter().filter(|row| row["group"] == "0");
    let counts: Vec<(&str, &str)> = of_group
        .map(|row| (row["ranks read"].as_str(), row["ranks"].as_str()))
        .collect();
    assert_eq!(counts, [("3", "4"); 12]);
}

#[test]
fn files_of_a_job_do_not_depend_on_the_order_of_its_traces() {
    let Some(mut digests) = digests("ranks8") else {
        return;
    };
    let one = files_of(digests.clone());
    digests.reverse();
    assert!(one == files_of(digests));
}

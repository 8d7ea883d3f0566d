//! `dormer job`.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Folder, TRACE, gzip};

/// A rank with an all-reduce that starts at 100 µs or later.
pub(super) fn rank(number: u32, start_us: u32) -> String {
    let metadata = format!(
        r#"{{"distributedInfo": {{"backend": "nccl", "rank": {number}, "world_size": 2, "pg_config":
            [{{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}}]}},
            "host_name": "node0", "baseTimeNanoseconds": 0, "traceEvents": ["#
    );
    let kernel = format!(
        r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 20, "dur": 5,
            "args": {{"correlation": 7}}}},
        {{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 7,
            "ts": {start_us}, "dur": {}, "args": {{"correlation": 7, "stream": 7, "Collective name": "allreduce",
            "In msg nelems": 1048576, "Out msg nelems": 1048576, "Group size": 2, "dtype": "BFloat16",
            "In split size": "[]", "Out split size": "[]", "Process Group Name": "0",
            "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]"}}}}]}}"#,
        200 - start_us
    );
    metadata + &kernel
}

pub(super) fn two_ranks() -> Folder {
    let folder = Folder::with("one.json", rank(0, 100));
    folder.add("other.json.gz", gzip(&rank(1, 140)));
    folder
}

#[test]
fn the_ranks_of_a_job_are_distinguished_and_written() {
    let folder = two_ranks();
    let details = "The report has the details: --format md prints it";
    assert!(folder.run("job .").done().contains(details));
    assert!(!folder.run("job . -o out").done().contains(details));
    let sheet = folder.read("out/job_csvs/straggler_summary.csv");
    assert!(sheet.contains("\n1,0.0,0.0,1,0,100.0,1,60.0,"), "{sheet}");
    for path in [
        "out/job.xlsx",
        "out/job.json",
        "out/digests/rank00001.json.gz",
    ] {
        assert!(folder.has(path), "{path}");
    }
    // Digests give the same results as the traces.
    folder
        .run("job out/digests -o again --format csv,json")
        .done();
    assert!(!folder.has("again/job.xlsx"));
    let again = folder.read("again/job_csvs/straggler_summary.csv");
    assert_eq!(again, sheet);
}

#[test]
fn a_job_can_be_printed_for_programs() {
    let printed = two_ranks()
        .run("job one.json other.json.gz --format json")
        .done();
    let job: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&job["format"], &job["world_size"]), (&1.into(), &2.into()));
    assert_eq!(job["ranks"][1]["file"], "other.json.gz");
}

#[test]
fn a_job_for_perfetto_is_one_archive() {
    let folder = two_ranks();
    folder.run("job . --perfetto job.tar").done();
    let archive = std::fs::read(folder.0.path().join("job.tar")).unwrap();
    assert_eq!(archive.len() % 512, 0);
    let text = String::from_utf8_lossy(&archive);
    assert!(text.starts_with("perfetto_manifest.json\0"));
    assert!(text[512..].starts_with("{\"perfetto_manifest\""));
    // Extracted, with the size in its header.
    let at = text.find("rank00001.json\0").unwrap();
    let size = usize::from_str_radix(&text[at + 124..at + 135], 8).unwrap();
    assert_eq!(text[at + 512..at + 512 + size], rank(1, 140));
}

/// An archive of ranks is equivalent to its files; so is the archive for Perfetto.
#[test]
fn archives_of_ranks_are_jobs() {
    let folder = two_ranks();
    folder
        .run("job . -o out --format csv --perfetto job.tar")
        .done();
    let sheet = folder.read("out/job_csvs/straggler_summary.csv");
    let tar = std::fs::read(folder.0.path().join("job.tar")).unwrap();
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(&tar).unwrap();
    folder.add("job.tgz", gz.finish().unwrap());
    for archive in ["job.tar", "job.tgz"] {
        folder
            .run(&format!("job {archive} -o {archive}.out --format csv"))
            .done();
        let again = folder.read(&format!("{archive}.out/job_csvs/straggler_summary.csv"));
        assert_eq!(again, sheet);
        let ranks = folder.read(&format!("{archive}.out/job_csvs/ranks.csv"));
        assert!(
            ranks.contains(&format!("{archive}/rank00001.json")),
            "{ranks}"
        );
        // Extracted and archived again.
        folder
            .run(&format!("job {archive} --perfetto again.tar"))
            .done();
        let again = std::fs::read(folder.0.path().join("again.tar")).unwrap();
        assert!(again == tar, "{archive}");
    }
}

#[test]
fn what_is_no_job_is_reported() {
    let folder = two_ranks();
    std::fs::create_dir(folder.0.path().join("empty")).unwrap();
    folder.add("bad.json", b"{\"traceEvents\": nonsense");
    folder.run("job . --perfetto job.tar").done();
    for (arguments, expected) in [
        ("job empty", "no file is called like a trace"),
        ("job bad.json", "bad.json: "),
        ("job job.tar --perfetto job.tar", "one of the files to read"),
        ("job nowhere", "nowhere"),
    ] {
        let said = folder.run(arguments);
        assert_ne!(said.code, 0, "{arguments}");
        assert!(said.err.contains(expected), "{arguments}: {}", said.err);
    }
    // The archive is unchanged.
    folder
        .run("job job.tar --format md --perfetto again.tar")
        .done();
    assert!(folder.has("again.tar"));
}

/// One file into which a tool has merged the kernels of both ranks.
#[test]
fn a_merged_trace_is_a_job() {
    let of = |rank: u32, start_us: u32| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": {}, "tid": 7,
            "ts": {start_us}, "dur": {}, "args": {{"rank": {rank}, "stream": 7, "Collective name": "allreduce",
            "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "BFloat16", "Process Group Name": "0",
            "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]"}}}}"#,
            rank * 1000,
            200 - start_us
        )
    };
    let text = format!(r#"{{"traceEvents": [{}, {}]}}"#, of(0, 100), of(1, 140));
    let printed = Folder::with("merged.json", text)
        .run("job merged.json --format json")
        .done();
    let job: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(job["ranks"][1]["told_by"], "merged trace");
    assert_eq!(job["collectives"]["complete"], 1);
}

/// A folder and a file in it: each file counts once.
#[test]
fn a_file_that_is_given_twice_counts_once() {
    let folder = two_ranks();
    let once = folder.run("job . --format json").done();
    assert_eq!(folder.run("job . one.json . --format json").done(), once);
}

#[test]
fn a_single_trace_is_no_job() {
    let said = Folder::with("trace.json", TRACE).run("job trace.json");
    assert_eq!(said.code, 1);
}

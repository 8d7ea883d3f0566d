//! A job for Perfetto: its traces in one tar archive with a trace manifest, version 1, which Perfetto supports since
//! 58.2.
//!
//! The manifest puts each rank on a machine of its own, since ranks of one host use the same ids for GPUs and streams,
//! and shifts its trace by the difference between its clock and that of the first rank. A manifest cannot express clock
//! drift, so traces are aligned best in the middle of the recording.

use serde_json::{Value, json};

use crate::job::Job;

/// The name of the manifest in the archive.
pub const MANIFEST: &str = "perfetto_manifest.json";

/// Block size of a tar archive, in bytes.
pub const BLOCK: usize = 512;

/// The largest number that eleven octal digits of a header can hold.
const MOST_OCTAL: u64 = 0o777_7777_7777;

/// The name of a rank's trace in the archive. Traces are not compressed there, as Perfetto does not shift compressed
/// ones.
pub fn member(rank: u32) -> String {
    format!("rank{rank:05}.json")
}

/// The manifest for the traces of some ranks, given by position in the job.
pub fn manifest(job: &Job, ranks: &[usize]) -> Vec<u8> {
    let first = ranks.first().copied();
    let files = ranks.iter().filter_map(|at| {
        let rank = job.ranks.get(*at)?;
        let host = job.hosts.get(rank.host).filter(|_| job.are_hosts_named);
        let machine = match host {
            Some(host) => format!("rank {} on {host}", rank.number),
            None => format!("rank {}", rank.number),
        };
        let mut file = json!({ "path": member(rank.number), "machine": { "name": machine } });
        let reference = first.filter(|first| first != at);
        if let (Some(reference), Value::Object(file)) = (reference, &mut file) {
            let name = member(job.ranks.get(reference)?.number);
            let offset_ns = offset_ns(job, *at).saturating_sub(offset_ns(job, reference));
            let clocks = json!({ "sync_to": { "file": name }, "offset_ns": offset_ns });
            file.insert("clocks".to_owned(), clocks);
        }
        Some(file)
    });
    let manifest =
        json!({ "perfetto_manifest": { "version": 1, "files": files.collect::<Value>() } });
    let mut text = manifest.to_string();
    text.push('\n');
    text.into_bytes()
}

/// The offset from the times of a rank's trace to the common clock, since 1970.
fn offset_ns(job: &Job, at: usize) -> i64 {
    let Some(rank) = job.ranks.get(at) else {
        return 0;
    };
    if !job.clocks.are_comparable {
        return rank.base_ns;
    }
    let span = rank.digest.span(0);
    let middle_ns = span.start_ns.midpoint(span.end_ns);
    job.corrected_ns(at, middle_ns).saturating_sub(middle_ns)
}

/// The header of a file in a tar archive; its content follows, padded to whole blocks.
pub fn header(name: &str, bytes: u64) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, field: &[u8]| {
        let place = header.iter_mut().skip(at);
        place.zip(field).for_each(|(to, from)| *to = *from);
    };
    put(
        0,
        name.get(..name.len().min(99))
            .unwrap_or_default()
            .as_bytes(),
    );
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    match bytes {
        0..=MOST_OCTAL => put(124, format!("{bytes:011o}\0").as_bytes()),
        _ => {
            // As a binary number of twelve bytes with the first bit set.
            put(124, &[0x80, 0, 0, 0]);
            put(128, &bytes.to_be_bytes());
        }
    }
    // A fixed time, so that the bytes do not differ from run to run.
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    let place = header.iter_mut().skip(148);
    place.zip(sum.as_bytes()).for_each(|(to, from)| *to = *from);
    header
}

/// The number of zero bytes that pad a content to whole blocks.
pub fn padding(bytes: u64) -> usize {
    let rest = (bytes % BLOCK as u64) as usize;
    (BLOCK - rest) % BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::digest::{Digest, RankFrom};
    use crate::job::files::JobFiles;

    fn job() -> Job {
        let digests = [0, 1].map(|rank| {
            let mut digest = Digest::default();
            digest.file.name = format!("{rank}.json");
            digest.base_ns = Some(1_000);
            digest.identity.rank = Some(rank);
            digest.identity.rank_from = RankFrom::Metadata;
            digest.identity.host = "a".to_owned();
            digest
        });
        Job::new(JobFiles::new(digests.to_vec()).windows.remove(0))
    }

    #[test]
    fn the_manifest_moves_traces_onto_the_clock_of_the_first() {
        let mut job = job();
        job.clocks.are_comparable = true;
        // Ahead by 2 µs, so its trace moves back by 2 µs.
        job.clocks.of_rank[1].offset_ns = 2_000.0;
        let text = String::from_utf8(manifest(&job, &[0, 1])).unwrap();
        // Perfetto recognizes a manifest by its first bytes.
        assert!(text.starts_with("{\"perfetto_manifest\""), "{text}");
        let found: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({ "perfetto_manifest": { "version": 1, "files": [
            { "path": "rank00000.json", "machine": { "name": "rank 0 on a" } },
            {
                "path": "rank00001.json",
                "machine": { "name": "rank 1 on a" },
                "clocks": { "sync_to": { "file": "rank00000.json" }, "offset_ns": -2_000 },
            },
        ] } });
        assert_eq!(found, expected);
    }

    #[test]
    fn without_clocks_that_match_traces_keep_their_times() {
        let mut job = job();
        job.clocks.are_comparable = false;
        job.clocks.of_rank[1].offset_ns = 2_000.0;
        let found: Value = serde_json::from_slice(&manifest(&job, &[0, 1])).unwrap();
        let clocks = &found["perfetto_manifest"]["files"][1]["clocks"];
        assert_eq!(clocks["offset_ns"], 0);
    }

    #[test]
    fn a_header_contains_name_and_size() {
        let small = header("rank00000.json", 1_000);
        assert_eq!(&small[..15], b"rank00000.json\0");
        assert_eq!(&small[124..136], b"00000001750\0");
        assert_eq!(&small[257..265], b"ustar\x0000");
        let large = header("rank00000.json", 9 << 30);
        assert_eq!(&large[124..136], [0x80, 0, 0, 0, 0, 0, 0, 2, 0x40, 0, 0, 0]);
        assert_eq!([0, 1, 512, 513].map(padding), [0, 511, 0, 511]);
    }
}

//! What a trace's file name says: which process wrote it, when, and for which rank.
//!
//! | written by | name |
//! |---|---|
//! | `tensorboard_trace_handler` | `WORKER.TIME.pt.trace.json.gz`; TIME in nanoseconds, of older releases in milliseconds |
//! | SGLang | `TIME-TP-0-DP-0-PP-0-EP-0.trace.json.gz`; TIME in seconds |
//!
//! Any other name is taken as the worker's name.

/// The parts of a name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) worker: String,
    /// When it was written, in milliseconds since 1970.
    pub(super) time_ms: Option<u64>,
    pub(super) rank: Option<u64>,
}

/// The endings of names; the outermost first.
const ENDINGS: [&str; 12] = [
    ".gz",
    ".tgz",
    ".zip",
    ".tar",
    ".pb",
    ".json",
    ".pftrace",
    ".perfetto-trace",
    ".xplane",
    ".trace",
    ".pt",
    ".digest",
];

impl Name {
    pub(super) fn of(file_name: &str) -> Name {
        let mut stem = file_name;
        for ending in ENDINGS {
            stem = stem.strip_suffix(ending).unwrap_or(stem);
        }
        let (worker, time) = match (stem.rsplit_once('.'), stem.split_once("-TP-")) {
            (_, Some((time, _))) if time_ms(time).is_some() => {
                (stem.get(time.len() + 1..).unwrap_or(stem), Some(time))
            }
            (Some((worker, time)), _) if !worker.is_empty() && time_ms(time).is_some() => {
                (worker, Some(time))
            }
            _ => (stem, None),
        };
        Name {
            worker: worker.to_owned(),
            time_ms: time.and_then(time_ms),
            rank: rank(worker),
        }
    }
}

/// A time since 1970 in any unit: its magnitude determines the unit, from 2001 on.
fn time_ms(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty();
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let number: u64 = whole.parse().ok()?;
    match whole.len() {
        10 => Some(number * 1000),
        13 => Some(number),
        16 => Some(number / 1000),
        19 => Some(number / 1_000_000),
        _ => None,
    }
}

/// The rank in a worker's name: `rank3`, `rank_3`, or `TP-3` if no other dimension is parallel.
fn rank(worker: &str) -> Option<u64> {
    let small = worker.to_ascii_lowercase();
    let after = |word: &str| {
        let (_, rest) = small.split_once(word)?;
        let rest = rest.trim_start_matches(['-', '_', '=', '.']);
        let end = rest.find(|letter: char| !letter.is_ascii_digit());
        rest.get(..end.unwrap_or(rest.len()))?.parse().ok()
    };
    let is_only_tensor_parallel = ["-dp-", "-pp-", "-ep-"]
        .iter()
        .all(|word| after(word).is_none_or(|n: u64| n == 0));
    after("rank").or_else(|| after("tp-").filter(|_| is_only_tensor_parallel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_worker_time_and_rank() {
        const MS: u64 = 1_764_000_000_123;
        for (name, worker, time_ms, rank) in [
            (
                "node3_4711.1764000000123456789.pt.trace.json.gz",
                "node3_4711",
                Some(MS),
                None,
            ),
            (
                "node3.local_4711.1764000000123.pt.trace.json",
                "node3.local_4711",
                Some(MS),
                None,
            ),
            (
                "rank12.1764000000123456789.pt.trace.json.gz",
                "rank12",
                Some(MS),
                Some(12),
            ),
            (
                "1764000000.1234567-TP-2-DP-0-PP-0-EP-0.trace.json.gz",
                "TP-2-DP-0-PP-0-EP-0",
                Some(1_764_000_000_000),
                Some(2),
            ),
            (
                "1764000000-TP-1-PP-3.trace.json.gz",
                "TP-1-PP-3",
                Some(1_764_000_000_000),
                None,
            ),
            ("my-run-TP-1.json", "my-run-TP-1", None, Some(1)),
            (
                "trace_rank_0_step_10.json.gz",
                "trace_rank_0_step_10",
                None,
                Some(0),
            ),
            ("trace.json", "trace", None, None),
            ("v1.2.json", "v1.2", None, None),
            ("run.1764000000123456789.xplane.pb", "run", Some(MS), None),
            (".1764000000123.json", ".1764000000123", None, None),
            ("rank.json", "rank", None, None),
            (
                "rank99999999999999999999.json",
                "rank99999999999999999999",
                None,
                None,
            ),
        ] {
            let worker = worker.to_owned();
            assert_eq!(
                Name::of(name),
                Name {
                    worker,
                    time_ms,
                    rank
                },
                "{name}"
            );
        }
    }
}

//! Whether files are ranks of one job, judged by the beginning of each file.

/// What the beginning of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// A rank of a job.
    Rank {
        /// Its number.
        rank: u64,
        /// How many ranks the job has.
        world_size: u64,
    },
    /// The digest of a rank.
    Digest,
    /// Neither.
    Unknown,
}

impl Head {
    /// Parses the beginning of a file, whose metadata precedes its events; or its end, where the metadata follows them.
    pub fn of(text: &str) -> Head {
        if text.starts_with("{\"dormer_digest\":") {
            return Head::Digest;
        }
        let (before, _) = text.split_once("\"traceEvents\"").unwrap_or((text, ""));
        let distributed_info = before.split_once("\"distributedInfo\"");
        let number = |key| number_after(distributed_info?.1, key);
        match (number("\"rank\""), number("\"world_size\"")) {
            (Some(rank), Some(world_size)) => Head::Rank { rank, world_size },
            _ => Head::Unknown,
        }
    }
}

fn number_after(text: &str, key: &str) -> Option<u64> {
    let (_, after) = text.split_once(key)?;
    let after = after.trim_start().strip_prefix(':')?.trim_start();
    let end = after.find(|letter: char| !letter.is_ascii_digit())?;
    after.get(..end)?.parse().ok()
}

/// Whether all files belong to one job: digests, or ranks with the same world size that are not all the same rank.
pub fn are_one_job(heads: &[Head]) -> bool {
    if heads.len() > 1 && heads.iter().all(|head| *head == Head::Digest) {
        return true;
    }
    let Some(Head::Rank { rank, world_size }) = heads.first().copied() else {
        return false;
    };
    let same_world =
        |head: &Head| matches!(head, Head::Rank { world_size: its, .. } if *its == world_size);
    let other_rank = |head: &Head| matches!(head, Head::Rank { rank: its, .. } if *its != rank);
    heads.iter().all(same_world) && heads.iter().any(other_rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u64, world_size: u64) -> Head {
        Head::Rank { rank, world_size }
    }

    #[test]
    fn the_beginning_of_a_trace_contains_its_rank() {
        let cases = [
            (
                r#"{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8,"#,
                rank(3, 8),
            ),
            (
                r#"{"distributedInfo":{"rank":0,"world_size":2},"#,
                rank(0, 2),
            ),
            (
                r#"{"distributedInfo": {"rank": 0}, "traceEvents": [{"world_size": 2}"#,
                Head::Unknown,
            ),
            (r#"{"dormer_digest":1,"file""#, Head::Digest),
            (
                r#"{"traceEvents": [{"distributedInfo": {"rank": 1, "world_size": 2}"#,
                Head::Unknown,
            ),
            ("", Head::Unknown),
        ];
        for (text, head) in cases {
            assert_eq!(Head::of(text), head, "{text}");
        }
    }

    #[test]
    fn ranks_of_one_world_are_a_job() {
        let cases = [
            (vec![rank(0, 4), rank(1, 4)], true),
            // Two windows of two ranks.
            (vec![rank(0, 2), rank(0, 2), rank(1, 2), rank(1, 2)], true),
            (vec![rank(0, 4), rank(0, 4)], false),
            (vec![rank(0, 4), rank(1, 8)], false),
            (vec![rank(0, 4), Head::Unknown], false),
            (vec![Head::Digest, Head::Digest], true),
            (vec![Head::Digest], false),
            (vec![], false),
        ];
        for (heads, is_job) in cases {
            assert_eq!(are_one_job(&heads), is_job, "{heads:?}");
        }
    }
}

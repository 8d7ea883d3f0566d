//! Everything about a job, as one JSON document for programs.
//!
//! ```text
//! format      1; it changes when a key changes its meaning or goes
//! world_size  how many ranks the job has
//! missing     numbers of ranks of which there is no file
//! hosts       their names, where traces tell them
//! ranks       each with its file, host, device, clock and what was wrong with its trace
//! groups      process groups with their ranks
//! steps       their numbers, and which ranks ran them
//! collectives how many there are, how many ranks' sides of them were read, what could not be matched
//! set_apart   files that take no part, and why
//! sheets      every sheet: name, columns (label, unit, doc), rows of cells in their order
//! ```
//!
//! Times are in the unit that ends their key, `_ns` for nanoseconds; an unknown is `null`.

use serde_json::{Value, json};

use super::list;
use crate::job::sheets::JobSheet;
use crate::job::world::SetApart;
use crate::job::{Job, Rank};

const FORMAT: u32 = 1;

/// The job as a JSON value.
pub(crate) fn json(job: &Job, set_apart: &[SetApart], sheets: &[JobSheet]) -> Value {
    json!({
        "format": FORMAT,
        "world_size": job.world_size,
        "missing": job.missing(),
        "hosts": job.are_hosts_named.then_some(&job.hosts),
        "clocks_are_comparable": job.clocks.are_comparable,
        "ranks": job.ranks.iter().enumerate().map(|(at, rank)| of_rank(job, at, rank)).collect::<Value>(),
        "groups": list(&job.groups, |group| json!({
            "name": group.name,
            "description": group.description,
            "ranks": group.ranks,
            "ranks_read": group.members.len(),
            "spans_hosts": group.spans_hosts(&job.ranks),
        })),
        "steps": list(&job.steps, |step| json!({
            "number": step.number,
            "ranks": step.of_rank.iter().zip(&job.ranks).filter_map(|(own, rank)| own.map(|_| rank.number)).collect::<Vec<u32>>(),
        })),
        "collectives": {
            "count": job.collectives.len(),
            "complete": job.collectives.iter().filter(|of| of.is_complete()).count(),
            "left_out": job.unmatched.disagreeing.len(),
            "out_of_order": list(&job.unmatched.out_of_order, |(group, rank)| json!({
                "group": job.groups.get(*group).map(|group| &group.name),
                "rank": rank,
            })),
            "unlabelled_left_out": job.unmatched.unlabelled,
        },
        "set_apart": list(set_apart, |apart| json!({
            "file": apart.file.name,
            "reason": apart.why.to_string(),
        })),
        "sheets": sheets,
    })
}

fn of_rank(job: &Job, at: usize, rank: &Rank) -> Value {
    let (digest, identity) = (&rank.digest, &rank.digest.identity);
    let clock = job.clocks.of_rank.get(at).filter(|clock| clock.is_joined);
    json!({
        "rank": rank.number,
        "told_by": identity.rank_from.label(),
        "file": digest.file.name,
        "file_bytes": digest.file.bytes,
        "text_bytes": digest.text_bytes,
        "host": job.hosts.get(rank.host),
        "device": identity.device,
        "backend": identity.backend,
        "base_ns": rank.base_ns,
        "clock": clock.map(|clock| json!({
            "offset_ns": clock.offset_ns,
            "spread_ns": clock.spread_ns,
            "drift": clock.drift,
            "at_ns": clock.at_ns,
        })),
        "collectives": digest.collectives.len(),
        "warnings": list(&digest.warnings, |warning| json!({
            "sentence": warning.sentence(),
            "count": warning.count,
        })),
    })
}

//! Transfers between two ranks that never end, because one of them does not call its part.

use super::{Call, Half, Hang, LEAST_HANG_NS, LEAST_TIMES, is_unknown, of_group, sized};
use crate::base::group::grouped;
use crate::job::Job;
use crate::job::groups::Group;
use crate::job::matching::pair_of;

/// The sender and the receiver, by number.
type Pair = (u32, u32);

/// For each pair of ranks of a group the first transfer that only one of them calls.
pub(super) fn find(job: &Job, at: usize, group: &Group) -> Vec<Hang> {
    let all = group.members.iter().flat_map(|rank| {
        let calls = transfers(job, *rank, group).into_iter();
        calls.map(|(pair, call)| (pair, (*rank, call)))
    });
    let pairs = grouped(all, Vec::push).into_iter();
    pairs
        .filter_map(|(pair, calls): (Pair, Vec<(usize, Call)>)| of_pair(job, at, pair, &calls))
        .collect()
}

/// The transfers of a rank. One whose kernel runs until the job is stopped counts as open, too.
fn transfers<'a>(job: &'a Job, rank: usize, group: &Group) -> Vec<(Pair, Call<'a>)> {
    let Some(own) = job.ranks.get(rank) else {
        return Vec::new();
    };
    let calls = of_group(job, rank, group, |digest, of| {
        pair_of(digest, of, own.number, group).is_some()
    });
    let mut lengths: Vec<i64> = calls.iter().map(|(of, _)| of.span.length()).collect();
    lengths.sort_unstable();
    let middle_ns = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    let least_ns = LEAST_HANG_NS.max(middle_ns.saturating_mul(LEAST_TIMES));
    let all = calls.into_iter().filter_map(|(of, is_open)| {
        let pair = pair_of(&own.digest, of, own.number, group)?;
        Some((pair, (of, is_open || of.span.length() >= least_ns)))
    });
    all.collect()
}

fn of_pair(job: &Job, at: usize, pair: Pair, calls: &[(usize, Call)]) -> Option<Hang> {
    let rank_of = |number: u32| job.ranks.iter().position(|rank| rank.number == number);
    let (sender, receiver) = (rank_of(pair.0)?, rank_of(pair.1)?);
    let halves = [
        (receiver, sender, Half::Send),
        (sender, receiver, Half::Receive),
    ];
    let mut found = halves.into_iter().filter_map(|(waiting, absent, missing)| {
        let own = || calls.iter().filter(|(rank, _)| *rank == waiting);
        let (_, (first, _)) = own().find(|(_, (_, is_open))| *is_open)?;
        // Only in its step is it known which calls belong together: recordings start at different times.
        let step = job.step_of(waiting, first.step?)?;
        let in_step = |rank: usize| {
            let of_rank = calls.iter().filter(move |(of, _)| *of == rank);
            of_rank.filter(move |(_, (of, _))| {
                of.step.and_then(|own| job.step_of(rank, own)) == Some(step)
            })
        };
        let nth = in_step(waiting).position(|(_, (of, _))| std::ptr::eq(*of, *first))?;
        let is_missing = in_step(absent).count() <= nth && !is_unknown(job, absent);
        if !is_missing || first.span.length() < LEAST_HANG_NS {
            return None;
        }
        let digest = &job.ranks.get(waiting)?.digest;
        Some(Hang {
            group: at,
            kind: digest.kind(first),
            called: match missing {
                Half::Send => sized(digest, first, "receive"),
                Half::Receive => sized(digest, first, "send"),
            },
            seq: None,
            step: Some(step),
            waiting: vec![waiting],
            absent: vec![absent],
            others: Vec::new(),
            missing: Some(missing),
            behind: Vec::new(),
            waits_ns: first.span.length(),
        })
    });
    found.next()
}
